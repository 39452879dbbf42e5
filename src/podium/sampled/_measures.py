"""Measures by the rank of one target, as the value of a list with one relevant item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium import _check, metrics
from podium.errors import ArgumentError
from podium.metrics import Measure, parse

RANK_AUC = "rank_auc"
"""Weight (n_items - rank) / (n_items - 1) down to the cutoff; `auc@k` is another metric."""


def read_measure(measure: str | Measure, k: int | None = None) -> Measure:
    """Read a measure that ranks alone determine, from its text, or its name and k.

    Raises
    ------
    ArgumentError
        For a measure that is not known, needs more than ranks, or is given k twice.
    """
    if k is not None:
        if "@" in str(measure):
            raise ArgumentError(f"k is given twice: in {str(measure)!r} and as {k}. Keep one.")
        measure = f"{measure}@{_check.cutoff(k)}"
    name, at, cutoff = str(measure).strip().partition("@")
    if name.strip() == RANK_AUC:
        return Measure(RANK_AUC, parse(f"recall{at}{cutoff}").k)
    found = parse(measure)
    if found.metric.rank_weights is None:
        metrics.rank_weights(
            found, 2 * (found.k or 1) + 1
        )  # raises where ranks do not determine it
    return found


def rank_weights(measure: Measure, n_items: int) -> NDArray[np.float64]:
    """Return what a target at each rank is worth: float64, (min(k, n_items),), 0 below."""
    if measure.name != RANK_AUC:
        return metrics.rank_weights(measure, n_items)
    return metrics.rank_weights(parse("auc"), n_items)[: measure.k]


def all_rank_weights(measure: Measure, n_items: int) -> NDArray[np.float64]:
    """Return `rank_weights` of every rank: float64, (n_items,)."""
    weights = np.zeros(n_items)
    top = rank_weights(measure, n_items)
    weights[: top.size] = top
    return weights


def orders(measure: Measure, n_items: int, depth: int) -> bool:
    """Whether a measure depends on the order of those of the first ranks that it counts."""
    first = rank_weights(measure, n_items)[:depth]
    return bool(np.unique(first[first != 0.0]).size > 1)
