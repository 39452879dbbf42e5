"""Real rows of a batch, their groups, and conversion of tensors to arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.types import RowIndex


@dataclass(frozen=True, eq=False)
class Layout:
    """The real rows of a batch, and their groups."""

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
