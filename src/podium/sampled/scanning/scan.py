"""Scans: ranks of targets by a model that scores as few items as a budget allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium._arrays import check_arrays, read_arrays, write_arrays
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError, DataError, arg, warn
from podium.progress import or_silent
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import LEAST_DEPTH, Counts, ScannedRanks
from podium.sampled.sampling import DrawPlan, ScoresOf, read_plan
from podium.sampled.scanning.order import ProxyOrder, draw_rest, read_order
from podium.types import Progress

PairScores: TypeAlias = "Callable[[Ints, Ints], ArrayLike]"
"""A function of rows of users and items, int64 of equal length, that returns their scores."""

_MOST_PAIRS = 2**20  # pairs per call


def scorer_of(scorer: PairScores, plan: DrawPlan) -> ScoresOf:
    """Return a function that computes and checks at most about a million scores at a time."""
    if not callable(scorer):  # pyright: ignore[reportUnnecessaryComparison]
        raise ArgumentError(
            "scorer must be a function of rows and items, such as lambda rows, items: "
            f"scores[rows, items], got {type(scorer).__name__}."
        )

    def checked(rows: Ints, items: Ints) -> Floats:
        result = np.empty(rows.size)
        for start in range(0, rows.size, _MOST_PAIRS):
            part = slice(start, start + _MOST_PAIRS)
            pairs = rows[part], items[part].astype(np.int64, copy=False)
            scores = _check.column(scorer(*pairs), "scorer's result")
            if scores.size != pairs[0].size:
                raise ArgumentError(
                    f"scorer must return one score per pair, got {scores.size} for "
                    f"{pairs[0].size} pairs."
                )
            if not np.isfinite(scores).all():
                first = int(np.argmin(np.isfinite(scores)))
                raise ArgumentError(
                    f"scorer must return finite scores, got {scores[first]:g} for user "
                    f"{_check.label(plan.labels[pairs[0][first]])} and item {pairs[1][first]}. Put "
                    "items that must not be ranked into exclude."
                )
            result[part] = scores
        return result

    return checked


_LIST_GROWTH, _DRAW_GROWTH = 1.5, 1.25
_FIRST_DRAWS = 8
_BLOCK = 2**22  # drawn items in memory


class Rounds:
    """The rounds of a scan, and the counts so far."""

    def __init__(
        self, plan: DrawPlan, order: ProxyOrder, scores_of: ScoresOf, k: int, ties: str, seed: int
    ) -> None:
        self._plan, self._order, self._scores_of = plan, order, scores_of
        self._k, self._seed, self._is_strict = k, seed, ties == "best"
        self._target_scores = scores_of(plan.rows, plan.targets)
        self.counts = Counts(*np.zeros((4, plan.targets.size), np.int64))

    @property
    def n_scored(self) -> int:
        return int((self.counts.n_listed + self.counts.n_drawn).sum())

    def run(self, total: int, share: float) -> Iterator[str]:
        """Spend the share of the total on lists, then the rest on draws; yield after each round."""
        counts, order = self.counts, self._order
        if not counts.n_drawn.any():
            listed = counts.above_listed, counts.n_listed, order.lengths, order.items
            for _ in self._rounds(*listed, self._k, _LIST_GROWTH, int(total * share)):
                yield "listed items"
        if share < 1:
            n_rest = self._plan.n_items - 1 - counts.n_listed
            drawn = counts.above_drawn, counts.n_drawn, n_rest, self._drawn
            for _ in self._rounds(*drawn, _FIRST_DRAWS, _DRAW_GROWTH, total):
                yield "random items"

    def _rounds(
        self,
        above: Ints,
        n_items: Ints,
        limits: Ints,
        items_of: Callable[..., Ints],
        first: int,
        growth: float,
        total: int,
    ) -> Iterator[None]:
        """Score the next items of open targets, up to the limits, and add them to the counts.

        The number of items per target grows by a factor, as far as the total allows.
        """
        while True:
            size = int(n_items.max())
            all_above = self.counts.above_listed + self.counts.above_drawn
            is_open = (all_above < self._k) & (n_items == size) & (limits > size)
            targets = np.flatnonzero(is_open)
            affordable = size + max(total - self.n_scored, 0) // max(targets.size, 1)
            stop = min(max(ceil(size * growth), first), affordable)
            if not targets.size or stop <= size:
                return
            of_targets = partial(items_of, start=size, stop=stop)
            more_above, more_items = self._scored(targets, of_targets, stop)
            above[targets] += more_above
            n_items[targets] += more_items
            yield

    def _drawn(self, targets: Ints, start: int, stop: int) -> Ints:
        n_listed = self.counts.n_listed[targets]
        return draw_rest(self._plan, self._order, targets, n_listed, stop, self._seed)[:, start:]

    def _scored(
        self, targets: Ints, items_of: Callable[[Ints], Ints], width: int
    ) -> tuple[Ints, Ints]:
        """Score items of some targets; return how many are above each target, and their number.

        `items_of` holds at most `width` items per target in memory.
        """
        above, n_items = np.zeros((2, targets.size), np.int64)
        size = max(1, _BLOCK // width)
        for start in range(0, targets.size, size):
            part = slice(start, start + size)
            items = items_of(targets[part])
            is_item = items >= 0
            owners = np.repeat(targets[part], is_item.sum(axis=1))
            scores = self._scores_of(self._plan.rows[owners], items[is_item])
            floors = self._target_scores[owners]
            is_above = scores > floors if self._is_strict else scores >= floors
            first = np.searchsorted(targets[part], owners)
            above[part] = np.bincount(first, is_above, minlength=items.shape[0])
            n_items[part] = is_item.sum(axis=1)
        return above, n_items


_KIND, _FORMAT = "podium_scan_checkpoint", 1


class ScanCheckpoint:
    """A file with the counts of a scan, and with data that identify the scan.

    The scores of the model are not part of the identity: resume only with the same model.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        plan: DrawPlan,
        order: ProxyOrder,
        settings: Mapping[str, Any],
    ) -> None:
        self._path, self._n_targets = path, plan.targets.size
        digest = blake2b(digest_size=16)
        hidden = plan.hidden
        drawing = (plan.keys, plan.rows, plan.targets, plan.n_items, hidden.offsets, hidden.items)
        for array in (*drawing, order.lists):
            digest.update(np.ascontiguousarray(array).tobytes())
        self._identity = {**settings, "data": digest.hexdigest()}

    def write(self, counts: Counts) -> None:
        """Replace the file by one with these counts."""
        write_arrays(self._path, _KIND, _FORMAT, counts._asdict(), {"of": self._identity})

    def read(self) -> Counts | None:
        """Return the counts in the file, or None if there is no file.

        Raises
        ------
        DataError
            If the file belongs to another scan or is damaged.
        """
        if not os.path.lexists(self._path):
            return None
        header, arrays = read_arrays(self._path, _KIND, _FORMAT, noun="checkpoint")
        if header.get("of") != self._identity:
            raise DataError(
                f"checkpoint {os.fspath(self._path)} belongs to a scan with other targets, lists, "
                "excluded items or options. Pass another path, or start again without "
                f"{arg.resume}."
            )
        try:
            check_arrays(arrays, dict.fromkeys(Counts._fields, ((self._n_targets,), np.int64)))
        except ArgumentError as error:
            raise DataError(
                f"checkpoint {os.fspath(self._path)} is damaged ({error}). "
                f"Start again without {arg.resume}."
            ) from None
        return Counts(*(arrays[name] for name in Counts._fields))


_DEEPEST = 8  # listed items per target, at most, as a multiple of the budget


def scan(
    scorer: PairScores,
    targets: Any,
    *,
    k: int,
    proxy: Scores | ArrayLike | None = None,
    lists: ArrayLike | None = None,
    budget: float = 99,
    list_share: float = 0.5,
    exclude: Any = None,
    overlap: Overlap = "error",
    other_targets: str = "keep",
    users: ArrayLike | None = None,
    ties: str = "worst",
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> ScannedRanks:
    """Rank held-out items by an expensive model, which scores a few items that a proxy helps find.

    Parameters
    ----------
    scorer : function
        A function of two int64 arrays of equal length, rows of users and items, that returns their
        scores. Higher is better. It is called with many pairs at a time, in about 15 rounds.
    targets : scipy.sparse matrix, (n_users, n_items)
        The held-out items as stored entries, one or several per user.
    k : int
        The largest cutoff of the measures to estimate, at least 1.
    proxy : scores, or (n_items,), optional
        The scores of a cheap model in the forms of `podium.catalogue.rank_blocks`, or one score per
        item, such as its popularity. The better the proxy predicts which items the model ranks
        first, the smaller the error.
    lists : int, (n_users, depth), optional
        The items of each user in the order of a proxy, best first, and -1 after the last one. Give
        either `proxy` or `lists`.
    budget : float
        The mean number of items that may be scored per target, without the target itself. Use 5 k
        or more.
    list_share : float
        The share of the budget for listed items, above 0 and at most 1. The rest is for items that
        are drawn from the other candidates. With 1, items that the proxy misses are never scored.
    exclude, overlap, other_targets, users
        The parameters of `sample_ranks`.
    ties : {"worst", "best"}
        Whether items with the target's score count as above it.
    seed : int
        The seed of the draws. A target's draws depend only on the seed, the user's label, the item
        and the listed items.
    checkpoint : path, optional
        A file that stores the counts after each round.
    resume : bool
        Whether to continue from the checkpoint, if it exists.
    progress : callable, optional
        A function that is called with (scored items, budget of all items, name of the round).

    Returns
    -------
    ScannedRanks

    Raises
    ------
    ArgumentError
        If shapes differ, if a score is not finite, or for a reason listed in `sample_ranks`.
    DataError
        If the checkpoint is damaged or belongs to another scan.

    Warns
    -----
    PodiumWarning
        If the proxy ranks more than half of the targets first (they may have been in its training
        data), or if less than 1.5 k items per target can be listed.

    Notes
    -----
    A target needs no more scores as soon as k items are above it, because measures at k are then
    exactly 0. In the first rounds, the items of the list are scored from its top down, until
    `list_share` of the budget is spent. The listed items are then known for certain. In the other
    rounds, the rest of the catalogue is sampled without replacement, with more draws in each round,
    until the budget is spent. All targets take part in each round until they are settled, so that
    depths and sizes depend only on the number of open targets.
    The proxy only determines which items are scored. With a worse proxy, estimates are less
    precise. With lists in random order, they can also be biased; `evaluate` then warns.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> rng = np.random.default_rng(0)
    >>> proxy = rng.normal(size=(50, 1000))
    >>> scores = proxy + 0.1 * rng.normal(size=proxy.shape)
    >>> items = np.argsort(-proxy, axis=1)[:, 4]
    >>> held_out = csr_array((np.ones(50), (np.arange(50), items)), proxy.shape)
    >>> scan(lambda rows, items: scores[rows, items], held_out, k=10, proxy=proxy)
    ScannedRanks(50 targets of 50 users, k=10, 98.58 items scored per target, 96.0% open)
    """
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets=other_targets, users=users
    )
    budget = _check.number(budget, "budget", low=1)
    share = _check.number(list_share, "list_share", low=0, high=1, strict=True)
    k = _check.cutoff(k)
    order = read_order(plan, proxy, lists, max(k, ceil(_DEEPEST * budget)))
    order.warn_of_leak()
    most_items = int(plan.n_items.max())
    least_budget = ceil(LEAST_DEPTH * k / share)
    if budget < min(least_budget, most_items - 1):
        warn(
            f"A budget of {budget:g} items per target lists too few of them to settle targets at "
            f"k = {k}. Estimates can then be far off, and intervals contain the bounds. Pass a "
            f"budget of at least {least_budget}, or a smaller k."
        )
    total = int(budget * plan.targets.size)
    show = or_silent(progress)
    rule = _check.choice(ties, "ties", ("worst", "best"))
    seed = _check.seed(seed)
    rounds = Rounds(plan, order, scorer_of(scorer, plan), k, rule, seed)
    settings = {"k": k, "budget": budget, "list_share": share, "ties": ties, "seed": seed}
    stored = None if checkpoint is None else ScanCheckpoint(checkpoint, plan, order, settings)
    if stored is not None and _check.flag(resume, "resume"):
        rounds.counts = stored.read() or rounds.counts
    for name in rounds.run(total, share):
        show(rounds.n_scored, total, name)
        if stored is not None:
            stored.write(rounds.counts)
    return ScannedRanks(
        *rounds.counts,
        plan.n_items,
        k=k,
        user=plan.user,
        item=plan.targets,
    )
