"""Uniform draws from the candidates of a target that the proxy's list does not contain."""

from __future__ import annotations

import numpy as np

from podium.catalogue.sparse import Rows
from podium.groups import row_offsets
from podium.sampled import _kernels
from podium.sampled._draws import DrawPlan, draw_bits
from podium.sampled.design import Ints
from podium.sampled.scanning.order import ProxyOrder


def draw_rest(
    plan: DrawPlan, order: ProxyOrder, targets: Ints, n_listed: Ints, n: int, seed: int
) -> Ints:
    """Draw n items without replacement for some targets from the rest of the catalogue.

    Parameters
    ----------
    targets : int64, (n_targets,)
        The targets to draw for, in increasing order.
    n_listed : int64, (n_targets,)
        The number of items at the top of each target's list that are not drawn.
    n : int
        The number of draws. The first draws do not depend on it, so that samples can grow.

    Returns
    -------
    int64, (n_targets, n)
        The items, followed by -1 if fewer are left.
    """
    hidden = _unavailable(plan, order, targets, n_listed)
    rows, items = plan.rows[targets], plan.targets[targets]
    drawn = np.empty((targets.size, n), np.int64)
    _kernels.draw_items(
        _kernels.Draws(draw_bits(seed), plan.catalogue_size, False, np.empty(0)),
        _kernels.Targets(plan.keys[rows], np.arange(targets.size), items, items),
        hidden,
        n,
        drawn,
    )
    return drawn


def _unavailable(plan: DrawPlan, order: ProxyOrder, targets: Ints, n_listed: Ints) -> Rows:
    """Return the hidden and the listed items of each target, increasing: `targets` are the rows."""
    rows, numbers = plan.rows[targets], np.arange(targets.size)
    sizes = plan.hidden.sizes[rows]
    starts = np.repeat(plan.hidden.offsets[rows] - np.cumsum(sizes) + sizes, sizes)
    hidden = plan.hidden.items[starts + np.arange(sizes.sum())]
    deepest = int(n_listed.max(initial=0))
    is_listed = np.arange(deepest) < n_listed[:, None]
    listed = order.items(targets, 0, deepest)[is_listed]
    owners = np.concatenate([np.repeat(numbers, sizes), np.repeat(numbers, n_listed)])
    pairs = np.sort(owners * plan.catalogue_size + np.concatenate([hidden, listed]))
    counts = np.bincount(owners, minlength=targets.size)
    return Rows(row_offsets(counts), pairs % plan.catalogue_size, np.empty(pairs.size))
