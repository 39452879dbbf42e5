"""Commands that are killed while they write, and checks of the files that they leave.

A process kills itself when it opens, moves, or removes a file in its folder for the n-th time, or a
few milliseconds later. At any moment every file must be the complete old or new one. The same
command must then end with the results of an uninterrupted run, and leave no other files.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz import corpus, tables
from tests.fuzz.pool import ROOT, Input, Problem

_OLD = b"what was there before"
_FIT = "train --model factorization pairs.csv --set n_factors=3 --set n_epochs=5"


@dataclass(frozen=True)
class Command:
    """The arguments of `podium`, its output files, and the options that resume after a kill."""

    line: str
    outputs: tuple[str, ...]
    resume: tuple[str, ...] = ()
    checkpoint: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        """The arguments as words."""
        return tuple(self.line.split())


COMMANDS = (
    Command(
        "measure truth.csv run.csv -m recall@3 --per-user each.parquet --report page.html",
        ("each.parquet", "page.html"),
    ),
    Command("train rows.csv -k 2 --set max_iter=9 --out model", ("model",)),
    Command("rank linear rows.csv --out run.tsv", ("run.tsv",)),
    Command("recommend factors --out best.arrow", ("best.arrow",)),
    *[Command(f"{_FIT} --valid valid.csv --out made", ("made",), ("--resume",), "made.checkpoint")]
    * 2,
)


def run(seed: int, indices: range) -> Iterator[list[Problem]]:
    """Kill a command for each index, and yield the problems."""
    with tempfile.TemporaryDirectory() as folder:
        corpus_folder = Path(folder, "corpus")
        corpus_folder.mkdir()
        corpus_files = {**corpus.make(corpus_folder), **_made()}
        for index in indices:
            command = COMMANDS[index % len(COMMANDS)]
            rng = random.Random(f"kills/{seed}/{index}")
            yield [
                Problem(Input("kills", seed, index), " ".join(command.argv), problem, detail)
                for problem, detail in _killed(command, corpus_files, rng)
            ]


def _made() -> dict[str, bytes]:
    rng = random.Random(0)
    truth = tables.truth(rng)
    pairs = [("user", [0, 1, 2, 3]), ("item", [3, 8, 1, 9])]
    return {
        "truth.csv": tables.write(truth, "csv"),
        "run.csv": tables.write(tables.run(rng, truth), "csv"),
        "valid.csv": tables.write(pairs, "csv"),
    }


def _killed(
    command: Command, whole: dict[str, bytes], rng: random.Random
) -> Iterator[tuple[str, str]]:
    inputs = {name: whole[name] for name in command.argv if name in whole}
    before = inputs | (dict.fromkeys(command.outputs, _OLD) if rng.random() < 0.5 else {})
    n_events, new = _uninterrupted(command, tuple(inputs.items()))
    event, delay = rng.randint(1, n_events), rng.choice((0, 0, 0, 1, 3, 10))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in before.items():
            (folder / file).write_bytes(content)
        killed = _start(folder, command.argv, event, delay)
        yield from _after_kill(command, before, new, _contents(folder))
        resumed = command.resume if (folder / command.checkpoint).is_file() else ()
        rerun = _start(folder, (*command.argv, *resumed), 0, 0)
        if rerun.returncode:
            yield "the same command fails after a kill", rerun.stderr
        yield from _different(
            inputs | new, _contents(folder), f"event {event}, {killed.returncode}"
        )


def _after_kill(
    command: Command, before: dict[str, bytes], new: dict[str, bytes], after: dict[str, bytes]
) -> Iterator[tuple[str, str]]:
    for name in sorted(before.keys() | after.keys()):
        content = after.get(name)
        if content in (before.get(name), new.get(name, content)):
            continue
        yield f"killed, {name} is neither the old nor the new one", f"{(content or b'')[:200]!r}"
    odd = after.keys() - before.keys() - new.keys() - {command.checkpoint}
    for name in sorted(odd):
        if not name.startswith("."):
            yield f"killed, {name} is left, and not hidden", ""


def _different(
    wanted: dict[str, bytes], found: dict[str, bytes], moment: str
) -> Iterator[tuple[str, str]]:
    for name in sorted(wanted.keys() | found.keys()):
        if name not in wanted:
            yield f"run again, {name} is left", f"after {moment}"
        elif wanted[name] != found.get(name):
            yield f"run again, {name} is another", f"after {moment}"


@cache
def _uninterrupted(
    command: Command, inputs: tuple[tuple[str, bytes], ...]
) -> tuple[int, dict[str, bytes]]:
    """Return the number of events of a command in its folder, and its output files."""
    with tempfile.TemporaryDirectory() as name:
        for file, content in inputs:
            Path(name, file).write_bytes(content)
        process = _start(Path(name), command.argv, 0, 0)
        if process.returncode:
            raise RuntimeError(f"podium {' '.join(command.argv)}: {process.stderr}")
        written = {file: Path(name, file).read_bytes() for file in command.outputs}
    return int(process.stderr.rpartition("events ")[2]), written


def _start(
    folder: Path, argv: tuple[str, ...], event: int, delay: int
) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-m", "tests.fuzz.kills", str(event), str(delay), *argv)
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    return subprocess.run(
        words,
        cwd=folder,
        # A report holds the time; so that two runs write the same bytes, it stands still.
        env={**os.environ, "PYTHONPATH": path, "SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


class Victim:
    """An audit hook that counts file events, and kills its process at one of them."""

    def __init__(self, event: int, delay: int) -> None:
        self.n_events = 0
        self._event, self._delay = event, delay
        self._folder = Path.cwd()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count an audit event of Python if it changes a file in the folder."""
        if event not in ("open", "os.rename", "os.remove", "os.truncate", "os.chmod"):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        if not isinstance(arguments[0], str | Path):
            return
        if self._folder not in Path(arguments[0]).absolute().parents:
            return
        self.n_events += 1
        if self.n_events == self._event:
            threading.Timer(self._delay / 1000, _kill).start() if self._delay else _kill()


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _be_victim() -> None:
    """Run `podium`, and kill it at the event in the arguments; 0 is no event."""
    from podium.cli import main

    victim = Victim(int(sys.argv[1]), int(sys.argv[2]))
    sys.addaudithook(victim)
    try:
        main(sys.argv[3:])
    finally:
        print("events", victim.n_events, file=sys.stderr)


if __name__ == "__main__":
    _be_victim()
