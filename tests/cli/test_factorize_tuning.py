"""podium train --model factorization --tune: search, command to repeat, files."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from podium import tuning
from podium.recommenders import Factorization

Run = Callable[..., Any]
SMALL = ("--set", "n_factors=4", "--set", "n_epochs=9", "--threads", "1")
GRID = ("--grid", "l2=0.01,0.2", "--grid", "learning_rate=log(0.05,0.2)", "--budget", "3")
TRAIN = ("train", "all pairs.csv", "--model", "factorization", *SMALL, "--out", "model")
TUNE = (
    *TRAIN,
    "--set",
    "similarity=dot",
    "--tune",
    *GRID,
)


@pytest.fixture(autouse=True)
def pairs() -> None:
    """Write all pairs.csv, where users of two kinds like items of two kinds, and held-out pairs."""
    rng = np.random.default_rng(0)
    same: NDArray[np.bool_] = np.add.outer(np.arange(60), np.arange(40)) % 2 == 0
    user, item = np.nonzero(rng.random(same.shape) < np.where(same, 0.5, 0.02))
    is_valid = pl.Series(rng.random(user.size) < 0.2)
    frame = pl.DataFrame({"user": user, "item": item, "value": 1.0 + item % 3})
    frame.filter(~is_valid).write_csv("all pairs.csv")
    frame.filter(is_valid).select("user", "item").write_csv("valid.csv")


def command(err: str) -> list[str]:
    """Return the command to repeat, without the name of the program."""
    (line,) = re.findall(r"^podium: to repeat: podium (.*)$", err, re.M)
    return shlex.split(line)


def test_search_is_that_of_the_library(podium: Run) -> None:
    done = podium(*TUNE, "--seed", "3", "--tune-table", "t.parquet")
    assert (done.status, done.out) == (0, ""), done.err
    found = tuning.search(
        Factorization(4, n_epochs=9, similarity="dot", random_state=3),
        "all pairs.csv",
        grid={"l2": [0.01, 0.2], "learning_rate": tuning.LogUniform(0.05, 0.2)},
        n_trials=3,
        seed=3,
    )
    table = pl.read_parquet("t.parquet")
    assert table.drop("seconds").equals(pl.DataFrame(found.table).drop("seconds"))
    model = Factorization.load("model")
    assert np.array_equal(model.item_factors_, found.estimator.item_factors_)
    assert model.get_params() == found.estimator.get_params()
    best, n_fits = found.best, len(found.trials)
    assert f"podium: wrote t.parquet, {n_fits} trials\n" in done.err
    assert f"podium: tried 3 candidates in {n_fits} fits (" in done.err
    values = f"l2={best.params['l2']}, learning_rate={best.params['learning_rate']}, n_epochs=9"
    assert f" best {values}: ndcg@10 {best.mean:.4f} (standard error " in done.err
    assert done.err.endswith("; wrote model\n")
    assert sorted(path.name for path in Path().glob("model*")) == ["model"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--valid", "valid.csv", "--eval-metric", "recall@5"),
        ("--eval-metric", "ap", "--valid-share", "0.3"),
        ("--set", "decay=none", "--set", "item_bias=false", "--gain", "one"),
        ("--min-relevance", "2", "--gain", "value"),
    ],
)
def test_printed_command_gives_the_same_model(podium: Run, options: tuple[str, ...]) -> None:
    argv = command(podium(*TUNE, *options).err)
    before = Path("model").read_bytes()
    Path("model").unlink()
    done = podium(*argv)
    assert (done.status, done.out) == (0, ""), done.err
    assert Path("model").read_bytes() == before
    assert argv[:2] == ["train", "all pairs.csv"]
    assert {"--tune", "--grid", "--budget", "--valid-share"}.isdisjoint(argv)
    assert ("--eval-metric" in argv) == ("--valid" in options)


def test_options_that_are_given_are_not_searched(podium: Run) -> None:
    fixed = ("--l2", "0.025", "--set", "n_negatives=4", "--set", "item_bias=false")
    done = podium(*TRAIN, *fixed, "--tune", "--budget", "2", "--tune-table", "t.csv")
    assert done.status == 0, done.err
    searched = set(pl.read_csv("t.csv").columns) & set(Factorization().get_params())
    parts = tuning.default_grid(Factorization())
    expected = {"n_epochs", *(name for part in parts for name in part)}
    assert searched == expected - {"l2", "n_negatives", "n_factors"}
    model = Factorization.load("model")
    assert (model.l2, model.n_negatives, model.item_bias) == (0.025, 4, False)


def test_time_limits_the_search(podium: Run) -> None:
    argv = (*TRAIN, "--tune")
    done = podium(*argv, "--budget", "0.3s", "--tune-table", "t.csv")
    assert done.status == 0, done.err
    assert pl.read_csv("t.csv").height > 1
    assert podium(*argv, "--budget", "0.0001m").status == 0


def interrupt(patch: pytest.MonkeyPatch, module: str, n_done: int) -> None:
    """Press Ctrl-C when so many steps of a command's module are done."""

    def stop(done: int, total: int, note: str) -> None:
        if done == n_done:
            raise KeyboardInterrupt

    @contextmanager
    def progress(title: str) -> Generator[Any]:
        yield stop

    patch.setattr(sys.modules[module], "progress", progress)


def test_interrupted_search_is_resumed(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = podium(*TUNE)
    before = Path("model").read_bytes()
    with monkeypatch.context() as patch:
        interrupt(patch, "podium.cli._searching", 2)
        done = podium(*TUNE, "--tune-table", "t.csv")
    assert (done.status, done.out) == (130, "")
    table, first, *others = done.err.splitlines()
    assert table == "podium: wrote t.csv, 2 trials"
    assert first.startswith("podium: interrupted; tried 2 candidates in 2 fits (")
    assert first.endswith("; --resume continues from model.search.")
    assert others == ["podium: interrupted."]
    saved = Path("model.search").read_bytes()
    resumed = podium(*TUNE, "--resume")
    assert resumed.status == 0, resumed.err
    assert command(resumed.err) == command(whole.err)
    assert Path("model").read_bytes() == before
    assert not Path("model.search").exists()
    Path("model.search").write_bytes(saved)
    assert "podium: starting a new search; --resume would have continued from " in podium(*TUNE).err
    Path("model.search").write_text("")
    assert "is damaged, or is not a file of a search" in podium(*TUNE, "--resume").message


def test_interrupted_last_fit_is_resumed(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert podium(*TUNE).status == 0
    before = Path("model").read_bytes()
    Path("model.checkpoint").write_text("of another fit")
    with monkeypatch.context() as patch:
        interrupt(patch, "podium.cli._searching", 2)
        assert podium(*TUNE).status == 130
    with monkeypatch.context() as patch:  # the old checkpoint is not read
        interrupt(patch, "podium.cli._recommending", 4)
        done = podium(*TUNE, "--resume")
    assert "interrupted after pass 4 of 9; wrote model; --resume continues from model." in done.err
    done = podium(*TUNE, "--resume")
    assert "; 5 passes in " in done.err
    assert Path("model").read_bytes() == before
    assert not list(Path().glob("model.*"))


def test_ids_may_be_text_and_ratings_low(podium: Run) -> None:
    for name in ("all pairs.csv", "valid.csv"):
        frame = pl.read_csv(name)
        frame.with_columns(user=pl.format("u{}", "user"), value=1.0 + frame["item"] % 2).write_csv(
            name
        )
    done = podium(*TUNE, "--min-relevance", "2", "--valid", "valid.csv")
    assert done.status == 0, done.err
    before = Path("model").read_bytes()
    assert podium(*command(done.err)).status == 0
    assert Path("model").read_bytes() == before


def test_missing_search_file_starts_anew_with_a_warning(podium: Run) -> None:
    done = podium(*TUNE, "--resume")
    assert done.status == 0
    assert "warning: There is no checkpoint model.search. The search starts" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "3"), "--budget needs --tune."),
        (("--grid", "l2=1"), "--grid needs --tune."),
        (("--valid-share", "0.2"), "--valid-share needs --tune."),
        (("--tune-table", "t.csv"), "--tune-table needs --tune."),
        (("--tune", "--tune-table", "t.txt"), "--tune-table must end in "),
        (("--tune", "--budget", "0"), "--budget must be an integer >= 1, got 0."),
        (("--tune", "--budget", "0m"), "--budget must be a number > 0"),
        (("--tune", "--budget", "1.5"), "--budget must be a time such as 90s, 10m or 2h, or a "),
        (("--tune", "--budget", "10 days"), "--budget must be a time such as 90s, 10m or 2h, or"),
        (("--tune", "--valid-share", "1"), "--valid-share must be a number > 0 and < 1, got 1.0."),
        (("--tune", "--valid", "valid.csv", "--valid-share", "0.1"), "--valid and --valid-share"),
        (("--tune", "--grid", "l2"), "--grid must be NAME=VALUES, each name once, got 'l2'."),
        (("--tune", "--grid", "l3=1"), "--grid l3 is not a parameter of Factorization."),
        (("--tune", "--grid", "l2=log(0,1)"), "--grid 'l2=log(0,1)': low must be a number > 0"),
        (("--tune", "--grid", "n_factors=8"), "--grid names 'n_factors', but another option "),
        (("--tune", "--patience", "3"), "--patience needs --valid"),
        (("--eval-metric", "ap"), "--eval-metric needs --valid"),
        (("--tune", "--eval-metric", "ndgc"), "measure 'ndgc' is not known. Did you mean 'ndcg'?"),
    ],
)
def test_bad_option_is_refused_before_the_file_is_read(
    podium: Run, options: tuple[str, ...], message: str
) -> None:
    Path("all pairs.csv").write_text("neither users,nor items\n1,2\n")
    done = podium(*TRAIN, *options)
    assert done.status == 2
    assert done.message.startswith(message)
    assert not Path("model").exists()


def test_losses_are_divided_outside_parentheses(podium: Run) -> None:
    grid = ("--grid", "loss=softmax,bpr", "--tune-table", "t.csv", "--budget", "2")
    argv = (*TRAIN, "--tune")
    assert podium(*argv, *grid).status == 0
    assert set(pl.read_csv("t.csv")["loss"]) == {"softmax", "bpr"}
