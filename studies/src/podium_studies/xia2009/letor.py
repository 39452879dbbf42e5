"""The experiments of xia2009 on LETOR: ListMLE and others at the top k, on five folds.

Losses that break ties of the grades by a drawn order are trained on several draws, the recipe's
repeats. To add a method, add its line to METHODS, and its name to the recipes that run it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from podium import losses
from podium.groups import Groups
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.losses.pairwise import PairwiseHinge, PairwiseLogistic
from podium.report import Table
from podium_studies import folds, views
from podium_studies.cells import key, methods, product, seed_of, sweep
from podium_studies.rows import Parts
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study
from podium_studies.xia2009.rankboost import RankBoost

Context: TypeAlias = Mapping[str, tuple[Parts, ...]]

PAPER, FUTURE, PODIUM = "paper", "future work of the paper", "podium"
"""The origin of a method: compared in the paper, announced in the paper, or neither."""

CUTOFFS = (1, 3, 10)
LISTMLE, TOP_10 = "ListMLE", "Top-10 ListMLE"
FAMILIES = (LISTMLE, "ListNet", "RankCosine")
RIVALS = ("RankBoost", "Ranking SVM", "ListNet", "RankCosine")
SHOWING = "intervals that exclude 0"
DRAWN = "share of places that an irrelevant row has by chance"
BEST = "measures in which Top-10 ListMLE is no worse than the four baselines"
ORDERED = "pairs of methods in the printed order, share"


def rankboost(parts: Parts, parameters: folds.Options, seed: int) -> Iterator[folds.Candidate]:
    """Fit RankBoost with each point of the grid, with the number of rounds chosen on validation.

    Nothing is random, so that `seed` is not used.
    """
    settings, measure = parameters["rankboost"], parameters["validation"]
    valid = (parts.valid.X, parts.valid.y, parts.valid.qid)
    for options in product(settings["grid"]):
        ranker = RankBoost(eval_metric=measure, **settings["fixed"], **options)
        ranker.fit(parts.train.X, parts.train.y, parts.train.qid, eval_set=valid)
        yield folds.scored({**options, "rounds": ranker.best_iteration_ + 1}, ranker, parts)


def _top_k_name(name: str, k: int | None) -> str:
    return name if k is None else f"Top-{k} {name}"


def _at_each_size(
    name: str, protocol: str, loss: folds.MakeLoss, *, is_random: bool = False
) -> dict[str, folds.Method]:
    """Return the methods of a loss without a cutoff and with each k, by name.

    The paper compares all of them for ListMLE, and only those without a cutoff for other losses.
    """
    sized: dict[str, folds.Method] = {}
    for k in (None, *CUTOFFS):
        kind = FUTURE if k and name != LISTMLE else PAPER
        candidates = folds.searched(protocol, partial(loss, k=k))
        sized[_top_k_name(name, k)] = folds.Method(kind, candidates, is_random=is_random)
    return sized


_averaged = partial(losses.ListMLE, n_orders=16)
_OWN: dict[str, folds.MakeLoss] = {
    "ListMLE (mean over orders)": _averaged,
    "Top-10 ListMLE (mean over orders)": partial(_averaged, k=10),
    "Top-10 ListMLE (relevant rows)": partial(_averaged, k=10, head="relevant"),
    "softmax of grades": SoftmaxCrossEntropy,
    "pairwise logistic": PairwiseLogistic,
    "pap-logistic@10": partial(losses.PApLogistic, k=10),
    "logistic regression": losses.Logistic,
}
METHODS: dict[str, folds.Method] = {
    **_at_each_size(LISTMLE, "sgd", losses.ListMLE, is_random=True),
    **_at_each_size("ListNet", "listnet", losses.ListNet),
    **_at_each_size("RankCosine", "rankcosine", losses.RankCosine),
    "RankBoost": folds.Method(PAPER, rankboost),
    "Ranking SVM": folds.Method(PAPER, folds.searched("ranking_svm", PairwiseHinge)),
    **{name: folds.Method(PODIUM, folds.searched("podium", loss)) for name, loss in _OWN.items()},
}
"""Every method by its name in tables."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Return the five folds of each collection, by the collection's name in tables."""
    context: dict[str, tuple[Parts, ...]] = {}
    for name, given in recipe.parameters["collections"].items():
        within, n_queries = given.get("within", ""), given["queries"]
        context[name] = folds.read(paths[given["folder"]], subfolder=within, n_queries=n_queries)
    return context


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the counts, then each fold by collection, method and draw."""
    collections = recipe.parameters["collections"]
    yield from sweep(data=collections, count=["drawn"])
    for data, name in itertools.product(collections, methods(recipe, METHODS)):
        numbers = folds.draws(recipe, METHODS[name])
        yield from sweep(data=[data], method=[name], draw=numbers, fold=folds.FOLDS)


def run(recipe: Recipe, context: Context, data: str, **cell: Any) -> Result:
    """Return the shares of drawn places, or tune and test a method on one fold."""
    if "count" in cell:
        return drawn_shares(context[data])
    number: int = cell["fold"]
    seed = seed_of(recipe, "draw", number, cell["draw"])
    return folds.tuned(METHODS[cell["method"]], context[data][number - 1], recipe.parameters, seed)


def drawn_shares(all_parts: Sequence[Parts]) -> dict[str, float]:
    """Return by loss the share of places in its heads that an irrelevant row has by chance.

    The loss learns such a place as if the row were better than all rows below it.
    """
    relevance = np.concatenate([parts.test.y for parts in all_parts])
    groups = Groups.from_qid(np.concatenate([parts.test.qid for parts in all_parts]))
    ties, tie = np.unique(np.column_stack([groups.index, relevance]), axis=0, return_inverse=True)
    has_choice = (np.bincount(tie.ravel(), minlength=len(ties)) > 1)[tie.ravel()]
    by_chance = has_choice & (relevance < 1)
    shares: dict[str, float] = {}
    for k in (None, *CUTOFFS):
        prepared = losses.ListMLE(k=k).prepare(relevance, groups)
        place = np.arange(relevance.size) - np.repeat(groups.offsets[:-1], groups.sizes)
        in_head = place < np.repeat(prepared.n_head, groups.sizes)
        shares[_top_k_name(LISTMLE, k)] = float(by_chance[prepared.rows[0][in_head]].mean())
    return shares


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the means of the methods, the differences between methods, and summaries of both."""
    figures: dict[str, Measured] = {}
    names, measures = recipe.parameters["methods"], recipe.parameters["measures"]
    for values in collections(recipe, cells):
        for name, measure in itertools.product(names, measures):
            figures[f"{values.prefix}{name} {measure}"] = values.level(name, measure)
        for method, baseline in pairs(recipe):
            figures |= values.differences(method, baseline)
        figures |= _modifications(recipe, figures, values.prefix)
        shares = cells[key(data=values.data, count="drawn")]
        figures |= {f"{values.prefix}{name}: {DRAWN}": Measured(shares[name]) for name in shares}
        figures |= _summaries(recipe, figures, values.prefix)
    return figures


def collections(recipe: Recipe, cells: Cells) -> list[folds.Values]:
    """Return the values of each collection."""
    return [folds.Values(recipe, cells, name, METHODS) for name in recipe.parameters["collections"]]


def pairs(recipe: Recipe) -> list[tuple[str, str]]:
    """Return the pairs of the recipe's methods that are compared."""
    available = set(recipe.parameters["methods"])
    modified = [(f"Top-{k} {name}", name) for name in FAMILIES for k in CUTOFFS]
    rivals = [(TOP_10, rival) for rival in RIVALS]
    own_pairs = [(name, TOP_10) for name in _OWN]
    return [pair for pair in (*modified, *rivals, *own_pairs) if {*pair} <= available]


def _modifications(recipe: Recipe, figures: Figures, prefix: str) -> Figures:
    """Return summaries of the top-k modifications: the lowest gains, and the significant ones."""
    summaries: dict[str, Measured] = {}
    for name in FAMILIES:
        all_gains: list[Measured] = []
        for method, baseline in pairs(recipe):
            if baseline == name and method.endswith(f" {name}"):
                label = f"{prefix}{method} − {baseline}"
                gains = [figures[f"{label} {measure}"] for measure in recipe.parameters["measures"]]
                summaries[f"{label}, lowest interval of all measures"] = min(gains, key=views.low)
                all_gains += gains
        if all_gains:
            n_significant = sum(abs(gain.value) > views.Z * gain.std_error for gain in all_gains)
            summaries[f"{prefix}Top-k {name} − {name}, {SHOWING}"] = Measured(float(n_significant))
    return summaries


def _summaries(recipe: Recipe, figures: Figures, prefix: str) -> Figures:
    """Return the number of measures in which top-10 ListMLE leads, and the agreement in order.

    The agreement is the share of pairs of different printed figures that ours order alike.
    """
    names, measures = recipe.parameters["methods"], recipe.parameters["measures"]
    summaries: dict[str, Measured] = {}
    if {TOP_10, *RIVALS} <= {*names}:
        level, *others = (
            np.array([figures[f"{prefix}{name} {measure}"].value for measure in measures])
            for name in (TOP_10, *RIVALS)
        )
        summaries[prefix + BEST] = Measured(float(np.sum(level >= np.max(others, axis=0))))
    agreements: list[bool] = []
    for measure in measures:
        labels = [f"{prefix}{name} {measure}" for name in names]
        printed = [label for label in labels if label in recipe.printed]
        for one, other in itertools.combinations(printed, 2):
            if difference := recipe.printed[one] - recipe.printed[other]:
                agreements.append((figures[one].value - figures[other].value) * difference > 0)
    if agreements:
        summaries[prefix + ORDERED] = Measured(float(np.mean(agreements)), n=len(agreements))
    return summaries


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield by collection levels, differences, variation over draws, and chosen options."""
    for values in collections(recipe, cells):
        yield from _of_collection(recipe, values)


def _of_collection(recipe: Recipe, values: folds.Values) -> Iterator[Grid | Table]:
    names, measures = recipe.parameters["methods"], [*recipe.parameters["measures"]]
    data, prefix = values.data, values.prefix
    title = f"{data}: mean of five folds ± its standard error over folds (printed)"
    origins = {f"{name} ({METHODS[name].kind})": name for name in names}
    yield Grid(title, origins, measures, f"{prefix}{{}} {{}}")
    ends = {**{measure: f" {measure}" for measure in measures}, "mean": folds.OVER_MEASURES}
    compared = {f"{method} − {baseline}": (method, baseline) for method, baseline in pairs(recipe)}
    title = f"{data}: differences on the same queries, with intervals of 95 %"
    gaps = Grid(title, compared.keys(), ends, f"{prefix}{{}}{{}}", text="gap", head="difference")
    yield gaps
    plot = replace(gaps, text="", plot="intervals", axis="difference")
    modified = [label for label, pair in compared.items() if pair[1] in FAMILIES]
    for title, labels in (
        ("Gain by the top-k modification", [label for label in modified if TOP_10 not in label]),
        (f"Gain of {TOP_10} over others", [f"{TOP_10} − {rival}" for rival in (LISTMLE, *RIVALS)]),
        (f"Gain of podium's methods over {TOP_10}", [f"{name} − {TOP_10}" for name in _OWN]),
    ):
        yield replace(plot, title=prefix + title, rows=labels)
    drawn = [name for name in names if len(values.draws(name)) > 1]
    learned = [label for label, (method, _) in compared.items() if method in drawn]

    def deviation(name: str, measure: str) -> str:
        return f"{values.draw_means(values.query_values(name, measure)).std(ddof=1):.4f}"

    def extremes(label: str, measure: str) -> str:
        one, other = (values.query_values(name, measure) for name in compared[label])
        gaps = values.draw_means(one - other)
        return f"{gaps.min():+.3f} to {gaps.max():+.3f}"

    if drawn:
        title = f"{data}: standard deviation of the five-fold mean over draws"
        yield views.table(title, "method", drawn, measures, deviation)
    title = f"{data}: least and greatest difference in a single draw"
    yield views.table(title, "difference", learned, measures, extremes)
    yield views.chosen(data, {name: values.chosen(name) for name in names})


STUDY = Study(cells, run, fold, prepare, shown)
"""Tables 1 to 6 on the collections in a recipe's parameters."""
