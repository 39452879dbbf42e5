"""The angle between ground-truth scores and scores: RankCosine, and its top-k form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import Out, register
from podium.losses.listwise import TIES, DrawnLoss, GradeTies, Places, heads
from podium.types import Keys, Mask, PerGroup, PerRow, RowIndex


@dataclass(frozen=True, eq=False)
class CosineTarget:
    """What RankCosine needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_rows,)
        Rows by group and falling grade.
    truth : float64, (n_rows,)
        Ground-truth scores by their length, in the order of `rows`; means of these where ties
        are averaged, which are shorter.
    short : float64, (n_groups,)
        1 less the square of their length.
    defined : bool, (n_groups,)
        Groups with two grades.
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    """

    groups: Groups
    rows: RowIndex
    truth: PerRow
    short: PerGroup
    defined: Mask
    share: PerGroup


@register
@dataclass(frozen=True)
class RankCosine(DrawnLoss):
    """Half of one minus the cosine of the angle between ground-truth scores and scores.

    ``(1 - t . s / (|t| |s|)) / 2``, t being the grades with ties broken. With k, all rows below
    the first k places share one ground-truth score, lower than any above: the paper's
    modification.

    Parameters
    ----------
    k : int, optional
        Places that keep their order, at least 1; None, and any k beyond the list, keeps all.
    ties : {"fixed", "redrawn", "averaged"}
        As in `DrawnLoss`; the mean is over all orders, exact and no dearer.

    Notes
    -----
    Inside a tie of grade g, ground-truth scores are evenly spaced around g, no further away than
    half way to the nearest grade. Averaged over orders they are the grades, but the length |t|
    stays that of one order: no scores suit all orders, so the value stays above 0. Below the
    head stands the mean of what the whole list has there; so k one less than the list is the
    whole list too.
    Not convex. A factor on the scores changes nothing, so a penalty on coefficients only shrinks
    them: train without one, and stop by validation. A shift of the scores does change it.
    Where all scores of a group are 0 the value is 1/2, and the gradient that of length 1: a way
    down; below a length of 1e-100 it is held at that of 1e-100. The curvature is the largest
    eigenvalue that the second derivatives can have at |s|.
    A group of one grade is left out. Cost: a few passes; preparing sorts each list.

    References
    ----------
    xia2009, section 4.3.2; qin2008.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = RankCosine()
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> loss.value_and_grad(np.array([0.0, 2.0]), target)
    (array([0.5]), array([-0.25,  0.  ]))
    """

    k: int | None = None
    ties: GradeTies = "averaged"

    name: ClassVar[str] = "rankcosine"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    convex: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    head_cutoff: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check.cutoff(self.k, required=False))
        _check.choice(self.ties, "ties", TIES)

    def _drawn_target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None, keys: Keys
    ) -> CosineTarget:
        places = Places.of(grades, keys, groups)
        drawn = places.grades + places.gap[places.index] * places.inside
        drawn = places.with_tail(drawn, heads(self.k, groups.sizes))
        truth = places.averaged(drawn) if self.ties == "averaged" else drawn
        defined = places.gap > 0.0
        square = np.where(defined, places.sums(drawn**2), 1.0)
        short = places.sums((drawn - truth) ** 2) / square
        share = inputs.group_shares(weights, groups, self.name, defined)
        truth = truth / np.sqrt(square)[places.index]
        return CosineTarget(groups, places.rows, truth, short, defined, share)

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import half_cosine

        layout = (target.rows, target.groups.offsets, target.truth, target.short)
        half_cosine(scores, *layout, target.share, target.defined, out)
