"""The settings of a fit, read from the parameters of a model and checked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from podium import _check
from podium.recommenders._auto import AUTO
from podium.recommenders._pairs import Pairs
from podium.recommenders.factorization._losses import LOG2_E, LOSSES, FactorLoss
from podium.recommenders.factorization._plan import choose_n_blocks

_STEPS, _FEWEST_PASSES, _MOST_PASSES = 16_000_000, 15, 60
_OF_COSINES, _OF_PRODUCTS = (0.3, 0.5), (0.1, 0.0)  # default learning_rate and popularity
_FEWEST_FACTORS = 64  # from which on cosines are compared by default


@dataclass(frozen=True)
class Settings:
    """The checked settings that, with the data, determine all steps."""

    loss: FactorLoss
    n_factors: int
    n_negatives: int
    learning_rate: float
    decay: str
    l2: float
    n_epochs: int
    n_blocks: int
    seed: int
    memory: float
    only_unseen: bool
    item_bias: bool
    prior: float | None  # None: held-out pairs choose it
    cosine: bool
    popularity: float

    @property
    def unit(self) -> float:
        """The difference of scores that the loss takes for a factor e of the odds."""
        return LOG2_E / float(self.loss.in_kernel(self.memory).scale)

    def rate(self, epoch: int) -> float:
        """Return the step of a pass: decreasing linearly to zero, or constant."""
        share = epoch / self.n_epochs if self.decay == "linear" else 0.0
        return self.learning_rate * (1.0 - share)


@dataclass(frozen=True)
class DataSize:
    """What the settings take from the pairs of a fit: sizes, and mean counts without zeros."""

    n_users: int
    n_items: int
    n_pairs: int
    pairs_per_user: float
    pairs_per_item: float

    @property
    def n_used_items(self) -> float:
        """The number of items with a pair."""
        return max(self.n_pairs / self.pairs_per_item, 1.0)

    @property
    def density(self) -> float:
        """The geometric mean of the pairs per user and of the pairs per item."""
        return float(np.sqrt(self.pairs_per_user * self.pairs_per_item))

    @classmethod
    def of(cls, pairs: Pairs) -> DataSize:
        """Count the pairs."""
        counts = np.diff(pairs.offsets), pairs.item_counts()
        means = (float(pairs.items.size / max(np.count_nonzero(side), 1)) for side in counts)
        return cls(*pairs.shape, pairs.items.size, *means)


LEAST = DataSize(1, 1, 1, 1.0, 1.0)
"""The least size, for settings that are only checked."""


def read_settings(model: Any, size: DataSize) -> Settings:
    """Return the checked settings of a model, with values that suit the data."""
    checked = _check.parameters(model)
    similarity = checked["similarity"]
    loss = LOSSES.parse(model.loss)
    if similarity is None:
        is_long = checked["n_factors"] >= _FEWEST_FACTORS  # short vectors have too few directions
        similarity = "cosine" if is_long and loss.suits_cosines else "dot"
    cosine, prior = similarity == "cosine", checked["prior"]
    if prior == AUTO:
        prior = None if cosine else 0.0  # products have a bias that is learned
    loss = loss.for_data(size.n_used_items, size.density, cosine=cosine)
    rate, popularity = _OF_COSINES if cosine and loss.suits_cosines else _OF_PRODUCTS
    values: dict[str, Any] = {
        "popularity": popularity,
        "learning_rate": rate,
        "l2": float(f"{loss.default_l2(size.density, cosine=cosine):.3g}"),  # short in messages
        "n_epochs": int(np.clip(round(_STEPS / size.n_pairs), _FEWEST_PASSES, _MOST_PASSES)),
        "n_blocks": choose_n_blocks(size.n_users, size.n_items, size.n_pairs, checked["n_factors"]),
    }
    values |= {name: value for name, value in checked.items() if value is not None}
    values |= {
        "loss": loss,
        "n_blocks": min(values["n_blocks"], size.n_users, size.n_items),
        "seed": values["random_state"],
        "memory": checked["xi_rate"],
        "only_unseen": values["negatives"] == "unseen",
        "item_bias": values["item_bias"] and not cosine,
        "prior": prior,
        "cosine": cosine,
    }
    return Settings(**{field.name: values[field.name] for field in fields(Settings)})
