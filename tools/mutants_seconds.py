"""A pytest plugin for ``mutants.py trace``: the seconds of each test, and the long tests."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

TRACE = Path(__file__).resolve().parents[1] / ".mutants"
_seconds: dict[str, float] = defaultdict(float)
_long: list[str] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Collect the names of the long tests."""
    _long.extend(item.nodeid for item in items if item.get_closest_marker("long"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of a test's phases."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    """Write the seconds and the names."""
    (TRACE / "seconds.json").write_text(json.dumps(_seconds))
    (TRACE / "long.json").write_text(json.dumps(_long))
