"""The distributions of ranks that are within sampling error of the observations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import f

from podium.sampled.design import Design, Floats
from podium.sampled.likelihood import em, likelihood
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import spaced_ranks

_EM_STEPS = 25  # of expectation maximisation, for the distribution that selects the functions
_NODES = 4  # ranks per standard deviation of a sampled rank, to select functions
_ADDED_USERS = 5.0  # added users of any rank, so that no outcome is impossible or very rare
_MIN_ERRORS = 3.0  # standard errors that a function's correlation with the rank must exceed
_USERS_PER_FUNCTION = 20  # the smallest number of users per function
_MAX_FUNCTIONS = 64  # functions; more would add noise and time without information
_HIGH_CORRELATION = 0.95  # above this correlation with the rank, functions differ only by chance
_ROUNDING = 1e-6  # of a number of users
_RARE = 1e-6  # expected users; for rarer outcomes all functions are 0


class Part(NamedTuple):
    """The users of one design: their share, and the functions' values of each outcome."""

    design: Design
    share: float
    values: Floats


@dataclass(frozen=True, eq=False)
class Ball:
    """A ball of distributions, defined by functions of the outcome and their means.

    Attributes
    ----------
    parts : tuple of Part
        The users by design. Their values are float64, (n_outcomes, n_functions), and are the same
        for designs of one sample size.
    means : float64, (n_functions,)
        The means over users. The functions are approximately uncorrelated with mean 0 and variance
        1, or a smaller variance.
    radius : float
        The distance of the observed means from the true ones that is exceeded with probability
        1 - confidence at most.
    """

    parts: tuple[Part, ...]
    means: Floats
    radius: float


def ball_of_ranks(ranks: SampledRanks, confidence: float) -> Ball:
    """Return the ball of distributions that fit observed ranks.

    Notes
    -----
    With catalogues of several sizes, the functions are selected as if all had the largest size,
    because a probability approximately depends on the rank's share of the catalogue. The bounds
    hold for any choice of functions.
    By a singular value decomposition, the functions are those whose means depend most on the
    distribution of the rank. For uniform ranks and a fixed sample size they are polynomials.
    Functions with almost no correlation with the rank would add noise without information.
    """
    pooled = ranks if len(ranks.designs) == 1 else replace(ranks, n_items=ranks.most_items)
    fitted = em(likelihood(pooled), _EM_STEPS)
    designs = tuple((d, float(counts.sum()) / ranks.n_users) for d, counts in pooled.designs)
    observed = np.concatenate([counts for _, counts in pooled.designs]) / ranks.n_users
    n_users = max(int(ranks.n_effective + _ROUNDING), 1)
    size = max(design.n_negatives for design, _ in designs)
    nodes = spaced_ranks(fitted.size, size, _NODES)
    middles = (nodes[1:] + nodes[:-1]) // 2  # borders between the ranks of the nodes
    edges = np.concatenate([[0], middles, [fitted.size]])
    prior = np.diff(np.concatenate([[0.0], np.cumsum(fitted)])[edges])
    added_share = _ADDED_USERS / (n_users + _ADDED_USERS)
    prior = (1.0 - added_share) * prior + added_share / nodes.size
    chances = np.concatenate([share * d.chances(nodes) for d, share in designs], axis=1)
    values = _functions(chances, prior, n_users)
    ends = np.cumsum([design.n_outcomes for design, _ in designs])
    pairs = zip(designs, np.split(values, ends[:-1]), strict=True)
    parts = tuple(Part(design, share, of_design) for (design, share), of_design in pairs)
    common = Ball(parts, observed @ values, _radius(values.shape[1], n_users, confidence))
    if pooled is ranks:
        return common
    scaled = _rescaled(common, observed)
    values = {part.design.n_negatives: part.values for part in scaled.parts}
    shares = ((design, float(counts.sum()) / ranks.n_users) for design, counts in ranks.designs)
    parts = tuple(Part(design, share, values[design.n_negatives]) for design, share in shares)
    return replace(scaled, parts=parts)


def distance_of_shares(ball: Ball, shares: Floats) -> float:
    """Return the distance of the means of the functions from the observed ones.

    `shares` are the shares of users with each outcome, for all designs in sequence.
    """
    values = np.concatenate([part.values for part in ball.parts])
    return float(np.linalg.norm(shares @ values - ball.means))


def _rescaled(ball: Ball, observed: Floats) -> Ball:
    """Scale the functions to variance 1 in each direction in which they vary more among the users.

    Perhaps no common distribution of ranks fits these users, so that the variances under a common
    one may be too small.
    """
    values = np.concatenate([part.values for part in ball.parts])
    covariance = (values * observed[:, None]).T @ values - np.outer(ball.means, ball.means)
    variances, directions = np.linalg.eigh(covariance)
    scale = directions / np.sqrt(np.maximum(variances, 1.0))
    parts = tuple(old_part._replace(values=old_part.values @ scale) for old_part in ball.parts)
    return replace(ball, parts=parts, means=ball.means @ scale)


def _radius(n_functions: int, n_users: int, confidence: float) -> float:
    """Return the distance of means from expectations that is exceeded with 1 - confidence.

    It is Hotelling's, because the variances are those of a distribution fitted to the same users.
    """
    freedom = n_users - n_functions
    if freedom < 1:  # too few users to estimate the variance
        return float("inf")
    ratio = n_functions * (n_users - 1.0) / freedom
    return float(np.sqrt(ratio * f.ppf(confidence, n_functions, freedom) / n_users))


def _functions(chances: Floats, prior: Floats, n_users: int) -> Floats:
    """Return functions of the outcome, with the most correlated one first: (n_outcomes, n).

    An outcome that almost no rank gives would have values too large for the precision of sums, and
    carries no information.
    """
    outcome_chances = prior @ chances
    possible = outcome_chances * n_users > _RARE
    scale = np.sqrt(outcome_chances[possible])
    deviations = chances[:, possible] / scale - scale  # without the constant function
    weights = np.sqrt(prior)[:, None]
    _, correlations, functions = np.linalg.svd(weights * deviations, full_matrices=False)
    n_significant = int((correlations * np.sqrt(n_users) >= _MIN_ERRORS).sum())
    limit = max(1, min(n_users // _USERS_PER_FUNCTION, _MAX_FUNCTIONS))
    if n_significant > limit and correlations[limit] > _HIGH_CORRELATION:
        functions = np.linalg.svd(weights * _smooth(deviations, limit), full_matrices=False)[2]
    n_functions = max(1, min(n_significant, limit))
    values = np.zeros((outcome_chances.size, n_functions))
    values[possible] = functions[:n_functions].T / scale[:, None]
    return values


def _smooth(deviations: Floats, n_functions: int) -> Floats:
    """Average neighbouring ranks, so that functions with the fewest waves come first.

    Large samples determine all functions of the rank about equally well, so that their order by
    correlation carries no information.
    """
    position = np.arange(float(len(deviations)))
    kernel = np.exp(-(((position[:, None] - position) * n_functions / position.size) ** 2) / 2.0)
    return (kernel / kernel.sum(axis=1, keepdims=True)) @ deviations
