"""Small files in the working folder, and the JSON that commands print."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from tests.conftest import Done

from podium import data

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"

# The item at place p of a run's list, for users 0, 1, 2, 3; items 0 and 1 are relevant to each.
RUN_A = ("01234567", "20314567", "23401567", "45236701")
RUN_B = ("10234567", "01234567", "20134567", "34502167")


@pytest.fixture
def json_of(podium: Callable[..., Done]) -> Callable[..., dict[str, Any]]:
    """Return `json_of("plan.json", "plan", ...)`: what a command that went well printed."""

    def run(schema: str, *argv: str) -> dict[str, Any]:
        done = podium(*argv, "--format", "json")
        assert (done.status, done.err) == (0, "")
        return valid(schema, done.out)

    return run


def valid(schema: str, text: str) -> dict[str, Any]:
    """Return the JSON of a text that has the form of a schema."""
    found, form = json.loads(text), json.loads((SCHEMAS / schema).read_text())
    Draft202012Validator.check_schema(form)
    Draft202012Validator(form).validate(found)  # pyright: ignore[reportUnknownMemberType]
    return found


def contents() -> dict[Path, bytes | None]:
    """Return the files of the working folder with what they hold."""
    return {path: path.read_bytes() if path.is_file() else None for path in Path().iterdir()}


@pytest.fixture
def refuses(podium: Callable[..., Done]) -> Callable[[str, str], None]:
    """Return `refuses("measure a.csv", rows)`, with a call in each row: `options | named`.

    Each call has status 2, prints nothing, leaves all files as they are, and its error names the
    words after the bar. Warnings may come before the error.
    """

    def check(command: str, rows: str) -> None:
        before, wrong = contents(), dict[str, str]()
        for row in filter(str.strip, rows.splitlines()):
            options, _, named = row.partition(" | ")
            done = podium(*shlex.split(command), *shlex.split(options))
            *others, error = done.err.splitlines() or [""]
            is_refusal = (done.status, done.out, error[:15]) == (2, "", "podium: error: ")
            is_told = all(word in error for word in shlex.split(named))
            is_plain = all(line.startswith("podium: ") for line in others)
            if not (is_refusal and is_told and is_plain and contents() == before):
                wrong[row] = done.err
        assert wrong == {}

    return check


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the working folder of the test, with a truth and two runs of four users in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.csv").write_text(
        "user,item,relevance\n" + "".join(f"{u},{i},1\n" for u in range(4) for i in (0, 1))
    )
    for name, lists in (("a", RUN_A), ("b", RUN_B)):
        (tmp_path / f"{name}.csv").write_text(
            "user,item,score\n"
            + "".join(
                f"{u},{item},{8 - place}\n"
                for u, items in enumerate(lists)
                for place, item in enumerate(items)
            )
        )
    (tmp_path / "users.csv").write_text("user,country\n0,FR\n1,FR\n2,UK\n3,UK\n")
    (tmp_path / "past.csv").write_text("user,item\n0,2\n1,2\n2,3\n3,9\n")
    return tmp_path


@pytest.fixture
def learnable() -> Callable[[int], str]:
    """Return `learnable(seed)`: svmlight rows of 12 queries whose relevance a line can tell."""

    def text(seed: int) -> str:
        rng = np.random.default_rng(seed)
        lines: list[str] = []
        for query in range(12):
            x = rng.normal(size=(10, 3))
            best = set(np.argsort(x[:, 2] - x[:, 0])[-3:].tolist())
            for i, row in enumerate(x):
                features = " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(row))
                lines.append(f"{int(i in best)} qid:{query} {features}")
        return "\n".join(lines) + "\n"

    return text


def as_csv(text: str, *, days: bool = False) -> str:
    """Return svmlight rows of three features as CSV, with ids for users and items, and days."""
    lines = ["user,item,label,first,second,third" + ",day" * days]
    for i, line in enumerate(text.splitlines()):
        label, query, *features = line.split()
        values = [feature.partition(":")[2] for feature in features]
        day = [f"2024-01-{1 + i * 7 % 28:02}"] * days
        lines.append(",".join((f"u{query[4:]}", f"i{i % 10}", label, *values, *day)))
    return "\n".join(lines) + "\n"


@pytest.fixture
def gate_lists(folder: Path) -> None:
    """Write runs of 40 users whose first item is the relevant one, or is the last one.

    The lists of "other" have the same hits as those of "best", and other items at rank 2.
    """
    del folder
    users = [u for u in range(40) for _ in range(3)]
    data.write_table({"user": list(range(40)), "item": [0] * 40}, Path("truth.csv"))
    lists = {"best": [3.0, 2.0, 1.0], "worst": [1.0, 2.0, 3.0], "other": [3.0, 1.0, 2.0]}
    for name, scores in lists.items():
        data.write_table(
            {"user": users, "item": [0, 1, 2] * 40, "score": scores * 40}, Path(f"{name}.csv")
        )
    rows = "".join(f"{u},{'FR' if u % 2 else 'a|b'},{u // 2},{1 + u % 3}\n" for u in range(40))
    Path("users.csv").write_text(f"user,country,home,visits\n{rows}")
    Path("past.csv").write_text("user,item\n0,0\n1,1\n1,2\n")


# Runs a command that says on stdout when so many steps of one of its modules are done.
_STEPPING = """
import contextlib, signal, sys
import podium.cli
from podium.__main__ import main

module, n_steps, *argv = sys.argv[1:]

@contextlib.contextmanager
def progress(what):
    yield lambda done, total, note: print(flush=True) if done == int(n_steps) else None

sys.modules[f"podium.cli.{module}"].progress = progress
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
sys.argv[1:] = argv
main()
"""


def interrupted(module: str, n_steps: int, line: str, by: int = signal.SIGINT) -> tuple[int, str]:
    """Return the status and stderr of a command's process that gets a signal after some steps."""
    words = (sys.executable, "-c", _STEPPING, module, str(n_steps), *shlex.split(line))
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
        process.send_signal(by)
        _, said = process.communicate(timeout=600)
    return process.returncode, said
