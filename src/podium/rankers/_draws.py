"""Random numbers that a loss needs for its target: keys that put tied rows in an order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.rankers.objective import Labels
from podium.types import Loss

Keys = NDArray[np.float64]  # (n_rows, n_orders), in the caller's row order

_PURPOSE = int.from_bytes(b"ties")  # beyond any pass: other draws use [seed, pass]


def generator(seed: int, number: int = 0) -> np.random.Generator:
    """Return the generator of a seed's draws for a pass; 0 is the whole fit."""
    return np.random.default_rng([seed, _PURPOSE, number])


def draws(loss: Loss) -> bool:
    """Whether a loss's target depends on drawn keys."""
    return bool(getattr(loss, "draws", False))


def redraws(loss: Loss) -> bool:
    """Whether these are to be drawn anew in each pass, so that the objective is random."""
    return bool(getattr(loss, "redraws", False))


def keys_of(loss: Loss, labels: Labels, seed: int, number: int = 0) -> Keys | None:
    """Return the keys of all rows for a pass; None for a loss that draws none.

    A loss that does not draw anew has those of the whole fit in every pass.
    """
    if not draws(loss):
        return None
    drawing: Any = loss
    groups = labels.groups if labels.drawn is None else labels.drawn
    return drawing.draw(groups, generator(seed, number if redraws(loss) else 0))


def given_keys(loss: Loss, labels: Labels, seed: int) -> dict[str, Any]:
    """Return what a loss's `prepare` takes besides for all rows: keys, if it draws."""
    keys = keys_of(loss, labels, seed)
    return {} if keys is None else {"keys": keys}


def reads_groups(loss: Loss) -> bool:
    """Whether the loss's value depends on which rows are a group; a loss that says nothing does."""
    return bool(getattr(loss, "reads_groups", True))


def loss_name(loss: Loss) -> str:
    """Return the loss's name in the registry, or its class's."""
    return str(getattr(loss, "name", type(loss).__name__))
