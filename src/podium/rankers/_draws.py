"""Random keys that put tied rows in an order, for the target of a loss that draws them."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.losses import Loss
from podium.rankers.objective import Labels
from podium.types import Keys

_PURPOSE = int.from_bytes(b"ties")  # larger than any pass number: other draws use [seed, pass]


def generator(seed: int, number: int = 0) -> np.random.Generator:
    """Return the random generator of one pass; pass 0 is the draw for the whole fit."""
    return np.random.default_rng([seed, _PURPOSE, number])


def keys_of(loss: Loss, labels: Labels, seed: int, number: int = 0) -> Keys | None:
    """Return the keys of all rows in one pass, or None for a loss that draws none.

    A loss that does not redraw gets the keys of the whole fit in every pass.
    """
    if not loss.draws:
        return None
    groups = labels.groups if labels.drawn is None else labels.drawn
    return loss.draw(groups, generator(seed, number if loss.redraws else 0))


def keys_option(loss: Loss, labels: Labels, seed: int) -> dict[str, Any]:
    """Return the extra keyword arguments of `loss.prepare` for all rows: the keys, if it draws."""
    keys = keys_of(loss, labels, seed)
    return {} if keys is None else {"keys": keys}
