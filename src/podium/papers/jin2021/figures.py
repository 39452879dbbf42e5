"""The distribution of ranks that estimators learn from samples, against the exact one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.papers.jin2021.evaluations import Evaluations, prepare, quiet, told
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, key, mean, parts
from podium.report import Figure, Table
from podium.sampled import RankDistribution, get

_DIGITS = 7  # of a share of users: a hundredth of one of 100,000


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each recommender's exact ranks, and its samples."""
    return [*_cells(recipe)]


def _cells(recipe: Recipe) -> Iterator[str]:
    for method in recipe.parameters["methods"]:
        yield key(part=EXACT, method=method)
        for repeat in range(recipe.repeats or 1):
            yield key(part=SAMPLE, method=method, repeat=repeat)


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Return recall at each rank: the exact one, or what estimators make of one sample."""
    asked, depth = parts(cell), recipe.parameters["depth"]
    method = asked["method"]
    if asked["part"] == EXACT:
        ranks = context.ranks(method)
        exact = RankDistribution.of_ranks(ranks, context.held.n_items)
        return {"users": ranks.size, "recall": exact.cdf[:depth].round(_DIGITS)}
    samples = context.sample(method, recipe.parameters["n_negatives"], int(asked["repeat"]))
    with quiet():
        learned = {
            label: get(text).fit(told(recipe, label, samples))
            for label, text in recipe.parameters["estimators"].items()
        }
    return {"recall": {label: each.cdf[:depth].round(_DIGITS) for label, each in learned.items()}}


EXACT, SAMPLE = "exact", "sample"
"""What a cell has: the exact curve of a recommender, or the estimates of one sample."""

CDF, PMF = "cdf distance", "pmf distance"
"""How far the mean curve is from the exact one: mean distance over ranks of recall, and of the
shares of users at each rank, in parts of the exact one's mean."""

ONE, APART = "cdf distance of one sample", "cdf apart"
"""The same of recall, of each sample's curve on average; and of two estimators' mean curves."""

CHANCE = "users' chance"
"""How far shares of so many users are, rank by rank, from those of infinitely many."""

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, eq=False)
class Curves:
    """Recall at ranks 1 .. depth by a recommender.

    Attributes
    ----------
    exact : float64, (depth,)
    runs : dict of str to float64, (n_runs, depth)
        Of each estimator, a row for each sample.
    users : int
    """

    exact: Floats
    runs: dict[str, Floats]
    users: int


def curves(recipe: Recipe, cells: Cells, method: str) -> Curves:
    """Collect the cells of a recommender."""
    asked = [(parts(cell), found) for cell, found in cells.items()]
    mine = [(told["part"], found) for told, found in asked if told["method"] == method]
    exact = next(found for part, found in mine if part == EXACT)
    samples = [found["recall"] for part, found in mine if part == SAMPLE]
    runs = {
        label: np.array([each[label] for each in samples], np.float64)
        for label in recipe.parameters["estimators"]
    }
    return Curves(np.array(exact["recall"], np.float64), runs, int(exact["users"]))


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels at a few ranks, distances of mean curves, and differences of both."""
    found: dict[str, Measured] = {}
    for method in recipe.parameters["methods"]:
        found |= {f"{method}, {name}": each for name, each in _of(recipe, cells, method).items()}
    return found


def _of(recipe: Recipe, cells: Cells, method: str) -> dict[str, Measured]:
    read = curves(recipe, cells, method)
    noise = chance(read.exact, read.users)
    found = {f"{CHANCE} {PMF}": Measured(noise, n=read.users)}
    for label, runs in read.runs.items():
        for k in recipe.parameters["cutoffs"]:
            found[f"{label} − exact recall@{k}"] = mean(runs[:, k - 1] - read.exact[k - 1])
        found |= {f"{label} {name}": each for name, each in _distances(runs, read.exact).items()}
        shares = found[f"{label} {PMF}"]
        found[f"{label} {PMF} / {CHANCE}"] = Measured(
            shares.value / noise, shares.std_error / noise, shares.n
        )
    for one, other in recipe.parameters["compared"]:
        both = np.stack([read.runs[one], read.runs[other]], axis=1)
        compared = _compared(both, read.exact, recipe.parameters["cutoffs"][0])
        found |= {f"{one} − {other} {name}": each for name, each in compared.items()}
    return found


def _distances(runs: Floats, exact: Floats) -> dict[str, Measured]:
    return {
        CDF: of_mean(runs, lambda curve: distance(curve, exact)),
        PMF: of_mean(runs, lambda curve: rankwise(curve, exact)),
        f"{PMF} − {CDF}": of_mean(
            runs, lambda curve: rankwise(curve, exact) - distance(curve, exact)
        ),
        ONE: mean(distance(run, exact) for run in runs),
    }


def _compared(pairs: Floats, exact: Floats, k: int) -> dict[str, Measured]:
    """Return one estimator less another, on the same samples."""

    def nearer(pair: Floats) -> float:
        return distance(pair[0], exact) - distance(pair[1], exact)

    return {
        f"recall@{k}": mean(pairs[:, 0, k - 1] - pairs[:, 1, k - 1]),
        CDF: of_mean(pairs, nearer),
        ONE: mean(nearer(pair) for pair in pairs),
        APART: of_mean(pairs, lambda pair: distance(pair[0], pair[1])),
    }


def distance(curve: Floats, exact: Floats) -> float:
    """Return the mean distance of two curves, over the mean of the second."""
    return float(np.abs(curve - exact).mean() / exact.mean())


def rankwise(curve: Floats, exact: Floats) -> float:
    """Return the distance of two curves' shares at each rank."""
    return distance(*(np.diff(each, prepend=0.0) for each in (curve, exact)))


def chance(exact: Floats, users: int) -> float:
    """Return how far users' shares at each rank are from those of infinitely many like them.

    The mean distance of a normal variable with a Poisson count's variance.
    """
    share = np.diff(exact, prepend=0.0)
    return float(np.sqrt(2.0 * share / (math.pi * users)).mean() / share.mean())


def of_mean(runs: Floats, statistic: Callable[[Floats], float]) -> Measured:
    """Return a statistic of the mean over runs; its standard error leaves out a run at a time."""
    n = runs.shape[0]
    value = statistic(runs.mean(axis=0))
    if n < 2:
        return Measured(value, n=n)
    total = runs.sum(axis=0)
    others = np.array([statistic((total - each) / (n - 1)) for each in runs])
    return Measured(value, float(others.std() * math.sqrt(n - 1)), n)


_EXACT = "exact"


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return, by recommender, the chance of each rank, recall, and recall over the exact one."""
    return [
        figure
        for method in recipe.parameters["methods"]
        for figure in _plots(recipe, method, curves(recipe, cells, method))
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return, by recommender, recall at a few ranks and the distances of whole curves."""
    return [
        _table(recipe, figures, method, curves(recipe, cells, method))
        for method in recipe.parameters["methods"]
    ]


def _plots(recipe: Recipe, method: str, read: Curves) -> Iterator[Figure]:
    apart: Sequence[str] = recipe.parameters["apart"]
    mean = {label: runs.mean(axis=0) for label, runs in read.runs.items()}
    near = {label: curve for label, curve in mean.items() if label not in apart}
    said = _said(recipe, read)
    far = "; ".join(f"{label} begins at {mean[label][0]:.3f}" for label in apart)
    yield {
        "kind": "line_plot",
        "title": f"{method}: chance of each rank",
        "series": [_line(_EXACT, _shares(read.exact)), *_lines(near, _shares)],
        "x_label": "rank R among all items",
        "y_label": "share of users whose target has rank R",
        "caption": f"{said} Not shown: {far}." if far else said,
    }
    yield {
        "kind": "line_plot",
        "title": f"{method}: chance of a rank of at most R, which is recall@R",
        "series": [_line(_EXACT, read.exact), *_lines(mean, np.asarray)],
        "x_label": "rank R among all items",
        "y_label": "share of users whose target has rank R or better",
        "caption": said,
    }
    yield {
        "kind": "line_plot",
        "title": f"{method}: estimated recall@R over the exact one",
        "series": [_line(_EXACT, np.ones(read.exact.size)), *_lines(near, _over(read.exact))],
        "x_label": "rank R among all items",
        "y_label": "estimate / exact",
        "log_x": True,
        "caption": said if not apart else f"{said} Not shown: {', '.join(apart)}, far above.",
    }


def _said(recipe: Recipe, read: Curves) -> str:
    n_runs = next(iter(read.runs.values())).shape[0]
    return (
        f"Each curve is the mean over {n_runs} samples of {recipe.parameters['n_negatives']} "
        f"items a user; exact: the ranks of {read.users:,} users among all items."
    )


def _lines(curves_: Mapping[str, Floats], shown: Any) -> list[Mapping[str, Any]]:
    return [_line(label, shown(curve)) for label, curve in curves_.items()]


def _line(label: str, values: Floats) -> Mapping[str, Any]:
    return {
        "label": label,
        "x": list(range(1, values.size + 1)),
        "y": [round(value, 7) if np.isfinite(value) else None for value in values.tolist()],
    }


def _shares(curve: Floats) -> Floats:
    return np.diff(curve, prepend=0.0)


def _over(exact: Floats) -> Any:
    def ratio(curve: Floats) -> Floats:
        """Leave out ranks that no user's target reaches."""
        return np.divide(curve, exact, out=np.full(exact.size, np.nan), where=exact > 0)

    return ratio


def _table(recipe: Recipe, figures: Figures, method: str, read: Curves) -> Table:
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    noise = figures[f"{method}, {CHANCE} {PMF}"].value
    exact = [_EXACT, *(f"{read.exact[k - 1]:.4f}" for k in cutoffs), "", "", f"{noise:.3f}"]
    return {
        "caption": f"{method}: recall, mean ± standard deviation of one sample; and distances from "
        "the exact curve, in parts of its mean, of recall and of the shares at each rank (exact: "
        "how far these are from the shares of infinitely many users)",
        "columns": [
            "",
            *(f"recall@{k}" for k in cutoffs),
            "recall, one sample",
            "recall, mean of all",
            "shares, mean of all",
        ],
        "rows": [exact, *(_row(figures, method, label, read, cutoffs) for label in read.runs)],
    }


def _row(
    figures: Figures, method: str, label: str, read: Curves, cutoffs: Sequence[int]
) -> list[str]:
    at = [read.runs[label][:, k - 1] for k in cutoffs]
    levels = [f"{values.mean():.4f} ± {_spread(values)}" for values in at]
    far = [figures[f"{method}, {label} {name}"].value for name in (ONE, CDF, PMF)]
    return [label, *levels, *(f"{value:.3f}" for value in far)]


def _spread(values: Floats) -> str:
    return f"{values.std(ddof=1):.4f}" if values.size > 1 else "–"


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Curves of estimators, each the mean over a recipe's repeats."""
