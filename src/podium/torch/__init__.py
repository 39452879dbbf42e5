"""Losses of podium for any model of torch: `as_torch` makes one that autograd can go through.

Importing this module does not load torch; `as_torch` does. It needs the extra ``podium[torch]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, as_loss
from podium.torch._autograd import group_values
from podium.torch._rows import Layout, numbers, torch_module
from podium.types import RowIndex

__all__ = ["PreparedLoss", "TorchLoss", "as_torch"]


def as_torch(loss: Loss | str, *, one_group: bool = False) -> TorchLoss:
    """Make a loss that takes torch's scores, and through which torch's gradients go back.

    Parameters
    ----------
    loss : Loss or str
        A loss, or its name as ``"listmle@10"``.
    one_group : bool
        Take all rows as one group where neither qid nor lists arrive, instead of refusing.

    Returns
    -------
    TorchLoss
        To be called with scores and relevances; or prepared once for relevances that stay, and
        called many times.

    Raises
    ------
    ArgumentError
        For what is no loss, or an unknown name.
    MissingExtraError
        Without the extra ``podium[torch]``.

    Notes
    -----
    Scores may be of any floating type and on any device. The loss is computed in float64 on the
    CPU, one thread, and its gradient comes back in the type and on the device of the scores; a
    value has the type of the scores, but at least float32. First derivatives only.

    Examples
    --------
    Two lists of three and two rows, as one tensor each:

    >>> import torch
    >>> loss = as_torch("pap-ramp@1")
    >>> scores = torch.tensor([0.5, 0.0, 2.0, 3.0, 0.0], requires_grad=True)
    >>> value = loss(scores, torch.tensor([1, 0, 0, 1, 0]), qid=[7, 7, 7, 8, 8])
    >>> value.backward()
    >>> value.item(), scores.grad.tolist()
    (1.25, [-0.5, 0.0, 0.5, 0.0, 0.0])

    Or padded, with a mask of what is real; padding gets no gradient, whatever its score:

    >>> scores = torch.tensor([[0.5, 0.0, 2.0], [3.0, 0.0, 99.0]])
    >>> mask = torch.tensor([[True, True, True], [True, True, False]])
    >>> loss(scores, torch.tensor([[1, 0, 0], [1, 0, 0]]), mask=mask).item()
    1.25
    """
    torch_module()
    return TorchLoss(as_loss(loss), _check.flag(one_group, "one_group"))


@dataclass(frozen=True)
class TorchLoss:
    """A loss of podium as a function of torch's scores; made by `as_torch`."""

    loss: Loss
    one_group: bool = False

    def prepare(
        self,
        relevance: Any,
        qid: Any = None,
        *,
        mask: Any = None,
        weights: Any = None,
        rng: np.random.Generator | None = None,
        keys: Any = None,
    ) -> PreparedLoss:
        """Do what the scores do not change, once, for relevances that stay.

        Parameters
        ----------
        relevance : (n_rows,) or (n_lists, n_items)
            Tensor or array, >= 0: rows with their `qid`, or padded lists with a `mask`.
        qid : (n_rows,), optional
            Group of each row, integers or strings, in any order. For rows, a loss that reads
            groups needs it, unless one_group=True.
        mask : bool, (n_lists, n_items), optional
            True where a row is real; without it all are. Padding is left out before anything
            is computed, so it enters no sum, and may hold anything.
        weights : shaped as relevance, optional
            As the loss takes them; what lies in padding is not read.
        rng : numpy.random.Generator, optional
            For a loss that puts tied rows in a drawn order; others do not draw from it. Without
            it a loss that draws once draws from seed 0, and one that draws anew each time is
            refused.
        keys : shaped as relevance, with a last axis of n_orders, optional
            Instead of rng: these numbers as the order of tied rows, from the loss's `draw`, so
            that a list keeps its order whatever batch it is in.

        Raises
        ------
        ArgumentError
            For shapes that do not fit, qid with lists, a mask without, rows of a loss that reads
            groups without qid, or what the loss refuses.
        """
        grades = numbers(relevance, "relevance")
        if grades.ndim == 1 and qid is None and mask is None:
            self._require_one_group()
        layout = Layout.of(grades, qid, mask)
        given = self._draws(rng, keys, layout)
        target = self.loss.prepare(
            layout.real(grades, "relevance"),
            layout.groups,
            weights=None
            if weights is None
            else layout.real(numbers(weights, "weights"), "weights"),
            **given,
        )
        return PreparedLoss(self.loss, target, layout.groups, layout.shape, layout.rows)

    def __call__(self, scores: Any, relevance: Any, qid: Any = None, **given: Any) -> Any:
        """Return the mean value of one batch, a tensor without axes.

        `given` is what `prepare` takes besides: mask, weights, rng and keys. Prepares at each
        call and keeps nothing.
        """
        return self.prepare(relevance, qid, **given)(scores)

    def per_group(self, scores: Any, relevance: Any, qid: Any = None, **given: Any) -> Any:
        """Return each group's value, a tensor of (n_groups,); see `PreparedLoss.per_group`."""
        return self.prepare(relevance, qid, **given).per_group(scores)

    def _require_one_group(self) -> None:
        if self.loss.reads_groups and not self.one_group:
            raise ArgumentError(
                f"qid is missing, and {self.loss.name} reads groups. Pass qid, or lists of two "
                "axes, or make the loss with as_torch(…, one_group=True) if all rows are one list."
            )

    def _draws(self, rng: np.random.Generator | None, keys: Any, layout: Layout) -> dict[str, Any]:
        name = self.loss.name
        if keys is not None:
            if rng is not None:
                raise ArgumentError("rng and keys were both given: keys are the draw. Keep one.")
            if not self.loss.draws:
                raise ArgumentError(f"keys were given, and {name} draws no order. Leave keys out.")
            return {"keys": layout.real(numbers(keys, "keys"), "keys")}
        if rng is None and self.loss.redraws:
            raise ArgumentError(
                f"rng must be given for {name} with ties='redrawn', and be the same generator in "
                "each call: rng = numpy.random.default_rng(0) before the loop."
            )
        return {"rng": rng}


@dataclass(frozen=True, eq=False)
class PreparedLoss:
    """A loss for given relevances, to be called with scores of the same shape as often as needed.

    Attributes
    ----------
    loss : Loss
    target : Any
        What ``loss.prepare`` returned.
    groups : Groups
        Of the rows that are real; of padded lists, one a list, and an empty one where all is
        padding.
    shape : tuple of int
        Of relevance and scores.
    rows : int64, (n_real,), or None
        Positions of the real rows in the flat scores; None where all are.
    """

    loss: Loss
    target: Any
    groups: Groups
    shape: tuple[int, ...]
    rows: RowIndex | None

    def __call__(self, scores: Any) -> Any:
        """Return the mean of the values of the groups on which the loss is defined.

        Parameters
        ----------
        scores : floating tensor, shaped as the relevance

        Returns
        -------
        tensor, ()
            On the scores' device; nan, with a gradient of 0, where it is defined on none.

        Raises
        ------
        ArgumentError
            For another shape or type, or a real row whose score is not finite.
        """
        return group_values().apply(self._checked(scores), self)[0]

    def per_group(self, scores: Any) -> Any:
        """Return each group's value: (n_groups,) by rising qid, or (n_lists,).

        nan, with a gradient of 0, where the loss is not defined.
        """
        return group_values().apply(self._checked(scores), self)[1]

    def _checked(self, scores: Any) -> Any:
        torch = torch_module()
        if not isinstance(scores, torch.Tensor) or not scores.is_floating_point():
            kind = str(getattr(scores, "dtype", type(scores).__name__))
            raise ArgumentError(f"scores must be a tensor of a floating type, got {kind}.")
        if tuple(scores.shape) != self.shape:
            raise ArgumentError(
                f"scores and relevance must have the same shape, got {tuple(scores.shape)} and "
                f"{self.shape}."
            )
        return scores
