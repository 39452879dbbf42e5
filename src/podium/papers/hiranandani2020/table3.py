"""Table 3 of hiranandani2020: every method on MovieLens, citations and Behance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium import _check
from podium.data import movielens as read_movielens
from podium.papers.hiranandani2020 import behance, citation, movielens
from podium.papers.hiranandani2020.table3_methods import (
    METHODS,
    PAPER,
    RANDOM,
    ZERO,
    random_weights,
    tuned,
)
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts, Rows, drawn
from podium.papers.study import Cells, Figures, Measured, Result, Study, generator, key, mean, parts
from podium.report import Figure, Table

_FIVE_STARS = 5.0


class Context:
    """The data, and what was made of them for the cell before, which the next often shares."""

    def __init__(self, recipe: Recipe, source: Rows | Parts, features: str) -> None:
        self._recipe, self._source, self._features = recipe, source, features
        self._scaled: tuple[int, Parts] | None = None
        self._at: tuple[tuple[int, int], Parts] | None = None

    def counts(self) -> dict[str, Any]:
        """Return rows, positives and users of all parts together, and what the features are."""
        whole = [self._source] if isinstance(self._source, Rows) else list(self._source)
        return {
            "rows": sum(part.y.size for part in whole),
            "positives": sum(int(np.count_nonzero(part.y)) for part in whole),
            "users": np.unique(np.concatenate([part.qid for part in whole])).size,
            "features": self._features,
        }

    def scaled(self, seed: int) -> Parts:
        """Return the parts of one repeat: drawn, or as they were published."""
        if self._scaled is None or self._scaled[0] != seed:
            given = self._source
            if isinstance(given, Rows):
                given = drawn(given, generator(self._recipe, "split", seed))
            self._scaled = seed, given.scaled()
        return self._scaled[1]

    def at(self, seed: int, k: int) -> Parts:
        """Return the parts of one repeat without the groups that pap at k is undefined on."""
        if self._at is None or self._at[0] != (seed, k):
            self._at = (seed, k), self.scaled(seed).for_cutoff(k)
        return self._at[1]


def _movielens(recipe: Recipe, path: Path) -> Context:
    prepared = movielens.prepare(read_movielens(path, "100k"))
    positive = (prepared.rating == _FIVE_STARS).astype(np.float64)
    features = f"{movielens.RANK} factors of the user, of the item, and their products"
    return Context(recipe, Rows(prepared.X, positive, prepared.user), features)


def _citation(recipe: Recipe, path: Path) -> Context:
    features = f"{len(citation.SIDE)} counts, both papers' embeddings and their products"
    return Context(recipe, citation.read(path), features)


def _behance(recipe: Recipe, path: Path) -> Context:
    features = f"user, image and their products; images {behance.reduction(path)}"
    return Context(recipe, behance.read(path, seed=recipe.seed), features)


SOURCES: dict[str, Callable[[Recipe, Path], Context]] = {
    "movielens": _movielens,
    "citation": _citation,
    "behance": _behance,
}
"""What reads a data set, by the name that a recipe's parameter `dataset` has."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the recipe's one data set."""
    name = _check.choice(recipe.parameters["dataset"], "dataset", list(SOURCES))
    (path,) = paths.values()
    return SOURCES[name](recipe, path)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: the data's counts; then by repeat, cutoff and method its protocols."""
    keys = [key(data="counts")]
    for seed in range(recipe.repeats or 1):
        for k in recipe.parameters["cutoffs"]:
            keys.append(key(seed=seed, k=k, method=RANDOM, protocol=PAPER))
            for name in recipe.parameters["methods"]:
                method = METHODS[_check.choice(name, "methods", list(METHODS))]
                keys += [
                    key(seed=seed, k=k, method=name, protocol=each) for each in method.protocols
                ]
    return keys


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Count the data, or tune and test one method."""
    asked = parts(cell)
    if "data" in asked:
        return context.counts()
    seed, k = int(asked["seed"]), int(asked["k"])
    at, parameters = context.at(seed, k), recipe.parameters
    if asked["method"] == RANDOM:
        rng = generator(recipe, "weights", seed)
        return random_weights(at, k, parameters["random_draws"], rng)
    start = int(generator(recipe, "start", seed).integers(2**31))
    train = context.scaled(seed).train
    return tuned(asked["method"], asked["protocol"], k, at, train, parameters, start)


FROM_ZERO = " (w0 = 0)"
PERCENT = 100.0
COUNTS = ("rows", "positives", "users")
_RIVALS = ("SVM-pAUC", "Greedy", "SGD@k-avg", "Select")
_OURS = ("GD-max", "GD-avg", "GD-TS")


def runs(recipe: Recipe) -> list[tuple[str, str, str]]:
    """Return each row of the table: its label, and the method and protocol behind it.

    A method with both protocols has two rows; that of the paper's has the plain name.
    """
    rows = [(RANDOM, RANDOM, PAPER)]
    for name in recipe.parameters["methods"]:
        for protocol in METHODS[name].protocols:
            both = len(METHODS[name].protocols) > 1
            rows.append((name + FROM_ZERO if both and protocol == ZERO else name, name, protocol))
    return rows


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the counts of the data, each row's percentages, and the differences of the claims."""
    counts = cells[key(data="counts")]
    figures = {name: Measured(float(counts[name])) for name in COUNTS}
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    for label, name, protocol in runs(recipe):
        for k in cutoffs:
            found = _cells(recipe, cells, name, protocol, k)
            figures[f"{label} k={k}"] = mean(PERCENT * each["pap"] for each in found)
    for label, (name, protocol), (other, its_protocol) in _pairs(recipe):
        figures[label] = difference(recipe, cells, (name, protocol), (other, its_protocol))
    return {**figures, **_above_printed(recipe, figures)}


def _above_printed(recipe: Recipe, figures: Figures) -> Figures:
    """Return how far logistic regression is above all printed figures, where that is least."""
    if "logistic" not in recipe.parameters["methods"]:
        return {}
    above: list[Measured] = []
    for k in recipe.parameters["cutoffs"]:
        printed = [v for label, v in recipe.printed.items() if label.endswith(f" k={k}")]
        if not printed:
            continue
        found = figures[f"logistic k={k}"]
        above += [Measured(found.value - max(printed), found.std_error, found.n)]
    if not above:
        return {}
    return {"logistic − best printed, least over k": min(above, key=lambda each: each.value)}


def difference(
    recipe: Recipe, cells: Cells, one: tuple[str, str], other: tuple[str, str]
) -> Measured:
    """Return how far one run is above another, in points: the mean over cutoffs and repeats.

    Both users and repeats (splits and starts) are what was drawn, so the standard error counts
    both: that of a bootstrap over users, each with all its values, to first order, and what the
    means of the repeats vary beyond that. With one repeat only the former is known. `n` is the
    number of users.
    """
    by_repeat = [
        _influences(recipe, cells, one, other, seed) for seed in range(recipe.repeats or 1)
    ]
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
    recipe: Recipe, cells: Cells, one: tuple[str, str], other: tuple[str, str], seed: int
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


def _cells(recipe: Recipe, cells: Cells, name: str, protocol: str, k: int) -> list[Result]:
    """Return a run's results over the repeats."""
    return [
        cells[key(seed=seed, k=k, method=name, protocol=protocol)]
        for seed in range(recipe.repeats or 1)
    ]


def _pairs(recipe: Recipe) -> Iterator[tuple[str, tuple[str, str], tuple[str, str]]]:
    there = set(recipe.parameters["methods"])
    for ours in _OURS:
        for other in _RIVALS:
            if {ours, other} <= there:
                yield f"{ours} − {other}", (ours, PAPER), (other, PAPER)
        if ours in there:
            yield f"{ours} − {RANDOM}", (ours, PAPER), (RANDOM, PAPER)
        if {ours, "logistic"} <= there:
            yield f"{ours} − logistic", (ours, PAPER), ("logistic", ZERO)


_Z = 1.96


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return pap against k by method: as the paper's code runs them, and from zero."""
    labels = [label for label, _, _ in runs(recipe)]
    zero = [label for label in labels if label.endswith(FROM_ZERO)]
    shared = [label for label in labels if f"{label}{FROM_ZERO}" not in zero and label not in zero]
    paper = [label for label in labels if label not in zero]
    return [
        _plot(recipe, figures, paper, "The paper's protocol: random start, lowest training loss"),
        _plot(recipe, figures, [*shared, *zero], "From zero, the iterate chosen on validation"),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return pap by method and k, the half-credit values, and what was chosen."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    return [
        {
            "caption": "pap@k, per cent: mean over splits ± standard error (printed)",
            "columns": ["method", *(f"k={k}" for k in cutoffs)],
            "rows": [
                [label, *(_cell(recipe, figures, f"{label} k={k}") for k in cutoffs)]
                for label, _, _ in runs(recipe)
            ],
        },
        {
            "caption": "The same with half of each tied pair counted, as in the paper's code",
            "columns": ["method", *(f"k={k}" for k in cutoffs)],
            "rows": _averages(recipe, cells, "half", PERCENT, 1),
        },
        {
            "caption": f"Test users that pap@k is defined on, mean over splits. {_features(cells)}",
            "columns": ["", *(f"k={k}" for k in cutoffs)],
            "rows": [["users", *_averages(recipe, cells, "users", 1.0, 0)[0][1:]]],
        },
        {
            "caption": "Options chosen at the first split",
            "columns": ["method", *(f"k={k}" for k in cutoffs)],
            "rows": _chosen(recipe, cells),
        },
    ]


def _plot(recipe: Recipe, figures: Figures, labels: Sequence[str], title: str) -> Figure:
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    series = [
        _line(label, cutoffs, [figures[f"{label} k={k}"] for k in cutoffs]) for label in labels
    ]
    return {
        "kind": "line_plot",
        "title": title,
        "x_label": "k",
        "y_label": "pap@k (%)",
        "series": series,
        "caption": "Mean over splits; the band is its 95 % interval over splits.",
    }


def _line(label: str, cutoffs: Sequence[int], found: Sequence[Measured]) -> Mapping[str, Any]:
    margin = [0.0 if math.isnan(each.std_error) else _Z * each.std_error for each in found]
    pairs = list(zip(found, margin, strict=True))
    return {
        "label": label.removesuffix(FROM_ZERO),
        "x": list(cutoffs),
        "y": [each.value for each in found],
        "low": [each.value - m for each, m in pairs],
        "high": [each.value + m for each, m in pairs],
    }


def _cell(recipe: Recipe, figures: Figures, name: str) -> str:
    found, printed = figures[name], recipe.printed.get(name)
    error = "" if math.isnan(found.std_error) else f" ± {found.std_error:.1f}"
    return f"{found.value:.1f}{error}" + ("" if printed is None else f" ({printed:.1f})")


def _averages(
    recipe: Recipe, cells: Cells, name: str, factor: float, digits: int
) -> list[list[str]]:
    rows: list[list[str]] = []
    for label, method, protocol in runs(recipe):
        means = (
            np.mean([factor * each[name] for each in _repeats(recipe, cells, method, protocol, k)])
            for k in recipe.parameters["cutoffs"]
        )
        rows.append([label, *(f"{value:.{digits}f}" for value in means)])
    return rows


def _features(cells: Cells) -> str:
    return f"Features: {cells[key(data='counts')]['features']}."


def _chosen(recipe: Recipe, cells: Cells) -> list[list[str]]:
    rows: list[list[str]] = []
    for label, method, protocol in runs(recipe):
        chosen = [
            _repeats(recipe, cells, method, protocol, k)[0]["chosen"]
            for k in recipe.parameters["cutoffs"]
        ]
        texts = [", ".join(f"{name} {value:g}" for name, value in each.items()) for each in chosen]
        rows.append([label, *texts])
    return rows


def _repeats(recipe: Recipe, cells: Cells, method: str, protocol: str, k: int) -> list[Result]:
    return [
        cells[key(seed=seed, k=k, method=method, protocol=protocol)]
        for seed in range(recipe.repeats or 1)
    ]


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Table 3 on the data set that a recipe's parameter `dataset` names."""
