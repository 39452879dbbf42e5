"""The check that models have ranked the same targets, whatever the order of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.sampled._request import comparable, same_catalogue, same_users
from podium.sampled.design import Ints
from podium.sampled.estimators import Estimator
from podium.sampled.ranks import SampledRanks
from podium.sampled.shared.ranks import SharedRanks


def same_rows(models: Mapping[str, Any], estimator: str | Estimator) -> list[Any]:
    """Return samples of one kind whose models can be compared, with labels of one type."""
    samples, names = list(models.values()), list(models)
    kinds = {type(ranks).__name__ for ranks in samples}
    if len(kinds) > 1:
        raise ArgumentError(
            f"models must have samples of one kind, got {' and '.join(sorted(kinds))}."
        )
    if isinstance(samples[0], SharedRanks) and len({ranks.has_strata for ranks in samples}) > 1:
        raise ArgumentError(
            "models must all have strata, or none of them, because the methods differ. Give all "
            "models the same candidates."
        )
    if not isinstance(samples[0], SampledRanks):
        return same_targets(samples, names)
    first, *others = comparable(samples, names, estimator)
    return [first, *(same_catalogue(first, ranks)[1] for ranks in others)]


def same_targets(samples: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return samples whose users' labels have one type, if they have the same targets.

    Without items in all samples, users must have the same numbers of targets.

    Parameters
    ----------
    samples : sequence of ScannedRanks or SharedRanks
        One sample per model.
    names : sequence of str
        The names of the models in messages.

    Returns
    -------
    list of ScannedRanks or SharedRanks

    Raises
    ------
    ArgumentError
        If users, targets or sizes of catalogues differ.
    """
    relabelled = same_users(samples, names, noun="model")
    items = _common_items(relabelled)
    orders = [
        np.lexsort((ranks.n_items, *([] if item is None else [item]), ranks.user))
        for ranks, item in zip(relabelled, items, strict=True)
    ]
    for i in range(1, len(relabelled)):
        first, other = ((relabelled[j], items[j], orders[j]) for j in (0, i))
        _refuse_other_targets(first, other, f"{names[i]} and {names[0]}")
    return relabelled


def _common_items(samples: Sequence[Any]) -> list[NDArray[Any] | None]:
    """Return items of one type, strings if one sample has strings; None if one has no items."""
    items = [ranks.item for ranks in samples]
    known = [item for item in items if item is not None]
    if len(known) < len(items):
        return [None] * len(items)
    is_text = len({item.dtype.kind in "iu" for item in known}) > 1
    return [item.astype(np.str_) if is_text else item for item in known]


_Ordered = tuple[Any, "NDArray[Any] | None", Ints]


def _refuse_other_targets(first: _Ordered, other: _Ordered, names: str) -> None:
    """Raise unless two samples have the same targets, and as many items for each."""
    (a, a_item, a_order), (b, b_item, b_order) = first, other
    users = a.user[a_order]
    if not np.array_equal(users, b.user[b_order]):
        raise ArgumentError(
            f"{names} must have the same targets, but users have different numbers of them. Rank "
            "the same held-out items by all models."
        )
    if a_item is not None and b_item is not None:
        is_other = a_item[a_order] != b_item[b_order]
        if is_other.any():
            row = int(np.argmax(is_other))
            raise ArgumentError(
                f"{names} must have the same targets, but those of user "
                f"{_check.label(users[row])} differ. Rank the same held-out items by all models, "
                "with the same item ids."
            )
    is_other = a.n_items[a_order] != b.n_items[b_order]
    if is_other.any():
        row = int(np.argmax(is_other))
        sizes = b.n_items[b_order][row], a.n_items[a_order][row]
        raise ArgumentError(
            f"{names} must rank the same items, got {arg.n_items} = {sizes[0]} and {sizes[1]} for "
            f"user {_check.label(users[row])}. Rank the same catalogue by all models."
        )
