"""SL@K: a softmax loss whose weights prefer the positives near the top k."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Lists, Out, count_of, register
from podium.types import Mask, PerGroup, PerRow

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class TopSoftmaxTarget(Lists):
    """The target of SL@K, defined on groups with both classes.

    Attributes
    ----------
    positive : bool, (n_rows,)
        The mask of positives.
    weights : tuple, optional
        The weights of the rows and their sums, if they are held fixed.
    """

    positive: Mask
    weights: tuple[PerRow, PerGroup] | None = None


@register
@dataclass(frozen=True)
class TopSoftmax(GroupLoss):
    """Softmax loss of the positives, weighted by how far they reach into the top k: SL@K.

    The value is ``sum_i w_i log sum_j exp((s_j - s_i) / temperature)`` over the positives i and
    all rows j of a group, with ``w_i = sigmoid((s_i - b) / weight_temperature)``. b is the k-th
    largest score of the group, or the smallest score of a group with fewer rows.

    Parameters
    ----------
    k : int
        The cutoff in items, at least 1.
    temperature : float
        The scale of the softmax in units of score, above 0.
    weight_temperature : float
        The scale of the weights in units of score, above 0. With a large scale, all weights are
        1/2, and the loss is half of a softmax loss.
    min_relevance : float
        The relevance from which a row is a positive.

    Notes
    -----
    The gradient holds the weights fixed. The authors' code holds only b fixed. The derivative of a
    weight, however, pushes down positives with a large loss: at equal scores and with temperatures
    of 1, all positives of a group with 5 or more rows. Their scores are cosines, for which the
    weights change little.

    With fixed weights (`hold`), the loss is convex and smooth. It is unchanged by a shift of a
    group's scores. A group's value grows with its number of positives, as in `softmax`. A group
    of one class is left out. A value beyond the range of float64 is inf. Cost: two exponentials per
    row, and a pass for the k-th largest score.

    References
    ----------
    yang2025.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = TopSoftmax(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.zeros(2), target)
    >>> bool(np.isclose(values[0], 0.5 * np.log(2.0))), grad.tolist()
    (True, [-0.25, 0.25])
    """

    k: int
    temperature: float = 1.0
    weight_temperature: float = 1.0
    min_relevance: float = 1.0

    constraints: ClassVar[_check.Constraints] = {
        "k": _check.cutoff,
        "weight_temperature": _check.positive,
    }

    name: ClassVar[str] = "sl"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    reads_grades: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True
    head_cutoff: ClassVar[bool] = True
    reweights: ClassVar[bool] = True

    def hold(self, scores: PerRow, target: TopSoftmaxTarget) -> TopSoftmaxTarget:
        """Return the target with the weights of these scores."""
        checked = inputs.scores_of(scores, target.groups)
        return replace(target, weights=self._weights(checked, target))

    def _needs(self) -> str:
        return f"a positive (relevance >= {self.min_relevance:g}) and a negative"

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> TopSoftmaxTarget:
        positive = grades >= self.min_relevance
        n_pos = np.bincount(groups.index, positive, groups.n_groups)
        defined = (n_pos > 0) & (n_pos < groups.sizes)
        share = inputs.group_shares(weights, groups, self.name, defined)
        return TopSoftmaxTarget(groups, share, defined, inputs.rows_by_group(groups), positive)

    def _weights(self, scores: PerRow, target: TopSoftmaxTarget) -> tuple[PerRow, PerGroup]:
        from podium.losses.listwise_kernels import top_weights

        truth, total = np.zeros(scores.size), np.zeros(target.groups.n_groups)
        lists = target.rows, target.groups.offsets, target.positive, target.defined
        k = min(self.k, int(target.groups.sizes.max(initial=1)))
        top_weights(scores, *lists, k, self.weight_temperature, truth, total)
        return truth, total

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import softmax_entropy

        weights = self._weights(scores, target) if target.weights is None else target.weights
        with np.errstate(over="ignore"):
            scaled = np.clip(scores / self.temperature, -_LARGEST, _LARGEST)
        lists, count = (target.rows, target.groups.offsets), count_of(target)
        softmax_entropy(scaled, *lists, *weights, target.share, count, out)
        out[1][:] /= self.temperature
        out[2][:] /= self.temperature**2
