"""What losses of whole groups share: how a pass over all groups becomes their protocol."""

from __future__ import annotations

import abc
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups
from podium.losses import inputs
from podium.types import Mask, PerGroup, PerRow

_EMPTY: NDArray[np.float64] = np.empty(0)


class GroupTarget(Protocol):
    """What the target of a loss of whole groups holds."""

    @property
    def groups(self) -> Groups:
        """The groups it was prepared for."""
        ...

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        ...


class ByGroup(abc.ABC):
    """A loss whose `_run` adds values, gradient and curvature of all groups in one pass."""

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the (sub)gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite, in the caller's row order.
        target : Any
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            nan for a group with one grade or one row. Weights scale them, so that the mean of
            the defined ones is the weighted mean.
        grad : float64, (n_rows,)
            0 on rows of a group that is left out, or has no weight.
        """
        checked = inputs.scores_of(scores, target.groups)
        values, grad = _zeros(target), np.zeros(checked.size)
        self._run(checked, target, values, grad, _EMPTY)
        return values, grad

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a positive second-order bound by row: never below the Hessian, as a matrix."""
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: Any
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three from one pass, for boosting."""
        checked = inputs.scores_of(scores, target.groups)
        values, grad, bound = _zeros(target), np.zeros(checked.size), np.zeros(checked.size)
        self._run(checked, target, values, grad, bound)
        return values, grad, np.maximum(bound, inputs.LEAST_CURVATURE / count_of(target))

    @abc.abstractmethod
    def _run(
        self, scores: PerRow, target: Any, values: PerGroup, grad: PerRow, curvature: PerRow
    ) -> None: ...


def count_of(target: GroupTarget) -> int:
    """Return how many groups the mean is over, at least 1."""
    return max(1, int(np.count_nonzero(target.defined)))


def _zeros(target: GroupTarget) -> PerGroup:
    return np.where(target.defined, 0.0, np.nan)
