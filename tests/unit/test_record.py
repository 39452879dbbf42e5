"""podium's results are those of the record; `python -m tests.record` compares all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.parametrize("parts", [("losses", "metrics"), ("commands",)], ids="-".join)
def test_results_are_those_of_the_record(parts: tuple[str, ...]) -> None:
    """Digests and last digits may be those of another processor."""
    asked = [word for part in parts for word in ("--only", part)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.record", "--close", *asked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
