"""Each entry in a process of its own: compare its values first, then time it."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Timing:
    """One entry's figures: CPU and wall seconds are medians, memory the growth of the peak."""

    name: str
    cpu_s: float
    wall_s: float
    first_s: float
    extra_mib: float
    values: Values


def time_call(name: str, call: Callable[[], Values], repeats: int) -> Timing:
    """Call once (compilation, caches), then `repeats` times."""
    before = _peak_mib()
    start = time.perf_counter()
    values = call()
    first = time.perf_counter() - start
    cpu, wall = [], []
    for _ in range(repeats):
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
    """Run one entry of a benchmark module in a fresh process; a string is why there is none."""
    done = subprocess.run(
        [sys.executable, "-m", module, "--entry", entry, *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        error = done.stderr.strip().splitlines()
        return error[-1] if error else f"exit status {done.returncode}"
    return Timing(**json.loads(lines[-1].removeprefix("RESULT ")))


def report(timing: Timing) -> None:
    """Hand a timing from the child process to its parent."""
    print("RESULT " + json.dumps(asdict(timing)))


def differing(reference: Values, values: Values, tolerance: float = 1e-9) -> list[str]:
    """Return the metrics that two entries disagree on."""
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
