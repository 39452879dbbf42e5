"""RankCosine and its top-k form: the angle between ground-truth scores and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import Lists, Out, count_of, register
from podium.losses.listwise import DrawnLoss, GradeTies, Places, heads
from podium.types import Keys, PerGroup, PerRow


@dataclass(frozen=True, eq=False)
class CosineTarget(Lists):
    """The target of RankCosine; `rows` have falling grades.

    Attributes
    ----------
    truth : float64, (n_rows,)
        The ground-truth scores divided by their norm, in the order of `rows`. If ties are
        averaged, these are means, whose norm is smaller.
    short : float64, (n_groups,)
        One minus the squared norm of `truth`.
    """

    truth: PerRow
    short: PerGroup


@register
@dataclass(frozen=True)
class RankCosine(DrawnLoss):
    """Half of one minus the cosine of the angle between ground-truth scores and scores.

    The value is ``(1 - t . s / (|t| |s|)) / 2``, in which t are the grades with ties broken. With
    k, all rows below the first k places share one ground-truth score that is lower than all
    others, as in the paper.

    Parameters
    ----------
    k : int, optional
        The number of places that keep their order, at least 1. None, and any k beyond the list,
        keeps all.
    ties : {"fixed", "redrawn", "averaged"}
        The order of rows of equal grade: drawn once, drawn in each epoch, or the mean over all
        orders. The mean is exact and costs no more.

    Notes
    -----
    Within a tie of grade g, the ground-truth scores are evenly spaced around g, within half the
    distance to the nearest grade. Their means over orders are the grades, but the norm ``|t|``
    stays that of one order. No scores fit all orders, so that the value stays above 0. All rows
    below the head get the mean of what the whole list has there. Consequently, a k one less than
    the length of the list is equivalent to the whole list.

    The loss is not convex. A positive factor of the scores does not change it, so that a penalty
    on coefficients only shrinks them: train without a penalty, and stop by validation. A shift of
    the scores does change the loss. If all scores of a group are 0, the value is 1/2 and the
    gradient is computed with norm 1, so that it is a descent direction. The norm in the gradient
    is at least 1e-100. The curvature is the largest possible eigenvalue of the Hessian at ``|s|``.

    A group of one grade is left out. Cost: a few passes; `prepare` sorts each list.

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
    consistency: ClassVar[tuple[str, str] | None] = ("with k", "xia2009, theorem 7")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    convex: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    head_cutoff: ClassVar[bool] = True

    def _drawn_target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None, keys: Keys
    ) -> CosineTarget:
        places = Places.of(grades, keys, groups)
        drawn_scores = places.grades + places.gap[places.index] * places.tie_position
        drawn_scores = places.with_tail(drawn_scores, heads(self.k, groups.sizes))
        truth = places.averaged(drawn_scores) if self.ties == "averaged" else drawn_scores
        defined = places.gap > 0.0
        squared_norms = np.where(defined, places.sums(drawn_scores**2), 1.0)
        short = places.sums((drawn_scores - truth) ** 2) / squared_norms
        share = inputs.group_shares(weights, groups, self.name, defined)
        truth = truth / np.sqrt(squared_norms)[places.index]
        return CosineTarget(groups, share, defined, places.rows, truth, short)

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import half_cosine

        layout = (target.rows, target.groups.offsets, target.truth, target.short)
        half_cosine(scores, *layout, target.share, target.defined, count_of(target), out)
