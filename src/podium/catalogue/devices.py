"""The choice of a device of PyTorch, and scores in the form of tensors.

Importing this module does not import torch.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from podium import _check
from podium.catalogue.device_scores import Device, DeviceScores, GivenScores, ProductScores
from podium.catalogue.exact import Ints, Products
from podium.catalogue.source import ScoreFunction, read_factors, read_function
from podium.errors import ArgumentError, MissingExtraError, arg


def read_on_device(scores: Any, device: str | None) -> DeviceScores | None:
    """Return scores that a device of torch computes, or None for NumPy.

    Parameters
    ----------
    scores : scores of any form
        See `podium.catalogue.rank_blocks`. Tensors, and arrays with DLPack's protocol, are read
        where they are, without a copy.
    device : str, optional
        A device of torch, such as "cuda" or "cuda:1"; "auto" for "cuda" if torch finds one; None
        for the device of tensors, and NumPy for all other scores.
    """
    parts = cast("tuple[Any, ...]", scores if isinstance(scores, tuple) else (scores,))
    if not any(_is_tensor(part) for part in parts) and not _needs_torch(device):
        return None
    torch = _check.extra("torch", "torch", f"device={device!r}" if device else "A tensor")
    place = Device(_device(torch, device, parts))
    if isinstance(scores, ScoreFunction):
        return _function(torch, place, scores)
    if len(parts) == 2:
        return _products(torch, place, *parts)
    matrix = _tensor(torch, scores, "scores").to(place.place)
    kind = np.dtype(str(matrix.dtype).removeprefix("torch."))

    def block(users: Ints) -> Any:
        return matrix[int(users[0]) : int(users[-1]) + 1]

    n_users, n_items = matrix.shape
    return GivenScores(place, n_users, n_items, kind, block)


def _is_tensor(scores: Any) -> bool:
    return hasattr(scores, "__dlpack__") and not isinstance(scores, np.ndarray)


def _needs_torch(device: str | None) -> bool:
    if device in (None, "cpu"):
        return False
    if device != "auto":
        return True
    try:
        return bool(_check.extra("torch", "torch", "A GPU").cuda.is_available())
    except MissingExtraError:
        return False


def _device(torch: Any, name: str | None, parts: tuple[Any, ...]) -> Any:
    """Return the device to compute on."""
    if name is None:
        return next(_tensor(torch, part, "scores").device for part in parts if _is_tensor(part))
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(name)
    except RuntimeError:
        raise ArgumentError(
            f"device must be 'cpu', 'auto' or a device of torch such as 'cuda', got {name!r}."
        ) from None
    try:
        return torch.empty(0, device=place).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ArgumentError(
            f"torch cannot use {arg.device(name)}: {reason}. Pass 'cpu', or 'auto' for a GPU if "
            "there is one."
        ) from error


def _tensor(torch: Any, values: Any, name: str) -> Any:
    """Return a floating-point matrix as a tensor, without a copy if possible."""
    if isinstance(values, torch.Tensor):
        tensor = values.detach()
    else:
        tensor = torch.from_dlpack(values) if _is_tensor(values) else torch.tensor(values)
    if tensor.ndim != 2:
        raise ArgumentError(f"{name} must have two dimensions, got shape {tuple(tensor.shape)}.")
    if not tensor.is_floating_point():
        raise ArgumentError(
            f"{name} must be floating-point numbers on a device, got {tensor.dtype}. Convert them, "
            "for example to float64."
        )
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _function(torch: Any, place: Device, scores: ScoreFunction) -> GivenScores:
    """Read a function, whose blocks are checked when they are computed."""
    source = read_function(scores)

    def block(users: Ints) -> Any:
        values = _tensor(torch, scores.function(users), "scores").to(place.place)
        source.check(tuple(values.shape), str(values.dtype).removeprefix("torch."), users.size)
        return values.double() if source.dtype == np.float64 else values

    return GivenScores(place, source.n_users, source.n_items, source.dtype, block)


def _products(torch: Any, place: Device, user_factors: Any, item_factors: Any) -> ProductScores:
    """Check two factors, and copy them to the device and to the CPU where needed."""
    users = _tensor(torch, user_factors, "user_factors")
    items = _tensor(torch, item_factors, "item_factors")
    source = read_factors(users.cpu().numpy(), items.cpu().numpy())
    products = Products.of(source.users, source.items)
    if products.could_overflow:
        raise ArgumentError(
            "scores must be finite, but products of these factors can be too large for "
            f"{source.dtype}. Pass smaller factors, or float64."
        )
    kind = torch.float32 if source.dtype == np.float32 else torch.float64
    return ProductScores(
        place,
        source.n_users,
        source.n_items,
        products,
        users.to(place.place, kind),
        items.to(place.place, kind),
    )
