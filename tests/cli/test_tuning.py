"""podium train --tune, and the rows that it validates on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium import data, evaluation, tuning
from podium.rankers import REGISTRY, LinearRanker, load
from podium.rankers.boosting import LightGBMRanker
from podium.rankers.scaling import folded, standardized

TRAIN = ("train", "train.csv", "--loss", "pap-avg", "-k", "2", "--out", "model")


@pytest.fixture(autouse=True)
def rows(learnable: Callable[[int], str]) -> None:
    """Write train.csv and valid.csv: 12 users of 10 rows, with a day for each row."""
    for seed, name in enumerate(("train", "valid")):
        lines = ["user,item,label,first,second,third,day"]
        for i, line in enumerate(learnable(seed).splitlines()):
            label, query, *features = line.split()
            values = [feature.partition(":")[2] for feature in features]
            day = f"2024-01-{1 + i * 7 % 28:02}"
            lines.append(",".join((f"u{query[4:]}", f"i{i % 10}", label, *values, day)))
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")


def given() -> tuple[Any, Any, Any]:
    read = data.read_features("train.csv")
    return read.X, read.y, read.qid


def test_tuned_model_is_that_of_the_library(podium: Callable[..., Any]) -> None:
    grid = ("--grid", "l2=1e-4,1.0", "--grid", "k=1,2", "--grid", "learning_rate=0.5")
    done = podium(*TRAIN, "--tune", *grid, "--folds", "3", "--tune-table", "trials.parquet")
    assert (done.status, done.out) == (0, "")
    found = tuning.search(
        standardized(LinearRanker("pap-avg@2")),
        *given(),
        grid={"l2": [1e-4, 1.0], "loss__k": [1, 2], "learning_rate": [0.5]},
        n_folds=3,
        measure="pap@2",
    )
    assert np.array_equal(load("model").coef_, folded(found.estimator).coef_)
    table = pl.read_parquet("trials.parquet")
    assert table.drop("seconds").equals(pl.DataFrame(found.table).drop("seconds"))
    best = found.best
    assert "podium: wrote trials.parquet, 4 trials\n" in done.err
    assert f"tried 4 candidates; best l2={best.params['l2']:.4g}, k=" in done.err
    assert f"pap@2 {best.mean:.4f} (standard error {best.std_error:.4f}, 12 users)" in done.err
    assert "iterations, as chosen by validation" in done.err


@pytest.mark.long
def test_number_of_jobs_changes_nothing(podium: Callable[..., Any]) -> None:
    errors: list[str] = []
    for jobs in ("1", "2"):
        done = podium(*TRAIN, "--tune", "--jobs", jobs, "--tune-table", f"{jobs}.csv")
        assert done.status == 0
        errors.append(done.err.replace(f"{jobs}.csv", "table"))
    assert errors[0] == errors[1]
    one, two = (pl.read_csv(f"{jobs}.csv").drop("seconds") for jobs in "12")
    assert one.equals(two)
    assert one["users"].to_list() == [2] * one.height  # a fifth of 12, rounded down


def test_options_that_are_given_are_not_tuned(podium: Callable[..., Any]) -> None:
    argv = (*TRAIN, "--tune", "--l2", "0.02", "--learning-rate", "0.3", "--tune-table", "t.csv")
    assert podium(*argv).status == 0
    table = pl.read_csv("t.csv")
    assert {"l2", "learning_rate"}.isdisjoint(table.columns)
    assert table["loss__k"].to_list() == [2, 6, 20]
    assert load("model").l2 == 0.02


def test_losses_are_tried_with_what_each_takes(podium: Callable[..., Any]) -> None:
    grid = ("--grid", "loss=logistic,pap-ramp", "--grid", "k=2,3", "--grid", "l2=0.1")
    done = podium(
        "train", "train.csv", "-o", "model", "--tune", *grid, "--eval-metric", "ap",
        *("--tune-table", "t.csv", "--min-relevance", "0.5"),
    )  # fmt: skip
    assert done.status == 0
    table = pl.read_csv("t.csv")
    assert table["loss"].to_list() == ["logistic(min_relevance=0.5)", "pap-ramp", "pap-ramp"]
    assert table["loss__k"].to_list() == [None, 2, 3]
    assert table["loss__min_relevance"].to_list() == [None, 0.5, 0.5]
    assert table["error"].to_list() == [""] * 3
    done = podium("train", "none.csv", "-o", "model", "--tune", "--grid", "loss=pap-agv")
    assert done.message.startswith("--loss must be one of ")


def test_budget_draws_from_distributions(podium: Callable[..., Any]) -> None:
    grid = ("--grid", "l2=log(1e-6,1)", "--budget", "7", "--tune-table", "t.csv")
    assert podium(*TRAIN, "--tune", *grid).status == 0
    drawn = pl.read_csv("t.csv")["l2"]
    assert drawn.n_unique() == 7
    assert drawn.is_between(1e-6, 1.0).all()
    assert podium(*TRAIN, "--tune", *grid, "--seed", "1").status == 0
    assert not pl.read_csv("t.csv")["l2"].equals(drawn)


def test_file_to_validate_on_is_never_trained_on(podium: Callable[..., Any]) -> None:
    argv = (*TRAIN, "--tune", "--valid", "valid.csv", "--ignore", "day", "--patience", "5")
    assert podium(*argv, "--set", "tol=0", "--tune-table", "t.csv").status == 0
    model, table = load("model"), pl.read_csv("t.csv")
    best = table.filter("chosen")
    assert model.history_["validation"].max() == pytest.approx(best["mean"].item())
    assert best["users"].item() == 12


@pytest.mark.filterwarnings("ignore:.*equal time:podium.errors.PodiumWarning")
@pytest.mark.parametrize("how", ["time", "time-per-user"])
def test_last_rows_by_time_are_set_aside(podium: Callable[..., Any], how: str) -> None:
    split = ("--split", how, "--column", "timestamp=day", "--valid-share", "0.4")
    assert podium(*TRAIN, "--tune", "--grid", "l2=0.1", *split, "--tune-table", "t.csv").status == 0
    frame = pl.read_csv("train.csv", try_parse_dates=True)
    found = tuning.search(
        standardized(LinearRanker("pap-avg@2")),
        *given(),
        grid={"l2": [0.1]},
        split=how,
        valid=0.4,
        time=frame["day"],
        measure="pap@2",
    )
    assert pl.read_csv("t.csv")["mean"].to_list() == found.table["mean"]
    assert list(load("model").feature_names_in_) == ["first", "second", "third"]


def test_times_that_are_numbers_are_no_feature(podium: Callable[..., Any]) -> None:
    frame = pl.read_csv("train.csv", try_parse_dates=True)
    frame.with_columns(pl.col("day").dt.ordinal_day()).write_csv("train.csv")
    argv = ("--split", "time", "--column", "timestamp=day", "--valid-share", "0.4")
    assert podium(*TRAIN, *argv).status == 0
    assert "day" not in load("model").feature_names_in_


def test_share_without_tuning_only_says_when_to_stop(podium: Callable[..., Any]) -> None:
    done = podium(*TRAIN, "--valid-share", "0.4", "--patience", "5", "--set", "tol=0")
    assert done.status == 0
    assert "tried 1 candidate; best with the given options: pap@2 " in done.err
    assert load("model").keep == "last"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--grid", "l2=1"), "--grid needs --tune."),
        (("--budget", "3"), "--budget needs --tune."),
        (("--tune-table", "t.csv"), "--tune-table needs --tune."),
        (("--tune", "--tune-table", "t.txt"), "--tune-table must end in "),
        (("--tune", "--tune-table", "no/t.csv"), "--tune-table no/t.csv can't be written: there"),
        (("--tune", "--grid", "l2"), "--grid must be NAME=VALUES, each name once, got 'l2'."),
        (("--tune", "--grid", "l3=1"), "--grid l3 is not a parameter of LinearRanker."),
        (("--tune", "--grid", "l2=log(0,1)"), "--grid 'l2=log(0,1)': low must be a number > 0"),
        (("--tune", "--grid", "l2=log(1,2)"), "--budget is required if the grid has"),
        (("--tune", "--grid", "loss=pap-ramp"), "--grid names 'loss', but another option fixes"),
        (
            ("--tune", "--l2", "5", "--grid", "l2=1,2"),
            "--grid names 'l2', but another option fixes",
        ),
        (("--tune", "--set", "tol=1", "--grid", "tol=0,1"), "--grid names 'tol', but another opti"),
        (("--tune", "--clip", "--grid", "clip=true"), "--grid names 'clip', but another option "),
        (("--tune", "--grid", "random_state=1"), "--grid does not accept 'random_state'. Use --s"),
        (("--tune", "--budget", "0"), "--budget must be an integer >= 1, got 0."),
        (("--tune", "--jobs", "0"), "--jobs must be an integer >= 1, got 0."),
        (("--seed", "-1"), "--seed must be an integer >= 0"),
        (("--folds", "1"), "--folds must be an integer >= 2, got 1."),
        (("--valid", "v.csv", "--folds", "3"), "--valid and --folds were given, and each"),
        (("--folds", "3", "--split", "rows"), "--folds and --split were given, and each"),
        (("--valid-share", "1"), "--valid-share must be a number > 0 and < 1, got 1.0."),
        (("--split", "user"), "--split must be one of "),
        (("--split", "time"), "--split time needs --column timestamp=NAME."),
        (
            ("--column", "timestamp=day"),
            "--column timestamp=NAME needs --split time or time-per-user.",
        ),
        (("--eval-metric", "ap"), "--eval-metric needs --valid, --valid-share or --folds."),
        (("--valid-share", "0.2", "--eval-metric", "app"), "measure 'app' is not known."),
        (("--model", "forest"), "--model must be one of "),
        (("--solver", "newton"), "--solver must be one of "),
        (("--solver", "lbfgs"), "--solver lbfgs needs a smooth loss"),
        (("--set", "start=warm"), "--set start must be "),
        (("--set", "l2"), "--set must be NAME=VALUE, each name once, got 'l2'."),
        (("--set", "l2=1,2"), "--l2 must be a number >= 0, got (1, 2)."),
        (
            ("--set", "l2=log(1,2)"),
            "--set must be NAME=VALUE without a distribution, got 'l2=log(1,2)'.",
        ),
        (
            ("--solver", "lbfgs", "--loss", "logistic", "--learning-rate", "1"),
            "--learning-rate has no effect with the solver lbfgs.",
        ),
        (("--set", "trees=3"), "--model linear does not accept --set trees."),
        (("--l2", "1", "--set", "l2=2"), "--l2 and --set l2 were both given. Keep one."),
        (("--set", "eval_metric=ap"), "--set does not accept 'eval_metric'. Use --eval-metric."),
        (("--set", "batch_size=0"), "--set batch_size has no effect with the solver subgradient."),
        (("--solver", "stochastic", "--set", "batch_size=0"), "batch_size must be an integer >= 1"),
        (("--l2", "-1"), "--l2 must be a number >= 0, got -1"),
        (("--max-iter", "0"), "--max-iter must be an integer >= 1, got 0."),
        (("--model", "logistic-regression"), "--model logistic-regression does not accept --loss."),
    ],
)
def test_bad_option_is_refused_before_the_file_is_read(
    podium: Callable[..., Any], options: tuple[str, ...], message: str
) -> None:
    done = podium("train", "none.csv", *TRAIN[2:], *options)
    assert done.status == 2
    assert done.message.startswith(message)
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--split", "time", "--column", "timestamp=dya"),
            "train.csv has no column 'dya' of times.",
        ),
        (
            ("--split", "time", "--column", "timestamp=item"),
            "train.csv: item must hold numbers or ISO ti",
        ),
        (("--folds", "13"), "--folds must be from 2 to the number of users, 12, got 13."),
        (("--valid-share", "0.01"), "--valid-share 0.01 sets no rows aside"),
        (
            ("--tune", "--loss", "logistic", "--grid", "learning_rate=1,2"),
            "--grid 'learning_rate' has no effect with the solver lbfgs.",
        ),
        (("--tune", "--eval-metric", "pap@99"), "pap@99 is defined on no user of the rows set "),
        (
            ("--folds", "3", "--eval-metric", "pap@99"),
            "pap@99 is defined on no user of the rows set aside in fold 0.",
        ),
    ],
)
def test_bad_rows_are_refused(
    podium: Callable[..., Any], options: tuple[str, ...], message: str
) -> None:
    done = podium(*TRAIN, *options)
    assert done.status == 2
    assert done.message.startswith(message)
    assert not Path("model").exists()


@pytest.mark.parametrize("name", REGISTRY)
def test_every_model_is_trained_saved_and_ranks(podium: Callable[..., Any], name: str) -> None:
    options = ["--valid", "valid.csv", "--ignore", "day", "--eval-metric", "ap"]
    if name in ("lightgbm", "xgboost"):
        pytest.importorskip(name)
        options += ["--loss", "pap-ramp", "--set", "n_trees=5", "--set", "n_threads=1"]
    if name not in ("linear", "logistic-regression"):
        options += ["-k", "2"]
    done = podium("train", "train.csv", "--model", name, "-o", "model", *options)
    assert (done.status, done.out) == (0, ""), done.err
    assert done.err.startswith("podium: 12 groups, 120 rows, 3 features")
    assert done.err.endswith("wrote model\n")
    assert podium("rank", "model", "valid.csv", "-o", "run.csv").status == 0
    truth = pl.read_csv("valid.csv").filter(pl.col("label") > 0).select("user", "item")
    found = evaluation.measure(truth, "run.csv", "ap", ties="worst").summary("ap")
    assert found.mean > 0.6  # of 3 in 10 at random: about 0.45


_SLOW = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
from podium.cli import main
import podium.cli.train as train
from contextlib import contextmanager

@contextmanager
def progress(what):
    def show(done, total, note):
        print(what, done, flush=True)
    yield show

sys.modules["podium.cli._searching"].progress = progress
main(["train", "train.csv", "-o", "model", "--loss", "pap-avg", "-k", "2", "--tune",
      "--grid", "max_iter=5,1000000000", "--grid", "tol=0", "--tune-table", "t.csv",
      "--jobs", sys.argv[1], "--set", "patience=none"])
"""


@pytest.mark.long
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_leaves_the_table_of_what_was_tried(jobs: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW, jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "tuning 1\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    lines = err.splitlines()
    assert lines[0] == "podium: wrote t.csv, 1 trial"
    assert lines[1].startswith("podium: interrupted; tried 1 candidate; best max_iter=5, tol=0: ")
    assert lines[2:] == ["podium: interrupted."]
    assert pl.read_csv("t.csv")["max_iter"].to_list() == [5]
    assert not Path("model").exists()


def test_trees_pool_the_items_of_a_table(podium: Callable[..., Any]) -> None:
    few = ("--set", "n_trees=3", "--set", "min_rows_in_leaf=5")
    train = ("train", "train.csv", "--model", "lightgbm", "--ignore", "day", *few)
    assert "; labels pooled over 10 items" in podium(*train, "-o", "pooled").err
    assert podium(*train, "-o", "labels", "--set", "pool_share=0").status == 0
    assert podium(*train, "-o", "other", "--loss", "logistic").status == 0
    assert not np.array_equal(load("pooled").trees_, load("labels").trees_)
    assert load("pooled").pool_share == 0.9


def test_trees_pool_items_for_the_losses_that_take_them(podium: Callable[..., Any]) -> None:
    settings = {"n_trees": 3, "min_rows_in_leaf": 5}
    options = [word for name in settings for word in ("--set", f"{name}={settings[name]}")]
    names = ["pap-logistic", "group-logistic", "lambdarank", "binary"]
    grid = ("--grid", f"loss={','.join(names)}", "--grid", "k=2", "--eval-metric", "ap")
    done = podium(
        *("train", "train.csv", "--model", "lightgbm", "--ignore", "day", *options),
        *("--tune", *grid, "--tune-table", "t.csv", "--out", "model"),
    )
    table = pl.read_csv("t.csv")
    assert done.status == 0, done.err
    assert table["loss"].to_list() == names
    read = data.read_features("train.csv")
    rows = {"item": read.item, "grid": {}, "measure": "ap"}
    expected = [
        tuning.search(LightGBMRanker(loss, **settings), read.X, read.y, read.qid, **rows).best.mean
        for loss in ("pap-logistic@2", *names[1:])
    ]
    assert table["mean"].to_list() == expected
    assert ("; labels pooled over 10 items" in done.err) == ("best loss=group" in done.err)


def test_k_is_the_cutoff_of_the_measure_where_a_model_has_none(podium: Callable[..., Any]) -> None:
    model = ("--model", "logistic-regression", "--out", "model")
    done = podium(
        "train", "train.csv", "--ignore", "day", *model, "-k", "2", "--valid", "valid.csv"
    )
    assert done.status == 0
    assert "pap@2 on valid.csv" in done.err


def test_features_whose_squares_overflow_are_refused_by_name(podium: Callable[..., Any]) -> None:
    table = pl.read_csv("train.csv")
    table.with_columns(pl.col("second") * -1e200).write_csv("huge.csv")
    done = podium("train", "huge.csv", *TRAIN[2:], "--ignore", "day")
    assert done.status == 2
    assert done.message.startswith("huge.csv: feature 'second' has values up to ")
    assert podium("train", "huge.csv", *TRAIN[2:], "--ignore", "day,second").status == 0


def test_bundle_says_how_far_from_the_minimum_it_is_at_most(podium: Callable[..., Any]) -> None:
    pytest.importorskip("piqp")
    done = podium(*TRAIN, "--ignore", "day", "--solver", "bundle")
    assert "(converged, duality gap " in done.err
