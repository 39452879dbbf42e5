"""The gap between population and empirical risk as a group grows, compared with the bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.metrics import pap
from podium.progress import or_silent
from podium.ranking import Ranking
from podium.report import figures
from podium.types import PerRow, Progress
from podium_studies import checks, views
from podium_studies.hiranandani2020.theory.population import (
    PopulationRisk,
    Sampler,
    Scorer,
    generalization_bound,
    population_risk,
    scored,
    sizes,
)

Fit: TypeAlias = Callable[[Any, Any], Scorer]
"""A function that learns a scorer: (rows of positives, rows of negatives) -> scorer."""


Gap: TypeAlias = dict[str, Any]
"""The result of `generalization_gap`: plain numbers; each list has one entry per size."""


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
    smallest = sizes(n_pos, n_neg, k)
    factors = [checks.cutoff(m, name="multiples") for m in multiples]
    if not factors or any(b <= a for a, b in itertools.pairwise(factors)):
        raise ArgumentError(
            f"multiples must be one or more integers in rising order, got {list(multiples)!r}."
        )
    repeats = checks.cutoff(n_repeats, name="n_repeats")
    level, root_seed = checks.open_fraction(rho, "rho"), checks.integer(seed, "seed")
    if scorer is not None and fit is not None:
        raise ArgumentError("Pass scorer or fit, not both.")
    group = dict(zip(("n_pos", "n_neg", "k"), smallest, strict=True))

    def population(chosen: Scorer | None) -> PopulationRisk:
        options: dict[str, Any] = {"scorer": chosen, "n_draws": n_draws, "seed": root_seed}
        return population_risk(positives, negatives, **group, **options)

    report = or_silent(progress)
    risks = np.empty((2, len(factors), repeats))  # population and empirical, by size and repeat
    risk = population(scorer) if fit is None else None
    for (i, factor), repeat in itertools.product(enumerate(factors), range(repeats)):
        # The last key is 2 or 3, because the keys of the population end in 0 and 1.
        n_items, cutoff = [factor * n for n in smallest[:2]], factor * smallest[2]
        drawn = [
            sampler(np.random.default_rng([root_seed, factor, repeat, last_key]), n)
            for sampler, n, last_key in zip((positives, negatives), n_items, (2, 3), strict=True)
        ]
        if fit is not None:
            scorer = fit(*drawn)
            risk = population(scorer)
        s, t = (
            scored(rows, scorer, n, name)
            for rows, n, name in zip(drawn, n_items, ("positives", "negatives"), strict=True)
        )
        risks[:, i, repeat] = risk.value if risk else math.nan, _empirical(s, t, cutoff)
        n_done = i * repeats + repeat + 1
        report(n_done, len(factors) * repeats, f"{sum(n_items):,} items")
    by_size = {name: [n * factor for factor in factors] for name, n in group.items()}
    bound = [
        generalization_bound(n_pos=p, n_neg=n, k=cutoff, vc_dim=vc_dim, rho=level)
        for p, n, cutoff in zip(*by_size.values(), strict=True)
    ]
    gaps = risks[0] - risks[1]
    low, high = np.quantile(gaps, [level, 1.0 - level], axis=1)
    constant = float((high / bound).max())
    return {
        **by_size,
        "population": risks[0].mean(axis=1).tolist(),
        "population_std_error": risk.std_error if risk else math.nan,
        "empirical": risks[1].mean(axis=1).tolist(),
        "gap": {"mean": gaps.mean(axis=1).tolist(), "low": low.tolist(), "high": high.tolist()},
        "bound": bound,
        "constant": constant if constant > 0 else None,
        "scaled_bound": [constant * value if constant > 0 else None for value in bound],
        "rate": _rate(factors, high - low),
        "rho": level,
        "vc_dim": vc_dim,
        "n_repeats": repeats,
        "seed": seed,
    }


def _empirical(s: PerRow, t: PerRow, k: int) -> float:
    relevance = np.repeat([1.0, 0.0], [s.size, t.size])
    ranking = Ranking.from_scores(np.concatenate([s, t]), relevance)
    return 1.0 - float(pap(ranking, k=k)[0])


def _rate(factors: Sequence[int], widths: NDArray[np.float64]) -> float | None:
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
    x, band = np.add(gap["n_pos"], gap["n_neg"]).tolist(), gap["gap"]
    label = f"mean of {gap['n_repeats']} groups, band: {low:g} % to {high:g} %"
    series = [views.curve(label, x, band["mean"]) | {"low": band["low"], "high": band["high"]}]
    if gap["constant"] is not None:
        label = f"bound with C = {gap['constant']:.3g}"
        series.append(views.curve(label, x, gap["scaled_bound"]))
    x_label, y_label = "items in the group (logarithmic)", "population − empirical risk"
    figure = views.lines(title, series, x_label, y_label, log_x=True)
    return figures.draw(figure, width=width, background=background)
