"""RoBiRank on LETOR: the loss from features against all others that podium has, on five folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from podium import _check, losses
from podium.papers import folds
from podium.papers.hiranandani2020.baselines import GreedyPAp, PrecisionAverage, SelectPAp
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts
from podium.papers.study import Cells, Figures, Measured, Result, Study, generator, key, parts
from podium.papers.xia2009 import letor
from podium.papers.xia2009.letor import (
    OVER_MEASURES,
    Values,
    Z,
    chosen,
    differences,
    interval,
    level,
    row,
)
from podium.papers.xia2009.letor_methods import (
    Candidate,
    Candidates,
    MakeLoss,
    Method,
    Options,
    linear,
    product,
    rankboost,
    scored,
    tuned,
)
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
    "pap-ts@10": _pap(losses.PApTightStruct),
    "pap-struct@10": _pap(losses.PApStruct),
    "pauc-hinge@10": _pap(losses.PAUCHinge),
    "precision average@10": _pap(PrecisionAverage),
    "greedy pap@10": Method(OTHER, _baseline(GreedyPAp)),
    "select pap@10": Method(OTHER, _baseline(_select)),
}
"""Every method by its name in tables."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> letor.Context:
    """Read the collection's five folds."""
    return letor.prepare(recipe, paths)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: by method the folds. Nothing repeats: no method draws orders of ties."""
    names = [_check.choice(name, "methods", list(METHODS)) for name in recipe.parameters["methods"]]
    return [
        key(data=data, method=name, draw=0, fold=fold)
        for data in recipe.parameters["collections"]
        for name in names
        for fold in range(1, folds.N_FOLDS + 1)
    ]


def run(recipe: Recipe, context: letor.Context, cell: str) -> Result:
    """Tune a method on a fold's validation queries and test it."""
    asked = parts(cell)
    fold = int(asked["fold"])
    seed = int(generator(recipe, "fold", fold).integers(2**31))
    return tuned(
        METHODS[asked["method"]], context[asked["data"]][fold - 1], recipe.parameters, seed
    )


BEST = "RoBiRank − the best of the others"
ABOVE = "others that RoBiRank is above"
BELOW = "others that RoBiRank is below"
SHOWN = ", the interval without 0"


def values_of(recipe: Recipe, cells: Cells) -> Values:
    """Return the values of the recipe's one collection."""
    (data,) = recipe.parameters["collections"]
    return Values(recipe, cells, data, METHODS)


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return what RoBiRank is above each other, where that leaves it, and each method's means.

    At the cutoffs that are shown; `means` has all of them.
    """
    found: dict[str, Measured] = {}
    values, shown = values_of(recipe, cells), recipe.parameters["shown"]
    for measure in shown:
        for name in recipe.parameters["methods"]:
            found[f"{name} {measure}"] = level(values.of(name, measure), values)
    kept = (*(f" {measure}" for measure in shown), OVER_MEASURES)
    for other in compared(recipe):
        gaps = differences(recipe, values, ROBIRANK, other)
        found |= {label: gap for label, gap in gaps.items() if label.endswith(kept)}
    for measure in shown:
        found |= _standing(recipe, found, measure)
    return found


def means(recipe: Recipe, values: Values, name: str) -> list[Measured]:
    """Return a method's mean of five folds by each measure."""
    return [level(values.of(name, measure), values) for measure in recipe.parameters["measures"]]


def compared(recipe: Recipe) -> list[str]:
    """Return what RoBiRank is compared with: every other method."""
    return [name for name in recipe.parameters["methods"] if name != ROBIRANK]


def rivals(recipe: Recipe) -> list[str]:
    """Return the methods that are neither forms of RoBiRank nor its poster's."""
    return [name for name in recipe.parameters["methods"] if METHODS[name].kind == OTHER]


def _standing(recipe: Recipe, found: Figures, measure: str) -> Figures:
    """Return the difference from the rival that is best on the test queries, and counts."""
    there = rivals(recipe)
    best = max(there, key=lambda name: found[f"{name} {measure}"].value)
    gaps = [found[f"{ROBIRANK} − {name} {measure}"] for name in there]
    return {
        f"{BEST} {measure}": found[f"{ROBIRANK} − {best} {measure}"],
        f"{ABOVE} {measure}": _count(gap.value > 0.0 for gap in gaps),
        f"{ABOVE}{SHOWN} {measure}": _count(gap.value > Z * gap.std_error for gap in gaps),
        f"{BELOW}{SHOWN} {measure}": _count(gap.value < -Z * gap.std_error for gap in gaps),
    }


def _count(yes: Iterable[bool]) -> Measured:
    each = [*yes]
    return Measured(float(sum(each)), n=len(each))


_LINES = 6  # what one figure can still tell apart


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return curves of ndcg by cutoff, of forms and of rivals, and differences from them all."""
    there: Sequence[str] = recipe.parameters["methods"]
    forms = [name for name in there if METHODS[name].kind == FORM]
    curves: Sequence[str] = [name for name in recipe.parameters["curves"] if name in there]
    values = values_of(recipe, cells)
    return [
        _curves(recipe, values, [ROBIRANK, *curves], "RoBiRank and others"),
        _curves(recipe, values, forms[:_LINES], "RoBiRank and what becomes of it without a part"),
        _gaps(recipe, figures, rivals(recipe), "RoBiRank above others"),
        _gaps(
            recipe,
            figures,
            [name for name in compared(recipe) if name not in rivals(recipe)],
            "RoBiRank above its own forms and the binary losses",
        ),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return all methods at all cutoffs, the differences, and what was chosen."""
    return [*_tables(recipe, figures, values_of(recipe, cells))]


def _tables(recipe: Recipe, figures: Figures, values: Values) -> Iterator[Table]:
    names: Sequence[str] = recipe.parameters["methods"]
    measures = [*recipe.parameters["measures"]]
    shown: Sequence[str] = recipe.parameters["shown"]
    yield {
        "caption": f"{values.data}: mean of five folds, best first by {shown[-1]}",
        "columns": ["method", *measures, "standard error over folds, at most"],
        "rows": [_levels(recipe, values, name) for name in _falling(names, figures, shown[-1])],
    }
    yield {
        "caption": f"{values.data}: RoBiRank less another method on the same queries, with "
        "intervals of 95 %",
        "columns": ["other", *shown, "mean of all ten"],
        "rows": [
            [name, *(interval(figures[f"{ROBIRANK} − {name}{end}"]) for end in _ends(shown))]
            for name in _falling(compared(recipe), figures, shown[-1])
        ],
    }
    yield {
        "caption": f"{values.data}: options chosen on validation: median over folds (least to "
        "greatest), or how often",
        "columns": ["method", "options"],
        "rows": [[name, chosen(values, name)] for name in names],
    }


def _levels(recipe: Recipe, values: Values, name: str) -> list[str]:
    found = means(recipe, values, name)
    error = max(each.std_error for each in found)
    return [name, *(f"{each.value:.3f}" for each in found), f"{error:.3f}"]


def _falling(names: Sequence[str], figures: Figures, measure: str) -> list[str]:
    return sorted(names, key=lambda name: -figures[f"{name} {measure}"].value)


def _ends(measures: Sequence[str]) -> list[str]:
    return [*(f" {measure}" for measure in measures), OVER_MEASURES]


def _curves(recipe: Recipe, values: Values, names: Sequence[str], title: str) -> Figure:
    measures = [*recipe.parameters["measures"]]
    return {
        "kind": "line_plot",
        "title": title,
        "series": [
            {
                "label": name,
                "x": [int(measure.partition("@")[2]) for measure in measures],
                "y": [found.value for found in means(recipe, values, name)],
            }
            for name in names
        ],
        "x_label": "cutoff k",
        "y_label": "ndcg@k",
        "caption": "Mean of five folds. Differences are known better than their levels, whose "
        "standard errors over folds are about 0.02 and more, so read the figures below for them.",
    }


def _gaps(recipe: Recipe, figures: Figures, names: Sequence[str], title: str) -> Figure:
    shown: Sequence[str] = recipe.parameters["shown"]
    return {
        "kind": "grouped_intervals",
        "title": title,
        "panels": [
            {
                "title": measure,
                "rows": [
                    row(name, figures[f"{ROBIRANK} − {name} {measure}"])
                    for name in _falling(names, figures, shown[-1])
                ],
            }
            for measure in shown
        ],
        "share_axis": False,
        "axis_label": "difference",
        "digits": 3,
        "caption": "RoBiRank less the method named, on the same queries; intervals of 95 %.",
    }


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""All methods that a recipe's parameters name, on its collection."""
