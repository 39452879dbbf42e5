"""A metric of the items shown, as another package would add it."""

from __future__ import annotations

import numpy as np

from podium.metrics import Shown, register_shown
from podium.types import PerGroup


@register_shown("newness", reads="catalogue", aliases=("cold_share",))
def newness(shown: Shown, *, k: int) -> PerGroup:
    """Return the share of the k items of each list that have no past interaction."""
    return shown.means(~np.isin(shown.items, shown.past))
