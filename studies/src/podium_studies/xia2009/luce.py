"""The cross entropy of Luce models over the first k places, ListNet as stated by its authors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs, register
from podium.losses.base import Out
from podium.losses.listwise import ListwiseLoss, several_grades
from podium.types import Counts, Mask, PerGroup, PerRow, RowIndex
from podium_studies import checks

_BUDGET = 2e7  # largest number of exponentials for one list, about a third of a second
_BUDGET_OF_ALL = 2e8  # largest number of exponentials for one evaluation


@dataclass(frozen=True, eq=False)
class LuceTarget:
    """The labels as prepared for the cross entropy of Luce models.

    Attributes
    ----------
    groups : Groups
        The groups for which the target was prepared.
    rows : int64, (n_rows,)
        The rows in order of groups.
    truth : float64, (n_rows,)
        The scores of the ground-truth model, in the order of `rows`.
    depth : int64, (n_groups,)
        The number of places that are random; 0 for a group that is left out.
    share : float64, (n_groups,)
        The weight of each group relative to the mean weight; 0 for a group that is left out.
    """

    groups: Groups
    rows: RowIndex
    truth: PerRow
    depth: Counts
    share: PerGroup

    @property
    def defined(self) -> Mask:
        """The mask of groups on which the loss is defined."""
        return self.depth > 0


@register
@dataclass(frozen=True)
class ListNetLuce(ListwiseLoss):
    """The cross entropy of the first k places between the Luce models of grades and of scores.

    The value is ``-sum over all first places (j_1, …, j_k) of P(j_1, …, j_k) log Q(j_1, …, j_k)``.
    Q draws one row after another with the softmax of the scores, and P with the softmax of scale
    times the grades. This is top-k ListNet as stated by its authors. It is not constant within
    top-k subgroups and therefore does not meet the conditions of the theory of top-k consistency.
    `ListNet` with a cutoff does.

    Parameters
    ----------
    k : int
        The number of places, at least 1. A shorter list uses all of its places.
    scale : float
        The factor by which grades are multiplied, > 0.

    Notes
    -----
    The loss is convex, smooth, unchanged by a shift of a group's scores, and exact at all finite
    scores. Its minimum is the entropy of P, not 0. Rows with equal grades have equal
    probabilities, and nothing is drawn. With k = 1, the loss is `ListNet` without a cutoff. A
    group with a single grade is left out. A value beyond the range of float64 is inf.

    Cost: n^k exponentials for a list of n rows, because all n! / (n - k)! first places are
    visited. n^k is limited to 2e7 for a list and to 2e8 for all lists, which takes seconds per
    evaluation.

    References
    ----------
    cao2007; xia2009, footnote 4; plackett1975.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = ListNetLuce(k=2)
    >>> target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    >>> values, _ = loss.value_and_grad(np.zeros(3), target)  # all 3 * 2 are equally likely
    >>> bool(np.isclose(values[0], np.log(3 * 2)))
    True
    """

    k: int = 1
    scale: float = 1.0

    name: ClassVar[str] = "listnet-luce"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.cutoff(self.k))
        object.__setattr__(self, "scale", checks.positive(self.scale, "scale"))

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> LuceTarget:
        defined = several_grades(grades, groups)
        depth = np.where(defined, np.minimum(groups.sizes - 1, self.k), 0)
        self._require_affordable(groups, depth)
        rows = inputs.rows_by_group(groups)
        share = inputs.group_shares(weights, groups, self.name, defined)
        with np.errstate(over="ignore"):
            truth = np.minimum(self.scale * grades[rows], np.finfo(np.float64).max)
        return LuceTarget(groups, rows, truth, depth, share)

    def _require_affordable(self, groups: Groups, depth: Counts) -> None:
        with np.errstate(over="ignore"):
            cost = groups.sizes.astype(np.float64) ** depth
        if cost.max(initial=0.0) > _BUDGET or cost.sum() > _BUDGET_OF_ALL:
            raise ArgumentError(
                f"k={self.k} is too large for {self.name}: the largest of {groups.n_groups} groups "
                f"costs {cost.max():.2g} exponentials, and all cost {cost.sum():.2g}, above "
                f"{_BUDGET:.0e} or {_BUDGET_OF_ALL:.0e}. Lower k, or use 'listnet@{self.k}', which "
                "costs one exponential per row."
            )

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium_studies.xia2009.luce_kernels import luce_entropies

        layout = (target.truth, target.rows, target.groups.offsets, target.depth, target.share)
        luce_entropies(scores, *layout, out)
