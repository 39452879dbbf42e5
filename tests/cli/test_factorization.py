"""podium train --model factorization: what it learns, searches, keeps and refuses."""

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
from tests.cli.conftest import interrupted

from podium import tuning
from podium.recommenders import Factorization
from podium.recommenders.factorization._descent import Descent

Run = Callable[..., Any]
N_USERS, N_ITEMS = 60, 40


def train(*argv: str, table: str = "pairs.csv", **params: object) -> tuple[str, ...]:
    """Return a command that fits a small model; parameters are set with --set."""
    sets = {"n_factors": 4, "n_epochs": 6, **params}
    words = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    return ("train", table, "--model", "factorization", *words, *argv)


FIT = train("--out", "model")
PLAIN = "train pairs.csv --model factorization --out model"


@pytest.fixture(autouse=True)
def pairs() -> pl.DataFrame:
    """Write pairs.csv, where users of two kinds like items of two kinds, and held-out pairs."""
    rng = np.random.default_rng(0)
    likes = rng.random((N_USERS, N_ITEMS))
    likes = likes < np.where(np.add.outer(np.arange(N_USERS), np.arange(N_ITEMS)) % 2, 0.5, 0.02)
    user, item = np.nonzero(likes)
    held_out = rng.random(user.size) < 0.2
    frame = pl.DataFrame({"user": user, "item": item, "value": 1.0 + item % 3})
    for name in ("pairs.csv", "all pairs.csv"):
        frame.filter(~pl.Series(held_out)).write_csv(name)
    frame.filter(pl.Series(held_out)).select("user", "item").write_csv("valid.csv")
    return pl.read_csv("pairs.csv")


def fitted(podium: Run, *argv: str, out: str = "model") -> Factorization:
    done = podium(*argv, "--out", out)
    assert (done.status, done.out) == (0, ""), done.err
    assert not Path(f"{out}.checkpoint").exists()
    return Factorization.load(out)


def same(one: Factorization, two: Factorization) -> bool:
    return np.array_equal(one.user_factors_, two.user_factors_) and np.array_equal(
        one.item_factors_, two.item_factors_
    )


def test_model_is_that_of_the_library(podium: Run, pairs: pl.DataFrame) -> None:
    options = ("--set", "l2=0.01", "--set", "learning_rate=0.2", "--seed", "5", "--loss", "type2")
    own = {"n_blocks": 2, "n_negatives": 3, "xi_rate": 0.5, "decay": "none"}
    model = fitted(podium, *train(*options, "--gain", "one", **own))
    library = Factorization(4, n_epochs=6, l2=0.01, learning_rate=0.2, random_state=5, n_blocks=2)
    library.set_params(loss="type2", n_negatives=3, gain="one", xi_rate=0.5, decay="none")
    assert same(model, library.fit(pairs))
    assert model.get_params() == library.get_params()


def test_patience_stops(podium: Run) -> None:
    argv = ("--valid", "valid.csv", "--set", "patience=2", "--out", "model")
    done = podium(*train(*argv, n_epochs=200, decay="none"))
    n_made = len(Factorization.load("model").history_["cost"])
    assert n_made < 200
    assert f"; {n_made} passes, stopped by patience, kept pass {n_made - 2}; fitted " in done.err


def test_held_out_pairs_of_strangers_are_left_out_and_told(podium: Run) -> None:
    argv = (*FIT, "--valid")
    alone = fitted(podium, *argv, "valid.csv")
    strangers = pl.DataFrame({"user": ["u0", "999"], "item": ["777", "0"]})
    mixed = pl.concat([strangers, pl.read_csv("valid.csv").cast(pl.String)])
    mixed.write_parquet("mixed.parquet")
    done = podium(*argv, "mixed.parquet")
    assert f"mixed.parquet: 2 of {mixed.height} rows left out" in done.err
    model = Factorization.load("model")
    assert np.array_equal(alone.history_["validation"], model.history_["validation"])


def interrupt(patch: pytest.MonkeyPatch, module: str, n_done: int) -> None:
    """Press Ctrl-C when so many steps of a command's module are done."""

    def stop(done: int, total: int, note: str) -> None:
        if done == n_done:
            raise KeyboardInterrupt

    @contextmanager
    def progress(title: str) -> Generator[Any]:
        yield stop

    patch.setattr(sys.modules[module], "progress", progress)


@pytest.fixture
def stopped(podium: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Interrupt a fit after its second pass."""
    with monkeypatch.context() as patch:
        interrupt(patch, "podium.cli._recommending", 2)
        return podium(*FIT)


def test_interrupted_fit_keeps_its_last_pass_and_resumes_with_the_same_bits(
    podium: Run, stopped: Any
) -> None:
    assert stopped.status == 130
    assert "after pass 2; wrote model; --resume continues from model.checkpoint" in stopped.err
    model = Factorization.load("model")
    assert (model.n_epochs_, model.stop_reason_) == (2, "interrupted")
    done = podium(*FIT, "--resume")
    assert "; 6 passes; " in done.err
    assert not Path("model.checkpoint").exists()
    assert "There is no checkpoint model.checkpoint" in podium(*FIT, "--resume").err
    fitted(podium, *FIT, out="whole")
    assert Path("model").read_bytes() == Path("whole").read_bytes()


@pytest.mark.usefixtures("stopped")
def test_checkpoint_is_of_one_fit(podium: Run, refuses: Callable[[str, str], None]) -> None:
    rows = """
    --set n_factors=4 --set n_epochs=6 --set learning_rate=0.3 | learning_rate 0.1 0.3
    --set n_factors=4 --set n_epochs=9 --set n_blocks=2 | n_epochs n_blocks
    --set n_factors=4 --set n_epochs=6 --gain one | model.checkpoint
    --set n_factors=4 --set n_epochs=6 --valid valid.csv | --valid
    """
    refuses(f"{PLAIN} --resume", rows)
    whole = Path("model.checkpoint").read_bytes()
    Path("model.checkpoint").write_bytes(whole[: len(whole) // 2])
    refuses(shlex.join((*FIT, "--resume")), " | model.checkpoint")
    assert "--resume would have continued from model.checkpoint" in podium(*FIT).err


def test_interrupt_in_the_first_pass_writes_nothing(
    podium: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = Descent.epoch

    def interrupted(descent: Any, number: int) -> Any:
        if descent.pairs.n_users == N_USERS:
            raise KeyboardInterrupt
        return epoch(descent, number)

    monkeypatch.setattr(Descent, "epoch", interrupted)
    there = sorted(Path().iterdir())
    done = podium(*FIT)
    assert (done.status, done.out) == (130, "")
    assert "no model was written" in done.err
    assert sorted(Path().iterdir()) == there


@pytest.mark.long
def test_real_interrupt_leaves_a_model_and_a_checkpoint(podium: Run) -> None:
    line = "train --model factorization pairs.csv --set n_factors=4 --set n_epochs=1000000"
    status, said = interrupted("_recommending", 3, f"{line} --out model")
    assert status == 130
    found = re.fullmatch(
        r"podium: interrupted after pass (\d+); wrote model; --resume continues from "
        r"model\.checkpoint\.\npodium: interrupted\.\n",
        said,
    )
    assert found, said
    assert Factorization.load("model").n_epochs_ == int(found[1]) >= 3
    assert podium("recommend", "model", "-k", "3", "--out", "run.csv").status == 0
    assert not list(Path().glob(".*"))  # nothing half-written beside them


def test_model_that_finds_no_room_is_in_the_checkpoint(
    podium: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(model: Factorization, path: Path) -> None:
        del model, path
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Factorization, "save", full)
        done = podium(*FIT)
    assert done.status == 2
    assert done.message == (
        "model can't be written: No space left on device. The fit is in "
        "model.checkpoint. Free some space, and pass --resume."
    )
    assert podium(*FIT, "--resume").status == 0
    fitted(podium, *FIT, out="whole")
    assert Path("model").read_bytes() == Path("whole").read_bytes()


REFUSED = """
--loss robirnak | --loss robirank
--set dcay=none | dcay
--set decay=exact | decay linear
--valid pairs.csv | --valid
--valid truth.csv | truth.csv
--column user=item | item user
--column usr=item | --column user
--column relevance=item | '--column relevance=NAME'
--set n_factors=1000000000000 | memory
--workers 2 | --workers --ray
--set learning_rate=1e6 | learning_rate
--min-relevance 6 | --min-relevance 3
--out none/model | none
--out . | --out
--out pairs.csv | --out pairs.csv
"""
TABLES = {
    "empty": "",
    "-3 'line 3' 'user 7'": "user,item,value\n7,1,1\n7,2,-3\n",
    "non-finite 'line 3'": "user,item,value\n7,1,1\n7,2,nan\n",
    "value 0": "user,item,value\n7,1,0\n",
    "'--column user=NAME'": "who,item\n7,1\n",
    "'--column item=NAME'": "user,what\n7,1\n",
}


def test_refusals(podium: Run, refuses: Callable[[str, str], None]) -> None:
    pl.DataFrame({"user": [5], "item": [99]}).write_csv("truth.csv")
    refuses(PLAIN, REFUSED)
    for named, text in TABLES.items():
        Path("bad.csv").write_text(text)
        refuses(shlex.join(train("--out", "m", table="bad.csv")), f" | {named}")
    bare = shlex.join(train("--min-relevance", "4", "--out", "m", table="past.csv"))
    refuses(bare, " | 'no column of values'")


def test_what_the_machine_lacks_is_refused_before_the_fit(
    refuses: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "podium.executors.ray", raising=False)
    ray = "train pairs.csv --model factorization --ray local --out model"
    refuses(ray, " | podium[ray]")

    def full(**kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    refuses(shlex.join(FIT), " | --out 'No space left'")


SMALL = ("--set", "n_factors=4", "--set", "n_epochs=9")
GRID = ("--grid", "l2=0.01,0.2", "--grid", "learning_rate=log(0.05,0.2)", "--budget", "3")
TRAIN = ("train", "all pairs.csv", "--model", "factorization", *SMALL, "--out", "model")
TUNE = (*TRAIN, "--set", "similarity=dot", "--tune", *GRID)


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
    assert "tried 3 candidates; best " in done.err
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


def test_time_limits_the_search(podium: Run) -> None:
    argv = (*TRAIN, "--tune")
    assert podium(*TRAIN).status == 0  # kernels are compiled
    done = podium(*argv, "--budget", "0.3s", "--tune-table", "t.csv")
    assert done.status == 0, done.err
    assert pl.read_csv("t.csv").height > 1
    assert podium(*argv, "--budget", "0.0001m").status == 0


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
    assert "interrupted after pass 4; wrote model; --resume continues from model." in done.err
    done = podium(*TUNE, "--resume")
    assert "; 9 passes; " in done.err
    assert Path("model").read_bytes() == before
    assert not list(Path().glob("model.*"))


OF_TUNE = """
--tune --budget 0m | --budget
--tune --budget 1.5 | --budget
--tune --budget '10 days' | --budget
--tune --valid-share 1 | --valid-share
--tune --valid valid.csv --valid-share 0.1 | --valid --valid-share
--tune --grid n_factors=8 | --grid n_factors
"""


def test_refusals_come_before_the_file_is_read(refuses: Callable[[str, str], None]) -> None:
    Path("all pairs.csv").write_text("neither users,nor items\n1,2\n")
    refuses(shlex.join(TRAIN), OF_TUNE)
