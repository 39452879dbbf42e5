"""What --help shows of each command, on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer

from podium.cli import app
from podium.cli._help import SHOWN, shorten

PROGRAM: Any = typer.main.get_command(app)


def test_help_shows_at_most_16_options_and_help_all_shows_each(podium: Callable[..., Any]) -> None:
    program: Any = typer.main.get_command(app)
    for name, command in program.commands.items():
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
