"""A loss of podium as a function of torch's autograd."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.torch._rows import numbers, torch_module

if TYPE_CHECKING:
    from podium.torch._losses import PreparedLoss


def _evaluated(
    prepared: PreparedLoss, scores: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the value of each group, and the derivative of a row's group value by its score."""
    flat = numbers(scores, "scores").reshape(-1)
    real = flat if prepared.rows is None else flat[prepared.rows]
    values, by_row = prepared.loss.value_and_grad(real, prepared.target)
    return values, by_row * max(1, int(np.count_nonzero(~np.isnan(values))))


def _padded(prepared: PreparedLoss, by_row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers of real rows in the shape of the scores, with 0 in padding."""
    if prepared.rows is None:
        return by_row.reshape(prepared.shape)
    placed = np.zeros(int(np.prod(prepared.shape)))
    placed[prepared.rows] = by_row
    return placed.reshape(prepared.shape)


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
            values, by_row = _evaluated(prepared, scores)
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
            placed = _padded(prepared, ctx.by_row * by_group[prepared.groups.index])
            grad = torch.tensor(placed, dtype=scores.dtype, device=scores.device)
            return FirstDerivativeOnly.apply(grad, scores), None

    return GroupValues
