"""Losses of podium as functions of torch scores: of one batch, or prepared for given labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss
from podium.torch._autograd import group_values
from podium.torch._rows import Layout, numbers, torch_module
from podium.types import RowIndex


@dataclass(frozen=True)
class TorchLoss:
    """A loss of podium as a function of torch scores, created by `as_torch`."""

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
        """Return the loss for given relevances, after the work that does not depend on scores.

        Parameters
        ----------
        relevance : (n_rows,) or (n_lists, n_items)
            A tensor or array, >= 0: rows with their `qid`, or padded lists with a `mask`.
        qid : (n_rows,), optional
            The group of each row, as integers or strings, in any order. It is required for rows
            if the loss uses groups, unless one_group=True.
        mask : bool, (n_lists, n_items), optional
            True for real rows. By default all rows are real. Padding is removed before any
            computation, so that it enters no sum and may hold any value.
        weights : same shape as relevance, optional
            The weights in the form that the loss accepts. Values in padding are not used.
        rng : numpy.random.Generator, optional
            The generator of a loss that draws an order of tied rows; other losses do not draw
            from it. Without it, a loss that draws once uses seed 0, and a loss that draws again
            each time raises.
        keys : same shape as relevance, with a last axis of n_orders, optional
            Numbers that order tied rows, from the loss's `draw`, instead of rng. With them, a
            list keeps its order in every batch.

        Returns
        -------
        PreparedLoss
            A callable of scores.

        Raises
        ------
        ArgumentError
            If shapes do not fit, qid is given with lists, mask is given with rows, qid is
            missing for rows and the loss uses groups, or the loss refuses the values.
        """
        grades = numbers(relevance, "relevance")
        if grades.ndim == 1 and qid is None and mask is None:
            self._require_one_group()
        layout = Layout.of(grades, qid, mask)
        draw_arguments = self._draws(rng, keys, layout)
        target = self.loss.prepare(
            layout.real(grades, "relevance"),
            layout.groups,
            weights=None
            if weights is None
            else layout.real(numbers(weights, "weights"), "weights"),
            **draw_arguments,
        )
        return PreparedLoss(self.loss, target, layout.groups, layout.shape, layout.rows)

    def __call__(self, scores: Any, relevance: Any, qid: Any = None, **options: Any) -> Any:
        """Return the mean value of one batch, a tensor without axes.

        `options` are the other arguments of `prepare`: mask, weights, rng and keys. The loss is
        prepared at each call, and nothing is kept.
        """
        return self.prepare(relevance, qid, **options)(scores)

    def per_group(self, scores: Any, relevance: Any, qid: Any = None, **options: Any) -> Any:
        """Return the value of each group, shape (n_groups,); see `PreparedLoss.per_group`."""
        return self.prepare(relevance, qid, **options).per_group(scores)

    def _require_one_group(self) -> None:
        if self.loss.reads_groups and not self.one_group:
            raise ArgumentError(
                f"qid is missing, but {self.loss.name} needs groups. Pass qid, or padded lists "
                "with two axes. If all rows are one list, pass one_group=True to as_torch."
            )

    def _draws(self, rng: np.random.Generator | None, keys: Any, layout: Layout) -> dict[str, Any]:
        name = self.loss.name
        if keys is not None:
            if rng is not None:
                raise ArgumentError("rng and keys were both given. Pass one of them.")
            if not self.loss.draws:
                raise ArgumentError(f"keys were given, but {name} needs none. Leave keys out.")
            return {"keys": layout.real(numbers(keys, "keys"), "keys")}
        if rng is None and self.loss.redraws:
            raise ArgumentError(
                f"rng is required for {name} with ties='redrawn'. Create one generator before the "
                "loop, rng = numpy.random.default_rng(0), and pass it in each call."
            )
        return {"rng": rng}


@dataclass(frozen=True, eq=False)
class PreparedLoss:
    """A loss for given relevances: a callable of scores of the same shape.

    Attributes
    ----------
    loss : Loss
        The loss.
    target : Any
        The result of ``loss.prepare``.
    groups : Groups
        The groups of the real rows. Each padded list is a group, which is empty if the list
        consists of padding only.
    shape : tuple of int
        The shape of relevance and scores.
    rows : int64, (n_real,), or None
        The positions of the real rows in the flat scores; None if all rows are real.
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
        scores : floating tensor, same shape as the relevance
            The scores of the rows.

        Returns
        -------
        tensor, ()
            The mean, on the scores' device; nan, with a gradient of 0, if the loss is defined on
            no group.

        Raises
        ------
        ArgumentError
            If the shape or type differs, or the score of a real row is not finite.
        """
        return group_values().apply(self._checked(scores), self)[0]

    def per_group(self, scores: Any) -> Any:
        """Return the value of each group: (n_groups,) by rising qid, or (n_lists,).

        The value is nan, with a gradient of 0, if the loss is undefined on the group.
        """
        return group_values().apply(self._checked(scores), self)[1]

    def _checked(self, scores: Any) -> Any:
        torch = torch_module()
        if not isinstance(scores, torch.Tensor) or not scores.is_floating_point():
            is_tensor = isinstance(scores, torch.Tensor)
            kind = str(scores.dtype) if is_tensor else type(scores).__name__
            raise ArgumentError(f"scores must be a floating-point tensor, got {kind}.")
        if tuple(scores.shape) != self.shape:
            raise ArgumentError(
                f"scores and relevance must have the same shape, got {tuple(scores.shape)} and "
                f"{self.shape}."
            )
        return scores
