"""Check an installation of the wheel without extras: ``check_wheel.py src/podium``.

The script runs in the environment of the wheel. It checks that every file of the source folder is
installed, that every public name loads, and that the command line measures a small run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import podium


def main() -> None:
    """Run all checks; the first one that fails ends the process with its reason."""
    installed = Path(podium.__file__).parent
    source = Path(sys.argv[1]).resolve()
    if installed == source:
        raise SystemExit(f"podium is imported from {source}, not from an installed wheel.")
    _same_files(source, installed)
    for name in podium.__all__:
        getattr(podium, name)
    _run("--help")
    _measure()
    print(f"The wheel of podium {podium.__version__} is complete and works without extras.")


def _same_files(source: Path, installed: Path) -> None:
    missing = sorted(_files(source) - _files(installed))
    if missing:
        raise SystemExit(f"The wheel does not contain {len(missing)} files, first {missing[0]}.")


def _files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _measure() -> None:
    with tempfile.TemporaryDirectory() as folder:
        truth, run = Path(folder) / "truth.csv", Path(folder) / "run.csv"
        truth.write_text("user,item,relevance\nu1,a,1\nu2,b,1\n")
        run.write_text("user,item,score\nu1,a,2\nu1,b,1\nu2,a,2\nu2,b,1\n")
        output = _run("measure", str(truth), str(run), "-m", "rr", "--format", "json")
    mean = json.loads(output)["measures"]["rr"]["mean"]
    if mean != (1 + 1 / 2) / 2:
        raise SystemExit(f"podium measure must return 0.75 for rr, got {mean}.")


def _run(*arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("podium")), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"podium {arguments[0]} ended with {process.returncode}: {process.stderr}")
    return process.stdout


if __name__ == "__main__":
    main()
