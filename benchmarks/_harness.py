"""Timing of benchmark entries, each of them in a separate process."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

Values = dict[str, float]

_RESULT = "RESULT "
_SMALL = False


@dataclass(frozen=True)
class Timing:
    """The figures of one entry: median CPU and wall seconds, and the growth of peak memory."""

    name: str
    cpu_s: float
    wall_s: float
    first_s: float
    extra_mib: float
    values: Values


def run_small() -> None:
    """Run all later entries once and in this process, to check them without timing."""
    global _SMALL  # noqa: PLW0603 (one run has one size)
    _SMALL = True


def is_small() -> bool:
    """Return whether this is a small run."""
    return _SMALL


def times(repeats: int) -> int:
    """Return the number of timed calls: 1 in a small run, else `repeats`."""
    return 1 if _SMALL else repeats


def time_call(name: str, call: Callable[[], Values], repeats: int) -> Timing:
    """Call once (to compile and fill caches), then time `repeats` calls."""
    before = _peak_mib()
    start = time.perf_counter()
    values = call()
    first = time.perf_counter() - start
    cpu, wall = [], []
    for _ in range(times(repeats)):
        c, w = time.process_time(), time.perf_counter()
        call()
        cpu.append(time.process_time() - c)
        wall.append(time.perf_counter() - w)
    return Timing(
        name,
        statistics.median(cpu),
        statistics.median(wall),
        first,
        _peak_mib() - before,
        {key: float(value) for key, value in values.items()},
    )


def in_process(module: str, entry: str, options: list[str]) -> Timing | str:
    """Run one entry of a benchmark module in a new process.

    Returns
    -------
    Timing or str
        The string is the import error if a peer is not installed. Any other failure ends the run.
    """
    if _SMALL:
        return _in_this_process(module, ["--entry", entry, *options])
    process = subprocess.run(
        [sys.executable, "-m", module, "--entry", entry, *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    if process.returncode:
        last = (process.stderr.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
        if last.startswith(("ModuleNotFoundError: ", "ImportError: ")):
            return last.partition(": ")[2]
        raise SystemExit(f"{module}, {entry}: {last}")
    return _read(process.stdout)


def _in_this_process(module: str, argv: list[str]) -> Timing | str:
    """Run one entry in this process."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            importlib.import_module(module).main(argv)
    except ImportError as error:
        return str(error)
    return _read(output.getvalue())


def _read(text: str) -> Timing:
    (line,) = (line for line in text.splitlines() if line.startswith(_RESULT))
    return Timing(**json.loads(line.removeprefix(_RESULT)))


def report(timing: Timing) -> None:
    """Print a timing, so that the parent process can read it."""
    print(_RESULT + json.dumps(asdict(timing)))


def differing(reference: Values, values: Values, tolerance: float = 1e-9) -> list[str]:
    """Return descriptions of the values that differ between two entries."""
    return [
        f"{key}: {values[key]:.10g} against {reference[key]:.10g}"
        for key in values
        if key in reference and abs(values[key] - reference[key]) > tolerance
    ]


def table(title: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Print a plain table."""
    text = [tuple(_cell(c) for c in row) for row in rows]
    widths = [max(len(r[i]) for r in [columns, *text]) for i in range(len(columns))]
    print(f"\n{title}")
    for row in [columns, tuple("-" * w for w in widths), *text]:
        first, *rest = [
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join([first, *rest]))


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
