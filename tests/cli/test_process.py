"""What only a process shows: exit statuses, pipes, signals, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import interrupted

MEASURE = ("measure", "truth.csv", "a.csv", "-m", "recall@2")
PODIUM = (sys.executable, "-m", "podium")

NEEDS_DEVICES = pytest.mark.skipif(
    not Path("/dev/stdout").exists(), reason="there is no /dev/stdout"
)


def run(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PODIUM, *argv],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, **environment},
    )


def test_result_goes_to_stdout_and_nothing_to_stderr(podium: Callable[..., Any]) -> None:
    done = run(*MEASURE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == podium(*MEASURE).out
    assert not {"\x1b", "…"} & set(done.stdout)


@pytest.mark.long
def test_result_is_utf8_whatever_the_locale(podium: Callable[..., Any]) -> None:
    rows = "".join(f"ü{user},日{item}\n" for user in range(4) for item in range(user, user + 4))
    Path("pairs.csv").write_text("user,item\n" + rows, encoding="utf-8")
    train = "train --model factorization pairs.csv --set n_factors=2 --set n_epochs=1 -o model"
    assert podium(*train.split()).out == ""
    done = run("recommend", "model", "-k", "1", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == podium("recommend", "model", "-k", "1").out
    assert "ü0,日" in done.stdout


@pytest.mark.long
@NEEDS_DEVICES
def test_device_without_a_suffix_gets_csv(podium: Callable[..., Any]) -> None:
    Path("rows.csv").write_text("user,item,relevance,x\n1,1,1,2.5\n1,2,0,0.5\n2,1,0,1\n2,2,1,3\n")
    assert podium("train", "rows.csv", "--loss", "logistic", "-o", "ranker").status == 0
    train = "train --model factorization rows.csv --set n_factors=2 -o model"
    assert podium(*train.split()).status == 0
    for argv in (("rank", "ranker", "rows.csv"), ("recommend", "model", "--include-seen")):
        done = run(*argv, "--out", "/dev/stdout")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == podium(*argv).out
        assert done.stdout.startswith("user,item,score\n")
        assert podium(*argv, "--out", "/dev/null").status == 0


def test_error_goes_to_stderr_and_nothing_to_stdout() -> None:
    done = run("measure", "truth.csv", "none.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "podium: error: none.csv does not exist. Pass the path of the run.\n"


@pytest.mark.long
@pytest.mark.parametrize("before", [None, b"a model"])
@pytest.mark.parametrize("asked_by", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_training_quietly(
    learnable: Callable[[int], str], before: bytes | None, asked_by: signal.Signals
) -> None:
    Path("rows.svmlight").write_text(learnable(0))
    if before is not None:
        Path("model").write_bytes(before)
    there = sorted(Path().iterdir())
    line = "train rows.svmlight --loss pap-avg -k 2 --set tol=0 --set max_iter=99999999 --out model"
    done = interrupted("_rankers", 3, line, asked_by)
    assert done == (130, "podium: interrupted.\n")
    assert sorted(Path().iterdir()) == there
    assert before is None or Path("model").read_bytes() == before


# Gets an interrupt as it loads the command line: in plain code, in a callback, in an exec().
LOADING = """
import builtins, os, signal, sys, weakref

load = builtins.__import__

class Thing:
    pass

def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)

def interrupted(name, *rest):
    if name == "typer":
        if sys.argv[1] == "code":
            interrupt()
        elif sys.argv[1] == "exec":
            exec("interrupt()")
        else:
            thing = Thing()
            reference = weakref.ref(thing, interrupt)
            del thing
    return load(name, *rest)

signal.signal(signal.SIGINT, signal.default_int_handler)

from podium.__main__ import main
builtins.__import__ = interrupted
main()
"""


@pytest.mark.parametrize("place", ["code", "callback", "exec"])
def test_interrupt_of_a_program_that_loads_is_quiet(place: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADING, place], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "podium: interrupted.\n")


@pytest.mark.long
@pytest.mark.parametrize("out", [(), pytest.param(("--out", "/dev/stdout"), marks=NEEDS_DEVICES)])
def test_reader_that_leaves_is_no_error(podium: Callable[..., Any], out: tuple[str, ...]) -> None:
    """The run is longer than a pipe holds, so the writer is still at it when the reader goes."""
    rows = "".join(f"{u},{i},{i % 2},{i}.25\n" for u in range(500) for i in range(40))
    Path("rows.csv").write_text("user,item,relevance,x\n" + rows)
    assert podium("train", "rows.csv", "--loss", "logistic", "-o", "model").status == 0
    # Unbuffered, Python itself drops the rest of a write that was cut short, and says nothing.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*PODIUM, "rank", "model", "rows.csv", *out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=usual,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "user,item,score\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
