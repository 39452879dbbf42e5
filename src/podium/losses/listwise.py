"""What the listwise losses share: what is true of them, and where they are undefined."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from podium.losses.base import ByGroup


class ListwiseLoss(ByGroup):
    """What the listwise losses share; use one of its classes."""

    name: ClassVar[str]
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = True

    def why_undefined(self, target: Any) -> str:
        """Say what a group needs, how many lack it, and what to do."""
        sizes = target.groups.sizes
        short = int(np.count_nonzero(sizes < 2))
        return (
            f"{self.name} needs rows of two grades in a group, but {short} of {sizes.size} groups "
            f"have fewer than two rows and {int(np.count_nonzero(~target.defined)) - short} "
            f"{self._lack()}. Check relevance and qid."
        )

    def _lack(self) -> str:
        return "one grade only"
