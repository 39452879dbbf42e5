"""podium train --tune, and the rows that it validates on."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import as_csv, interrupted

from podium import data, tuning
from podium.rankers import LinearRanker, load
from podium.rankers.scaling import folded, scaled

TRAIN = ("train", "train.csv", "--loss", "pap-avg", "-k", "2", "--out", "model")


@pytest.fixture(autouse=True)
def rows(learnable: Callable[[int], str]) -> None:
    """Write train.csv and valid.csv: 12 users of 10 rows, with a day for each row."""
    for seed, name in enumerate(("train", "valid")):
        Path(f"{name}.csv").write_text(as_csv(learnable(seed), days=True))


def given() -> tuple[Any, Any, Any]:
    read = data.read_features("train.csv")
    return read.X, read.y, read.qid


def test_tuned_model_is_that_of_the_library(podium: Callable[..., Any]) -> None:
    grid = ("--grid", "l2=1e-4,1.0", "--grid", "loss__k=1,2", "--grid", "learning_rate=0.5")
    done = podium(*TRAIN, "--tune", *grid, "--folds", "3", "--tune-table", "trials.parquet")
    assert (done.status, done.out) == (0, "")
    found = tuning.search(
        scaled(LinearRanker("pap-avg@2"), given()[0]),
        *given(),
        grid={"l2": [1e-4, 1.0], "loss__k": [1, 2], "learning_rate": [0.5]},
        n_folds=3,
        measure="pap@2",
    )
    assert np.array_equal(load("model").coef_, folded(found.estimator).coef_)
    table = pl.read_parquet("trials.parquet")
    assert table.drop("seconds").equals(pl.DataFrame(found.table).drop("seconds"))
    assert f"tried 4 candidates; best l2={found.best.params['l2']:.4g}, loss__k=" in done.err


def test_losses_are_tried_with_what_each_takes(podium: Callable[..., Any]) -> None:
    grid = ("--grid", "loss=logistic,pap-ramp@2,pap-ramp@3", "--grid", "l2=0.1")
    done = podium(
        "train", "train.csv", "-o", "model", "--tune", *grid, "--eval-metric", "ap",
        *("--tune-table", "t.csv", "--min-relevance", "0.5"),
    )  # fmt: skip
    assert done.status == 0
    table = pl.read_csv("t.csv")
    ramps = [f"pap-ramp(min_relevance=0.5)@{k}" for k in (2, 3)]
    assert table["loss"].to_list() == ["logistic(min_relevance=0.5)", *ramps]
    assert table["error"].to_list() == [""] * 3


@pytest.mark.filterwarnings("ignore:.*equal time:podium.errors.PodiumWarning")
@pytest.mark.parametrize("how", ["time", "time-per-user"])
def test_last_rows_by_time_are_set_aside(podium: Callable[..., Any], how: str) -> None:
    split = ("--split", how, "--column", "timestamp=day", "--valid-share", "0.4")
    assert podium(*TRAIN, "--tune", "--grid", "l2=0.1", *split, "--tune-table", "t.csv").status == 0
    frame = pl.read_csv("train.csv", try_parse_dates=True)
    found = tuning.search(
        scaled(LinearRanker("pap-avg@2"), given()[0]),
        *given(),
        grid={"l2": [0.1]},
        split=how,
        valid=0.4,
        time=frame["day"],
        measure="pap@2",
    )
    assert pl.read_csv("t.csv")["mean"].to_list() == found.table["mean"]
    assert list(load("model").feature_names_in_) == ["first", "second", "third"]


@pytest.mark.long
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_leaves_the_table_of_what_was_tried(jobs: str) -> None:
    grid = "--grid max_iter=5,1000000000 --grid tol=0 --set patience=none"
    options = f"--tune {grid} --tune-table t.csv --jobs {jobs}"
    status, err = interrupted("_searching", 1, f"{shlex.join(TRAIN)} {options}")
    assert status == 130
    lines = err.splitlines()
    assert lines[0] == "podium: wrote t.csv, 1 trial"
    assert lines[1].startswith("podium: interrupted; tried 1 candidate; best max_iter=5, tol=0: ")
    assert lines[2:] == ["podium: interrupted."]
    assert pl.read_csv("t.csv")["max_iter"].to_list() == [5]
    assert not Path("model").exists()


def test_features_whose_squares_overflow_are_refused_by_name(podium: Callable[..., Any]) -> None:
    table = pl.read_csv("train.csv")
    table.with_columns(pl.col("second") * -1e200).write_csv("huge.csv")
    done = podium("train", "huge.csv", *TRAIN[2:], "--ignore", "day")
    assert done.status == 2
    assert done.message.startswith("huge.csv: feature 'second' has values up to ")
    assert podium("train", "huge.csv", *TRAIN[2:], "--ignore", "day,second").status == 0


REFUSED = """
--grid l2=1 | --grid --tune
--budget 3 | --budget --tune
--tune-table t.csv | --tune-table --tune
--tune --tune-table t.txt | --tune-table
--tune --tune-table no/t.csv | --tune-table no/t.csv
--tune --grid l2 | --grid l2
--tune --grid k=1,2 | --grid k
--tune --grid 'l2=log(0,1)' | --grid 'l2=log(0,1)'
--tune --grid 'l2=log(1,2)' | --budget
--tune --grid loss=pap-ramp | --grid loss
--tune --grid loss=pap-agv | --grid loss
--tune --set l2=5 --grid l2=1,2 | --grid l2
--tune --set tol=1 --grid tol=0,1 | --grid tol
--tune --grid random_state=1 | --grid random_state --seed
--jobs 2 | --jobs --tune
--jobs 1 --valid-share 0.5 | --jobs --tune
--folds 1 | --folds
--valid v.csv --folds 3 | --valid --folds
--folds 3 --split rows | --folds --split
--split time | '--split time' '--column timestamp=NAME'
--column timestamp=day | '--column timestamp=NAME' '--split time'
--eval-metric ap | --eval-metric --valid
--valid-share 0.2 --eval-metric app | app
--set patience=9 | '--set patience' --valid
--model forest | --model
--set solver=newton | '--set solver'
--solver lbfgs | --solver
--set start=warm | '--set start'
--set l2 | --set l2
--set l2=1,2 | '--set l2'
--set 'l2=log(1,2)' | --set 'l2=log(1,2)'
--set solver=lbfgs --loss logistic --set learning_rate=1 | '--set learning_rate' lbfgs
--set trees=3 | '--set trees' --model
--loss logistic --set loss=listmle | --loss '--set loss'
--set eval_metric=ap | --set eval_metric --eval-metric
--set batch_size=0 | '--set batch_size' subgradient
--set solver=stochastic --set batch_size=0 | batch_size
--set l2=-1 | '--set l2'
--set standardize=2 | standardize
--model lightgbm --set standardize=false | '--set standardize'
-k 0 | -k
--model logistic-regression | '--model logistic-regression' --loss
--loss 'listmle(hed=k)' | hed head
--loss 'listmle(head=k' | 'listmle(head=k'
--loss softmax --min-relevance 2 | --min-relevance softmax
"""
OF_ROWS = """
--set solver=lbfgs | '--set solver=lbfgs'
--split time --column timestamp=dya | train.csv dya
--split time --column timestamp=item | train.csv item
--tune --loss logistic --grid learning_rate=1,2 | --grid learning_rate lbfgs
--tune --eval-metric pap@99 | pap@99
--folds 3 --eval-metric pap@99 | pap@99 'fold 0'
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    refuses(shlex.join(("train", "none.csv", *TRAIN[2:])), REFUSED)
    refuses(shlex.join(TRAIN), OF_ROWS)
