"""A signalling nan in a file of floats is named like other values, without NumPy's warning."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from podium import data, sampled
from podium.errors import ArgumentError, DataError

SIGNALLING = np.array([0x7FF0000000000001], np.uint64).view(np.float64)


def _column(n: int) -> np.ndarray:
    values = np.arange(1.0, n + 1)
    values.view(np.uint64)[n // 2] = SIGNALLING.view(np.uint64)[0]
    return values


@pytest.mark.parametrize("name", ["user", "item", "score", "rank"])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_a_column_of_a_run_is_named(tmp_path: Path, name: str, n: int) -> None:
    columns = {"user": np.arange(n), "item": np.arange(n), name: _column(n)}
    columns.setdefault("score", np.ones(n))
    if name == "rank":
        del columns["score"]
    path = tmp_path / "run.parquet"
    pl.DataFrame(columns).write_parquet(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=name):
            data.read_run(path)


@pytest.mark.parametrize("odd", [SIGNALLING[0], 1e300, 1e306, -1e308, np.inf, 2.0**53])
def test_ranks_that_are_no_integers_are_named(odd: float) -> None:
    ranks = _column(3)  # with a signalling nan
    if not np.isnan(odd):
        ranks[1] = odd
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ArgumentError, match="ranks"):
            sampled.SampledRanks(ranks, n_items=100, n_negatives=10)


def test_features_in_single_precision_keep_nan() -> None:
    table = {"qid": [1, 1, 1], "label": [1, 0, 0], "x": _column(3), "y": [1e306, 1.0, 2.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = np.asarray(data.read_features(table, dtype="float32").X)
    assert np.isnan(X[:, 0]).tolist() == [False, True, False]
    assert np.isinf(X[0, 1])
