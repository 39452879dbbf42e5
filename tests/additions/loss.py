"""A loss, as another package would add it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from podium.groups import Groups
from podium.losses import Loss, register
from podium.types import PerGroup, PerRow


class Target(NamedTuple):
    """The sign of each row's label, and the weight of its loss in its group's value."""

    groups: Groups
    sign: PerRow
    share: PerRow


@register
@dataclass(frozen=True)
class Hinge(Loss):
    """The sum over rows of max(0, margin - y s), divided by the mean group size; y is 1 or -1."""

    margin: float = 1.0
    min_relevance: float = 1.0

    name: ClassVar[str] = "hinge-1"
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool] = True

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> Target:
        """Weight the rows so that the mean over groups is the mean over rows."""
        rows = np.ones(groups.n_rows) if weights is None else weights / weights.max()
        sign = np.where(relevance >= self.min_relevance, 1.0, -1.0)
        return Target(groups, sign, rows * groups.n_groups / rows.sum())

    def value_and_grad(self, scores: PerRow, target: Target) -> tuple[PerGroup, PerRow]:
        """Return the value of each group, and the gradient of the mean over groups."""
        below = np.maximum(self.margin - target.sign * scores, 0.0)
        values = np.bincount(target.groups.index, target.share * below, target.groups.n_groups)
        return values, -target.sign * target.share * (below > 0) / target.groups.n_groups

    def curvature(self, scores: PerRow, target: Target) -> PerRow:
        """Return the weights of rows, since the second derivative is 0."""
        return np.maximum(target.share / target.groups.n_groups, 1e-12)
