"""What all tests share: where the data sets are, and how hypothesis draws."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
# "additions" is what laws/test_additions.py registers; the others are programs of their own, which
# tests/cli/test_fuzzing.py and tests/unit/test_record.py start.
collect_ignore = [
    *("additions", "fuzz", "record"),
    *("parity/rectools_values.py", "parity/recbole_values.py"),
]
DATA = Path(os.environ.get("PODIUM_DATA") or ROOT.parent / "shared" / "data")

# No deadline: the first example of a test may compile a kernel. In CI the draws are the same each
# time; elsewhere they are new, and the failing ones are kept in .hypothesis.
settings.register_profile(
    "podium",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("podium"), max_examples=10)
settings.load_profile("podium")


@pytest.fixture(scope="session")
def podium_data() -> Callable[[str], Path]:
    """Return `need("ml-100k/u.data.gz")`: the path of a data file, or a skip that says why."""

    def need(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"data set absent: {name} is not in PODIUM_DATA ({DATA})")
        return path

    return need
