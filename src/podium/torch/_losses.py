"""Losses of podium as functions of torch scores: of one batch, or prepared for given labels."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss
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
            from it. Without it, the loss uses seed 0.
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
        is_one_list = grades.ndim == 1 and qid is None and mask is None
        if is_one_list and self.loss.reads_groups and not self.one_group:
            raise ArgumentError(
                f"qid is missing, but {self.loss.name} needs groups. Pass qid, or padded lists "
                "with two axes. If all rows are one list, pass one_group=True to as_torch."
            )
        if keys is not None and (rng is not None or not self.loss.draws):
            raise ArgumentError("keys are for a loss that draws, without rng. Leave them out.")
        layout = Layout.of(grades, qid, mask)
        options: dict[str, Any] = {
            name: layout.real(numbers(values, name), name)
            for name, values in (("weights", weights), ("keys", keys))
            if values is not None
        }
        target = self.loss.prepare(
            layout.real(grades, "relevance"), layout.groups, rng=rng, **options
        )
        return PreparedLoss(self.loss, target, layout)

    def __call__(self, scores: Any, relevance: Any, qid: Any = None, **options: Any) -> Any:
        """Return the mean value of one batch, a tensor without axes.

        `options` are the other arguments of `prepare`: mask, weights, rng and keys. The loss is
        prepared at each call, and nothing is kept.
        """
        return self.prepare(relevance, qid, **options)(scores)

    def per_group(self, scores: Any, relevance: Any, qid: Any = None, **options: Any) -> Any:
        """Return the value of each group, shape (n_groups,); see `PreparedLoss.per_group`."""
        return self.prepare(relevance, qid, **options).per_group(scores)


@dataclass(frozen=True, eq=False)
class PreparedLoss:
    """A loss for given relevances: a callable of scores of the same shape.

    Attributes
    ----------
    loss : Loss
        The loss.
    target : Any
        The result of ``loss.prepare``.
    layout : Layout
        The real rows and their groups.
    """

    loss: Loss
    target: Any
    layout: Layout

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
        return scores


@functools.cache
def group_values() -> Any:
    """Return a torch Function of a loss, a class that can only be created with torch loaded."""
    torch = torch_module()

    class FirstDerivativeOnly(torch.autograd.Function):
        @staticmethod
        def forward(_ctx: Any, grad: Any, _scores: Any) -> Any:
            return grad.clone()

        @staticmethod
        def backward(_ctx: Any, *_: Any) -> Any:
            raise RuntimeError(
                "podium's losses have first derivatives only, but this backward pass needs a "
                "second one. Leave create_graph=True out, or detach the first gradient."
            )

    class GroupValues(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, scores: Any, prepared: PreparedLoss) -> tuple[Any, Any]:
            real = prepared.layout.real(numbers(scores, "scores"), "scores")
            values, by_row = prepared.loss.value_and_grad(real, prepared.target)
            # The derivative of a mean becomes that of a row's group value.
            by_row = by_row * max(1, int(np.count_nonzero(~np.isnan(values))))
            ctx.save_for_backward(scores)
            ctx.prepared, ctx.values, ctx.by_row = prepared, values, by_row
            dtype = torch.promote_types(scores.dtype, torch.float32)
            mean = np.nanmean(values) if not np.isnan(values).all() else np.nan
            tensor_options = {"dtype": dtype, "device": scores.device}
            return torch.tensor(mean, **tensor_options), torch.tensor(values, **tensor_options)

        @staticmethod
        def backward(ctx: Any, by_mean: Any, by_value: Any) -> tuple[Any, None]:
            (scores,), prepared = ctx.saved_tensors, ctx.prepared
            defined = ~np.isnan(ctx.values)
            share = numbers(by_mean, "gradient") / max(1, int(np.count_nonzero(defined)))
            by_group = np.where(defined, share + numbers(by_value, "gradient"), 0.0)
            layout = prepared.layout
            placed = layout.padded(ctx.by_row * by_group[layout.groups.index])
            grad = torch.tensor(placed, dtype=scores.dtype, device=scores.device)
            return FirstDerivativeOnly.apply(grad, scores), None

    return GroupValues


@dataclass(frozen=True, eq=False)
class Layout:
    """The real rows of a batch, and their groups.

    Attributes
    ----------
    shape : tuple of int
        The shape of relevance and scores.
    groups : Groups
        The groups of the real rows. Each padded list is a group, which is empty if the list
        consists of padding only.
    rows : int64, (n_real,), or None
        The positions of the real rows in the flat scores; None if all rows are real.
    """

    shape: tuple[int, ...]
    groups: Groups
    rows: RowIndex | None

    @classmethod
    def of(cls, relevance: NDArray[Any], qid: Any, mask: Any) -> Layout:
        """Return the layout of rows with qid, or of lists with a mask; raise for other input."""
        shape = relevance.shape
        if relevance.ndim == 1 and mask is None:
            if qid is None:
                return cls(shape, Groups.single(relevance.size), None)
            groups = Groups.from_qid(_labels(qid))
            _check.equal_length(relevance=relevance, qid=groups.index)
            return cls(shape, groups, None)
        if relevance.ndim == 2 and qid is None:
            real = np.ones(shape, np.bool_) if mask is None else _mask(mask, shape)
            rows = None if real.all() else np.flatnonzero(real)
            return cls(shape, Groups.from_sizes(real.sum(axis=1)), rows)
        raise ArgumentError(
            "relevance must have one axis (rows, without mask) or two axes (lists and items, "
            f"without qid), got shape {shape}"
            f"{'' if qid is None else ', qid'}{'' if mask is None else ', mask'}."
        )

    def real(self, values: NDArray[Any], name: str) -> NDArray[np.float64]:
        """Return the values of the real rows on one axis; the last axis of keys is preserved."""
        n_axes = len(self.shape)
        if values.shape[:n_axes] != self.shape or values.ndim > n_axes + (name == "keys"):
            raise ArgumentError(
                f"relevance and {name} must have the same shape, got {self.shape} and "
                f"{values.shape}."
            )
        flat = values.reshape(-1, *values.shape[n_axes:])
        real_values = flat if self.rows is None else flat[self.rows]
        return np.ascontiguousarray(real_values, dtype=np.float64)

    def padded(self, by_row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers of real rows in the shape of the scores, with 0 in padding."""
        if self.rows is None:
            return by_row.reshape(self.shape)
        placed = np.zeros(self.shape)
        placed.reshape(-1)[self.rows] = by_row
        return placed


def _mask(mask: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    array = as_array(mask)
    if array.dtype != np.bool_ or array.shape != shape:
        raise ArgumentError(
            f"mask must be a bool array with the shape of relevance, {shape}, and True for real "
            f"rows, got {array.dtype} and {array.shape}."
        )
    return array


def _labels(qid: Any) -> NDArray[Any]:
    return _check.one_dimensional(as_array(qid), "qid")


def numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Return numbers, from an array or a tensor of any type and device, as float64."""
    torch = torch_module()
    is_tensor = isinstance(values, torch.Tensor)
    array = values.detach().to("cpu", torch.float64).numpy() if is_tensor else values
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} must be a tensor or an array of numbers, got {type(values).__name__} that "
            "can't be converted."
        ) from None


def as_array(values: Any) -> NDArray[Any]:
    """Return a tensor or array-like as an array with the same type."""
    is_tensor = isinstance(values, torch_module().Tensor)
    return values.detach().cpu().numpy() if is_tensor else np.asarray(values)


def torch_module() -> Any:
    """Import and return torch; raise with install instructions if it is missing."""
    return _check.extra("torch", "torch", "podium.torch")
