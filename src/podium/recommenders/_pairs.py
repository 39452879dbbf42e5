"""Positive pairs of users and items with weights, read from a matrix or a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import _check
from podium.errors import ArgumentError, DataError, arg
from podium.ranking import kept_offsets
from podium.recommenders._ids import known_codes
from podium.types import Labels

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]

GAINS = ("value", "log", "one")
SEARCHED_GAINS = ["value", "one"]
"""The gains in the default spaces of models that read weights."""
ONCE = "once"
"""The gain of models that count each pair with a value > 0 once."""
_MOST_ITEMS = 2**31 - 2
_MOST_HALVINGS = 60.0  # a pair keeps a weight > 0, and is learned


@dataclass(frozen=True, eq=False)
class Pairs:
    """Positive pairs, ordered by user and item, without repetitions.

    Attributes
    ----------
    offsets : int64, (n_users + 1,)
        The pairs of user u are ``offsets[u] : offsets[u + 1]``.
    items : int32, (n_pairs,)
        The item of each pair.
    weights : float32, (n_pairs,)
        The weights s_xy >= 0, divided by `scale`. A pair of weight 0 is seen, but not learned.
    n_items : int
        The number of items, with or without pairs.
    scale : float
        The divisor of s_xy: by default its mean, so that the unit of a step does not depend on
        the unit of the weights.
    user_labels, item_labels : (n_users,), (n_items,), or None
        The ids in ascending order if the pairs came from a table; None for a matrix.
    """

    offsets: Ints
    items: NDArray[np.int32]
    weights: Floats
    n_items: int
    scale: float
    user_labels: Labels | None = None
    item_labels: Labels | None = None

    @classmethod
    def of(
        cls, matrix: Any, scale: float, users: Labels | None = None, items: Labels | None = None
    ) -> Pairs:
        """Return the pairs of a CSR matrix of weights with sorted items."""
        offsets, codes = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        weights = matrix.data.astype(np.float32)
        return cls(offsets, codes, weights, int(matrix.shape[1]), scale, users, items)

    @property
    def n_users(self) -> int:
        return self.offsets.size - 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_users, self.n_items

    def item_counts(self) -> Ints:
        """Return the number of users of each item."""
        return np.bincount(self.items, minlength=self.n_items)

    def part(self, first: int, stop: int) -> Pairs:
        """Return the pairs of users `first` to `stop - 1`, renumbered from 0; memory is shared."""
        lo, hi = int(self.offsets[first]), int(self.offsets[stop])
        return Pairs(
            self.offsets[first : stop + 1] - lo,
            self.items[lo:hi],
            self.weights[lo:hi],
            self.n_items,
            self.scale,
        )

    def select(self, is_selected: NDArray[np.bool_]) -> Pairs:
        """Return the selected pairs; the numbers of users and items stay the same."""
        return replace(
            self,
            offsets=kept_offsets(is_selected, self.offsets).astype(np.int64),
            items=self.items[is_selected],
            weights=self.weights[is_selected],
        )

    def learned(self) -> Pairs:
        """Return the pairs of weight > 0, from which models learn."""
        is_learned = self.weights > 0
        return self if is_learned.all() else self.select(is_learned)

    def matrix(self) -> sparse.csr_array[Any]:
        """Return the pairs as a matrix that shares their memory."""
        return sparse.csr_array((self.weights, self.items, self.offsets), shape=self.shape)


def read(
    source: Any,
    gain: str,
    *,
    name: str = "user_items",
    item_labels: Labels | None = None,
    scale: float | None = None,
    unit_scale: bool = False,
    half_life: float | None = None,
    window: float | None = None,
) -> Pairs:
    """Read pairs from a sparse matrix, or from anything that `podium.data` reads.

    Parameters
    ----------
    source : scipy.sparse matrix, Interactions, path, frame, mapping or tuple of columns
        The pairs and their values. A value of 0 in a matrix means that there is no pair; a row of
        a table is a pair, whatever its value.
    gain : {"value", "log", "one"}
        The weight of a pair: its value, ``log2(1 + value)``, or 1.
    name : str
        The name of `source` in messages.
    item_labels : (n_items,), optional
        The ids that a table may contain; those of the table itself by default.
    scale : float, optional
        The divisor of the weights. The default is the mean of those > 0; there must then be at
        least one.
    unit_scale : bool
        Whether to divide the weights by 1; there must then be at least one weight > 0.
    half_life : float, optional
        The days in which the weight of a pair falls by half, counted from the pair's last event to
        the last event of all.
    window : float, optional
        The days before the last event of all; a pair without an event in them has weight 0.

    Raises
    ------
    ArgumentError, DataError
        If values are negative or not finite, if there are no pairs, if an id is not in item_labels,
        or if there are no times for half_life or window.
    """
    if gain != ONCE:
        _check.choice(gain, "gain", GAINS)
    source = opened(source)
    if is_matrix(source):
        matrix, users, items = _without_zeros(_canonical(source, name)), None, None
    else:
        matrix, users, items = _from_table(source, name, item_labels)
    fading = _fading(source, name, half_life=half_life, window=window)
    pairs = _with_weights(matrix, gain, name, users, items, 1.0 if unit_scale else scale, fading)
    if unit_scale and not pairs.weights.any():
        raise _no_pair(matrix, name)
    return pairs


def opened(source: Any) -> Any:
    """Return a matrix or Interactions as they are, and anything else as Interactions."""
    from podium.data.interactions import opened

    return opened(source)


def _fading(source: Any, name: str, **days: float | None) -> NDArray[np.float64] | float:
    """Return the factors of the weights of the pairs."""
    passed = [parameter for parameter, value in days.items() if value is not None]
    if not passed:
        return 1.0
    ages = None if is_matrix(source) else source.ages()
    if ages is None:
        raise ArgumentError(
            f"{arg[passed[0]]} needs the times of events, and {arg[name]} has none. Pass a table "
            f"with a column of times, or leave {arg[passed[0]]} out."
        )
    half_life, window = days["half_life"] or np.inf, days["window"] or np.inf
    return np.exp2(-np.minimum(ages / half_life, _MOST_HALVINGS)) * (ages < window)


def read_matching(source: Any, name: str, fitted: Pairs, *, every_row: bool) -> Pairs:
    """Read pairs of the same users and items as the fitted pairs, with weight 1.

    Rows of a table with value 0 are pairs only with `every_row`.
    """
    if is_matrix(source):
        if source.shape != fitted.shape:
            raise ArgumentError(
                f"{arg[name]} must have the shape of {arg.user_items}, {fitted.shape}, got "
                f"{source.shape}."
            )
        return read(source, "one", name=name)
    if fitted.user_labels is None or fitted.item_labels is None:
        raise ArgumentError(f"{arg[name]} must be a sparse matrix, like {arg.user_items}.")
    matrix, users, items = _from_table(source, name, fitted.item_labels)
    rows = known_codes(users, fitted.user_labels, f"user of {name}")
    coo = matrix.tocoo()
    placed = sparse.csr_array((coo.data, (rows[coo.row], coo.col)), shape=fitted.shape)
    matrix = _canonical(placed, name)
    if not every_row:
        matrix = _without_zeros(matrix)
    return _with_weights(matrix, "one", name, fitted.user_labels, items)


def read_users(source: Any, gain: str, fitted: Pairs) -> Pairs:
    """Read pairs of new users with the items of the fitted pairs, in their scale."""
    columns = np.arange(fitted.n_items, dtype=np.int64)  # a matrix has column numbers as ids
    labels = columns if fitted.item_labels is None else fitted.item_labels
    pairs = read(source, gain, item_labels=labels, scale=fitted.scale)
    if pairs.n_items != fitted.n_items:
        raise ArgumentError(
            f"{arg.user_items} must have the {fitted.n_items} items of the model, got "
            f"{pairs.n_items}."
        )
    return pairs


def with_seen(pairs: Pairs, seen: Any) -> Pairs:
    """Return the pairs, and seen pairs with weight 0 from a matrix of the same shape."""
    old_coo, new_coo = pairs.matrix().tocoo(), seen.tocoo()
    weights = np.concatenate([old_coo.data, np.zeros(new_coo.data.size, np.float32)])
    rows, columns = (
        np.concatenate([old_coo.row, new_coo.row]),
        np.concatenate([old_coo.col, new_coo.col]),
    )
    union: Any = sparse.csr_array((weights, (rows, columns)), shape=pairs.shape)
    union.sum_duplicates()
    return Pairs.of(union, pairs.scale, pairs.user_labels, pairs.item_labels)


def with_others(pairs: Pairs, seen: Any) -> Pairs:
    """Return the pairs, and with weight 0 those of the argument `seen` of a fit, if any."""
    if seen is None:
        return pairs
    return with_seen(pairs, read_matching(seen, "seen", pairs, every_row=True).matrix())


def is_matrix(source: Any) -> bool:
    """Return whether the source is a sparse matrix of SciPy."""
    return bool(sparse.issparse(source))


def _from_table(source: Any, name: str, item_labels: Labels | None) -> tuple[Any, Labels, Labels]:
    from podium.data.ids import codes_of

    events = opened(source)
    users, user_labels = codes_of(events.user)
    items, labels = codes_of(events.item)
    if item_labels is not None:
        items = known_codes(labels, item_labels, f"item of {name}")[items]
        labels = item_labels
    values = np.ones(users.size) if events.value is None else events.value
    is_bad = ~np.isfinite(values) | (values < 0)  # checked before repeated pairs are added up
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise DataError(
            f"{name}: values must be finite and >= 0, got {values[row]:g} in row {row}."
        )
    shape = (user_labels.size, labels.size)
    matrix = sparse.csr_array((values, (users, items)), shape=shape)
    return _canonical(matrix, name), user_labels, labels


def _canonical(matrix: Any, name: str) -> Any:
    """Return CSR with sorted items, with repeated pairs added up; the input is not changed."""
    if matrix.ndim != 2:
        raise ArgumentError(
            f"{arg[name]} must have two axes, users and items, got the shape {matrix.shape}."
        )
    if matrix.format == "csr" and matrix.has_canonical_format:
        return matrix
    coo = matrix.tocoo()
    _refuse_bad(coo, name)
    values = np.asarray(coo.data, np.float64)  # sums of small integers would overflow
    csr = sparse.csr_array((values, (coo.row, coo.col)), shape=matrix.shape)
    csr.sum_duplicates()
    return csr


def _without_zeros(matrix: Any) -> Any:
    """Return the matrix without stored zeros; the input is not changed."""
    if matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    return matrix


def _with_weights(
    matrix: Any,
    gain: str,
    name: str,
    users: Labels | None,
    items: Labels | None,
    scale: float | None = None,
    fading: NDArray[np.float64] | float = 1.0,
) -> Pairs:
    _refuse_bad(matrix, name)
    values = np.asarray(matrix.data, np.float64)
    if matrix.shape[1] > _MOST_ITEMS:
        raise ArgumentError(
            f"{arg[name]} must have at most {_MOST_ITEMS} items, got {matrix.shape[1]}."
        )
    values = _gained(values, gain) * fading
    if not values.any() and scale is None:
        raise _no_pair(matrix, name)
    with np.errstate(over="ignore"):
        mean = float(values.mean(where=values > 0)) if scale is None else scale
    if not 0.0 < mean < np.inf:
        raise ArgumentError(
            f"{arg[name]} must hold values with a finite mean > 0, got a mean of {mean:g}. Divide "
            "the values by the largest one."
        )
    table = (_single(values / mean, name), matrix.indices, matrix.indptr)
    return Pairs.of(sparse.csr_array(table, shape=matrix.shape), mean, users, items)


def _single(weights: NDArray[np.float64], name: str) -> NDArray[np.float32]:
    """Return the weights in single precision; raise if one is too large or too small for it."""
    with np.errstate(over="ignore"):
        singles = weights.astype(np.float32)
    is_lost = np.isinf(singles) | ((singles == 0.0) & (weights > 0.0))
    if is_lost.any():
        raise ArgumentError(
            f"{arg[name]} must hold values that single precision can hold, got a weight of "
            f"{weights[is_lost.argmax()]:g}. Divide the values by the largest one."
        )
    return singles


def _no_pair(matrix: Any, name: str) -> ArgumentError:
    n_users, n_items = matrix.shape
    return ArgumentError(
        f"{arg[name]} must hold at least one positive pair, got none in {n_users} users x "
        f"{n_items} items."
    )


def _gained(values: NDArray[np.float64], gain: str) -> NDArray[np.float64]:
    """Return the weights of pairs with these values."""
    simple = {"value": values, "log": np.log2(1.0 + values), "one": np.ones(values.size)}
    return np.sign(values) if gain == ONCE else simple[gain]


def _refuse_bad(matrix: Any, name: str) -> None:
    is_bad = ~np.isfinite(matrix.data) | (matrix.data < 0)
    if is_bad.any():
        coo, first = matrix.tocoo(), int(np.argmax(is_bad))
        raise ArgumentError(
            f"{arg[name]} must hold finite values >= 0, got {coo.data[first]:g} for user "
            f"{coo.row[first]} and item {coo.col[first]} ({int(is_bad.sum())} such values). Drop "
            "them, or set them to 0."
        )
