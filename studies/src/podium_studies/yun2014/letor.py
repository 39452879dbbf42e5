"""RoBiRank on LETOR: comparison with podium's other losses with features, on five folds.

To add a method, add its line to METHODS, and its name to the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from podium import losses
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.losses.pairwise import PairwiseHinge, PairwiseLogistic
from podium.losses.pointwise import Squared
from podium.report import Figure, Table
from podium_studies import folds, views
from podium_studies.cells import methods, product, seed_of, sweep
from podium_studies.hiranandani2020.baselines import GreedyPAp, SelectPAp
from podium_studies.hiranandani2020.surrogates import PApStruct, PAUCHinge, PrecisionAverage
from podium_studies.rows import Parts
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study
from podium_studies.xia2009.exponential import PairwiseExponential
from podium_studies.xia2009.letor import Context, prepare, rankboost
from podium_studies.yun2014.robust_binary import RobustBinary

K = 10  # the cutoff of losses that have one, equal to that of the validation measure

FORM, PLAIN, OTHER = "form of RoBiRank", "robust binary", "other"
"""The kinds of methods: RoBiRank and its forms, the poster's binary losses, and all others."""

ROBIRANK = "RoBiRank"


def _baseline(make: Callable[..., Any]) -> folds.Candidates:
    """Return the candidates of a baseline, whose only tuned options are in the "baselines" grid."""

    def candidates(parts: Parts, parameters: folds.Options, seed: int) -> Iterator[folds.Candidate]:
        for options in product(parameters["baselines"]["grid"]):
            ranker = make(K, clip=True, random_state=seed, **options)
            ranker.fit(parts.train.X, parts.train.y, parts.train.qid)
            yield folds.scored(options, ranker, parts)

    return candidates


def _method(
    kind: str, loss: folds.MakeLoss, protocol: str = "lbfgs", **options: Any
) -> folds.Method:
    return folds.Method(kind, folds.searched(protocol, partial(loss, **options)))


_TOP: dict[str, Any] = {"k": K, "clip": True}
METHODS: dict[str, folds.Method] = {
    ROBIRANK: _method(FORM, losses.RoBiRank, "lbfgs"),
    "RoBiRank, type II": _method(FORM, losses.RoBiRank, "lbfgs", type=2),
    "RoBiRank, no rho": _method(FORM, losses.RoBiRank, "lbfgs", type="identity"),
    "RoBiRank, not normalised": _method(FORM, losses.RoBiRank, "lbfgs", normalize=False),
    "RoBiRank, linear gain": _method(FORM, losses.RoBiRank, "lbfgs", gain="linear"),
    "RoBiRank, stopped early": _method(FORM, losses.RoBiRank, "stopped"),
    "RoBiRank, type II, stopped early": _method(FORM, losses.RoBiRank, "stopped", type=2),
    "RoBiRank, no rho, stopped early": _method(FORM, losses.RoBiRank, "stopped", type="identity"),
    "binary, type I": _method(PLAIN, RobustBinary, "lbfgs"),
    "binary, type II": _method(PLAIN, RobustBinary, "lbfgs", type=2),
    "Ranking SVM": _method(OTHER, PairwiseHinge, "subgradient"),
    "pairwise logistic": _method(OTHER, PairwiseLogistic),
    "pairwise exponential": _method(OTHER, PairwiseExponential),
    "RankBoost": folds.Method(OTHER, rankboost),
    "ListMLE": _method(OTHER, losses.ListMLE, n_orders=16),
    "Top-10 ListMLE": _method(OTHER, losses.ListMLE, k=K, n_orders=16),
    "Top-10 ListMLE (relevant rows)": _method(
        OTHER, losses.ListMLE, k=K, n_orders=16, head="relevant"
    ),
    "ListNet": _method(OTHER, losses.ListNet, "listnet"),
    "Top-10 ListNet": _method(OTHER, losses.ListNet, "listnet", k=K),
    "RankCosine": _method(OTHER, losses.RankCosine, "rankcosine"),
    "Top-10 RankCosine": _method(OTHER, losses.RankCosine, "rankcosine", k=K),
    "softmax of grades": _method(OTHER, SoftmaxCrossEntropy),
    "logistic regression": _method(OTHER, losses.Logistic),
    "logistic by group": _method(OTHER, losses.GroupLogistic),
    "squared error": _method(OTHER, Squared),
    "pap-logistic@10": _method(OTHER, losses.PApLogistic, k=K),
    "pap-ramp@10": _method(OTHER, losses.PApRamp, "subgradient", **_TOP),
    "pap-avg@10": _method(OTHER, losses.PApAverage, "subgradient", **_TOP),
    "pap-max@10": _method(OTHER, losses.PApMax, "subgradient", **_TOP),
    "pap-tight-struct@10": _method(OTHER, losses.PApTightStruct, "subgradient", **_TOP),
    "pap-struct@10": _method(OTHER, PApStruct, "subgradient", **_TOP),
    "pauc-hinge@10": _method(OTHER, PAUCHinge, "subgradient", **_TOP),
    "precision average@10": _method(OTHER, PrecisionAverage, "subgradient", **_TOP),
    "greedy pap@10": folds.Method(OTHER, _baseline(GreedyPAp)),
    "select pap@10": folds.Method(OTHER, _baseline(SelectPAp)),
}
"""Every method by its name in tables."""


BEST = "RoBiRank − the best of the others"
ABOVE = "others that RoBiRank is above"
BELOW = "others that RoBiRank is below"
SHOWN = ", the interval without 0"


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the folds by method. There are no repeats, since no method draws ties."""
    names = methods(recipe, METHODS)
    return sweep(data=recipe.parameters["collections"], method=names, draw=[0], fold=folds.FOLDS)


def run(recipe: Recipe, context: Context, data: str, method: str, draw: int, fold: int) -> Result:
    """Tune a method on a fold's validation queries and test it."""
    seed = seed_of(recipe, "fold", fold)
    return folds.tuned(METHODS[method], context[data][fold - 1], recipe.parameters, seed)


def values_of(recipe: Recipe, cells: Cells) -> folds.Values:
    """Return the values of the recipe's only collection."""
    (data,) = recipe.parameters["collections"]
    return folds.Values(recipe, cells, data, METHODS)


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return means by method, RoBiRank's differences, and counts of rivals below and above it.

    The figures contain the measures in "shown"; the table contains all of them.
    """
    figures: dict[str, Measured] = {}
    values, shown_measures = values_of(recipe, cells), recipe.parameters["shown"]
    for measure in shown_measures:
        for name in recipe.parameters["methods"]:
            figures[f"{name} {measure}"] = values.level(name, measure)
    shown_ends = (*(f" {measure}" for measure in shown_measures), folds.OVER_MEASURES)
    for other in recipe.parameters["methods"]:
        if other != ROBIRANK:
            gaps = values.differences(ROBIRANK, other).items()
            figures |= {label: gap for label, gap in gaps if label.endswith(shown_ends)}
    for measure in shown_measures:
        figures |= _standing(recipe, figures, measure)
    return figures


def rivals(recipe: Recipe) -> list[str]:
    """Return the methods that are neither forms of RoBiRank nor binary losses of its poster."""
    return [name for name in recipe.parameters["methods"] if METHODS[name].kind == OTHER]


def _standing(recipe: Recipe, figures: Figures, measure: str) -> Figures:
    """Return the difference from the best rival on the test queries, and counts of rivals."""
    names = rivals(recipe)
    best, *_ = views.falling(names, figures, measure)
    gaps = [figures[f"{ROBIRANK} − {name} {measure}"] for name in names]
    counts = {
        ABOVE: [gap.value > 0.0 for gap in gaps],
        ABOVE + SHOWN: [views.low(gap) > 0.0 for gap in gaps],
        BELOW + SHOWN: [gap.value < -views.Z * gap.std_error for gap in gaps],
    }
    return {f"{BEST} {measure}": figures[f"{ROBIRANK} − {best} {measure}"]} | {
        f"{label} {measure}": Measured(float(sum(flags)), n=len(flags))
        for label, flags in counts.items()
    }


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure | Table]:
    """Yield levels of ndcg by cutoff, differences, and the chosen options."""
    values, names = values_of(recipe, cells), recipe.parameters["methods"]
    measures, shown_measures = [*recipe.parameters["measures"]], recipe.parameters["shown"]
    last = shown_measures[-1]
    levels = {f"{n} {m}": values.level(n, m) for n in names for m in measures}
    title = f"{values.data}: mean of five folds ± standard error, best first by {last}"
    falling = views.falling(names, figures, last)
    yield from views.shown(Grid(title, falling, measures), recipe, levels)
    ends = {**{measure: f" {measure}" for measure in shown_measures}, "mean": folds.OVER_MEASURES}
    title = "RoBiRank less another method on the same queries, with 95 % intervals"
    others = [name for name in falling if name != ROBIRANK]
    gaps = Grid(title, others, ends, f"{ROBIRANK} − {{}}{{}}", text="gap", head="other")
    yield gaps
    plot = replace(gaps, text="", plot="intervals", axis="difference")
    own = [name for name in others if name not in rivals(recipe)]
    rest = [name for name in others if name not in own]
    yield replace(plot, title="Gain of RoBiRank over others", rows=rest)
    title = "Gain of RoBiRank over its other forms and the binary losses"
    yield replace(plot, title=title, rows=own)
    yield views.chosen(values.data, {name: values.chosen(name) for name in names})


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of all methods in a recipe's parameters, on its collection."""
