"""A comparison by pAp@k on MovieLens: podium's objectives against commonly used objectives."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.folds import Candidate
from podium_studies.hiranandani2020 import movielens
from podium_studies.hiranandani2020.objectives_methods import (
    ABLATION,
    LINEAR,
    METHODS,
    OWN,
    PODIUM,
    Split,
)
from podium_studies.hiranandani2020.splits import PERCENT, by_split, gains, levels, tested
from podium_studies.recipe import Recipe
from podium_studies.rows import Parts, Rows, drawn
from podium_studies.study import (
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

LOGISTIC, PAP_LOGISTIC, BINARY = "logistic regression", "pap-logistic", "LightGBM binary"
BEST, CHOSEN = "LightGBM's own best on test", "LightGBM's own best on validation"
_OVER_K = ", mean over k"

Context: TypeAlias = Callable[[int], Split]
"""A function that returns the split of one repeat, as `pap-table3-movielens` for the same seed."""
Values: TypeAlias = NDArray[np.float64]
"""Values by split, user and cutoff, in percentage points; nan for users with undefined pap."""


def splits(recipe: Recipe, rows: Rows, item: NDArray[np.int64]) -> Context:
    """Return a function that splits rows and their items. It caches the last split."""
    row_numbers = Rows(np.arange(rows.y.size)[:, None], rows.y, rows.qid)

    @lru_cache(maxsize=1)
    def split(seed: int) -> Split:
        parts_rows = [part.X[:, 0] for part in drawn(row_numbers, generator(recipe, "split", seed))]
        return Split(
            Parts(*map(rows.take, parts_rows)).scaled(),
            tuple(item[part_rows] for part_rows in parts_rows),
        )

    return split


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Prepare MovieLens-100k as in hiranandani2020."""
    (path,) = paths.values()
    return splits(recipe, *movielens.fives(path))


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: every method on every split, ablations last. A cell has all cutoffs."""
    names = methods(recipe, METHODS)
    ablations = [name for name in names if METHODS[name].kind == ABLATION]
    other_methods = [name for name in names if name not in ablations]
    seeds = range(recipe.repeats or 1)
    return [
        key(seed=seed, method=name)
        for stage in (other_methods, ablations)
        for seed in seeds
        for name in stage
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Fit all options of a method on one split, and test the best on validation at each cutoff.

    The result has lists with one entry per cutoff of the recipe: "valid" and "pap" are means;
    "user" and "gain" are the test users on which pap is defined and their values; "chosen" has
    the options.
    """
    fields = parts(cell)
    seed, cutoffs = int(fields["seed"]), recipe.parameters["cutoffs"]
    split = context(seed)
    start_seed = seed_of(recipe, "start", seed)
    candidates = METHODS[fields["method"]].candidates(split, recipe.parameters, start_seed)
    best_by_cutoff = choose(candidates, split.parts.valid, cutoffs)
    test = split.parts.test
    results = [
        {
            "valid": value,
            "chosen": dict(candidate.options),
            **tested(gains(candidate.test, test, [k])[0], test),
        }
        for k, (value, candidate) in zip(cutoffs, best_by_cutoff, strict=True)
    ]
    return {name: [result[name] for result in results] for name in results[0]}


def choose(
    candidates: Iterable[Candidate], valid: Rows, cutoffs: Sequence[int]
) -> list[tuple[float, Candidate]]:
    """Return the best validation value and its candidate for each cutoff, the first of ties."""
    best: list[tuple[float, Candidate]] = []
    for candidate in candidates:
        values = [
            float(np.nanmean(pap_by_user)) for pap_by_user in gains(candidate.valid, valid, cutoffs)
        ]
        challengers = [(value, candidate) for value in values]
        contests = zip(best or challengers, challengers, strict=True)
        best = [max(contest, key=itemgetter(0)) for contest in contests]
    return best


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the percentages of each method, and the differences by cutoff and over cutoffs."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    names: Sequence[str] = recipe.parameters["methods"]
    results = {name: by_split(recipe, cells, method=name) for name in names}
    figures = {
        f"{name} k={k}": mean(PERCENT * result["pap"][i] for result in results[name])
        for name in names
        for i, k in enumerate(cutoffs)
    }
    values = {name: _values(results[name]) for name in names}
    values_of_own = {name: values[name] for name in names if METHODS[name].kind == OWN}
    if values_of_own:
        values[BEST] = best_on_test(values_of_own)
        values[CHOSEN] = best_on_validation(cells, values_of_own)
    user_counts = bootstrap_counts(recipe, values[names[0]].shape[1])
    for method, baseline in pairs(names):
        figures |= differences(
            f"{method} − {baseline}", values[method] - values[baseline], user_counts, cutoffs
        )
    return figures


def _values(results: Sequence[Result]) -> Values:
    """Return the values of one method, (n_splits, n_users, n_cutoffs)."""
    n_users = 1 + max(user for result in results for users in result["user"] for user in users)
    values = np.full((len(results), n_users, len(results[0]["user"])), np.nan)
    for split, result in enumerate(results):
        for i, (users, gain) in enumerate(zip(result["user"], result["gain"], strict=True)):
            values[split, users, i] = PERCENT * np.array(gain)
    return values


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the compared pairs of the given methods and the best of LightGBM's own methods."""
    trees = [name for name in names if METHODS[name].kind != LINEAR]
    podium_trees = [name for name in trees if METHODS[name].kind == PODIUM]
    own_best = [BEST, CHOSEN] if any(METHODS[name].kind == OWN for name in names) else []
    compared = [
        *_LINEAR_PAIRS,
        *itertools.product(podium_trees, own_best),
        *((name, BINARY) for name in trees if name != BINARY),
        *_TREE_PAIRS,
    ]
    return [pair for pair in compared if {*pair} <= {*names, *own_best}]


_LINEAR_PAIRS = (
    (PAP_LOGISTIC, LOGISTIC),
    ("pap-logistic, sharper", LOGISTIC),
    ("group-logistic, linear", LOGISTIC),
    (PAP_LOGISTIC, "group-logistic, linear"),
)
_TREE_PAIRS = (
    ("group-logistic, pooled", "LightGBM lambdarank"),
    ("group-logistic, pooled", "LightGBM rank_xendcg"),
    ("group-logistic, pooled", "group-logistic, labels"),
    ("group-logistic, pooled", "LightGBM cross_entropy, pooled"),
    ("group-logistic, pooled", "LightGBM binary, item as category"),
    ("group-logistic, pooled, item as category", "group-logistic, pooled"),
    ("group-logistic, pooled, item as category", "LightGBM binary, item as category"),
)


def best_on_test(own_values: Mapping[str, Values]) -> Values:
    """Return for each cutoff the values of the method with the best mean over test users.

    This choice uses the test rows. Comparisons with it are therefore biased in its favour.
    """
    stacked = np.stack([*own_values.values()])
    best_methods = np.nanmean(stacked, axis=2).mean(axis=1).argmax(axis=0)
    return np.stack([stacked[method, :, :, i] for i, method in enumerate(best_methods)], axis=-1)


def best_on_validation(cells: Cells, own_values: Mapping[str, Values]) -> Values:
    """Return for each split and cutoff the values of the best method on validation."""
    stacked = np.stack([*own_values.values()])
    chosen = np.empty(stacked.shape[1:])
    for split in range(stacked.shape[1]):
        valid = [cells[key(seed=split, method=name)]["valid"] for name in own_values]
        for i, name in enumerate(np.argmax(valid, axis=0)):
            chosen[split, :, i] = stacked[name, split, :, i]
    return chosen


def bootstrap_counts(recipe: Recipe, n_users: int) -> NDArray[np.float64]:
    """Return the count of each user in each bootstrap sample, (n_draws, n_users)."""
    probabilities = np.full(n_users, 1 / n_users)
    rng = generator(recipe, "users")
    return rng.multinomial(n_users, probabilities, recipe.parameters["draws"]).astype(np.float64)


def differences(
    label: str, gap: Values, user_counts: NDArray[np.float64], cutoffs: Sequence[int]
) -> Figures:
    """Return a difference by cutoff, its mean over cutoffs, its least mean and extreme intervals.

    Each difference is the mean over splits of the mean over users. All splits have the same
    users. The bootstrap therefore draws users with all of their values, and the standard error is
    the standard deviation of the means over draws. If a draw contains no user of a split, the
    split counts as no difference; with tens of users this does not happen.
    """
    is_defined = np.isfinite(gap)
    total, counts = (
        np.einsum("du,suk->dsk", user_counts, value)
        for value in (np.where(is_defined, gap, 0.0), is_defined.astype(np.float64))
    )
    drawn_means = (total / np.maximum(counts, 1.0)).mean(axis=1)
    means = np.nanmean(gap, axis=1).mean(axis=0)
    users = is_defined.any(axis=0).sum(axis=0)
    by_cutoff = [
        Measured(float(means[i]), float(drawn_means[:, i].std(ddof=1)), int(users[i]))
        for i in range(len(cutoffs))
    ]
    over_all = Measured(
        float(means.mean()),
        float(drawn_means.mean(axis=1).std(ddof=1)),
        int(is_defined.any(axis=(0, 2)).sum()),
    )
    return {
        **{f"{label} k={k}": value for k, value in zip(cutoffs, by_cutoff, strict=True)},
        f"{label}{_OVER_K}": over_all,
        f"{label}, least mean of all k": Measured(float(means.min()), n=int(users.min())),
        f"{label}, lowest interval of all k": min(by_cutoff, key=views.low),
        f"{label}, highest interval of all k": max(by_cutoff, key=views.low),
    }


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return figures of pap against k by method, and of the differences with their intervals."""
    names: Sequence[str] = recipe.parameters["methods"]
    main_methods = [
        name
        for name in names
        if name in (LOGISTIC, PAP_LOGISTIC) or METHODS[name].kind in (OWN, PODIUM)
    ]
    compared = [
        f"{method} − {baseline}"
        for method, baseline in pairs(names)
        if (method, baseline) == (PAP_LOGISTIC, LOGISTIC) or baseline in (BEST, CHOSEN)
    ]
    by_cutoff = {f"k = {k}": f" k={k}" for k in recipe.parameters["cutoffs"]} | {"mean": _OVER_K}
    trees = {
        method.replace(" as category", ""): figures[f"{method} − {BINARY}{_OVER_K}"]
        for method, baseline in pairs(names)
        if baseline == BINARY
    }
    tree_figure = _differences(f"Gain of trees over {BINARY}, mean over k", trees)
    return [
        levels(
            recipe,
            figures,
            "pap@k on test by objective",
            dict(zip(main_methods, main_methods, strict=True)),
        ),
        *(
            _differences(
                pair, {label: figures[pair + suffix] for label, suffix in by_cutoff.items()}
            )
            for pair in compared
        ),
        *([tree_figure] if trees else []),
    ]


def _differences(title: str, figures: Figures) -> Figure:
    return {
        "kind": "interval_plot",
        "sides": ["", ""],
        "title": title,
        "axis_label": "difference in pap@k (percentage points)",
        "rows": [views.row(label, difference) for label, difference in figures.items()],
        "digits": 2,
        "caption": "Differences paired by user, with 95 % intervals from a bootstrap over users.",
    }


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield tables of pap by method and k, differences by k, users, and chosen options."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    names: Sequence[str] = recipe.parameters["methods"]
    columns = {f"k={k}": i for i, k in enumerate(cutoffs)}
    yield views.table(
        "pap@k on test, per cent: mean over splits ± its standard error",
        "method",
        names,
        [*columns],
        lambda name, column: views.level(figures[f"{name} {column}"], 2),
    )
    yield views.table(
        "Differences in percentage points, with 95 % intervals over users",
        "difference",
        [f"{method} − {baseline}" for method, baseline in pairs(names)],
        {**{name: f" {name}" for name in columns}, "mean over k": _OVER_K},
        lambda pair, end: views.gap(figures[f"{pair}{end}"], 2),
    )
    results = {name: by_split(recipe, cells, method=name) for name in names}
    users = [
        np.mean([len(result["user"][i]) for result in results[names[0]]]) for i in columns.values()
    ]
    yield views.table(
        "Number of test users with a defined pap@k, mean over splits",
        "",
        ["users"],
        columns,
        lambda _, i: f"{users[i]:.0f}",
    )
    yield views.table(
        "Options chosen on validation most often (number of splits)",
        "method",
        names,
        columns,
        lambda name, i: _chosen([result["chosen"][i] for result in results[name]]),
    )


def _chosen(split_options: Sequence[Mapping[str, Any]]) -> str:
    """Return the options that most splits chose, and the median number of trees, as text."""
    counts = Counter(
        ", ".join(
            f"{_SHORT.get(option, option)} {value:g}"
            for option, value in options.items()
            if option != "trees"
        )
        for options in split_options
    )
    (text, n_splits), *_ = counts.most_common(1)
    tree_counts = sorted(options["trees"] for options in split_options if "trees" in options)
    median_text = f"; median trees {tree_counts[len(tree_counts) // 2]}" if tree_counts else ""
    return f"{text} ({n_splits}){median_text}"


_SHORT = {
    "learning_rate": "rate",
    "num_leaves": "leaves",
    "min_data_in_leaf": "rows in leaf",
    "bagging_fraction": "share of rows",
}


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""podium's objectives against logistic regression and LightGBM's own objectives."""
