"""Checks of the labels for the libraries' own ranking objectives, before a library reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses.inputs import RowLabels
from podium.rankers.fitting import untrainable
from podium.types import PerRow

_OWN_GAINS = ("label_gain", "ndcg_exp_gain")  # options that change which grades have a gain


def check_labels(
    objective: str,
    highest: float,
    relevance: PerRow,
    groups: Groups,
    weights: PerRow | None,
    options: Mapping[str, Any],
) -> None:
    """Raise unless the objective reads all labels and some group has an order to learn.

    `highest` is the highest grade that the objective reads, or inf if it only compares labels.
    """
    if np.isfinite(highest) and not any(name in options for name in _OWN_GAINS):
        _check_grades(objective, int(highest), relevance, groups)
    if not _has_order(relevance, groups, weights):
        reason = (
            f"{objective} needs two rows of different relevance in a group, on rows of weight > 0. "
            "Check y and qid."
        )
        raise untrainable(groups, reason)


def _check_grades(objective: str, highest: int, relevance: PerRow, groups: Groups) -> None:
    is_read = (relevance == np.floor(relevance)) & (relevance <= highest)
    if is_read.all():
        return
    row = int(np.argmin(is_read))
    kinds = "only 0 and 1" if highest == 1 else f"integers from 0 to {highest}"
    raise ArgumentError(
        f"y must have {kinds} with the loss {objective!r}, got {relevance[row]:g} at row {row} "
        f"(qid {_check.label(RowLabels(groups)[row])}). Convert the grades, or choose a loss of "
        "podium, such as 'softmax'."
    )


def _has_order(relevance: PerRow, groups: Groups, weights: PerRow | None) -> bool:
    """Return whether two rows of a group, both with a weight, differ in relevance."""
    used = np.ones(relevance.size, np.bool_) if weights is None else weights > 0
    index = groups.index[used]
    lowest, largest = np.full(groups.n_groups, np.inf), np.full(groups.n_groups, -np.inf)
    np.minimum.at(lowest, index, relevance[used])
    np.maximum.at(largest, index, relevance[used])
    return bool(np.any(lowest < largest))
