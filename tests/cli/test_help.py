"""What --help shows of each command, on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer

from podium.cli import app

PROGRAM: Any = typer.main.get_command(app)


@pytest.mark.parametrize("argv", [(), *((name,) for name in sorted(PROGRAM.commands))])
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
