"""Which objective is best at pAp@k on MovieLens: podium's against those that people use."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.papers import views
from podium.papers.folds import Candidate
from podium.papers.hiranandani2020 import movielens
from podium.papers.hiranandani2020.objectives_methods import (
    ABLATION,
    LINEAR,
    METHODS,
    OWN,
    PODIUM,
    Split,
)
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
    seed_of,
)
from podium.report import Figure, Table

LOGISTIC, PAP_LOGISTIC, BINARY = "logistic regression", "pap-logistic", "LightGBM binary"
BEST, CHOSEN = "LightGBM's own best on test", "LightGBM's own best on validation"
_OVER_K = ", mean over k"

Context: TypeAlias = Callable[[int], Split]
"""Makes the split of one repeat: that of `pap-table3-movielens` for the same seed."""
Values: TypeAlias = NDArray[np.float64]
"""By split, user and cutoff, in points; nan for a user that pap is not defined on."""


def splits(recipe: Recipe, rows: Rows, item: NDArray[np.int64]) -> Context:
    """Return what splits rows and their items; it keeps the last split."""
    places = Rows(np.arange(rows.y.size)[:, None], rows.y, rows.qid)

    @lru_cache(maxsize=1)
    def split(seed: int) -> Split:
        where = [part.X[:, 0] for part in drawn(places, generator(recipe, "split", seed))]
        return Split(Parts(*map(rows.take, where)).scaled(), tuple(item[each] for each in where))

    return split


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Prepare MovieLens-100k as hiranandani2020 did."""
    (path,) = paths.values()
    return splits(recipe, *movielens.fives(path))


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: every method on every split, for all cutoffs at once; ablations last."""
    names = methods(recipe, METHODS)
    last = [name for name in names if METHODS[name].kind == ABLATION]
    first = [name for name in names if name not in last]
    seeds = range(recipe.repeats or 1)
    return [
        key(seed=seed, method=name) for some in (first, last) for seed in seeds for name in some
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Try all of a method's options on one split; for each cutoff test the best by validation.

    Returns lists with a value for each of the recipe's cutoffs: "valid" and "pap", the means;
    "user" and "gain", the test users that pap is defined on with their values; and "chosen".
    """
    asked = parts(cell)
    seed, cutoffs = int(asked["seed"]), recipe.parameters["cutoffs"]
    split = context(seed)
    start = seed_of(recipe, "start", seed)
    tried = METHODS[asked["method"]].candidates(split, recipe.parameters, start)
    best = choose(tried, split.parts.valid, cutoffs)
    test = split.parts.test
    found = [
        {
            "valid": value,
            "chosen": dict(kept.options),
            **tested(gains(kept.test, test, [k])[0], test),
        }
        for k, (value, kept) in zip(cutoffs, best, strict=True)
    ]
    return {name: [each[name] for each in found] for name in found[0]}


def choose(
    tried: Iterable[Candidate], valid: Rows, cutoffs: Sequence[int]
) -> list[tuple[float, Candidate]]:
    """Return for each cutoff the best on validation, the first of equal ones."""
    best: list[tuple[float, Candidate]] = []
    for candidate in tried:
        values = [float(np.nanmean(each)) for each in gains(candidate.valid, valid, cutoffs)]
        here = [(value, candidate) for value in values]
        pairs = zip(best or here, here, strict=True)
        best = [max(pair, key=itemgetter(0)) for pair in pairs]
    return best


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return each method's percentages, and the differences by cutoff and over them."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    names: Sequence[str] = recipe.parameters["methods"]
    found = {name: by_split(recipe, cells, method=name) for name in names}
    figures = {
        f"{name} k={k}": mean(PERCENT * each["pap"][at] for each in found[name])
        for name in names
        for at, k in enumerate(cutoffs)
    }
    values = {name: _values(found[name]) for name in names}
    own = {name: values[name] for name in names if METHODS[name].kind == OWN}
    if own:
        values[BEST] = best_on_test(own)
        values[CHOSEN] = best_on_validation(cells, own)
    times = drawn_users(recipe, values[names[0]].shape[1])
    for one, other in pairs(names):
        figures |= differences(f"{one} − {other}", values[one] - values[other], times, cutoffs)
    return figures


def _values(found: Sequence[Result]) -> Values:
    """Return one method's values, (n_splits, n_users, n_cutoffs)."""
    n_users = 1 + max(user for each in found for users in each["user"] for user in users)
    values = np.full((len(found), n_users, len(found[0]["user"])), np.nan)
    for split, each in enumerate(found):
        for at, (users, gain) in enumerate(zip(each["user"], each["gain"], strict=True)):
            values[split, users, at] = PERCENT * np.array(gain)
    return values


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return what is compared, of the methods that there are and the best of LightGBM's own."""
    trees = [name for name in names if METHODS[name].kind != LINEAR]
    ours = [name for name in trees if METHODS[name].kind == PODIUM]
    best = [BEST, CHOSEN] if any(METHODS[name].kind == OWN for name in names) else []
    compared = [
        *_OF_LINEAR,
        *itertools.product(ours, best),
        *((name, BINARY) for name in trees if name != BINARY),
        *_OF_TREES,
    ]
    return [pair for pair in compared if {*pair} <= {*names, *best}]


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


def best_on_test(own: Mapping[str, Values]) -> Values:
    """Return for each cutoff the values of the method whose mean over test users is best.

    Nobody could have chosen so; it puts what is compared with it at a disadvantage.
    """
    stacked = np.stack([*own.values()])
    best = np.nanmean(stacked, axis=2).mean(axis=1).argmax(axis=0)
    return np.stack([stacked[name, :, :, at] for at, name in enumerate(best)], axis=-1)


def best_on_validation(cells: Cells, own: Mapping[str, Values]) -> Values:
    """Return for each split and cutoff the values of the method that is best on validation."""
    stacked = np.stack([*own.values()])
    chosen = np.empty(stacked.shape[1:])
    for split in range(stacked.shape[1]):
        valid = [cells[key(seed=split, method=name)]["valid"] for name in own]
        for at, name in enumerate(np.argmax(valid, axis=0)):
            chosen[split, :, at] = stacked[name, split, :, at]
    return chosen


def drawn_users(recipe: Recipe, n_users: int) -> NDArray[np.float64]:
    """Return how often each user is in each sample of the bootstrap, (n_draws, n_users)."""
    chances = np.full(n_users, 1 / n_users)
    rng = generator(recipe, "users")
    return rng.multinomial(n_users, chances, recipe.parameters["draws"]).astype(np.float64)


def differences(
    label: str, gap: Values, times: NDArray[np.float64], cutoffs: Sequence[int]
) -> Figures:
    """Return a difference by cutoff, averaged over cutoffs, and where it is weakest and strongest.

    Each is the mean over splits of the mean over users. The same users are in all splits, so the
    bootstrap draws users, each with all of its values, and the error is how the means vary. A
    split that none of its users was drawn for counts as no difference; with tens of users that
    does not happen.
    """
    known = np.isfinite(gap)
    total, counts = (
        np.einsum("du,suk->dsk", times, each)
        for each in (np.where(known, gap, 0.0), known.astype(np.float64))
    )
    varied = (total / np.maximum(counts, 1.0)).mean(axis=1)
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
        f"{label}{_OVER_K}": over_all,
        f"{label}, least mean of all k": Measured(float(means.min()), n=int(users.min())),
        f"{label}, lowest interval of all k": min(found, key=views.low),
        f"{label}, highest interval of all k": max(found, key=views.low),
    }


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return pap against k by method, and the differences with their intervals."""
    names: Sequence[str] = recipe.parameters["methods"]
    main = [
        name
        for name in names
        if name in (LOGISTIC, PAP_LOGISTIC) or METHODS[name].kind in (OWN, PODIUM)
    ]
    compared = [
        f"{one} − {other}"
        for one, other in pairs(names)
        if (one, other) == (PAP_LOGISTIC, LOGISTIC) or other in (BEST, CHOSEN)
    ]
    by_cutoff = {f"k = {k}": f" k={k}" for k in recipe.parameters["cutoffs"]} | {"mean": _OVER_K}
    trees = {
        one.replace(" as category", ""): figures[f"{one} − {BINARY}{_OVER_K}"]
        for one, other in pairs(names)
        if other == BINARY
    }
    above = _differences(f"Trees above {BINARY}, mean over k", trees)
    return [
        levels(recipe, figures, "pap@k on test by objective", dict(zip(main, main, strict=True))),
        *(
            _differences(pair, {shown: figures[pair + end] for shown, end in by_cutoff.items()})
            for pair in compared
        ),
        *([above] if trees else []),
    ]


def _differences(title: str, found: Figures) -> Figure:
    return {
        "kind": "difference_plot",
        "title": title,
        "axis_label": "difference in pap@k (points)",
        "rows": [views.row(label, each) for label, each in found.items()],
        "digits": 2,
        "caption": "Paired by user; intervals of 95 % from a bootstrap over users.",
    }


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return pap by method and k, differences by k, users, and what was chosen."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    names: Sequence[str] = recipe.parameters["methods"]
    places = {f"k={k}": at for at, k in enumerate(cutoffs)}
    found = {name: by_split(recipe, cells, method=name) for name in names}
    users = [np.mean([len(each["user"][at]) for each in found[names[0]]]) for at in places.values()]
    return [
        views.table(
            "pap@k on test, per cent: mean over splits ± its standard error",
            "method",
            names,
            [*places],
            lambda name, column: views.level(figures[f"{name} {column}"], 2),
        ),
        views.table(
            "Differences in points, with intervals of 95 % over users",
            "difference",
            [f"{one} − {other}" for one, other in pairs(names)],
            {**{name: f" {name}" for name in places}, "mean over k": _OVER_K},
            lambda pair, end: views.gap(figures[f"{pair}{end}"], 2),
        ),
        views.table(
            "Test users that pap@k is defined on, mean over splits",
            "",
            ["users"],
            places,
            lambda _, at: f"{users[at]:.0f}",
        ),
        views.table(
            "Options chosen on validation in most splits (in how many)",
            "method",
            names,
            places,
            lambda name, at: _chosen([each["chosen"][at] for each in found[name]]),
        ),
    ]


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


_SHORT = {
    "learning_rate": "rate",
    "num_leaves": "leaves",
    "min_data_in_leaf": "rows in leaf",
    "bagging_fraction": "share of rows",
}


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""podium's objectives against logistic regression and LightGBM's own."""
