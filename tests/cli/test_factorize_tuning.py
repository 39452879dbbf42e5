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
    n_fits = len(found.trials)
    assert f"tried 3 candidates in {n_fits} fits" in done.err
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
    assert "--resume continues from model.search" in done.err
    assert pl.read_csv("t.csv").height == 2
    saved = Path("model.search").read_bytes()
    resumed = podium(*TUNE, "--resume")
    assert resumed.status == 0, resumed.err
    assert command(resumed.err) == command(whole.err)
    assert Path("model").read_bytes() == before
    assert not Path("model.search").exists()
    Path("model.search").write_bytes(saved)
    assert "--resume would have continued from model.search" in podium(*TUNE).err
    assert "There is no checkpoint model.search" in podium(*TUNE, "--resume").err
    Path("model.search").write_text("")
    assert "model.search is damaged" in podium(*TUNE, "--resume").message


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


REFUSED = """
--tune --budget 0m | --budget
--tune --budget 1.5 | --budget
--tune --budget '10 days' | --budget
--tune --valid-share 1 | --valid-share
--tune --valid valid.csv --valid-share 0.1 | --valid --valid-share
--tune --grid n_factors=8 | --grid n_factors
"""


def test_refusals_come_before_the_file_is_read(refuses: Callable[[str, str], None]) -> None:
    Path("all pairs.csv").write_text("neither users,nor items\n1,2\n")
    refuses(shlex.join(TRAIN), REFUSED)
