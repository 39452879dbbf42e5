"""podium reproduce without the package of the studies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest


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
