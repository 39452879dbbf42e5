"""Robust binary classification: a row's logistic or hinge loss, bent by a concave rho."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses._registry import register
from podium.losses._robust_parts import Sigma, Type, checked_sigma, checked_type, codes
from podium.losses.pointwise import BinaryTarget
from podium.types import PerGroup, PerRow

_EMPTY: NDArray[np.float64] = np.empty(0)


@register
@dataclass(frozen=True)
class RobustBinary:
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
        "row": every row weighs the same. A group's value is its sum of losses by the mean group
        size, so that the mean over groups is the mean over rows. "group": every group weighs the
        same, its value is the mean of its rows.
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
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checked_type(self.type)
        checked_sigma(self.sigma)
        _check.choice(self.per, "per", ("row", "group"))
        low = _check.number(self.min_relevance, "min_relevance", low=0.0, strict=True)
        object.__setattr__(self, "min_relevance", low)

    @property
    def convex(self) -> bool:
        """Whether a midpoint is never above the mean of its ends."""
        return self.type == "identity"

    @property
    def smooth(self) -> bool:
        """Whether there is a gradient everywhere."""
        return self.sigma == "logistic"

    @property
    def reads_groups(self) -> bool:
        """Whether it matters which rows are a group: only to weigh groups alike."""
        return self.per == "group"

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> BinaryTarget:
        """Mark the positives and weigh the rows; nothing here is random.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, in the order of the rows that `groups` was made from.
        groups : Groups
        weights : float64, (n_rows,), optional
            Weight of each row: over all rows with per="row", inside its group with per="group".
        rng : numpy.random.Generator, optional
            Not drawn from.

        Raises
        ------
        ArgumentError
            For lengths that differ, or a negative relevance or weight.
        """
        positive = inputs.relevance_of(relevance, groups) >= self.min_relevance
        share, defined = inputs.row_shares(weights, groups, self.per)
        return BinaryTarget(groups, positive, groups.index, share, defined)

    def value_and_grad(self, scores: PerRow, target: BinaryTarget) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the (sub)gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite, in the caller's row order; a positive is right above 0.
        target : BinaryTarget
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            nan for a group without rows, or, with per="group", without weight.
        grad : float64, (n_rows,)
        """
        return self._run(scores, target, _EMPTY)

    def curvature(self, scores: PerRow, target: BinaryTarget) -> PerRow:
        """Return a bound of the second derivative of the mean by each row's score, above 0."""
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: BinaryTarget
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three from one pass, for boosting."""
        bound = np.empty(target.groups.n_rows)
        return *self._run(scores, target, bound), bound

    def why_undefined(self, target: BinaryTarget) -> str:
        """Say what a group needs."""
        return f"{self.name} needs a row with weight > 0: none of the groups has one."

    def _run(self, scores: PerRow, target: BinaryTarget, bound: PerRow) -> tuple[PerGroup, PerRow]:
        from podium.losses._robust_kernels import robust_rows

        checked = inputs.scores_of(scores, target.groups)
        values, grad = np.where(target.defined, 0.0, np.nan), np.empty(checked.size)
        count = float(max(1, int(np.count_nonzero(target.defined))))
        layout = (target.positive, target.index, target.share, *codes(self.type, self.sigma))
        robust_rows(checked, *layout, count, inputs.LEAST_CURVATURE, values, grad, bound)
        return values, grad
