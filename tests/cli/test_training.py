"""train, rank and measure after each other, as somebody would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cli.conftest import as_csv

from podium import data
from podium.rankers import LinearRanker, load
from podium.tuning import fitting

LOSS = ("--loss", "pap-avg", "-k", "2", "--out", "model")


@pytest.fixture
def rows(learnable: Callable[[int], str]) -> None:
    """Write train.csv and test.csv."""
    for seed, name in enumerate(("train", "test")):
        Path(f"{name}.csv").write_text(as_csv(learnable(seed)))


@pytest.mark.usefixtures("rows")
def test_model_is_that_of_the_library(podium: Callable[..., Any]) -> None:
    options = ("--set", "l2=0.01", "--set", "learning_rate=0.2", "--set", "max_iter=30")
    options += ("--set", "tol=0", "--set", "standardize=false")
    done = podium("train", "train.csv", *LOSS, *options)
    assert "podium: warning: stopped at --set max_iter=30, before it converged" in done.err
    assert "Raise --set max_iter or --set tol, " in done.err
    rows = data.read_features("train.csv")
    model = LinearRanker("pap-avg@2", l2=0.01, learning_rate=0.2, max_iter=30, tol=0.0)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(rows.X, rows.y, rows.qid)
    assert np.array_equal(load("model").coef_, model.coef_)


@pytest.mark.usefixtures("rows")
def test_scaled_model_is_the_pipeline_with_coefficients_brought_back(
    podium: Callable[..., Any],
) -> None:
    frame = pl.read_csv("train.csv").with_columns(pl.col("first") * 1e4 + 5e5)
    frame.write_csv("wide.csv")
    assert podium("train", "wide.csv", *LOSS, "--set", "l2=0.1").status == 0
    rows = data.read_features("wide.csv")
    pipeline = make_pipeline(StandardScaler(), LinearRanker("pap-avg@2", l2=0.1))
    fitting.fit(pipeline, rows.X, rows.y, rows.qid)
    model = load("model")
    scores = rows.X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(scores, pipeline.predict(rows.X), atol=1e-9)


@pytest.mark.usefixtures("rows")
def test_validation_chooses_the_iterate(podium: Callable[..., Any]) -> None:
    options = ("--valid", "test.csv", "--eval-metric", "ndcg@3", "--set", "patience=5")
    done = podium("train", "train.csv", *LOSS, *options, "--set", "tol=0")
    assert done.status == 0
    model = load("model")
    assert model.eval_metric == "ndcg@3"
    assert model.stop_reason_ == "patience"
    assert "(patience)" in done.err
    best = model.history_["validation"].max()
    assert f"ndcg@3 on test.csv {best:.4f}" in done.err
    assert podium("rank", "model", "test.csv", "-o", "run.csv").status == 0
    found = podium("measure", "test.csv", "run.csv", "-m", "ndcg@3", "--format", "json")
    assert json.loads(found.out)["measures"]["ndcg@3"]["mean"] == pytest.approx(best, abs=1e-12)


@pytest.mark.usefixtures("rows")
def test_features_are_chosen_by_name_and_kept_in_the_model(podium: Callable[..., Any]) -> None:
    assert podium("train", "train.csv", *LOSS, "--features", "third, first").status == 0
    assert list(load("model").feature_names_in_) == ["third", "first"]
    assert podium("train", "train.csv", *LOSS, "--ignore", "second").status == 0
    assert list(load("model").feature_names_in_) == ["first", "third"]
    whole = podium("rank", "model", "test.csv")
    frame = pl.read_csv("test.csv").select("third", "user", "first", "item")
    frame.write_csv("shuffled.csv")
    assert podium("rank", "model", "shuffled.csv") == whole


def test_option_that_train_lacks_is_shown_as_a_parameter(podium: Callable[..., Any]) -> None:
    done = podium("train", "train.csv", "--max-iter", "3", "-o", "model")
    assert done.status == 2
    assert "passed as --set max_iter=VALUE." in done.err
