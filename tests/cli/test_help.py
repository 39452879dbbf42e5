"""What --help shows of each command, on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer

from podium.cli import app
from podium.cli._help import SHOWN, shorten

PROGRAM: Any = typer.main.get_command(app)


@pytest.mark.parametrize(
    "argv", [(), *((name,) for name, c in sorted(PROGRAM.commands.items()) if not c.hidden)]
)
def test_help_fits_and_shows_no_type_of_flags(
    podium: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    done = podium(*argv, "--help")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    (line,) = [line for line in done.out.splitlines() if "--help" in line and "│" in line]
    assert "bool" not in done.out.lower()
    assert line.split()[1:3] == ["--help", "-h"]


@pytest.mark.parametrize("name", sorted(PROGRAM.commands))
def test_help_shows_at_most_16_options_and_help_all_shows_each(
    podium: Callable[..., Any], name: str
) -> None:
    command = typer.main.get_command(app).commands[name]  # pyright: ignore[reportAttributeAccessIssue]
    shorten(name, command)
    options = [option for option in command.params if option.param_type_name == "option"]
    assert sum(not option.hidden for option in options) <= 15  # and --help
    every = podium(name, "--help-all").out
    assert all(option.opts[0] in every for option in options)
    assert ("--help-all" in podium(name, "--help").out) == (name in SHOWN)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_options_that_help_shows_exist(name: str) -> None:
    options = {text.lstrip("-") for p in PROGRAM.commands[name].params for text in p.opts}
    assert set(SHOWN[name].split()) <= options
