"""LETOR collections as studies read them: five folds, each to train on, choose by and test on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from podium.data import Features, Letor, letor
from podium.errors import DataError
from podium.papers.rows import Parts, Rows

N_FOLDS = 5


def folds(path: Path, *, within: str = "", n_queries: int | None = None) -> tuple[Parts, ...]:
    """Read a collection's five folds.

    Parameters
    ----------
    path : Path
        Folder that holds Fold1 … Fold5, or the five parts S1.txt … S5.txt that they are made of;
        see `podium.data.letor`.
    within : str
        A folder in it, where there are several forms of the same rows; left out if it has none
        of that name (in any case).
    n_queries : int, optional
        Queries that the collection has.

    Returns
    -------
    tuple of Parts
        ``y`` are grades, 0 for what is not relevant; ``X`` is dense and as published, since the
        usual form has each feature in [0, 1] by query.

    Raises
    ------
    DataError
        If a fold is missing or malformed, the test parts share a query, or the number of queries
        is another: then it is another collection.
    """
    place = _inner(path, within)
    read = tuple(_parts(letor(place, fold)) for fold in range(1, N_FOLDS + 1))
    tested = np.concatenate([np.unique(parts.test.qid) for parts in read])
    if np.unique(tested).size != tested.size:
        raise DataError(f"{place}: a query is in the test rows of two folds. Get the folds again.")
    if n_queries is not None and tested.size != n_queries:
        raise DataError(
            f"{place} has {tested.size} queries, not {n_queries}: it is another collection, or a "
            "part of this one."
        )
    return read


def _inner(path: Path, within: str) -> Path:
    """Return the folder of that name in `path`, in whatever case, or `path` itself."""
    if not path.is_dir():
        raise DataError(f"{path} is no folder. Unpack the collection and pass its folder.")
    named = [each for each in path.iterdir() if each.is_dir() and each.name.lower() == within]
    return named[0] if named else path


def _parts(fold: Letor) -> Parts:
    return Parts(*(_rows(part) for part in (fold.train, fold.valid, fold.test)))


def _rows(part: Features) -> Rows:
    X: Any = part.X
    return Rows(
        X.toarray() if hasattr(X, "toarray") else X,
        np.asarray(part.y, np.float64),
        np.asarray(part.qid),
    )
