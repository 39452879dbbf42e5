"""The theory of pAp@k: the risk on a population, and its distance from the risk of a sample.

``population_risk`` is the limit of a group's risk as the group grows. ``generalization_bound``
bounds the difference between the population risk and the risk of a sample, and
``generalization_gap`` measures it. The page theory.md has examples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import ArgumentError
from podium.metrics import pap
from podium.ranking import Ranking
from podium.types import PerRow
from podium_studies import checks

Sampler: TypeAlias = Callable[[np.random.Generator, int], ArrayLike]
"""A function (rng, n) that draws n scores of a class, or n rows of features."""
Scorer: TypeAlias = Callable[[Any], ArrayLike]
"""A function from rows of features to their scores."""
GammaPlus: TypeAlias = Literal["corrected", "printed"]

_BATCHES = 20
_FEWEST = 10  # least number of draws in a top share of half a batch


def generalization_bound(
    *,
    n_pos: int,
    n_neg: int,
    k: int,
    vc_dim: int,
    rho: float = 0.05,
    gamma_plus: GammaPlus = "corrected",
) -> float:
    """Return a bound on population risk less empirical risk that holds with probability 1 - rho.

    The bound is ``sqrt((vc_dim ln n_pos + ln 1/rho) / n_pos) / gamma_plus
    + sqrt((vc_dim ln n_neg + ln 1/rho) / n_neg) / gamma_minus`` with gamma_minus = k / n_neg.

    Parameters
    ----------
    n_pos, n_neg, k : int
        The numbers of positives and negatives of the group, and the cutoff, k <= n_neg.
    vc_dim : int
        The VC dimension of the thresholded scoring functions, at least 1. For linear scores of d
        features, it is d + 1.
    rho : float
        The probability that the bound does not hold, between 0 and 1.
    gamma_plus : {"corrected", "printed"}
        The share of positives that the risk uses, see `population_risk`.

    Returns
    -------
    float
        The bound in units of the risk, with a constant of 1. According to the theorem, a constant
        exists that is the same for all distributions, but its value is unknown. The bounds of two
        settings can be compared. A single bound is no guarantee.

    Raises
    ------
    ArgumentError
        If a count is below 1, or k > n_neg.

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
    shares = zip((n_pos, n_neg), gammas(n_pos, n_neg, k, gamma_plus), strict=True)
    log_rho = math.log(rho)
    return sum(math.sqrt((vc_dim * math.log(n) - log_rho) / n) / share for n, share in shares)


def gammas(n_pos: int, n_neg: int, k: int, gamma_plus: GammaPlus) -> tuple[float, float]:
    """Return (gamma_plus, gamma_minus), the shares of positives and negatives that are used."""
    if n_pos < 1 or not 1 <= k <= n_neg:
        raise ArgumentError(
            f"n_pos must be at least 1, and k from 1 to n_neg, got n_pos={n_pos}, n_neg={n_neg} "
            f"and k={k}. pAp@k uses the k best negatives."
        )
    negative_share = k / n_neg
    if checks.choice(gamma_plus, "gamma_plus", ("corrected", "printed")) == "corrected":
        return min(1.0, k / n_pos), negative_share
    # The share of positives among all, n_pos / (n_pos + n_neg), against k / n_neg, in integers.
    return (1.0 if n_pos * n_neg <= k * (n_pos + n_neg) else negative_share), negative_share


class PopulationRisk(NamedTuple):
    """A population risk with its Monte Carlo error.

    Attributes
    ----------
    value : float
        The risk, in [0, 1].
    std_error : float
        The standard error of `value`, from the spread over batches.
    gamma_plus, gamma_minus : float
        The shares of positives and negatives that the risk uses, in (0, 1].
    """

    value: float
    std_error: float
    gamma_plus: float
    gamma_minus: float


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
    gamma_plus : {"corrected", "printed"}
        The share of positives that the risk uses. "corrected" is min(1, k / n_pos), the limit of
        beta / n_pos. "printed" is eq. (16) of the paper: 1 if positives are at most a share
        gamma_minus of the group, or else gamma_minus.
    scorer : callable (rows) -> scores, optional
        The function that scores rows of features, such as ``model.predict``.
    n_draws : int
        The least number of draws of each class. It is rounded up, so that all 20 batches have the
        same even size.
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

    Cost: a sort of 3 n_draws numbers of each class. Memory: n_draws / 20 rows of features.

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
    shares = gammas(n_pos, n_neg, k, gamma_plus)
    size = 2 * -(-n_draws // (2 * _BATCHES))
    if size / 2 * min(shares) < _FEWEST:
        n_needed = math.ceil(2 * _FEWEST / min(shares)) * _BATCHES
        raise ArgumentError(f"n_draws must be at least {n_needed} here, got {n_draws}.")
    values = np.empty(_BATCHES)
    for batch in range(_BATCHES):
        s, t = (
            _scored(sampler(np.random.default_rng((seed, batch, i)), size), scorer, size)
            for i, sampler in enumerate((positives, negatives))
        )
        half = size // 2
        halves = _risk(s[:half], t[:half], *shares) + _risk(s[half:], t[half:], *shares)
        values[batch] = 2.0 * _risk(s, t, *shares) - halves / 2.0
    value = float(np.clip(values.mean(), 0.0, 1.0))
    return PopulationRisk(value, float(values.std(ddof=1) / np.sqrt(_BATCHES)), *shares)


def _scored(rows: ArrayLike, scorer: Scorer | None, n: int) -> PerRow:
    """Return the scores of n draws, or raise an error if they are not n finite numbers."""
    scores = np.asarray(rows if scorer is None else scorer(rows), np.float64)
    if scores.shape != (n,) or not np.isfinite(scores).all():
        raise ArgumentError(
            f"The samplers and the scorer must return one finite score per draw, got an array of "
            f"shape {scores.shape} for n={n}. Rows of features need a scorer."
        )
    return scores


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


def generalization_gap(
    positives: Sampler,
    negatives: Sampler,
    *,
    n_pos: int,
    n_neg: int,
    k: int,
    vc_dim: int,
    multiples: Sequence[int] = (1, 2, 4, 8, 16, 32),
    n_repeats: int = 200,
    fit: Callable[[Any, Any], Scorer] | None = None,
    rho: float = 0.05,
    n_draws: int = 1_000_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure the population risk less the empirical risk of pAp@k as a group grows.

    The ratios k / n_pos and k / n_neg are the same for all sizes.

    Parameters
    ----------
    positives, negatives : callable (rng, n) -> array
        The functions that draw n scores of a class, or n rows of features if `fit` is given.
    n_pos, n_neg, k : int
        The numbers of positives and negatives of the smallest group, and its cutoff.
    vc_dim : int
        The VC dimension for `generalization_bound`.
    multiples : sequence of int
        The sizes, as multiples of the smallest group.
    n_repeats : int
        The number of groups that are drawn at each size, at least 2.
    fit : callable (rows of positives, rows of negatives) -> scorer, optional
        A function that learns a scorer from each group. The scorer is measured on that group and
        on the population. This is the case of the theorem.
    rho : float
        The rho of the bound. The band is from the rho to the 1 - rho quantile over repeats.
    n_draws : int
        The number of Monte Carlo draws of each class for a population risk. With `fit`, each of
        the n_repeats × len(multiples) scorers uses the same draws.
    seed : int
        The seed. The same seed gives the same numbers, and the first repeats do not depend on
        their number.

    Returns
    -------
    dict
        Plain numbers. "n_pos", "n_neg", "k", "population", "empirical", "bound" and
        "scaled_bound" are lists with one entry per size. "population" and "empirical" are mean
        risks. "gap" is population - empirical, with the lists "mean", "low" and "high". "bound"
        has a constant of 1. "constant" is the least constant with which the bound is at or above
        the upper end of the band at every size, and "scaled_bound" is the bound with this
        constant. "rate" is the slope of the logarithm of the band's width against the logarithm
        of the size, which is -1/2 for 1/sqrt(n). "constant" and all of "scaled_bound" are None if
        the band is nowhere above 0. "rate" is None if the band has no width at some size.
        "rho" and "n_repeats" are the arguments.

    Notes
    -----
    "constant" is measured on one distribution at these sizes. It does not estimate the constant
    of the theorem, which is valid for all distributions.

    References
    ----------
    hiranandani2020, theorem 2.

    Examples
    --------
    >>> def positives(rng, n):
    ...     return rng.normal(1.0, 1.0, n)
    >>> def negatives(rng, n):
    ...     return rng.normal(0.0, 1.0, n)
    >>> gap = generalization_gap(
    ...     positives, negatives, n_pos=20, n_neg=200, k=10, vc_dim=1, multiples=(1, 16),
    ...     n_repeats=50, n_draws=100_000,
    ... )
    >>> gap["n_pos"], gap["n_neg"], gap["k"]
    ([20, 320], [200, 3200], [10, 160])
    >>> -0.7 < gap["rate"] < -0.3
    True
    """

    def population(scorer: Scorer | None) -> float:
        group: dict[str, Any] = {"n_pos": n_pos, "n_neg": n_neg, "k": k, "scorer": scorer}
        return population_risk(positives, negatives, **group, n_draws=n_draws, seed=seed).value

    scorer = None
    risk = population(None) if fit is None else math.nan
    risks = np.empty((2, len(multiples), n_repeats))  # population and empirical, by size, repeat
    by_size = {"n_pos": [n_pos * m for m in multiples], "n_neg": [n_neg * m for m in multiples]}
    for (i, m), repeat in itertools.product(enumerate(multiples), range(n_repeats)):
        # The last key is 2 or 3, because the keys of the population end in 0 and 1.
        samplers = zip((positives, negatives), by_size.values(), strict=True)
        drawn = [
            sampler(np.random.default_rng([seed, m, repeat, last_key]), n[i])
            for last_key, (sampler, n) in enumerate(samplers, 2)
        ]
        if fit is not None:
            scorer = fit(*drawn)
            risk = population(scorer)
        s, t = (_scored(rows, scorer, len(np.asarray(rows))) for rows in drawn)
        relevance = np.repeat([1.0, 0.0], [s.size, t.size])
        ranking = Ranking.from_scores(np.concatenate([s, t]), relevance)
        risks[:, i, repeat] = risk, 1.0 - float(pap(ranking, k=m * k)[0])
    bound = [
        generalization_bound(n_pos=m * n_pos, n_neg=m * n_neg, k=m * k, vc_dim=vc_dim, rho=rho)
        for m in multiples
    ]
    gaps = risks[0] - risks[1]
    low, high = np.quantile(gaps, [rho, 1.0 - rho], axis=1)
    constant = float((high / bound).max())
    fitted: Any = np.polyfit  # its type is incomplete
    sizes, has_width = np.log(multiples), bool((high > low).all())
    return {
        **by_size,
        "k": [k * m for m in multiples],
        "population": risks[0].mean(axis=1).tolist(),
        "empirical": risks[1].mean(axis=1).tolist(),
        "gap": {"mean": gaps.mean(axis=1).tolist(), "low": low.tolist(), "high": high.tolist()},
        "bound": bound,
        "constant": constant if constant > 0 else None,
        "scaled_bound": [constant * value if constant > 0 else None for value in bound],
        "rate": float(fitted(sizes, np.log(high - low), 1)[0]) if has_width else None,
        "rho": rho,
        "n_repeats": n_repeats,
    }
