"""Tests of candidates in tables: whether draws had the same chance, and lists no leak."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import warn

_MOST_ERRORS = 6.0  # Poisson standard errors above the expected number of draws
_LEAST_MISSES = 20  # with fewer, a list of the model's own would hardly miss targets either
_MISS_RATIO = 0.25  # misses of a proxy that was not trained on the targets are more frequent


def warn_of_popular_draws(drawn: NDArray[Any], expected: float, advice: str, source: str) -> None:
    """Warn if an item was drawn more often than the same chance for all items allows.

    Parameters
    ----------
    drawn : (n,)
        The drawn items of all users.
    expected : float
        The largest expected number of draws of an item.
    advice : str
        The sentence after the numbers.
    source : str
        The name of the table.

    Warns
    -----
    PodiumWarning
        If an item has 6 standard errors, and 6 draws, more than expected.
    """
    names, counts = np.unique(drawn, return_counts=True)
    limit = expected + _MOST_ERRORS * np.sqrt(expected) + _MOST_ERRORS
    is_common_list = counts.size > 1 and counts.min() == counts.max()  # the same for all users
    if is_common_list or int(counts.max(initial=0)) <= limit:
        return
    most, n_above = int(np.argmax(counts)), int((counts > limit).sum())
    warn(
        f"{source}: item {_check.label(names[most])} was drawn for {counts[most]} users, but a "
        f"uniform sample has it for about {expected:.0f}. {n_above} of {names.size} drawn "
        f"items have too many draws. {advice}"
    )


def warn_of_known_targets(
    in_list: NDArray[np.bool_], in_top: NDArray[np.bool_], source: str
) -> None:
    """Warn if a proxy lists so many targets that it was probably trained on them.

    Parameters
    ----------
    in_list : bool, (n,)
        Whether the proxy lists each target.
    in_top : bool, (n,)
        Whether the scores place the target in a list of the same length.
    source : str
        The name of the table.

    Warns
    -----
    PodiumWarning
        If the list misses less than a quarter as many targets as the scores, which miss at least
        20.
    """
    n_missed, n_low = int((~in_list).sum()), int((~in_top).sum())
    if n_low < _LEAST_MISSES or n_missed >= _MISS_RATIO * n_low:
        return
    warn(
        f"{source}: the proxy lists {in_list.sum()} of {in_list.size} targets, but by their scores "
        f"only about {in_top.sum()} are among as many items. If the proxy was trained on the "
        "targets, its lists do not help to evaluate a model that was not. If you do not know which "
        "targets it lists, give all targets the stratum 'drawn'."
    )
