"""The steps of some users inside a block of items, and exact sums, by compiled kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.recommenders._pairs import Floats, Ints, Pairs
from podium.recommenders.factorization import _batch_kernels, _exact_kernels, _kernels
from podium.recommenders.factorization._blocks import Block
from podium.recommenders.factorization._plan import Cells
from podium.recommenders.factorization._settings import Settings

_MOST_DECAY = 0.5  # the share of a row that one step takes away at most


def descend(
    settings: Settings,
    cell: tuple[Cells, int],
    pairs: Pairs,
    states: Floats,
    users: Floats,
    block: Block,
    sums: NDArray[np.float64],
    *,
    rate: float,
    seed: np.uint64,
    item_counts: Ints | None = None,
    learn_items: bool = True,
) -> None:
    """Take the steps of some users inside a block.

    `users`, `block`, `states` and `sums` are changed in place. `item_counts` are the numbers of
    users of the block's items, if the settings need them.
    """
    f = np.float32
    cells, number = cell
    with np.errstate(over="ignore"):  # an infinite value is later detected as divergence
        step, decay = f(rate), f(rate * settings.l2)
    steps = _kernels.Steps(
        n_negatives=settings.n_negatives,
        only_unseen=settings.only_unseen,
        learn_items=learn_items,
        cosine=settings.cosine,
        rate=step,
        decay=decay,
        bias_rate=f(settings.item_bias),
        seed=seed,
        n_items=pairs.n_items,
    )
    counts = np.diff(pairs.offsets), item_counts
    factors = _decay_factors(settings, float(decay), counts, block.bias.size)
    _kernels.descend(
        steps,
        settings.factor_loss.in_kernel(settings.memory),
        _kernels.Cell(*cells.runs(number), cells.positives, cells.origins),
        _kernels.WeightedPairs(pairs.offsets, pairs.weights, states),
        _kernels.Rows(users, block.rows, block.bias, *factors),
        _sampling(settings, item_counts),
        sums,
    )


def _decay_factors(
    settings: Settings, decay: float, counts: tuple[Ints, Ints | None], n_items: int
) -> tuple[Floats, Floats]:
    """Return the factors of the decay of users and of the block's items."""
    user_counts, item_counts = counts
    if settings.l2_power == 1.0 or item_counts is None:
        return np.ones(user_counts.size, np.float32), np.ones(n_items, np.float32)
    return (
        _decay_factor(settings, decay, user_counts, settings.pairs_per_user),
        _decay_factor(settings, decay, item_counts, settings.pairs_per_item),
    )


def _decay_factor(settings: Settings, decay: float, counts: Ints, mean: float) -> Floats:
    """Return ``(count / mean) ** (l2_power - 1)``, and less where a step would take half a row."""
    factor = (np.maximum(counts, 1) / mean) ** (settings.l2_power - 1.0)
    return np.minimum(factor, _MOST_DECAY / max(decay, 1e-12)).astype(np.float32)


def _sampling(settings: Settings, item_counts: Ints | None) -> _batch_kernels.Sampling:
    """Return the chances of the block's items to be drawn, and their weights."""
    if settings.popularity == 0.0 or item_counts is None:
        return _batch_kernels.Sampling(np.empty(0), np.empty(0, np.float32))
    popularity = np.maximum(item_counts, 1) ** settings.popularity
    share, n = settings.popularity_share, item_counts.size
    chances = share * popularity / popularity.sum() + (1.0 - share) / n
    n_drawn = min(settings.n_negatives, n)
    is_drawn = -np.expm1(n_drawn * np.log1p(-np.minimum(chances, 1.0 - 1e-12)))
    weights = n_drawn / n / is_drawn
    return _batch_kernels.Sampling(np.cumsum(chances), weights.astype(np.float32))


def exact_means(
    settings: Settings, pairs: Pairs, users: Floats, items: Block
) -> NDArray[np.float64]:
    """Return the mean pair cost of each positive, over all items that it is compared with.

    Cost: pairs x items multiplications, users x items powers.
    """
    totals, sizes = np.empty(pairs.items.size), np.diff(pairs.offsets)
    _exact_kernels.pair_sums(
        settings.factor_loss.kind,
        settings.only_unseen,
        pairs.offsets,
        pairs.items,
        users,
        items.rows,
        items.bias,
        totals,
    )
    others = pairs.n_items - (sizes if settings.only_unseen else np.ones_like(sizes))
    return totals / np.maximum(np.repeat(others, sizes), 1)
