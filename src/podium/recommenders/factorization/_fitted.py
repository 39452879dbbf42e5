"""What every fitted factorization does: show items, take in new users, be a file."""

from __future__ import annotations

import abc
import os
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium.errors import ArgumentError, DataError
from podium.executors import Executor
from podium.metrics import Measure
from podium.recommenders.factorization import _files, _pairs, _shown
from podium.recommenders.factorization._pairs import Labels, Pairs

Items = NDArray[Any]
Floats = NDArray[np.float32]

_ARRAYS = ("user_factors_", "item_factors_", "item_bias_")
_LABELS = ("user_labels_", "item_labels_")
_SEEN = ("seen_offsets_", "seen_items_", "seen_weights_")
_SCALARS = {"n_blocks_": int, "n_epochs_": int, "stop_reason_": str, "weight_scale_": float}


class Factorization(BaseEstimator, abc.ABC):
    """Vectors of users and items whose product, with the item's bias, is the score."""

    n_factors: int
    gain: str
    user_factors_: Floats
    item_factors_: Floats
    item_bias_: Floats
    user_labels_: Labels | None
    item_labels_: Labels | None
    seen_offsets_: NDArray[np.int64]
    seen_items_: NDArray[np.int32]
    seen_weights_: Floats
    weight_scale_: float
    n_blocks_: int
    n_epochs_: int
    stop_reason_: str
    history_: dict[str, NDArray[np.float64]]

    @abc.abstractmethod
    def _fold(self, pairs: Pairs, executor: Executor | None) -> Floats:
        """Return factors of new users, float32, (n_new, n_factors)."""

    def recommend(
        self,
        users: ArrayLike | None = None,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        allow: ArrayLike | None = None,
        deny: ArrayLike | None = None,
    ) -> tuple[Items, Floats]:
        """Find the best items of users, best first.

        Parameters
        ----------
        users : (n,), optional
            Ids, or row numbers of a matrix; all users without it.
        k : int
        exclude_seen : bool
            Leave out the items that a user has a pair with in `user_items`, or in `seen`.
        allow, deny : (n,), optional
            Items that alone may be shown, and items that may not.

        Returns
        -------
        items : (n, k)
            Ids, or column numbers. Where fewer than k may be shown, -1 (or "") fills up.
        scores : float32, (n, k)
            -inf where there is no item.
        """
        check_is_fitted(self)
        rows = self._rows(users)
        seen = self._seen_matrix(rows) if _check.flag(exclude_seen, "exclude_seen") else None
        return self._best(self.user_factors_[rows], seen, k, allow, deny)

    def recommend_new(
        self,
        user_items: Any,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        allow: ArrayLike | None = None,
        deny: ArrayLike | None = None,
        executor: Executor | None = None,
    ) -> tuple[Items, Floats]:
        """Find the best items of new users: `fold_in`, then as `recommend`.

        Parameters
        ----------
        user_items, executor
            As in `fold_in`. Of a table, users are in rising order of their ids.
        k, exclude_seen, allow, deny
            As in `recommend`.
        """
        check_is_fitted(self)
        pairs = self._new_pairs(user_items)
        factors = self._fold(pairs, executor)
        seen = pairs.matrix() if _check.flag(exclude_seen, "exclude_seen") else None
        return self._best(factors, seen, k, allow, deny)

    def fold_in(self, user_items: Any, *, executor: Executor | None = None) -> Floats:
        """Learn factors of new users with those of items fixed.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_new, n_items), or table
            Pairs of the new users with items of the fit.
        executor : Executor, optional

        Returns
        -------
        float32, (n_new, n_factors)
            Of a table, in rising order of users' ids. A user's factors depend on its own pairs
            alone, not on who else is there.
        """
        check_is_fitted(self)
        return self._fold(self._new_pairs(user_items), executor)

    def similar_items(self, items: ArrayLike, k: int = 10) -> tuple[Items, Floats]:
        """Find the k items whose factors have the greatest cosine with each given item's.

        Parameters
        ----------
        items : (n,)
            Ids, or column numbers.
        k : int

        Returns
        -------
        items, cosines : (n, k)
            Without the item itself; filled up as in `recommend`.
        """
        check_is_fitted(self)
        chosen = self._columns(items, "items")
        found, cosines = _shown.nearest_items(self.item_factors_, chosen, self._width(k))
        return self._named(found), cosines

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, safetensors with JSON; whole or not at all."""
        check_is_fitted(self)
        arrays = {name: getattr(self, name) for name in (*_ARRAYS, *_SEEN)}
        arrays |= {n: getattr(self, n) for n in _LABELS if getattr(self, n) is not None}
        arrays |= {f"history_.{key}": value for key, value in self.history_.items()}
        params = {key: _plain(value) for key, value in self.get_params().items()}
        fitted = {name: getattr(self, name) for name in _SCALARS}
        header = {"class": type(self).__name__, "params": params, "fitted": fitted}
        _files.write(path, arrays, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote; no code from the file runs.

        Raises
        ------
        DataError
            If the file is missing, cut short, damaged, not such a model, or of another format.
        """
        header, arrays = _files.read(path)
        try:
            _check.choice(header["class"], "class", [cls.__name__])
            model = cls(**header["params"])
            model._restore(header["fitted"], arrays)
        except (AttributeError, KeyError, TypeError, ValueError) as wrong:
            raise DataError(
                f"{path} describes no valid model ({wrong}). Save it again with this version of "
                "podium."
            ) from None
        return model

    def _restore(self, fitted: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        ones = np.ones(arrays["seen_items_"].size, np.float32)  # the first files held no weights
        width = _check.cutoff(self.n_factors, name="n_factors")
        _files.check({"seen_weights_": ones, **arrays}, width)
        for name in (*_ARRAYS, *_SEEN):
            setattr(self, name, arrays[name] if name != "seen_weights_" else arrays.get(name, ones))
        for name in _LABELS:
            setattr(self, name, arrays.get(name))
        for name, kind in _SCALARS.items():
            if type(fitted[name]) is not kind:
                raise ArgumentError(f"{name} is {fitted[name]!r:.80}")
            setattr(self, name, fitted[name])
        if not 0.0 < self.weight_scale_ < np.inf:
            raise ArgumentError(f"weight_scale_ is {self.weight_scale_!r}")
        self.history_ = {
            key.removeprefix("history_."): value
            for key, value in arrays.items()
            if key.startswith("history_.")
        }

    def _pairs(self) -> Pairs:
        """Return the pairs that the model was fitted to."""
        seen = self._seen_pairs()
        return seen.chosen(seen.weights > 0)

    def _seen_pairs(self) -> Pairs:
        """Return all pairs that are not shown; those of weight 0 nothing was learned from."""
        return Pairs(
            self.seen_offsets_,
            self.seen_items_,
            self.seen_weights_,
            self.item_factors_.shape[0],
            self.weight_scale_,
            self.user_labels_,
            self.item_labels_,
        )

    def _new_pairs(self, user_items: Any) -> Pairs:
        n_items = self.item_factors_.shape[0]
        labels: Labels | None = self.item_labels_
        if labels is None:
            labels = np.arange(
                n_items, dtype=np.int64
            )  # a model of a matrix knows items by their columns
        pairs = _pairs.read(user_items, self.gain, item_labels=labels, scale=self.weight_scale_)
        if pairs.n_items != n_items:
            raise ArgumentError(
                f"user_items must have the model's {n_items} items, got {pairs.n_items}."
            )
        return pairs

    def _best(
        self, factors: Floats, seen: Any, k: int, allow: Any, deny: Any
    ) -> tuple[Items, Floats]:
        chosen = _shown.candidates(
            None if allow is None else self._columns(allow, "allow"),
            None if deny is None else self._columns(deny, "deny"),
            self.item_factors_.shape[0],
        )
        found, scores = _shown.best_items(
            factors, self.item_factors_, self.item_bias_, self._width(k), seen, chosen
        )
        return self._named(found), scores

    def _width(self, k: Any) -> int:
        width, n_items = _check.cutoff(k), self.item_factors_.shape[0]
        if width > n_items:
            raise ArgumentError(f"k must be at most the model's {n_items} items, got {width}.")
        return width

    def _rows(self, users: ArrayLike | None) -> NDArray[np.int64]:
        n_users = self.user_factors_.shape[0]
        if users is None:
            return np.arange(n_users, dtype=np.int64)
        return _positions(users, self.user_labels_, n_users, "users")

    def _columns(self, items: ArrayLike, name: str) -> NDArray[np.int64]:
        return _positions(items, self.item_labels_, self.item_factors_.shape[0], name)

    def _named(self, found: NDArray[np.int64]) -> Items:
        labels: Labels | None = self.item_labels_
        if labels is None:
            return found
        named: Items = labels[found]
        named[found < 0] = "" if labels.dtype.kind == "U" else -1
        return named

    def _seen_matrix(self, rows: NDArray[np.int64]) -> sparse.csr_array[Any]:
        shape = (self.user_factors_.shape[0], self.item_factors_.shape[0])
        seen = (self.seen_weights_, self.seen_items_, self.seen_offsets_)
        return sparse.csr_array(seen, shape=shape)[rows]


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    if isinstance(value, Measure):
        return str(value)
    return cast("np.generic[Any]", value).item() if isinstance(value, np.generic) else value


def _positions(ids: Any, labels: Any, n: int, name: str) -> NDArray[np.int64]:
    """Return row numbers of ids, or of row numbers themselves where there are no ids."""
    if labels is not None:
        return _pairs.known_codes(ids, labels, name)
    rows = np.atleast_1d(np.asarray(ids))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ArgumentError(
            f"{name} must be a list of integers below {n}, got {rows.dtype} of shape {rows.shape}."
        )
    outside = (rows < 0) | (rows >= n)
    if outside.any():
        first = rows[int(np.argmax(outside))]
        raise ArgumentError(f"{name} must lie in [0, {n}), got {first}.")
    return rows.astype(np.int64)
