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

from podium.errors import DataError
from podium_studies.archive import members, required
from podium_studies.hiranandani2020.pickled import read_pickled
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
    files = [required(archive, name, path, URL) for name in FILES]
    tables: list[tuple[str, Mapping[str, NDArray[Any]]]] = []
    for file in files:
        with file.open() as stream:
            tables.append((file.name, read_pickled(stream, file.name)))
    return Parts(*(_rows(table, name) for name, table in tables))


def _rows(table: Mapping[str, NDArray[Any]], name: str) -> Rows:
    columns = [*SIDE, *(str(i) for i in range(2 * DIMENSIONS)), _LABEL]
    try:
        pairs = zip(table[_WRITER], table[_PAPER], strict=True)
        qid = np.array([f"{writer}_{paper}" for writer, paper in pairs], str)
        numbers = np.stack([table[column].astype(np.float64) for column in columns], axis=1)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{name} must have {_WRITER}, {_PAPER} and numbers in {', '.join(SIDE)}, '0' to "
            f"'{2 * DIMENSIONS - 1}' and {_LABEL}: {error}. Pass the file as published."
        ) from error
    relevance = numbers[:, -1]
    if not np.isfinite(numbers).all() or not np.isin(relevance, (0, 1)).all():
        raise DataError(f"{name}: all features must be finite, and {_LABEL} must be 0 or 1.")
    selected_rows = _rows_with_enough_positives(qid, relevance)
    if not selected_rows.size:
        raise DataError(
            f"{name}: no group of an author and a paper has at least {FEWEST_POSITIVES} positives "
            f"that make up at least {LEAST_SHARE:.0%} of its rows. Pass the file as published."
        )
    numbers = numbers[selected_rows, :-1]
    embeddings = numbers[:, len(SIDE) :]
    products = embeddings[:, :DIMENSIONS] * embeddings[:, DIMENSIONS:]
    X = np.concatenate([numbers, products], axis=1)
    return Rows(X, relevance[selected_rows], qid[selected_rows])


def _rows_with_enough_positives(
    qid: NDArray[Any], positive: NDArray[np.float64]
) -> NDArray[np.int64]:
    _, codes, sizes = np.unique(qid, return_inverse=True, return_counts=True)
    n_positives = np.bincount(codes, weights=positive, minlength=sizes.size)
    is_kept = (n_positives >= FEWEST_POSITIVES) & (n_positives >= LEAST_SHARE * sizes)
    return np.flatnonzero(is_kept[codes])
