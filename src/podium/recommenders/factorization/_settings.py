"""A model's parameters, checked."""

from __future__ import annotations

from typing import Any

from podium import _check
from podium.errors import ArgumentError
from podium.recommenders.factorization._pairs import Pairs
from podium.recommenders.factorization._parts import KINDS, Settings
from podium.recommenders.factorization._plan import choose_n_blocks

DECAYS = ("linear", "none")
XI = ("running", "exact")
NEGATIVES = ("unseen", "all")


def read_settings(model: Any, pairs: Pairs | None = None, *, fewer: bool = False) -> Settings:
    """Return what the steps of a RoBiRank follow from, in blocks that suit the pairs.

    Without pairs in one block, which is how new users are folded in; `fewer` takes as many blocks
    as there can be where more were asked for.
    """
    exact = _check.choice(model.xi, "xi", XI) == "exact"
    return Settings(
        loss=_check.choice(model.loss, "loss", list(KINDS)),
        n_factors=_check.cutoff(model.n_factors, name="n_factors"),
        n_negatives=_check.cutoff(model.n_negatives, name="n_negatives"),
        learning_rate=_check.number(model.learning_rate, "learning_rate", low=0.0, strict=True),
        decay=_check.choice(model.decay, "decay", DECAYS),
        l2=_check.number(model.l2, "l2", low=0.0),
        n_epochs=_check.cutoff(model.n_epochs, name="n_epochs"),
        n_blocks=1 if pairs is None else _n_blocks(model, pairs, fewer),
        seed=_check.seed(model.random_state, "random_state"),
        memory=_check.number(model.xi_rate, "xi_rate", low=0.0, high=1.0, strict=not exact),
        exact=exact,
        only_unseen=_check.choice(model.negatives, "negatives", NEGATIVES) == "unseen",
        item_bias=_check.flag(model.item_bias, "item_bias"),
    )


def _n_blocks(model: Any, pairs: Pairs, fewer: bool) -> int:
    asked = _check.cutoff(model.n_blocks, name="n_blocks", required=False)
    if asked is None:
        n_factors = _check.cutoff(model.n_factors, name="n_factors")
        return choose_n_blocks(*pairs.shape, pairs.items.size, n_factors)
    if asked > min(pairs.shape) and fewer:
        return min(pairs.shape)
    if asked > min(pairs.shape):
        raise ArgumentError(
            f"n_blocks must be at most the number of users and of items, {pairs.n_users} and "
            f"{pairs.n_items}, got {asked}."
        )
    return asked
