"""The order in which a proxy lists the candidates of each target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.catalogue import top_k
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Rows
from podium.errors import ArgumentError, warn
from podium.groups import find, row_offsets
from podium.sampled.design import Ints
from podium.sampled.sampling import DrawPlan

_BLOCK = 2**22  # entries of lists that are read at a time
_MOST_FIRST = 0.5
_NOWHERE = np.iinfo(np.int64).max


class ProxyOrder:
    """The first items of each target's candidates, in the order of a proxy.

    Parameters
    ----------
    plan : DrawPlan
        The targets and the items that are not candidates.
    lists : int, (n_users, depth)
        The candidates of each user in the proxy's order; -1 after the last one. They may contain
        targets, which are passed over.

    Attributes
    ----------
    lengths : int64, (n_targets,)
        The number of listed items of each target.
    """

    def __init__(self, plan: DrawPlan, lists: NDArray[Any]) -> None:
        self.lists, self._rows = lists, plan.rows
        self._places = np.full(plan.targets.size, _NOWHERE)
        for part in _slices(plan.targets.size, lists.shape[1]):
            is_target = lists[plan.rows[part]] == plan.targets[part, None]
            has_target = is_target.any(axis=1)
            self._places[part][has_target] = is_target[has_target].argmax(axis=1)
        self.lengths: Ints = (lists >= 0).sum(axis=1)[plan.rows] - (self._places < _NOWHERE)

    def warn_of_leak(self) -> None:
        """Warn if the proxy ranks so many targets first that it was probably trained on them."""
        n_first, n_targets = int((self._places == 0).sum()), self._places.size
        if n_first > _MOST_FIRST * n_targets:
            warn(
                f"The proxy ranks {n_first / n_targets:.0%} of the targets first ({n_first} of "
                f"{n_targets}). If it was trained on them, its "
                "lists do not help to evaluate a model that was not."
            )

    def n_others_above(self, rows: Ints) -> Ints:
        """Return the number of items above each target that are no targets of its user: (n,).

        Parameters
        ----------
        rows : int64, (n_targets,)
            The user's row of each target, in increasing order.
        """
        by_place = np.lexsort((self._places, rows))
        starts = np.searchsorted(rows, rows)  # the first target of the same user
        n_own = np.empty(rows.size, np.int64)
        n_own[by_place] = np.arange(rows.size) - starts
        return self._places - n_own

    def items(self, targets: Ints, start: int, stop: int) -> Ints:
        """Return the items at places start .. stop - 1 of some targets; -1 after the last one."""
        numbers = np.arange(start, stop)
        places = numbers + (numbers >= self._places[targets, None]).astype(np.int64)
        is_inside = places < self.lists.shape[1]
        listed = self.lists[self._rows[targets, None], np.where(is_inside, places, 0)]
        return np.where(is_inside, listed, -1)


def read_order(
    plan: DrawPlan, proxy: Scores | ArrayLike | None, lists: ArrayLike | None, depth: int
) -> ProxyOrder:
    """Return the order of a proxy that gives scores or lists; exactly one of them."""
    if (proxy is None) == (lists is None):
        raise ArgumentError(
            "Give either proxy (scores) or lists (items in order), got "
            f"{'neither' if proxy is None else 'both'}."
        )
    depth = min(depth + 1, plan.catalogue_size)  # one more: a target may be on its user's list
    if lists is not None:
        found = _read_lists(plan, lists)
    elif not isinstance(proxy, tuple) and np.ndim(proxy) == 1:  # pyright: ignore[reportArgumentType]
        found = _by_item_scores(plan, proxy, depth)
    else:
        return ProxyOrder(plan, _by_scores(plan, proxy, depth))
    return ProxyOrder(plan, candidates_only(plan, found, depth))


def _by_scores(plan: DrawPlan, proxy: Any, depth: int) -> NDArray[Any]:
    from scipy.sparse import csr_array

    hidden, shape = plan.hidden, (plan.labels.size, plan.catalogue_size)
    plan.read(proxy, "proxy")
    exclude = csr_array((np.ones(hidden.items.size), hidden.items, hidden.offsets), shape=shape)
    items, _ = top_k(proxy, depth, exclude=exclude)
    return items.astype(np.int32)


def _by_item_scores(plan: DrawPlan, proxy: Any, depth: int) -> NDArray[Any]:
    """Return the lists by one score per item, such as its popularity."""
    scores = _check.column(proxy, "proxy")
    if scores.size != plan.catalogue_size:
        raise ArgumentError(
            f"proxy must have a score for each of the {plan.catalogue_size} items, got "
            f"{scores.size}."
        )
    _check.finite(scores, "proxy", advice="Give these items a low finite score.")
    most_hidden = int(plan.hidden.sizes.max(initial=0))
    order = np.argsort(-scores, kind="stable")[: depth + most_hidden]
    return np.broadcast_to(order, (plan.labels.size, order.size))


def _read_lists(plan: DrawPlan, lists: ArrayLike) -> NDArray[Any]:
    items = _check.array(lists, "lists")
    if items.dtype.kind not in "iu" or items.ndim != 2 or items.shape[0] != plan.labels.size:
        raise ArgumentError(
            f"lists must be integers of shape ({plan.labels.size} users, depth), got "
            f"{items.dtype} of shape {items.shape}."
        )
    if items.size and not -1 <= int(items.min()) <= int(items.max()) < plan.catalogue_size:
        raise ArgumentError(
            f"lists must hold items from 0 to {plan.catalogue_size - 1}, or -1 for none, got "
            f"{int(items.min())} to {int(items.max())}."
        )
    return items


def candidates_only(plan: DrawPlan, lists: NDArray[Any], depth: int) -> NDArray[Any]:
    """Return the lists without hidden and repeated items, cut at `depth`."""
    result = np.full((plan.labels.size, depth), -1, np.int32)
    for part in _slices(plan.labels.size, lists.shape[1]):
        block: NDArray[np.int64] = lists[part].astype(np.int64)
        n_users: int = part.stop - part.start
        users = np.repeat(np.arange(n_users), lists.shape[1])
        items = block.ravel()
        pairs = users * plan.catalogue_size + items
        hidden = plan.hidden.block(part.start, part.stop)
        is_kept = (items >= 0) & (find(hidden.keys(plan.catalogue_size), pairs) < 0)
        is_first = np.zeros(pairs.size, np.bool_)
        is_first[np.unique(pairs, return_index=True)[1]] = True
        is_kept &= is_first
        places = np.cumsum(is_kept.reshape(block.shape), axis=1).ravel() - 1
        is_kept &= places < depth
        result[part.start + users[is_kept], places[is_kept]] = items[is_kept]
    return result


def _slices(n_rows: int, width: int) -> Iterator[slice]:
    size = max(1, _BLOCK // max(width, 1))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


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
    hidden, numbers = plan.hidden.of(plan.rows[targets]), np.arange(targets.size)
    deepest = int(n_listed.max(initial=0))
    is_listed = np.arange(deepest) < n_listed[:, None]
    listed = order.items(targets, 0, deepest)[is_listed]
    listed_keys = np.repeat(numbers, n_listed) * plan.catalogue_size + listed
    pairs = np.sort(np.concatenate([hidden.keys(plan.catalogue_size), listed_keys]))
    offsets = row_offsets(hidden.sizes + n_listed)
    unavailable = Rows(offsets, pairs % plan.catalogue_size, np.empty(pairs.size))
    return plan.draw(targets, n, seed, replacement=False, hidden=unavailable)
