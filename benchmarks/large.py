"""Six measures of tables on disk: measured in parts, in memory, and beside a bare read and hash.

The tables are folders of parquet files, with the rows of each user together (sorted) or in random
order (shuffled). The bare pass reads the same columns and hashes the users.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _harness
from benchmarks._harness import Values

SMALL = ("--users=2000", "--memory=1MiB")
MEASURES = ("ndcg@10", "ndcg@50", "precision@10", "recall@50", "ap@50", "pap@10")
DEPTH, N_RELEVANT, PRIME = 50, 10, 99_991
BLOCK = 200_000  # users of one file

Make = Callable[[Path, str], Callable[[], Values]]


def make_tables(folder: Path, n_users: int, *, shuffled: bool) -> None:
    """Write a run of 50 items per user and a truth of 10, in files of 200,000 users."""
    import polars as pl

    for name in ("truth", "run"):
        (folder / name).mkdir(parents=True)
    for first in range(0, n_users, BLOCK):
        n = min(BLOCK, n_users - first)
        rng = np.random.default_rng([0, first])
        # 1,000,003 is a prime, so that a shuffled file has users of the whole range.
        users = np.arange(first, first + n) * (1_000_003 if shuffled else 1) % n_users
        start, step = rng.integers(0, PRIME, n)[:, None], rng.integers(1, PRIME, n)[:, None]
        place = rng.integers(0, 10, (n, N_RELEVANT)) + 10 * np.arange(N_RELEVANT)
        run = {
            "user": np.repeat(users, DEPTH),
            "item": ((start + step * np.arange(DEPTH)) % PRIME).ravel(),
            "score": -np.sort(-rng.random((n, DEPTH)), axis=1).ravel(),
        }
        truth = {
            "user": np.repeat(users, N_RELEVANT),
            "item": ((start + step * place) % PRIME).ravel(),
            "relevance": rng.integers(1, 4, n * N_RELEVANT),
        }
        for name, columns in (("truth", truth), ("run", run)):
            frame = pl.DataFrame(columns)
            if shuffled:
                frame = frame.sample(fraction=1.0, shuffle=True, seed=first)
            path = folder / name / f"part-{first // BLOCK:05}.parquet"
            frame.write_parquet(path, row_group_size=1_000_000, compression="snappy")


def in_parts(folder: Path, memory: str) -> Callable[[], Values]:
    """Time podium.measure with a limit of memory."""
    import podium
    from podium.data.storage import Storage

    paths = folder / "truth", folder / "run"
    return lambda: podium.measure(*paths, MEASURES, storage=Storage(memory)).means


def in_memory(folder: Path, memory: str) -> Callable[[], Values]:
    """Time podium.measure with as much memory as it needs."""
    del memory
    return in_parts(folder, "1TiB")


def hash_pyarrow(folder: Path, memory: str) -> Callable[[], Values]:
    """Time a pass by pyarrow that reads all columns of a row group and hashes the users."""
    import polars as pl
    import pyarrow.parquet as pq

    del memory

    def call() -> Values:
        n_rows, total = 0, 0
        for path in sorted(folder.rglob("*.parquet")):
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    frame: Any = pl.DataFrame(file.read_row_group(group))
                    total ^= frame["user"].hash().sum()
                    n_rows += frame.height
        return {"rows": n_rows}

    return call


def hash_polars(folder: Path, memory: str) -> Callable[[], Values]:
    """Time the same pass by the streaming engine of Polars."""
    import polars as pl

    del memory

    def call() -> Values:
        n_rows = 0
        for name, value in (("truth", "relevance"), ("run", "score")):
            columns = pl.col("user").hash().sum(), pl.col("item", value).sum(), pl.len()
            read = pl.scan_parquet(folder / name / "*.parquet").select(*columns)
            n_rows += read.collect(engine="streaming")["len"].item()
        return {"rows": n_rows}

    return call


ENTRIES: dict[str, Make] = {
    "read and hash, pyarrow": hash_pyarrow,
    "read and hash, Polars streaming": hash_polars,
    "podium, in memory": in_memory,
    "podium, in parts": in_parts,
}


def main(argv: list[str] | None = None) -> None:
    """Check that all entries agree, then print their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--memory", default="512MiB")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        call = ENTRIES[args.entry](args.folder, args.memory)
        _harness.report(_harness.time_call(args.entry, call, 3))
        return
    for order in ("sorted", "shuffled"):
        with tempfile.TemporaryDirectory() as folder:
            make_tables(Path(folder), args.users, shuffled=order == "shuffled")
            results = [_timed(name, folder, args.memory) for name in ENTRIES]
        for result in results:
            if differences := _harness.differing(results[-1].values, result.values, 0.0):
                raise SystemExit(f"{order}, {result.name} differs: {differences}")
        n_rows = results[0].values["rows"]
        _harness.table(
            f"{n_rows:,.0f} rows, {order}, memory {args.memory}, {', '.join(MEASURES)}",
            ("entry", "CPU s", "wall s", "million rows/CPU s", "x read and hash", "peak +MiB"),
            [
                (
                    *(result.name, result.cpu_s, result.wall_s),
                    *(n_rows / result.cpu_s / 1e6, result.cpu_s / results[0].cpu_s),
                    round(result.extra_mib),
                )
                for result in results
            ],
        )


def _timed(name: str, folder: str, memory: str) -> _harness.Timing:
    options = ["--folder", folder, "--memory", memory]
    result = _harness.in_process("benchmarks.large", name, options)
    if isinstance(result, str):
        raise SystemExit(f"{name}: {result}")
    return result


if __name__ == "__main__":
    main()
