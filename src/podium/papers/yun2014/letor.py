"""RoBiRank on LETOR: the loss from features against all others that podium has, on five folds.

To add a method, add its line to METHODS, and its name to the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from podium import losses
from podium.papers import views
from podium.papers.folds import (
    FOLDS,
    OVER_MEASURES,
    Candidate,
    Candidates,
    MakeLoss,
    Method,
    Options,
    Values,
    linear,
    scored,
    tuned,
)
from podium.papers.hiranandani2020.baselines import GreedyPAp, PrecisionAverage, SelectPAp
from podium.papers.hiranandani2020.loose_struct import PApStruct
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts
from podium.papers.study import (
    Cells,
    Figures,
    Measured,
    Result,
    Study,
    key,
    methods,
    parts,
    product,
    seed_of,
)
from podium.papers.xia2009.letor import Context, prepare, rankboost
from podium.report import Figure, Table

K = 10  # of what reads a cutoff: that of the measure that all are chosen by

FORM, PLAIN, OTHER = "a form of it", "binary, robust", "another's"
"""Whose a method is: RoBiRank and its ablations, its poster's first column, or a rival."""

ROBIRANK = "RoBiRank"
TYPE_2, IDENTITY = "RoBiRank, type II", "RoBiRank, no rho"


def _baseline(make: Callable[..., Any]) -> Candidates:
    """Fit a baseline that is tuned by its C alone."""

    def candidates(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
        for options in product(parameters["baselines"]["grid"]):
            ranker = make(K, clip=True, random_state=seed, **options)
            ranker.fit(parts.train.X, parts.train.y, parts.train.qid)
            yield scored(options, ranker, parts)

    return candidates


def _select(k: int, *, random_state: int, **options: Any) -> SelectPAp:
    del random_state  # nothing is drawn
    return SelectPAp(k, **options)


def _form(protocol: str, **options: Any) -> Method:
    return Method(FORM, linear(protocol, partial(losses.RoBiRank, **options)))


def _binary(protocol: str, **options: Any) -> Method:
    return Method(PLAIN, linear(protocol, partial(losses.RobustBinary, **options)))


def _other(loss: MakeLoss, protocol: str = "lbfgs", **options: Any) -> Method:
    return Method(OTHER, linear(protocol, partial(loss, **options)))


def _pap(loss: MakeLoss) -> Method:
    return _other(loss, "subgradient", k=K, clip=True)


METHODS: dict[str, Method] = {
    ROBIRANK: _form("lbfgs"),
    TYPE_2: _form("lbfgs", type=2),
    IDENTITY: _form("lbfgs", type="identity"),
    "RoBiRank, hinge": _form("subgradient", sigma="hinge"),
    "RoBiRank, not normalised": _form("lbfgs", normalize=False),
    "RoBiRank, linear gain": _form("lbfgs", gain="linear"),
    "RoBiRank, stopped early": _form("stopped"),
    "RoBiRank, type II, stopped early": _form("stopped", type=2),
    "RoBiRank, no rho, stopped early": _form("stopped", type="identity"),
    "binary, type I": _binary("lbfgs"),
    "binary, type II": _binary("lbfgs", type=2),
    "binary, type I, hinge": _binary("subgradient", sigma="hinge"),
    "binary, type II, hinge": _binary("subgradient", type=2, sigma="hinge"),
    "binary, hinge": _binary("subgradient", type="identity", sigma="hinge"),
    "Ranking SVM": _other(losses.PairwiseHinge, "subgradient"),
    "pairwise logistic": _other(losses.PairwiseLogistic),
    "pairwise exponential": _other(losses.PairwiseExponential),
    "RankBoost": Method(OTHER, rankboost),
    "ListMLE": _other(losses.ListMLE, ties="averaged"),
    "Top-10 ListMLE": _other(losses.ListMLE, k=K, ties="averaged"),
    "Top-10 ListMLE (relevant rows)": _other(losses.ListMLE, k=K, ties="averaged", head="relevant"),
    "ListNet": Method(OTHER, linear("listnet", losses.ListNet)),
    "Top-10 ListNet": Method(OTHER, linear("listnet", partial(losses.ListNet, k=K))),
    "RankCosine": _other(losses.RankCosine, "rankcosine"),
    "Top-10 RankCosine": _other(losses.RankCosine, "rankcosine", k=K),
    "softmax of grades": _other(losses.SoftmaxCrossEntropy),
    "logistic regression": _other(losses.Logistic),
    "logistic by group": _other(losses.GroupLogistic),
    "squared error": _other(losses.Squared),
    "pap-logistic@10": _other(losses.PApLogistic, k=K),
    "pap-ramp@10": _pap(losses.PApRamp),
    "pap-avg@10": _pap(losses.PApAverage),
    "pap-max@10": _pap(losses.PApMax),
    "pap-tight-struct@10": _pap(losses.PApTightStruct),
    "pap-struct@10": _pap(PApStruct),
    "pauc-hinge@10": _pap(losses.PAUCHinge),
    "precision average@10": _pap(PrecisionAverage),
    "greedy pap@10": Method(OTHER, _baseline(GreedyPAp)),
    "select pap@10": Method(OTHER, _baseline(_select)),
}
"""Every method by its name in tables."""


BEST = "RoBiRank − the best of the others"
ABOVE = "others that RoBiRank is above"
BELOW = "others that RoBiRank is below"
SHOWN = ", the interval without 0"

_LINES = 6  # what one figure can still tell apart


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: by method the folds. Nothing repeats: no method draws orders of ties."""
    for data in recipe.parameters["collections"]:
        for name in methods(recipe, METHODS):
            for fold in FOLDS:
                yield key(data=data, method=name, draw=0, fold=fold)


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Tune a method on a fold's validation queries and test it."""
    asked = parts(cell)
    fold = int(asked["fold"])
    found, start = context[asked["data"]][fold - 1], seed_of(recipe, "fold", fold)
    return tuned(METHODS[asked["method"]], found, recipe.parameters, start)


def values_of(recipe: Recipe, cells: Cells) -> Values:
    """Return the values of the recipe's one collection."""
    (data,) = recipe.parameters["collections"]
    return Values(recipe, cells, data, METHODS)


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return what RoBiRank is above each other, where that leaves it, and each method's means.

    At the cutoffs that are shown; the table has all of them.
    """
    found: dict[str, Measured] = {}
    values, shown = values_of(recipe, cells), recipe.parameters["shown"]
    for measure in shown:
        for name in recipe.parameters["methods"]:
            found[f"{name} {measure}"] = values.level(name, measure)
    kept = (*(f" {measure}" for measure in shown), OVER_MEASURES)
    for other in compared(recipe):
        gaps = values.differences(ROBIRANK, other)
        found |= {label: gap for label, gap in gaps.items() if label.endswith(kept)}
    for measure in shown:
        found |= _standing(recipe, found, measure)
    return found


def compared(recipe: Recipe) -> list[str]:
    """Return what RoBiRank is compared with: every other method."""
    return [name for name in recipe.parameters["methods"] if name != ROBIRANK]


def rivals(recipe: Recipe) -> list[str]:
    """Return the methods that are neither forms of RoBiRank nor its poster's."""
    return [name for name in recipe.parameters["methods"] if METHODS[name].kind == OTHER]


def _standing(recipe: Recipe, found: Figures, measure: str) -> Figures:
    """Return the difference from the rival that is best on the test queries, and counts."""
    there = rivals(recipe)
    best, *_ = views.falling(there, found, measure)
    gaps = [found[f"{ROBIRANK} − {name} {measure}"] for name in there]
    counts = {
        ABOVE: [gap.value > 0.0 for gap in gaps],
        ABOVE + SHOWN: [views.low(gap) > 0.0 for gap in gaps],
        BELOW + SHOWN: [gap.value < -views.Z * gap.std_error for gap in gaps],
    }
    return {f"{BEST} {measure}": found[f"{ROBIRANK} − {best} {measure}"]} | {
        f"{label} {measure}": Measured(float(sum(each)), n=len(each))
        for label, each in counts.items()
    }


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield curves of ndcg by cutoff, of forms and of rivals, and differences from them all."""
    there, shown = recipe.parameters["methods"], recipe.parameters["shown"]
    drawn = [name for name in recipe.parameters["curves"] if name in there]
    forms = [name for name in there if METHODS[name].kind == FORM]
    values = values_of(recipe, cells)
    yield _curves(recipe, values, [ROBIRANK, *drawn], "RoBiRank and others")
    yield _curves(recipe, values, forms[:_LINES], "RoBiRank and what becomes of it without a part")
    own = [name for name in compared(recipe) if name not in rivals(recipe)]
    for title, others in (
        ("RoBiRank above others", rivals(recipe)),
        ("RoBiRank above its own forms and the binary losses", own),
    ):
        falling = views.falling(others, figures, shown[-1])
        caption = "RoBiRank less the method named, on the same queries; intervals of 95 %."
        yield views.gaps(title, figures, ROBIRANK, falling, shown, caption=caption)


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield all methods at all cutoffs, the differences, and what was chosen."""
    values, names = values_of(recipe, cells), recipe.parameters["methods"]
    measures, shown = [*recipe.parameters["measures"]], recipe.parameters["shown"]
    ends = {**{measure: f" {measure}" for measure in shown}, "mean of all ten": OVER_MEASURES}
    most = "standard error over folds, at most"

    def level(name: str, column: str) -> str:
        if column == most:
            return f"{max(values.level(name, each).std_error for each in measures):.3f}"
        return f"{values.level(name, column).value:.3f}"

    yield views.table(
        f"{values.data}: mean of five folds, best first by {shown[-1]}",
        "method",
        views.falling(names, figures, shown[-1]),
        [*measures, most],
        level,
    )
    yield views.table(
        f"{values.data}: RoBiRank less another method on the same queries, with intervals of 95 %",
        "other",
        views.falling(compared(recipe), figures, shown[-1]),
        ends,
        lambda name, end: views.gap(figures[f"{ROBIRANK} − {name}{end}"]),
    )
    yield views.table(
        f"{values.data}: options chosen on validation: median over folds (least to greatest), or "
        "how often",
        "method",
        names,
        ["options"],
        lambda name, _: views.options(values.chosen(name)),
    )


def _curves(recipe: Recipe, values: Values, names: Sequence[str], title: str) -> Figure:
    measures = [*recipe.parameters["measures"]]
    cutoffs = [int(measure.partition("@")[2]) for measure in measures]
    return views.lines(
        title,
        [
            views.curve(name, cutoffs, [values.level(name, each).value for each in measures])
            for name in names
        ],
        "cutoff k",
        "ndcg@k",
        caption="Mean of five folds. Differences are known better than their levels, whose "
        "standard errors over folds are about 0.02 and more, so read the figures below for them.",
    )


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""All methods that a recipe's parameters name, on its collection."""
