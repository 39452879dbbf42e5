"""Measures as weights of the target's rank: what a ranking with one relevant item is worth.

With one relevant item, of grade 1, among n_items, a measure is a function of that item's rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.discounts import discounts, persistence
from podium.errors import ArgumentError
from podium.metrics import Measure, parse

Weights: TypeAlias = Callable[..., NDArray[np.float64]]

RANK_AUC = "rank_auc"
"""Weight (n_items - rank) / (n_items - 1) down to the cutoff; `auc@k` is another metric."""

_REGISTRY: dict[str, Weights] = {}


def _weights(name: str) -> Callable[[Weights], Weights]:
    def enter(function: Weights) -> Weights:
        _REGISTRY[name] = function
        return function

    return enter


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
    text = str(measure)
    if text.strip() == RANK_AUC or text.strip().startswith(RANK_AUC + "@"):
        cutoff = parse("recall" + text.strip().removeprefix(RANK_AUC)).k
        return Measure(RANK_AUC, cutoff)
    found = parse(measure)
    if found.metric.name not in _REGISTRY:
        raise ArgumentError(
            f"{found} needs more than the rank of one target: it cannot be estimated from sampled "
            f"ranks. These can: {', '.join(sorted(_REGISTRY))}, with a cutoff as in ndcg@10."
        )
    return found


def rank_weights(measure: Measure, n_items: int) -> NDArray[np.float64]:
    """What a target at each rank is worth under a measure.

    Returns
    -------
    float64, (min(k, n_items),)
        For ranks from 1; all ranks below are worth 0.
    """
    depth = n_items if measure.k is None else min(measure.k, n_items)
    weigh = _REGISTRY["auc" if measure.name == RANK_AUC else measure.metric.name]
    options = {} if measure.name == RANK_AUC else dict(measure.options)
    return weigh(depth, n_items, measure.k, **options)


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


@_weights("hit_rate")
@_weights("recall")
def _recall(depth: int, _items: int, _k: int | None, **_norm: Any) -> NDArray[np.float64]:
    return np.ones(depth)


@_weights("precision")
def _precision(depth: int, _items: int, k: int) -> NDArray[np.float64]:
    return np.full(depth, 1.0 / k)


@_weights("ndcg")
@_weights("dcg")
def _dcg(
    depth: int, _items: int, _k: int | None, *, discount: Any = "log2", **_gain: Any
) -> NDArray[np.float64]:
    return discounts(depth, discount)  # a grade of 1 gains 1 under either gain, and at rank 1 too


@_weights("ap")
@_weights("rr")
def _reciprocal(depth: int, _items: int, _k: int | None, **_norm: Any) -> NDArray[np.float64]:
    return 1.0 / np.arange(1, depth + 1)


@_weights("rbp")
def _rbp(depth: int, _items: int, _k: int | None, *, p: float = 0.8) -> NDArray[np.float64]:
    return persistence(depth, p)


@_weights("r_precision")
def _r_precision(depth: int, _items: int, _k: int | None) -> NDArray[np.float64]:
    return (np.arange(depth) == 0).astype(np.float64)


@_weights("auc")
def _auc(depth: int, n_items: int, _k: int | None) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # undefined in a catalogue of one item
        return (n_items - np.arange(1.0, depth + 1)) / (n_items - 1)


@_weights("pauc")
@_weights("pap")
def _pap(depth: int, n_items: int, k: int, *, clip: bool = False) -> NDArray[np.float64]:
    if n_items <= k and not clip:
        return np.full(depth, np.nan)  # fewer than k negatives
    negatives = min(k, n_items - 1)
    return np.maximum(negatives - np.arange(depth), 0.0) / negatives
