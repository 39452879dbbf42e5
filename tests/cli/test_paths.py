"""No command writes over a file that it reads, or writes two results to one place."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.cli import app
from podium.cli._options import WRITTEN

Run = Callable[..., Any]

FACTORIZE = (
    *("train", "past.csv", "--model", "factorization"),
    *("--set", "n_factors=2", "--set", "n_epochs=1", "--out"),
)
READ = {
    "split": {"events"},
    "measure": {"truth", "run", "users", "catalogue", "items"},
    "compare": {"truth", "runs", "train", "users", "catalogue", "items"},
    "gate": {"truth", "base", "candidate", "train", "users", "catalogue", "items"},
    "audit": {"train", "test", "runs"},
    "protocol": {"truth", "run"},
    "explain": {"truth", "run", "other_truth", "other_run", "values"},
    "train": {"data", "valid"},
    "rank": {"model", "data"},
    "recommend": {"model", "users", "allow", "deny", "fallback"},
    "estimate": {"files", "seen"},
    "plan": {"seen", "pilot"},
    "demo": {"out"},  # a folder, and nothing is read
    "reproduce": {"out", "data"},  # the library refuses one that lies in the other
}


def test_each_path_is_marked_as_written_or_is_read() -> None:
    for command in app.registered_commands:
        if command.hidden:
            continue
        assert command.callback is not None
        parameters = inspect.signature(command.callback).parameters.values()
        paths = {p.name for p in parameters if "Path" in str(p.annotation).split(",")[0]}
        marks = {p.name for p in parameters if WRITTEN in getattr(p.annotation, "__metadata__", ())}
        name = command.callback.__name__
        assert paths - marks - {"protocol"} == READ[name], (
            f"mark what {name} writes as WRITTEN, or add it above"
        )


@pytest.fixture
def files(podium: Run, learnable: Callable[[int], str]) -> None:
    """Write something that each command reads."""
    Path("rows.csv").write_text(
        "user,item,label,x\n"
        + "".join(f"{u},{i},{i % 2},{i % 2}\n" for u in "ab" for i in range(4))
    )
    Path("rows.svmlight").write_text(learnable(0))
    for argv in (
        ("train", "rows.csv", "--loss", "logistic", "--out", "ranker"),
        (*FACTORIZE, "factors"),
    ):
        assert podium(*argv).status == 0


COMMANDS = {
    "split": ("split past.csv --by random", "--out"),
    "measure": ("measure truth.csv a.csv --users users.csv --by country", "--per-user"),
    "measure catalogue": ("measure truth.csv a.csv -m gini@2 --catalogue past.csv", "--per-user"),
    "measure report": ("measure truth.csv a.csv", "--report"),
    "compare": ("compare truth.csv a.csv b.csv", "--per-user"),
    "compare report": ("compare truth.csv a.csv b.csv", "--report"),
    "gate": ("gate truth.csv a.csv b.csv --users users.csv --by country", "--state"),
    "gate report": ("gate truth.csv a.csv b.csv", "--report"),
    "audit report": ("audit past.csv truth.csv a.csv", "--report"),
    "gate labels": ("gate truth.csv a.csv b.csv --unjudged bounds", "--labels"),
    "gate catalogue": ("gate truth.csv a.csv b.csv --guard gini@2:1 --catalogue past.csv", "--out"),
    "train": ("train rows.csv --valid rows.csv --loss logistic", "--out"),
    "train several": ("train rows.svmlight rows.svmlight", "--out"),
    "train table": ("train rows.csv --tune --out other", "--tune-table"),
    "train recommender": ("train past.csv --model ease --valid truth.csv --tune", "--out"),
    "rank": ("rank ranker rows.csv", "--out"),
    "recommend": ("recommend factors --users users.csv --allow past.csv --deny a.csv", "--out"),
}


def _bytes() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().iterdir() if path.is_file()}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("argv", "option"), COMMANDS.values(), ids=COMMANDS)
def test_input_is_not_written_over(podium: Run, argv: str, option: str) -> None:
    inputs = dict.fromkeys(word for word in argv.split() if Path(word).is_file())
    assert inputs
    for name in inputs:
        others = [name, f"./../{Path.cwd().name}/{name}", str(Path(name).absolute())]
        if os.name == "posix":  # links need a right elsewhere
            Path(f"soft-{name}").symlink_to(name)
            Path(f"hard-{name}").hardlink_to(name)
            others += [f"soft-{name}", f"hard-{name}"]
        before = _bytes()
        for out in others:
            done = podium(*argv.split(), option, out)
            assert done.status == 2
            assert done.message.startswith(f"{option} {Path(out)} is the same file as ")
            assert f" {name}, which is read" in done.message
        assert _bytes() == before


def test_checkpoint_is_not_written_over_what_is_read(podium: Run) -> None:
    Path("past.csv").rename("m.checkpoint")
    done = podium("train", "--model", "factorization", "m.checkpoint", "--out", "m")
    assert "DATA must not be the .checkpoint" in done.message


@pytest.mark.usefixtures("files")
def test_two_results_do_not_go_to_one_place(podium: Run) -> None:
    for argv in (
        ("measure", "truth.csv", "a.csv", "--report", "x.html", "--per-user", "x.html"),
        ("train", "rows.csv", "--tune", "--tune-table", "x.csv", "--out", "./x.csv"),
    ):
        done = podium(*argv)
        assert done.message.endswith(" x.html, which is written too. Name another file.") or (
            done.message.endswith(" x.csv, which is written too. Name another file.")
        )
    assert not list(Path().glob("x.*"))


@pytest.mark.skipif(os.name != "posix", reason="there are no such pipes")
def test_model_may_go_to_a_pipe(podium: Run) -> None:
    assert podium(*FACTORIZE, "m").status == 0
    before = _bytes()
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert podium(*FACTORIZE, "pipe").status == 0
        assert os.read(reader, 2**20) == before["m"]
    finally:
        os.close(reader)
    assert Path("pipe").is_fifo()
    assert _bytes() == before
    done = podium(*FACTORIZE, "pipe", "--resume")
    assert done.message.startswith(
        "--resume needs a checkpoint beside --out, but pipe is not a file"
    )
