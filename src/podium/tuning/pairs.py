"""Pairs of users and items: those to learn from, those to measure on, and the measure."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import _check, data
from podium.catalogue import rank_blocks
from podium.data.ids import codes_of
from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.ranking import kept_offsets
from podium.recommenders import Popularity, Recommender
from podium.types import PerGroup

_PURPOSE = 5  # part of the seeds of draws
_FEW_USERS = 64


@dataclass(frozen=True, eq=False)
class Parts:
    """Pairs of the same users and items, as matrices.

    Attributes
    ----------
    train, valid : csr_array
        The pairs that candidates learn from, and those that they are measured on.
    seen : csr_array or None
        Further pairs that candidates neither learn from nor are measured on.
    has_zeros : bool
        Whether some pairs of the table have the value 0.
    """

    train: Any
    valid: Any
    seen: Any = None
    has_zeros: bool = False

    def digest(self) -> str:
        """Return a text that identifies the pairs."""
        digest = blake2b(repr(self.train.shape).encode(), digest_size=16)
        for matrix in (self.train, self.valid, self.seen):
            if matrix is not None:
                for values in (matrix.indptr, matrix.indices, matrix.data):
                    digest.update(np.ascontiguousarray(values, np.float64).data)
        return digest.hexdigest()


def divided(
    user_items: Any, eval_set: Any, seen: Any, share: float, seed: int, *, every_row: bool = False
) -> Parts:
    """Return the parts of a search; without an eval_set, draw a share of each user's pairs.

    With `every_row`, all rows of a table are pairs of weight 1. Otherwise, rows with value 0 are
    seen pairs.

    Raises
    ------
    ArgumentError
        If the pairs are invalid, or an eval_set or `seen` has other users or items.
    """
    share = _check.open_fraction(share, "valid")
    reader = Popularity().fit(user_items)  # the pairs are read and checked as in any fit
    learned, zeros = _split(reader.user_items_, every_row=every_row)
    others = None if seen is None else _matrix_like(seen, "seen", reader, every_row=True)
    others = zeros if others is None else others if zeros is None else others + zeros
    has_zeros = not reader.user_items_.data.all()
    if eval_set is not None:
        valid = _matrix_like(eval_set, "eval_set", reader, every_row=every_row)
        return Parts(learned, valid, others, has_zeros)
    is_valid = _drawn(learned, share, seed)
    train, valid = (_selected(learned, rows) for rows in (~is_valid, is_valid))
    return Parts(train, valid, others, has_zeros)


def _split(pairs: Any, *, every_row: bool) -> tuple[Any, Any]:
    """Return the pairs to learn from, and those of weight 0 as a matrix of ones, or None."""
    is_learned = pairs.data > 0
    if is_learned.all():
        return pairs, None
    if every_row:
        return _ones(pairs), None
    return _selected(pairs, is_learned), _ones(_selected(pairs, ~is_learned))


def _ones(pairs: Any) -> Any:
    return sparse.csr_array((np.ones_like(pairs.data), pairs.indices, pairs.indptr), pairs.shape)


def few(pairs: Any) -> Any:
    """Return the pairs of a few users, without the other items."""
    rows = pairs[np.flatnonzero(np.diff(pairs.indptr))[:_FEW_USERS]]
    return sparse.csr_array(rows[:, np.unique(rows.indices)])


def check_measured(parts: Parts, measure: Measure) -> None:
    """Raise unless the measure is defined on a user with validation pairs."""
    if np.isnan(measured(Popularity().fit(parts.train), parts, measure)).all():
        raise ArgumentError(
            f"{measure} is defined on no user of the validation pairs. Hold out more pairs, or "
            "choose another measure."
        )


def measured(model: Recommender, parts: Parts, measure: Measure) -> PerGroup:
    """Return the measure of each user with validation pairs, among all items not in training."""
    users = np.flatnonzero(np.diff(parts.valid.indptr))
    if not users.size:
        return np.full(1, np.nan)
    known = parts.train if parts.seen is None else parts.train + parts.seen
    blocks = rank_blocks(
        model.as_scores(users),
        parts.valid[users],
        exclude=known[users],
        overlap="drop",
        depth=None if measure.k is None else 2 * measure.k,  # pap@k needs this depth
    )
    return np.concatenate([measure(ranking) for ranking in blocks])


def _drawn(pairs: Any, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which pairs are held out: a share of each user's, rounded up or down at random.

    Each user keeps at least one pair.
    """
    rng = np.random.default_rng([_check.seed(seed), _PURPOSE])
    sizes: NDArray[np.int64] = np.diff(pairs.indptr)
    n_valid = np.minimum(np.floor(sizes * share + rng.random(sizes.size)), np.maximum(sizes - 1, 0))
    rows = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((rng.random(rows.size), rows))
    places = np.empty(rows.size, np.int64)
    places[order] = np.arange(rows.size) - np.repeat(pairs.indptr[:-1], sizes)
    return places < n_valid[rows]


def _selected(pairs: Any, is_selected: NDArray[np.bool_]) -> Any:
    offsets = kept_offsets(is_selected, pairs.indptr)
    columns = (pairs.data[is_selected], pairs.indices[is_selected], offsets)
    return sparse.csr_array(columns, shape=pairs.shape)


def _matrix_like(source: Any, name: str, reader: Recommender, *, every_row: bool) -> Any:
    """Return pairs as a matrix of ones with the users and items of the reader."""
    shape = (reader.n_users_, reader.n_items_)
    if not _check.is_sparse(source):
        rows, columns = _places(source, name, reader, every_row=every_row)
    elif source.shape != shape:
        raise ArgumentError(
            f"{arg[name]} must have the shape of {arg.user_items}, {shape}, got {source.shape}."
        )
    else:
        coo: Any = source.tocoo()
        rows, columns = (places[coo.data > 0] for places in (coo.row, coo.col))
    matrix: Any = sparse.csr_array((np.ones(rows.size, np.float32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def _places(source: Any, name: str, reader: Recommender, *, every_row: bool) -> tuple[Any, Any]:
    """Return the rows and columns of the pairs of a table; those of value 0 with `every_row`."""
    if reader.user_labels_ is None:
        raise ArgumentError(f"{arg[name]} must be a sparse matrix, like {arg.user_items}.")
    events = source if isinstance(source, data.Interactions) else data.read_interactions(source)
    user, item = (labels[codes] for codes, labels in map(codes_of, (events.user, events.item)))
    is_pair = slice(None) if every_row or events.value is None else events.value > 0
    rows, columns = reader.places(user[is_pair], item[is_pair])
    is_unknown = (rows < 0) | (columns < 0)
    if is_unknown.any():
        raise ArgumentError(
            f"{name} has {int(is_unknown.sum())} of {rows.size} pairs whose user or item is not in "
            f"{arg.user_items}. Leave them out."
        )
    return rows, columns
