"""The citation data of hiranandani2020 in its original files: the papers that an author will cite.

The archive citation.tar.gz of the paper's source code contains three pickled tables:
CitationDataset_Train.pkl, CitationDataset_Val.pkl and CitationDataset_Test.pkl.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import IO, Any

import numpy as np

from podium.errors import DataError
from podium_studies import checks
from podium_studies.archive import find
from podium_studies.rows import Parts, Rows
from podium_studies.study import DataSet

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

_CALLED = {
    *("DataFrame", "BlockManager", "new_block", "_unpickle_block", "ndarray", "dtype", "scalar"),
    *("Index", "Int64Index", "RangeIndex", "_new_Index", "_reconstruct", "_frombuffer"),
    *("slice", "bytes", "encode"),
}
"""The names in pickled tables of numbers and texts, of pandas, NumPy and Python."""
_PACKAGES = ("pandas", "numpy", "builtins", "__builtin__", "_codecs")


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
        If a file is absent, or is not a pickled table with these columns.

    Notes
    -----
    As in the reference code, each part keeps only the groups with at least 3 positives that make
    up at least 10 % of the rows.

    References
    ----------
    hiranandani2020, section 7.3.1; budhiraja2020.
    """
    parts: list[Rows] = []
    for file in find(path, DataSet("", "the citation data", URL, ""), *FILES):
        try:
            with file.open() as stream:
                parts.append(_rows(read_pickled(stream)))
        except Exception as error:  # damaged pickles raise errors of many types
            raise DataError(
                f"{file.name} must be a table as published ({error}). Download it again from {URL}"
            ) from None
    return Parts(*parts)


def read_pickled(stream: IO[bytes]) -> Any:
    """Return a pickled DataFrame of numbers and texts; another name in the file is an error."""
    compat: Any = checks.extra("pandas.compat.pickle_compat", "citation", "The citation data")

    class Tables(compat.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if name not in _CALLED or module.partition(".")[0] not in _PACKAGES:
                raise pickle.UnpicklingError(f"it names {module}.{name}")
            reader: Any = super()
            return reader.find_class(module, name)

    return Tables(stream).load()


def _rows(table: Any) -> Rows:
    table = table.rename(columns=str)
    columns = [*SIDE, *(str(i) for i in range(2 * DIMENSIONS))]
    y, features = table["label"].to_numpy(np.float64), table[columns].to_numpy(np.float64)
    pairs = zip(table["u_id"], table["paper_id_written"], strict=True)
    qid = np.array([f"{writer}_{paper}" for writer, paper in pairs], str)
    embeddings = features[:, len(SIDE) :]
    products = embeddings[:, :DIMENSIONS] * embeddings[:, DIMENSIONS:]
    _, codes, sizes = np.unique(qid, return_inverse=True, return_counts=True)
    n_positives = np.bincount(codes, weights=y, minlength=sizes.size)
    is_kept = (n_positives >= FEWEST_POSITIVES) & (n_positives >= LEAST_SHARE * sizes)
    return Rows(np.concatenate([features, products], axis=1), y, qid).take(is_kept[codes])
