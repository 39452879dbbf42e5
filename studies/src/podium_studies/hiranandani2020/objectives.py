"""A comparison by pAp@k on MovieLens: podium's objectives against commonly used objectives."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import losses
from podium.data import pooled_relevance
from podium.errors import ArgumentError
from podium.rankers import LinearRanker, LogisticRanker
from podium.rankers.boosting import lightgbm_objective
from podium.report import Table
from podium_studies import views
from podium_studies.cells import generator, key, mean, methods, repeats, seed_of, sweep
from podium_studies.folds import Candidate
from podium_studies.hiranandani2020 import movielens
from podium_studies.hiranandani2020.splits import NOTE, PERCENT, by_split, gains, tested
from podium_studies.recipe import Recipe
from podium_studies.rows import Parts, Rows, drawn
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study

Options: TypeAlias = Mapping[str, Any]

LINEAR, OWN, PODIUM, ABLATION = "linear", "LightGBM's own", "podium in LightGBM", "ablation"


@dataclass(frozen=True, eq=False)
class Split:
    """The scaled rows of one split, and the items of the training, validation and test rows."""

    parts: Parts
    items: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True)
class Method:
    """An objective with its model.

    Attributes
    ----------
    kind : str
        LINEAR, OWN, PODIUM or ABLATION.
    candidates : (split, parameters, seed) -> iterator of Candidate
        The fitted candidates, which do not depend on the cutoff.
    """

    kind: str
    candidates: Callable[[Split, Options, int], Iterator[Candidate]]


def _penalised(name: str, split: Split, parameters: Options, seed: int) -> Iterator[Candidate]:
    """Fit one linear model per penalty."""
    train, valid, test = split.parts
    for l2 in parameters["l2"][name]:
        model = _LINEAR[name](parameters, l2, train.y.size).fit(train.X, train.y, train.qid)
        yield Candidate({"l2": l2}, model.predict(valid.X), model.predict(test.X))


def _logistic(parameters: Options, l2: float, n_rows: int) -> LogisticRanker:
    """Return scikit-learn's logistic regression, with l2 converted to its C."""
    return LogisticRanker(C=1.0 / (l2 * n_rows))


def _group_logistic(parameters: Options, l2: float, n_rows: int) -> LinearRanker:
    return LinearRanker(losses.GroupLogistic(), l2=l2, **parameters["lbfgs"])


def _pap_logistic(constants: str, parameters: Options, l2: float, n_rows: int) -> LinearRanker:
    loss = losses.PApLogistic(**parameters[constants])
    return LinearRanker(loss, l2=l2, **parameters["lbfgs"])


_LINEAR: dict[str, Callable[[Options, float, int], Any]] = {
    "logistic regression": _logistic,
    "group-logistic, linear": _group_logistic,
    "pap-logistic": partial(_pap_logistic, "pap_logistic"),
    "pap-logistic, sharper": partial(_pap_logistic, "pap_logistic_sharper"),
}
"""Functions that make a linear model from the recipe's parameters, l2 and the number of rows."""


def _boosted(
    objective: str | losses.GroupLogistic,
    split: Split,
    parameters: Options,
    seed: int,
    *,
    pooled: bool = False,
    with_item: bool = False,
) -> Iterator[Candidate]:
    """Train LightGBM with each configuration, and yield a candidate every few trees.

    Objectives differ only in the argument `objective`.
    """
    library = import_module("lightgbm")
    train, *_ = split.parts
    features, target, categorical_features = [part.X for part in split.parts], train.y, "auto"
    if with_item:
        categorical_features = [train.X.shape[1]]
        pairs = zip(features, split.items, strict=True)
        features = [np.column_stack([X, item]).astype(X.dtype) for X, item in pairs]
    if pooled:
        share = parameters["pooled_share"]
        target = pooled_relevance(train.y, train.qid, split.items[0], share=share)
    _, starts, sizes = np.unique(train.qid, return_index=True, return_counts=True)
    if not np.array_equal(starts, np.cumsum(sizes) - sizes):
        raise ArgumentError(
            "qid must be sorted, because LightGBM reads sizes of groups. Sort the rows by qid."
        )
    positive_share = float(train.y.mean())
    log_odds = float(np.log(positive_share / (1.0 - positive_share)))
    for options in parameters["trees"]:
        dataset = library.Dataset(
            features[0],
            target,
            group=sizes,
            init_score=np.full(target.size, log_odds),
            categorical_feature=categorical_features,
            params={"verbosity": -1},
        )
        objective_argument = (
            objective if isinstance(objective, str) else lightgbm_objective(objective)
        )
        fixed = {**parameters["fixed"], **options, "seed": seed, "objective": objective_argument}
        yield from _stages(
            library.train(fixed, dataset), features[1:], parameters["look_every"], options
        )


def _stages(
    booster: Any, features: Sequence[NDArray[Any]], n_trees_per_stage: int, options: Options
) -> Iterator[Candidate]:
    """Yield the scores after every few trees, without the constant start, which moves no order."""
    scores = [np.zeros(part.shape[0]) for part in features]
    for n_done in range(0, booster.num_trees(), n_trees_per_stage):
        part = {"start_iteration": n_done, "num_iteration": n_trees_per_stage, "raw_score": True}
        scores = [
            previous + booster.predict(X, num_threads=1, **part)
            for previous, X in zip(scores, features, strict=True)
        ]
        n_trees = min(n_done + n_trees_per_stage, booster.num_trees())
        yield Candidate({**options, "trees": n_trees}, *scores)


def _trees(kind: str, objective: str | losses.GroupLogistic, **more: bool) -> Method:
    return Method(kind, partial(_boosted, objective, **more))


_SOFT = losses.GroupLogistic(soft=True)
METHODS: dict[str, Method] = {
    **{name: Method(LINEAR, partial(_penalised, name)) for name in _LINEAR},
    "LightGBM binary": _trees(OWN, "binary"),
    "LightGBM lambdarank": _trees(OWN, "lambdarank"),
    "LightGBM rank_xendcg": _trees(OWN, "rank_xendcg"),
    "group-logistic, pooled": _trees(PODIUM, _SOFT, pooled=True),
    "group-logistic, labels": _trees(ABLATION, losses.GroupLogistic()),
    "LightGBM cross_entropy, pooled": _trees(ABLATION, "cross_entropy", pooled=True),
    "LightGBM binary, item as category": _trees(ABLATION, "binary", with_item=True),
    "group-logistic, pooled, item as category": _trees(
        ABLATION, _SOFT, pooled=True, with_item=True
    ),
}
"""Every method by its name in tables."""


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


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: every method on every split, ablations last. A cell has all cutoffs."""
    names = methods(recipe, METHODS)
    ablations = [name for name in names if METHODS[name].kind == ABLATION]
    for stage in ([name for name in names if name not in ablations], ablations):
        yield from sweep(seed=repeats(recipe), method=stage)


def run(recipe: Recipe, context: Context, seed: int, method: str) -> Result:
    """Fit all options of a method on one split, and test the best on validation at each cutoff.

    The result has lists with one entry per cutoff of the recipe: "valid" and "pap" are means;
    "user" and "gain" are the test users on which pap is defined and their values; "chosen" has
    the options.
    """
    cutoffs = recipe.parameters["cutoffs"]
    split = context(seed)
    start_seed = seed_of(recipe, "start", seed)
    candidates = METHODS[method].candidates(split, recipe.parameters, start_seed)
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
    for i, k in enumerate(cutoffs):
        n_users = (len(result["user"][i]) for result in results[names[0]])
        figures[f"test users k={k}"] = mean(n_users)
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


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield pap and the differences by method and k, numbers of users, and chosen options."""
    names, cutoffs = recipe.parameters["methods"], recipe.parameters["cutoffs"]
    columns = {f"k={k}": k for k in cutoffs}
    title = "pap@k on test, per cent: mean over splits ± its standard error"
    yield Grid(title, names, columns, "{} k={}", digits=2)
    compared = [f"{method} − {baseline}" for method, baseline in pairs(names)]
    ends = {**{name: f" {name}" for name in columns}, "mean over k": _OVER_K}
    title = "Differences in percentage points, with 95 % intervals over users"
    gaps = Grid(title, compared, ends, "{}{}", text="gap", digits=2, head="difference")
    yield gaps
    title = "Number of test users with a defined pap@k, mean over splits"
    yield Grid(title, ["test users"], columns, "{} k={}", text="value", digits=0, head="")
    kinds = (OWN, PODIUM)
    main = [n for n in names if n in (LOGISTIC, PAP_LOGISTIC) or METHODS[n].kind in kinds]
    title, axis = "pap@k on test by objective", "k: pap@k (%)"
    yield Grid(title, main, cutoffs, "{} k={}", text="", plot="lines", axis=axis, note=NOTE)
    axis, note = "difference in pap@k (percentage points)", "95 % intervals from a bootstrap."
    shown_pairs = [
        f"{method} − {baseline}"
        for method, baseline in pairs(names)
        if (method, baseline) == (PAP_LOGISTIC, LOGISTIC) or baseline in (BEST, CHOSEN)
    ]
    plot = replace(gaps, text="", plot="intervals", axis=axis, note=note)
    yield replace(plot, title="Differences, paired by user", rows=shown_pairs)
    trees = [label for label in compared if label.endswith(f" − {BINARY}")]
    title = f"Gain of trees over {BINARY}, mean over k"
    yield replace(plot, title=title, rows=trees, columns={"mean over k": _OVER_K})
    yield views.table(
        "Options chosen on validation most often (number of splits)",
        "method",
        names,
        {name: i for i, name in enumerate(columns)},
        lambda name, i: _chosen([r["chosen"][i] for r in by_split(recipe, cells, method=name)]),
    )


def _chosen(split_options: Sequence[Mapping[str, Any]]) -> str:
    """Return the options that most splits chose, and the median number of trees, as text."""
    counts = Counter(
        views.listed({name: value for name, value in options.items() if name != "trees"})
        for options in split_options
    )
    (text, n_splits), *_ = counts.most_common(1)
    tree_counts = sorted(options["trees"] for options in split_options if "trees" in options)
    median_text = f"; median trees {tree_counts[len(tree_counts) // 2]}" if tree_counts else ""
    return f"{text} ({n_splits}){median_text}"


STUDY = Study(cells, run, fold, prepare, shown)
"""podium's objectives against logistic regression and LightGBM's own objectives."""
