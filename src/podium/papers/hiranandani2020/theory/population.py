"""The population value of pAp@k's risk: what it tends to as groups grow, by Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.errors import ArgumentError
from podium.papers.hiranandani2020.theory.bound import GammaPlus, gammas
from podium.types import PerRow

Sampler: TypeAlias = Callable[[np.random.Generator, int], ArrayLike]
"""Draws from a class: (rng, n) -> n scores, or n rows of features where a scorer is given."""

Scorer: TypeAlias = Callable[[Any], ArrayLike]
"""Scores rows of features: (n, …) -> (n,)."""

_FEWEST = 10  # draws in the part of half a batch that is read
_ROWS = 65_536  # rows of features that exist at one time


@dataclass(frozen=True)
class PopulationRisk:
    """A population risk and how well Monte Carlo knows it.

    Attributes
    ----------
    value : float
        The risk, in [0, 1]; `pap`, the share of correct pairs, is 1 - value.
    std_error : float
        Standard error of `value`, from the spread over batches.
    gamma_plus, gamma_minus : float
        Shares of positives and negatives that are read, in (0, 1].
    n_draws, n_batches : int
        Draws of each class, and the batches that they were made in.
    """

    value: float
    std_error: float
    gamma_plus: float
    gamma_minus: float
    n_draws: int
    n_batches: int

    @property
    def pap(self) -> float:
        """Share of correctly ordered pairs, 1 - value."""
        return 1.0 - self.value


def population_risk(
    positives: Sampler,
    negatives: Sampler,
    *,
    n_pos: int,
    n_neg: int,
    k: int,
    gamma_plus: GammaPlus = "corrected",
    scorer: Scorer | None = None,
    n_draws: int = 1_000_000,
    n_batches: int = 20,
    seed: int = 0,
) -> PopulationRisk:
    """Risk of pAp@k between the top gamma_plus of positives and the top gamma_minus of negatives.

    What the risk of a group tends to as its n_pos, n_neg and k grow in proportion.

    Parameters
    ----------
    positives, negatives : callable (rng, n) -> array
        Draw n scores of the class, or n rows of features where `scorer` is given.
    n_pos, n_neg, k : int
        A group whose proportions are meant: gamma_minus = k / n_neg, and only proportions count.
    gamma_plus : {"corrected", "printed"} or float
        "corrected": min(1, k / n_pos), the limit of beta / n_pos. "printed": eq. (16) as the
        paper has it, 1 where positives are at most a share gamma_minus of the group, else
        gamma_minus. A number in (0, 1] is taken as it is.
    scorer : callable (rows) -> scores, optional
        Scores of rows of features, such as ``model.predict``.
    n_draws : int
        Draws of each class in all, at least; rounded up to even batches.
    n_batches : int
        Batches, at least 2.
    seed : int
        The same seed gives the same value.

    Returns
    -------
    PopulationRisk

    Raises
    ------
    ArgumentError
        If k > n_neg, a sampler or the scorer returns a wrong shape or a non-finite value, or
        n_draws is so small that a batch has fewer than 20 draws in a top share.

    Notes
    -----
    The printed gamma_plus is not the limit of what eq. (1) reads: with 10,000 positives, 100,000
    negatives and k = 5,000 the metric reads half of the positives, eq. (16) the top 5 %.

    Ties: a positive that ties with a negative is an error. Where scores have atoms, eq. (16)
    counts a whole atom at the edge of a top share, and a constant scorer's risk is
    1 / (gamma_plus gamma_minus) > 1; here the atom counts for what fills the share, as in the
    metric, and that risk is 1.

    The mean of a batch of m draws is off by about a constant / m; twice the batch less the mean
    of its halves is not, and that is what is averaged.

    Cost: a sort of 3 n_draws numbers of each class; 16 bytes × n_draws / n_batches of memory, and
    65,536 rows of features.

    References
    ----------
    hiranandani2020, section 6.

    Examples
    --------
    >>> def positives(rng, n):
    ...     return rng.normal(1.0, 1.0, n)
    >>> def negatives(rng, n):
    ...     return rng.normal(0.0, 1.0, n)
    >>> group = {"n_pos": 10_000, "n_neg": 100_000, "k": 5_000}
    >>> risk = population_risk(positives, negatives, **group)
    >>> abs(risk.value - 0.682) < 0.01, risk.gamma_plus, risk.gamma_minus
    (True, 0.5, 0.05)
    >>> printed = population_risk(positives, negatives, **group, gamma_plus="printed")
    >>> abs(printed.value - 0.034) < 0.01, printed.gamma_plus
    (True, 0.05)
    """
    plus, minus = gammas(n_pos, n_neg, k, gamma_plus)
    batches = _check.cutoff(n_batches, name="n_batches")
    if batches < 2:
        raise ArgumentError("n_batches must be at least 2, got 1: its spread is the error.")
    size = _batch_size(_check.cutoff(n_draws, name="n_draws"), batches, min(plus, minus))
    root = _check.seed(seed)
    values = np.empty(batches)
    for batch in range(batches):
        s = _draw(positives, scorer, _rng(root, batch, 0), size, "positives")
        t = _draw(negatives, scorer, _rng(root, batch, 1), size, "negatives")
        values[batch] = _unbiased(s, t, plus, minus)
    value = float(np.clip(values.mean(), 0.0, 1.0))
    error = float(values.std(ddof=1) / np.sqrt(batches))
    return PopulationRisk(value, error, plus, minus, size * batches, batches)


def _batch_size(n_draws: int, n_batches: int, share: float) -> int:
    """Return the even number of draws of a batch; too few for the smaller share is an error."""
    size = 2 * -(-n_draws // (2 * n_batches))
    if size / 2 * share < _FEWEST:
        need = int(np.ceil(2 * _FEWEST / share)) * n_batches
        raise ArgumentError(
            f"n_draws is too small, got {n_draws}: each of {n_batches} batches has "
            f"{size * share:.3g} draws in the top share of {share:.3g}. "
            f"Pass n_draws={need} or more."
        )
    return size


def _rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(key)


def _draw(
    sampler: Sampler, scorer: Scorer | None, rng: np.random.Generator, n: int, name: str
) -> PerRow:
    """Return n scores of a class, drawn and scored in pieces."""
    scores = np.empty(n)
    for start in range(0, n, _ROWS):
        piece = scores[start : start + _ROWS]
        piece[:] = scored(sampler(rng, piece.size), scorer, piece.size, name)
    return scores


def scored(drawn: ArrayLike, scorer: Scorer | None, n: int, name: str) -> PerRow:
    """Return the scores of n draws, or say what the sampler or the scorer returned instead."""
    rows = np.asarray(drawn)
    if rows.ndim == 0 or rows.shape[0] != n:
        raise ArgumentError(
            f"{name} must return n draws, got shape {rows.shape} for n={n}. "
            "Its arguments are (rng, n)."
        )
    if scorer is None:
        if rows.ndim != 1:
            raise ArgumentError(
                f"{name} returned rows of shape {rows.shape}, which need a scorer. "
                "Pass scorer=, or return scores."
            )
        return _check.scores(rows, name=f"{name}(rng, n)")
    scores = _check.scores(scorer(rows), name="scorer(rows)")
    if scores.size != n:
        raise ArgumentError(f"scorer must return one score per row, got {scores.size} for {n}.")
    return scores


def _unbiased(s: PerRow, t: PerRow, plus: float, minus: float) -> float:
    half = s.size // 2
    halves = _risk(s[:half], t[:half], plus, minus) + _risk(s[half:], t[half:], plus, minus)
    return 2.0 * _risk(s, t, plus, minus) - halves / 2.0


def _risk(s: PerRow, t: PerRow, plus: float, minus: float) -> float:
    """Return the weighted share of errors, the last draw of each top share counted in part."""
    n_pos, n_neg = plus * s.size, minus * t.size
    falling = np.sort(s)[::-1][: int(np.ceil(n_pos))]
    rising = np.sort(t)[t.size - int(np.ceil(n_neg)) :]
    n_errors = rising.size - np.searchsorted(rising, falling, side="left")
    # The lowest negative of the share is an error of whoever errs against all of them.
    errors = np.minimum(n_errors, n_neg)
    errors[-1] *= n_pos - (falling.size - 1)
    return float(errors.sum() / (n_pos * n_neg))
