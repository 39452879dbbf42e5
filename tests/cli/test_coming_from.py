"""docs/coming-from: the pages are those of podium.presets, and their commands run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pages import commands
from tools import coming_from

from podium import presets


def test_pages_are_generated() -> None:
    assert {path.name for path in coming_from.FOLDER.iterdir()} == {
        path.name for path in coming_from.pages()
    }
    for path, text in coming_from.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python -m tools.coming_from"


def write_tables() -> None:
    Path("truth.csv").write_text("user,item,relevance\n1,a,1\n1,b,2\n2,a,1\n", encoding="utf-8")
    Path("run.csv").write_text("user,item,score\n1,b,0.9\n1,c,0.8\n2,c,0.7\n", encoding="utf-8")


@pytest.mark.parametrize("name", presets.PACKAGES)
def test_command_of_the_page_runs(name: str, podium: Callable[..., Any]) -> None:
    write_tables()
    ((argv, _),) = commands(coming_from.page(name))
    done = podium(*argv)
    assert done.status == 0, done.err
    assert f"--like {name}" in done.out


def test_commands_of_lightgbm_and_xgboost_state_the_conventions(podium: Callable[..., Any]) -> None:
    write_tables()
    stated = [argv for argv, _ in commands(coming_from.boosting())]
    assert len(stated) == 3  # pre@k has a convention of its own
    for argv in stated:
        assert "--like" not in argv
        done = podium(*argv)
        assert done.status == 0, done.err
