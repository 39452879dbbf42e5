"""The gap between population and empirical risk as a group grows, compared with the bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.metrics import pap
from podium.progress import or_silent
from podium.ranking import Ranking
from podium.report import figures
from podium.types import PerRow, Progress
from podium_studies import checks
from podium_studies.hiranandani2020.theory.bound import generalization_bound, sizes
from podium_studies.hiranandani2020.theory.population import (
    Sampler,
    Scorer,
    population_risk,
    scored,
)

Fit: TypeAlias = Callable[[Any, Any], Scorer]
"""A function that learns a scorer: (rows of positives, rows of negatives) -> scorer."""


class Band(TypedDict):
    """The mean and the quantiles by size."""

    mean: list[float]
    low: list[float]
    high: list[float]


class Gap(TypedDict):
    """The result of `generalization_gap`: plain numbers; each list has one entry per size."""

    n_pos: list[int]
    n_neg: list[int]
    k: list[int]
    population: list[float]
    population_std_error: float
    empirical: list[float]
    gap: Band
    bound: list[float]
    constant: float | None
    scaled_bound: list[float | None]
    rate: float | None
    rho: float
    vc_dim: int
    n_repeats: int
    seed: int


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
    scorer: Scorer | None = None,
    fit: Fit | None = None,
    rho: float = 0.05,
    n_draws: int = 1_000_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Gap:
    """Measure the population risk less the empirical risk of pAp@k as a group grows.

    The ratios k / n_pos and k / n_neg are the same for all sizes.

    Parameters
    ----------
    positives, negatives : callable (rng, n) -> array
        The functions that draw n scores of a class, or n rows of features if `scorer` or `fit`
        is given.
    n_pos, n_neg, k : int
        The numbers of positives and negatives of the smallest group, and its cutoff.
    vc_dim : int
        The VC dimension for `generalization_bound`.
    multiples : sequence of int
        The sizes, as multiples of the smallest group, in ascending order.
    n_repeats : int
        The number of groups that are drawn at each size, at least 2.
    scorer : callable (rows) -> scores, optional
        The scorer of all groups.
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
    progress : callable (done, total, note), optional
        The function that is called after each group.

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
        the band is nowhere above 0. "rate" is None if the band has no width at some size or
        there is only one size. "population_std_error" is the standard error of one population
        risk. "rho", "vc_dim", "n_repeats" and "seed" are the arguments.

    Raises
    ------
    ArgumentError
        If `population_risk` raises one, both scorer and fit are given, or the sizes do not
        increase.

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
    n_pos, n_neg, k = sizes(n_pos, n_neg, k)
    factors = _factors(multiples)
    repeats = checks.cutoff(n_repeats, name="n_repeats")
    level = checks.open_fraction(rho, "rho")
    if scorer is not None and fit is not None:
        raise ArgumentError("Pass scorer or fit, not both.")
    shape, root_seed = (n_pos, n_neg, k), checks.integer(seed, "seed")
    study = _Study((positives, negatives), shape, scorer, fit, n_draws, root_seed)
    risks, std_error = study.risks(factors, repeats, or_silent(progress))
    bound = [
        generalization_bound(n_pos=n_pos * f, n_neg=n_neg * f, k=k * f, vc_dim=vc_dim, rho=level)
        for f in factors
    ]
    band = _band(risks[0] - risks[1], level)
    constant = max(high / size_bound for high, size_bound in zip(band["high"], bound, strict=True))
    has_constant = constant > 0
    return {
        "n_pos": [n_pos * f for f in factors],
        "n_neg": [n_neg * f for f in factors],
        "k": [k * f for f in factors],
        "population": risks[0].mean(axis=1).tolist(),
        "population_std_error": std_error,
        "empirical": risks[1].mean(axis=1).tolist(),
        "gap": band,
        "bound": bound,
        "constant": constant if has_constant else None,
        "scaled_bound": [constant * size_bound if has_constant else None for size_bound in bound],
        "rate": _rate(factors, band),
        "rho": level,
        "vc_dim": vc_dim,
        "n_repeats": repeats,
        "seed": seed,
    }


@dataclass(frozen=True)
class _Study:
    """The samplers and sizes of a study, which draws groups and computes both risks of each."""

    samplers: tuple[Sampler, Sampler]
    sizes: tuple[int, int, int]
    scorer: Scorer | None
    fit: Fit | None
    n_draws: int
    seed: int

    def risks(
        self, factors: Sequence[int], repeats: int, progress: Progress
    ) -> tuple[NDArray[np.float64], float]:
        """Return the risks and the standard error of the last population risk.

        The risks are population and empirical, float64 (2, n_sizes, n_repeats).
        """
        risks = np.empty((2, len(factors), repeats))
        scorer, value, error = self.scorer, math.nan, math.nan
        if self.fit is None:
            value, error = self._population(scorer)
        for i, factor in enumerate(factors):
            n_pos, n_neg, k = (factor * n for n in self.sizes)
            for repeat in range(repeats):
                # The last key is 2 or 3, because the keys of the population end in 0 and 1.
                rngs = [
                    np.random.default_rng([self.seed, factor, repeat, last_key])
                    for last_key in (2, 3)
                ]
                samples = [
                    sampler(rng, n)
                    for sampler, rng, n in zip(self.samplers, rngs, (n_pos, n_neg), strict=True)
                ]
                if self.fit is not None:
                    scorer = self.fit(*samples)
                    value, error = self._population(scorer)
                s = scored(samples[0], scorer, n_pos, "positives")
                t = scored(samples[1], scorer, n_neg, "negatives")
                risks[:, i, repeat] = value, _empirical(s, t, k)
                n_done = i * repeats + repeat + 1
                progress(n_done, len(factors) * repeats, f"{n_pos + n_neg:,} items")
        return risks, error

    def _population(self, scorer: Scorer | None) -> tuple[float, float]:
        n_pos, n_neg, k = self.sizes
        risk = population_risk(
            *self.samplers,
            n_pos=n_pos,
            n_neg=n_neg,
            k=k,
            scorer=scorer,
            n_draws=self.n_draws,
            seed=self.seed,
        )
        return risk.value, risk.std_error


def _empirical(s: PerRow, t: PerRow, k: int) -> float:
    relevance = np.repeat([1.0, 0.0], [s.size, t.size])
    ranking = Ranking.from_scores(np.concatenate([s, t]), relevance)
    return 1.0 - float(pap(ranking, k=k)[0])


def _factors(multiples: Sequence[int]) -> list[int]:
    factors = [checks.cutoff(m, name="multiples") for m in multiples]
    if not factors or any(b <= a for a, b in itertools.pairwise(factors)):
        raise ArgumentError(
            f"multiples must be one or more integers in rising order, got {list(multiples)!r}."
        )
    return factors


def _band(gaps: NDArray[np.float64], rho: float) -> Band:
    low, high = np.quantile(gaps, [rho, 1.0 - rho], axis=1)
    return {"mean": gaps.mean(axis=1).tolist(), "low": low.tolist(), "high": high.tolist()}


def _rate(factors: Sequence[int], band: Band) -> float | None:
    widths = np.subtract(band["high"], band["low"])
    if len(factors) < 2 or not (widths > 0).all():
        return None
    return float(np.polyfit(np.log(factors), np.log(widths), 1)[0])


def gap_plot(
    gap: Mapping[str, Any],
    *,
    title: str = "Population less empirical risk of pAp@k",
    width: int = 720,
    background: str | None = None,
) -> str:
    """Draw a result of `generalization_gap`: the mean gap, its band, and the scaled bound.

    Parameters
    ----------
    gap : mapping
        The result of `generalization_gap`.
    title, width, background
        The options of every figure, see `podium.report.figures`.

    Returns
    -------
    str
        One SVG element.

    Examples
    --------
    >>> gap = {
    ...     "n_pos": [20, 40], "n_neg": [200, 400], "rho": 0.05, "n_repeats": 200,
    ...     "gap": {"mean": [0.0, 0.0], "low": [-0.2, -0.1], "high": [0.2, 0.1]},
    ...     "constant": 0.1, "scaled_bound": [0.2, 0.15],
    ... }
    >>> gap_plot(gap)[:4]
    '<svg'
    """
    low, high = 100 * gap["rho"], 100 * (1 - gap["rho"])
    x = [
        n_positives + n_negatives
        for n_positives, n_negatives in zip(gap["n_pos"], gap["n_neg"], strict=True)
    ]
    band = gap["gap"]
    label = f"mean of {gap['n_repeats']} groups, band: {low:g} % to {high:g} %"
    series: list[dict[str, Any]] = [
        {"label": label, "x": x, "y": band["mean"], "low": band["low"], "high": band["high"]}
    ]
    if gap["constant"] is not None:
        label = f"bound with C = {gap['constant']:.3g}"
        series.append({"label": label, "x": x, "y": gap["scaled_bound"]})
    figure = {
        "kind": "line_plot",
        "series": series,
        "title": title,
        "x_label": "items in the group (logarithmic)",
        "y_label": "population − empirical risk",
        "log_x": True,
    }
    return figures.draw(figure, width=width, background=background)
