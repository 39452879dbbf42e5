"""podium train --model factorization: what it reads, learns, keeps and refuses."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium import data
from podium.recommenders import Factorization
from podium.recommenders.factorization._descent import Descent

Run = Callable[..., Any]
N_USERS, N_ITEMS = 60, 40


def train(*argv: str, table: str = "pairs.csv", **params: object) -> tuple[str, ...]:
    """Return a command that fits a small model; parameters are set with --set."""
    sets = {"n_factors": 4, "n_epochs": 6, **params}
    words = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    return ("train", table, "--model", "factorization", "--threads", "1", *words, *argv)


FIT = train("--out", "model")
SUMMARY = re.compile(
    r"(?:podium: the weight of a pair is its value, with value from 1 to 3; [^\n]+\n)?"
    r"podium: 60 users, 40 items, (\d+) pairs in \d blocks?; "
    r"6 passes in \d+\.\d s \(\S+ million updates/s\)\n"
    r"podium: cost (0\.\d{4}); wrote model\n"
)


@pytest.fixture(autouse=True)
def pairs() -> pl.DataFrame:
    """Write pairs.csv, where users of two kinds like items of two kinds, and held-out pairs."""
    rng = np.random.default_rng(0)
    likes = rng.random((N_USERS, N_ITEMS))
    likes = likes < np.where(np.add.outer(np.arange(N_USERS), np.arange(N_ITEMS)) % 2, 0.5, 0.02)
    user, item = np.nonzero(likes)
    held_out = rng.random(user.size) < 0.2
    frame = pl.DataFrame({"user": user, "item": item, "value": 1.0 + item % 3})
    frame.filter(~pl.Series(held_out)).write_csv("pairs.csv")
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
    options = ("--l2", "0.01", "--learning-rate", "0.2", "--seed", "5", "--loss", "type2")
    own = {"n_blocks": 2, "n_negatives": 3, "xi_rate": 0.5, "decay": "none"}
    model = fitted(podium, *train(*options, "--gain", "exp2", **own))
    library = Factorization(4, n_epochs=6, l2=0.01, learning_rate=0.2, random_state=5, n_blocks=2)
    library.set_params(loss="type2", n_negatives=3, gain="exp2", xi_rate=0.5, decay="none")
    assert same(model, library.fit(pairs))
    assert model.get_params() == library.get_params()


def test_summary_says_what_was_learned_from_what(podium: Run, pairs: pl.DataFrame) -> None:
    done = podium(*FIT)
    assert (done.status, done.out) == (0, "")
    found = SUMMARY.fullmatch(done.err)
    assert found, done.err
    assert int(found[1]) == pairs.height
    cost = Factorization.load("model").history_["cost"][-1]
    assert found[2] == f"{cost:.4f}"


@pytest.mark.parametrize("suffix", [".parquet", ".csv.gz", ".tsv", ".arrow"])
def test_any_table_gives_the_same_model(podium: Run, pairs: pl.DataFrame, suffix: str) -> None:
    data.write_table(pairs.to_dict(), f"pairs{suffix}")
    one, two = (
        fitted(podium, *FIT),
        fitted(podium, *train(table=f"pairs{suffix}")),
    )
    assert same(one, two)
    assert np.asarray(one.user_labels_).tolist() == np.asarray(two.user_labels_).tolist()


def test_columns_are_named_and_times_not_looked_at(podium: Run, pairs: pl.DataFrame) -> None:
    own = pairs.select(
        pl.col("user").alias("who"),
        pl.col("item").alias("what"),
        pl.lit("31/12/99").alias("time"),
        pl.lit(0.0).alias("value"),
        pl.col("value").alias("stars"),
    )
    own.write_csv("own.csv")
    names = ("--column", "user=who", "--column", "item=what", "--column", "value=stars")
    assert same(
        fitted(podium, *FIT),
        fitted(podium, *train(*names, table="own.csv")),
    )


def test_without_values_a_pair_weighs_one(podium: Run, pairs: pl.DataFrame) -> None:
    pairs.select("user", "item").write_csv("bare.csv")
    bare = fitted(podium, *train(table="bare.csv"))
    assert same(bare, fitted(podium, *FIT, "--gain", "one"))
    assert not same(bare, fitted(podium, *FIT))


def test_threads_change_nothing(podium: Run) -> None:
    argv = [word for word in train(n_blocks=4, n_epochs=3) if word not in ("--threads", "1")]
    fitted(podium, *argv, "--threads", "1", out="one")
    fitted(podium, *argv, "--threads", "3", out="three")
    assert Path("one").read_bytes() == Path("three").read_bytes()


@pytest.mark.long
def test_best_pass_on_held_out_pairs_is_kept(podium: Run) -> None:
    done = podium(
        *train("--valid", "valid.csv", "--eval-metric", "recall@5", "-o", "model", n_epochs=12)
    )
    model = Factorization.load("model")
    values = model.history_["validation"]
    best = int(np.argmax(values))
    assert values.size == 12
    assert f"recall@5 on valid.csv {values[best]:.4f}; wrote model\n" in done.err
    assert f"cost {model.history_['cost'][best]:.4f}, recall@5" in done.err
    assert "validation included)" in done.err
    assert (f", kept pass {best + 1}\n" in done.err) == (best + 1 < 12)


def test_patience_stops(podium: Run) -> None:
    argv = ("--valid", "valid.csv", "--patience", "2", "--out", "model")
    done = podium(*train(*argv, n_epochs=200, decay="none"))
    n_made = len(Factorization.load("model").history_["cost"])
    assert n_made < 200
    assert f"; {n_made} passes in " in done.err
    assert f", stopped by --patience, kept pass {n_made - 2}\n" in done.err


@pytest.mark.parametrize("text", [False, True])
def test_held_out_pairs_of_strangers_are_left_out_and_told(podium: Run, text: bool) -> None:
    known = pl.read_csv("valid.csv")
    argv = (*FIT, "--valid")
    alone = fitted(podium, *argv, "valid.csv")
    strangers = pl.DataFrame({"user": [0, 999], "item": [777, 0]})
    mixed = pl.concat([strangers, known]).cast(pl.String if text else pl.Int64)
    if text:
        mixed = mixed.with_columns(pl.col("user").replace("999", "u999"))
    mixed.write_parquet("mixed.parquet")
    done = podium(*argv, "mixed.parquet")
    assert done.err.startswith(
        f"podium: mixed.parquet: 2 of {mixed.height} rows left out, because DATA "
        "lacks their user or item.\n"
    )
    model = Factorization.load("model")
    assert np.array_equal(alone.history_["validation"], model.history_["validation"])


def stopping(at: int) -> Callable[[str], Any]:
    """Return a progress bar that interrupts after a pass, as Ctrl-C would."""

    @contextmanager
    def progress(what: str) -> Generator[Any]:
        del what

        def show(done: int, total: int, note: str) -> None:
            del total, note
            if done == at:
                raise KeyboardInterrupt

        yield show

    return progress


@pytest.fixture
def stopped(podium: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Interrupt a fit after its second pass."""
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["podium.cli._recommending"], "progress", stopping(2))
        return podium(*FIT)


def test_interrupt_keeps_the_last_pass(stopped: Any) -> None:
    assert stopped.status == 130
    assert stopped.err == (
        "podium: interrupted after pass 2 of 6; wrote model; --resume continues from "
        "model.checkpoint.\npodium: interrupted.\n"
    )
    model = Factorization.load("model")
    assert (model.n_epochs_, model.stop_reason_) == (2, "interrupted")


@pytest.mark.usefixtures("stopped")
def test_resumed_fit_ends_with_the_same_bits(podium: Run) -> None:
    done = podium(*FIT, "--resume")
    assert "; 4 passes in " in done.err
    assert not Path("model.checkpoint").exists()
    fitted(podium, *FIT, out="whole")
    assert Path("model").read_bytes() == Path("whole").read_bytes()


@pytest.mark.usefixtures("stopped")
def test_checkpoint_that_is_not_gone_on_from_is_told(podium: Run) -> None:
    done = podium(*FIT)
    first, rest = done.err.split("\n", 1)
    assert first == (
        "podium: starting a new fit; --resume would have continued from model.checkpoint."
    )
    assert SUMMARY.fullmatch(rest)


def test_resume_without_a_checkpoint_warns(podium: Run) -> None:
    first, rest = podium(*FIT, "--resume").err.split("\n", 1)
    assert first == (
        "podium: warning: There is no checkpoint model.checkpoint. "
        "The fit starts from the first pass."
    )
    assert SUMMARY.fullmatch(rest)


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("argv", "pattern"),
    [
        (train("--learning-rate", "0.3"), r"settings: --learning-rate was 0\.1, is 0\.3\. "),
        (train(n_epochs=9, n_blocks=2), r"n_epochs was 6, is 9, \S* ?n_blocks was \d, is 2\."),
        (train("--gain", "one"), r"^checkpoint model\.checkpoint belongs to a fit with other int"),
        (train("--valid", "valid.csv"), r"belongs to a fit with another --valid,"),
    ],
)
def test_checkpoint_of_another_fit_is_refused(
    podium: Run, argv: tuple[str, ...], pattern: str
) -> None:
    before = Path("model.checkpoint").read_bytes(), Path("model").read_bytes()
    done = podium(*argv, "--resume", "--out", "model")
    assert done.status == 2
    assert re.search(pattern, done.message), done.message
    assert (Path("model.checkpoint").read_bytes(), Path("model").read_bytes()) == before


@pytest.mark.usefixtures("stopped")
def test_damaged_checkpoint_is_refused(podium: Run) -> None:
    whole = Path("model.checkpoint").read_bytes()
    Path("model.checkpoint").write_bytes(whole[: len(whole) // 2])
    done = podium(*FIT, "--resume")
    assert done.status == 2
    assert done.message.startswith("model.checkpoint is truncated")


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


# Says on stdout when a pass is done, and takes signals whoever started it.
ENDLESS = """
import contextlib, signal, sys
from podium.cli import main

@contextlib.contextmanager
def progress(what):
    yield lambda done, total, note: print(done, flush=True) if done == 3 else None

sys.modules["podium.cli._recommending"].progress = progress
signal.signal(signal.SIGINT, signal.default_int_handler)
main(["train", "--model", "factorization", "pairs.csv", "--set", "n_factors=4", "--set",
      "n_epochs=1000000", "--out", "model", "--threads", sys.argv[1]])
"""


@pytest.mark.long
@pytest.mark.parametrize("threads", ["1", "2"])
def test_real_interrupt_leaves_a_model_and_a_checkpoint(podium: Run, threads: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, threads],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "3\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    found = re.fullmatch(
        r"podium: interrupted after pass (\d+) of 1000000; wrote model; --resume continues from "
        r"model\.checkpoint\.\npodium: interrupted\.\n",
        said,
    )
    assert found, said
    assert Factorization.load("model").n_epochs_ == int(found[1]) >= 3
    assert podium("recommend", "model", "-k", "3", "--out", "run.csv").status == 0
    assert not list(Path().glob(".*"))  # nothing half-written beside them


BAD_TABLES = {
    "empty": ("", "empty"),
    "negative": ("user,item,value\n7,1,1\n7,2,-3\n", r"-3 at line 3 \(user 7\)"),
    "nan": ("user,item,value\n7,1,1\n7,2,nan\n", r"1 non-finite .*line 3"),
    "zeros": ("user,item,value\n7,1,0\n", r"value is 0 in every row"),
    "no user": ("who,item\n7,1\n", r"pass --column user=NAME\."),
    "no item": ("user,what\n7,1\n", r"pass --column item=NAME\."),
    "grades": ("user,item,value\n7,1,1\n7,2,61\n", r"--gain exp2 takes grades up to 60, .*line 3"),
}


@pytest.mark.parametrize(("text", "pattern"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_table_is_refused(podium: Run, text: str, pattern: str) -> None:
    Path("bad.csv").write_text(text)
    done = podium(*train("--gain", "exp2", "--out", "model", table="bad.csv"))
    assert re.search(pattern, done.message), done.message
    assert (done.status, done.out) == (2, "")
    assert not Path("model").exists()


BAD_OPTIONS = {
    "many blocks": (train(n_blocks=41), r"n_blocks must be at most .* 60 and 40, got 41"),
    "threads": (train("--threads", "0"), r"^--threads must be an integer >= 1"),
    "loss": (train("--loss", "robirnak"), r"^--loss must be .* Did you mean 'robirank'\?"),
    "set": (train(dcay="none"), r"dcay"),
    "set a value": (train(xi="exat"), r"xi must be .* Did you mean 'exact'\?"),
    "patience": (train("--patience", "3"), r"^--patience needs --valid"),
    "measure": (train("--eval-metric", "rr"), r"^--eval-metric needs --valid"),
    "seen": (
        train("--valid", "pairs.csv"),
        r"^--valid has no user for .* the model has not seen, or",
    ),
    "strangers": (train("--valid", "truth.csv"), r"^truth\.csv has no row whose"),
    "one column": (train("--column", "user=item"), r"'item' can't be both the user and the item"),
    "role": (train("--column", "usr=item"), r"the ROLE of --column .* Did you mean 'user'\?"),
    "another role": (
        train("--column", "relevance=item"),
        r"^--column relevance=NAME has no effect",
    ),
    "memory": (train(n_factors=10**12), r"n_factors.* needs 4e\+05 GB for .* of 60 users"),
    "workers": (train("--workers", "2"), r"^--workers needs --ray"),
    "both": (train("--ray", "local"), r"^--threads and --ray exclude each other, "),
    "diverges": (train("--learning-rate", "1e6"), r"^--learning-rate 1e\+06 diverges in the first"),
    "folder": (train("--out", "none/model"), r"there is no folder none\."),
    "is one": (train("--out", "."), r"^--out must be a file, but \. is a folder"),
    "input": (train("--out", "pairs.csv"), r"^--out pairs\.csv is the same file as DATA pairs"),
}


@pytest.mark.parametrize(("argv", "pattern"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_option_is_refused(podium: Run, argv: tuple[str, ...], pattern: str) -> None:
    pl.DataFrame({"user": [5], "item": [99]}).write_csv("truth.csv")
    there = {path: path.read_bytes() for path in Path().iterdir()}
    done = podium(*argv, *(() if "--out" in argv else ("--out", "model")))
    assert re.search(pattern, done.message), done.message
    assert (done.status, done.out) == (2, "")
    assert {path: path.read_bytes() for path in Path().iterdir()} == there


def test_memory_that_runs_out_is_told(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine holds 400 TB, even one that would not tell how much memory it has."""
    monkeypatch.setattr(sys.modules["podium.cli._recommending"], "_memory", lambda: 2**62)
    done = podium(*train("--out", "model", n_factors=10**12))
    assert (done.status, done.out) == (2, "")
    assert re.match(r"there is not enough memory for the fit \(.*\)\. Lower ", done.message)


def test_folder_that_takes_no_file_is_told_before_the_fit(
    podium: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    done = podium(*FIT)
    assert done.message == "--out model can't be written: No space left on device."


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
    assert "; 0 passes in " in podium(*FIT, "--resume").err
    fitted(podium, *FIT, out="whole")
    assert Path("model").read_bytes() == Path("whole").read_bytes()


def test_steps_that_diverge_later_leave_the_pass_before(
    podium: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = Descent.epoch

    def wild(descent: Any, number: int) -> Any:
        if number == 3:
            descent.close()
            return None
        return epoch(descent, number)

    monkeypatch.setattr(Descent, "epoch", wild)
    done = podium(*FIT)
    warning, _, course, _ = done.err.splitlines()
    assert warning.startswith("podium: warning: Factorization diverged in pass 4. ")
    assert warning.endswith(" Try --learning-rate 0.025.")
    assert "; 3 passes in " in course
    assert course.endswith(", then it diverged")
    assert Factorization.load("model").n_epochs_ == 3
    assert not Path("model.checkpoint").exists()


def test_missing_ray_is_told_how_to_install(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "podium.executors.ray", raising=False)
    done = podium("train", "pairs.csv", "--model", "factorization", "--ray", "local", "-o", "model")
    assert done.status == 2
    assert re.search(r"pip install .podium\[ray\]", done.message), done.message


@pytest.mark.long
def test_ray_makes_the_same_bits(podium: Run) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    argv = [word for word in train(n_blocks=2, n_epochs=2) if word not in ("--threads", "1")]
    fitted(podium, *argv, "--threads", "1", out="one")
    done = subprocess.run(  # a process of its own: Ray starts threads that outlive a test
        [sys.executable, "-m", "podium", *argv, "--ray", "local", "--workers", "2", "-o", "two"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert Path("one").read_bytes() == Path("two").read_bytes()


@pytest.fixture
def rated() -> None:
    """Write ratings from 1 to 5, and held-out ones."""
    rng = np.random.default_rng(2)
    user, item = (each.ravel() for each in np.indices((30, 20)))
    frame = pl.DataFrame({"user": user, "item": item, "rating": rng.integers(1, 6, 600)})
    place = pl.Series(rng.random(600))
    frame.filter(place < 0.5).write_csv("ratings.csv")
    frame.filter(place > 0.8).write_csv("later.csv")


@pytest.mark.usefixtures("rated")
def test_weight_of_a_rating_is_told(podium: Run) -> None:
    for options, told in (
        ((), "the weight of a pair is its rating, with rating from 1 to 5; "),
        (("--gain", "exp2"), "the weight of a pair is 2^rating - 1, with rating from 1 to 5; "),
        (
            ("--min-relevance", "4"),
            "rows have rating >= 4 and are positive; the weight of a pair is 1\n",
        ),
        (
            ("--min-relevance", "4", "--gain", "value"),
            "are positive; the weight of a pair is its rating\n",
        ),
    ):
        assert told in podium(*train(*options, "--out", "m", table="ratings.csv")).err
    pl.read_csv("ratings.csv").select("user", "item").write_csv("pairs.csv")
    assert "weight" not in podium(*FIT).err


@pytest.mark.usefixtures("rated")
def test_model_of_ratings_from_a_threshold_is_that_of_their_pairs(podium: Run) -> None:
    high = pl.read_csv("ratings.csv").filter(pl.col("rating") >= 4)
    high.select("user", "item").write_csv("high.csv")
    argv = ("--min-relevance", "4")
    rated = fitted(podium, *train(*argv, table="ratings.csv"))
    assert same(fitted(podium, *train(table="high.csv")), rated)
    pl.read_csv("later.csv").filter(pl.col("rating") >= 4).write_csv("true.csv")
    one, two = (
        fitted(podium, *train(*argv, "--valid", file, table="ratings.csv"))
        for file in ("later.csv", "true.csv")
    )
    np.testing.assert_array_equal(one.history_["validation"], two.history_["validation"])
    assert same(one, two)


@pytest.mark.usefixtures("rated")
def test_what_was_rated_low_is_not_recommended(podium: Run) -> None:
    fitted(podium, *train("--min-relevance", "4", table="ratings.csv"))
    assert podium("recommend", "model", "-k", "20", "--out", "run.csv").status == 0
    pairs = pl.read_csv("ratings.csv").select("user", "item")
    assert pl.read_csv("run.csv").join(pairs, on=["user", "item"]).is_empty()


@pytest.mark.usefixtures("rated")
def test_threshold_needs_values_that_reach_it(podium: Run) -> None:
    pl.read_csv("ratings.csv").select("user", "item").write_csv("past.csv")
    for table, threshold, told in (
        ("ratings.csv", "6", "the highest is 5"),
        ("ratings.csv", "0", "must be a number > 0, got 0"),
        ("past.csv", "4", "no column of values"),
    ):
        done = podium(*train("--min-relevance", threshold, "--out", "m", table=table))
        assert done.status == 2
        assert told in done.message


@pytest.mark.usefixtures("rated")
def test_held_out_ratings_that_all_count_are_told(podium: Run) -> None:
    done = podium(*train("--valid", "later.csv", "--out", "m", table="ratings.csv"))
    assert "podium: later.csv: every rating is a positive. Pass --min-relevance X to" in done.err
