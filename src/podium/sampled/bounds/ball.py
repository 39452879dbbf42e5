"""Which distributions of ranks are within sampling error of what was observed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import f

from podium.sampled.design import Design, Floats, Ints
from podium.sampled.likelihood import em, likelihood
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import spaced

_STEPS = 25  # of expectation maximisation, for the distribution that functions are chosen by
_NODES = 4  # ranks in each standard deviation of a sampled rank, to choose functions by
_MORE = 5.0  # users of any rank that are added to a fit: no outcome is impossible, or very rare
_ERRORS = 3.0  # standard errors that a function's correlation with the rank has to exceed
_USERS = 20  # at least, for each function
_MOST = 64  # functions: more would add more noise than knowledge, and time
_ALIKE = 0.95  # correlation with the rank, above which functions differ by chance
_SELDOM = 1e-6  # users expected of an outcome, below which all functions are 0 there


class Part(NamedTuple):
    """Users of one design: their share, and the functions' values of each outcome."""

    design: Design
    share: float
    values: Floats


@dataclass(frozen=True, eq=False)
class Ball:
    """What is known of the distributions: functions of the outcome, and their means.

    Attributes
    ----------
    parts : tuple of Part
        Values are float64, (n_outcomes, n_functions); designs of one sample size share them.
    means : float64, (n_functions,)
        Over users. The functions have mean 0, variance 1 and no correlation, nearly, or
        a smaller variance.
    radius : float
        Distance of the observed means from the true ones that has the chance of being exceeded
        that was asked for, at most.
    """

    parts: tuple[Part, ...]
    means: Floats
    radius: float


def ball(ranks: SampledRanks, confidence: float) -> Ball:
    """Return the ball of distributions that fit observed ranks.

    Notes
    -----
    Functions are chosen, for catalogues of several sizes, as if all had the largest: a chance
    depends on the rank's share of the catalogue, nearly. Any functions give bounds that hold.
    """
    pooled = ranks if len(ranks.designs) == 1 else replace(ranks, n_items=ranks.most_items)
    fitted = em(likelihood(pooled), _STEPS).probabilities
    kinds = tuple((d, float(counts.sum()) / ranks.n_users) for d, counts in pooled.designs)
    observed = np.concatenate([counts for _, counts in pooled.designs]) / ranks.n_users
    found = around(observed, kinds, fitted, ranks.n_users, confidence)
    if pooled is ranks:
        return found
    own = _calmed(found, observed)
    values = {part.design.stages: part.values for part in own.parts}
    shares = ((d, float(counts.sum()) / ranks.n_users) for d, counts in ranks.designs)
    return replace(own, parts=tuple(Part(d, share, values[d.stages]) for d, share in shares))


def _calmed(found: Ball, observed: Floats) -> Ball:
    """Scale functions down to variance 1 in whatever direction they vary more among the users.

    No common distribution of ranks may fit these, so that variances under one may be too small.
    """
    values = np.concatenate([part.values for part in found.parts])
    spread = (values * observed[:, None]).T @ values - np.outer(found.means, found.means)
    sizes, turn = np.linalg.eigh(spread)
    scale = turn / np.sqrt(np.maximum(sizes, 1.0))
    parts = tuple(each._replace(values=each.values @ scale) for each in found.parts)
    return replace(found, parts=parts, means=found.means @ scale)


def around(
    observed: Floats,
    designs: tuple[tuple[Design, float], ...],
    fitted: Floats,
    n_users: int,
    confidence: float,
) -> Ball:
    """Choose functions of the outcome, and say how well their means are known.

    Parameters
    ----------
    observed : float64
        Shares of users with each outcome, of all designs one after the other.
    designs : tuple of (Design, float)
        Each design, and the share of users who have it.
    fitted : float64, (n_items,)
        A distribution of ranks that fits, to choose functions by.
    n_users : int
    confidence : float

    Notes
    -----
    The functions are those whose means depend most on the rank's distribution, by singular
    values: for uniform ranks and a fixed sample size, polynomials. Those that are hardly
    correlated with the rank would add noise and no knowledge.
    """
    size = max(design.n_negatives for design, _ in designs)
    nodes = spaced(fitted.size, size, _NODES)
    prior = np.diff(np.concatenate([[0.0], np.cumsum(fitted)])[_borders(nodes, fitted.size)])
    ours = _MORE / (n_users + _MORE)
    prior = (1.0 - ours) * prior + ours / nodes.size
    chances = np.concatenate([share * _chances(d, nodes) for d, share in designs], axis=1)
    values = _functions(chances, prior, n_users)
    cut = np.split(values, np.cumsum([design.n_outcomes for design, _ in designs])[:-1])
    parts = tuple(Part(*each, v) for each, v in zip(designs, cut, strict=True))
    return Ball(parts, observed @ values, _radius(values.shape[1], n_users, confidence))


def _radius(n_functions: int, n_users: int, confidence: float) -> float:
    """Return the distance of means from expectations that is exceeded with 1 - confidence.

    Hotelling's: the variances are those of a distribution that was fitted to the same users.
    """
    left = n_users - n_functions
    if left < 1:  # one user: nothing is known of the variance
        return float("inf")
    ratio = n_functions * (n_users - 1.0) / left
    return float(np.sqrt(ratio * f.ppf(confidence, n_functions, left) / n_users))


def _borders(nodes: Ints, n_items: int) -> Ints:
    """Return the places between nodes at which the ranks are cut, 0 and n_items at the ends."""
    middles = (nodes[1:] + nodes[:-1]) // 2
    return np.concatenate([[0], middles, [n_items]])


def _chances(design: Design, ranks: Ints) -> Floats:
    found = np.zeros((ranks.size, design.n_outcomes))
    inside = ranks <= design.n_items
    found[inside] = design.probabilities(ranks[inside])
    return found


def _functions(chances: Floats, prior: Floats, n_users: int) -> Floats:
    """Return functions of the outcome, most correlated with the rank first: (n_outcomes, n).

    An outcome that hardly any rank has, as many items above in the last of several additions,
    would have values beyond what sums can be proved with, and tells nothing.
    """
    mixed = prior @ chances
    possible = mixed * n_users > _SELDOM
    scale = np.sqrt(mixed[possible])
    apart = chances[:, possible] / scale - scale  # without the constant, which is known
    weights = np.sqrt(prior)[:, None]
    _, strength, right = np.linalg.svd(weights * apart, full_matrices=False)
    known = int((strength * np.sqrt(n_users) >= _ERRORS).sum())
    most = max(1, min(n_users // _USERS, _MOST))
    if known > most and strength[most] > _ALIKE:
        right = np.linalg.svd(weights * _smooth(apart, most), full_matrices=False)[2]
    kept = max(1, min(known, most))
    values = np.zeros((mixed.size, kept))
    values[possible] = right[:kept].T / scale[:, None]
    return values


def _smooth(apart: Floats, n_functions: int) -> Floats:
    """Mix what ranks near each other say, so that functions of the fewest waves come first.

    Large samples tell all functions of the rank about equally well: their order says nothing.
    """
    place = np.arange(float(len(apart)))
    near = np.exp(-(((place[:, None] - place) * n_functions / place.size) ** 2) / 2.0)
    return (near / near.sum(axis=1, keepdims=True)) @ apart
