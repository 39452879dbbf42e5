"""The population value of pAp@k's risk, its limit as groups grow, by Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import ArgumentError
from podium.types import PerRow
from podium_studies import checks

GammaPlus: TypeAlias = Literal["corrected", "printed"] | float

_FORMS = ("corrected", "printed")


def generalization_bound(
    *,
    n_pos: int,
    n_neg: int,
    k: int,
    vc_dim: int,
    rho: float = 0.05,
    constant: float = 1.0,
    gamma_plus: GammaPlus = "corrected",
) -> float:
    """Return a bound on population risk less empirical risk that holds with probability 1 - rho.

    The bound is ``constant (sqrt((vc_dim ln n_pos + ln 1/rho) / n_pos) / gamma_plus
    + sqrt((vc_dim ln n_neg + ln 1/rho) / n_neg) / gamma_minus)`` with gamma_minus = k / n_neg.

    Parameters
    ----------
    n_pos, n_neg, k : int
        The numbers of positives and negatives of the group, and the cutoff, k <= n_neg.
    vc_dim : int
        The VC dimension of the thresholded scoring functions, at least 1. For linear scores of d
        features, it is d + 1.
    rho : float
        The probability that the bound does not hold, between 0 and 1.
    constant : float
        The constant C of the theorem, > 0. According to the theorem, a constant exists that is
        the same for all distributions, but its value is unknown. The bounds of two settings can
        be compared. A single bound is no guarantee.
    gamma_plus : {"corrected", "printed"} or float
        The share of positives that the risk uses, see `population_risk`.

    Returns
    -------
    float
        The bound in units of the risk. The risk is at most 1, so that a bound >= 1 is trivial.

    Raises
    ------
    ArgumentError
        If a count is below 1, k > n_neg, or rho, constant or gamma_plus is out of range.

    Notes
    -----
    The bound is valid for independently drawn positives and negatives of one group. It does not
    depend on the number of groups (users).

    References
    ----------
    hiranandani2020, theorem 2.

    Examples
    --------
    >>> small = generalization_bound(n_pos=100, n_neg=1_000, k=50, vc_dim=6)
    >>> large = generalization_bound(n_pos=10_000, n_neg=100_000, k=5_000, vc_dim=6)
    >>> round(small, 2), round(large, 2)
    (5.32, 0.69)
    """
    positive_share, negative_share = gammas(n_pos, n_neg, k, gamma_plus)
    capacity = checks.cutoff(vc_dim, name="vc_dim")
    log_inverse_rho = math.log(1.0 / checks.open_fraction(rho, "rho"))
    checked_constant = checks.positive(constant, "constant")
    positive_term = math.sqrt((capacity * math.log(n_pos) + log_inverse_rho) / n_pos)
    negative_term = math.sqrt((capacity * math.log(n_neg) + log_inverse_rho) / n_neg)
    return checked_constant * (positive_term / positive_share + negative_term / negative_share)


def sizes(n_pos: int, n_neg: int, k: int) -> tuple[int, int, int]:
    """Return the checked counts, or raise an error if k > n_neg."""
    positives = checks.cutoff(n_pos, name="n_pos")
    negatives = checks.cutoff(n_neg, name="n_neg")
    cutoff = checks.cutoff(k)
    if cutoff > negatives:
        raise ArgumentError(
            f"k must be at most n_neg, got k={cutoff} and n_neg={negatives}. "
            "pAp@k uses the k best negatives."
        )
    return positives, negatives, cutoff


def gammas(n_pos: int, n_neg: int, k: int, gamma_plus: GammaPlus) -> tuple[float, float]:
    """Return (gamma_plus, gamma_minus), the shares of positives and negatives that are used."""
    n_pos, n_neg, k = sizes(n_pos, n_neg, k)
    negative_share = k / n_neg
    if not isinstance(gamma_plus, str):
        return checks.number(
            gamma_plus, "gamma_plus", low=0.0, high=1.0, strict=True
        ), negative_share
    if checks.choice(gamma_plus, "gamma_plus", _FORMS) == "corrected":
        return min(1.0, k / n_pos), negative_share
    # The share of positives among all, n_pos / (n_pos + n_neg), against k / n_neg, in integers.
    return (1.0 if n_pos * n_neg <= k * (n_pos + n_neg) else negative_share), negative_share


Sampler: TypeAlias = Callable[[np.random.Generator, int], ArrayLike]
"""A function that draws from a class: (rng, n) -> n scores, or n rows of features."""

Scorer: TypeAlias = Callable[[Any], ArrayLike]
"""A function that scores rows of features: (n, …) -> (n,)."""

_FEWEST = 10  # least number of draws in a top share of half a batch
_ROWS = 65_536  # number of rows of features in memory at a time


@dataclass(frozen=True)
class PopulationRisk:
    """A population risk with its Monte Carlo error.

    Attributes
    ----------
    value : float
        The risk, in [0, 1].
    std_error : float
        The standard error of `value`, from the spread over batches.
    gamma_plus, gamma_minus : float
        The shares of positives and negatives that the risk uses, in (0, 1].
    n_draws, n_batches : int
        The number of draws of each class, and the number of batches.
    """

    value: float
    std_error: float
    gamma_plus: float
    gamma_minus: float
    n_draws: int
    n_batches: int

    @property
    def pap(self) -> float:
        """The share of correctly ordered pairs, 1 - value."""
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
    """Estimate pAp@k's risk between the top gamma_plus of positives and gamma_minus of negatives.

    This is the limit of the risk of a group as its n_pos, n_neg and k grow in proportion.

    Parameters
    ----------
    positives, negatives : callable (rng, n) -> array
        The functions that draw n scores of a class, or n rows of features if `scorer` is given.
    n_pos, n_neg, k : int
        The numbers of positives and negatives of a group, and its cutoff. Only their proportions
        have an effect; gamma_minus = k / n_neg.
    gamma_plus : {"corrected", "printed"} or float
        The share of positives that the risk uses. "corrected" is min(1, k / n_pos), the limit of
        beta / n_pos. "printed" is eq. (16) of the paper: 1 if positives are at most a share
        gamma_minus of the group, or else gamma_minus. A number is a share in (0, 1].
    scorer : callable (rows) -> scores, optional
        The function that scores rows of features, such as ``model.predict``.
    n_draws : int
        The least number of draws of each class over all batches. It is rounded up, so that all
        batches have the same even size.
    n_batches : int
        The number of batches, at least 2.
    seed : int
        The seed. The same seed gives the same value.

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
    The printed gamma_plus is not the limit of the share that eq. (1) uses. With 10,000 positives,
    100,000 negatives and k = 5,000, the metric uses half of the positives, but eq. (16) uses the
    top 5 %.

    A positive that ties with a negative is an error. If many items have the same score at the edge
    of a top share, eq. (16) includes all of them. If all scores are equal, its risk is therefore 1
    / (gamma_plus gamma_minus) > 1. Here, as in the metric, only as many items are included as fill
    the share, and this risk is 1.

    The risk of a batch of m draws has a bias of about a constant / m. Twice the risk of the batch
    less the mean risk of its halves does not have this bias. This value is averaged over batches.

    Cost: a sort of 3 n_draws numbers of each class. Memory: 16 bytes × n_draws / n_batches, and
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
    positive_share, negative_share = gammas(n_pos, n_neg, k, gamma_plus)
    batches = checks.cutoff(n_batches, name="n_batches")
    if batches < 2:
        raise ArgumentError(
            "n_batches must be at least 2, got 1. The standard error is the spread over batches."
        )
    size = _batch_size(
        checks.cutoff(n_draws, name="n_draws"), batches, min(positive_share, negative_share)
    )
    root_seed = checks.integer(seed, "seed")
    values = np.empty(batches)
    for batch in range(batches):
        s = _draw(positives, scorer, _rng(root_seed, batch, 0), size, "positives")
        t = _draw(negatives, scorer, _rng(root_seed, batch, 1), size, "negatives")
        values[batch] = _unbiased(s, t, positive_share, negative_share)
    value = float(np.clip(values.mean(), 0.0, 1.0))
    std_error = float(values.std(ddof=1) / np.sqrt(batches))
    return PopulationRisk(value, std_error, positive_share, negative_share, size * batches, batches)


def _batch_size(n_draws: int, n_batches: int, share: float) -> int:
    """Return the even number of draws per batch, or raise an error if a share has too few."""
    size = 2 * -(-n_draws // (2 * n_batches))
    if size / 2 * share < _FEWEST:
        n_needed = int(np.ceil(2 * _FEWEST / share)) * n_batches
        raise ArgumentError(
            f"n_draws is too small, got {n_draws}: each of {n_batches} batches has "
            f"{size * share:.3g} draws in the top share of {share:.3g}. "
            f"Pass n_draws={n_needed} or more."
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
    """Return the scores of n draws, or raise an error if they have a wrong shape."""
    rows = np.atleast_1d(drawn)
    if scorer is None and rows.ndim > 1:
        raise ArgumentError(f"{name} returned rows, which need a scorer. Pass scorer=.")
    scores = checks.scores(rows if scorer is None else scorer(rows), name=f"{name}(rng, n)")
    if len(rows) != n or scores.size != n:
        raise ArgumentError(
            f"{name} and the scorer must return one value per draw, got {scores.size} for n={n}."
        )
    return scores


def _unbiased(s: PerRow, t: PerRow, plus: float, minus: float) -> float:
    half = s.size // 2
    halves = _risk(s[:half], t[:half], plus, minus) + _risk(s[half:], t[half:], plus, minus)
    return 2.0 * _risk(s, t, plus, minus) - halves / 2.0


def _risk(s: PerRow, t: PerRow, plus: float, minus: float) -> float:
    """Return the weighted share of errors, with the last draw of each top share counted in part."""
    n_pos, n_neg = plus * s.size, minus * t.size
    top_positives = np.sort(s)[::-1][: int(np.ceil(n_pos))]
    top_negatives = np.sort(t)[t.size - int(np.ceil(n_neg)) :]
    n_errors = top_negatives.size - np.searchsorted(top_negatives, top_positives, side="left")
    # The lowest negative of the share counts in part: a positive below all has n_neg errors.
    errors = np.minimum(n_errors, n_neg)
    errors[-1] *= n_pos - (top_positives.size - 1)
    return float(errors.sum() / (n_pos * n_neg))
