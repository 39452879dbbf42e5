"""Which objective is best at pAp@k on MovieLens: podium's against those that people use."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data import movielens as read_movielens
from podium.papers import views
from podium.papers.hiranandani2020 import movielens
from podium.papers.hiranandani2020.objectives_methods import (
    ABLATION,
    LINEAR,
    METHODS,
    OWN,
    PODIUM,
    Split,
    choose,
    tested,
)
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
    seed_of,
)
from podium.report import Figure, Table

_FIVE_STARS = 5.0


class Context:
    """The rows and their items, and the last split."""

    def __init__(self, recipe: Recipe, rows: Rows, item: NDArray[np.int64]) -> None:
        self._recipe, self._rows, self._item = recipe, rows, item
        self._last: tuple[int, Split] | None = None

    def split(self, seed: int) -> Split:
        """Return the split of one repeat: that of `pap-table3-movielens` for the same seed."""
        if self._last is None or self._last[0] != seed:
            self._last = seed, self._drawn(seed)
        return self._last[1]

    def _drawn(self, seed: int) -> Split:
        whole = self._rows
        places = np.arange(whole.y.size)
        where = [
            part.X[:, 0]
            for part in drawn(
                Rows(places[:, None], whole.y, whole.qid), generator(self._recipe, "split", seed)
            )
        ]
        train, valid, test = (self._item[rows] for rows in where)
        return Split(Parts(*(whole.take(rows) for rows in where)).scaled(), (train, valid, test))


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Prepare MovieLens-100k as hiranandani2020 did."""
    (path,) = paths.values()
    prepared = movielens.prepare(read_movielens(path, "100k"))
    positive = (prepared.rating == _FIVE_STARS).astype(np.float64)
    return Context(recipe, Rows(prepared.X, positive, prepared.user), prepared.item)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: every method on every split, for all cutoffs at once; ablations last."""
    names = methods(recipe, METHODS)
    last = [name for name in names if METHODS[name].kind == ABLATION]
    first = [name for name in names if name not in last]
    splits = range(recipe.repeats or 1)
    return [
        key(seed=seed, method=name) for some in (first, last) for seed in splits for name in some
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Try all of a method's options on one split; for each cutoff test the best by validation.

    Returns lists with a value for each of the recipe's cutoffs: "valid" and "pap", the means;
    "user" and "gain", the test users that pap is defined on with their values; and "chosen".
    """
    asked = parts(cell)
    seed, cutoffs = int(asked["seed"]), recipe.parameters["cutoffs"]
    split = context.split(seed)
    start = seed_of(recipe, "start", seed)
    tried = METHODS[asked["method"]].candidates(split, recipe.parameters, start)
    best = choose(tried, split.parts.valid, cutoffs)
    return {
        "valid": [value for value, _ in best],
        "chosen": [dict(found.options) for _, found in best],
        **tested([found.test for _, found in best], split.parts.test, cutoffs),
    }


Gains: TypeAlias = NDArray[np.float64]
"""By split, user and cutoff, in points; nan for a user that pap is not defined on."""
Pair: TypeAlias = tuple[str, Gains, Gains]

PERCENT = 100.0
LOGISTIC, PAP_LOGISTIC, BINARY = "logistic regression", "pap-logistic", "LightGBM binary"
BEST, CHOSEN = "LightGBM's own best on test", "LightGBM's own best on validation"


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return each method's percentages, and the differences by cutoff and over them."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    figures: dict[str, Measured] = {}
    for name in recipe.parameters["methods"]:
        found = _splits(recipe, cells, name)
        for at, k in enumerate(cutoffs):
            figures[f"{name} k={k}"] = mean(PERCENT * each["pap"][at] for each in found)
    by_method = gains(recipe, cells)
    drawn = DrawnUsers(recipe, np.isfinite(next(iter(by_method.values()))))
    for label, one, other in pairs(recipe, cells, by_method):
        figures |= differences(label, one - other, drawn, cutoffs)
    return figures


def gains(recipe: Recipe, cells: Cells) -> Mapping[str, Gains]:
    """Return every method's values, (n_splits, n_users, n_cutoffs)."""
    names = recipe.parameters["methods"]
    found = {name: _splits(recipe, cells, name) for name in names}
    last = max(user for each in found[names[0]] for users in each["user"] for user in users)
    by_method: dict[str, Gains] = {}
    for name in names:
        values = np.full((len(found[name]), last + 1, len(recipe.parameters["cutoffs"])), np.nan)
        for split, each in enumerate(found[name]):
            for at, (users, gain) in enumerate(zip(each["user"], each["gain"], strict=True)):
                values[split, users, at] = PERCENT * np.array(gain)
        by_method[name] = values
    return by_method


def _splits(recipe: Recipe, cells: Cells, name: str) -> list[Result]:
    return [cells[key(seed=seed, method=name)] for seed in range(recipe.repeats or 1)]


def pairs(recipe: Recipe, cells: Cells, by_method: Mapping[str, Gains]) -> Iterator[Pair]:
    """Yield what is compared: its label, and the values of both."""
    trees = [name for name in by_method if METHODS[name].kind != LINEAR]
    for one, other in _OF_LINEAR:
        if {one, other} <= {*by_method}:
            yield f"{one} − {other}", by_method[one], by_method[other]
    own = {name: by_method[name] for name in trees if METHODS[name].kind == OWN}
    for ours in (name for name in trees if METHODS[name].kind == PODIUM and own):
        yield f"{ours} − {BEST}", by_method[ours], best_on_test(own)
        yield f"{ours} − {CHOSEN}", by_method[ours], best_on_validation(recipe, cells, own)
    for name in trees:
        if name != BINARY and BINARY in trees:
            yield f"{name} − {BINARY}", by_method[name], by_method[BINARY]
    for one, other in _OF_TREES:
        if {one, other} <= {*by_method}:
            yield f"{one} − {other}", by_method[one], by_method[other]


def best_on_test(own: Mapping[str, Gains]) -> Gains:
    """Return for each cutoff the values of the method whose mean over test users is best.

    Nobody could have chosen so; it puts what is compared with it at a disadvantage.
    """
    stacked = np.stack([*own.values()])
    best = np.nanmean(stacked, axis=2).mean(axis=1).argmax(axis=0)
    return np.stack([stacked[name, :, :, at] for at, name in enumerate(best)], axis=-1)


def best_on_validation(recipe: Recipe, cells: Cells, own: Mapping[str, Gains]) -> Gains:
    """Return for each split and cutoff the values of the method that is best on validation."""
    stacked = np.stack([*own.values()])
    chosen = np.empty(stacked.shape[1:])
    for split in range(stacked.shape[1]):
        valid = [cells[key(seed=split, method=name)]["valid"] for name in own]
        for at, name in enumerate(np.argmax(valid, axis=0)):
            chosen[split, :, at] = stacked[name, split, :, at]
    return chosen


class DrawnUsers:
    """Samples of users for the bootstrap, the same for all that is compared.

    Parameters
    ----------
    recipe : Recipe
    known : bool, (n_splits, n_users, n_cutoffs)
        Where there are values.
    """

    def __init__(self, recipe: Recipe, known: NDArray[np.bool_]) -> None:
        n_users, draws = known.shape[1], recipe.parameters["draws"]
        times = generator(recipe, "users").multinomial(
            n_users, np.full(n_users, 1 / n_users), draws
        )
        self.times = times.astype(np.float64)
        self.known = known
        self.counts = np.einsum("du,suk->dsk", self.times, known.astype(np.float64))

    def means(self, gap: Gains) -> NDArray[np.float64]:
        """Return the mean over splits of the mean over drawn users, (n_draws, n_cutoffs).

        A split that none of its users was drawn for counts as no difference; with tens of users
        that does not happen.
        """
        total = np.einsum("du,suk->dsk", self.times, np.where(self.known, gap, 0.0))
        return (total / np.maximum(self.counts, 1.0)).mean(axis=1)


def differences(label: str, gap: Gains, drawn: DrawnUsers, cutoffs: Sequence[int]) -> Figures:
    """Return a difference by cutoff, averaged over cutoffs, and where it is weakest and strongest.

    Each is the mean over splits of the mean over users. The same users are in all splits, so the
    bootstrap draws users, each with all of its values, and the error is how the means vary.
    """
    known, varied = drawn.known, drawn.means(gap)
    means = np.nanmean(gap, axis=1).mean(axis=0)
    users = known.any(axis=0).sum(axis=0)
    found = [
        Measured(float(means[at]), float(varied[:, at].std(ddof=1)), int(users[at]))
        for at in range(len(cutoffs))
    ]
    over_all = Measured(
        float(means.mean()),
        float(varied.mean(axis=1).std(ddof=1)),
        int(known.any(axis=(0, 2)).sum()),
    )
    return {
        **{f"{label} k={k}": each for k, each in zip(cutoffs, found, strict=True)},
        f"{label}, mean over k": over_all,
        f"{label}, least mean of all k": Measured(float(means.min()), n=int(users.min())),
        f"{label}, lowest interval of all k": min(found, key=views.low),
        f"{label}, highest interval of all k": max(found, key=views.low),
    }


_OF_LINEAR = (
    (PAP_LOGISTIC, LOGISTIC),
    ("pap-logistic, sharper", LOGISTIC),
    ("group-logistic, linear", LOGISTIC),
    (PAP_LOGISTIC, "group-logistic, linear"),
)
_OF_TREES = (
    ("group-logistic, pooled", "LightGBM lambdarank"),
    ("group-logistic, pooled", "LightGBM rank_xendcg"),
    ("group-logistic, pooled", "group-logistic, labels"),
    ("group-logistic, pooled", "LightGBM cross_entropy, pooled"),
    ("group-logistic, pooled", "LightGBM binary, item as category"),
    ("group-logistic, pooled, item as category", "group-logistic, pooled"),
    ("group-logistic, pooled, item as category", "LightGBM binary, item as category"),
)


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return pap against k by method, and the differences with their intervals."""
    names = recipe.parameters["methods"]
    main = [
        name
        for name in names
        if name in (LOGISTIC, PAP_LOGISTIC) or METHODS[name].kind in (OWN, PODIUM)
    ]
    ours = [name for name in names if METHODS[name].kind == PODIUM]
    compared = [(PAP_LOGISTIC, LOGISTIC), *itertools.product(ours, (BEST, CHOSEN))]
    by_cutoff = [
        _by_cutoff(recipe, figures, one, other)
        for one, other in compared
        if f"{one} − {other}{_OVER_K}" in figures
    ]
    trees = {
        name.replace(" as category", ""): figures[label]
        for name in names
        if (label := f"{name} − {BINARY}{_OVER_K}") in figures
    }
    above = _differences(f"Trees above {BINARY}, mean over k", trees)
    return [_levels(recipe, figures, main), *by_cutoff, *([above] if trees else [])]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return pap by method and k, differences by k, users, and what was chosen."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    names: Sequence[str] = recipe.parameters["methods"]
    places = {f"k={k}": at for at, k in enumerate(cutoffs)}
    ends = {**{f"k={k}": f" k={k}" for k in cutoffs}, "mean over k": _OVER_K}
    pairs = [label.removesuffix(_OVER_K) for label in figures if label.endswith(_OVER_K)]
    found = {name: _splits(recipe, cells, name) for name in names}

    def users(_: str, at: int) -> str:
        first = found[names[0]]
        return f"{sum(len(each['user'][at]) for each in first) / len(first):.0f}"

    return [
        views.table(
            "pap@k on test, per cent: mean over splits ± its standard error",
            "method",
            names,
            [f"k={k}" for k in cutoffs],
            lambda name, column: views.level(figures[f"{name} {column}"], 2),
        ),
        views.table(
            "Differences in points, with intervals of 95 % over users",
            "difference",
            pairs,
            ends,
            lambda pair, end: views.gap(figures[f"{pair}{end}"], 2),
        ),
        views.table(
            "Test users that pap@k is defined on, mean over splits", "", ["users"], places, users
        ),
        views.table(
            "Options chosen on validation in most splits (in how many)",
            "method",
            names,
            places,
            lambda name, at: _chosen([each["chosen"][at] for each in found[name]]),
        ),
    ]


def _levels(recipe: Recipe, figures: Figures, names: Sequence[str]) -> Figure:
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    return views.lines(
        "pap@k on test by objective",
        [views.band(name, cutoffs, [figures[f"{name} k={k}"] for k in cutoffs]) for name in names],
        "k",
        "pap@k (%)",
        caption="Mean over splits; the band is its 95 % interval over splits.",
    )


def _by_cutoff(recipe: Recipe, figures: Figures, one: str, other: str) -> Figure:
    pair = f"{one} − {other}"
    found = {f"k = {k}": figures[f"{pair} k={k}"] for k in recipe.parameters["cutoffs"]}
    return _differences(pair, {**found, "mean": figures[pair + _OVER_K]})


def _differences(title: str, found: Figures) -> Figure:
    return {
        "kind": "difference_plot",
        "title": title,
        "axis_label": "difference in pap@k (points)",
        "rows": [views.row(label, each) for label, each in found.items()],
        "digits": 2,
        "caption": "Paired by user; intervals of 95 % from a bootstrap over users.",
    }


def _chosen(found: Sequence[Mapping[str, Any]]) -> str:
    """Write the options that most splits chose, and the median number of trees."""
    counts = Counter(
        ", ".join(
            f"{_SHORT.get(option, option)} {value:g}"
            for option, value in each.items()
            if option != "trees"
        )
        for each in found
    )
    (text, times), *_ = counts.most_common(1)
    trees = sorted(each["trees"] for each in found if "trees" in each)
    median = f"; median trees {trees[len(trees) // 2]}" if trees else ""
    return f"{text} ({times}){median}"


_OVER_K = ", mean over k"
_SHORT = {
    "learning_rate": "rate",
    "num_leaves": "leaves",
    "min_data_in_leaf": "rows in leaf",
    "bagging_fraction": "share of rows",
}


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""podium's objectives against logistic regression and LightGBM's own."""
