"""The surrogate of pAp@k that stays a maximum over orderings: tight-struct."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium import _check
from podium.losses import inputs
from podium.losses._registry import register_as
from podium.losses.pap import PairLoss, PApTarget
from podium.types import PerGroup, PerRow


@register_as("pap-tight-struct-exact", exact=True)
@register_as("pap-tight-struct")
@dataclass(frozen=True)
class PApTightStruct(PairLoss):
    """The tight-struct surrogate, as the paper computes it or as its equation reads.

    exact=False, "pap-tight-struct": `PApRamp` plus a hinge without margin for the positives
    below the top,
    ``[sum_{i<=beta} sum_{j<=k} (1 - s(i) + t(j))+ + sum_{i>beta} sum_{j<=k} (t(j) - s(i))+]
    / (beta k)``: what the paper's algorithm 2 descends on.

    exact=True, "pap-tight-struct-exact": the literal eq. (14), a maximum over orderings. It is
    ``sum_i sum_{j<=k} (t(j) - u(i))+ / (beta k)``, where u is the closest sequence that falls
    (isotonic regression) to s(i) - 1 for i <= beta and s(i) below.

    Parameters
    ----------
    k : int
        Cutoff in items, at least 1.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of leaving the
        group out.
    min_relevance : float
        Relevance from which a row is a positive.
    exact : bool
        Take the equation instead of the algorithm.

    Notes
    -----
    The equation is convex and never below pAp@k's risk, but may lie below `PApRamp`, against
    the paper's proposition 5. The algorithm's sum is never below `PApRamp` nor below the
    equation, and not convex: it takes the top positives by score, the equation by the ordering
    that it maximises over, which spares the most. With at most k positives all three are equal.
    A value beyond the range of float64 is inf; gradients are finite at any finite score.
    Cost of exact=True: O(n log n), a sort of the positives.

    References
    ----------
    hiranandani2020, section 4.3 and algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApTightStruct(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([0.5, 0.0, -9.0]), target)
    (array([9.5]), array([-1.,  2., -1.]))
    >>> exact = PApTightStruct(k=1, exact=True)
    >>> exact.value_and_grad(np.array([0.5, 0.0, 0.25]), target)
    (array([0.25]), array([-1.,  2., -1.]))
    """

    exact: bool = False

    upper_bounds: ClassVar[str | None] = "pap"
    _rest: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "exact", _check.flag(self.exact, "exact"))

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Name in the registry: "pap-tight-struct", or "pap-tight-struct-exact"."""
        return "pap-tight-struct-exact" if self.exact else "pap-tight-struct"

    @property
    def convex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether it is convex: the equation is, what the algorithm computes is not."""
        return self.exact

    def _run(
        self, scores: PerRow, target: PApTarget, values: PerGroup, grad: PerRow, curvature: PerRow
    ) -> None:
        if self.exact:
            run_orderings(scores, target, values, grad, curvature, whole=False)
        else:
            super()._run(scores, target, values, grad, curvature)


def run_orderings(
    scores: PerRow,
    target: PApTarget,
    values: PerGroup,
    grad: PerRow,
    curvature: PerRow,
    *,
    whole: bool,
) -> None:
    """Maximise over orderings of all positives and the top negatives, or the whole group."""
    from podium.losses.structural_kernels import ordering_hinges

    layout = (target.rows, target.bounds, target.n_top, target.n_neg, whole, target.share)
    scaled, unit = inputs.in_units(scores)
    ordering_hinges(scaled, *layout, unit, values, grad, curvature)
    inputs.out_of_units(values, unit)
