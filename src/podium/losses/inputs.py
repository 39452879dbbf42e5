"""Checks and units that losses share: scores against their target, labels, and weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, CostWarning
from podium.groups import Groups
from podium.types import Mask, Offsets, PerGroup, PerRow, RowIndex

LEAST_CURVATURE = 1e-16  # below it, a Newton step would divide by nothing
TINY = float(np.finfo(np.float64).tiny)


_HUGE = 1e290  # scores from here on are scaled down: sums of their differences overflow
_DOWN = 2.0**-100
_MANY_PAIRS = 1e9  # some nanosecond each


class RowLabels:
    """The label of each row's group, looked up only where a message asks for it."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __len__(self) -> int:
        return self._groups.n_rows

    def __getitem__(self, row: int) -> Any:
        return self._groups.labels[self._groups.index[row]]


def scores_of(scores: Any, groups: Groups) -> PerRow:
    """Return finite contiguous scores, one for each row of the target."""
    array = _check.column(scores, "scores")
    if array.size != groups.n_rows:
        raise ArgumentError(
            f"scores and the target must have equal length, got {array.size} and {groups.n_rows}."
        )
    advice = "Look for overflow in the model: scale its features, or take smaller steps."
    _check.finite(array, "scores", RowLabels(groups), advice=advice)
    return array


def in_units(scores: PerRow) -> tuple[PerRow, float]:
    """Return scores, and 1, in a unit in which sums of differences do not overflow.

    The unit is 1 for all but huge scores, and a power of two for those: no digit changes.
    """
    if max(scores.max(initial=0.0), -scores.min(initial=0.0)) < _HUGE:
        return scores, 1.0
    return scores * _DOWN, _DOWN


def out_of_units(values: PerGroup, unit: float) -> None:
    """Bring values back from the unit of `in_units`, in place; inf where they do not fit."""
    if unit != 1.0:
        with np.errstate(over="ignore"):
            values /= unit


def tell_pairs(n_pairs: float, name: str, instead: str) -> None:
    """Warn in `_target`, before the first evaluation, of a loss that visits a great many pairs."""
    if n_pairs > _MANY_PAIRS:
        warnings.warn(
            f"{name} visits {n_pairs:.2g} pairs of rows at each evaluation, about "
            f"{n_pairs / _MANY_PAIRS:.2g} s. {instead}",
            CostWarning,
            stacklevel=4,  # the caller of prepare
        )


def relevance_of(relevance: Any, groups: Groups) -> PerRow:
    """Return relevances >= 0, one for each row of the groups."""
    array = _check.column(relevance, "relevance")
    if array.size != groups.n_rows:
        raise ArgumentError(
            f"relevance and qid must have equal length, got {array.size} and {groups.n_rows}."
        )
    return _check.relevance(array, RowLabels(groups))


def rows_by_group(groups: Groups) -> RowIndex:
    """Return the positions of all rows, group after group."""
    return np.arange(groups.n_rows) if groups.order is None else groups.order


def positives_first(positive: Mask, groups: Groups) -> tuple[RowIndex, Offsets]:
    """Return rows by (group, negative), each in the caller's order, and the bounds of those."""
    from podium._kernels import counting_order

    rows = np.empty(positive.size, np.int64)
    bounds = np.zeros(2 * groups.n_groups + 1, np.int64)
    counting_order(2 * groups.index + ~positive, bounds, rows)
    return rows, bounds


def row_weights(weights: Any, groups: Groups) -> PerRow:
    """Return weights >= 0 for each row; ones where none were given."""
    if weights is None:
        return np.ones(groups.n_rows)
    return _check.weights(weights, groups.n_rows, RowLabels(groups))


def group_weights(weights: Any, groups: Groups, loss_name: str) -> PerGroup:
    """Return one weight for each group, from row weights that are constant within groups."""
    if weights is None:
        return np.ones(groups.n_groups)
    rows = row_weights(weights, groups)
    index = groups.index
    per_group = np.zeros(groups.n_groups)
    per_group[index] = rows
    differs = np.flatnonzero(rows != per_group[index])
    if differs.size:
        row = int(differs[0])
        raise ArgumentError(
            f"weights must be constant within a group for {loss_name}, got {rows[row]:g} and "
            f"{per_group[index[row]]:g} in qid {_check.label(groups.labels[index[row]])}. "
            "Pass one weight per group."
        )
    return per_group


def shares(weights: PerGroup, defined: Any) -> PerGroup:
    """Return what each group's value is multiplied by, so that their plain mean is the weighted.

    The mean of ``shares * values`` over the defined groups is
    ``sum(weights * values) / sum(weights)``. Groups that are not defined get 0.
    """
    used = np.where(defined, weights, 0.0)
    largest = float(used.max(initial=0.0))
    if largest > 0.0:
        used = used / largest  # so that no sum of weights overflows
    total = float(used.sum())
    if total == 0.0:
        if bool(np.any(defined)):
            raise ArgumentError(
                "weights are zero for all groups that the loss is defined on. "
                "Give at least one of them a weight > 0."
            )
        return used
    return used * (int(np.count_nonzero(defined)) / total)


def group_shares(weights: Any, groups: Groups, loss_name: str, defined: Mask) -> PerGroup:
    """Return the `shares` of row weights that are constant within groups."""
    return shares(group_weights(weights, groups, loss_name), defined)


def row_shares(weights: PerRow | None, groups: Groups, per: str) -> tuple[PerRow, Mask]:
    """Return what each row's loss is multiplied by, and which groups have a row with weight.

    per="row" weighs all rows alike, so that the mean over groups is the mean over rows; "group"
    weighs all groups alike.
    """
    rows, index = row_weights(weights, groups), groups.index
    if rows.size and not rows.any():
        raise ArgumentError("weights are all zero. Give at least one row a weight > 0.")
    if per == "row":
        defined = groups.sizes > 0
        return rows * (np.count_nonzero(defined) / max(rows.sum(), TINY)), defined
    in_group = np.bincount(index, rows, groups.n_groups)
    return rows / np.maximum(in_group, TINY)[index], in_group > 0
