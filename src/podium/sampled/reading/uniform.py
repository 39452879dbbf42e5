"""A test of whether drawn items had the same chance."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import PodiumWarning

_MOST_ERRORS = 6.0  # Poisson standard errors above the expected number of draws


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
    warnings.warn(
        f"{source}: item {_check.label(names[most])} was drawn for {counts[most]} users, but a "
        f"uniform sample has it for about {expected:.0f}. {n_above} of {names.size} drawn "
        f"items have too many draws. {advice}",
        PodiumWarning,
        stacklevel=4,
    )
