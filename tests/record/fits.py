"""Fits of every ranker and recommender on data drawn from a seed: parameters and scores."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from tests.record import names
from tests.record.scores import of_package
from tests.record.text import attempt, bits

Entries = Iterator[tuple[str, list[str]]]

N_ROWS, N_USERS, N_ITEMS = 240, 60, 40
OWN = {
    "lightgbm": ("lambdarank", "binary", "rank_xendcg"),
    "xgboost": ("rank:ndcg", "rank:pairwise", "binary:logistic"),
}
NEURAL = ("logistic", "pap-ramp@3", "pap-logistic", "listmle", "robirank", "softmax")
FITTED = (
    *("coef_", "intercept_", "objective_", "n_iter_", "stop_reason_", "best_iteration_"),
    *("history_", "n_trees_", "weights_", "thresholds_", "features_"),
)


def problem(seed: int = 0) -> tuple[Any, Any, Any]:
    """Return rows of 12 groups; their four grades depend on a linear function of X and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + 0.5 * rng.standard_normal(N_ROWS)
    return X, np.digitize(utility, [0.5, 1.2, 2.0]).astype(float), np.arange(N_ROWS) // 20


def rankers() -> Entries:
    """Yield podium's rankers: each loss, options of each model, and logistic regressions."""
    kinds = names.rankers
    yield from with_losses("podium")
    for case in _LINEAR:
        yield fit(kinds.LinearRanker, {"loss": "pap-avg@3", "max_iter": 12, **case})
    for loss in NEURAL if is_there("torch") else ():
        options = {"loss": loss, "hidden": 5, "max_iter": 3, "batch_size": 4}
        yield fit(kinds.NeuralRanker, options, validate=True)
    for package, kind in _boosted():
        for loss in (None, *OWN[package]):
            yield fit(kind, {"loss": loss, **_FEW_TREES})
        for case in _TREES:
            options = {"loss": "group-logistic", "n_trees": 6, "n_leaves": 5, **case}
            yield fit(kind, options, validate=True)
    yield fit(kinds.LogisticRanker, {})
    yield fit(kinds.LogisticRanker, {"C": 0.1, "fit_intercept": False})


def with_losses(package: str) -> Entries:
    """Yield linear rankers by solver, and trees, with each loss that a package registers."""
    kinds = names.rankers
    for loss in [_with_cutoff(name) for name in of_package(package)]:
        for solver in sorted(kinds.SOLVERS):
            options = {"loss": loss, "solver": solver, "max_iter": 12, "l2": 0.01}
            yield fit(kinds.LinearRanker, options)
        yield fit(kinds.LinearRanker, {"loss": loss, "max_iter": 12}, validate=True)
        for booster, kind in _boosted():
            if loss not in OWN[booster]:
                yield fit(kind, {"loss": loss, **_FEW_TREES})


def _boosted() -> list[tuple[str, Any]]:
    kinds = {"lightgbm": names.rankers.LightGBMRanker, "xgboost": names.rankers.XGBoostRanker}
    return [(package, kind) for package, kind in kinds.items() if is_there(package)]


_FEW_TREES = {"n_trees": 4, "n_leaves": 5, "n_threads": 1}
_LINEAR: tuple[dict[str, Any], ...] = (
    {"start": "normal", "random_state": 3},
    {"start": "logistic", "keep": "last"},
    {"keep": "best_loss"},
    {"fit_intercept": False, "learning_rate": 0.1},
)
_TREES: tuple[dict[str, Any], ...] = (
    {"n_threads": 2},
    {"row_share": 0.5, "feature_share": 0.5, "random_state": 4, "n_threads": 1},
    {"start": "logistic", "n_threads": 1},
)


def _with_cutoff(name: str) -> str:
    needs_one = attempt(lambda: [str(names.losses.get(name))])[0].startswith("ArgumentError")
    return f"{name}@3" if needs_one else name


def is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def fit(kind: Any, parameters: dict[str, Any], *, validate: bool = False) -> tuple[str, list[str]]:
    parameters_text = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    title = f"{kind.__name__}({parameters_text}){' with rows to validate on' if validate else ''}"

    def lines() -> list[str]:
        X, y, qid = problem()
        fit_options = {"eval_set": problem(1)} if validate else {}
        model = kind(**parameters).fit(X, y, qid, **fit_options)
        return [*_attributes(model), bits("scores", model.predict(problem(2)[0]))]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return title, attempt(lines)


def _attributes(model: Any) -> list[str]:
    rows: list[str] = []
    for name in FITTED:
        value = getattr(model, name, None)
        if isinstance(value, dict):
            rows += [bits(f"{name} {part}", entry) for part, entry in value.items()]
        elif isinstance(value, (str, int)):
            rows.append(f"{name}: {value}")
        elif value is not None:
            rows.append(bits(name, value))
    return rows


def recommenders() -> Entries:
    """Yield every recommender: the best items of each user, and the ranks of held-out items."""
    for loss in ("robirank", "type2", "identity", "bpr"):
        for n_threads in (1, 2):
            for options in ({}, {"n_blocks": 3}):
                yield _factors({"loss": loss, **options}, n_threads)
    for options in _FACTORS:
        yield _factors(options, 1)
    yield "partial_fit, fold_in and the like", attempt(_later)
    kinds = names.recommenders
    yield recommended("Popularity", kinds.Popularity())
    for k in (5, 150):
        yield recommended(f"ItemKNN k={k}", kinds.ItemKNN(k=k))
    for precision in ("double", "single"):
        yield recommended(f"EASE {precision}", kinds.EASE(l2=20.0, precision=precision))


_FACTORS: tuple[dict[str, Any], ...] = (
    {"decay": "none", "xi_rate": 0.2},
    {"negatives": "unseen", "n_negatives": 3},
    {"item_bias": False, "gain": "log"},
    {"gain": "one", "random_state": 5, "l2": 0.1},
)


def likes() -> Any:
    """Return pairs of two tastes with values 1 to 3; one user and one item have no pair."""
    rng = np.random.default_rng(0)
    same = (np.arange(N_USERS)[:, None] + np.arange(N_ITEMS)) % 2 == 0
    popular = np.linspace(0.05, 0.8, N_ITEMS)
    pairs = (rng.random(same.shape) < popular * np.where(same, 1.0, 0.1)).astype(float)
    pairs[7], pairs[:, 11] = 0.0, 0.0
    return sparse.csr_array(pairs * rng.integers(1, 4, same.shape))


def _factors(parameters: dict[str, Any], n_threads: int) -> tuple[str, list[str]]:
    options = {"n_factors": 4, "n_epochs": 3, **parameters}

    def lines() -> list[str]:
        model = names.Factorization(**options).fit(likes(), executor=names.Threads(n_threads))
        return [*_learned(model), *_best(model)]

    return f"RoBiRank {options} in {n_threads} threads", attempt(lines)


def _learned(model: Any) -> list[str]:
    names_of_arrays = ("user_factors_", "item_factors_", "item_bias_")
    rows = [bits(name, getattr(model, name)) for name in names_of_arrays]
    rows += [bits(f"history {name}", value) for name, value in model.history_.items()]
    return [row for row in rows if "seconds" not in row]


def _best(model: Any) -> list[str]:
    rows: list[str] = []
    for exclude in (True, False):
        items, scores = model.recommend(k=6, exclude_seen=exclude)
        rows += [bits("items", items), bits("scores", scores)]
    items, _ = model.recommend(users=[3, 1], k=4, allow=np.arange(20), deny=[2, 4])
    users = np.arange(N_USERS)
    held_out = sparse.csr_array((np.ones(N_USERS), (users, 39 - users % 2)), (N_USERS, N_ITEMS))
    ranks = model.ranks(held_out, exclude_seen=False)
    return [*rows, bits("allowed", items), bits("ranks", ranks)]


def _later() -> list[str]:
    pairs = likes()
    model = names.Factorization(4, n_epochs=6, patience=2).fit(pairs, eval_set=likes()[:, ::-1])
    rows = [*_learned(model), bits("fold_in", model.fold_in(pairs[:5]))]
    for name, result in (
        ("recommend_new", model.recommend_new(pairs[:5], k=3)),
        ("similar_items", model.similar_items([0, 5], k=3)),
    ):
        rows += [bits(name, array) for array in result]
    model.partial_fit(sparse.csr_array(np.roll(pairs.toarray(), 1, axis=1)), n_epochs=2)
    return [*rows, *_learned(model)]


def recommended(title: str, model: Any) -> tuple[str, list[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return title, attempt(lambda: _best(model.fit(likes())))
