"""Gains (the value of an item) and discounts (the weight of a rank).

The metrics of full rankings and the estimates from sampled ones share them, so that ndcg has the
same definition in both.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check

Gain: TypeAlias = Literal["linear", "exp2"]
MetricGain: TypeAlias = Literal["linear", "exp2", "binary"]
Discount: TypeAlias = Literal["log2", "letor"]

GAINS: tuple[Gain, ...] = ("linear", "exp2")
METRIC_GAINS: tuple[MetricGain, ...] = (*GAINS, "binary")
"""The gains of dcg and ndcg. "binary" is 1 for positives and 0 for other items."""

DISCOUNTS: tuple[Discount, ...] = ("log2", "letor")


def gains(relevance: NDArray[np.float64], gain: Gain = "linear") -> NDArray[np.float64]:
    """Return the gain of each item: its relevance, or 2 ** relevance - 1.

    Parameters
    ----------
    relevance : float64, any shape
        Grades >= 0.
    gain : {"linear", "exp2"}
        The formula: "linear" as in trec_eval, "exp2" as in LETOR's script.

    Examples
    --------
    >>> gains(np.array([0.0, 1.0, 3.0]), "exp2")
    array([0., 1., 7.])

    References
    ----------
    jarvelin2002; burges2005.
    """
    return np.exp2(relevance) - 1.0 if _check.choice(gain, "gain", GAINS) == "exp2" else relevance


def discounts(n_ranks: int, discount: Discount = "log2") -> NDArray[np.float64]:
    """Return the weights of ranks 1 to n_ranks in a discounted cumulative gain.

    Parameters
    ----------
    n_ranks : int
        The number of ranks, from the top.
    discount : {"log2", "letor"}
        The formula. "log2" is 1 / log2(rank + 1). "letor", as in LETOR's script, is 1 at ranks 1
        and 2, then 1 / log2(rank).

    Examples
    --------
    >>> discounts(3)[2] == 1 / np.log2(4), discounts(3, "letor")[:2].tolist()
    (np.True_, [1.0, 1.0])

    References
    ----------
    jarvelin2002; qin2010.
    """
    if _check.choice(discount, "discount", DISCOUNTS) == "log2":
        return 1.0 / np.log2(np.arange(2, n_ranks + 2))
    return 1.0 / np.log2(np.maximum(np.arange(1, n_ranks + 1), 2))


def persistence(n_ranks: int, p: float) -> NDArray[np.float64]:
    """Return the weight (1 - p) p ** (rank - 1) of each rank.

    A reader who continues to the next rank with probability p reaches a rank with probability
    p ** (rank - 1). The factor 1 - p makes the weights of an infinite list sum to 1.

    References
    ----------
    moffat2008.
    """
    return (1.0 - p) * np.power(p, np.arange(n_ranks, dtype=np.float64))
