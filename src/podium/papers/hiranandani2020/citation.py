"""The citation data of hiranandani2020 in its original files: which papers an author will cite.

Three pickled tables, CitationDataset_Train.pkl, CitationDataset_Val.pkl and
CitationDataset_Test.pkl, of the archive citation.tar.gz of the paper's source code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.archive import members, required
from podium.data.pickled import read_pickled
from podium.errors import DataError
from podium.papers.rows import Parts, Rows

URL = "https://github.com/gaurush-hiranandani/pap-k"
FILES = ("CitationDataset_Train.pkl", "CitationDataset_Val.pkl", "CitationDataset_Test.pkl")
SIDE = (
    "CoAuthorCount",
    "UserAuthorCitationCount",
    "AuthorUserCitationCount",
    "UserCitedConference",
    "UserPublishedInConferenceCount",
)
DIMENSIONS = 50  # of a paper's embedding
FEWEST_POSITIVES = 3
LEAST_SHARE = 0.1  # of positives among a user's rows

_WRITER, _PAPER, _LABEL = "u_id", "paper_id_written", "label"


def read(path: Path) -> Parts:
    """Return the given training, validation and test rows, features not scaled.

    Parameters
    ----------
    path : Path
        Folder (or .zip) with the three files.

    Returns
    -------
    Parts
        155 features: 5 counts of what author and venue had to do with each other before, the
        embedding of the paper in progress, that of the cited one, and their products. The paper
        writes 157: two of its seven counts are not in the files. A group is an author with one
        paper in progress.

    Raises
    ------
    DataError
        If a file or a column is absent, a feature is missing, or a label is not 0 or 1.

    Notes
    -----
    In each part, groups stay with at least 3 positives that are at least 10 % of their rows, as
    in the reference code.

    References
    ----------
    hiranandani2020, section 7.3.1; budhiraja2020.
    """
    found = members(path, "the citation data", URL)
    files = [required(found, [name], path, URL) for name in FILES]
    tables: list[tuple[str, Mapping[str, NDArray[Any]]]] = []
    for file in files:
        with file.open() as stream:
            tables.append((file.name, read_pickled(stream, file.name)))
    return Parts(*(_rows(table, name) for name, table in tables))


def _rows(table: Mapping[str, NDArray[Any]], name: str) -> Rows:
    embedded = [str(i) for i in range(2 * DIMENSIONS)]
    _require(table, [_WRITER, _PAPER, _LABEL, *SIDE, *embedded], name)
    qid = np.array(
        [f"{who}_{what}" for who, what in zip(table[_WRITER], table[_PAPER], strict=True)], str
    )
    positive = _label(table[_LABEL], name)
    side, vectors = _numbers(table, SIDE, name), _numbers(table, embedded, name)
    kept = _of_enough_positives(qid, positive)
    if not kept.size:
        raise DataError(
            f"{name}: no author's paper has {FEWEST_POSITIVES} positives that are at least "
            f"{LEAST_SHARE:.0%} of its rows. Pass the file as it was published."
        )
    vectors = vectors[kept]
    products = vectors[:, :DIMENSIONS] * vectors[:, DIMENSIONS:]
    X = np.concatenate([side[kept], vectors, products], axis=1)
    return Rows(X, positive[kept], qid[kept])


def _of_enough_positives(qid: NDArray[Any], positive: NDArray[np.float64]) -> NDArray[np.int64]:
    _, codes, sizes = np.unique(qid, return_inverse=True, return_counts=True)
    hits = np.bincount(codes, weights=positive, minlength=sizes.size)
    enough = (hits >= FEWEST_POSITIVES) & (hits >= LEAST_SHARE * sizes)
    return np.flatnonzero(enough[codes])


def _require(table: Mapping[str, Any], columns: list[str], name: str) -> None:
    absent = [column for column in columns if column not in table]
    if absent:
        raise DataError(
            f"{name} has no column {absent[0]!r}"
            f"{f' (and {len(absent) - 1} more)' if len(absent) > 1 else ''}; it has "
            f"{', '.join(list(table)[:8])}, …. Expected are {_WRITER}, {_PAPER}, the counts "
            f"{', '.join(SIDE)}, the embeddings '0' to '{2 * DIMENSIONS - 1}', and {_LABEL}."
        )


def _label(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    label = _floats(values, _LABEL, name)
    odd = np.flatnonzero((label != 0) & (label != 1))
    if odd.size:
        raise DataError(f"{name}: {_LABEL} must be 0 or 1, got {label[odd[0]]:g} in row {odd[0]}.")
    return label


def _numbers(
    table: Mapping[str, NDArray[Any]], columns: tuple[str, ...] | list[str], name: str
) -> NDArray[np.float64]:
    return np.stack([_floats(table[column], column, name) for column in columns], axis=1)


def _floats(values: NDArray[Any], column: str, name: str) -> NDArray[np.float64]:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: {column} must hold numbers: {error}.") from error
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise DataError(f"{name}: {column} has no finite value in row {bad[0]}.")
    return numbers
