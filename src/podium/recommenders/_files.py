"""Files of recommenders: one file holds the arrays of a model, and the rest as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium._arrays import Arrays, check_arrays, read_arrays, write_arrays
from podium._json import plain
from podium.errors import ArgumentError, DataError
from podium.metrics import Measure
from podium.recommenders._pairs import Pairs
from podium.types import Labels

FORMAT = 1
"""The version of the file layout; a file with another version is refused."""

_KIND = "podium_recommender"

Axes: TypeAlias = "dict[str, tuple[Any, ...]]"
"""The arrays of a file: for each name its type, then its axes.

An axis is "users", "items", a parameter or a name of the class's own; "users+1" is one longer.
"""

_LABELS = ("user_labels_", "item_labels_")
_SEEN: Axes = {
    "seen_offsets_": (np.int64, "users+1"),
    "seen_items_": (np.int32, "pairs"),
    "seen_weights_": (np.float32, "pairs"),
}


class Saved:
    """The part of a recommender that holds its pairs, and saves and loads it."""

    _learned: ClassVar[Axes] = {}  # arrays of the file, besides pairs and labels
    _scalars: ClassVar[dict[str, type]] = {"weight_scale_": float}
    auto_values: ClassVar[dict[str, tuple[float | None, ...]]] = {}
    """The values that a fit compares for parameters that are "auto", the simplest one first."""

    user_labels_: Labels | None
    item_labels_: Labels | None
    user_items_: sparse.csr_array[Any]
    seen_offsets_: NDArray[np.int64]
    seen_items_: NDArray[np.int32]
    seen_weights_: NDArray[np.float32]
    weight_scale_: float
    n_items_: int

    @classmethod
    def can_be_saved(cls) -> bool:
        """Return whether `save` can write models of this class."""
        return bool(cls._learned)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file in the safetensors format, with JSON metadata.

        The file is replaced atomically: it is complete or not written at all.

        Raises
        ------
        ArgumentError
            If the model keeps its learned state in objects of another library.
        """
        check_is_fitted(self)
        if not self.can_be_saved():
            raise ArgumentError(
                f"{type(self).__name__} can't be saved, because it declares no arrays to write. "
                "Fit it again, or save its recommendations."
            )
        learned = vars(self)
        arrays = self._arrays() | {name: learned[name] for name in _SEEN}
        arrays |= {name: learned[name] for name in _LABELS if learned[name] is not None}
        params: dict[str, Any] = cast("Any", self).get_params()
        plain_params = {
            name: str(value) if isinstance(value, Measure) else plain(value)
            for name, value in params.items()
        }
        header = {"class": type(self).__name__, "params": plain_params}
        write_arrays(path, _KIND, FORMAT, arrays, header | {"fitted": self._fitted_values()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote; no code from the file is executed.

        Raises
        ------
        DataError
            If the file is missing, truncated or damaged, holds another kind of model, or has
            another format.
        """

        def get_class(name: str) -> type[Self]:
            _check.choice(name, "class", [cls.__name__])
            return cls

        return read_model(path, get_class)

    def _kinds(self) -> dict[str, Any]:
        """Return the types of the learned values that are no arrays."""
        return self._scalars | {f"{name}_": float | None for name in self.auto_values}

    def _fitted_values(self) -> dict[str, Any]:
        """Return the learned state that is not in arrays, as JSON can hold it."""
        return {name: vars(self)[name] for name in self._kinds()}

    def _arrays(self) -> Arrays:
        """Return the learned state as arrays of a file."""
        return {name: vars(self)[name] for name in self._learned}

    def _set_arrays(self, arrays: Arrays) -> None:
        """Set the learned state from the arrays of a file."""
        for name in self._learned:
            setattr(self, name, arrays[name])

    def _restore(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        sizes = _checked_sizes(arrays, _SEEN | self._learned, vars(self))
        n_items: int = sizes["items" if "items" in sizes else "n_items_"]
        _check_pairs(arrays, sizes["users"], n_items)
        self.n_items_ = n_items
        self._set_arrays(arrays)
        for name, kind in self._kinds().items():
            value = fitted.get(name)  # older files lack values that may be None
            if not isinstance(value, kind):
                raise ArgumentError(f"{name} has the wrong type: {value!r:.80}")
            setattr(self, name, value)
        if not 0.0 < self.weight_scale_ < np.inf:
            raise ArgumentError(f"weight_scale_ must be a number > 0, got {self.weight_scale_!r}")
        offsets, items, weights = (arrays[name] for name in _SEEN)
        labels = (arrays.get(name) for name in _LABELS)
        self._hold_pairs(Pairs(offsets, items, weights, self.n_items_, self.weight_scale_, *labels))

    def _hold_pairs(self, pairs: Pairs) -> None:
        self.user_labels_, self.item_labels_ = pairs.user_labels, pairs.item_labels
        self.seen_offsets_, self.seen_items_ = pairs.offsets, pairs.items
        self.seen_weights_, self.weight_scale_ = pairs.weights, pairs.scale
        self.n_items_, self.user_items_ = pairs.n_items, pairs.matrix()

    def _seen_pairs(self) -> Pairs:
        """Return all pairs that are left out; the model did not learn from those of weight 0."""
        return Pairs(
            self.seen_offsets_,
            self.seen_items_,
            self.seen_weights_,
            self.n_items_,
            self.weight_scale_,
            self.user_labels_,
            self.item_labels_,
        )

    def _learned_pairs(self) -> Pairs:
        """Return the pairs that the model has learned from."""
        return self._seen_pairs().learned()


def read_model(path: str | os.PathLike[str], get_class: Callable[[str], type[Any]]) -> Any:
    """Read a model from a file; `get_class` returns the class for its name."""
    header, arrays = read_arrays(path, _KIND, FORMAT, noun="recommender")
    try:
        model = get_class(header["class"])(**header["params"])
        model._restore(header["fitted"], arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} is not a valid model ({error}). Train it again with this version."
        ) from None
    return model


def _checked_sizes(arrays: Arrays, axes_of: Axes, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the length of each axis; raise unless all arrays have the types and axes declared."""
    sizes = dict(known)
    for name, (_, *axes) in axes_of.items():
        for axis, size in zip(axes, arrays[name].shape, strict=False):
            sizes.setdefault(axis.removesuffix("+1"), size - axis.endswith("+1"))
    expected: dict[str, Any] = {}
    for name, (kind, *axes) in axes_of.items():
        shape = [sizes[axis.removesuffix("+1")] + axis.endswith("+1") for axis in axes]
        expected[name] = (tuple(shape), kind)
    check_arrays(arrays, expected)
    return sizes


def _check_pairs(arrays: Arrays, n_users: int, n_items: int) -> None:
    """Raise an ArgumentError unless the pairs of a file are those of its users and items."""
    offsets, items = arrays["seen_offsets_"], arrays["seen_items_"]
    is_whole = np.array_equal(offsets[[0, -1]] if offsets.size else offsets, [0, items.size])
    if not is_whole or (offsets[1:] < offsets[:-1]).any():
        raise ArgumentError("seen_offsets_ does not increase from 0 to the number of seen_items_")
    if items.size and not 0 <= items.min() <= items.max() < n_items:
        raise ArgumentError("seen_items_ has items that are not in the model")
    _check_labels(arrays, "user_labels_", n_users)
    _check_labels(arrays, "item_labels_", n_items)


def _check_labels(arrays: Arrays, name: str, length: int) -> None:
    """Raise an ArgumentError unless the labels, if any, are ascending integers or text."""
    labels = arrays.get(name, np.arange(length))
    if labels.shape != (length,) or labels.dtype.kind not in "iU":
        raise ArgumentError(
            f"{name} must hold integers or text of shape ({length},), got {labels.dtype} of shape "
            f"{labels.shape}"
        )
    if (labels[1:] <= labels[:-1]).any():
        raise ArgumentError(f"{name} is not in ascending order")
