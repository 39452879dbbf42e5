"""Ranks of targets among items that are drawn for each user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._ties import label_keys, random_bits
from podium.catalogue.lists import RULES
from podium.catalogue.source import Scores, Source, read, refuse_score
from podium.catalogue.sparse import Overlap, Rows, read_excluded, read_relevant, split_overlap
from podium.errors import ArgumentError, arg
from podium.groups import row_offsets
from podium.sampled import _kernels
from podium.sampled.design import Design, Ints, read_stages
from podium.sampled.ranks import SampledRanks, integers
from podium.sampled.ranks import labels as read_labels
from podium.types import Labels, Ties

_DRAW = 2  # purpose number in a seed; random ties of the catalogue use 1
_TIES: tuple[Ties, ...] = ("worst", "best", "id", "random")  # a sampled rank is a whole number


@dataclass(frozen=True, eq=False)
class DrawPlan:
    """The targets of users, and the items that cannot be their candidates.

    Attributes
    ----------
    labels, keys : (n_users,)
        The labels of users as the caller gives them, and as 64 bits.
    rows, targets : int64, (n_targets,)
        The row of each target's user, in increasing order, and the item.
    hidden : Rows
        The items of each user that are not candidates. The target need not be among them.
    n_items : int64, (n_targets,)
        The number of possible candidates plus 1 for the target.
    catalogue_size : int
        The number of items of the whole catalogue.
    """

    labels: Labels
    keys: NDArray[np.uint64]
    rows: Ints
    targets: Ints
    hidden: Rows
    n_items: Ints
    catalogue_size: int

    @property
    def user(self) -> Labels:
        return self.labels[self.rows]

    def require_candidates(self, n_negatives: int) -> None:
        """Raise unless each target has at least n_negatives candidates."""
        is_short = self.n_items <= n_negatives
        if is_short.any():
            first = int(np.argmax(is_short))
            raise ArgumentError(
                f"{arg.n_negatives} must be below the number of items to rank, got {n_negatives}, "
                f"but {int(is_short.sum())} targets have too few items, first user "
                f"{_check.label(self.user[first])} with {self.n_items[first]} items. Draw fewer, "
                "or rank all items: podium.catalogue.target_ranks."
            )

    def n_own_items(self, history: Any) -> Ints | None:
        """Return the number of the user's own items among each target's candidates: (n_targets,).

        Parameters
        ----------
        history : scipy.sparse matrix, (n_users, n_items), or None
        """
        if history is None:
            return None
        shape = self.labels.size, self.catalogue_size
        own_rows = read_excluded(history, shape, "history")
        visible, _ = split_overlap(own_rows, "history", self.hidden, "drop")
        pairs = np.repeat(np.arange(shape[0]), visible.sizes) * shape[1] + visible.items
        target_is_own = np.isin(self.rows * shape[1] + self.targets, pairs, assume_unique=True)
        return visible.sizes[self.rows] - target_is_own


def read_plan(
    targets: Any,
    *,
    exclude: Any,
    overlap: Overlap,
    other_targets: str,
    users: ArrayLike | None,
) -> DrawPlan:
    """Check the targets and the excluded items, and label the users."""
    if not _check.is_sparse(targets) or len(targets.shape) != 2:
        raise ArgumentError(
            "targets must be a scipy.sparse matrix of users x items, got "
            f"{type(targets).__name__}. Wrap it: scipy.sparse.csr_array(targets)."
        )
    shape: tuple[int, int] = targets.shape
    excluded = read_excluded(exclude, shape)
    kept_targets, _ = split_overlap(
        read_relevant(targets, "targets", shape), "targets", excluded, overlap
    )
    if not kept_targets.items.size:
        raise ArgumentError("targets must hold at least one user's target, got none.")
    labels = np.arange(shape[0]) if users is None else read_labels(users, "users", shape[0])
    rows = np.repeat(np.arange(shape[0]), kept_targets.sizes)
    hidden = excluded.block(0, shape[0])
    n_items = shape[1] - excluded.sizes[rows]
    if _check.choice(other_targets, "other_targets", ("keep", "exclude")) == "exclude":
        hidden = _union(hidden, kept_targets.block(0, shape[0]), shape)
        n_items = shape[1] - hidden.sizes[rows] + 1
    return DrawPlan(
        labels,
        label_keys(labels),
        rows,
        kept_targets.items.astype(np.int64),
        hidden,
        n_items,
        shape[1],
    )


def draw_bits(seed: int) -> np.uint64:
    """Return the 64 random bits for drawing candidates."""
    return np.random.SeedSequence([_check.seed(seed), _DRAW]).generate_state(1, np.uint64)[0]


def _union(left: Rows, right: Rows, shape: tuple[int, int]) -> Rows:
    """Return the items of either, in increasing order and distinct within a user."""
    owners = [np.repeat(np.arange(shape[0]), rows.sizes) for rows in (left, right)]
    pairs = np.unique(np.concatenate(owners) * shape[1] + np.concatenate([left.items, right.items]))
    sizes = np.bincount(pairs // shape[1], minlength=shape[0])
    return Rows(row_offsets(sizes), (pairs % shape[1]).astype(np.int64), np.ones(pairs.size))


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
        The scores, in the forms of `podium.catalogue.rank_blocks`. For a pair of factors, only
        the products of the drawn items are computed.
    targets : scipy.sparse matrix, (n_users, n_items)
        The held-out items as stored entries, one or several per user.
    n_negatives : int or sequence of int
        The number of items drawn beside a target. A sequence of increasing sizes, such as
        ``(100, 200, 400)``, gives a sample that grows to the next size while the target comes
        first in it.
    replacement : bool
        Whether an item can be drawn twice.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not drawn for a user, as stored entries. The user's catalogue consists
        of the other items, and n_items of the result then has one size per target.
    overlap : {"error", "drop"}
        The treatment of targets that are in exclude.
    other_targets : {"keep", "exclude"}
        Whether the other targets of a user are candidates.
    ties : {"worst", "best", "id", "random"}
        The order of equal scores, as in `podium.catalogue.target_ranks`. Without `users`, it gives
        the same order under "random" with the same seed. Other targets of the user are candidates
        like any other: under "worst", two equal targets are both above each other, while
        `target_ranks` gives them different ranks.
    users : (n_users,), optional
        The labels of the rows, integers or strings; by default row numbers.
    history : scipy.sparse matrix, (n_users, n_items), optional
        The users' own (training) items as stored entries. `SampledRanks.history` of the result is
        the number of them that can be drawn for a target, so that excluded items do not count.
    seed : int
        The seed. A target's sample depends only on the seed, the user's label and the item, not
        on the order or the number of users.

    Returns
    -------
    SampledRanks
        One rank per target.

    Raises
    ------
    ArgumentError
        If fewer than n_negatives items can be drawn, or for a reason listed in
        `podium.catalogue.rank_blocks`.

    Notes
    -----
    Cost: one look-up per drawn item of a matrix, n_factors products per drawn item of a pair of
    factors. A sample of all items (n_negatives = n_items - 1 without replacement) gives the exact
    rank.

    References
    ----------
    krichene2020; li2023 (growing samples).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = sample_ranks([[0.3, 0.2, 0.1, 0.4]], csr_array([[1, 0, 0, 0]]), 3,
    ...                      replacement=False)
    >>> found.ranks.tolist(), found.n_items
    ([2], 4)
    """
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets=other_targets, users=users
    )
    own_counts = plan.n_own_items(history)
    stages = _stages(n_negatives)
    above, sizes = rank_targets(
        scores, plan, plan.targets, stages, replacement=replacement, ties=ties, seed=seed
    )
    return SampledRanks(
        above + 1,
        sizes,
        plan.n_items,
        replacement=replacement,
        user=plan.user,
        stages=stages if len(stages) > 1 else None,
        history=own_counts,
    )


def rank_targets(
    scores: Scores,
    plan: DrawPlan,
    streams: Ints,
    stages: tuple[int, ...],
    *,
    replacement: bool,
    ties: Ties,
    seed: int,
) -> tuple[Ints, Ints]:
    """Draw candidates; return the number above each target, and the number drawn.

    Parameters
    ----------
    scores, replacement, ties, seed
        The parameters of `sample_ranks`.
    plan : DrawPlan
    streams : int64, (n_targets,)
        The number of each target's random stream. The targets of a user that have the same stream
        and the same possible candidates have the same sample.
    stages : tuple of int
        The sizes of samples.
    """
    source, shape = read(scores), (plan.labels.size, plan.catalogue_size)
    if source.shape != shape:
        raise ArgumentError(
            f"targets must have the shape of scores, users x items = {source.shape}, got {shape}."
        )
    plan.require_candidates(stages[-1])
    tie_order = _kernels.Tie(tie_rule(ties), random_bits(seed))
    replacement = _check.flag(replacement, "replacement")
    draws = _kernels.Draws(draw_bits(seed), plan.catalogue_size, replacement)
    above, sizes = np.empty((2, plan.targets.size), np.int64)

    def rank(block: _kernels.Scores, start: int, stop: int) -> tuple[int, int]:
        part = slice(*np.searchsorted(plan.rows, [start, stop]))
        rows = plan.rows[part]
        return _kernels.rank_drawn(
            block,
            draws,
            tie_order,
            _kernels.Targets(plan.keys[rows], rows - start, plan.targets[part], streams[part]),
            plan.hidden.block(start, stop),
            np.asarray(stages),
            above[part],
            sizes[part],
        )

    rank_blocks(scores, source, rank)
    return above, sizes


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

    The result has the same distribution as that of `sample_ranks`, without scores. A repetition
    of a sampled evaluation costs one random number per user.

    Parameters
    ----------
    ranks : int, (n,)
        The ranks in the whole catalogue, from 1 to n_items.
    n_items : int
        The number of items of the catalogue.
    n_negatives, replacement
        The design, as in `sample_ranks`.
    user : (n,), optional
        The user of each target, if users have several targets.
    history : int, (n,), optional
        The numbers of own items, as in `SampledRanks`.
    seed : int
        The seed. The result also depends on the order of ranks.

    Returns
    -------
    SampledRanks

    Examples
    --------
    >>> simulate_ranks([1, 4], 4, 3, replacement=False).ranks.tolist()
    [1, 4]
    """
    stages = _stages(n_negatives)
    design = Design(stages[-1], n_items, replacement, stages)
    observed = integers(ranks, "ranks")
    is_outside = (observed < 1) | (observed > n_items)
    if is_outside.any():
        row = int(np.argmax(is_outside))
        raise ArgumentError(
            f"ranks must lie from 1 to {arg.n_items} = {n_items}, got {observed[row]} at row {row} "
            f"({int(is_outside.sum())} such ranks)."
        )
    better = observed - 1
    rng = np.random.default_rng([_check.seed(seed), 4])
    above, sizes, n_drawn = np.zeros_like(better), np.zeros_like(better), 0
    for size in design.stages:
        undecided = np.flatnonzero(above == 0)
        sizes[undecided] = size
        above[undecided] = _more_above(rng, better[undecided], size - n_drawn, n_drawn, design)
        n_drawn = size
    return SampledRanks(
        above + 1,
        sizes,
        design.n_items,
        replacement=replacement,
        user=user,
        stages=stages if design.grows else None,
        history=history,
    )


def _more_above(
    rng: np.random.Generator, better: Ints, n: int, n_drawn: int, design: Design
) -> Ints:
    """Draw the number of n more items above targets that come before all `n_drawn` items."""
    n_others = design.n_items - 1
    if design.replacement:
        return rng.binomial(n, better / n_others)
    return rng.hypergeometric(better, n_others - better - n_drawn, n)


def _stages(n_negatives: int | Sequence[int]) -> tuple[int, ...]:
    if np.ndim(n_negatives) == 0:
        return (_check.cutoff(n_negatives, name="n_negatives"),)
    stages = read_stages(cast("Sequence[int]", n_negatives))
    return stages or (_check.cutoff(None, name="n_negatives"),)


def rank_blocks(
    scores: Scores,
    source: Source,
    rank: Callable[[_kernels.Scores, int, int], tuple[int, int]],
) -> None:
    """Rank the targets of all users, by blocks of scores or by factors of all users.

    `rank` ranks those of users start .. stop - 1. It returns the place of a score that is not
    finite, for which an error is raised, or a negative row.
    """
    blocks = source.blocks(source.block_size)
    right = np.empty((0, 0), source.dtype)
    if isinstance(scores, tuple) and len(scores) == 2:
        left, right = (np.ascontiguousarray(factor, dtype=source.dtype) for factor in scores)
        blocks = [(0, left)]
    for start, left in blocks:
        row, item = rank(_kernels.Scores(left, right), start, start + left.shape[0])
        if row >= 0:
            refuse_score(start + row, item, np.inf if right.size else left[row, item])


def tie_rule(ties: Ties) -> int:
    """Return the number of a tie rule."""
    return RULES[_check.choice(ties, "ties", _TIES)]
