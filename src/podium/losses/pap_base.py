"""What the surrogates of pAp@k share: their target, their protocol, and where it is undefined."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.types import Counts, Mask, Offsets, PerGroup, PerRow, RowIndex

_FLOOR = 1e-6  # curvature of a row that the scores did not select, by that of a whole group
_EMPTY: NDArray[np.float64] = np.empty(0)


@dataclass(frozen=True, eq=False)
class PApTarget:
    """What a pAp@k surrogate needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_rows,)
        Rows by group, positives before negatives, each in the caller's order.
    bounds : int64, (2 n_groups + 1,)
        Where each group's positives and negatives begin in `rows`.
    n_top : int64, (n_groups,)
        beta = min(k, n_pos); 0 for a group that is left out.
    n_neg : int64, (n_groups,)
        Negatives that count: k, or all of a smaller group under clip.
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    """

    groups: Groups
    rows: RowIndex
    bounds: Offsets
    n_top: Counts
    n_neg: Counts
    share: PerGroup

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        return self.n_top > 0


@dataclass(frozen=True)
class PApLoss(abc.ABC):
    """What the surrogates of pAp@k share; use one of its classes."""

    k: int
    clip: bool = False
    min_relevance: float = 1.0

    name: ClassVar[str]
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool]
    smooth: ClassVar[bool] = False
    upper_bounds: ClassVar[str | None]
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check.cutoff(self.k))
        low = _check.number(self.min_relevance, "min_relevance", low=0.0, strict=True)
        object.__setattr__(self, "min_relevance", low)

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> PApTarget:
        """Split each group into positives and negatives; nothing here is random.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, in the order of the rows that `groups` was made from.
        groups : Groups
        weights : float64, (n_rows,), optional
            One weight per group, repeated on its rows.
        rng : numpy.random.Generator, optional
            Not drawn from: these losses treat equal labels alike.

        Raises
        ------
        ArgumentError
            For lengths that differ, a negative relevance or weight, or weights that vary within
            a group.
        """
        positive = inputs.relevance_of(relevance, groups) >= self.min_relevance
        rows, bounds = positives_first(positive, groups)
        n_pos, n_neg = np.diff(bounds)[0::2], np.diff(bounds)[1::2]
        used = np.minimum(n_neg, self.k) if self.clip else np.where(n_neg >= self.k, self.k, 0)
        top = np.where(used > 0, np.minimum(n_pos, self.k), 0)
        per_group = inputs.group_weights(weights, groups, self.name)
        share = inputs.shares(per_group, top > 0)
        return PApTarget(groups, rows, bounds, top, np.where(top > 0, used, 0), share)

    def value_and_grad(self, scores: PerRow, target: PApTarget) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the (sub)gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite, in the caller's row order.
        target : PApTarget
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            In score units; nan for a group that is left out. Weights scale them, so that the
            mean of the defined ones is the weighted mean.
        grad : float64, (n_rows,)
            At a kink, a pair on the margin counts (the paper's choice). Rows of equal score
            at the edge of a selection share its gradient equally, so that row order never
            matters. That is an element of the subdifferential where the loss is convex, of
            Clarke's where it is not.

        Notes
        -----
        Cost: O(n log k) per group, in practice one pass; the tight-struct surrogate adds a
        binary search per remaining positive, those over whole orderings and `PAUCHinge` sort
        what they order. Rows outside the selection get a gradient of exactly 0.
        """
        checked = inputs.scores_of(scores, target.groups)
        values = np.full(target.groups.n_groups, np.nan)
        grad = np.zeros(checked.size)
        self._run(checked, target, values, grad, _EMPTY)
        return values, grad

    def curvature(self, scores: PerRow, target: PApTarget) -> PerRow:
        """Return a positive second-order bound by row.

        A hinge has no second derivative at its kink and none to speak of elsewhere. The bound
        is that of the same loss with its kinks rounded over one unit of score: each selected
        pair adds twice its weight to both of its rows. Rows that `scores` leave unselected get
        a small positive floor.
        """
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: PApTarget
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three from one pass, for boosting."""
        checked = inputs.scores_of(scores, target.groups)
        values = np.full(target.groups.n_groups, np.nan)
        grad, bound = np.zeros(checked.size), np.zeros(checked.size)
        self._run(checked, target, values, grad, bound)
        floor = _FLOOR / max(1, int(np.count_nonzero(target.defined)))
        return values, grad, np.maximum(bound, floor)

    def why_undefined(self, target: PApTarget) -> str:
        """Say what a group needs, how many lack what, and what to do."""
        n_pos, n_neg = np.diff(target.bounds)[0::2], np.diff(target.bounds)[1::2]
        need = 1 if self.clip else self.k
        few = int(np.count_nonzero((n_pos > 0) & (n_neg < need)))
        relax = "" if self.clip else "Lower k, pass clip=True, or check"
        return (
            f"{self.name} needs a positive (relevance >= {self.min_relevance:g}) and {need} "
            f"negative{'' if need == 1 else 's'} in a group, but "
            f"{int(np.count_nonzero(n_pos == 0))} have no positive and {few} too few negatives. "
            f"{relax or 'Check'} min_relevance and qid."
        )

    @abc.abstractmethod
    def _run(
        self, scores: PerRow, target: PApTarget, values: PerGroup, grad: PerRow, curvature: PerRow
    ) -> None: ...


class PairLoss(PApLoss):
    """A sum of hinges over pairs; the kernel's switches tell these losses apart."""

    _sign: ClassVar[float] = 1.0
    _rest: ClassVar[bool] = False

    def _n_positives(self, target: PApTarget) -> Counts:
        return target.n_top

    def _run(
        self, scores: PerRow, target: PApTarget, values: PerGroup, grad: PerRow, curvature: PerRow
    ) -> None:
        from podium.losses.pap_kernels import pair_hinges

        layout = (target.rows, target.bounds, self._n_positives(target), target.n_neg, target.share)
        scaled, unit = inputs.in_units(scores)
        pair_hinges(scaled, *layout, unit, self._sign, self._rest, values, grad, curvature)
        inputs.out_of_units(values, unit)


def positives_first(positive: Mask, groups: Groups) -> tuple[RowIndex, Offsets]:
    """Return rows by (group, negative), each in the caller's order, and the bounds of those."""
    from podium._kernels import counting_order

    rows = np.empty(positive.size, np.int64)
    bounds = np.zeros(2 * groups.n_groups + 1, np.int64)
    counting_order(2 * groups.index + ~positive, bounds, rows)
    return rows, bounds
