"""Table 3 of hiranandani2020: every method on MovieLens, citations and Behance.

To add a method, add its line to METHODS, and its name to the recipes that shall run it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from podium import _check, losses
from podium.papers import views
from podium.papers.hiranandani2020 import behance, citation, movielens
from podium.papers.hiranandani2020.baselines import GreedyPAp, PrecisionAverage, SelectPAp, SVMpAUC
from podium.papers.hiranandani2020.splits import PERCENT, by_split, gains, levels, tested
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts, Rows, drawn
from podium.papers.study import (
    Cells,
    Figures,
    Measured,
    Result,
    Study,
    generator,
    key,
    mean,
    methods,
    parts,
    product,
    seed_of,
)
from podium.rankers import LinearRanker, LogisticRanker
from podium.report import Figure, Table
from podium.types import PerRow

PAPER, ZERO = "paper", "zero"
"""How a method is run: as the paper's code did, or from zero with the iterate chosen too."""

RANDOM, FROM_ZERO = "random weights", " (w0 = 0)"
_OURS = ("GD-max", "GD-avg", "GD-TS")
_RIVALS = ("SVM-pAUC", "Greedy", "SGD@k-avg", "Select")

Choice: TypeAlias = Mapping[str, Any]
Run: TypeAlias = tuple[str, str]  # a method and its protocol


# The data


def _movielens(path: Path, seed: int) -> tuple[Rows, str]:
    features = f"{movielens.RANK} factors of the user, of the item, and their products"
    return movielens.fives(path)[0], features


def _citation(path: Path, seed: int) -> tuple[Parts, str]:
    features = f"{len(citation.SIDE)} counts, both papers' embeddings and their products"
    return citation.read(path), features


def _behance(path: Path, seed: int) -> tuple[Rows, str]:
    features = f"user, image and their products; images {behance.reduction(path)}"
    return behance.read(path, seed=seed), features


SOURCES: dict[str, Callable[[Path, int], tuple[Rows | Parts, str]]] = {
    "movielens": _movielens,
    "citation": _citation,
    "behance": _behance,
}
"""What reads a data set and describes its features, by the recipe's parameter `dataset`."""


class Context:
    """The data; `scaled` makes the parts of a repeat, and keeps those of the last."""

    def __init__(self, recipe: Recipe, source: Rows | Parts, features: str) -> None:
        self._recipe, self._source, self._features = recipe, source, features
        self.scaled = lru_cache(maxsize=1)(self._scaled)

    def counts(self) -> dict[str, Any]:
        """Return rows, positives and users of all parts together, and what the features are."""
        whole = [self._source] if isinstance(self._source, Rows) else list(self._source)
        return {
            "rows": sum(part.y.size for part in whole),
            "positives": sum(int(np.count_nonzero(part.y)) for part in whole),
            "users": np.unique(np.concatenate([part.qid for part in whole])).size,
            "features": self._features,
        }

    def _scaled(self, seed: int) -> Parts:
        """Return the parts of one repeat: drawn, or as they were published."""
        given = self._source
        if isinstance(given, Rows):
            given = drawn(given, generator(self._recipe, "split", seed))
        return given.scaled()


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the recipe's one data set."""
    name = _check.choice(recipe.parameters["dataset"], "dataset", list(SOURCES))
    (path,) = paths.values()
    return Context(recipe, *SOURCES[name](path, recipe.seed))


# The methods


@dataclass(frozen=True)
class Method:
    """How a method is made and tuned; the best of its grid on the validation rows is kept.

    Attributes
    ----------
    make : (k, protocol, options) -> estimator
        `options` are keyword arguments of the estimator.
    protocols : tuple of str
        Where the two would come to the same there is only ZERO.
    descends : bool
        Its grid is the protocol's, and under PAPER it is fit once more with the chosen options
        and more iterations. The grid of other methods is the recipe's "C" by their name.
    seeded : bool
        Takes a random_state.
    whole : bool
        Train on all rows, those of the groups that pap at k is not defined on too.
    """

    make: Callable[[int, str, Choice], Any]
    protocols: tuple[str, ...] = (PAPER, ZERO)
    descends: bool = False
    seeded: bool = False
    whole: bool = False


def _descent(loss: Callable[[int], Any]) -> Method:
    def make(k: int, protocol: str, options: Choice) -> LinearRanker:
        start, keep = ("normal", "best_loss") if protocol == PAPER else ("zero", "best")
        fixed: dict[str, Any] = {"start": start, "keep": keep, "eval_metric": f"pap@{k}"}
        return LinearRanker(loss(k), solver="subgradient", **fixed, **options)

    return Method(make, descends=True, seeded=True)


def _svm(k: int, protocol: str, options: Choice) -> SVMpAUC:
    return SVMpAUC(k, max_iter=100, tol=1e-3, patience=20, **options)


def _select(k: int, protocol: str, options: Choice) -> SelectPAp:
    return SelectPAp(k, start="normal" if protocol == PAPER else "logistic", **options)


METHODS: dict[str, Method] = {
    "GD-max": _descent(losses.PApMax),
    "GD-avg": _descent(losses.PApAverage),
    "GD-TS": _descent(losses.PApTightStruct),
    "GD-TS-exact": _descent(lambda k: losses.PApTightStruct(k, exact=True)),
    "GD-ramp": _descent(losses.PApRamp),
    "SVM-pAUC": _descent(losses.PAUCHinge),
    "SVM-pAUC-exact": Method(_svm, (ZERO,)),
    "Greedy": Method(lambda k, _, options: GreedyPAp(k, **options), seeded=True),
    "SGD@k-avg": _descent(PrecisionAverage),
    "Select": Method(_select, seeded=True),
    "logistic": Method(
        lambda k, _, options: LogisticRanker(eval_metric=f"pap@{k}", **options), (ZERO,), whole=True
    ),
}
"""Every method by its name in tables; random weights, which learn nothing, are not among them."""


def grid(name: str, protocol: str, parameters: Mapping[str, Any]) -> Sequence[Choice]:
    """Return the options that are tried."""
    if not METHODS[name].descends:
        return [*product({"C": parameters["C"][name]})]
    given = parameters[protocol]
    found = product({option: given[option] for option in ("learning_rate", "l2")})
    return [{**each, "max_iter": given["max_iter"]} for each in found]


def runs(recipe: Recipe) -> dict[str, Run]:
    """Return the method and protocol behind each row of the table, by its label.

    A method with both protocols has two rows; that of the paper's has the plain name.
    """
    found = {RANDOM: (RANDOM, PAPER)}
    for name in methods(recipe, METHODS):
        for protocol in METHODS[name].protocols:
            both = len(METHODS[name].protocols) > 1
            found[name + FROM_ZERO if both and protocol == ZERO else name] = name, protocol
    return found


# The loop


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: the data's counts; then by repeat and cutoff every run."""
    return [key(data="counts")] + [
        key(seed=seed, k=k, method=name, protocol=protocol)
        for seed in range(recipe.repeats or 1)
        for k in recipe.parameters["cutoffs"]
        for name, protocol in runs(recipe).values()
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Count the data, or tune and test one method.

    Of a method: "pap" and "half" (ties as errors, and half right), "users", their ids "user" and
    values "gain", "chosen" options, and "valid", the pap that they were chosen by.
    """
    asked = parts(cell)
    if "data" in asked:
        return context.counts()
    seed, k, name = int(asked["seed"]), int(asked["k"]), asked["method"]
    scaled = context.scaled(seed)
    at = scaled.for_cutoff(k)  # without the groups that pap at k is undefined on
    if name == RANDOM:
        shape = (recipe.parameters["random_draws"], at.test.X.shape[1])
        coefs = generator(recipe, "weights", seed).standard_normal(shape)
        scores = [np.einsum("ij,j->i", at.test.X, coef) for coef in coefs]
        return {"chosen": {}, **_tested(scores, at.test, k)}
    if METHODS[name].whole:
        at = at.training_on(scaled.train)
    start = seed_of(recipe, "start", seed)
    return tuned(name, asked["protocol"], k, at, recipe.parameters, start)


def tuned(
    name: str, protocol: str, k: int, rows: Parts, parameters: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Fit a method with all options of its grid, keep the best on validation, and test it."""
    method, (train, valid, test) = METHODS[name], rows
    seeded = {"random_state": seed} if method.seeded else {}
    judged = {} if protocol == PAPER else {"eval_set": (valid.X, valid.y, valid.qid)}

    def fitted(options: Choice) -> tuple[float, Any, Choice]:
        model = method.make(k, protocol, {**options, **seeded})
        model.fit(train.X, train.y, train.qid, **judged)
        return float(np.mean(gains(model.predict(valid.X), valid, [k])[0])), model, options

    tried = [fitted(options) for options in grid(name, protocol, parameters)]
    value, model, options = max(tried, key=itemgetter(0))  # the first of equal ones
    if method.descends and protocol == PAPER:
        value, model, options = fitted({**options, "max_iter": parameters[PAPER]["final"][name]})
    return {"chosen": dict(options), "valid": value, **_tested([model.predict(test.X)], test, k)}


def _tested(scores: Sequence[PerRow], test: Rows, k: int) -> dict[str, Any]:
    """Return how scores do: several of random weights, whose values are averaged."""
    gain, half = (
        np.mean([gains(each, test, [k], ties)[0] for each in scores], axis=0)
        for ties in ("worst", "average")
    )
    found = tested(gain, test)
    return {"pap": found.pop("pap"), "half": float(half.mean()), "users": gain.size, **found}


# The page


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the counts of the data, each row's percentages, and the differences of the claims."""
    counts = cells[key(data="counts")]
    figures = {name: Measured(float(counts[name])) for name in ("rows", "positives", "users")}
    for label, run in runs(recipe).items():
        for k in recipe.parameters["cutoffs"]:
            found = _results(recipe, cells, run, k)
            figures[f"{label} k={k}"] = mean(PERCENT * each["pap"] for each in found)
    pairs = {label: difference(recipe, cells, *both) for label, *both in _pairs(recipe)}
    return {**figures, **pairs, **_above_printed(recipe, figures)}


def _results(recipe: Recipe, cells: Cells, run: Run, k: int) -> list[Result]:
    return by_split(recipe, cells, k=k, method=run[0], protocol=run[1])


def _pairs(recipe: Recipe) -> list[tuple[str, Run, Run]]:
    """Return what the claims compare: each of the paper's methods with all others."""
    there = {RANDOM, *recipe.parameters["methods"]}
    others = {**dict.fromkeys((*_RIVALS, RANDOM), PAPER), "logistic": ZERO}
    return [
        (f"{ours} − {other}", (ours, PAPER), (other, protocol))
        for ours in _OURS
        for other, protocol in others.items()
        if {ours, other} <= there
    ]


def _above_printed(recipe: Recipe, figures: Figures) -> Figures:
    """Return how far logistic regression is above all printed figures, where that is least."""
    above: list[Measured] = []
    for k in recipe.parameters["cutoffs"]:
        printed = [v for label, v in recipe.printed.items() if label.endswith(f" k={k}")]
        found = figures.get(f"logistic k={k}")
        if printed and found:
            above.append(Measured(found.value - max(printed), found.std_error, found.n))
    label = "logistic − best printed, least over k"
    return {label: min(above, key=lambda each: each.value)} if above else {}


def difference(recipe: Recipe, cells: Cells, one: Run, other: Run) -> Measured:
    """Return how far one run is above another, in points: the mean over cutoffs and repeats.

    Both users and repeats (splits and starts) are what was drawn, so the standard error counts
    both: that of a bootstrap over users, each with all its values, to first order, and what the
    means of the repeats vary beyond that. With one repeat only the former is known. `n` is the
    number of users.
    """
    seeds = range(recipe.repeats or 1)
    by_repeat = [_influences(recipe, cells, one, other, seed) for seed in seeds]
    means = np.array([mean for mean, _ in by_repeat])
    users = np.concatenate([np.fromiter(part, np.int64) for _, part in by_repeat])
    parts = np.concatenate([np.fromiter(part.values(), float) for _, part in by_repeat])
    parts /= means.size
    labels, codes = np.unique(users, return_inverse=True)
    of_users = float(np.sum(np.bincount(codes, weights=parts) ** 2))
    of_repeats = float(means.var(ddof=1)) / means.size if means.size > 1 else 0.0
    in_both = float(np.sum(parts**2))
    spread = math.sqrt(of_users + max(0.0, of_repeats - in_both))
    return Measured(float(means.mean()), spread, labels.size)


def _influences(
    recipe: Recipe, cells: Cells, one: Run, other: Run, seed: int
) -> tuple[float, dict[int, float]]:
    """Return one repeat's mean difference over cutoffs, and what each user moves it by."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    influence: dict[int, float] = {}
    means: list[float] = []
    for k in cutoffs:
        ours, theirs = (
            cells[key(seed=seed, k=k, method=name, protocol=protocol)]
            for name, protocol in (one, other)
        )
        gain = PERCENT * (np.array(ours["gain"]) - np.array(theirs["gain"]))
        means.append(float(gain.mean()))
        moved = (gain - gain.mean()) / gain.size / len(cutoffs)
        for user, part in zip(ours["user"], moved.tolist(), strict=True):
            influence[user] = influence.get(user, 0.0) + part
    return float(np.mean(means)), influence


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return pap against k by method: as the paper's code runs them, and from zero."""
    labels = [*runs(recipe)]
    zero = [label for label in labels if label.endswith(FROM_ZERO)]
    paper = [label for label in labels if label not in zero]
    shared = [label for label in paper if f"{label}{FROM_ZERO}" not in zero]
    titles = {
        "The paper's protocol: random start, lowest training loss": paper,
        "From zero, the iterate chosen on validation": [*shared, *zero],
    }
    return [
        levels(recipe, figures, title, {label: label.removesuffix(FROM_ZERO) for label in shown})
        for title, shown in titles.items()
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return pap by method and k, the half-credit values, and what was chosen."""
    cutoffs, rows = {f"k={k}": k for k in recipe.parameters["cutoffs"]}, runs(recipe)
    features = f"Features: {cells[key(data='counts')]['features']}."

    def value(label: str, k: int) -> str:
        name = f"{label} k={k}"
        return views.level(figures[name], 1, recipe.printed.get(name))

    def average(name: str, label: str, k: int) -> float:
        return float(np.mean([each[name] for each in _results(recipe, cells, rows[label], k)]))

    def half(label: str, k: int) -> str:
        return f"{PERCENT * average('half', label, k):.1f}"

    def users(_: str, k: int) -> str:
        return f"{average('users', RANDOM, k):.0f}"

    def chosen(label: str, k: int) -> str:
        options = _results(recipe, cells, rows[label], k)[0]["chosen"]
        return ", ".join(f"{name} {value:g}" for name, value in options.items())

    by_method = partial(views.table, head="method", names=rows, columns=cutoffs)
    of_users = f"Test users that pap@k is defined on, mean over splits. {features}"
    return [
        by_method("pap@k, per cent: mean over splits ± standard error (printed)", cell=value),
        by_method(
            "The same with half of each tied pair counted, as in the paper's code", cell=half
        ),
        views.table(of_users, "", ["users"], cutoffs, users),
        by_method("Options chosen at the first split", cell=chosen),
    ]


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Table 3 on the data set that a recipe's parameter `dataset` names."""
