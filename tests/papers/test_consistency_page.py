"""The page about top-k consistency: its examples print what it shows."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "consistency.md"


def test_examples_print_what_the_page_shows() -> None:
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert (done.failed, done.attempted > 8) == (0, True)
