"""No input makes a command or a call end otherwise than in a result or a line: see tests/fuzz."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def fuzz(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_2000_inputs_end_in_a_result_or_in_one_line() -> None:
    done = fuzz("--inputs", "2000", "--seed", "0")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed here")
def test_a_kill_loses_nothing_and_leaves_nothing() -> None:
    done = fuzz("--kills", "5", "--seed", "0")
    assert done.returncode == 0, done.stdout + done.stderr
