"""The distribution of ranks that estimators learn from samples, against the exact one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.papers import views
from podium.papers.jin2021.evaluations import Evaluations, prepare, quiet
from podium.papers.jin2021.protocol import Floats
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, key, mean, parts
from podium.report import Figure, Table

_DIGITS = 7  # of a share of users: a hundredth of one of 100,000


EXACT, SAMPLE = "exact", "sample"
"""What a cell has: the exact curve of a recommender, or the estimates of one sample."""

CDF, PMF = "cdf distance", "pmf distance"
"""How far the mean curve is from the exact one: mean distance over ranks of recall, and of the
shares of users at each rank, in parts of the exact one's mean."""

ONE, APART = "cdf distance of one sample", "cdf apart"
"""The same of recall, of each sample's curve on average; and of two estimators' mean curves."""

CHANCE = "users' chance"
"""How far shares of so many users are, rank by rank, from those of infinitely many."""


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each recommender's exact ranks, and its samples."""
    for method in recipe.parameters["methods"]:
        yield key(part=EXACT, method=method)
        for repeat in range(recipe.repeats or 1):
            yield key(part=SAMPLE, method=method, repeat=repeat)


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Return recall at each rank: the exact one, or what estimators make of one sample."""
    asked, depth = parts(cell), recipe.parameters["depth"]
    method = asked["method"]
    if asked["part"] == EXACT:
        recall = context.exact(method).cdf[:depth].round(_DIGITS)
        return {"users": context.held.n_users, "recall": recall}
    samples = context.sample(method, recipe.parameters["n_negatives"], int(asked["repeat"]))
    with quiet():
        recall = {
            label: estimator.fit(ranks).cdf[:depth].round(_DIGITS)
            for label, estimator, ranks in context.readings(samples)
        }
    return {"recall": recall}


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
    mine = [(told["part"], found) for told, found in views.select(cells, method=method)]
    exact = next(found for part, found in mine if part == EXACT)
    samples = [found["recall"] for part, found in mine if part == SAMPLE]
    runs = {
        label: np.array([each[label] for each in samples], np.float64)
        for label in recipe.parameters["estimators"]
    }
    return Curves(np.array(exact["recall"], np.float64), runs, int(exact["users"]))


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels at a few ranks, distances of mean curves, and differences of both."""
    return {
        f"{method}, {name}": each
        for method in recipe.parameters["methods"]
        for name, each in _of(recipe, curves(recipe, cells, method)).items()
    }


def _of(recipe: Recipe, read: Curves) -> dict[str, Measured]:
    noise, k = chance(read.exact, read.users), recipe.parameters["cutoffs"][0]

    def nearer(pair: Floats) -> float:
        return distance(pair[0], read.exact) - distance(pair[1], read.exact)

    found = {f"{CHANCE} {PMF}": Measured(noise, n=read.users)}
    for label, runs in read.runs.items():
        for rank in recipe.parameters["cutoffs"]:
            found[f"{label} − exact recall@{rank}"] = mean(runs[:, rank - 1] - read.exact[rank - 1])
        found |= {f"{label} {name}": each for name, each in _distances(runs, read.exact).items()}
        shares = found[f"{label} {PMF}"]
        found[f"{label} {PMF} / {CHANCE}"] = Measured(
            shares.value / noise, shares.std_error / noise, shares.n
        )
    for one, other in recipe.parameters["compared"]:
        pairs = np.stack([read.runs[one], read.runs[other]], axis=1)
        label = f"{one} − {other}"
        found[f"{label} recall@{k}"] = mean(pairs[:, 0, k - 1] - pairs[:, 1, k - 1])
        found[f"{label} {CDF}"] = of_mean(pairs, nearer)
        found[f"{label} {ONE}"] = mean(nearer(pair) for pair in pairs)
        found[f"{label} {APART}"] = of_mean(pairs, lambda pair: distance(pair[0], pair[1]))
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


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield, by recommender, the chance of each rank, recall, and recall over the exact one."""
    for method in recipe.parameters["methods"]:
        yield from _plots(recipe, method, curves(recipe, cells, method))


def _plots(recipe: Recipe, method: str, read: Curves) -> Iterator[Figure]:
    apart: Sequence[str] = recipe.parameters["apart"]
    mean = {label: runs.mean(axis=0) for label, runs in read.runs.items()}
    near = {label: curve for label, curve in mean.items() if label not in apart}
    n_runs, axis = next(iter(read.runs.values())).shape[0], "rank R among all items"
    said = (
        f"Each curve is the mean over {n_runs} samples of {recipe.parameters['n_negatives']} "
        f"items a user; exact: the ranks of {read.users:,} users among all items."
    )
    far = "; ".join(f"{label} begins at {mean[label][0]:.3f}" for label in apart)
    yield views.lines(
        f"{method}: chance of each rank",
        _lines({EXACT: read.exact, **near}, lambda curve: np.diff(curve, prepend=0.0)),
        axis,
        "share of users whose target has rank R",
        caption=f"{said} Not shown: {far}." if far else said,
    )
    yield views.lines(
        f"{method}: chance of a rank of at most R, which is recall@R",
        _lines({EXACT: read.exact, **mean}, np.asarray),
        axis,
        "share of users whose target has rank R or better",
        caption=said,
    )

    def ratio(curve: Floats) -> Floats:
        """Leave out ranks that no user's target reaches."""
        reached = read.exact > 0
        return np.divide(curve, read.exact, out=np.full(curve.size, np.nan), where=reached)

    ones = _lines({EXACT: np.ones(read.exact.size)}, np.asarray)
    yield views.lines(
        f"{method}: estimated recall@R over the exact one",
        [*ones, *_lines(near, ratio)],
        axis,
        "estimate / exact",
        log_x=True,
        caption=said if not apart else f"{said} Not shown: {', '.join(apart)}, far above.",
    )


def _lines(curves_: Mapping[str, Floats], shown: Callable[[Floats], Floats]) -> Iterator[views.Row]:
    for label, curve in curves_.items():
        heights = shown(curve).tolist()
        known = (round(value, 7) if math.isfinite(value) else None for value in heights)
        yield views.curve(label, range(1, len(heights) + 1), known)


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield, by recommender, recall at a few ranks and the distances of whole curves."""
    for method in recipe.parameters["methods"]:
        yield _table(recipe, figures, method, curves(recipe, cells, method))


def _table(recipe: Recipe, figures: Figures, method: str, read: Curves) -> Table:
    noise = figures[f"{method}, {CHANCE} {PMF}"].value
    far = {"recall, one sample": ONE, "recall, mean of all": CDF, "shares, mean of all": PMF}
    levels = {f"recall@{k}": k for k in recipe.parameters["cutoffs"]}

    def cell(label: str, column: str | int) -> str:
        if isinstance(column, str):
            if label == EXACT:
                return f"{noise:.3f}" if column == PMF else ""
            return f"{figures[f'{method}, {label} {column}'].value:.3f}"
        if label == EXACT:
            return f"{read.exact[column - 1]:.4f}"
        values = read.runs[label][:, column - 1]
        spread = f"{values.std(ddof=1):.4f}" if values.size > 1 else "–"
        return f"{values.mean():.4f} ± {spread}"

    return views.table(
        f"{method}: recall, mean ± standard deviation of one sample; and distances from the exact "
        "curve, in parts of its mean, of recall and of the shares at each rank (exact: how far "
        "these are from the shares of infinitely many users)",
        "",
        [EXACT, *read.runs],
        {**levels, **far},
        cell,
    )


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Curves of estimators, each the mean over a recipe's repeats."""
