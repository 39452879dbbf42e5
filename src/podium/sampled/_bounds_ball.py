"""The least value of a measure over the distributions of ranks within sampling error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import f

from podium.sampled._likelihood import likelihood
from podium.sampled._likelihood_em import em
from podium.sampled._likelihood_grid import spaced
from podium.sampled._likelihood_sweep import expected
from podium.sampled.design import Design
from podium.sampled.ranks import SampledRanks

_STEPS = 25  # of expectation maximisation, for the distribution that functions are chosen by
_NODES = 4  # ranks in each standard deviation of a sampled rank, to choose functions by
_MORE = 5.0  # users of any rank that are added to a fit: no outcome is impossible, or very rare
_ERRORS = 3.0  # standard errors that a function's correlation with the rank has to exceed
_USERS = 20  # at least, for each function
_ROUNDS = 12  # of ranks that join
_ENOUGH = 1e-6  # of the measure: by which ranks that join have to raise the bound
_HALVINGS = 24

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ball:
    """What is known of the distribution: functions of the outcome, and their means.

    Attributes
    ----------
    parts : tuple of (Design, float, float64 (n_outcomes, n_functions))
        Each design, the share of users who have it, and the functions' values.
    means : float64, (n_functions,)
        Over users. The functions have mean 0, variance 1 and no correlation under a
        distribution that fits.
    radius : float
        Distance of the observed means from the true ones that has the chance of being exceeded
        that was asked for, at most.
    n_items : int
    """

    parts: tuple[tuple[Design, float, Floats], ...]
    means: Floats
    radius: float
    n_items: int

    def features(self, ranks: NDArray[np.int64]) -> Floats:
        """Return what the functions' means are for targets of given ranks: (n_functions, n)."""
        found = np.zeros((self.means.size, ranks.size))
        for design, share, values in self.parts:
            inside = ranks <= design.n_items
            found[:, inside] += share * (design.probabilities(ranks[inside]) @ values).T
        return found

    def everywhere(self, prices: Floats) -> Floats:
        """Return the prices' sum of the functions' means, for every rank: (n_items,)."""
        found = np.zeros(self.n_items)
        for design, share, values in self.parts:
            found[: design.n_items] += share * expected(design, values @ prices)
        return found


def ball(ranks: SampledRanks, confidence: float) -> Ball:
    """Return the ball of distributions that fit observed ranks.

    Parameters
    ----------
    ranks : SampledRanks
    confidence : float
    """
    seen = likelihood(ranks)
    fitted = em(seen, _STEPS).probabilities
    parts = tuple((d, float(counts.sum()) / ranks.n_users) for d, counts in ranks.designs)
    observed = np.concatenate([counts for _, counts in ranks.designs]) / ranks.n_users
    return around(observed, parts, fitted, ranks.n_users, confidence)


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
    parts = tuple((d, s, v) for (d, s), v in zip(designs, cut, strict=True))
    return Ball(
        parts, observed @ values, _radius(values.shape[1], n_users, confidence), fitted.size
    )


def _radius(n_functions: int, n_users: int, confidence: float) -> float:
    """Return the distance of means from expectations that is exceeded with 1 - confidence.

    Hotelling's: the variances are those of a distribution that was fitted to the same users.
    """
    left = n_users - n_functions
    if left < 1:  # one user: nothing is known of the variance
        return float("inf")
    ratio = n_functions * (n_users - 1.0) / left
    return float(np.sqrt(ratio * f.ppf(confidence, n_functions, left) / n_users))


def _borders(nodes: NDArray[np.int64], n_items: int) -> NDArray[np.int64]:
    """Return the places between nodes at which the ranks are cut, 0 and n_items at the ends."""
    middles = (nodes[1:] + nodes[:-1]) // 2
    return np.concatenate([[0], middles, [n_items]])


def _chances(design: Design, ranks: NDArray[np.int64]) -> Floats:
    found = np.zeros((ranks.size, design.n_outcomes))
    inside = ranks <= design.n_items
    found[inside] = design.probabilities(ranks[inside])
    return found


def _functions(chances: Floats, prior: Floats, n_users: int) -> Floats:
    """Return functions of the outcome, most correlated with the rank first: (n_outcomes, n)."""
    mixed = prior @ chances
    possible = mixed > 1e-300
    scale = np.sqrt(mixed[possible])
    both = np.sqrt(prior)[:, None] * (chances[:, possible] / scale)
    both -= np.outer(np.sqrt(prior), scale)  # the constant, which is known
    _, strength, right = np.linalg.svd(both, full_matrices=False)
    known = int((strength * np.sqrt(n_users) >= _ERRORS).sum())
    kept = max(1, min(known, n_users // _USERS))
    values = np.zeros((mixed.size, kept))
    values[possible] = right[:kept].T / scale[:, None]
    return values


def least(inside: Ball, worth: Floats, start: NDArray[np.int64]) -> tuple[float, float]:
    """Return a value that no distribution in the ball falls below, and the distance to the ball.

    Parameters
    ----------
    inside : Ball
    worth : float64, (n_items,)
        What each rank is worth.
    start : int64
        Ranks that the search begins with.

    Returns
    -------
    low : float
        The prices of the functions that prove it are checked at every rank: it holds whatever
        the search found.
    miss : float
        By how much the nearest distribution lies outside the ball; 0 if one is inside.
    """
    if not np.isfinite(inside.radius):
        return float(worth.min()), 0.0
    search = _Search(inside, worth, start)
    proved, miss = -np.inf, 0.0
    for _ in range(_ROUNDS):
        prices, miss = search.best_prices()
        better = search.proved(prices, miss)
        if better <= proved + _ENOUGH:
            break
        proved = better
    return max(proved, float(worth.min())), miss


class _Search:
    """Distributions on some ranks, at rising distance from the observed means."""

    def __init__(self, inside: Ball, worth: Floats, start: NDArray[np.int64]) -> None:
        self.ball, self.worth = inside, worth
        self.ranks = start
        self.features = inside.features(start)

    def best_prices(self) -> tuple[Floats, float]:
        """Return prices of the functions at which the bound is greatest, on the ranks so far.

        Distributions that are both near the observed means and of small worth, with more and
        more weight on the worth until the distance is the radius.
        """
        nearest, _ = self._compromise(None)
        miss = max(0.0, float(np.linalg.norm(self._gap(nearest))) - self.ball.radius)
        base = float(self.worth[self.ranks - 1] @ nearest)
        low, high = -14.0, 14.0
        prices = np.zeros(self.ball.means.size)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            goal = base - np.exp(middle)
            masses, tilt = self._compromise(goal)
            gap = self._gap(masses)
            if tilt > 0:
                prices = -gap / tilt
            if np.linalg.norm(gap) > self.ball.radius + miss:
                high = middle
            else:
                low = middle
        return prices, miss

    def _gap(self, masses: Floats) -> Floats:
        return self.features @ masses - self.ball.means

    def _compromise(self, goal: float | None) -> tuple[Floats, float]:
        """Return masses of least squared gap, and squared distance of the worth from a goal."""
        worth = self.worth[self.ranks - 1]
        rows = [self.features - self.ball.means[:, None]]
        if goal is not None:
            rows.append((worth - goal)[None])
        system = np.concatenate([*rows, np.ones((1, worth.size))])
        target = np.zeros(system.shape[0])
        target[-1] = 1.0
        masses, _ = nnls(system, target, maxiter=50 * system.shape[1])
        masses /= masses.sum()
        return masses, 0.0 if goal is None else float(worth @ masses) - goal

    def proved(self, prices: Floats, miss: float) -> float:
        """Return the bound that prices prove, and take in the ranks that keep it low."""
        left = self.worth - self.ball.everywhere(prices)
        before = np.concatenate([[True], left[1:] < left[:-1]])
        after = np.concatenate([left[:-1] <= left[1:], [True]])
        below = left < left[self.ranks - 1].min() - 1e-12
        new = np.setdiff1d(np.flatnonzero(before & after & below) + 1, self.ranks)
        self.ranks = np.concatenate([self.ranks, new])
        self.features = np.concatenate([self.features, self.ball.features(new)], axis=1)
        slack = (self.ball.radius + miss) * float(np.linalg.norm(prices))
        return float(prices @ self.ball.means) - slack + float(left.min())
