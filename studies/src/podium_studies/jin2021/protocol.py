"""The data of sampled evaluations: training pairs, and one held-out item per user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import data
from podium.errors import DataError
from podium_studies import checks
from podium_studies.archive import (
    Ints,
    Pairs,
    counted,
    lists,
    matrix,
    members,
    movielens,
    numbered,
    pick,
    required,
)
from podium_studies.archive import pairs as pairs_of
from podium_studies.cells import generator
from podium_studies.recipe import DataSet, Recipe

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """One held-out item of each user, and all other pairs.

    Attributes
    ----------
    train : scipy.sparse.csr_array of float32, (n_users, n_items)
        Ones at the training pairs, with items in rising order.
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
        """The number of training items of each user: int64, (n_users,)."""
        return np.diff(self.train.indptr).astype(np.int64)

    @cached_property
    def targets(self) -> sparse.csr_array[Any]:
        """The held-out pairs as a matrix, (n_users, n_items)."""
        return matrix(np.arange(self.n_users), self.target, self.train.shape)


def read(recipe: Recipe, paths: Mapping[str, Path]) -> HeldOut:
    """Read a recipe's data set and hold out one item of each user.

    ``recipe.parameters["protocol"]`` has the settings. ``format`` is a name in `FORMATS`.
    ``users`` is the number of users to draw at random (0 keeps all), and ``least`` the smallest
    number of pairs of a user who is kept. ``shape`` contains the expected numbers of users, items
    and pairs after that; [] disables the check.

    Raises
    ------
    DataError
        If a file is absent or malformed, or if the numbers differ from ``shape``.
    """
    pairs, last, shape = _pairs(recipe, paths)
    target = _drawn_items(recipe, pairs[1], np.bincount(pairs[0])) if last is None else last
    is_train = pairs[1] != target[pairs[0]]
    return HeldOut(matrix(pairs[0][is_train], pairs[1][is_train], shape), target)


def split(
    recipe: Recipe, paths: Mapping[str, Path], share: float
) -> tuple[sparse.csr_array[Any], sparse.csr_array[Any]]:
    """Read a recipe's data set and hold out a random share of each user's items, rounded down.

    Returns
    -------
    train, targets : scipy.sparse.csr_array of float32, (n_users, n_items)
    """
    (user, item), _, shape = _pairs(recipe, paths)
    sizes = np.bincount(user)
    order = np.lexsort((generator(recipe, "held-out").random(user.size), user))
    place = np.empty(user.size, np.int64)
    place[order] = np.arange(user.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    is_target = place < (share * sizes).astype(np.int64)[user]
    train, targets = (matrix(user[rows], item[rows], shape) for rows in (~is_target, is_target))
    return train, targets


def _pairs(recipe: Recipe, paths: Mapping[str, Path]) -> tuple[Pairs, Ints | None, tuple[int, int]]:
    """Return the pairs of the selected users, the held-out items if known, and the shape."""
    settings: Mapping[str, Any] = recipe.parameters["protocol"]
    (source,) = recipe.data
    reader = FORMATS[checks.choice(settings["format"], "format", list(FORMATS))]
    pairs, last = reader(paths[source.folder], source)
    pairs, last = _selected(recipe, pairs, last)
    n_users, n_items = (int(codes.max()) + 1 for codes in pairs)
    shape = [n_users, n_items, pairs[0].size]
    if settings["shape"] not in ([], shape):
        raise DataError(
            f"{paths[source.folder]} has {shape} users, items and pairs, but {source.title} has "
            f"{settings['shape']}. Download it again from {source.url}"
        )
    return pairs, last, (n_users, n_items)


def _selected(recipe: Recipe, pairs: Pairs, last: Ints | None) -> tuple[Pairs, Ints | None]:
    """Return the pairs of the selected users, with users and items numbered from 0."""
    settings = recipe.parameters["protocol"]
    users = np.flatnonzero(np.bincount(pairs[0]) >= max(2, settings["least"]))
    if 0 < settings["users"] < users.size:
        drawn = generator(recipe, "users").choice(users, settings["users"], replace=False)
        users = np.sort(drawn)
    if not users.size:
        raise DataError(
            f"{recipe.data[0].title} has no user with at least {max(2, settings['least'])} items."
        )
    selected = np.isin(pairs[0], users)
    items, item = np.unique(pairs[1][selected], return_inverse=True)
    subset = np.searchsorted(users, pairs[0][selected]).astype(np.int64), item.astype(np.int64)
    return subset, None if last is None else np.searchsorted(items, last[users]).astype(np.int64)


def _drawn_items(recipe: Recipe, item: Ints, sizes: Ints) -> Ints:
    """Draw one item of each user; the pairs are sorted by user."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return item[starts + generator(recipe, "held-out").integers(sizes)]


def _movielens(place: Path, source: DataSet) -> tuple[Pairs, Ints]:
    """Read MovieLens 1M; the held-out item is each user's last, as in the test file of NCF.

    The files are the publisher's ratings.dat (among equal times, the largest item id is the
    last), or those of NCF (ml-1m.train.rating, ml-1m.test.rating).
    """
    files = members(place, source.title, source.url)
    train = pick(files, ["ml-1m.train.rating"])
    if train is not None:
        test = required(files, "ml-1m.test.rating", place, source.url)
        parts = pairs_of(train, b"\t"), pairs_of(test, b"\t")
        user, item = (np.concatenate(ids) for ids in zip(*parts, strict=True))
        ends = np.argsort(parts[1][0]) + parts[0][0].size
    else:
        ratings = movielens(place, "1m")
        user, item = np.asarray(ratings.user), np.asarray(ratings.item)
        order = np.lexsort((item, np.asarray(ratings.timestamp), user))
        ends = order[np.flatnonzero(np.diff(user[order], append=-1))]
    return numbered(user, item), np.searchsorted(np.unique(item), item[ends])


def _splits(*names: str, are_lists: bool) -> Callable[[Path, DataSet], tuple[Pairs, None]]:
    """Return a reader of the union of files, without repeated pairs."""

    def pairs(place: Path, source: DataSet) -> tuple[Pairs, None]:
        files = members(place, source.title, source.url)
        matches = [required(files, name, place, source.url) for name in names]
        parts = [lists(file) if are_lists else pairs_of(file, b" ") for file in matches]
        user, item = (np.concatenate(ids) for ids in zip(*parts, strict=True))
        return numbered(user, item), None

    return pairs


def _counted(place: Path, source: DataSet) -> tuple[Pairs, None]:
    """Return the pairs of users.dat."""
    return numbered(*counted(place, source)), None


def _table(place: Path, source: DataSet) -> tuple[Pairs, None]:
    """Read a table of users and items, or the only table in a folder."""
    files = members(place, source.title, source.url)
    if len(files) != 1:
        raise DataError(
            f"{place} must be a table with a column of users and a column of items, or a folder "
            f"with only this table, got {len(files)} files. Pass the file itself."
        )
    rows = data.read_interactions(Path(files[0].name))
    return numbered(rows.user, rows.item), None


FORMATS: dict[str, Callable[[Path, DataSet], tuple[Pairs, Ints | None]]] = {
    "movielens-1m": _movielens,
    "citeulike-a": _counted,
    "citeulike": _splits("train.txt", "valid.txt", "test.txt", are_lists=False),
    "lists": _splits("train.txt", "test.txt", are_lists=True),
    "table": _table,
}
"""Readers by name; they return pairs sorted by user, and the users' held-out items or None."""
