"""The order of equal scores: which rules there are, and keys that put rows in their order.

A drawn order follows from the seed, the group's label and the item's id alone, so neither the
order of rows, nor other rows, nor the kind of the ids changes it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups, encode
from podium.types import Labels, PerRow, Ties

TIES: tuple[Ties, ...] = ("worst", "best", "average", "id", "random")

_EXACT = 2**53  # integers up to here are floats
_TIE_DRAW = 1  # purpose number in the seed of random ties


def in_order(scores: ArrayLike) -> ArrayLike:
    """Return scores, or the places of integers that float64 would round, in rising order."""
    try:
        array = np.asarray(scores)
    except ValueError:  # of lists of several lengths, which are refused where scores are read
        return scores
    if array.dtype.kind not in "iu" or not array.size:
        return scores
    if max(-int(array.min()), int(array.max())) <= _EXACT:
        return scores
    return np.unique(array, return_inverse=True)[1].reshape(array.shape).astype(np.float64)


def random_bits(seed: int) -> np.uint64:
    """Return the 64 bits that random ties are drawn from."""
    return np.random.SeedSequence([_check.seed(seed), _TIE_DRAW]).generate_state(1, np.uint64)[0]


def label_keys(labels: Labels) -> NDArray[np.uint64]:
    """Return 64 bits for each id that follow from it alone; 7 and '7' have the same."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64).view(np.uint64)
    return np.array([_text_key(str(label)) for label in labels.tolist()], np.uint64)


def tie_keys(
    rule: Ties, groups: Groups, relevance: PerRow, item: NDArray[Any] | None, seed: int
) -> tuple[NDArray[np.float64], float]:
    """Return keys whose sign * key rises in the order that the rule gives to equal scores.

    Rows stand in group order; without items, a random order is one of the rows' places.
    """
    if rule in ("worst", "best"):
        return relevance, 1.0 if rule == "worst" else -1.0
    if rule == "random":
        return _drawn(groups, item, seed), -1.0
    if rule == "average":
        return np.empty(0), 1.0
    if item is None:
        raise ArgumentError("ties='id' needs item, the id of each row. Pass it, or use 'worst'.")
    return encode(item)[0].astype(np.float64), -1.0


def _drawn(groups: Groups, item: NDArray[Any] | None, seed: int) -> PerRow:
    from podium._kernels import drawn_keys

    if item is None:
        items = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
    elif item.dtype.kind in "iu":
        items = item
    else:
        codes, ids = encode(item)
        items = label_keys(ids)[codes]
    keys = np.empty(groups.n_rows)
    bits, labels = random_bits(seed), label_keys(groups.labels)
    drawn_keys(bits, labels, groups.offsets, label_keys(items), keys)
    return keys


def _text_key(text: str) -> int:
    """Return a number's own bits, or a digest of what is no number as it stands."""
    if text.lstrip("-").isdecimal() and str(int(text)) == text and -(2**63) <= int(text) < 2**63:
        return int(text) % 2**64
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
