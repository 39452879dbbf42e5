"""Each part of the benchmarks runs, on a little data, and its entries agree in their values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import _harness
from benchmarks.__main__ import PARTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_part_runs_on_a_little_data(part: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--small", part],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_part_is_named() -> None:
    files = {file.stem for file in (ROOT / "benchmarks").glob("*.py")}
    parts = {name for name in files if not name.startswith("_")} - {"workload"}
    assert parts == set(PARTS)


@pytest.mark.parametrize(
    ("source", "found"), [("import none_such", "No module named 'none_such'"), ("1 / 0", None)]
)
def test_absent_peer_is_a_reason_and_any_other_failure_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, found: str | None
) -> None:
    (tmp_path / "made_entry.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    if found is None:
        with pytest.raises(SystemExit, match="made_entry, all: ZeroDivisionError: division by"):
            _harness.in_process("made_entry", "all", [])
    else:
        assert _harness.in_process("made_entry", "all", []) == found
