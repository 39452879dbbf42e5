"""Scans: ranks of targets by a model that scores as few items as a budget allows."""

from __future__ import annotations

import os
from math import ceil
from typing import Any

from numpy.typing import ArrayLike

from podium import _check
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError, warn
from podium.progress import or_silent
from podium.sampled._draws import DrawPlan, read_plan
from podium.sampled.scanning.checkpoint import ScanCheckpoint
from podium.sampled.scanning.order import read_order
from podium.sampled.scanning.ranks import LEAST_DEPTH, ScannedRanks
from podium.sampled.scanning.rounds import Rounds
from podium.sampled.scanning.scorers import PairScores, Scorer
from podium.types import Progress

_DEEPEST = 8  # listed items per target, at most, as a multiple of the budget


def scan(
    scorer: PairScores | Scores,
    targets: Any,
    *,
    k: int,
    proxy: Scores | ArrayLike | None = None,
    lists: ArrayLike | None = None,
    budget: float = 99,
    list_share: float = 0.5,
    audit: float = 0.0,
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
    scorer : function, (n_users, n_items), or pair (user_factors, item_factors)
        A function of two int64 arrays of equal length, rows of users and items, that returns their
        scores. Higher is better. It is called with many pairs at a time, in about 15 rounds. A
        matrix of scores, and factors whose products are the scores, are read without a function.
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
        The share for listed items, of the budget that an audit leaves: above 0 and at most 1. The
        rest is for items that are drawn from the other candidates. With 1, items that the proxy
        misses are never scored.
    audit : float
        The share of the budget for an audit, from 0 to .99: some random targets with fewer than k
        scored items above them are ranked among all items. The estimates are then unbiased for
        every proxy and model, unless a mean beyond the bounds is moved to the bound.
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
    audit = _check.number(audit, "audit", low=0, high=0.99)
    _warn_of_small_budget(budget, share * (1.0 - audit), k, int(plan.n_items.max()))
    total = int(budget * plan.targets.size)
    show, for_audit = or_silent(progress), int(audit * total)
    _require_audit(for_audit, plan)
    rule = _check.choice(ties, "ties", ("worst", "best"))
    seed = _check.seed(seed)
    rounds = Rounds(plan, order, Scorer(scorer, plan), k, rule, seed)
    settings = {"k": k, "budget": budget, "list_share": share, "audit": audit}
    settings |= {"ties": ties, "seed": seed}
    stored = None if checkpoint is None else ScanCheckpoint(checkpoint, plan, order, settings)
    if stored is not None and _check.flag(resume, "resume"):
        rounds.counts = stored.read() or rounds.counts
    for name in rounds.run(total - for_audit, share):
        show(rounds.n_scored, total, name)
        if stored is not None:
            stored.write(rounds.counts)
    if for_audit:
        show(rounds.n_scored, total, "audit")
    return ScannedRanks(
        *rounds.counts,
        plan.n_items,
        k=k,
        above_all=rounds.audited(for_audit),
        user=plan.user,
        item=plan.targets,
    )


def _warn_of_small_budget(budget: float, share: float, k: int, n_items: int) -> None:
    least = ceil(LEAST_DEPTH * k / share)
    if budget < min(least, n_items - 1):
        warn(
            f"A budget of {budget:g} items per target lists too few of them to settle targets at "
            f"k = {k}. Estimates can then be far off, and intervals contain the bounds. Pass a "
            f"budget of at least {least}, or a smaller k."
        )


def _require_audit(total: int, plan: DrawPlan) -> None:
    """Raise if an audit could not rank two targets among all items."""
    dearest = int(plan.n_items.max())
    if 0 < total < 2 * dearest:
        raise ArgumentError(
            f"audit must pay for at least two targets with up to {dearest - 1} items each, got "
            f"{total} items. Increase audit or budget, or leave the audit out."
        )
