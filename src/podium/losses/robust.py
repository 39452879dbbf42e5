"""Robust losses: a concave rho bends the rank of a relevant row (RoBiRank) or the cost of a row."""

# Some declarations depend on a parameter, and are properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from podium import _check
from podium.discounts import GAINS, Gain, discounts, gains
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss, Loss, Out, count_of, register
from podium.losses.listwise import several_grades
from podium.losses.pointwise import BinaryTarget, RowLoss
from podium.types import Mask, PerGroup, PerRow, RowIndex

Type: TypeAlias = Literal[1, 2, "identity"]
Sigma: TypeAlias = Literal["logistic", "hinge"]

SIGMAS: tuple[Sigma, ...] = ("logistic", "hinge")
_CODES: dict[Any, int] = {"identity": 0, 1: 1, 2: 2}
_MOST = 1e100  # a gain whose sums and products stay in the range of floats


class Robust(Loss):
    """What both losses declare, by the rho and the sigma that they have."""

    type: Type
    sigma: Sigma

    @property
    def convex(self) -> bool:
        """Whether a midpoint is never above the mean of its ends."""
        return self.type == "identity"

    @property
    def smooth(self) -> bool:
        """Whether there is a gradient everywhere."""
        return self.sigma == "logistic"

    def _check_parts(self) -> None:
        kind: Any = self.type
        if isinstance(kind, bool) or not isinstance(kind, str | int) or kind not in _CODES:
            raise ArgumentError(f"type must be 1, 2 or 'identity', got {self.type!r}.")
        _check.choice(self.sigma, "sigma", SIGMAS)

    def _form(self) -> tuple[int, bool]:
        """Return the kernels' number of rho, and whether sigma is the hinge."""
        return _CODES[self.type], self.sigma == "hinge"


@register
@dataclass(frozen=True)
class RobustBinary(Robust, RowLoss):
    """Robust loss of each row by itself, ``rho(sigma(y s))``: outliers cost little more.

    y = 1 for relevance >= min_relevance, else -1, and s is the row's score.

    Parameters
    ----------
    type : {1, 2, "identity"}
        rho: ``log2(t + 1)``, which goes on rising, ever slower; ``1 - 1 / log2(t + 2)``, which
        stays below 1; or ``t``, for plain classification.
    sigma : {"logistic", "hinge"}
        ``log2(1 + 2^-t)``, as in logistic regression with base 2, or ``max(1 - t, 0)``, as in a
        support vector machine.
    per : {"row", "group"}
        As in `RowLoss`.
    min_relevance : float
        Relevance from which a row is a positive.

    Notes
    -----
    `smooth` with the logistic, `convex` as the identity only. Types "identity" and 1 are never
    below the share of rows on the wrong side of 0, ties counted: a tie costs 1 with the logistic
    and with the hinge. Type 2 is below it, since a tie costs 1 - 1 / log2(3) = 0.369. The
    gradient of a row far on the wrong side falls off: as 1 / t with type 1, as 1 / (t log2(t)^2)
    with type 2, from which a descent may not find back. The identity with the logistic is
    `Logistic` with scores in bits: ``Logistic`` at s log 2, over log 2.

    The `curvature` leaves out that rho bends, hence is never below the second derivative; that of
    the hinge is of one rounded over one unit of score. Exact at any finite score. Cost: one
    exponential and two logarithms per row.

    References
    ----------
    yun2014, which has types I and II from the thesis of N. Ding.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = RobustBinary(type=1, sigma="hinge")
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([-2.0, -1.0]), target)
    >>> values.tolist(), grad.round(4).tolist()  # log2(1 + 3) / 2 and 0: both in bits
    ([1.0], [-0.1803, 0.7213])
    """

    type: Type = 1
    sigma: Sigma = "logistic"
    per: Literal["row", "group"] = "row"
    min_relevance: float = 1.0

    name: ClassVar[str] = "robust-binary"
    reads_grades: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._check_parts()
        _check.choice(self.per, "per", ("row", "group"))
        self._check_min_relevance()

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> BinaryTarget:
        positive = grades >= self.min_relevance
        share, defined = inputs.row_shares(weights, groups, self.per)
        return BinaryTarget(groups, positive, groups.index, share, defined)

    def _run(self, scores: PerRow, target: BinaryTarget, out: Out) -> None:
        from podium.losses.robust_kernels import robust_rows

        rows, count = (target.positive, target.index, target.share), float(count_of(target))
        robust_rows(scores, *rows, self._form(), count, inputs.LEAST_CURVATURE, out)


@dataclass(frozen=True, eq=False)
class RoBiRankTarget:
    """What RoBiRank needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_rows,)
        Rows group after group.
    worth : float64, (n_rows,)
        What a row's bent rank is multiplied by in its group's value: its gain, with
        normalize=True over the group's ideal DCG.
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    defined : bool, (n_groups,)
        Groups with rows of two grades.
    """

    groups: Groups
    rows: RowIndex
    worth: PerRow
    share: PerGroup
    defined: Mask


@register
@dataclass(frozen=True)
class RoBiRank(Robust, GroupLoss):
    """What a list loses of its DCG, bounded by costs of pairs: ranking as robust classification.

    ``sum_y gain_y rho(T_y)`` over the rows y of a group, with ``T_y = sum_{z != y} sigma(s_y -
    s_z)``, s the scores, a bound of how many rows lie above y.

    Parameters
    ----------
    type : {1, 2, "identity"}
        rho: ``log2(t + 1)``, RoBiRank; ``1 - 1 / log2(t + 2)``, DCG's own, closer to it but with
        a gradient that vanishes; or ``t``, without robustness.
    sigma : {"logistic", "hinge"}
        ``log2(1 + 2^-t)`` or ``max(1 - t, 0)``: each is 1 for a tie and more for a pair in the
        wrong order.
    gain : {"exp2", "linear"}
        What a row weighs: ``2^relevance - 1``, or the relevance itself, for weights of your own.
    normalize : bool
        Divide by the group's ideal DCG with the same gain, so that every group weighs as in NDCG.
        False sums as printed: groups with more and better rows weigh more.

    Notes
    -----
    With ranks from 0, ``rank_y <= T_y``, so DCG's loss ``sum_y gain_y (1 - 1 / log2(rank_y + 2))``
    is at most type 2, which is at most type 1: with normalize=True of ``(sum of gains) / ideal -
    NDCG``, over the whole list. It holds for all orders of tied rows, since a tied pair costs 1.
    No loss is 0 at the best order: rows of equal grade push each other too.

    `smooth` with the logistic; `convex` as the identity only. Unchanged by a shift of a group's
    scores. A group of one grade is left out: all its orders have the same DCG. So is one whose
    gains are all 0. Scores are in bits: s here is what s / log 2 is to losses of natural base.
    The `curvature` leaves out that rho bends, hence is a bound of the Hessian as a matrix; that
    of the hinge is of one rounded over one unit of score. Exact at any finite score, of any
    size and gap; a row's sum of costs beyond 1.7e308 counts as that, and where a value then
    exceeds the range of float64 it is inf. Cost: every row with a gain meets all rows of its
    group, with one division per pair and two exponentials per row (one exponential per pair
    where scores lie more than 300 apart).

    References
    ----------
    yun2014, which has the identity from Buffoni et al. (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = RoBiRank()
    >>> target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.zeros(3), target)  # log2(1 + 2): two tied rows
    >>> bool(np.isclose(values[0], np.log2(3.0))), grad.round(4)
    (True, array([-0.4809,  0.2404,  0.2404]))
    """

    type: Type = 1
    sigma: Sigma = "logistic"
    gain: Gain = "exp2"
    normalize: bool = True

    name: ClassVar[str] = "robirank"
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check_parts()
        _check.choice(self.gain, "gain", GAINS)
        object.__setattr__(self, "normalize", _check.flag(self.normalize, "normalize"))

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> RoBiRankTarget:
        worth = self._gains(grades, groups)
        ideal = _ideal(worth, groups)
        defined = several_grades(grades, groups) & (ideal > 0.0)
        if self.normalize:
            worth = worth / np.where(ideal > 0.0, ideal, 1.0)[groups.index]
        share = inputs.group_shares(weights, groups, self.name, defined)
        n_pairs = float(groups.sizes[groups.index[worth > 0.0]].sum(dtype=np.float64))
        inputs.tell_pairs(n_pairs, self.name, "'softmax' visits rows only.")
        return RoBiRankTarget(groups, inputs.rows_by_group(groups), worth, share, defined)

    def _gains(self, grades: PerRow, groups: Groups) -> PerRow:
        with np.errstate(over="ignore"):
            worth = gains(grades, self.gain)
        if worth.max(initial=0.0) > _MOST:
            row = int(np.argmax(worth))
            label = _check.label(groups.labels[groups.index[row]])
            raise ArgumentError(
                f"relevance has a gain above {_MOST:g} with gain={self.gain!r}, got "
                f"{grades[row]:g} in qid {label}. Scale the relevance, or pass gain='linear'."
            )
        return worth

    def why_undefined(self, target: RoBiRankTarget) -> str:
        """Say what a group needs, how many lack it, and what to do."""
        lacking = int(np.count_nonzero(~target.defined & (target.groups.sizes > 0)))
        return (
            f"{self.name} needs rows of two grades in a group, one with a gain above 0, and "
            f"{lacking} of {target.groups.n_groups} groups have one row or one grade. "
            "Check relevance and qid."
        )

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.robust_kernels import robust_ranks

        lists = (target.rows, target.groups.offsets, target.worth, target.share)
        robust_ranks(scores, *lists, self._form(), float(count_of(target)), out)


def _ideal(worth: PerRow, groups: Groups) -> PerGroup:
    """Return each group's DCG over the whole list in the best order."""
    falling = np.lexsort((-worth, groups.index))
    ranks = np.arange(worth.size) - np.repeat(groups.offsets[:-1], groups.sizes)
    weight = discounts(int(groups.sizes.max(initial=0)))
    worths = worth[falling] * weight[ranks]
    return np.bincount(groups.index[falling], worths, groups.n_groups).astype(np.float64)
