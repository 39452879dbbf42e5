"""Table 3 of hiranandani2020: every method on MovieLens, citations and Behance.

To add a method, add its line to METHODS, and its name to the recipes that run it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from podium import losses
from podium.losses.pap import PApTightStructExact
from podium.rankers import LinearRanker, LogisticRanker
from podium.report import Table
from podium.types import PerRow
from podium_studies import views
from podium_studies.cells import generator, key, mean, methods, product, repeats, results, seed_of
from podium_studies.hiranandani2020 import behance, citation, movielens, splits
from podium_studies.hiranandani2020.baselines import GreedyPAp, SelectPAp, SVMpAUC
from podium_studies.hiranandani2020.splits import NOTE, PERCENT, Run
from podium_studies.hiranandani2020.surrogates import PAUCHinge, PrecisionAverage
from podium_studies.rows import Parts, Rows
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study

PAPER, ZERO = "paper", "zero"
"""The protocols: as in the paper's code, or from zero with the iterate chosen on validation."""

RANDOM, LOGISTIC, FROM_ZERO = "random weights", "logistic", " (w0 = 0)"
_SURROGATES = ("GD-max", "GD-avg", "GD-TS")
_COMPARED = ("SVM-pAUC", "Greedy", "SGD@k-avg", "Select", RANDOM, LOGISTIC)

Choice: TypeAlias = Mapping[str, Any]


# The data


class Context:
    """The data: rows, or parts as published, and a description of their features.

    Attributes
    ----------
    counts : dict
        The numbers of rows, positives and users in all parts, and the text on features.
    scaled : (seed) -> Parts
        The scaled parts of one repeat; those of the last repeat are cached.
    """

    def __init__(self, recipe: Recipe, source: Rows | Parts, features: str) -> None:
        self.scaled = splits.scaled_parts(recipe, source)
        all_parts = [source] if isinstance(source, Rows) else [*source]
        self.counts: dict[str, Any] = {
            "rows": sum(part.y.size for part in all_parts),
            "positives": sum(int(np.count_nonzero(part.y)) for part in all_parts),
            "users": np.unique(np.concatenate([part.qid for part in all_parts])).size,
            "features": features,
        }


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the recipe's data set: movielens, citation or behance."""
    (path,) = paths.values()
    if recipe.parameters["dataset"] == "movielens":
        features = f"{movielens.RANK} factors of the user, of the item, and their products"
        return Context(recipe, movielens.fives(path), features)
    if recipe.parameters["dataset"] == "citation":
        features = f"{len(citation.SIDE)} counts, both papers' embeddings and their products"
        return Context(recipe, citation.read(path), features)
    features = f"user, image and their products; image features {behance.reduction(path)}"
    return Context(recipe, behance.read(path, seed=recipe.seed), features)


# The methods


@dataclass(frozen=True)
class Method:
    """A method with its protocols and its grid, of which the best on the validation rows is kept.

    Attributes
    ----------
    make : (k, protocol, seed, options) -> estimator
        The function that makes the estimator; `options` are keyword arguments of the estimator.
    protocols : tuple of str
        The protocols. If both are equivalent, only ZERO.
    descends : bool
        If True, the method uses the grid of the protocol, and PAPER fits once more with the
        chosen options and more iterations. The grid of other methods is the recipe's "C" by name.
    """

    make: Callable[[int, str, int, Choice], Any]
    protocols: tuple[str, ...] = (PAPER, ZERO)
    descends: bool = False


def _descent(loss: Callable[[int], Any]) -> Method:
    def make(k: int, protocol: str, seed: int, options: Choice) -> LinearRanker:
        start, keep = ("normal", "best_loss") if protocol == PAPER else ("zero", "best")
        fixed: dict[str, Any] = {"start": start, "keep": keep, "eval_metric": f"pap@{k}"}
        fixed |= {"solver": "subgradient", "random_state": seed}
        return LinearRanker(loss(k), **fixed, **options)

    return Method(make, descends=True)


def _select(k: int, protocol: str, seed: int, options: Choice) -> SelectPAp:
    start = "normal" if protocol == PAPER else "logistic"
    return SelectPAp(k, start=start, random_state=seed, **options)


METHODS: dict[str, Method] = {
    "GD-max": _descent(losses.PApMax),
    "GD-avg": _descent(losses.PApAverage),
    "GD-TS": _descent(losses.PApTightStruct),
    "GD-TS-exact": _descent(PApTightStructExact),
    "GD-ramp": _descent(losses.PApRamp),
    "SVM-pAUC": _descent(PAUCHinge),
    "SVM-pAUC-exact": Method(
        lambda k, _, seed, options: SVMpAUC(k, max_iter=100, tol=1e-3, patience=20, **options),
        (ZERO,),
    ),
    "Greedy": Method(lambda k, _, seed, options: GreedyPAp(k, random_state=seed, **options)),
    "SGD@k-avg": _descent(PrecisionAverage),
    "Select": Method(_select),
    LOGISTIC: Method(
        lambda k, _, seed, options: LogisticRanker(eval_metric=f"pap@{k}", **options), (ZERO,)
    ),
}
"""Every method by its name in tables, except random weights, which learn nothing."""


def grid(name: str, protocol: str, parameters: Mapping[str, Any]) -> Sequence[Choice]:
    """Return the options in the grid of a method."""
    if not METHODS[name].descends:
        return [*product({"C": parameters["C"][name]})]
    settings = parameters[protocol]
    combinations = product({option: settings[option] for option in ("learning_rate", "l2")})
    return [{**options, "max_iter": settings["max_iter"]} for options in combinations]


def runs(recipe: Recipe) -> dict[str, Run]:
    """Return the method and protocol of each row of the table, by label.

    A method with both protocols has two rows. The label of the row with PAPER is the method's
    name.
    """
    method_runs = {RANDOM: (RANDOM, PAPER)}
    for name in methods(recipe, METHODS):
        for protocol in METHODS[name].protocols:
            end = FROM_ZERO if protocol == ZERO and PAPER in METHODS[name].protocols else ""
            method_runs[name + end] = (name, protocol)
    return method_runs


# The loop


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the counts of the data, then every run by repeat and cutoff."""
    yield key(data="counts")
    for seed, k in itertools.product(repeats(recipe), recipe.parameters["cutoffs"]):
        for name, protocol in runs(recipe).values():
            yield key(seed=seed, k=k, method=name, protocol=protocol)


def run(recipe: Recipe, context: Context, **cell: Any) -> Result:
    """Count the data, or tune and test one method.

    The result of a method has "pap" (ties count as errors), "half" (ties count half), "users"
    (their number), "user" (their ids), "gain" (their values), "chosen" (the options) and "valid"
    (the validation pap by which they were chosen).
    """
    if "data" in cell:
        return context.counts
    seed, k, name = cell["seed"], cell["k"], cell["method"]
    scaled = context.scaled(seed)
    cutoff_parts = scaled.for_cutoff(k)  # without the groups on which pap@k is undefined
    if name == RANDOM:
        shape = (recipe.parameters["random_draws"], cutoff_parts.test.X.shape[1])
        coefs = generator(recipe, "weights", seed).standard_normal(shape)
        scores = [np.einsum("ij,j->i", cutoff_parts.test.X, coef) for coef in coefs]
        return {"chosen": {}, **_tested(scores, cutoff_parts.test, k)}
    if name == LOGISTIC:  # trained on all rows
        cutoff_parts = cutoff_parts._replace(train=scaled.train)
    start_seed = seed_of(recipe, "start", seed)
    return tuned(name, cell["protocol"], k, cutoff_parts, recipe.parameters, start_seed)


def tuned(
    name: str, protocol: str, k: int, rows: Parts, parameters: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Fit a method with all options of its grid, select the best on validation, and test it."""
    method, (train, valid, test) = METHODS[name], rows
    validation = {} if protocol == PAPER else {"eval_set": (valid.X, valid.y, valid.qid)}

    def fitted(options: Choice) -> tuple[float, Any, Choice]:
        model = method.make(k, protocol, seed, options)
        model.fit(train.X, train.y, train.qid, **validation)
        return float(np.mean(splits.gains(model.predict(valid.X), valid, [k])[0])), model, options

    fits = [fitted(options) for options in grid(name, protocol, parameters)]
    value, model, options = max(fits, key=itemgetter(0))  # the first of equal ones
    if method.descends and protocol == PAPER:
        value, model, options = fitted({**options, "max_iter": parameters[PAPER]["final"][name]})
    return {"chosen": dict(options), "valid": value, **_tested([model.predict(test.X)], test, k)}


def _tested(scores: Sequence[PerRow], test: Rows, k: int) -> dict[str, Any]:
    """Return the test results of scores; those of random weights are averaged over the draws."""
    gain, half = (
        np.mean([splits.gains(draw_scores, test, [k], ties)[0] for draw_scores in scores], axis=0)
        for ties in ("worst", "average")
    )
    results = splits.tested(gain, test)
    return {"pap": results.pop("pap"), "half": float(half.mean()), "users": gain.size, **results}


# The page


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the counts of the data, the percentages by row, and the differences in the claims."""
    counts = cells[key(data="counts")]
    figures = {name: Measured(float(counts[name])) for name in ("rows", "positives", "users")}
    for (label, run), k in itertools.product(runs(recipe).items(), recipe.parameters["cutoffs"]):
        found = results(cells, k=k, method=run[0], protocol=run[1])
        figures[f"{label} k={k}"] = mean(PERCENT * result["pap"] for result in found)
        figures[f"{label} k={k}, half of each tie"] = mean(PERCENT * r["half"] for r in found)
        figures[f"test users k={k}"] = mean(result["users"] for result in found)
    available = {RANDOM, *recipe.parameters["methods"]}
    for one, other in itertools.product(_SURROGATES, _COMPARED):
        if {one, other} <= available:
            baseline = (other, ZERO if other == LOGISTIC else PAPER)
            label = f"{one} − {other}"
            figures[label] = splits.difference(recipe, cells, (one, PAPER), baseline)
    return {**figures, **_above_printed(recipe, figures)}


def _above_printed(recipe: Recipe, figures: Figures) -> Figures:
    """Return the least difference over k of logistic regression from the best printed figure."""
    excesses: list[Measured] = []
    for k in recipe.parameters["cutoffs"]:
        printed = [value for label, value in recipe.printed.items() if label.endswith(f" k={k}")]
        found = figures.get(f"{LOGISTIC} k={k}")
        if printed and found:
            excesses.append(replace(found, value=found.value - max(printed)))
    label = f"{LOGISTIC} − best printed, least over k"
    return {label: min(excesses, key=lambda excess: excess.value)} if excesses else {}


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield pap by method and k under both protocols, numbers of users, and chosen options."""
    columns, labels = {f"k={k}": k for k in recipe.parameters["cutoffs"]}, [*runs(recipe)]
    title = "pap@k, per cent: mean over splits ± standard error (printed)"
    yield Grid(title, labels, columns, "{} k={}", digits=1)
    title = "The same with half of each tied pair counted, as in the paper's code"
    yield Grid(title, labels, columns, "{} k={}, half of each tie", text="value", digits=1)
    title = "Number of test users with a defined pap@k, mean over splits"
    yield Grid(title, ["test users"], columns, "{} k={}", text="value", digits=0, head="")
    paper = [label for label in labels if not label.endswith(FROM_ZERO)]
    zero = [label for label in labels if f"{label}{FROM_ZERO}" not in labels]
    titles = {
        "The paper's protocol: random start, lowest training loss": paper,
        "Start at zero, iterate chosen on validation": sorted(zero, key=lambda x: x not in paper),
    }
    for title, names in titles.items():
        plot = Grid(title, names, columns.values(), "{} k={}", text="", plot="lines", note=NOTE)
        yield replace(plot, axis="k: pap@k (%)")

    chosen = {
        f"{label} k={k}": [r["chosen"] for r in results(cells, k=k, method=name, protocol=protocol)]
        for label, (name, protocol) in runs(recipe).items()
        for k in columns.values()
    }
    yield views.chosen(f"Features: {cells[key(data='counts')]['features']}. Splits", chosen)


STUDY = Study(cells, run, fold, prepare, shown)
"""Table 3 on the data set in the recipe's parameter `dataset`."""
