"""Random numbers that a loss needs for its target: keys that put tied rows in an order."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.losses import Loss
from podium.rankers.objective import Labels
from podium.types import Keys

_PURPOSE = int.from_bytes(b"ties")  # beyond any pass: other draws use [seed, pass]


def generator(seed: int, number: int = 0) -> np.random.Generator:
    """Return the generator of a seed's draws for a pass; 0 is the whole fit."""
    return np.random.default_rng([seed, _PURPOSE, number])


def keys_of(loss: Loss, labels: Labels, seed: int, number: int = 0) -> Keys | None:
    """Return the keys of all rows for a pass; None for a loss that draws none.

    A loss that does not draw anew has those of the whole fit in every pass.
    """
    if not loss.draws:
        return None
    groups = labels.groups if labels.drawn is None else labels.drawn
    return loss.draw(groups, generator(seed, number if loss.redraws else 0))


def given_keys(loss: Loss, labels: Labels, seed: int) -> dict[str, Any]:
    """Return what a loss's `prepare` takes besides for all rows: keys, if it draws."""
    keys = keys_of(loss, labels, seed)
    return {} if keys is None else {"keys": keys}
