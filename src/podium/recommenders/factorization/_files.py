"""A factorization in one file: its arrays, and the rest as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium._arrays import Arrays, check_arrays, read_arrays, write_arrays
from podium.errors import ArgumentError

FORMAT = 1
"""Version of the file's layout; a file of another one is refused."""

_KIND = "podium_factorization"


def write(path: str | os.PathLike[str], arrays: Arrays, header: Mapping[str, Any]) -> None:
    """Write a model's file whole or not at all; see `write_arrays`."""
    write_arrays(path, _KIND, FORMAT, arrays, header)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a model's file; see `read_arrays`."""
    return read_arrays(path, _KIND, FORMAT, what="factorization")


def check(arrays: Arrays, n_factors: int) -> None:
    """Raise an ArgumentError unless the arrays of a file are those of one model."""
    n_users, n_items, n_pairs = (
        arrays[name].shape[0] if arrays[name].ndim else 0
        for name in ("user_factors_", "item_factors_", "seen_items_")
    )
    check_arrays(
        arrays,
        {
            "user_factors_": ((n_users, n_factors), np.float32),
            "item_factors_": ((n_items, n_factors), np.float32),
            "item_bias_": ((n_items,), np.float32),
            "seen_offsets_": ((n_users + 1,), np.int64),
            "seen_items_": ((n_pairs,), np.int32),
            "seen_weights_": ((n_pairs,), np.float32),
        },
    )
    offsets, items = arrays["seen_offsets_"], arrays["seen_items_"]
    if offsets[0] != 0 or offsets[-1] != n_pairs or (offsets[1:] < offsets[:-1]).any():
        raise ArgumentError("seen_offsets_ does not rise from 0 to the number of seen_items_")
    if n_pairs and not 0 <= items.min() <= items.max() < n_items:
        raise ArgumentError("seen_items_ has items that are not there")
    _check_labels(arrays, "user_labels_", n_users)
    _check_labels(arrays, "item_labels_", n_items)


def _check_labels(arrays: Arrays, name: str, length: int) -> None:
    """Raise unless labels, if there are any, are integers or texts that rise."""
    labels = arrays.get(name, np.arange(length))
    if labels.shape != (length,) or labels.dtype.kind not in "iU":
        raise ArgumentError(f"{name} has shape {labels.shape} of {labels.dtype}, not ({length},)")
    if (labels[1:] <= labels[:-1]).any():
        raise ArgumentError(f"{name} does not rise")
