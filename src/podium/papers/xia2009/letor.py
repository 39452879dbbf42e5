"""The experiments of xia2009 on LETOR: ListMLE and others at the top k, on five folds.

Losses that break ties of the grades by a drawn order are trained on several draws: the recipe's
repeats. To add a method, add its line to METHODS, and its name to the recipes that shall run it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from podium import losses
from podium.groups import Groups
from podium.papers import folds, views
from podium.papers.folds import (
    FOLDS,
    OVER_MEASURES,
    Candidate,
    MakeLoss,
    Method,
    Options,
    Values,
    draws,
    linear,
    scored,
    tuned,
)
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
from podium.papers.xia2009.rankboost import RankBoost
from podium.report import Figure, Table

Context: TypeAlias = Mapping[str, tuple[Parts, ...]]
Levels: TypeAlias = Mapping[tuple[str, str], Measured]
"""The mean of each method by each measure."""

PAPER, FUTURE, PODIUM = "the paper's", "the paper's future work", "podium's"
"""Whose a method is: compared in the paper, announced there, or neither."""

CUTOFFS = (1, 3, 10)
LISTMLE, TOP_10 = "ListMLE", "Top-10 ListMLE"
FAMILIES = (LISTMLE, "ListNet", "RankCosine")
RIVALS = ("RankBoost", "Ranking SVM", "ListNet", "RankCosine")
SHOWING = "intervals that exclude 0"
DRAWN = "share of places that an irrelevant row has by chance"
BEST = "measures in which Top-10 ListMLE is no worse than the four baselines"
ORDERED = "pairs of methods in the printed order, share"


def rankboost(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
    """Boost with each point of the grid; the number of rounds is chosen too, nothing is drawn."""
    given, measure = parameters["rankboost"], parameters["validation"]
    valid = (parts.valid.X, parts.valid.y, parts.valid.qid)
    for options in product(given["grid"]):
        ranker = RankBoost(eval_metric=measure, **given["fixed"], **options)
        ranker.fit(parts.train.X, parts.train.y, parts.train.qid, eval_set=valid)
        yield scored({**options, "rounds": ranker.best_iteration_ + 1}, ranker, parts)


def _top(name: str, k: int | None) -> str:
    return name if k is None else f"Top-{k} {name}"


def _at_each_size(
    name: str, protocol: str, loss: MakeLoss, *, draws: bool = False
) -> dict[str, Method]:
    """Return a loss as it is, and modified for each k; the paper has all of ListMLE's."""
    return {
        _top(name, k): Method(
            FUTURE if k and name != LISTMLE else PAPER,
            linear(protocol, partial(loss, k=k)),
            draws=draws,
        )
        for k in (None, *CUTOFFS)
    }


_averaged = partial(losses.ListMLE, ties="averaged")
_OWN: dict[str, MakeLoss] = {
    "ListMLE (mean over orders)": _averaged,
    "Top-10 ListMLE (mean over orders)": partial(_averaged, k=10),
    "Top-10 ListMLE (relevant rows)": partial(_averaged, k=10, head="relevant"),
    "softmax of grades": losses.SoftmaxCrossEntropy,
    "pairwise logistic": losses.PairwiseLogistic,
    "pap-logistic@10": partial(losses.PApLogistic, k=10),
    "logistic regression": losses.Logistic,
}
METHODS: dict[str, Method] = {
    **_at_each_size(LISTMLE, "sgd", losses.ListMLE, draws=True),
    **_at_each_size("ListNet", "listnet", losses.ListNet),
    **_at_each_size("RankCosine", "rankcosine", losses.RankCosine),
    "RankBoost": Method(PAPER, rankboost),
    "Ranking SVM": Method(PAPER, linear("ranking_svm", losses.PairwiseHinge)),
    **{name: Method(PODIUM, linear("podium", loss)) for name, loss in _OWN.items()},
}
"""Every method by its name in tables."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the five folds of each collection, by its name in tables."""
    return {
        name: folds.read(
            paths[given["folder"]], within=given.get("within", ""), n_queries=given["queries"]
        )
        for name, given in recipe.parameters["collections"].items()
    }


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: what is counted; then by collection, method and draw the folds."""
    counted = [key(data=data, count="drawn") for data in recipe.parameters["collections"]]
    return counted + [
        key(data=data, method=name, draw=draw, fold=fold)
        for data in recipe.parameters["collections"]
        for name in methods(recipe, METHODS)
        for draw in draws(recipe, METHODS[name])
        for fold in FOLDS
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Count drawn places, or tune a method on a fold's validation queries and test it."""
    asked = parts(cell)
    if "count" in asked:
        return drawn_shares(context[asked["data"]])
    fold, draw = int(asked["fold"]), int(asked["draw"])
    found = context[asked["data"]][fold - 1]
    start = seed_of(recipe, "draw", fold, draw)
    return tuned(METHODS[asked["method"]], found, recipe.parameters, start)


def drawn_shares(folds: Sequence[Parts]) -> dict[str, float]:
    """Return by loss which share of its heads' places an irrelevant row has by chance alone.

    Such a place is learned as if that row were known to be better than all below it.
    """
    tests = [parts.test for parts in folds]
    relevance = np.concatenate([rows.y for rows in tests])
    groups = Groups.from_qid(np.concatenate([rows.qid for rows in tests]))
    shares: dict[str, float] = {}
    for k in (None, *CUTOFFS):
        target = losses.ListMLE(k=k).prepare(relevance, groups)
        shares[_top(LISTMLE, k)] = float(target.n_drawn.sum() / target.n_head.sum())
    return shares


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return each method's means, the differences between methods, and what sums them up."""
    found: dict[str, Measured] = {}
    for values in collections(recipe, cells):
        levels = {
            (name, measure): values.level(name, measure)
            for name in recipe.parameters["methods"]
            for measure in recipe.parameters["measures"]
        }
        found |= {f"{values.before}{name} {m}": each for (name, m), each in levels.items()}
        for one, other in pairs(recipe):
            found |= values.differences(one, other)
        found |= _modifications(recipe, found, values.before)
        shares = cells[key(data=values.data, count="drawn")]
        found |= {f"{values.before}{name}: {DRAWN}": Measured(shares[name]) for name in shares}
        found |= _summaries(recipe, levels, values.before)
    return found


def collections(recipe: Recipe, cells: Cells) -> list[Values]:
    """Return the values of every collection."""
    return [Values(recipe, cells, name, METHODS) for name in recipe.parameters["collections"]]


def pairs(recipe: Recipe) -> list[tuple[str, str]]:
    """Return what is compared, of those methods that the recipe has."""
    there = set(recipe.parameters["methods"])
    modified = [(f"Top-{k} {name}", name) for name in FAMILIES for k in CUTOFFS]
    rivals = [(TOP_10, rival) for rival in RIVALS]
    others = [(name, TOP_10) for name in _OWN]
    return [pair for pair in (*modified, *rivals, *others) if {*pair} <= there]


def _modifications(recipe: Recipe, found: Figures, before: str) -> Figures:
    """Return what sums up the top-k modifications: where a gain is lowest, and how many show."""
    figures: dict[str, Measured] = {}
    for name in FAMILIES:
        gains: list[Measured] = []
        for one, other in pairs(recipe):
            if other == name and one.endswith(f" {name}"):
                label = f"{before}{one} − {other}"
                here = [found[f"{label} {measure}"] for measure in recipe.parameters["measures"]]
                figures[f"{label}, lowest interval of all measures"] = min(here, key=views.low)
                gains += here
        if gains:
            showing = sum(abs(gain.value) > views.Z * gain.std_error for gain in gains)
            figures[f"{before}Top-k {name} − {name}, {SHOWING}"] = Measured(float(showing))
    return figures


def _summaries(recipe: Recipe, levels: Levels, before: str) -> Figures:
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


def _agreements(recipe: Recipe, levels: Levels, before: str) -> Iterator[bool]:
    """Yield for every two printed figures of a measure that differ whether ours do so too."""
    for measure in recipe.parameters["measures"]:
        labels = {name: f"{before}{name} {measure}" for name in recipe.parameters["methods"]}
        known = [name for name, label in labels.items() if label in recipe.printed]
        for one, other in itertools.combinations(known, 2):
            theirs = recipe.printed[labels[one]] - recipe.printed[labels[other]]
            if theirs:
                ours = levels[one, measure].value - levels[other, measure].value
                yield ours * theirs > 0


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return, by collection, the paper's methods by measure, and the differences."""
    there = [name for name in recipe.parameters["methods"] if METHODS[name].kind == PAPER]
    modified = [name for name in there if name.endswith(LISTMLE)]
    compared = [name for name in there if name in (*RIVALS, TOP_10)]
    found: list[Figure] = []
    for before in [values.before for values in collections(recipe, cells)]:
        found += [
            _levels(recipe, figures, before, modified, "ListMLE at the top k"),
            _levels(recipe, figures, before, compared, f"{TOP_10} and others"),
            *_gains(recipe, figures, before),
        ]
    return found


def _levels(
    recipe: Recipe, figures: Figures, before: str, names: Sequence[str], title: str
) -> Figure:
    def rows(measure: str) -> Iterator[views.Row]:
        for name in names:
            label = f"{before}{name} {measure}"
            yield views.row(name, figures[label], series="podium")
            if label in recipe.printed:
                yield views.bare("  printed", recipe.printed[label], series="paper")

    return views.intervals(
        before + title,
        {measure: rows(measure) for measure in recipe.parameters["measures"]},
        share_axis=False,
        digits=3,
        caption="Mean of five folds ± 1.96 standard errors over folds; then the printed figure.",
    )


def _gains(recipe: Recipe, figures: Figures, before: str) -> Iterator[Figure]:
    """Yield what the top-k modification changes, top-10 ListMLE against others, and podium's."""
    same = "on the same queries; intervals of 95 %."
    for name in FAMILIES:
        shown = {f"Top-{k} {name}": f"Top-{k} {name} − {name}" for k in CUTOFFS}
        title, caption = f"{name}: gain by the top-k modification", f"Difference from {name} {same}"
        yield from _differences(recipe, figures, before, shown, title, caption)
    rivals = {other: f"{TOP_10} − {other}" for other in RIVALS}
    own = {one: f"{one} − {TOP_10}" for one in _OWN}
    for shown, title in (
        (rivals, f"{TOP_10} above others"),
        (own, f"podium's choices above {TOP_10}"),
    ):
        yield from _differences(recipe, figures, before, shown, title, f"Differences {same}")


def _differences(
    recipe: Recipe,
    figures: Figures,
    before: str,
    labels: Mapping[str, str],
    title: str,
    caption: str,
) -> Iterator[Figure]:
    """Yield a plot of those differences that were taken; their figures by their names in it."""
    there = {
        name: before + label
        for name, label in labels.items()
        if before + label + OVER_MEASURES in figures
    }
    panels = {
        measure: [views.row(name, figures[f"{label} {measure}"]) for name, label in there.items()]
        for measure in recipe.parameters["measures"]
    }
    if there:
        yield views.intervals(
            before + title, panels, caption=caption, axis_label="difference", digits=3
        )


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return, by collection, all methods and differences, what draws do, and what was chosen."""
    return [table for v in collections(recipe, cells) for table in _tables(recipe, figures, v)]


def _tables(recipe: Recipe, figures: Figures, values: Values) -> Iterator[Table]:
    names: Sequence[str] = recipe.parameters["methods"]
    measures, before = [*recipe.parameters["measures"]], values.before
    compared = {f"{one} − {other}": (one, other) for one, other in pairs(recipe)}
    drawn = [name for name in names if len(values.draws(name)) > 1]

    def level(name: str, column: str) -> str:
        if column == "whose":
            return METHODS[name].kind
        label = f"{before}{name} {column}"
        return views.level(figures[label], 3, recipe.printed.get(label))

    def spread(name: str, measure: str) -> str:
        return f"{values.by_draw(values.of(name, measure)).std(ddof=1):.4f}"

    def extremes(label: str, measure: str) -> str:
        one, other = (values.of(name, measure) for name in compared[label])
        gaps = values.by_draw(one - other)
        return f"{gaps.min():+.3f} to {gaps.max():+.3f}"

    yield views.table(
        f"{values.data}: mean of five folds ± its standard error over folds (printed)",
        "method",
        names,
        ["whose", *measures],
        level,
    )
    yield views.table(
        f"{values.data}: differences on the same queries, with intervals of 95 %",
        "difference",
        compared,
        {**{measure: f" {measure}" for measure in measures}, "mean": OVER_MEASURES},
        lambda label, end: views.gap(figures[f"{before}{label}{end}"]),
    )
    yield views.table(
        f"{values.data}: standard deviation of a five-fold mean over draws, by which one run "
        "differs from the next",
        "method",
        drawn,
        measures,
        spread,
    )
    yield views.table(
        f"{values.data}: what single draws would have shown, least to greatest",
        "difference",
        [each for each, (one, _) in compared.items() if one in drawn and one not in _OWN],
        measures,
        extremes,
    )
    yield views.table(
        f"{values.data}: options chosen on validation: median over draws and folds (least to "
        "greatest), or how often",
        "method",
        names,
        ["options"],
        lambda name, _: views.options(values.chosen(name)),
    )


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Tables 1 to 6 on the collections that a recipe's parameters name."""
