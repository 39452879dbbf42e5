"""The citation data of hiranandani2020 in its original files: the papers that an author will cite.

The archive citation.tar.gz of the paper's source code contains three pickled tables:
CitationDataset_Train.pkl, CitationDataset_Val.pkl and CitationDataset_Test.pkl.
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
from podium_studies.rows import Parts, Rows

URL = "https://github.com/gaurush-hiranandani/pap-k"
FILES = ("CitationDataset_Train.pkl", "CitationDataset_Val.pkl", "CitationDataset_Test.pkl")
SIDE = (
    "CoAuthorCount",
    "UserAuthorCitationCount",
    "AuthorUserCitationCount",
    "UserCitedConference",
    "UserPublishedInConferenceCount",
)
DIMENSIONS = 50  # length of a paper's embedding
FEWEST_POSITIVES = 3
LEAST_SHARE = 0.1  # smallest share of positives among a user's rows

_WRITER, _PAPER, _LABEL = "u_id", "paper_id_written", "label"


def read(path: Path) -> Parts:
    """Return the published training, validation and test rows, with unscaled features.

    Parameters
    ----------
    path : Path
        The folder (or .zip) with the three files.

    Returns
    -------
    Parts
        Rows of 155 features: 5 counts of earlier co-authorships, citations and publications,
        the embedding of the paper in progress, the embedding of the cited paper, and the
        products of the two embeddings. The paper states 157 features, but two of its seven
        counts are not in the files. A group is an author with one paper in progress.

    Raises
    ------
    DataError
        If a file or a column is absent, a feature is missing, or a label is not 0 or 1.

    Notes
    -----
    As in the reference code, each part keeps only the groups with at least 3 positives that make
    up at least 10 % of the rows.

    References
    ----------
    hiranandani2020, section 7.3.1; budhiraja2020.
    """
    archive = members(path, "the citation data", URL)
    files = [required(archive, [name], path, URL) for name in FILES]
    tables: list[tuple[str, Mapping[str, NDArray[Any]]]] = []
    for file in files:
        with file.open() as stream:
            tables.append((file.name, read_pickled(stream, file.name)))
    return Parts(*(_rows(table, name) for name, table in tables))


def _rows(table: Mapping[str, NDArray[Any]], name: str) -> Rows:
    embedding_columns = [str(i) for i in range(2 * DIMENSIONS)]
    _require_columns(table, [_WRITER, _PAPER, _LABEL, *SIDE, *embedding_columns], name)
    qid = np.array(
        [f"{writer}_{paper}" for writer, paper in zip(table[_WRITER], table[_PAPER], strict=True)],
        str,
    )
    relevance = _checked_labels(table[_LABEL], name)
    counts, embeddings = _numbers(table, SIDE, name), _numbers(table, embedding_columns, name)
    selected_rows = _rows_with_enough_positives(qid, relevance)
    if not selected_rows.size:
        raise DataError(
            f"{name}: no group of an author and a paper has at least {FEWEST_POSITIVES} positives "
            f"that make up at least {LEAST_SHARE:.0%} of its rows. Pass the file as published."
        )
    embeddings = embeddings[selected_rows]
    products = embeddings[:, :DIMENSIONS] * embeddings[:, DIMENSIONS:]
    X = np.concatenate([counts[selected_rows], embeddings, products], axis=1)
    return Rows(X, relevance[selected_rows], qid[selected_rows])


def _rows_with_enough_positives(
    qid: NDArray[Any], positive: NDArray[np.float64]
) -> NDArray[np.int64]:
    _, codes, sizes = np.unique(qid, return_inverse=True, return_counts=True)
    n_positives = np.bincount(codes, weights=positive, minlength=sizes.size)
    is_kept = (n_positives >= FEWEST_POSITIVES) & (n_positives >= LEAST_SHARE * sizes)
    return np.flatnonzero(is_kept[codes])


def _require_columns(table: Mapping[str, Any], columns: list[str], name: str) -> None:
    absent = [column for column in columns if column not in table]
    if absent:
        raise DataError(
            f"{name} has no column {absent[0]!r}"
            f"{f' (and {len(absent) - 1} more)' if len(absent) > 1 else ''}. It has "
            f"{', '.join(list(table)[:8])}, …. It must have {_WRITER}, {_PAPER}, the counts "
            f"{', '.join(SIDE)}, the embeddings '0' to '{2 * DIMENSIONS - 1}', and {_LABEL}."
        )


def _checked_labels(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    labels = _floats(values, _LABEL, name)
    invalid = np.flatnonzero((labels != 0) & (labels != 1))
    if invalid.size:
        raise DataError(
            f"{name}: {_LABEL} must be 0 or 1, got {labels[invalid[0]]:g} in row {invalid[0]}."
        )
    return labels


def _numbers(
    table: Mapping[str, NDArray[Any]], columns: tuple[str, ...] | list[str], name: str
) -> NDArray[np.float64]:
    return np.stack([_floats(table[column], column, name) for column in columns], axis=1)


def _floats(values: NDArray[Any], column: str, name: str) -> NDArray[np.float64]:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: {column} must contain numbers: {error}.") from error
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise DataError(f"{name}: {column} has no finite value in row {bad[0]}.")
    return numbers
