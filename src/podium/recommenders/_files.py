"""A recommender in one file: its arrays, and the rest as JSON."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium._arrays import Arrays, check_arrays, params_of, read_arrays, write_arrays
from podium.errors import ArgumentError, DataError
from podium.metrics import Measure
from podium.recommenders._pairs import Pairs

FORMAT = 1
"""Version of the file's layout; a file of another one is refused."""

_KINDS = ("podium_recommender", "podium_factorization")
_RENAMED = {"RoBiRank": "Factorization"}  # classes of 0.1

Shapes = dict[str, tuple[tuple[int, ...], Any]]

_LABELS = ("user_labels_", "item_labels_")
_SEEN = ("seen_offsets_", "seen_items_", "seen_weights_")


class Saved(abc.ABC):
    """Parts of a recommender that make it a file."""

    _kind: ClassVar[str] = _KINDS[0]  # of its files
    _learned: ClassVar[tuple[str, ...]] = ()  # arrays of a file, beside pairs and labels
    _scalars: ClassVar[dict[str, type]] = {"weight_scale_": float}

    n_items_: int
    weight_scale_: float

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, safetensors with JSON; whole or not at all.

        Raises
        ------
        ArgumentError
            If the model keeps what it learned in objects of another library.
        """
        check_is_fitted(self)
        if not self._learned:
            raise ArgumentError(
                f"a {type(self).__name__} can't be saved: it declares no arrays to write. Fit it "
                "anew, or save what it recommends."
            )
        arrays = self._arrays() | {name: getattr(self, name) for name in _SEEN}
        arrays |= {n: getattr(self, n) for n in _LABELS if getattr(self, n) is not None}
        params = {key: _plain(value) for key, value in cast("Any", self).get_params().items()}
        fitted = {name: getattr(self, name) for name in self._scalars}
        header = {"class": type(self).__name__, "params": params, "fitted": fitted}
        write_arrays(path, self._kind, FORMAT, arrays, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote; no code from the file runs.

        Raises
        ------
        DataError
            If the file is missing, cut short, damaged, not such a model, or of another format.
        """

        def own(name: str) -> type[Self]:
            _check.choice(name, "class", [cls.__name__])
            return cls

        return read_model(path, own, cls._kind)

    def _arrays(self) -> Arrays:
        """Return what was learned, as arrays of a file."""
        return {name: getattr(self, name) for name in self._learned}

    def _layout(self, arrays: Arrays) -> tuple[int, int, Shapes]:
        """Return the number of users and of items, and the shapes of what was learned."""
        raise TypeError(f"a {type(self).__name__} is in no file")

    def _take(self, arrays: Arrays) -> None:
        """Take what was learned from the arrays of a file."""
        for name in self._learned:
            setattr(self, name, arrays[name])

    def _restore(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        ones = np.ones(length(arrays, "seen_items_"), np.float32)
        arrays = {"seen_weights_": ones, **arrays}  # the first files held no weights
        n_users, self.n_items_, learned = self._layout(arrays)
        check(arrays, n_users, self.n_items_, learned)
        self._take(arrays)
        for name, kind in self._scalars.items():
            if type(fitted[name]) is not kind:
                raise ArgumentError(f"{name} is {fitted[name]!r:.80}")
            setattr(self, name, fitted[name])
        if not 0.0 < self.weight_scale_ < np.inf:
            raise ArgumentError(f"weight_scale_ is {self.weight_scale_!r}")
        offsets, items, weights = (arrays[name] for name in _SEEN)
        labels = (arrays.get(name) for name in _LABELS)
        self._hold_pairs(Pairs(offsets, items, weights, self.n_items_, self.weight_scale_, *labels))

    @abc.abstractmethod
    def _hold_pairs(self, pairs: Pairs) -> None:
        """Take the pairs that the model was fitted to."""


def read_model(
    path: str | os.PathLike[str], get_class: Callable[[str], type[Any]], *kinds: str
) -> Any:
    """Read a model of one of these kinds of files, or of any; `get_class` finds its class."""
    wanted = kinds or _KINDS
    what = wanted[0].removeprefix("podium_")
    header, arrays = read_arrays(path, wanted, FORMAT, what=what)
    try:
        name: str = header["class"]
        model = get_class(_RENAMED.get(name, name))(**params_of(header))
        model._restore(header["fitted"], arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as wrong:
        raise DataError(
            f"{path} describes no valid model ({wrong}). Save it again with this version of podium."
        ) from None
    return model


def check(arrays: Arrays, n_users: int, n_items: int, learned: Shapes) -> None:
    """Raise an ArgumentError unless the arrays of a file are those of one model."""
    n_pairs = length(arrays, "seen_items_")
    seen: Shapes = {
        "seen_offsets_": ((n_users + 1,), np.int64),
        "seen_items_": ((n_pairs,), np.int32),
        "seen_weights_": ((n_pairs,), np.float32),
    }
    check_arrays(arrays, learned | seen)
    offsets, items = arrays["seen_offsets_"], arrays["seen_items_"]
    if offsets[0] != 0 or offsets[-1] != n_pairs or (offsets[1:] < offsets[:-1]).any():
        raise ArgumentError("seen_offsets_ does not rise from 0 to the number of seen_items_")
    if n_pairs and not 0 <= items.min() <= items.max() < n_items:
        raise ArgumentError("seen_items_ has items that are not there")
    _check_labels(arrays, "user_labels_", n_users)
    _check_labels(arrays, "item_labels_", n_items)


def length(arrays: Arrays, name: str) -> int:
    """Return the number of rows of an array, 0 for a single number."""
    return arrays[name].shape[0] if arrays[name].ndim else 0


def _check_labels(arrays: Arrays, name: str, length: int) -> None:
    """Raise unless labels, if there are any, are integers or texts that rise."""
    labels = arrays.get(name, np.arange(length))
    if labels.shape != (length,) or labels.dtype.kind not in "iU":
        raise ArgumentError(f"{name} has shape {labels.shape} of {labels.dtype}, not ({length},)")
    if (labels[1:] <= labels[:-1]).any():
        raise ArgumentError(f"{name} does not rise")


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    if isinstance(value, Measure):
        return str(value)
    return cast("np.generic[Any]", value).item() if isinstance(value, np.generic) else value
