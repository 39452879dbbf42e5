"""What podium train takes for relevant, for a feature, and for the measure of a loss."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium.rankers import load

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def tables() -> None:
    """Write ratings with two features, a time and ids; and graded rows of a few queries."""
    rng = np.random.default_rng(0)
    n = 240
    rating = np.tile([1, 2, 4, 5, 1, 2, 3, 5, 1, 1, 2, 3], n // 12)
    frame = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(n // 12), 12),
            "item_id": np.tile(np.arange(12), n // 12),
            "rating": rating,
            "timestamp": 880_000_000 + np.arange(n),
            "session_id": rng.integers(0, 9, n),
            "hotelId": rng.integers(0, 9, n),
            "watch_time": rating + rng.normal(size=n),
            "price": rng.random(n),
        }
    )
    frame.write_csv("ratings.csv")
    grades = frame.with_columns(label=pl.col("rating") // 2).drop("rating")
    grades.write_csv("grades.csv")
    frame.with_columns(label=(pl.col("rating") >= 4).cast(int)).drop("rating").write_csv("two.csv")


def test_threshold_of_ratings_is_that_of_labels(podium: Run) -> None:
    for argv in (("two.csv", "-o", "one"), ("ratings.csv", "--min-relevance", "4", "-o", "two")):
        assert podium("train", *argv, "--loss", "pap-ramp@2").status == 0
    assert np.array_equal(load("one").coef_, load("two").coef_)


def test_row_numbers_of_pandas_are_no_features(podium: Run) -> None:
    frame = pl.read_csv("two.csv").select("user_id", "item_id", "label", "price").to_pandas()
    frame.sample(frac=1, random_state=0).to_parquet("index.parquet")
    frame.to_csv("index.csv")
    for file, name in (("index.parquet", "'__index_level_0__'"), ("index.csv", "''")):
        done = podium("train", file, "--loss", "logistic", "-o", "m")
        assert f"not used as features: {name}." in done.err
        assert list(load("m").feature_names_in_) == ["price"]


def test_times_and_ids_are_no_features_unless_named(podium: Run) -> None:
    argv = ("train", "two.csv", "--loss", "logistic", "-o", "m")
    done = podium(*argv)
    assert "not used as features: 'timestamp', 'session_id', 'hotelId'." in done.err
    assert list(load("m").feature_names_in_) == ["watch_time", "price"]
    done = podium(*argv, "--features", "price,timestamp,hotelId")
    assert "not used as features" not in done.err
    assert list(load("m").feature_names_in_) == ["price", "timestamp", "hotelId"]
    assert podium("rank", "m", "two.csv", "-o", "run.csv").status == 0
    done = podium(*argv, "--ignore", "timestamp,session_id,hotelId")
    assert "not used as features" not in done.err


def test_grades_that_a_loss_does_not_read_are_told_first(podium: Run) -> None:
    argv = ("train", "grades.csv", "-o", "m", "--ignore", "timestamp,session_id,hotelId")
    for options, name in (
        (("--loss", "pap-logistic"), "pap-logistic"),
        (("--eval-metric", "pap@3", "--valid", "grades.csv"), "pap-logistic"),
        # before the warning that it did not converge
        (("--loss", "pap-logistic", "--set", "max_iter=1"), "pap-logistic"),
        (("--tune", "--grid", "loss=softmax,pap-ramp@1"), "pap-ramp@1"),
    ):
        done = podium(*argv, *options, "-k", "3")
        assert done.status == 0, done.err
        told = f"podium: {name} does not use grades: of the labels 0, 1, 2, those >= 1 are"
        assert done.err.startswith(told)
    for options in (("--loss", "softmax"), ("--min-relevance", "2"), ("--loss", "listmle")):
        assert "does not use grades" not in podium(*argv, *options).err
    two = podium("train", "two.csv", "-o", "m", "--ignore", "timestamp,session_id,hotelId")
    assert "does not use grades" not in two.err


@pytest.mark.parametrize(
    ("model", "package", "loss"),
    [
        ("linear", "numpy", "robirank"),
        ("neural", "torch", "lambdarank@3"),
        ("lightgbm", "lightgbm", "pairwise-logistic"),
        ("xgboost", "xgboost", "pairwise-logistic"),
    ],
)
def test_default_loss_of_grades_learns_from_them(
    podium: Run, model: str, package: str, loss: str
) -> None:
    pytest.importorskip(package, reason="of an extra")
    fit = ("--ignore", "timestamp,session_id,hotelId", "--model", model)
    rows = ("--valid", "grades.csv", "-o", "m")
    done = podium("train", "grades.csv", *fit, *rows, "-k", "3")
    assert done.err.startswith(
        f"podium: labels have the grades 0, 1, 2, so that the loss is {loss}"
    )
    assert load("m").eval_metric == "ndcg@3"
    two = podium("train", "grades.csv", *fit, *rows, "--min-relevance", "2", "-k", "3")
    assert two.status == 0, two.err
    assert "have the grades" not in two.err
    assert load("m").eval_metric == "pap@3"


RATINGS = """
| --min-relevance
--loss pap-ramp@3 | --min-relevance
--valid ratings.csv | --min-relevance
--tune --grid loss=softmax,logistic | --min-relevance
--loss softmax --valid ratings.csv --eval-metric pap@3 | pap@3
"""


def test_ratings_need_a_threshold_where_positives_count(
    refuses: Callable[[str, str], None],
) -> None:
    refuses("train ratings.csv --out model", RATINGS.replace("\n|", "\n |"))
    if importlib.util.find_spec("lightgbm"):
        refuses("train ratings.csv --out model", "--model lightgbm --loss binary | binary")
