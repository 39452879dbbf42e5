"""Laws of every registered ranker: weights, ids of groups, files, and the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from podium import losses
from podium.errors import MissingExtraError
from podium.rankers import REGISTRY, LightGBMRanker, XGBoostRanker, load, save
from podium.rankers.estimator import LinearScores

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")

QUICK = {"max_iter": 5, "n_trees": 3, "n_rounds": 3, "n_threads": 1, "pool_share": 0.0}
"""Parameters for a quick fit, for the rankers that have them."""

DRAWS_GROUPS = ("greedy-pap",)
"""Rankers that learn two models on random halves of the groups, in the order of their ids."""

BY_HESSIAN_ALONE: dict[str, Any] = {
    "min_rows_in_leaf": 1,
    "min_hessian_in_leaf": 4.0,
    "options": {"min_data_in_leaf": 0, "min_data_in_bin": 1},
}
"""Settings under which LightGBM counts no rows, if features have few values."""

ALL_COPIES: dict[str, dict[str, Any]] = {
    "neural": {"batch_size": 1000},  # else copies are spread over more steps
    "lightgbm": BY_HESSIAN_ALONE,
}
"""Parameters with which a weight is as many copies; other rankers need none."""

LOSSES = [
    f"{name}@3" if "k" in {field.name for field in dataclasses.fields(cast("Any", cls))} else name
    for name, cls in losses.REGISTRY.items()
]
UNDRAWN = [name for name in LOSSES if not losses.get(name).draws]


def make(name: str, **params: Any) -> Any:
    names = REGISTRY[name]().get_params(deep=False)
    quick = {key: value for key, value in QUICK.items() if key in names}
    return REGISTRY[name](**{**quick, **params})


def fit(ranker: Any, rows: Any, **weights: Any) -> Any:
    try:
        return ranker.fit(*rows, **weights)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of 12 groups, whose features are integers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 5)).round()
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3, 0.0]) + 0.3 * rng.standard_normal(240)
    return X, (utility > 0.8).astype(float), rng.integers(0, 12, 240)


WEIGHTS = np.random.default_rng(1).integers(1, 4, 12)


def copied(rows: Any) -> Any:
    """Return each group as often as its weight says, each copy with an id of its own."""
    X, y, qid = rows
    parts = [(g, copy) for g, weight in enumerate(WEIGHTS) for copy in range(weight)]
    chosen = [np.flatnonzero(qid == g) for g, _ in parts]
    ids = np.repeat(np.arange(len(parts)), [rows.size for rows in chosen])
    order = np.concatenate(chosen)
    return X[order], y[order], ids


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in DRAWS_GROUPS])
def test_weight_of_a_group_is_as_many_copies(name: str) -> None:
    rows = problem()
    ranker = make(name, **ALL_COPIES.get(name, {}))
    plain = fit(ranker, rows).predict(rows[0])
    weighted = fit(ranker, rows, sample_weight=WEIGHTS).predict(rows[0])
    by_row = fit(ranker, rows, sample_weight=WEIGHTS[rows[2]]).predict(rows[0])
    copies = fit(ranker, copied(rows)).predict(rows[0])
    np.testing.assert_array_equal(by_row, weighted)
    np.testing.assert_allclose(weighted, copies, rtol=1e-6, atol=1e-6)
    assert not np.allclose(weighted, plain, rtol=1e-3)


@pytest.mark.parametrize("loss", [*UNDRAWN, "binary:logistic"])
def test_weight_is_as_many_copies_for_trees_of_each_loss(loss: str) -> None:
    rows = problem()
    ranker = XGBoostRanker(loss, n_trees=3, n_leaves=8, n_threads=1)
    weighted = fit(ranker, rows, sample_weight=WEIGHTS).predict(rows[0])
    copies = fit(ranker, copied(rows)).predict(rows[0])
    np.testing.assert_allclose(weighted, copies, rtol=1e-5, atol=1e-6)
    assert np.unique(weighted).size > 1


def test_limit_of_rows_in_lightgbms_leaves_does_not_read_weights() -> None:
    """20 rows of weight 2 are 20 rows, and their copies are 40: only these have two leaves."""
    X, y, qid = np.repeat([0.0, 1.0], 10)[:, None], np.repeat([0.0, 1.0], 10), np.zeros(20, int)
    ranker = LightGBMRanker("logistic", n_trees=1, min_rows_in_leaf=20, n_threads=1)
    weighted = fit(ranker, (X, y, qid), sample_weight=np.full(20, 2.0)).predict(X)
    copies = fit(ranker, [np.concatenate([rows, rows]) for rows in (X, y, qid)]).predict(X)
    assert np.unique(weighted).size == 1
    assert np.unique(copies).size == 2


@pytest.mark.parametrize("name", REGISTRY)
def test_text_ids_of_groups_are_integer_ids(name: str) -> None:
    X, y, qid = problem()
    by_number = fit(make(name), (X, y, qid)).predict(X)
    for kind in (str, object):
        texts = np.array([f"user {q:02}" for q in qid], kind)
        np.testing.assert_array_equal(fit(make(name), (X, y, texts)).predict(X), by_number)


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in DRAWS_GROUPS])
def test_other_ids_of_groups_change_no_ranker(name: str) -> None:
    """The ids of the groups have another order too. Networks take the groups at once here."""
    X, y, qid = problem()
    ranker = make(name, **ALL_COPIES.get(name, {}))
    scores = fit(ranker, (X, y, qid)).predict(X)
    for ids in (np.array([f"{9 - q % 10}{q}" for q in qid]), -7 * qid, (5 * qid) % 12 + 2**40):
        renamed = fit(clone(ranker), (X, y, ids)).predict(X)
        np.testing.assert_allclose(renamed, scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", REGISTRY)
def test_saved_and_loaded_ranker_gives_the_same_scores(name: str, tmp_path: Path) -> None:
    X, y, qid = problem()
    ranker = fit(make(name), (X, y, qid), sample_weight=WEIGHTS)
    save(ranker, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is type(ranker)
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert again.score(X, y, qid) == ranker.score(X, y, qid)


@pytest.mark.parametrize("name", REGISTRY)
def test_command_line_is_python(
    name: str, podium: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    X, y, qid = problem()
    columns = {f"feature {j}": X[:, j] for j in range(X.shape[1])}
    ids = {"user": qid, "item": np.arange(y.size), "label": y.astype(int)}
    pl.DataFrame({**ids, **columns}).write_csv("rows.csv")
    ranker = make(name)
    scores = fit(ranker, (X, y, qid)).predict(X)
    words = ["--set", "standardize=false"] if isinstance(ranker, LinearScores) else []
    for key, value in QUICK.items():
        if key in ranker.get_params(deep=False):
            words += ["--set", f"{key}={value}"]
    assert podium("train", "rows.csv", "--model", name, *words, "--out", "model").status == 0
    assert podium("rank", "model", "rows.csv", "--out", "run.parquet").status == 0
    run = pl.read_parquet("run.parquet").sort("item")
    np.testing.assert_array_equal(run["score"].to_numpy(), scores)
