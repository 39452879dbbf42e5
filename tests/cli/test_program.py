"""What --help shows, options in messages, commands without the studies, and odd input."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from podium.cli import COMMANDS, app
from podium.cli._help import SHOWN, shorten
from podium.cli._messages import spelling
from podium.cli._options import expand
from podium.errors import Parameter, arg

ROOT = Path(__file__).resolve().parents[2]
PROGRAM: Any = typer.main.get_command(app)


def test_help_shows_at_most_16_options_and_help_all_shows_each(podium: Callable[..., Any]) -> None:
    for name, command in PROGRAM.commands.items():
        shorten(name, command)
        options = [option for option in command.params if option.param_type_name == "option"]
        assert sum(not option.hidden for option in options) <= 15  # and --help
    for name in ("measure", "plan"):
        every = podium(name, "--help-all")
        assert (every.status, every.err) == (0, "")
        options = [text for p in PROGRAM.commands[name].params for text in p.opts]
        assert all(text in every.out for text in options if text.startswith("--"))
        assert ("--help-all" in podium(name, "--help").out) == (name in SHOWN)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_options_that_help_shows_exist(name: str) -> None:
    options = {text.lstrip("-") for p in PROGRAM.commands[name].params for text in p.opts}
    assert set(SHOWN[name].split()) <= options


BY_NAME = {command.__name__: command for commands in COMMANDS.values() for command in commands}


@pytest.mark.parametrize(
    ("command", "parameter", "shown"),
    [
        ("measure", arg.missing("zero"), "--missing zero"),
        ("measure", arg.undefined("skip", "zero", "one"), "--undefined skip, zero or one"),
        ("measure", arg.min_relevance(4.0), "--min-relevance 4"),
        ("measure", arg.user(), "--column user=NAME"),
        ("measure", arg.truth, "TRUTH"),
        ("measure", arg.format(), None),
        ("measure", arg.n_factors, None),
        ("split", arg.format(), "--format"),
        ("split", arg.timestamp(), "--column timestamp=NAME"),
        ("train", arg.k, "-k"),
        ("train", arg.max_iter(9), "--set max_iter=9"),
        ("train", arg.eval_set, "--valid"),
        ("train", arg.fit_intercept(False), "--set fit_intercept=false"),
        ("train", arg.fit_intercept(True), "--set fit_intercept=true"),
        ("train", arg.k(None), None),
        ("train", arg["grid", "loss__k"], "--grid loss__k"),
        ("train", arg.resume, "--resume"),
        ("train", arg.address, "--ray"),
        ("gate", arg.guards, "--guard"),
        ("gate", arg.sequential(True), "--sequential"),
        ("estimate", arg["columns", "user"], "--column user=NAME"),
        ("estimate", arg.n_items, "--items"),
        ("estimate", arg.seen_candidates("drop"), "--drop-seen"),
        ("estimate", arg.scores, None),
        ("plan", arg.n_users, "--users"),
        ("audit", arg.candidates, "--candidates"),
    ],
)
def test_parameters_read_as_options(command: str, parameter: Parameter, shown: str | None) -> None:
    options = inspect.signature(expand(BY_NAME[command])).parameters.values()
    assert spelling(options)(parameter) == shown


@pytest.mark.parametrize("argv", [(), ("list",), ("pap-table1", "--out", "made")])
def test_without_the_studies_the_command_says_how_to_get_them(
    podium: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "podium_studies", None)
    monkeypatch.delitem(sys.modules, "podium_studies.command", raising=False)
    done = podium("reproduce", *argv)
    assert done.status == 2
    assert "podium-studies" in done.message
    assert "pip install ./studies" in done.message


def fuzz(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_2000_inputs_end_in_a_result_or_in_one_line() -> None:
    done = fuzz("--inputs", "2000", "--seed", "0")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed here")
def test_a_kill_loses_nothing() -> None:
    done = fuzz("--kills", "5", "--seed", "0")
    assert done.returncode == 0, done.stdout + done.stderr
