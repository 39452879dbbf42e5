"""Scores on a device of PyTorch: the same ranks and lists as by NumPy.

A device computes matrix products, selects and counts. What its rounding could change is computed
again by `podium.catalogue.counting`, on the CPU and in a fixed order. Importing
this module does not import torch.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.catalogue import _counting_kernels
from podium.catalogue._counting_kernels import Targets
from podium.catalogue._kernels import Tie
from podium.catalogue.counting import Block, Floats, Ints, Table, refuse_score
from podium.catalogue.source import (
    SPARE,
    WIDER,
    Factors,
    Proposed,
    ScoreFunction,
    read_factors,
    read_function,
)
from podium.catalogue.sparse import Rows
from podium.errors import ArgumentError, MissingExtraError, arg
from podium.types import PerRow

Result = TypeVar("Result")

_SCORES = 2**26  # scores of a tile, unless the device has too little memory
_LEAST = 2**10  # scores of a tile for which every device has enough memory
_USERS = 2**12  # users per block of products


@dataclass(eq=False)
class Device:
    """A device of PyTorch.

    Attributes
    ----------
    place : torch.device
    n_scores : int
        The number of scores of a tile. It is halved when the device's memory is full.
    """

    place: Any
    n_scores: int = _SCORES

    def tensor(self, values: NDArray[Any]) -> Any:
        """Copy an array to the device."""
        import torch

        return torch.as_tensor(values, device=self.place)

    def best(self, scores: Any, width: int) -> Proposed:
        """Return the best items of users, best first, equal scores in any order."""
        import torch

        top = torch.topk(scores, min(width, scores.shape[1]), dim=1)
        best, items = top.values.cpu().numpy(), top.indices.cpu().numpy()
        missing = ((0, 0), (0, width - best.shape[1]))
        items = np.pad(np.where(np.isneginf(best), -1, items), missing, constant_values=-1)
        return Proposed(items, np.pad(best, missing, constant_values=-np.inf))

    def hide(self, scores: Any, seen: Rows) -> None:
        """Give seen items the score -inf."""
        if seen.items.size:
            scores[self.pairs(seen)] = -np.inf

    def pairs(self, rows: Rows) -> tuple[Any, Any]:
        """Return the indices of pairs of a user and an item."""
        return self.tensor(rows.users), self.tensor(rows.items)

    def within_memory(self, compute: Callable[[], Result]) -> Result:
        """Compute with smaller and smaller tiles until the device has enough memory."""
        import torch

        while True:
            try:
                return compute()
            except torch.OutOfMemoryError as error:
                if self.n_scores <= _LEAST:
                    raise ArgumentError(
                        f"{self.place} has too little memory. Free memory on it, or pass "
                        f"{arg.device('cpu')}."
                    ) from error
                self.n_scores //= 2


@dataclass(frozen=True, eq=False)
class DeviceScores(Table):
    """Scores of n_users x n_items on a device, which has threads of its own."""

    device: Device
    n_users: int
    n_items: int

    @property
    def block_size(self) -> int:
        """The number of users per block."""
        return max(1, min(self.device.n_scores // max(self.n_items, 1), _USERS))


@dataclass(frozen=True, eq=False)
class DeviceBlock(Block):
    """The scores of a block of users on a device."""

    device: Device

    @abc.abstractmethod
    def tiles(self, seen: Rows) -> Iterator[tuple[int, Any]]:
        """Yield the first item of each tile, and its scores; seen items have the score -inf."""

    def count(self, targets: Targets, seen: Rows, tie: Tie, most: float, above: PerRow) -> None:
        """Add the number of items that rank above each target to `above`."""
        above += self.device.within_memory(lambda: self._count(targets, seen, tie))

    def _count(self, targets: Targets, seen: Rows, tie: Tie) -> PerRow:
        above = np.zeros(targets.item.size)
        n_users: int = targets.n_open.size
        user: Ints = np.repeat(np.arange(n_users), np.diff(targets.offsets))
        for first, scores in self.tiles(seen):
            step = max(1, self.device.n_scores // scores.shape[1])
            for start in range(0, user.size, step):
                part = slice(start, start + step)
                counts, place, item = self._compare(scores, user[part], targets, part)
                above[part] += counts
                place, item = place + start, item + first
                exact, _ = self.scores(user[place], item)
                _counting_kernels.count_near(place, user[place], item, exact, targets, tie, above)
        return above

    def _compare(
        self, scores: Any, user: Ints, targets: Targets, part: slice
    ) -> tuple[Ints, Ints, Ints]:
        """Count the scores above some targets; return the counts, and the pairs that are near."""
        of_targets = scores[self.device.tensor(user)]
        low, high = (self.device.tensor(limit[part, None]) for limit in (targets.low, targets.high))
        is_above = of_targets > high
        near = ((of_targets >= low) & ~is_above).nonzero().cpu().numpy()
        place, item = np.ascontiguousarray(near.T)
        return is_above.sum(1).cpu().numpy(), place, item


@dataclass(frozen=True, eq=False)
class ProductScores(DeviceScores, DeviceBlock):
    """Products of factors, which both the device and the CPU hold."""

    factors: Factors
    users: Any
    items: Any

    @property
    def block_size(self) -> int:
        return _USERS

    def block(self, first: int, n_users: int) -> ProductScores:
        """Return the products of the users from `first`."""
        users, factors = self.users[first : first + n_users], self.factors.block(first, n_users)
        return replace(self, n_users=n_users, factors=factors, users=users)

    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        """Return the exact scores of pairs, and the slack of their users."""
        return self.factors.scores(rows, items)

    def tiles(self, seen: Rows) -> Iterator[tuple[int, Any]]:
        """Yield the first item of each tile, and its scores; seen items have the score -inf."""
        step = max(1, self.device.n_scores // self.n_users)
        for start in range(0, self.n_items, step):
            scores = product(self.users, self.items[start : start + step])
            self.device.hide(scores, seen.of_items(start, start + step))
            yield start, scores

    def best(self, k: int, hidden: Rows) -> tuple[Ints, Floats]:
        """Let the device propose items, and compute their exact scores."""
        # A device orders equal scores in any way. With a slack of 0, they would count as settled.
        slack = np.maximum(self.factors.slack, np.finfo(self.factors.dtype).tiny)
        return replace(self.factors, slack=slack).best_of(
            lambda rows, width: self.device.within_memory(
                lambda: self._propose(rows, width, hidden.of(rows))
            ),
            k,
        )

    def _propose(self, rows: Ints, width: int, seen: Rows) -> Proposed:
        step = max(1, self.device.n_scores // max(self.n_items, 1))
        parts: list[Proposed] = []
        for start in range(0, rows.size, step):
            part = rows[start : start + step]
            scores = product(self.users[self.device.tensor(part)], self.items)
            self.device.hide(scores, seen.block(start, start + part.size))
            parts.append(self.device.best(scores, width))
        return Proposed(
            np.concatenate([part.items for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class GivenScores(DeviceScores):
    """Scores that a matrix has or a function computes, which are exact as they are.

    Attributes
    ----------
    dtype : float32 or float64
        The type of the scores.
    function : (users) -> tensor, (n, n_items)
        A function of the row numbers of users, which are consecutive.
    """

    dtype: np.dtype[Any]
    function: Callable[[Ints], Any]

    def block(self, first: int, n_users: int) -> _GivenBlock:
        """Return the scores of the users from `first`."""
        scores = self.device.within_memory(lambda: self.function(np.arange(first, first + n_users)))
        return _GivenBlock(self.device, first, scores)

    def best(self, k: int, hidden: Rows) -> tuple[Ints, Floats]:
        """Select the items of one block of users at a time."""
        items: Ints = np.full((self.n_users, k), -1)
        scores = np.full((self.n_users, k), -np.inf, self.dtype)
        for start in range(0, self.n_users, self.block_size):
            stop = min(start + self.block_size, self.n_users)
            block = self.block(start, stop - start)
            items[start:stop], scores[start:stop] = block.best(k, hidden.block(start, stop))
        return items, scores


@dataclass(frozen=True, eq=False)
class _GivenBlock(DeviceBlock):
    first: int
    values: Any

    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        pairs = self.device.tensor(rows), self.device.tensor(items)
        scores = self.values[pairs].cpu().numpy()
        return scores, np.zeros_like(scores)

    def tiles(self, seen: Rows) -> Iterator[tuple[int, Any]]:
        yield 0, self._visible(seen)

    def best(self, k: int, seen: Rows) -> Proposed:
        """Return the k best items, among equal scores the lower item number first."""
        scores, width = self._visible(seen), k + SPARE
        proposed = self.device.best(scores, width)
        while width <= scores.shape[1] and not _are_certain(proposed.scores, k):
            width *= WIDER
            proposed = self.device.best(scores, width)
        order = np.lexsort((proposed.items, -proposed.scores))[:, :k]
        return Proposed(
            np.take_along_axis(proposed.items, order, 1),
            np.take_along_axis(proposed.scores, order, 1),
        )

    def _visible(self, seen: Rows) -> Any:
        """Return scores in which seen items have -inf, if all others are finite."""
        scores = self.values.clone()
        self.device.hide(scores, seen)
        is_odd = ~scores.isfinite()
        if seen.items.size:
            is_odd[self.device.pairs(seen)] = False
        if bool(is_odd.any()):
            user, item = (int(place) for place in is_odd.nonzero()[0])
            refuse_score(self.first + user, item, float(scores[user, item]))
        return scores


def _are_certain(best: Floats, k: int) -> bool:
    """Return whether each user's k-th best score is above the last one, or no item is missing."""
    return bool(((best[:, k - 1] > best[:, -1]) | np.isneginf(best[:, -1])).all())


def product(users: Any, items: Any) -> Any:
    """Return the product of factors, computed in their type and in no shorter one."""
    import torch

    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        return users @ items.T
    finally:
        torch.set_float32_matmul_precision(precision)


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
    factors = read_factors(users.cpu().numpy(), items.cpu().numpy())
    kind = torch.float32 if factors.dtype == np.float32 else torch.float64
    on_device = users.to(place.place, kind), items.to(place.place, kind)
    return ProductScores(place, *factors.shape, factors, *on_device)
