"""The logistic loss of groups with the smoothed risk of pAp@k on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses._registry import register
from podium.losses.grouped import (
    GroupLogisticTarget,
    kept_positive,
    lacking,
    run,
    target_of,
)
from podium.losses.pap_base import positives_first
from podium.types import Counts, Mask, Offsets, PerGroup, PerRow


@dataclass(frozen=True, eq=False)
class PApLogisticTarget:
    """What `PApLogistic` needs to know of the labels.

    Attributes
    ----------
    likelihood : GroupLogisticTarget
        For the first term; its `rows` have each group's positives before its negatives.
    bounds : int64, (2 n_groups + 1,)
        Where each group's positives and negatives begin in `rows`.
    n_top, n_neg : int64, (n_groups,)
        min(k, n_pos) and min(k, n_neg); 0 for a group that is left out.
    scale : float64, (n_groups,)
        Weight of a positive's mean over the top negatives in its group's value.
    """

    likelihood: GroupLogisticTarget
    bounds: Offsets
    n_top: Counts
    n_neg: Counts
    scale: PerGroup

    @property
    def groups(self) -> Groups:
        """The groups it was prepared for."""
        return self.likelihood.groups

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        return self.likelihood.defined


@register
@dataclass(frozen=True)
class PApLogistic:
    """`GroupLogistic` plus the risk of pAp@k with sigmoids for its steps.

    Over all groups: ``[GroupLogistic summed over rows + weight * sum_{i<=beta} mean_{j<=m}
    sigmoid((t(j) - s(i)) / temperature)] / n_rows``, with s(1) >= s(2) >= … a group's positive
    scores, t(1) >= … its negative ones, beta = min(k, n_pos) and m = min(k, n_neg). The first
    term learns from every row, the second turns the order where pAp@k looks.

    Parameters
    ----------
    k : int, optional
        Cutoff in items, at least 1; None is the whole list, where nothing has an edge to jump
        at. Groups with fewer than k negatives use all of them. Learning wants a larger k than
        measuring: its lists are longer, and more rows teach more.
    weight : float
        Of the second term, at least 0. A group's counts as its beta rows; 0 leaves
        `GroupLogistic` to the bit.
    temperature : float
        Score difference over which a pair's error fades, above 0.
    min_relevance : float
        Relevance from which a row is a positive.

    Notes
    -----
    Unchanged by a shift of a group's scores. Not convex (for weight > 0): start from the
    solution of `GroupLogistic`, or of weight=0. Continuous, and smooth wherever the sets of top
    rows stay the same; where one row takes another's place at the edge of a top, the gradient
    jumps, by no more than that pair's share. It declares to be smooth, since L-BFGS is the
    right solver for it. Rows of equal score at an edge share its gradient. No upper bound of
    pAp@k's risk. A value beyond the range of float64 is inf; gradients are finite.
    Cost: that of `GroupLogistic`, O(n log k) per group for the tops, and beta m divisions:
    for long lists, set k to a few hundred.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApLogistic(k=1, weight=4.0)
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([5.0, 5.0]), target)
    >>> bool(np.isclose(values[0], (2 * np.log(2.0) + 4 * 0.5) / 2)), grad.tolist()
    (True, [-0.75, 0.75])
    """

    k: int | None = None
    weight: float = 20.0
    temperature: float = 1.0
    min_relevance: float = 1.0

    name: ClassVar[str] = "pap-logistic"
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    smooth: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for param, value in (
            ("k", None if self.k is None else _check.cutoff(self.k)),
            ("weight", _check.number(self.weight, "weight", low=0.0)),
            ("temperature", _check.number(self.temperature, "temperature", low=0.0, strict=True)),
            (
                "min_relevance",
                _check.number(self.min_relevance, "min_relevance", low=0.0, strict=True),
            ),
        ):
            object.__setattr__(self, param, value)

    @property
    def convex(self) -> bool:
        """Only without the second term."""
        return self.weight == 0.0

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> PApLogisticTarget:
        """Split each group into positives and negatives; nothing here is random.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, in the order of the rows that `groups` was made from.
        groups : Groups
        weights : float64, (n_rows,), optional
            Weight of each group, given on each of its rows: a weight of 3 is three copies.
        rng : numpy.random.Generator, optional
            Not drawn from.

        Raises
        ------
        ArgumentError
            For lengths that differ, a negative relevance, or weights that vary in a group.
        """
        positive = inputs.relevance_of(relevance, groups) >= self.min_relevance
        rows, bounds = positives_first(positive, groups)
        per_group = inputs.group_weights(weights, groups, self.name)
        weight = np.ones(positive.size) if weights is None else per_group[groups.index]
        likelihood = target_of(positive.astype(np.float64), weight, groups, rows, "row")
        used = likelihood.defined
        counts = np.diff(bounds)
        capped = counts if self.k is None else np.minimum(counts, self.k)
        n_top, n_neg = np.where(used, capped[0::2], 0), np.where(used, capped[1::2], 0)
        n_pairs = float((n_top.astype(np.float64) * n_neg).sum()) if self.weight > 0.0 else 0.0
        inputs.tell_pairs(n_pairs, self.name, "Set k to a few hundred.")
        n_rows = float((per_group * groups.sizes)[used].sum())
        scale = self.weight * per_group * (np.count_nonzero(used) / n_rows if n_rows else 0.0)
        return PApLogisticTarget(likelihood, bounds, n_top, n_neg, scale)

    def value_and_grad(self, scores: PerRow, target: PApLogisticTarget) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite, in the caller's row order.
        target : PApLogisticTarget
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            In nats; nan for a group with one class. Scaled so that their plain mean is the mean
            over rows, weighted where weights were given.
        grad : float64, (n_rows,)
        """
        checked = inputs.scores_of(scores, target.groups)
        values = np.full(target.groups.n_groups, np.nan)
        grad = np.zeros(checked.size)
        self._run(checked, target, values, grad, np.empty(0))
        return values, grad

    def curvature(self, scores: PerRow, target: PApLogisticTarget) -> PerRow:
        """Return a positive bound of the second derivatives by row.

        p_i (1 - p_i) as of `GroupLogistic`, and for each pair at the top with error e twice
        e (1 - e) / temperature ** 2 by its weight, on both of its rows. That is never below the
        Hessian, as a matrix, and makes a pair's own Newton step at most half a temperature.
        """
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: PApLogisticTarget
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three from one pass, for boosting."""
        checked = inputs.scores_of(scores, target.groups)
        values = np.full(target.groups.n_groups, np.nan)
        grad, bound = np.zeros(checked.size), np.zeros(checked.size)
        self._run(checked, target, values, grad, bound)
        return values, grad, kept_positive(bound, target.defined)

    def why_undefined(self, target: PApLogisticTarget) -> str:
        """Say what a group needs, how many lack it, and what to do."""
        return f"{self.name} needs a positive and a negative {lacking(target.likelihood)}"

    def _run(
        self,
        scores: PerRow,
        target: PApLogisticTarget,
        values: PerGroup,
        grad: PerRow,
        curvature: PerRow,
    ) -> None:
        from podium.losses._grouped_kernels import top_sigmoids

        run(scores, target.likelihood, values, grad, curvature)
        if self.weight > 0.0:
            layout = (target.likelihood.rows, target.bounds, target.n_top, target.n_neg)
            top_sigmoids(scores, *layout, target.scale, self.temperature, values, grad, curvature)
