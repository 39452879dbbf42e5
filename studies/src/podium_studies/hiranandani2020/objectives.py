"""A comparison by pAp@k on MovieLens: podium's objectives against commonly used objectives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import losses
from podium.data import pooled_relevance
from podium.rankers import LinearRanker, LogisticRanker
from podium.rankers.boosting import lightgbm_objective
from podium.report import Table
from podium_studies import views
from podium_studies.cells import generator, mean, methods, repeats, results, seed_of, sweep
from podium_studies.folds import Candidate, Method, Options
from podium_studies.hiranandani2020 import movielens
from podium_studies.hiranandani2020.splits import NOTE, PERCENT, gains, scaled_parts, tested
from podium_studies.rows import Parts, Rows
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study

LINEAR, OWN, PODIUM, ABLATION = "linear", "LightGBM's own", "podium in LightGBM", "ablation"
"""The kinds of methods. The candidates of a method do not depend on the cutoff."""

LOGISTIC, PAP_LOGISTIC, BINARY = "logistic regression", "pap-logistic", "LightGBM binary"
BEST, CHOSEN = "LightGBM's own best on test", "LightGBM's own best on validation"
_MINUS, _OVER_K = " − ", ", mean over k"


_LOSSES: dict[str, Callable[[Options], losses.Loss]] = {
    "group-logistic, linear": lambda given: losses.GroupLogistic(),
    PAP_LOGISTIC: lambda given: losses.PApLogistic(**given["pap_logistic"]),
    "pap-logistic, sharper": lambda given: losses.PApLogistic(**given["pap_logistic_sharper"]),
}
"""The losses of linear models other than logistic regression, from the recipe's parameters."""


def _penalised(name: str, parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
    """Fit one linear model per penalty."""
    train, valid, test = parts
    for l2 in parameters["l2"][name]:
        if name == LOGISTIC:
            model = LogisticRanker(C=1.0 / (l2 * train.y.size))
        else:
            model = LinearRanker(_LOSSES[name](parameters), l2=l2, **parameters["lbfgs"])
        model.fit(train.X, train.y, train.qid)
        yield Candidate({"l2": l2}, model.predict(valid.X), model.predict(test.X))


def _boosted(
    objective: str | losses.GroupLogistic,
    parts: Parts,
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
    train, *_ = parts
    features, target, categorical = [part.X for part in parts], train.y, "auto"
    if with_item:
        categorical = [train.X.shape[1]]
        features = [np.column_stack([p.X, p.item]).astype(p.X.dtype) for p in parts]
    if pooled:
        share = parameters["pooled_share"]
        target = pooled_relevance(train.y, train.qid, train.item, share=share)
    share = float(train.y.mean())
    data = {
        "group": np.unique(train.qid, return_counts=True)[1],  # the rows are sorted by group
        "init_score": np.full(target.size, float(np.log(share / (1.0 - share)))),
        "categorical_feature": categorical,
        "params": {"verbosity": -1},
    }
    for options in parameters["trees"]:
        own = objective if isinstance(objective, str) else lightgbm_objective(objective)
        settings = {**parameters["fixed"], **options, "seed": seed, "objective": own}
        booster = library.train(settings, library.Dataset(features[0], target, **data))
        # Scores are without the constant start, which moves no order.
        scores = [np.zeros(part.shape[0]) for part in features[1:]]
        n_trees, step = booster.num_trees(), parameters["look_every"]
        for n_done in range(0, n_trees, step):
            trees = {"start_iteration": n_done, "num_iteration": step, "raw_score": True}
            scores = [
                previous + booster.predict(X, num_threads=1, **trees)
                for previous, X in zip(scores, features[1:], strict=True)
            ]
            yield Candidate({**options, "trees": min(n_done + step, n_trees)}, *scores)


def _trees(kind: str, objective: str | losses.GroupLogistic, **more: bool) -> Method:
    return Method(kind, partial(_boosted, objective, **more))


_SOFT = losses.GroupLogistic(soft=True)
METHODS: dict[str, Method] = {
    **{name: Method(LINEAR, partial(_penalised, name)) for name in (LOGISTIC, *_LOSSES)},
    BINARY: _trees(OWN, "binary"),
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

Values: TypeAlias = NDArray[np.float64]
"""Values by split, user and cutoff, in percentage points; nan for users with undefined pap."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Callable[[int], Parts]:
    """Prepare MovieLens-100k, and split it as `pap-table3-movielens` for the same seed."""
    (path,) = paths.values()
    return scaled_parts(recipe, movielens.fives(path))


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: every method on every split, ablations last. A cell has all cutoffs."""
    names = methods(recipe, METHODS)
    for is_last in (False, True):
        stage = [name for name in names if (METHODS[name].kind == ABLATION) == is_last]
        yield from sweep(seed=repeats(recipe), method=stage)


def run(recipe: Recipe, context: Callable[[int], Parts], seed: int, method: str) -> Result:
    """Fit all options of a method on one split, and test the best on validation at each cutoff.

    The result has lists with one entry per cutoff of the recipe: "valid" and "pap" are means;
    "user" and "gain" are the test users on which pap is defined and their values; "chosen" has
    the options.
    """
    cutoffs, parts = recipe.parameters["cutoffs"], context(seed)
    start_seed = seed_of(recipe, "start", seed)
    candidates = METHODS[method].candidates(parts, recipe.parameters, start_seed)
    found: list[dict[str, Any]] = []
    for k, (value, best) in zip(cutoffs, choose(candidates, parts.valid, cutoffs), strict=True):
        (gain,) = gains(best.test, parts.test, [k])
        found.append({"valid": value, "chosen": dict(best.options), **tested(gain, parts.test)})
    return {name: [result[name] for result in found] for name in found[0]}


def choose(
    candidates: Iterable[Candidate], valid: Rows, cutoffs: Sequence[int]
) -> list[tuple[float, Candidate]]:
    """Return the best validation value and its candidate for each cutoff, the first of ties."""
    best: list[tuple[float, Candidate]] = []
    for candidate in candidates:
        by_cutoff = gains(candidate.valid, valid, cutoffs)
        challengers = [(float(np.nanmean(by_user)), candidate) for by_user in by_cutoff]
        contests = zip(best or challengers, challengers, strict=True)
        best = [max(contest, key=itemgetter(0)) for contest in contests]
    return best


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the percentages of each method, and the differences by cutoff and over cutoffs."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    by_method = {name: results(cells, method=name) for name in recipe.parameters["methods"]}
    figures = {
        f"{name} k={k}": mean(PERCENT * result["pap"][i] for result in found)
        for name, found in by_method.items()
        for i, k in enumerate(cutoffs)
    }
    first = next(iter(by_method.values()))
    for i, k in enumerate(cutoffs):
        figures[f"test users k={k}"] = mean(len(result["user"][i]) for result in first)
    values = {name: _values(found) for name, found in by_method.items()}
    own = {name: found for name, found in by_method.items() if METHODS[name].kind == OWN}
    if own:
        valid = np.array([[result["valid"] for result in found] for found in own.values()])
        stacked = np.stack([values[name] for name in own])
        values[BEST], values[CHOSEN] = best_values(stacked, valid)
    user_counts = bootstrap_counts(recipe, next(iter(values.values())).shape[1])
    for label in compared(recipe):
        method, baseline = label.split(_MINUS)
        figures |= differences(label, values[method] - values[baseline], user_counts, cutoffs)
    return figures


def _values(results: Sequence[Result]) -> Values:
    """Return the values of one method, (n_splits, n_users, n_cutoffs)."""
    n_users = 1 + max(user for result in results for users in result["user"] for user in users)
    values = np.full((len(results), n_users, len(results[0]["user"])), np.nan)
    for split, result in enumerate(results):
        for i, (users, gain) in enumerate(zip(result["user"], result["gain"], strict=True)):
            values[split, users, i] = PERCENT * np.array(gain)
    return values


def compared(recipe: Recipe) -> list[str]:
    """Return the recipe's comparisons of its methods, and of the best of LightGBM's own methods."""
    names = recipe.parameters["methods"]
    best = {BEST, CHOSEN} if any(METHODS[name].kind == OWN for name in names) else set[str]()
    labels = recipe.parameters["compared"]
    return [label for label in labels if {*label.split(_MINUS)} <= {*names, *best}]


def best_values(values: Values, valid: Values) -> tuple[Values, ...]:
    """Return the values of the best method on test by cutoff, and on validation also by split.

    The first choice uses the test rows. Comparisons with it are therefore biased in its favour.
    The methods are the first axis of the values and of `valid`, (n_methods, n_splits, n_cutoffs).
    """
    on_test = np.nanmean(values, axis=2).mean(axis=1).argmax(axis=0)[np.newaxis]
    choices = (on_test, valid.argmax(axis=0))
    return tuple(np.take_along_axis(values, c[None, :, None, :], axis=0)[0] for c in choices)


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
    total = np.einsum("du,suk->dsk", user_counts, np.where(is_defined, gap, 0.0))
    counts = np.einsum("du,suk->dsk", user_counts, is_defined.astype(np.float64))
    drawn_means = (total / np.maximum(counts, 1.0)).mean(axis=1)
    means = np.nanmean(gap, axis=1).mean(axis=0)
    users = is_defined.any(axis=0).sum(axis=0)
    columns = (means.tolist(), drawn_means.std(axis=0, ddof=1).tolist(), users.tolist())
    by_cutoff = [Measured(*column) for column in zip(*columns, strict=True)]
    error_over_all = float(drawn_means.mean(axis=1).std(ddof=1))
    n_over_all = int(is_defined.any(axis=(0, 2)).sum())
    return {
        **{f"{label} k={k}": value for k, value in zip(cutoffs, by_cutoff, strict=True)},
        f"{label}{_OVER_K}": Measured(float(means.mean()), error_over_all, n_over_all),
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
    labels = compared(recipe)
    ends = {**{name: f" {name}" for name in columns}, "mean over k": _OVER_K}
    title = "Differences in percentage points, with 95 % intervals over users"
    gaps = Grid(title, labels, ends, "{}{}", text="gap", digits=2, head="difference")
    yield gaps
    title = "Number of test users with a defined pap@k, mean over splits"
    yield Grid(title, ["test users"], columns, "{} k={}", text="value", digits=0, head="")
    kinds = (OWN, PODIUM)
    main = [n for n in names if n in (LOGISTIC, PAP_LOGISTIC) or METHODS[n].kind in kinds]
    title, axis = "pap@k on test by objective", "k: pap@k (%)"
    yield Grid(title, main, cutoffs, "{} k={}", text="", plot="lines", axis=axis, note=NOTE)
    axis, note = "difference in pap@k (percentage points)", "95 % intervals from a bootstrap."
    plot = replace(gaps, text="", plot="intervals", axis=axis, note=note)
    main = f"{PAP_LOGISTIC}{_MINUS}{LOGISTIC}"
    rows = [label for label in labels if label == main or label.endswith((BEST, CHOSEN))]
    yield replace(plot, title="Differences, paired by user", rows=rows)
    trees = [label for label in labels if label.endswith(f"{_MINUS}{BINARY}")]
    title = f"Gain of trees over {BINARY}, mean over k"
    yield replace(plot, title=title, rows=trees, columns={"mean over k": _OVER_K})
    by_method = {name: results(cells, method=name) for name in names}
    chosen = {
        f"{name} k={k}": [result["chosen"][i] for result in found]
        for name, found in by_method.items()
        for i, k in enumerate(cutoffs)
    }
    yield views.chosen("Splits", chosen)


STUDY = Study(cells, run, fold, prepare, shown)
"""podium's objectives against logistic regression and LightGBM's own objectives."""
