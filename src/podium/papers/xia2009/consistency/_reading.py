"""A loss on all permutations of n objects at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, as_loss
from podium.papers.xia2009.consistency import _orders
from podium.types import PerRow

Scores = NDArray[np.float64]  # (n,)


class Reading:
    """What a loss says of each permutation: the object at the top has relevance n, the last 1."""

    def __init__(self, loss: Loss | str, n: int) -> None:
        self.loss, self.n = as_loss(loss), n
        relevance = (n - _orders.positions(n)).astype(np.float64)
        groups = Groups.from_sizes(np.full(len(relevance), n))
        self._target: Any = self.loss.prepare(relevance.ravel(), groups)

    def values_and_gradients(self, scores: Scores) -> tuple[NDArray[np.float64], PerRow]:
        """Return the value of every permutation, (n!,), and each one's gradient, (n!, n)."""
        n_orders = len(_orders.permutations(self.n))
        values, grad = self.loss.value_and_grad(np.tile(scores, n_orders), self._target)
        if np.isnan(values).any():
            raise ArgumentError(
                f"loss {self.loss!r} is undefined on permutations of {self.n} objects, whose "
                f"relevances are {self.n} to 1. Check its parameters."
            )
        return values, grad.reshape(n_orders, self.n) * n_orders

    @cached_property
    def is_scale_free(self) -> bool:
        """Whether the loss reads the direction of the scores alone, tried at one vector."""
        scores = np.sqrt(np.arange(1.0, self.n + 1)) - 2.0
        here, there = (self.values_and_gradients(c * scores)[0] for c in (1.0, 3.0))
        return bool(np.allclose(here, there, rtol=1e-12, atol=1e-12))
