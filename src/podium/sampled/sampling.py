"""Ranks of targets among items that are drawn for each user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._ties import random_bits
from podium.catalogue.passes import RULES
from podium.catalogue.source import Scores, Source, read
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError
from podium.ranking import TIES
from podium.sampled import _kernels
from podium.sampled._draws import draw_bits, read_plan
from podium.sampled.design import Design, Ints, read_stages
from podium.sampled.ranks import SampledRanks
from podium.types import Labels, Ties


def sample_ranks(
    scores: Scores,
    targets: Any,
    n_negatives: int | Sequence[int],
    *,
    replacement: bool = True,
    exclude: Any = None,
    overlap: Overlap = "error",
    other_targets: str = "keep",
    ties: Ties = "worst",
    users: ArrayLike | None = None,
    history: Any = None,
    seed: int = 0,
) -> SampledRanks:
    """Rank each target among items that are drawn for it, uniformly from all others.

    Parameters
    ----------
    scores : (n_users, n_items), or pair (user_factors, item_factors)
        As in `podium.catalogue.rank_blocks`. Of factors, the products of the drawn items alone are
        taken.
    targets : scipy.sparse matrix, (n_users, n_items)
        The stored pairs are the held-out items, one or several of a user.
    n_negatives : int or sequence of int
        Items drawn beside a target; or rising sizes, as ``(100, 200, 400)``, of a sample that
        grows to the next one while the target comes first in it.
    replacement : bool
        Whether an item can be drawn twice.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        Items that are not drawn for a user: every stored entry. Each user's catalogue is then
        what is left, and n_items of the result has one size for each target.
    overlap : {"error", "drop"}
        What to do about targets that are in exclude.
    other_targets : {"keep", "exclude"}
        Whether the other targets of a user are candidates.
    ties : {"worst", "best", "average", "id", "random"}
        What equal scores count for, as in `podium.catalogue.target_ranks`: under "random" they are
        in the order that it gives them with the same seed. Under "average" a target that a half
        is left over for counts half at each of the two ranks.
    users : (n_users,), optional
        Labels of the rows, integers or strings; row numbers without it.
    history : scipy.sparse matrix, (n_users, n_items), optional
        Users' own (training) items: every stored entry. How many of them are candidates of a
        target, excluded ones not counted, is `SampledRanks.history`.
    seed : int
        A target's sample depends on seed, its user's label and its item alone: neither order nor
        number of users changes it.

    Raises
    ------
    ArgumentError
        As `podium.catalogue.rank_blocks`; and where fewer items can be drawn than n_negatives.

    Notes
    -----
    Cost: of a matrix, one look-up for each drawn item; of factors, n_factors products. A sample
    of all items (n_negatives = n_items - 1 without replacement) has the exact rank.

    References
    ----------
    krichene2020; li2023 (samples that grow).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = sample_ranks([[0.3, 0.2, 0.1, 0.4]], csr_array([[1, 0, 0, 0]]), 3,
    ...                      replacement=False)
    >>> found.ranks.tolist(), found.n_items
    ([2], 4)
    """
    source = read(scores)
    plan = read_plan(targets, exclude=exclude, overlap=overlap, others=other_targets, users=users)
    require_shape(source, (plan.labels.size, plan.width))
    own = plan.own_items(history)
    stages = _stages(n_negatives)
    largest, growing = stages[-1], len(stages) > 1
    plan.need(largest)
    tie = _kernels.Tie(tie_rule(ties, growing=growing), random_bits(seed))
    replacement = _check.flag(replacement, "replacement")
    draws = _kernels.Draws(draw_bits(seed), plan.width, replacement, np.empty(0))
    twice, sizes = np.empty((2, plan.targets.size), np.int64)
    for start, left, right in parts(scores, source):
        stop = start + left.shape[0]
        part = plan.part(start, stop)
        rows = plan.rows[part]
        row, item = _kernels.rank_drawn(
            _kernels.Scores(left, right),
            draws,
            tie,
            _kernels.Targets(plan.keys[rows], rows - start, plan.targets[part]),
            plan.hidden.block(start, stop),
            np.asarray(stages),
            twice[part],
            sizes[part],
        )
        if row >= 0:
            refuse_score(source, start, (left, right), row, item)
    return from_twice(
        twice,
        sizes if growing else largest,
        plan.sizes,
        replacement=replacement,
        user=plan.user,
        stages=stages if growing else (),
        history=own,
    )


def simulate_ranks(
    ranks: ArrayLike,
    n_items: int,
    n_negatives: int | Sequence[int],
    *,
    replacement: bool = True,
    user: ArrayLike | None = None,
    history: ArrayLike | None = None,
    seed: int = 0,
) -> SampledRanks:
    """Draw sampled ranks of targets whose ranks in the whole catalogue are known.

    It has the distribution of `sample_ranks` without a score being looked at: a repeat of a
    sampled evaluation costs one random number a user.

    Parameters
    ----------
    ranks : int, (n,)
        From 1 to n_items.
    n_items : int
        Items of the catalogue.
    n_negatives, replacement
        As in `sample_ranks`.
    user : (n,), optional
        Whose target it is, where users have several.
    history : int, (n,), optional
        As in `SampledRanks`.
    seed : int
        The result depends on the order of ranks too.

    Examples
    --------
    >>> simulate_ranks([1, 4], 4, 3, replacement=False).ranks.tolist()
    [1, 4]
    """
    stages = _stages(n_negatives)
    design = Design(stages[-1], n_items, replacement, stages)
    better = SampledRanks(ranks, design.n_items - 1, design.n_items).ranks - 1  # checked
    rng = np.random.default_rng([_check.seed(seed), 4])
    above, sizes, drawn = np.zeros_like(better), np.zeros_like(better), 0
    for size in design.stages:
        open_ = np.flatnonzero(above == 0)
        sizes[open_] = size
        above[open_] = _more_above(rng, better[open_], size - drawn, drawn, design)
        drawn = size
    return SampledRanks(
        above + 1,
        sizes if design.grows else design.n_negatives,
        design.n_items,
        replacement=replacement,
        user=user,
        stages=stages if design.grows else None,
        history=history,
    )


def _more_above(rng: np.random.Generator, better: Ints, n: int, drawn: int, design: Design) -> Ints:
    """Draw how many of n more items are above targets that `drawn` items were all below."""
    others = design.n_items - 1
    if design.replacement:
        return rng.binomial(n, better / others)
    return rng.hypergeometric(better, others - better - drawn, n)


def _stages(n_negatives: int | Sequence[int]) -> tuple[int, ...]:
    if np.ndim(n_negatives) == 0:
        return (_check.cutoff(n_negatives, name="n_negatives"),)
    sizes = read_stages(cast("Sequence[int]", n_negatives))
    return sizes or (_check.cutoff(None, name="n_negatives"),)


def parts(scores: Scores, source: Source) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Yield (first user, scores, nothing) block by block, or (0, user factors, item factors)."""
    if isinstance(scores, tuple) and len(scores) == 2:
        left, right = (np.ascontiguousarray(factor, dtype=source.dtype) for factor in scores)
        yield 0, left, right
        return
    nothing = np.empty((0, 0), source.dtype)
    for start, block in source.blocks(source.block_size(None)):
        yield start, block, nothing


def tie_rule(ties: Ties, *, growing: bool) -> int:
    """Return a tie rule's number."""
    rule = RULES[_check.choice(ties, "ties", TIES)]
    if growing and ties == "average":
        raise ArgumentError(
            "ties='average' is undefined for samples that grow while the target comes first: a "
            "tie is neither first nor not. Use 'worst', 'best', 'random' or 'id'."
        )
    return rule


def require_shape(source: Source, shape: tuple[int, int]) -> None:
    """Raise unless scores and targets have one shape."""
    if source.shape != shape:
        raise ArgumentError(
            f"targets must have the shape of scores, users x items = {source.shape}, got {shape}."
        )


def refuse_score(
    source: Source, start: int, sides: tuple[NDArray[Any], NDArray[Any]], row: int, item: int
) -> None:
    """Raise for a score that is not finite, or a product of factors that is too large."""
    left, right = sides
    source.refuse(start + row, item, np.inf if right.size else left[row, item])


def from_twice(
    twice: Ints,
    n_negatives: int | Ints,
    n_items: int | Ints,
    *,
    replacement: bool,
    user: Labels,
    stages: tuple[int, ...] = (),
    history: NDArray[Any] | None = None,
) -> SampledRanks:
    """Return ranks from twice the number above each target; halves count at both neighbours."""
    ranks = twice // 2 + 1
    if (twice % 2).any():
        ranks = np.concatenate([ranks, (twice + 1) // 2 + 1])
        user = np.concatenate([user, user])
        history = None if history is None else np.concatenate([history, history])
        n_negatives, n_items = (
            each if isinstance(each, int) else np.concatenate([each, each])
            for each in (n_negatives, n_items)
        )
    return SampledRanks(
        ranks,
        n_negatives,
        n_items,
        replacement=replacement,
        user=user,
        stages=stages,
        history=history,
    )
