"""The order of equal scores: the tie rules, and the sort keys that implement them.

A random order is determined only by the seed, the group's label and the item's id. It does not
depend on the order of rows, on other rows or on the type of the ids.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.groups import Groups, encode
from podium.types import Labels, PerRow, Ties

TIES: tuple[Ties, ...] = ("worst", "best", "average", "id", "random")
"""The rules for equal scores of items, from which a list can be selected."""

TIES_OF_LISTS: tuple[Ties, ...] = (*TIES, "threshold")
"""The rules for equal scores of given lists."""

_EXACT = 2**53  # float64 represents all integers up to here
_TIE_DRAW = 1  # part of the seed that separates random ties from other draws


def in_order(scores: ArrayLike) -> ArrayLike:
    """Return the scores, or if they are integers that float64 would round, their dense ranks.

    The ranks increase with the scores.
    """
    try:
        array = np.asarray(_check.on_host(scores))
    except ValueError:  # lists of different lengths; reading the scores raises for them
        return scores
    if array.dtype.kind not in "iu" or not array.size:
        return scores
    if max(-int(array.min()), int(array.max())) <= _EXACT:
        return scores
    return np.unique(array, return_inverse=True)[1].reshape(array.shape).astype(np.float64)


def random_bits(seed: int) -> np.uint64:
    """Return the 64 bits from which random ties are drawn."""
    return np.random.SeedSequence([_check.seed(seed), _TIE_DRAW]).generate_state(1, np.uint64)[0]


def label_keys(labels: Labels) -> NDArray[np.uint64]:
    """Return 64 bits per id that are determined by the id; 7 and '7' have the same bits."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64).view(np.uint64)
    return np.array([_text_key(str(label)) for label in labels.tolist()], np.uint64)


def text_order(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers that increase with the text of ids; 9 comes after 10, because '9' > '10'."""
    codes, distinct = encode(ids)
    if distinct.dtype.kind not in "iu":
        return codes
    place = np.empty(distinct.size, np.int64)
    place[np.argsort(distinct.astype(np.str_), kind="stable")] = np.arange(distinct.size)
    return place[codes]


def tie_keys(
    rule: Ties, groups: Groups, relevance: PerRow, item: NDArray[Any] | None, seed: int
) -> tuple[NDArray[np.float64], float]:
    """Return keys and a sign; equal scores are ordered by increasing sign * key.

    Rows are in group order. Without items, a random order depends on the rows' positions.
    """
    if rule in ("worst", "best"):
        return relevance, 1.0 if rule == "worst" else -1.0
    if rule == "random":
        return _drawn(groups, item, seed), -1.0
    if rule in ("average", "threshold"):
        return relevance, 1.0  # sums over a tie must not depend on the order of its rows
    if item is None:
        raise ArgumentError(
            f"{arg.ties('id')} needs item, the id of each row. Pass it, or use 'worst'."
        )
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
    """Return the value of a canonical integer text as 64 bits, or a digest of any other text."""
    if text.lstrip("-").isdecimal() and str(int(text)) == text and -(2**63) <= int(text) < 2**63:
        return int(text) % 2**64
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
