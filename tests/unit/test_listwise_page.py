"""The page about losses on graded lists: its examples print what it shows."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "listwise.md"


def test_examples_print_what_the_page_shows() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'podium[torch]'")
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert (done.failed, done.attempted > 15) == (0, True)
