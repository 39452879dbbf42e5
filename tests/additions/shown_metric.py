"""A metric of the items shown, as another package would add it."""

from __future__ import annotations

import numpy as np

from podium.metrics import Shown, register_shown
from podium.types import PerGroup


@register_shown("newness", reads="catalogue", aliases=("cold_share",))
def newness(shown: Shown, *, k: int) -> PerGroup:
    """Return the share of the k items of each list that have no past interaction."""
    is_new = ~np.isin(shown.items, shown.past)
    n_new = np.bincount(shown.groups.index, is_new, shown.groups.n_groups)
    return shown.of_users(n_new / shown.groups.sizes)
