"""Reading 100,000 rows x 136 features of svmlight with qid: podium compared with scikit-learn."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import _harness
from benchmarks._harness import Values

SMALL = ("--rows=300", "--features=10")
REFERENCE = "scikit-learn, load_svmlight_file"
_BLOCK = 2000  # rows per write


def write_rows(path: Path, n_rows: int, n_features: int, *, seed: int = 0) -> None:
    """Write queries of 60 to 160 dense rows with six digits per value, and comments."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(60, 161, n_rows // 60 + 1)
    qid = np.repeat(np.arange(1, sizes.size + 1), sizes)[:n_rows]
    labels = rng.choice([0, 1, 2, 3, 4], n_rows, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, n_rows, _BLOCK):
            values = rng.random((min(_BLOCK, n_rows - start), n_features))
            for row, numbers in enumerate(values, start):
                features = " ".join(f"{j}:{x:.6f}" for j, x in enumerate(numbers.tolist(), 1))
                file.write(f"{labels[row]} qid:{qid[row]} {features} #docid = {row}\n")


def sums(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> Values:
    """Return weighted sums that change if any value or the order of rows changes."""
    position = np.arange(1, y.size + 1)
    weights = np.arange(1, X.shape[1] + 1)
    return {
        "X": float(position[: X.shape[0]] @ X @ weights),
        "y": float(position @ y),
        "qid": float(position @ qid),
        "rows": float(y.size),
    }


def sklearn_dense(path: Path, n_features: int) -> Callable[[], Values]:
    """Time scikit-learn's reader, with conversion to a dense matrix."""
    from sklearn.datasets import load_svmlight_file

    def call() -> Values:
        X, y, qid = load_svmlight_file(str(path), query_id=True, n_features=n_features)
        return sums(X.toarray(), y, qid)

    return call


def _ready(path: Path) -> None:
    """Import and compile, so that later growth of memory is due to reading only."""
    from podium import data

    small_file = path.with_name("few.svm")
    small_file.write_text("1 qid:1 1:0.5\n")
    for dtype in (np.float64, np.float32):
        data.read_features(small_file, dtype=dtype)


def podium_whole(path: Path, n_features: int) -> Callable[[], Values]:
    """Time read_features."""
    from podium import data

    _ready(path)

    def call() -> Values:
        rows = data.read_features(path, n_features=n_features)
        return sums(rows.X, rows.y, rows.qid)

    return call


def podium_float32(path: Path, n_features: int) -> Callable[[], Values]:
    """Time read_features in float32; the sum of X is omitted, as it would differ."""
    from podium import data

    _ready(path)

    def call() -> Values:
        rows = data.read_features(path, n_features=n_features, dtype=np.float32)
        values = sums(rows.X[:1], rows.y, rows.qid)  # one row, as the sum converts X to float64
        return {name: values[name] for name in ("y", "qid", "rows")}

    return call


ENTRIES: dict[str, Callable[[Path, int], Callable[[], Values]]] = {
    REFERENCE: sklearn_dense,
    "podium.data.read_features": podium_whole,
    "podium.data.read_features, float32": podium_float32,
}


def main(argv: list[str] | None = None) -> None:
    """Compare the results of all readers, then print their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        call = ENTRIES[args.entry](args.file, args.features)
        _harness.report(_harness.time_call(args.entry, call, 3))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        write_rows(path, args.rows, args.features)
        _show(path, args.rows, args.features)


def _show(path: Path, n_rows: int, n_features: int) -> None:
    options = ["--file", str(path), "--features", str(n_features)]
    results = {name: _harness.in_process("benchmarks.svmlight", name, options) for name in ENTRIES}
    reference, rows = results[REFERENCE], []
    for name, result in results.items():
        if isinstance(result, str) or isinstance(reference, str):
            print(f"left out: {name}: {result}")
            continue
        scale = max(map(abs, reference.values.values()))
        differences = _harness.differing(reference.values, result.values, 1e-12 * scale)
        if differences:
            raise SystemExit(f"{name} differs from scikit-learn: {differences}")
        ratio = result.cpu_s / reference.cpu_s
        rows.append((name, result.cpu_s, result.first_s, ratio, round(result.extra_mib)))
    matrix_mib = round(n_rows * n_features * 8 / 2**20)
    _harness.table(
        f"{n_rows:,} rows x {n_features} features, {path.stat().st_size / 2**20:.0f} MiB of text; "
        f"the matrix takes {matrix_mib} MiB",
        ("entry", "CPU s", "first call s", "x scikit-learn", "peak +MiB"),
        rows,
    )


if __name__ == "__main__":
    main()
