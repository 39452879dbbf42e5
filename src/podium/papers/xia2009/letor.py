"""The experiments of xia2009 on LETOR: ListMLE and others at the top k, on five folds.

Each query's values are kept, so that what is claimed of two methods is tested on the same
queries. Losses that break ties of the grades by a drawn order are trained on several draws: the
recipe's repeats.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.papers import folds
from podium.papers.folds import N_FOLDS
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts
from podium.papers.study import Cells, Figures, Measured, Result, Study, generator, key, parts
from podium.papers.xia2009.letor_methods import (
    CUTOFFS,
    METHODS,
    PAPER,
    PODIUM,
    Method,
    drawn_shares,
    tuned,
)
from podium.report import Figure, Table

Context: TypeAlias = Mapping[str, tuple[Parts, ...]]


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the five folds of each collection, by its name in tables."""
    return {
        name: folds.folds(
            paths[given["folder"]], within=given.get("within", ""), n_queries=given["queries"]
        )
        for name, given in recipe.parameters["collections"].items()
    }


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: what is counted; then by collection, method and draw the folds."""
    names = [_check.choice(name, "methods", list(METHODS)) for name in recipe.parameters["methods"]]
    counted = [key(data=data, count="drawn") for data in recipe.parameters["collections"]]
    return counted + [
        key(data=data, method=name, draw=draw, fold=fold)
        for data in recipe.parameters["collections"]
        for name in names
        for draw in draws(recipe, name)
        for fold in range(1, folds.N_FOLDS + 1)
    ]


def draws(recipe: Recipe, name: str) -> Sequence[int]:
    """Return the numbers of a method's draws: one where it draws nothing."""
    return range((recipe.repeats or 1) if METHODS[name].draws else 1)


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Count drawn places, or tune a method on a fold's validation queries and test it."""
    asked = parts(cell)
    if "count" in asked:
        return drawn_shares(context[asked["data"]])
    fold, draw = int(asked["fold"]), int(asked["draw"])
    seed = int(generator(recipe, "draw", fold, draw).integers(2**31))
    found = context[asked["data"]][fold - 1]
    return tuned(METHODS[asked["method"]], found, recipe.parameters, seed)


Z = 1.96  # an interval of 95 %
LISTMLE, TOP_10 = "ListMLE", "Top-10 ListMLE"
FAMILIES = (LISTMLE, "ListNet", "RankCosine")
RIVALS = ("RankBoost", "Ranking SVM", "ListNet", "RankCosine")
OVER_MEASURES = ", mean over measures"
SHOWING = "intervals that exclude 0"
DRAWN = "share of places that an irrelevant row has by chance"
BEST = "measures in which Top-10 ListMLE is no worse than the four baselines"
ORDERED = "pairs of methods in the printed order, share"


class Values:
    """All values of one collection: by measure, method and draw a number for each test query.

    Attributes
    ----------
    data : str
        The collection's name.
    before : str
        What its figures' names begin with: nothing where the recipe has one collection.
    weights : float64, (n_queries,)
        1 / (folds x the fold's queries): a weighted sum is the mean of the folds' means.
    folds : int64, (n_queries,)
    """

    def __init__(
        self, recipe: Recipe, cells: Cells, data: str, methods: Mapping[str, Method] = METHODS
    ) -> None:
        self._recipe, self._cells, self.data, self._methods = recipe, cells, data, methods
        self.before = f"{data} " if len(recipe.parameters["collections"]) > 1 else ""
        first = recipe.parameters["methods"][0]
        sizes = [len(cells[self._key(first, 0, fold)]["query"]) for fold in _FOLDS]
        self.folds = np.repeat(np.arange(N_FOLDS), sizes)
        self.weights = 1.0 / (N_FOLDS * np.array(sizes, np.float64)[self.folds])

    def of(self, method: str, measure: str) -> NDArray[np.float64]:
        """Return what each query has under each draw, (n_draws, n_queries)."""
        return np.array([self._of_draw(method, measure, draw) for draw in self.draws(method)])

    def _of_draw(self, method: str, measure: str, draw: int) -> NDArray[np.float64]:
        found = [self._cells[self._key(method, draw, fold)]["values"] for fold in _FOLDS]
        return np.concatenate([by_measure[measure] for by_measure in found])

    def draws(self, method: str) -> Sequence[int]:
        """Return the numbers of the method's draws."""
        return range((self._recipe.repeats or 1) if self._methods[method].draws else 1)

    def chosen(self, method: str) -> Iterator[Mapping[str, Any]]:
        """Yield what was chosen, by draw and fold."""
        for draw, fold in itertools.product(self.draws(method), _FOLDS):
            yield self._cells[self._key(method, draw, fold)]["chosen"]

    def _key(self, method: str, draw: int, fold: int) -> str:
        return key(data=self.data, method=method, draw=draw, fold=fold)


def collections(recipe: Recipe, cells: Cells) -> list[Values]:
    """Return the values of every collection."""
    return [Values(recipe, cells, name) for name in recipe.parameters["collections"]]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return each method's means, the differences between methods, and what sums them up."""
    found: dict[str, Measured] = {}
    for values in collections(recipe, cells):
        levels = {
            (name, measure): level(values.of(name, measure), values)
            for name in recipe.parameters["methods"]
            for measure in recipe.parameters["measures"]
        }
        found |= {f"{values.before}{name} {m}": each for (name, m), each in levels.items()}
        for one, other in pairs(recipe):
            found |= differences(recipe, values, one, other)
        found |= _modifications(recipe, found, values.before)
        found |= _drawn(cells, values)
        found |= _summaries(recipe, levels, values.before)
    return found


def pairs(recipe: Recipe) -> list[tuple[str, str]]:
    """Return what is compared, of those methods that the recipe has."""
    there = set(recipe.parameters["methods"])
    modified = [(f"Top-{k} {name}", name) for name in FAMILIES for k in CUTOFFS]
    rivals = [(TOP_10, rival) for rival in RIVALS]
    others = [(name, TOP_10) for name in METHODS if METHODS[name].kind == PODIUM]
    return [pair for pair in (*modified, *rivals, *others) if {*pair} <= there]


def level(values: NDArray[np.float64], of: Values) -> Measured:
    """Return the mean of the five folds' means, and the standard error of it over folds."""
    by_fold = np.bincount(of.folds, values.mean(axis=0) * of.weights) * N_FOLDS
    error = float(by_fold.std(ddof=1)) / math.sqrt(N_FOLDS)
    return Measured(float(by_fold.mean()), error, N_FOLDS)


def spread(values: NDArray[np.float64], of: Values) -> float:
    """Return how much the five-fold mean of one draw varies over draws; nan with a single one."""
    means = by_draw(values, of)
    return float(means.std(ddof=1)) if means.size > 1 else math.nan


def by_draw(values: NDArray[np.float64], of: Values) -> NDArray[np.float64]:
    """Return the mean of the five folds' means under each draw."""
    return (values * of.weights).sum(axis=1)


def differences(recipe: Recipe, values: Values, one: str, other: str) -> Figures:
    """Return how far one method is above another, by measure and over all of them."""
    gaps = {
        measure: values.of(one, measure) - values.of(other, measure)
        for measure in recipe.parameters["measures"]
    }
    label = f"{values.before}{one} − {other}"
    found = {measure: difference(gap, values.weights) for measure, gap in gaps.items()}
    together = np.mean([*gaps.values()], axis=0)
    return {
        **{f"{label} {measure}": each for measure, each in found.items()},
        f"{label}{OVER_MEASURES}": difference(together, values.weights),
    }


def difference(gap: NDArray[np.float64], weights: NDArray[np.float64]) -> Measured:
    """Return a mean difference with the error of drawing queries and drawing orders.

    Parameters
    ----------
    gap : float64, (n_draws, n_queries)
        Each query's difference under each draw.
    weights : float64, (n_queries,)
        Of each query, with a sum of 1.

    Returns
    -------
    Measured
        `n` is the number of queries. The variance over queries is that of the mean over draws;
        that of the draws' means over their number is added, since all queries share a draw.
    """
    n_draws, n_queries = gap.shape
    by_query, by_draw = gap.mean(axis=0), (gap * weights).sum(axis=1)
    mean = float(by_draw.mean())
    of_queries = float(np.sum((weights * (by_query - mean)) ** 2)) * n_queries / (n_queries - 1)
    of_draws = float(by_draw.var(ddof=1)) / n_draws if n_draws > 1 else 0.0
    return Measured(mean, math.sqrt(of_queries + of_draws), n_queries)


def _modifications(recipe: Recipe, found: Figures, before: str) -> Figures:
    """Return what sums up the top-k modifications: where a gain is lowest, and how many show."""
    figures: dict[str, Measured] = {}
    for name in FAMILIES:
        gains: list[Measured] = []
        for one, other in pairs(recipe):
            if other == name and one.endswith(f" {name}"):
                label = f"{before}{one} − {other}"
                here = [found[f"{label} {measure}"] for measure in recipe.parameters["measures"]]
                figures[f"{label}, lowest interval of all measures"] = min(here, key=_low)
                gains += here
        if gains:
            showing = sum(abs(gain.value) > Z * gain.std_error for gain in gains)
            figures[f"{before}Top-k {name} − {name}, {SHOWING}"] = Measured(float(showing))
    return figures


def _summaries(recipe: Recipe, levels: Mapping[tuple[str, str], Measured], before: str) -> Figures:
    """Return in how many measures top-10 ListMLE leads, and how far the printed order is ours."""
    figures: dict[str, Measured] = {}
    if {TOP_10, *RIVALS} <= set(recipe.parameters["methods"]):
        leads = [
            all(levels[TOP_10, measure].value >= levels[other, measure].value for other in RIVALS)
            for measure in recipe.parameters["measures"]
        ]
        figures[before + BEST] = Measured(float(sum(leads)))
    agree = [*_agreements(recipe, levels, before)]
    if agree:
        figures[before + ORDERED] = Measured(float(np.mean(agree)), n=len(agree))
    return figures


def _drawn(cells: Cells, values: Values) -> Figures:
    """Return how much of the heads that top-k ListMLE learns from is irrelevant and drawn."""
    shares = cells[key(data=values.data, count="drawn")]
    return {f"{values.before}{name}: {DRAWN}": Measured(shares[name]) for name in shares}


def _agreements(
    recipe: Recipe, levels: Mapping[tuple[str, str], Measured], before: str
) -> Iterator[bool]:
    """Yield for every two printed figures of a measure that differ whether ours do so too."""
    for measure in recipe.parameters["measures"]:
        printed = {
            name: recipe.printed[f"{before}{name} {measure}"]
            for name in recipe.parameters["methods"]
            if f"{before}{name} {measure}" in recipe.printed
        }
        for one, other in itertools.combinations(printed, 2):
            theirs = printed[one] - printed[other]
            if theirs:
                ours = levels[one, measure].value - levels[other, measure].value
                yield ours * theirs > 0


def _low(found: Measured) -> float:
    return found.value - Z * found.std_error


_FOLDS = range(1, N_FOLDS + 1)


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return, by collection, the paper's methods by measure, and the differences."""
    found: list[Figure] = []
    there = [name for name in recipe.parameters["methods"] if METHODS[name].kind == PAPER]
    modified = [name for name in there if name.endswith(LISTMLE)]
    compared = [name for name in there if name in (*RIVALS, TOP_10)]
    for values in collections(recipe, cells):
        before = values.before
        found += [
            _levels(recipe, figures, before, modified, "ListMLE at the top k"),
            _levels(recipe, figures, before, compared, f"{TOP_10} and others"),
            *_gains(recipe, figures, before),
            *_rivals(recipe, figures, before),
        ]
    return found


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return, by collection, all methods and differences, what draws do, and what was chosen."""
    return [table for v in collections(recipe, cells) for table in _tables(recipe, figures, v)]


def _tables(recipe: Recipe, figures: Figures, values: Values) -> Iterator[Table]:
    names: Sequence[str] = recipe.parameters["methods"]
    measures, before = [*recipe.parameters["measures"]], values.before
    whose = f"{values.data}: mean of five folds ± its standard error over folds (printed)"
    yield {
        "caption": whose,
        "columns": ["method", "whose", *measures],
        "rows": [
            [n, METHODS[n].kind, *(_cell(recipe, figures, f"{before}{n} {m}") for m in measures)]
            for n in names
        ],
    }
    yield {
        "caption": f"{values.data}: differences on the same queries, with intervals of 95 %",
        "columns": ["difference", *measures, "mean"],
        "rows": [
            [label, *(interval(figures[f"{before}{label}{end}"]) for end in _ends(measures))]
            for label in (f"{one} − {other}" for one, other in pairs(recipe))
        ],
    }
    yield {
        "caption": f"{values.data}: standard deviation of a five-fold mean over draws, by which "
        "one run differs from the next",
        "columns": ["method", *measures],
        "rows": [
            [name, *(f"{spread(values.of(name, measure), values):.4f}" for measure in measures)]
            for name in names
            if len(values.draws(name)) > 1
        ],
    }
    yield {
        "caption": f"{values.data}: what single draws would have shown, least to greatest",
        "columns": ["difference", *measures],
        "rows": [
            [f"{one} − {other}", *(_range(values, one, other, measure) for measure in measures)]
            for one, other in pairs(recipe)
            if len(values.draws(one)) > 1 and not _own(one)
        ],
    }
    yield {
        "caption": f"{values.data}: options chosen on validation: median over draws and "
        "folds (least to greatest), or how often",
        "columns": ["method", "options"],
        "rows": [[name, chosen(values, name)] for name in names],
    }


def _ends(measures: Sequence[str]) -> list[str]:
    return [*(f" {measure}" for measure in measures), OVER_MEASURES]


def _levels(
    recipe: Recipe, figures: Figures, before: str, names: Sequence[str], title: str
) -> Figure:
    measures: Sequence[str] = [*recipe.parameters["measures"]]
    return {
        "kind": "grouped_intervals",
        "title": before + title,
        "panels": [
            {
                "title": measure,
                "rows": [
                    each
                    for name in names
                    for each in _both(recipe, figures, f"{before}{name} {measure}", name)
                ],
            }
            for measure in measures
        ],
        "share_axis": False,
        "digits": 3,
        "caption": "Mean of five folds ± 1.96 standard errors over folds; then the printed figure.",
    }


def _both(recipe: Recipe, figures: Figures, key: str, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield our figure as a row, and the printed one."""
    yield {"series": "podium", **row(name, figures[key])}
    if key in recipe.printed:
        printed = recipe.printed[key]
        yield {"label": "  printed", "series": "paper", "value": printed, "low": None, "high": None}


def _gains(recipe: Recipe, figures: Figures, before: str) -> Iterator[Figure]:
    """Yield what the top-k modification changes, for each of the three losses."""
    measures: Sequence[str] = [*recipe.parameters["measures"]]
    for name in FAMILIES:
        labels = [f"Top-{k} {name} − {name}" for k in CUTOFFS]
        there = [label for label in labels if f"{before}{label}{OVER_MEASURES}" in figures]
        if there:
            yield {
                "kind": "grouped_intervals",
                "title": f"{before}{name}: gain by the top-k modification",
                "panels": [
                    {
                        "title": measure,
                        "rows": [
                            row(label.partition(" − ")[0], figures[f"{before}{label} {measure}"])
                            for label in there
                        ],
                    }
                    for measure in measures
                ],
                "axis_label": "difference",
                "digits": 3,
                "caption": f"Difference from {name} on the same queries; intervals of 95 %.",
            }


def _rivals(recipe: Recipe, figures: Figures, before: str) -> Iterator[Figure]:
    """Yield top-10 ListMLE against the methods of Table 4, and podium's methods against it."""
    compared = {
        f"{TOP_10} above others": [pair for pair in pairs(recipe) if pair[1] in RIVALS],
        f"podium's choices above {TOP_10}": [pair for pair in pairs(recipe) if _own(pair[0])],
    }
    measures: Sequence[str] = [*recipe.parameters["measures"]]
    for title, found in compared.items():
        of_all = title.startswith(TOP_10)
        chosen = [(one, other) for one, other in found if not of_all or one == TOP_10]
        if chosen:
            yield {
                "kind": "grouped_intervals",
                "title": before + title,
                "panels": [
                    {
                        "title": measure,
                        "rows": [
                            row(
                                other if of_all else one,
                                figures[f"{before}{one} − {other} {measure}"],
                            )
                            for one, other in chosen
                        ],
                    }
                    for measure in measures
                ],
                "axis_label": "difference",
                "digits": 3,
                "caption": "Differences on the same queries; intervals of 95 %.",
            }


def _own(name: str) -> bool:
    return METHODS[name].kind == PODIUM


def row(label: str, found: Measured) -> Mapping[str, Any]:
    """Return a figure's row: a value and its interval of 95 %."""
    margin = 0.0 if math.isnan(found.std_error) else Z * found.std_error
    low, high = found.value - margin, found.value + margin
    return {"label": label, "value": found.value, "low": low, "high": high}


def _cell(recipe: Recipe, figures: Figures, name: str) -> str:
    found, printed = figures[name], recipe.printed.get(name)
    text = f"{found.value:.3f} ± {found.std_error:.3f}"
    return text if printed is None else f"{text} ({printed:.3f})"


def interval(found: Measured) -> str:
    """Return a difference and its interval of 95 % in words."""
    margin = Z * found.std_error
    return f"{found.value:+.3f} [{found.value - margin:+.3f}, {found.value + margin:+.3f}]"


def _range(values: Values, one: str, other: str, measure: str) -> str:
    gaps = by_draw(values.of(one, measure) - values.of(other, measure), values)
    return f"{gaps.min():+.3f} to {gaps.max():+.3f}"


def chosen(values: Values, name: str) -> str:
    """Return which options of a method were chosen, over draws and folds."""
    found = [*values.chosen(name)]
    return "; ".join(f"{option} {_of([each[option] for each in found])}" for option in found[0])


def _of(column: Sequence[Any]) -> str:
    """Return what was chosen in words: the median and the range of numbers, or how often what."""
    if isinstance(column[0], str):
        counts = Counter(column).most_common()
        return ", ".join(f"{value} ({times})" for value, times in counts)
    low, middle, high = np.quantile(column, [0.0, 0.5, 1.0], method="nearest").tolist()
    return f"{middle:g} ({low:g} to {high:g})"


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Tables 1 to 6 on the collections that a recipe's parameters name."""
