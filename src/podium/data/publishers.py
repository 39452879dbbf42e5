"""Readers of public data sets in their published form: MovieLens, LETOR and Online Retail.

MovieLens and LETOR may not be distributed with a library; their readers take downloaded files.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data import archive, svmlight
from podium.data.convert import one_chunk
from podium.data.delimited import explain_lines
from podium.data.features import Features, of_svmlight
from podium.data.files import BROKEN, error_line
from podium.data.interactions import Interactions
from podium.data.source import POLARS
from podium.errors import ArgumentError, DataError

MOVIELENS = "https://grouplens.org/datasets/movielens/"
LETOR = (
    "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
)

MovieLens: TypeAlias = Literal["100k", "1m", "latest-small"]
_KINDS: tuple[MovieLens, ...] = ("100k", "1m", "latest-small")
_RATINGS: dict[MovieLens, str] = {
    "100k": "u.data",
    "1m": "ratings.dat",
    "latest-small": "ratings.csv",
}
_COLUMNS = ("user", "item", "rating", "timestamp")
_HEADER: dict[str, str] = {
    "userId": "user",
    "movieId": "item",
    "rating": "rating",
    "timestamp": "timestamp",
}


@dataclass(frozen=True, eq=False)
class Letor:
    """One fold of a LETOR collection."""

    train: Features
    valid: Features
    test: Features


def movielens(path: str | Path, name: MovieLens | None = None) -> Interactions:
    """Read MovieLens ratings from the folder, the .zip archive, or the ratings file.

    Parameters
    ----------
    path : str or Path
        The files as GroupLens publishes them, or u.data, ratings.dat or ratings.csv, also .gz.
    name : {"100k", "1m", "latest-small"}, optional
        The collection. By default it is determined by the files. Larger collections of the same
        form can also be read: 10M as "1m", and 20M to 32M as "latest-small".

    Returns
    -------
    Interactions
        The ratings in the file's order. value is the rating, timestamp is in seconds from 1970
        (UTC).

    Raises
    ------
    DataError
        If the path is missing (with the download address), or a line is malformed.

    Examples
    --------
    >>> ratings = movielens("ml-100k.zip")  # doctest: +SKIP
    >>> ratings.user.size  # doctest: +SKIP
    100000
    """
    kinds = _KINDS if name is None else (_check.choice(name, "name", _KINDS),)
    files = archive.members(path, "MovieLens", MOVIELENS)
    file = archive.required(files, [_RATINGS[kind] for kind in kinds], path, MOVIELENS)
    base = file.path.lower().removesuffix(".gz")
    with file.open() as stream:
        content = stream.read()
    if base.endswith(".csv"):
        separator, columns = b",", _header(content, file.name)
    else:
        separator, columns = b"::" if base.endswith(".dat") else b"\t", _COLUMNS
    frame = _ratings(content, separator, columns, int(base.endswith(".csv")), file.name)
    user, item, rating, timestamp = (one_chunk(frame[column]) for column in _COLUMNS)
    return Interactions(user, item, rating, timestamp)


def _header(content: bytes, name: str) -> tuple[str, ...]:
    """Return the roles of the columns of a ratings.csv, in the order of its header."""
    header = content.split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    names = [field.strip().strip('"') for field in header.split(",")]
    if sorted(names) != sorted(_HEADER):
        raise DataError(
            f"{name}, line 1: the header must name {', '.join(_HEADER)}, got "
            f"{header.strip()[:80]!r}."
        )
    return tuple(_HEADER[field] for field in names)


def _ratings(
    content: bytes, separator: bytes, columns: tuple[str, ...], skip: int, name: str
) -> pl.DataFrame:
    POLARS.enter()
    types: dict[str, type[pl.DataType]] = dict.fromkeys(columns, pl.Int64)
    types["rating"] = pl.Float64

    def read(part: bytes, skip: int = 0) -> pl.DataFrame:
        tab_separated = part.replace(separator, b"\t")
        return pl.read_csv(
            tab_separated, separator="\t", has_header=False, skip_rows=skip, schema=types
        )

    try:
        frame = read(content, skip)
    except BROKEN as error:
        explain_lines(content, name, read, separator, columns, set(columns), skip)
        raise DataError(f"{name} can't be read as ratings: {error_line(error)}.") from error
    if any(frame[column].null_count() for column in _COLUMNS):
        explain_lines(content, name, read, separator, columns, set(columns), skip)
        raise DataError(f"{name} can't be read as ratings: a value is missing.")
    return frame


def letor(path: str | Path, fold: int = 1) -> Letor:
    """Read one fold of LETOR (OHSUMED, MQ2007, MSLR-WEB10K, …) from the folder or .zip archive.

    Parameters
    ----------
    path : str or Path
        The folder or archive with Fold1 to Fold5 (each with train, vali and test files), or with
        the five parts S1.txt to S5.txt from which these are made. The files may be .gz.
    fold : int
        The number of the fold, from 1. If there are only parts, fold f has S(f), S(f+1) and S(f+2)
        for training and the two following parts for validation and test, cyclically.

    Returns
    -------
    Letor
        The three parts of the fold.

    Raises
    ------
    DataError
        If the path or the fold is missing, or a line is malformed.

    Examples
    --------
    >>> fold = letor("MQ2007", fold=2)  # doctest: +SKIP
    >>> fold.train.X.shape  # doctest: +SKIP
    """
    number = _check.cutoff(fold, name="fold")
    files = archive.members(path, "LETOR", LETOR)
    if len(files) == 1 and files[0].name == str(path):
        raise DataError(f"{path} is a file. Pass the folder of the folds, or use read_features.")
    parts = _fold_files(files, number) or _part_files(files, number)
    if parts is None:
        raise DataError(
            f"{path} contains no fold {number}: neither Fold{number}/train.txt, vali.txt and "
            f"test.txt nor S1.txt to S5.txt. Pass the folder or archive as downloaded from {LETOR}"
        )
    rows = [svmlight.parse(part) for part in parts]
    width = max(part.highest for part in rows)
    names = [part[0].name for part in parts]
    return Letor(*(of_svmlight(r, n, width or None) for r, n in zip(rows, names, strict=True)))


_FOLD_NAMES = (
    ("train.txt", "trainingset.txt"),
    ("vali.txt", "validationset.txt"),
    ("test.txt", "testset.txt"),
)


def _fold_files(files: list[archive.Member], fold: int) -> list[list[archive.Member]] | None:
    members = [
        archive.pick(files, [f"Fold{fold}/{name}" for name in names]) for names in _FOLD_NAMES
    ]
    return None if any(file is None for file in members) else [[file] for file in members if file]


def _part_files(files: list[archive.Member], fold: int) -> list[list[archive.Member]] | None:
    members = [archive.pick(files, [f"S{number}.txt"]) for number in range(1, 6)]
    parts = [file for file in members if file is not None]
    if len(parts) < 5:
        return None
    if fold > 5:
        raise ArgumentError(f"fold must be 1 to 5, got {fold}.")
    rotated = [parts[i] for i in np.roll(np.arange(5), 1 - fold)]
    return [rotated[:3], rotated[3:4], rotated[4:]]


@dataclass(frozen=True, eq=False)
class OnlineRetail:
    """Events of an online shop, sorted by user, minute and item.

    Attributes
    ----------
    user, item : int64, (n_events,)
        Positions in the arrays below, from 0.
    minute : int64, (n_events,)
        Minutes since epoch0.
    quantity : int64, (n_events,)
        The number of pieces, negative for cancellations and returns.
    epoch0 : int
        The time of minute 0 in seconds from 1970 (2010-12-01 08:26; the source names no time zone).
    stock_code, description : str, (n_items,)
    customer_id : int64, (n_users,)
    country : str, (n_users,)
    """

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    minute: NDArray[np.int64]
    quantity: NDArray[np.int64]
    epoch0: int
    stock_code: NDArray[np.str_]
    description: NDArray[np.str_]
    customer_id: NDArray[np.int64]
    country: NDArray[np.str_]

    @property
    def n_users(self) -> int:
        """The number of customers; a few have only cancellations."""
        return self.customer_id.size

    @property
    def n_items(self) -> int:
        """The number of products; a few were never bought."""
        return self.stock_code.size


def load_onlineretail() -> OnlineRetail:
    """Load the Online Retail events, which are part of podium.

    They are 404,909 purchases and cancellations of 4,363 customers and 3,676 products, from
    2010-12-01 to 2011-12-09. Most customers are in the UK, and many are wholesalers.

    Returns
    -------
    OnlineRetail
        The events.

    References
    ----------
    chen2012.

    Examples
    --------
    >>> shop = load_onlineretail()
    >>> shop.user.size, shop.n_users, shop.n_items
    (404909, 4363, 3676)
    """
    folder = files("podium.data") / "onlineretail"
    with (folder / "events.npz").open("rb") as file, np.load(file) as events:
        user, item, minute, quantity = (
            events[name].astype(np.int64) for name in ("user", "item", "minute", "quantity")
        )
        epoch0 = int(events["epoch0"][0])
    items = _table("items.csv.gz").sort("item")
    customers = _table("customers.csv.gz").sort("user")
    return OnlineRetail(
        user,
        item,
        minute,
        quantity,
        epoch0,
        items["stock_code"].to_numpy().astype(np.str_),
        items["description"].to_numpy().astype(np.str_),
        customers["customer_id"].to_numpy().astype(np.int64),
        customers["country"].to_numpy().astype(np.str_),
    )


def _table(name: str) -> pl.DataFrame:
    POLARS.enter()
    packed = (files("podium.data") / "onlineretail" / name).read_bytes()
    types = {"stock_code": pl.String, "customer_id": pl.Int64}
    return pl.read_csv(gzip.decompress(packed), schema_overrides=types)
