"""A pytest plugin for ``mutants.py trace``: the seconds of each test, and the long tests."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

TRACE = Path(__file__).resolve().parents[1] / ".mutants"
_seconds: dict[str, float] = defaultdict(float)
_long: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of a test's phases, and collect the names of the long tests."""
    _seconds[report.nodeid] += report.duration
    if "long" in report.keywords:
        _long.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the seconds and the names, in the process that receives all reports."""
    if hasattr(session.config, "workerinput"):
        return
    (TRACE / "seconds.json").write_text(json.dumps(_seconds))
    (TRACE / "long.json").write_text(json.dumps(sorted(_long)))
