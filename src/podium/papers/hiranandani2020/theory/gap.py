"""The gap between population and empirical risk as a group grows, beside the bound's shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.metrics import pap
from podium.papers.hiranandani2020.theory.bound import generalization_bound, sizes
from podium.papers.hiranandani2020.theory.population import Sampler, Scorer, population_risk, scored
from podium.progress import or_silent
from podium.ranking import Ranking
from podium.report.figures import line_plot
from podium.types import PerRow, Progress

Fit: TypeAlias = Callable[[Any, Any], Scorer]
"""Learns a scorer: (rows of positives, rows of negatives) -> scorer."""


class Band(TypedDict):
    """Mean and quantiles by size."""

    mean: list[float]
    low: list[float]
    high: list[float]


class Gap(TypedDict):
    """What `generalization_gap` returns: plain numbers, one per size in each list."""

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
    """Population less empirical risk of pAp@k as a group grows, k / n_pos and k / n_neg fixed.

    Parameters
    ----------
    positives, negatives : callable (rng, n) -> array
        Draw n scores of the class, or n rows of features where `scorer` or `fit` is given.
    n_pos, n_neg, k : int
        The smallest group.
    vc_dim : int
        VC dimension for `generalization_bound`.
    multiples : sequence of int
        The sizes, as multiples of the smallest group.
    n_repeats : int
        Groups drawn at each size, at least 2.
    scorer : callable (rows) -> scores, optional
        One scorer for all groups.
    fit : callable (rows of positives, rows of negatives) -> scorer, optional
        Learns a scorer from each group instead, which is then measured on that group and on the
        population: the case that the bound is made for.
    rho : float
        The band runs from the rho to the 1 - rho quantile over repeats; the bound's rho.
    n_draws : int
        Monte Carlo draws of each class for a population risk; with `fit` for each of the
        n_repeats × len(multiples) scorers, the same draws for all.
    seed : int
        The same seed gives the same numbers; more repeats keep those of fewer.
    progress : callable (done, total, note), optional

    Returns
    -------
    dict
        Plain numbers, a list with one entry per size unless said otherwise: "n_pos", "n_neg",
        "k"; "population" and "empirical", mean risks; "gap", population - empirical, with its
        "mean", "low" and "high"; "bound" with a constant of 1; "constant", the least constant
        (one number) with which the bound lies above the upper end of the band at every size
        shown, and "scaled_bound", the bound with it; "rate", the slope of the logarithm of the
        band's width in the logarithm of the size (one number: -1/2 for 1/sqrt(n)).
        "constant" is None where the band is nowhere above 0, "rate" where it has no width or there
        is one size alone.
        "population_std_error" is of one population risk.

    Raises
    ------
    ArgumentError
        As `population_risk`; for both scorer and fit, or sizes that do not rise.

    Notes
    -----
    "constant" is measured on one distribution, at these sizes. It is no estimate of the
    theorem's, which serves all distributions at once.

    References
    ----------
    hiranandani2020, theorem 2.

    Examples
    --------
    >>> def positives(rng, n):
    ...     return rng.normal(1.0, 1.0, n)
    >>> def negatives(rng, n):
    ...     return rng.normal(0.0, 1.0, n)
    >>> found = generalization_gap(
    ...     positives, negatives, n_pos=20, n_neg=200, k=10, vc_dim=1, multiples=(1, 16),
    ...     n_repeats=50, n_draws=100_000,
    ... )
    >>> found["n_pos"], found["n_neg"], found["k"]
    ([20, 320], [200, 3200], [10, 160])
    >>> -0.7 < found["rate"] < -0.3
    True
    """
    n_pos, n_neg, k = sizes(n_pos, n_neg, k)
    factors = _factors(multiples)
    repeats = _check.cutoff(n_repeats, name="n_repeats")
    level = _check.open_fraction(rho, "rho")
    if scorer is not None and fit is not None:
        raise ArgumentError("Pass scorer or fit, not both.")
    shape, root = (n_pos, n_neg, k), _check.seed(seed)
    study = _Study((positives, negatives), shape, scorer, fit, n_draws, root)
    risks, std_error = study.risks(factors, repeats, or_silent(progress))
    bound = [
        generalization_bound(n_pos=n_pos * f, n_neg=n_neg * f, k=k * f, vc_dim=vc_dim, rho=level)
        for f in factors
    ]
    band = _band(risks[0] - risks[1], level)
    constant = max(h / b for h, b in zip(band["high"], bound, strict=True))
    known = constant > 0
    return {
        "n_pos": [n_pos * f for f in factors],
        "n_neg": [n_neg * f for f in factors],
        "k": [k * f for f in factors],
        "population": risks[0].mean(axis=1).tolist(),
        "population_std_error": std_error,
        "empirical": risks[1].mean(axis=1).tolist(),
        "gap": band,
        "bound": bound,
        "constant": constant if known else None,
        "scaled_bound": [constant * b if known else None for b in bound],
        "rate": _rate(factors, band),
        "rho": level,
        "vc_dim": vc_dim,
        "n_repeats": repeats,
        "seed": seed,
    }


@dataclass(frozen=True)
class _Study:
    """Draws groups and finds the two risks of each."""

    samplers: tuple[Sampler, Sampler]
    sizes: tuple[int, int, int]
    scorer: Scorer | None
    fit: Fit | None
    n_draws: int
    seed: int

    def risks(
        self, factors: Sequence[int], repeats: int, progress: Progress
    ) -> tuple[NDArray[np.float64], float]:
        """Return population and empirical risks, (2, n_sizes, n_repeats), and the first's error."""
        risks = np.empty((2, len(factors), repeats))
        scorer, value, error = self.scorer, math.nan, math.nan
        if self.fit is None:
            value, error = self._population(scorer)
        for i, factor in enumerate(factors):
            n_pos, n_neg, k = (factor * n for n in self.sizes)
            for repeat in range(repeats):
                # A last key of 2 and 3: the population's draws end in 0 and 1.
                rngs = [np.random.default_rng([self.seed, factor, repeat, last]) for last in (2, 3)]
                drawn = [
                    sampler(rng, n)
                    for sampler, rng, n in zip(self.samplers, rngs, (n_pos, n_neg), strict=True)
                ]
                if self.fit is not None:
                    scorer = self.fit(*drawn)
                    value, error = self._population(scorer)
                s = scored(drawn[0], scorer, n_pos, "positives")
                t = scored(drawn[1], scorer, n_neg, "negatives")
                risks[:, i, repeat] = value, _empirical(s, t, k)
                done = i * repeats + repeat + 1
                progress(done, len(factors) * repeats, f"{n_pos + n_neg:,} items")
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
    factors = [_check.cutoff(m, name="multiples") for m in multiples]
    if not factors or any(b <= a for a, b in itertools.pairwise(factors)):
        raise ArgumentError(f"multiples must rise, at least one, got {list(multiples)!r}.")
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
    """Draw what `generalization_gap` found: the mean gap, its band, and the bound scaled to it.

    Parameters
    ----------
    gap : mapping
        From `generalization_gap`.
    title, width, background
        As in every figure, see `podium.report.figures`.

    Returns
    -------
    str
        One SVG element.

    Examples
    --------
    >>> found = {
    ...     "n_pos": [20, 40], "n_neg": [200, 400], "rho": 0.05, "n_repeats": 200,
    ...     "gap": {"mean": [0.0, 0.0], "low": [-0.2, -0.1], "high": [0.2, 0.1]},
    ...     "constant": 0.1, "scaled_bound": [0.2, 0.15],
    ... }
    >>> gap_plot(found)[:4]
    '<svg'
    """
    low, high = 100 * gap["rho"], 100 * (1 - gap["rho"])
    x = [p + n for p, n in zip(gap["n_pos"], gap["n_neg"], strict=True)]
    shown = gap["gap"]
    label = f"mean of {gap['n_repeats']}, band: {low:g} % to {high:g} %"
    series: list[dict[str, Any]] = [
        {"label": label, "x": x, "y": shown["mean"], "low": shown["low"], "high": shown["high"]}
    ]
    if gap["constant"] is not None:
        label = f"bound with C = {gap['constant']:.3g}"
        series.append({"label": label, "x": x, "y": gap["scaled_bound"]})
    return line_plot(
        series,
        title=title,
        x_label="items of the group, logarithmic",
        y_label="population − empirical risk",
        log_x=True,
        width=width,
        background=background,
    )
