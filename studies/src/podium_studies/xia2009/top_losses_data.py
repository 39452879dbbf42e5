"""The collections of the study of tuned losses: rows with grades in queries, divided into folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import movielens
from podium.data.archive import members, required
from podium_studies import folds
from podium_studies.hiranandani2020.movielens import prepare as movielens_rows
from podium_studies.interactions import read_lines
from podium_studies.recipe import DataSet
from podium_studies.rows import Parts, Rows

_N_PARTS = 5


def ohsumed(place: Path, source: DataSet, options: Mapping[str, Any]) -> tuple[Parts, ...]:
    """Return the five published folds of OHSUMED."""
    del source
    return folds.read(place, subfolder=options["within"])


def lightgbm_example(place: Path, source: DataSet, options: Mapping[str, Any]) -> tuple[Parts, ...]:
    """Return five folds of the queries of both files of LightGBM's example."""
    files = members(place, source.title, source.url)
    rows: list[dict[int, float]] = []
    sizes: list[int] = []
    for name in ("rank.train", "rank.test"):
        rows += read_lines(required(files, [name], place, source.url), _svmlight)
        sizes += read_lines(required(files, [f"{name}.query"], place, source.url), int)
    X = np.zeros((len(rows), 1 + max(max(row) for row in rows)), np.float32)
    for n, row in enumerate(rows):
        X[n, [*row]] = [*row.values()]
    return in_folds(Rows(X[:, 1:], X[:, 0].astype(float), _qid(sizes)), options["seed"])


def _svmlight(line: bytes) -> dict[int, float]:
    """Return the numbers of a line by feature; 0 is the label."""
    label, *pairs = line.split()
    numbers = (pair.split(b":") for pair in pairs)
    return {0: float(label), **{int(feature): float(value) for feature, value in numbers}}


def movielens_factors(
    place: Path, source: DataSet, options: Mapping[str, Any]
) -> tuple[Parts, ...]:
    """Return folds of a few users' ratings, with factors of earlier ratings as features.

    Grades are ratings less 1.
    """
    del source
    prepared = movielens_rows(movielens(place, "100k"))
    users = np.unique(prepared.user)
    drawn = np.random.default_rng(options["seed"]).permutation(users)[: options["queries"]]
    rows = Rows(prepared.X.astype(np.float32), prepared.rating - 1.0, prepared.user)
    return in_folds(rows.take(np.isin(prepared.user, drawn)), options["seed"])


def letor_like(place: Path, source: DataSet, options: Mapping[str, Any]) -> tuple[Parts, ...]:
    """Return folds of synthetic queries; nothing is read."""
    del place, source
    X, y, sizes = synthetic(options["seed"], options["queries"])
    return in_folds(Rows(X, y, _qid(sizes.tolist())), options["seed"])


READERS: dict[str, Callable[[Path, DataSet, Mapping[str, Any]], tuple[Parts, ...]]] = {
    "ohsumed": ohsumed,
    "lightgbm-example": lightgbm_example,
    "movielens": movielens_factors,
    "letor-like": letor_like,
}
"""Readers of collections by name."""


def in_folds(rows: Rows, seed: int) -> tuple[Parts, ...]:
    """Divide queries into five parts at random; a fold has three of them, one and one."""
    queries = np.random.default_rng(seed).permutation(np.unique(rows.qid))
    parts = [rows.take(np.isin(rows.qid, queries[n::_N_PARTS])) for n in range(_N_PARTS)]

    def joined(*numbers: int) -> Rows:
        chosen = [parts[n % _N_PARTS] for n in numbers]
        X, y, qid = (np.concatenate([getattr(part, name) for part in chosen]) for name in _COLUMNS)
        return Rows(X, y, qid)

    return tuple(Parts(joined(n, n + 1, n + 2), joined(n + 3), joined(n + 4)) for n in range(5))


_COLUMNS = "X", "y", "qid"


def binary(parts: Parts, least: float) -> Parts:
    """Return the folds' rows with labels 1 from a grade on, and otherwise 0."""
    return Parts(*(Rows(rows.X, (rows.y >= least).astype(float), rows.qid) for rows in parts))


def standardized(parts: Parts) -> Parts:
    """Return features less their mean, over their standard deviation, in the training rows."""
    train: Any = parts.train.X
    mean, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0.0] = 1.0
    return Parts(*(Rows((rows.X - mean) / scale, rows.y, rows.qid) for rows in parts))


def _qid(sizes: list[int]) -> Any:
    return np.repeat(np.arange(len(sizes)), sizes)


def synthetic(seed: int, n_queries: int = 1000, n_features: int = 46) -> tuple[Any, Any, Any]:
    """Draw lists similar to those of LETOR: features, grades from 0 to 2, and sizes of queries.

    A query has 50 to 150 rows with eight hidden traits. Features are scaled within each query.
    8 % of the rows are relevant, one tenth of the queries have no relevant row, and no linear
    model can express the true relevance.
    """
    rng = np.random.default_rng(seed)
    shape = 8, n_features
    mixing = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    kind = rng.integers(0, 3, n_features)
    X, y = zip(*(_query(rng, mixing, kind) for _ in range(n_queries)), strict=True)
    return np.concatenate(X), np.concatenate(y), np.array([len(grades) for grades in y])


def _query(rng: np.random.Generator, mixing: Any, kind: Any) -> tuple[Any, Any]:
    n = int(rng.integers(50, 151))
    hidden: Any = rng.normal(size=(n, 8)) + 0.5 * rng.normal(size=8)
    features = _bent(hidden @ mixing + 0.7 * rng.normal(size=(n, kind.size)), kind)
    a, b, c, d, e = hidden[:, :5].T
    utility: Any = (
        a + 0.8 * b + 0.5 * np.maximum(c, 0) ** 2 - 0.5 * d * e + 0.8 * rng.normal(size=n)
    )
    y: Any = np.zeros(n)
    if rng.random() > 0.1:
        n_relevant = max(1, int(n * min(0.5, 0.08 * rng.lognormal(0, 0.6))))
        best = np.argsort(-utility)
        y[best[:n_relevant]] = 1
        y[best[: max(1, n_relevant // 4)]] = 2
    return features, y


def _bent(raw: NDArray[np.float64], kind: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return features of three shapes, scaled to [0, 1]."""
    bent = np.where(kind == 1, np.exp(0.5 * raw), 1 / (1 + np.exp(-raw)))
    features = np.where(kind == 0, raw, bent)
    least, most = features.min(0), features.max(0)
    return ((features - least) / np.maximum(most - least, 1e-9)).astype(np.float32)
