"""The distribution of ranks as estimated from samples, compared with the exact one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.cells import mean, repeats, results, sweep
from podium_studies.jin2021 import evaluations
from podium_studies.jin2021.evaluations import Evaluations, Floats
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study

_DIGITS = 7  # decimals of a share of users: 1/100 of one user in 100,000


EXACT, SAMPLE = "exact", "sample"
"""The two kinds of cells: the exact curve of a recommender, or the estimates of one sample."""

CDF, PMF = "cdf distance", "pmf distance"
"""The distances of the mean curve from the exact one: the mean absolute difference over ranks, of
recall and of the shares of users at each rank, divided by the mean of the exact curve."""

ONE, APART = "cdf distance of one sample", "cdf apart"
"""The mean distance of single samples' recall curves, and that of two estimators' mean curves."""

CHANCE = "users' chance"
"""The expected distance of the shares of this many users from those of infinitely many users."""


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the exact ranks and the samples of each recommender."""
    for method in recipe.parameters["methods"]:
        yield from sweep(part=[EXACT], method=[method])
        yield from sweep(part=[SAMPLE], method=[method], repeat=repeats(recipe))


def run(recipe: Recipe, context: Evaluations, part: str, method: str, repeat: int = 0) -> Result:
    """Return recall at each rank: the exact one, or the estimates from one sample."""
    depth = recipe.parameters["depth"]
    if part == EXACT:
        recall = context.exact(method).cdf[:depth].round(_DIGITS)
        return {"users": context.train.shape[0], "recall": recall}
    n_negatives = recipe.parameters["n_negatives"]
    seed = evaluations.sample_seed(recipe, method, n_negatives, repeat)
    with evaluations.quiet():
        recall = {
            label: estimator.fit(ranks).cdf[:depth].round(_DIGITS)
            for label, estimator, ranks in context.readings(method, n_negatives, seed)
        }
    return {"recall": recall}


def curves(recipe: Recipe, cells: Cells, method: str) -> tuple[int, dict[str, Floats]]:
    """Return the number of users, and recall at ranks 1 .. depth, (n_samples, depth).

    The exact recall, one row, comes before the estimators, with a row for each sample.
    """
    (exact,) = results(cells, method=method, part=EXACT)
    samples = [result["recall"] for result in results(cells, method=method, part=SAMPLE)]
    names = recipe.parameters["estimators"]
    by_name = {name: np.array([recall[name] for recall in samples]) for name in names}
    return exact["users"], {EXACT: np.array([exact["recall"]]), **by_name}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return errors at a few ranks, distances of mean curves, and differences of both."""
    return {
        f"{method}, {name}": figure
        for method in recipe.parameters["methods"]
        for name, figure in _method_figures(recipe, *curves(recipe, cells, method)).items()
    }


def _method_figures(recipe: Recipe, users: int, runs: dict[str, Floats]) -> dict[str, Measured]:
    exact = runs.pop(EXACT)[0]
    noise = chance(exact, users)
    cutoffs, pairs = recipe.parameters["cutoffs"], recipe.parameters["compared"]
    single = {label: [distance(run, exact) for run in runs[label]] for label in runs}

    def statistics(mean_curves: Floats) -> dict[str, float | Measured]:
        curves = dict(zip(runs, mean_curves, strict=True))
        figures: dict[str, float | Measured] = {f"{CHANCE} {PMF}": Measured(noise, n=users)}
        cdf = {label: distance(curve, exact) for label, curve in curves.items()}
        for label, curve in curves.items():
            pmf = distance(*(np.diff(recall, prepend=0.0) for recall in (curve, exact)))
            for rank in cutoffs:
                figures[f"{label} − exact recall@{rank}"] = curve[rank - 1] - exact[rank - 1]
            figures |= {
                f"{label} {CDF}": cdf[label],
                f"{label} {PMF}": pmf,
                f"{label} {PMF} − {CDF}": pmf - cdf[label],
                f"{label} {ONE}": mean(single[label]),
                f"{label} {PMF} / {CHANCE}": pmf / noise,
            }
        for one, other in pairs:
            label, last = f"{one} − {other}", cutoffs[0] - 1
            figures |= {
                f"{label} recall@{cutoffs[0]}": curves[one][last] - curves[other][last],
                f"{label} {CDF}": cdf[one] - cdf[other],
                f"{label} {ONE}": mean(np.subtract(single[one], single[other])),
                f"{label} {APART}": distance(curves[one], curves[other]),
            }
        return figures

    return evaluations.jackknife(np.stack([*runs.values()], axis=1), statistics)


def distance(curve: Floats, exact: Floats) -> float:
    """Return the mean distance of two curves, divided by the mean of the second."""
    return float(np.abs(curve - exact).mean() / exact.mean())


def chance(exact: Floats, users: int) -> float:
    """Return the expected distance of the users' shares from those of infinitely many users.

    It is the mean absolute value of normal errors with the variance of a Poisson count.
    """
    share = np.diff(exact, prepend=0.0)
    return float(np.sqrt(2.0 * share / (math.pi * users)).mean() / share.mean())


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure | Table]:
    """Yield distances of curves, and for each recommender its curves and recall at a few ranks."""
    labels = [*recipe.parameters["estimators"]]
    for method in recipe.parameters["methods"]:
        title = f"{method}: distance from the exact curve divided by its mean"
        yield Grid(title, labels, [ONE, CDF, PMF], f"{method}, {{}} {{}}", head="estimator")
        yield from _of_method(recipe, method, *curves(recipe, cells, method))


def _of_method(
    recipe: Recipe, method: str, users: int, runs: dict[str, Floats]
) -> Iterator[Figure | Table]:
    apart: Sequence[str] = recipe.parameters["apart"]
    cutoffs = {f"recall@{k}": k - 1 for k in recipe.parameters["cutoffs"]}

    def text(label: str, i: int) -> str:
        return views.level(evaluations.deviation(runs[label][:, i]), 4)

    title = f"{method}: recall, mean ± standard deviation of one sample"
    yield views.table(title, "estimator", runs, cutoffs, text)
    mean = {name: run.mean(axis=0) for name, run in runs.items()}
    n_runs, axis = max(map(len, runs.values())), "rank R among all items"
    caption = (
        f"Each curve is the mean over {n_runs} samples of {recipe.parameters['n_negatives']} "
        f"items per user. Exact: the ranks of {users:,} users among all items."
    )
    hidden = f" Not shown: {', '.join(apart)}." if apart else ""
    near = {name: curve for name, curve in mean.items() if name not in apart}
    shares = {name: np.diff(curve, prepend=0.0) for name, curve in near.items()}
    for title, plotted, y_label, note in (
        ("share of users at each rank", shares, "share of users with the target at rank R", hidden),
        ("recall@R, the share of users with a rank of at most R", mean, "recall@R", ""),
    ):
        series = [
            views.curve(name, range(1, curve.size + 1), curve.round(_DIGITS).tolist())
            for name, curve in plotted.items()
        ]
        yield views.lines(f"{method}: {title}", (axis, y_label), series, caption=caption + note)


STUDY = Study(cells, run, fold, evaluations.prepare, shown)
"""The study of estimators' curves, each of them the mean over a recipe's repeats."""
