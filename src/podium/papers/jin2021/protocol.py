"""The data of sampled evaluations: pairs that models learn from, and one held-out item a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import _check, data
from podium.data.archive import Member, members, pick, required
from podium.errors import DataError
from podium.papers.recipe import DataSet, Recipe
from podium.papers.study import generator

T = TypeVar("T")
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Pairs = tuple[Ints, Ints]


@dataclass(frozen=True, eq=False)
class Held:
    """One held-out item of each user, and all other pairs.

    Attributes
    ----------
    train : scipy.sparse.csr_array of float32, (n_users, n_items)
        Ones, items rising; without the held-out pairs.
    target : int64, (n_users,)
        The held-out item of each user.
    """

    train: sparse.csr_array[Any]
    target: Ints

    @property
    def n_users(self) -> int:
        return self.train.shape[0]

    @property
    def n_items(self) -> int:
        return self.train.shape[1]

    @cached_property
    def history(self) -> Ints:
        """How many items each user is learned from: int64, (n_users,)."""
        return np.diff(self.train.indptr).astype(np.int64)

    @cached_property
    def targets(self) -> sparse.csr_array[Any]:
        """The held-out pairs as a matrix, (n_users, n_items)."""
        return _matrix(np.arange(self.n_users), self.target, self.train.shape)


def read(recipe: Recipe, paths: Mapping[str, Path]) -> Held:
    """Read a recipe's data set and hold out one item of each user.

    ``recipe.parameters["protocol"]`` says how: ``format`` is a name of `FORMATS`; ``users`` (how
    many are kept, drawn at random; 0 keeps all) and ``least`` (pairs that a user must have) make
    the data smaller; ``shape`` is how many users, items and pairs there must be then, and [] asks
    for nothing.

    Raises
    ------
    DataError
        For an absent or broken file, or other data than those of the recipe.
    """
    asked: Mapping[str, Any] = recipe.parameters["protocol"]
    (source,) = recipe.data
    reader = FORMATS[_check.choice(asked["format"], "format", list(FORMATS))]
    pairs, last = reader(paths[source.folder], source)
    pairs, last = _kept(recipe, pairs, last)
    n_users, n_items = (int(each.max()) + 1 for each in pairs)
    _refuse_others(paths[source.folder], source, asked["shape"], (n_users, n_items, pairs[0].size))
    target = _drawn(recipe, pairs[1], np.bincount(pairs[0])) if last is None else last
    rest = pairs[1] != target[pairs[0]]
    return Held(_matrix(pairs[0][rest], pairs[1][rest], (n_users, n_items)), target)


def _kept(recipe: Recipe, pairs: Pairs, last: Ints | None) -> tuple[Pairs, Ints | None]:
    """Return the pairs of the users that stay, numbered from 0, as their items."""
    asked = recipe.parameters["protocol"]
    able = np.flatnonzero(np.bincount(pairs[0]) >= max(2, asked["least"]))
    if 0 < asked["users"] < able.size:
        drawn = generator(recipe, "users").choice(able, asked["users"], replace=False)
        able = np.sort(drawn)
    if not able.size:
        raise DataError(f"{recipe.data[0].title} has no user with {max(2, asked['least'])} items.")
    stay = np.isin(pairs[0], able)
    items, item = np.unique(pairs[1][stay], return_inverse=True)
    kept = np.searchsorted(able, pairs[0][stay]).astype(np.int64), item.astype(np.int64)
    return kept, None if last is None else np.searchsorted(items, last[able]).astype(np.int64)


def _drawn(recipe: Recipe, item: Ints, sizes: Ints) -> Ints:
    """Draw one item of each user; pairs are in order of users."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return item[starts + generator(recipe, "held-out").integers(sizes)]


def _refuse_others(
    place: Path, source: DataSet, wanted: Sequence[int], found: tuple[int, int, int]
) -> None:
    if wanted and tuple(wanted) != found:
        expected, got = (
            f"{users:,} users, {items:,} items and {pairs:,} pairs"
            for users, items, pairs in (wanted, found)
        )
        raise DataError(
            f"{place} holds {got}, not the {expected} of {source.title}. Get it again from "
            f"{source.url}"
        )


def _matrix(user: Ints, item: Ints, shape: tuple[int, int]) -> sparse.csr_array[Any]:
    return sparse.csr_array((np.ones(user.size, np.float32), (user, item)), shape=shape)


def _numbered(user: Any, item: Any) -> Pairs:
    """Return numbers from 0 in rising order of ids, each pair once, in order of users."""
    users = np.unique(np.asarray(user), return_inverse=True)[1]
    items = np.unique(np.asarray(item), return_inverse=True)[1]
    width = int(items.max()) + 1
    both = np.unique(users.astype(np.int64) * width + items)
    return both // width, both % width


def _movielens(place: Path, source: DataSet) -> tuple[Pairs, Ints]:
    """Read MovieLens 1M: the held-out item is each user's last, as the NCF test file has it.

    Files are the publisher's (ratings.dat; of equal times the greater item id is the last), those
    of NCF (ml-1m.train.rating, ml-1m.test.rating), or pairs.csv with ncf_test.csv.
    """
    files = members(place, source.title, source.url)
    learned = pick(files, ["ml-1m.train.rating"])
    if learned is not None:
        test = required(files, ["ml-1m.test.rating"], place, source.url)
        return _joined(_columns(learned, b"\t"), _columns(test, b"\t"))
    pairs = pick(files, ["pairs.csv"])
    if pairs is None:
        return _last(place)
    test = required(files, ["ncf_test.csv"], place, source.url)
    return _joined(_columns(pairs, b",", skip=1), _columns(test, b",", skip=1))


def _joined(some: Pairs, test: Pairs) -> tuple[Pairs, Ints]:
    """Return all pairs numbered, and the item of each user's test pair."""
    user, item = (np.concatenate(each) for each in zip(some, test, strict=True))
    target = np.zeros(np.unique(user).size, np.int64)
    if np.unique(test[0]).size != target.size or test[0].size != target.size:
        raise DataError(
            f"The test file has {test[0].size} rows, not one for each of {target.size} users. "
            "Get it again."
        )
    target[np.searchsorted(np.unique(user), test[0])] = np.searchsorted(np.unique(item), test[1])
    return _numbered(user, item), target


def _last(place: Path) -> tuple[Pairs, Ints]:
    ratings = data.movielens(place, "1m")
    user, item, time = (
        np.asarray(each) for each in (ratings.user, ratings.item, ratings.timestamp)
    )
    order = np.lexsort((item, time, user))
    ends = np.concatenate([np.flatnonzero(np.diff(user[order])), [user.size - 1]])
    return _numbered(user, item), np.searchsorted(np.unique(item), item[order][ends])


def _splits(*names: str, lists: bool) -> Callable[[Path, DataSet], tuple[Pairs, None]]:
    """Return a reader of the union of files, repeated pairs dropped."""

    def pairs(place: Path, source: DataSet) -> tuple[Pairs, None]:
        files = members(place, source.title, source.url)
        found = [required(files, [name], place, source.url) for name in names]
        parts = [_lists(file) if lists else _columns(file, b" ") for file in found]
        user, item = (np.concatenate(each) for each in zip(*parts, strict=True))
        return _numbered(user, item), None

    return pairs


def _columns(file: Member, delimiter: bytes, *, skip: int = 0) -> Pairs:
    """Read the first two columns of lines."""

    def pair(line: bytes) -> tuple[int, int]:
        user, item, *_ = line.split(delimiter)
        return int(user), int(item)

    table = np.array(_read_lines(file, pair, skip=skip), np.int64)
    return table[:, 0], table[:, 1]


def _integers(line: bytes) -> Ints:
    return np.array(line.split(), np.int64)


def _lists(file: Member) -> Pairs:
    """Read lines of a user and the user's items; a user may have none."""
    rows = _read_lines(file, _integers)
    sizes = [row.size - 1 for row in rows]
    return np.repeat([int(row[0]) for row in rows], sizes), np.concatenate([r[1:] for r in rows])


def _counted(place: Path, source: DataSet) -> tuple[Pairs, None]:
    """Read users.dat: line n has the number of items of user n, and the items."""
    files = members(place, source.title, source.url)
    file = required(files, ["users.dat"], place, source.url)
    rows = _read_lines(file, _integers)
    for number, row in enumerate(rows, 1):
        if row[0] != row.size - 1:
            raise _broken(file, f"line {number} says {row[0]} items and has {row.size - 1}")
    user = np.repeat(np.arange(len(rows)), [row.size - 1 for row in rows])
    return _numbered(user, np.concatenate([row[1:] for row in rows])), None


def _read_lines(file: Member, parse: Callable[[bytes], T], *, skip: int = 0) -> list[T]:
    """Parse the lines that have something in them."""
    try:
        with file.open() as stream:
            lines = [line for line in stream.read().splitlines() if line.strip()]
        rows = [parse(line) for line in lines[skip:]]
    except (OSError, EOFError, ValueError) as error:
        raise _broken(file, error) from error
    if not lines:
        raise _broken(file, "it is empty")
    return rows


def _broken(file: Member, why: object) -> DataError:
    return DataError(f"{file.name} can't be read: {why}. Get it again.")


def _table(place: Path, source: DataSet) -> tuple[Pairs, None]:
    """Read any table of users and items, or the one table in a folder."""
    files = members(place, source.title, source.url)
    if len(files) != 1:
        raise DataError(
            f"{place} must be, or hold, one table with a column of users and one of items, and "
            f"holds {len(files)} files. Pass the file itself."
        )
    rows = data.read_interactions(Path(files[0].name))
    return _numbered(rows.user, rows.item), None


FORMATS: dict[str, Callable[[Path, DataSet], tuple[Pairs, Ints | None]]] = {
    "movielens-1m": _movielens,
    "citeulike-a": _counted,
    "citeulike": _splits("train.txt", "valid.txt", "test.txt", lists=False),
    "lists": _splits("train.txt", "test.txt", lists=True),
    "table": _table,
}
"""Readers by name: pairs in order of users, and the held-out item of each user or None."""
