"""docs/coming-from: the pages are those of podium.presets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.pages.page import commands
from tools import coming_from

from podium import presets


def test_pages_are_generated() -> None:
    assert {path.name for path in coming_from.FOLDER.iterdir()} == {
        path.name for path in coming_from.pages()
    }
    for path, text in coming_from.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python -m tools.coming_from"


@pytest.mark.parametrize("name", presets.PACKAGES)
@pytest.mark.usefixtures("few")
def test_command_of_the_page_names_the_package(name: str, podium: Callable[..., Any]) -> None:
    ((argv, _),) = commands(coming_from.page(name))
    assert f"--like {name}" in podium(*argv[1:]).out
