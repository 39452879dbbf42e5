"""Gains (what an item is worth) and discounts (what a rank is worth).

Shared by the metrics of full rankings and the estimates from sampled ones, so that ndcg means
the same in both.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check

Gain: TypeAlias = Literal["linear", "exp2"]
Discount: TypeAlias = Literal["log2", "letor"]

GAINS: tuple[Gain, ...] = ("linear", "exp2")
DISCOUNTS: tuple[Discount, ...] = ("log2", "letor")


def gains(relevance: NDArray[np.float64], gain: Gain = "linear") -> NDArray[np.float64]:
    """What each item is worth: its relevance, or 2 ** relevance - 1.

    Parameters
    ----------
    relevance : float64, any shape
        Grades >= 0.
    gain : {"linear", "exp2"}
        "linear" is trec_eval's, "exp2" that of LETOR's script.

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
    """What each of the ranks 1 .. n_ranks is worth in a discounted cumulative gain.

    Parameters
    ----------
    n_ranks : int
        How many ranks, from the top.
    discount : {"log2", "letor"}
        "log2" is 1 / log2(rank + 1). "letor" is that of LETOR's script: ranks 1 and 2 weigh 1,
        then 1 / log2(rank).

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
    """Chance times weight that a reader who goes on with probability p reaches each rank.

    The weights (1 - p) p ** (rank - 1) sum to 1 over an endless list.

    References
    ----------
    moffat2008.
    """
    return (1.0 - p) * np.power(p, np.arange(n_ranks, dtype=np.float64))
