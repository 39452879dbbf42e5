"""train, rank and measure after each other, as somebody would."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from podium import data
from podium.rankers import LinearRanker, load
from podium.tuning import fitting

LOSS = ("--loss", "pap-avg", "-k", "2", "--out", "model")


@pytest.fixture
def rows(learnable: Callable[[int], str]) -> None:
    """Write train.svmlight, test.svmlight and the same as CSV, with items named after rows."""
    for seed, name in enumerate(("train", "test")):
        text = learnable(seed)
        Path(f"{name}.svmlight").write_text(text)
        lines = ["user,item,label,first,second,third"]
        for i, line in enumerate(text.splitlines()):
            label, query, *features = line.split()
            values = [feature.partition(":")[2] for feature in features]
            lines.append(",".join((f"u{query[4:]}", f"i{i % 10}", label, *values)))
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")


def score(podium: Callable[..., Any], truth: str, run: str) -> float:
    done = podium("measure", truth, run, "-m", "pap@2", "--format", "json")
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)["measures"]["pap@2"]["mean"]


@pytest.mark.usefixtures("rows")
def test_table_is_learned_ranked_and_measured(podium: Callable[..., Any]) -> None:
    done = podium("train", "train.csv", *LOSS)
    assert (done.status, done.out) == (0, "")
    assert done.err.startswith("podium: 12 groups, 120 rows, 3 features; stopped after iteration ")
    assert done.err.endswith("; wrote model\n")
    assert podium("rank", "model", "test.csv", "--out", "run.parquet").status == 0
    assert score(podium, "test.csv", "run.parquet") > 0.9  # a line tells, and chance gives 1/2
    run = pl.read_parquet("run.parquet")
    assert run.columns == ["user", "item", "score"]
    assert run.height == 120


@pytest.mark.usefixtures("rows")
def test_svmlight_is_learned_ranked_and_measured(podium: Callable[..., Any]) -> None:
    assert podium("train", "train.svmlight", *LOSS).status == 0
    assert podium("rank", "model", "test.svmlight", "-o", "run.csv").status == 0
    test = data.read_features("test.svmlight")
    data.write_table({"user": test.qid, "item": test.item, "relevance": test.y}, "judged.csv")
    assert score(podium, "judged.csv", "run.csv") > 0.9
    assert score(podium, "test.svmlight", "run.csv") == score(podium, "judged.csv", "run.csv")


@pytest.mark.usefixtures("rows")
def test_model_is_that_of_the_library(podium: Callable[..., Any]) -> None:
    options = ("--l2", "0.01", "--learning-rate", "0.2", "--max-iter", "30", "--set", "tol=0")
    options += ("--no-scale",)
    done = podium("train", "train.csv", *LOSS, *options)
    assert "podium: warning: stopped at --max-iter 30, before it converged" in done.err
    assert "Raise --max-iter or --set tol, " in done.err
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
    assert podium("train", "wide.csv", *LOSS, "--l2", "0.1").status == 0
    rows = data.read_features("wide.csv")
    pipeline = make_pipeline(StandardScaler(), LinearRanker("pap-avg@2", l2=0.1))
    fitting.fit(pipeline, rows.X, rows.y, rows.qid)
    model = load("model")
    scores = rows.X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(scores, pipeline.predict(rows.X), atol=1e-9)


@pytest.mark.usefixtures("rows")
def test_validation_chooses_the_iterate(podium: Callable[..., Any]) -> None:
    options = ("--valid", "test.csv", "--eval-metric", "ndcg@3", "--patience", "5")
    done = podium("train", "train.csv", *LOSS, *options, "--set", "tol=0")
    assert done.status == 0
    model = load("model")
    assert model.eval_metric == "ndcg@3"
    assert model.stop_reason_ == "patience"
    assert "(--patience)" in done.err
    best = model.history_["validation"].max()
    assert f"ndcg@3 on test.csv {best:.4f}" in done.err
    assert podium("rank", "model", "test.csv", "-o", "run.csv").status == 0
    found = podium("measure", "test.csv", "run.csv", "-m", "ndcg@3", "--format", "json")
    assert json.loads(found.out)["measures"]["ndcg@3"]["mean"] == pytest.approx(best, abs=1e-12)


@pytest.mark.usefixtures("rows")
def test_loss_without_a_cutoff_takes_none(podium: Callable[..., Any]) -> None:
    done = podium(
        "train", "train.csv", "--loss", "logistic", "-o", "model", "--set", "fit_intercept=false"
    )
    assert done.status == 0
    assert load("model").intercept_ == 0.0


@pytest.mark.usefixtures("rows")
def test_clip_trains_on_groups_with_few_negatives(podium: Callable[..., Any]) -> None:
    argv = ("train", "train.csv", "--loss", "pap-avg", "-k", "8", "--out", "model")
    assert podium(*argv).status == 2  # each group has 7 negatives
    assert podium(*argv, "--clip").status == 0


@pytest.mark.usefixtures("rows")
def test_features_are_chosen_by_name_and_kept_in_the_model(podium: Callable[..., Any]) -> None:
    assert podium("train", "train.csv", *LOSS, "--features", "third, first").status == 0
    assert list(load("model").feature_names_in_) == ["third", "first"]
    repeated = ("--features", "third", "--features", "first")
    assert podium("train", "train.csv", *LOSS, *repeated).status == 0
    assert list(load("model").feature_names_in_) == ["third", "first"]
    assert (
        podium("train", "train.csv", *LOSS, "--ignore", "third", "--ignore", "second").status == 0
    )
    assert list(load("model").feature_names_in_) == ["first"]
    assert podium("train", "train.csv", *LOSS, "--ignore", "second").status == 0
    assert list(load("model").feature_names_in_) == ["first", "third"]
    whole = podium("rank", "model", "test.csv")
    frame = pl.read_csv("test.csv").select("third", "user", "first", "item")
    frame.write_csv("shuffled.csv")
    assert podium("rank", "model", "shuffled.csv") == whole


@pytest.mark.usefixtures("rows")
def test_run_is_best_first_within_each_user(podium: Callable[..., Any]) -> None:
    podium("train", "train.csv", *LOSS)
    done = podium("rank", "model", "test.csv")
    run = pl.read_csv(io.StringIO(done.out))
    assert run["user"].is_sorted()
    for _, scores in run.group_by("user"):
        assert scores["score"].is_sorted(descending=True)
    rows = data.read_features("test.csv")
    scored = pl.DataFrame({"user": rows.qid, "item": rows.item, "s": rows.X @ load("model").coef_})
    both = run.join(scored, on=["user", "item"], validate="1:1")
    assert both.height == 120
    assert np.allclose(both["score"] - both["s"], both["score"][0] - both["s"][0])


@pytest.mark.usefixtures("rows")
def test_cutoff_keeps_the_best_of_each_user(podium: Callable[..., Any]) -> None:
    podium("train", "train.csv", *LOSS)
    whole = pl.read_csv(io.StringIO(podium("rank", "model", "test.csv").out))
    top = pl.read_csv(io.StringIO(podium("rank", "model", "test.csv", "-k", "3").out))
    assert top.equals(whole.group_by("user", maintain_order=True).head(3))
    long = podium("rank", "model", "test.csv", "-k", "99")
    assert pl.read_csv(io.StringIO(long.out)).equals(whole)


@pytest.mark.usefixtures("rows")
def test_model_of_another_width_is_refused(podium: Callable[..., Any]) -> None:
    podium("train", "train.svmlight", *LOSS)
    Path("wide.svmlight").write_text("1 qid:1 1:1 7:2\n0 qid:1 2:1\n")
    done = podium("rank", "model", "wide.svmlight", "--out", "run.csv")
    assert re.search(
        r"wide\.svmlight has feature 7 at line 1, but 3 features are required\.", done.message
    )
    assert (done.status, Path("run.csv").exists()) == (2, False)
