"""A process that was forked works, or says at once that it can't: it never waits for ever.

Each child is forked from a process of its own, which has no threads of the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from podium import data

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

AT_MOST = 600.0  # seconds: only a child that hangs takes so long

FORK = """
import os, sys, traceback
import numpy as np, polars as pl, pyarrow as pa
import podium
from podium import data
from podium.data.appending import append_table
from podium.errors import ForkError

TRUTH = {"user": np.array([1, 1, 2]), "item": np.array([1, 2, 3])}
RUN = {"user": np.array([1, 1, 2]), "item": np.array([1, 9, 3]), "score": np.array([3.0, 2.0, 1.0])}
TEXT = {"user": ["a", "a", "b"], "item": ["x", "y", "z"]}

def measured(truth, run):
    return podium.measure(truth, run, ["recall@2"]).means["recall@2"]

def texts():
    return measured(TEXT, {**TEXT, "score": [3.0, 2.0, 1.0]})

def rows(n_threads):
    from podium.rankers import LightGBMRanker
    rng = np.random.default_rng(0)
    X, y, qid = rng.random((400, 3)), np.arange(400) % 4 == 0, np.repeat(np.arange(40), 10)
    return LightGBMRanker("logistic", n_trees=2, n_threads=n_threads).fit(X, y, qid=qid).predict(X)

def factors():
    from podium.executors import Threads
    from podium.recommenders import Factorization
    model = Factorization(n_factors=2, n_epochs=2, n_blocks=2)
    return model.fit(TRUTH, executor=Threads(2)).item_bias_

def appended():
    with append_table("appended.parquet") as append:
        append(RUN)

def columns():
    table = {"user": [1, 2], "country": ["FR", None]}
    from podium.data.users import user_column

    return user_column(table, "country", np.array([1, 2]))

DO = {
    "csv": lambda: measured("truth.csv", "run.csv"),
    "parquet": lambda: data.read_run("run.parquet"),
    "arrow file": lambda: data.read_run("run.arrow"),
    "trec": lambda: data.read_run("run.trec"),
    "texts": texts,
    "lazy": lambda: measured(TRUTH, pl.LazyFrame(RUN)),
    "arrow": lambda: measured(TRUTH, pa.table(RUN)),
    "frames": lambda: measured(pl.DataFrame(TRUTH), pl.DataFrame(RUN)),
    "arrays": lambda: measured(TRUTH, RUN),
    "write": lambda: data.write_table(RUN, "written.csv"),
    "append": appended,
    "retail": data.load_onlineretail,
    "factors": factors,
    "one thread": lambda: rows(1),
    "two threads": lambda: rows(2),
    "users": columns,
}

before, *afterwards = sys.argv[1:]
DO[before]()
for after in afterwards:
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    try:
        DO[after]()
        print(after, "went well")
    except ForkError as error:
        print(after, error)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(0)
"""

LOST = (
    "This process was forked after {} had started its threads, and would wait for them forever. "
    "Start processes with multiprocessing.get_context('spawn')."
)
WELL = "went well"
POLARS = (
    "csv", "parquet", "arrow file", "trec", "texts", "lazy", "arrow", "write", "append", "retail",
    "users",
)  # fmt: skip
NO_THREADS = ("frames", "arrays", "factors")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with a truth, and a run in every format."""
    run = {"user": [1, 1, 2], "item": [1, 9, 3], "score": [3.0, 2.0, 1.0]}
    for suffix in ("csv", "parquet", "arrow"):
        data.write_table(run, tmp_path / f"run.{suffix}")
    data.write_table({"user": [1, 1, 2], "item": [1, 2, 3]}, tmp_path / "truth.csv")
    (tmp_path / "run.trec").write_text("1 Q0 1 1 3.0 t\n1 Q0 9 2 2.0 t\n", encoding="utf-8")
    return tmp_path


def forked(folder: Path, before: str, *afterwards: str) -> list[str]:
    """Return what children said that did one thing each, of a process that did another before."""
    argv = [sys.executable, "-W", "ignore", "-c", FORK, before, *afterwards]
    done = subprocess.run(
        argv, capture_output=True, text=True, cwd=folder, timeout=AT_MOST, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.long
def test_use_of_lost_threads_is_refused(files: Path) -> None:
    said = forked(files, "csv", *POLARS, *NO_THREADS)
    refused = [f"{after} {LOST.format('Polars')}" for after in POLARS]
    assert said == [*refused, *(f"{after} {WELL}" for after in NO_THREADS)]


@pytest.mark.long
def test_threads_begin_in_a_process_forked_before_they_did(files: Path) -> None:
    every = (*POLARS, *NO_THREADS)
    assert forked(files, "arrays", *every) == [f"{after} {WELL}" for after in every]


@pytest.mark.long
@pytest.mark.parametrize("before", ["one thread", "two threads"])
def test_lost_threads_of_boosting_are_refused(files: Path, before: str) -> None:
    pytest.importorskip("lightgbm", reason="LightGBM is absent: pip install 'podium[boosting]'")
    said = LOST.format("LightGBM or XGBoost") if before == "two threads" else WELL
    both = ("one thread", "two threads")
    assert forked(files, before, *both) == [f"{after} {said}" for after in both]
