"""Waiting times: imports, help, and the first result of a fresh install and of a process."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import _harness
from benchmarks.workload import make_lists

REPEATS = 5
SMALL = ()

FIRST_RESULT = (
    "import podium; podium.measure({'user': [1, 1], 'item': [1, 2]}, "
    "{'user': [1, 1], 'item': [2, 3], 'score': [.2, .1]}, ['ndcg@10', 'precision@10'])"
)


def seconds(command: list[str], cache: str | None = None) -> float:
    """Return the wall seconds of a command, including the start of its process."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def median(command: list[str], cache: str | None = None) -> float:
    """Return the median wall seconds over several runs."""
    return statistics.median(seconds(command, cache) for _ in range(_harness.times(REPEATS)))


def write_lists(folder: Path) -> None:
    """Write the small files that `_first_use` reads."""
    import polars as pl

    lists = make_lists(50)
    pl.DataFrame(lists.truth).write_parquet(folder / "truth.parquet")
    pl.DataFrame(lists.run).write_parquet(folder / "run.parquet")


def main(argv: list[str] | None = None) -> None:
    """Print the waiting times."""
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        write_lists(Path(folder))
        use_all = [python, "-m", "benchmarks._first_use", folder]
        # Compiling everything takes a minute, so a small run uses the existing cache.
        cache, measure_cache = (
            None if _harness.is_small() else str(Path(folder) / name) for name in ("cache", "one")
        )
        first, later = seconds(use_all, cache), median(use_all, cache)
        measure = [python, "-c", FIRST_RESULT]
        rows = [
            ("python -c pass", median([python, "-c", "pass"])),
            ("import numpy", median([python, "-c", "import numpy"])),
            ("import podium", median([python, "-c", "import podium"])),
            ("podium --help", median([python, "-m", "podium", "--help"])),
            ("podium.measure in a fresh install", seconds(measure, measure_cache)),
            ("podium.measure in a later process", median(measure, measure_cache)),
            ("everything in a fresh install", first),
            ("everything in a later process", later),
            ("compiling everything: the difference", first - later),
        ]
    _harness.table("Waiting times", ("step", "wall s"), rows)


if __name__ == "__main__":
    main()
