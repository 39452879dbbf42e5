"""Draws of items for each target, and the rank of the target among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._kernels import drawn_keys
from podium._ties import label_keys, random_bits
from podium.catalogue.counting import Block, refuse_score
from podium.catalogue.source import Scores, Source, read
from podium.catalogue.sparse import Overlap, Rows, read_excluded, read_relevant, split_overlap
from podium.errors import ArgumentError, arg
from podium.groups import find, row_offsets
from podium.sampled import _kernels
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.ranks import SampledRanks, integers
from podium.sampled.ranks import labels as read_labels
from podium.sampled.shared import SharedRanks
from podium.types import Labels, Mask, Ties

_DRAW = 2  # purpose number in a seed; random ties of the catalogue use 1
_SCORED = 2**22  # drawn items that are scored at a time
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

    def read(self, scores: Scores, name: str = "scores") -> Source:
        """Check scores of the users and the items."""
        source, shape = read(scores), (self.labels.size, self.catalogue_size)
        if source.shape != shape:
            raise ArgumentError(
                f"{name} must have the shape of targets, users x items = {shape}, got "
                f"{source.shape}."
            )
        return source

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

    def draw(
        self,
        numbers: Ints,
        n: int,
        seed: int,
        *,
        replacement: bool,
        streams: Ints | None = None,
        hidden: Rows | None = None,
    ) -> Ints:
        """Draw n items for some targets; the first draws do not depend on n.

        Parameters
        ----------
        numbers : int64, (n_targets,)
            The numbers of the targets.
        n, seed : int
        replacement : bool
        streams : int64, optional
            The numbers of the random streams of all targets; by default the targets. The targets of
            a user that have the same stream and the same possible candidates have the same sample.
        hidden : Rows, optional
            The items of each target that are not drawn; by default those of its user.

        Returns
        -------
        int64, (n_targets, n)
            The items, followed by -1 if fewer can be drawn.
        """
        rows, targets = self.rows[numbers], self.targets[numbers]
        streams = targets if streams is None else streams[numbers]
        hidden_rows = rows if hidden is None else np.arange(numbers.size)
        marks = np.full(0 if replacement else self.catalogue_size, -1)
        items = np.empty((numbers.size, n), np.int64)
        bits = np.random.SeedSequence([_check.seed(seed), _DRAW]).generate_state(1, np.uint64)[0]
        drawing = bits, self.keys[rows], targets, streams, hidden_rows, hidden or self.hidden
        _kernels.draw_items(*drawing, marks, self.catalogue_size, n, items)
        return items

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
        targets = self.rows * shape[1] + self.targets
        target_is_own = find(visible.keys(shape[1]), targets) >= 0
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
    rows = kept_targets.users
    hidden = excluded.block(0, shape[0])
    n_items = shape[1] - excluded.sizes[rows]
    if _check.choice(other_targets, "other_targets", ("keep", "exclude")) == "exclude":
        hidden = _union(hidden, kept_targets.block(0, shape[0]), shape)
        n_items = shape[1] - hidden.sizes[rows] + 1
    items = kept_targets.items.astype(np.int64)
    return DrawPlan(labels, label_keys(labels), rows, items, hidden, n_items, shape[1])


def _union(left: Rows, right: Rows, shape: tuple[int, int]) -> Rows:
    """Return the items of either, in increasing order and distinct within a user."""
    pairs = np.unique(np.concatenate([rows.keys(shape[1]) for rows in (left, right)]))
    sizes = np.bincount(pairs // shape[1], minlength=shape[0])
    return Rows(row_offsets(sizes), (pairs % shape[1]).astype(np.int64), np.ones(pairs.size))


def sample_ranks(
    scores: Scores,
    targets: Any,
    n_negatives: int,
    *,
    replacement: bool = True,
    exclude: Any = None,
    overlap: Overlap = "error",
    other_targets: str = "keep",
    ties: Ties = "worst",
    users: ArrayLike | None = None,
    history: Any = None,
    shared: bool = False,
    seed: int = 0,
) -> Any:
    """Rank each target among items that are drawn for it, uniformly from all others.

    Parameters
    ----------
    scores : (n_users, n_items), or pair (user_factors, item_factors)
        The scores, in the forms of `podium.catalogue.rank_blocks`. For a pair of factors, only
        the products of the drawn items are computed.
    targets : scipy.sparse matrix, (n_users, n_items)
        The held-out items as stored entries, one or several per user.
    n_negatives : int
        The number of items drawn beside a target.
    replacement : bool
        Whether an item can be drawn twice.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not drawn for a user, as stored entries. The user's catalogue consists
        of the other items, and n_items of the result then has one size per target.
    overlap : {"error", "drop"}
        The treatment of targets that are in exclude.
    other_targets : {"keep", "exclude"}
        Whether the other targets of a user are candidates. If targets share a sample, they are not.
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
    shared : bool
        Whether the targets of a user share a sample, for measures of whole rankings. With a proxy,
        see `draw_candidates`.
    seed : int
        The seed. A target's sample depends only on the seed, the user's label and the item, not
        on the order or the number of users.

    Returns
    -------
    SampledRanks, or SharedRanks with ``shared=True``
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
    krichene2020.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = sample_ranks([[0.3, 0.2, 0.1, 0.4]], csr_array([[1, 0, 0, 0]]), 3,
    ...                      replacement=False)
    >>> found.ranks.tolist(), found.n_items
    ([2], 4)
    >>> held_out = csr_array([[1, 0, 1, 0]])
    >>> sample_ranks([[0.3, 0.2, 0.1, 0.4]], held_out, 2, replacement=False, shared=True)
    SharedRanks(2 targets of 1 users, n_negatives=2, n_items=4, replacement=False)
    """
    is_shared, size = _check.flag(shared, "shared"), _check.cutoff(n_negatives, name="n_negatives")
    others = "exclude" if is_shared else other_targets
    plan = read_plan(targets, exclude=exclude, overlap=overlap, other_targets=others, users=users)
    own_counts = plan.n_own_items(history)
    # Targets of a user with one stream and the same possible candidates have the same sample.
    streams = np.zeros_like(plan.targets) if is_shared else plan.targets
    source = plan.read(scores)
    plan.require_candidates(size)
    replacement = _check.flag(replacement, "replacement")
    is_above = _tie_rule(plan, _check.choice(ties, "ties", _TIES), seed)
    above = np.empty(plan.targets.size, np.int64)
    for part, scores_of in scored_parts(source, plan.rows, size):
        numbers: Ints = np.arange(part.start, part.stop, dtype=np.int64)
        items = plan.draw(numbers, size, seed, replacement=replacement, streams=streams)
        score = scores_of(np.repeat(plan.rows[part], size), items.ravel()).reshape(items.shape)
        target_score = scores_of(plan.rows[part], plan.targets[part])[:, None]
        above[part] = is_above(part, items, score, target_score).sum(axis=1)
    n_others = np.bincount(plan.rows)[plan.rows] - 1 if is_shared else 0
    ranks = SampledRanks(
        above + 1,
        size,
        plan.n_items + n_others,
        replacement=replacement,
        user=plan.user,
        history=own_counts,
        item=plan.targets if is_shared else None,
    )
    return SharedRanks(ranks) if is_shared else ranks


def _tie_rule(plan: DrawPlan, rule: Ties, seed: int) -> Callable[..., Mask]:
    """Return a function of a part of the targets that marks the items above each target.

    Its other parameters are the items, their scores and those of the targets: (n, size), (n, size)
    and (n, 1).
    """
    bits = random_bits(seed)

    def places(keys: NDArray[np.uint64], items: Ints) -> Floats:
        """Return random places, which depend only on the user and the item, as in the catalogue."""
        random, offsets = np.empty(items.size), np.arange(len(items) + 1) * items.shape[1]
        drawn_keys(bits, keys, offsets, items.ravel().view(np.uint64), random)
        return random.reshape(items.shape)

    def is_above(part: slice, items: Ints, score: Any, target_score: Any) -> Mask:
        targets, keys = plan.targets[part, None], plan.keys[plan.rows[part]]
        if rule == "worst":
            return score >= target_score
        above = score > target_score
        if rule == "id":
            above |= (score == target_score) & (items > targets)
        elif rule == "random":
            above |= (score == target_score) & (places(keys, items) > places(keys, targets))
        return above

    return is_above


ScoresOf: TypeAlias = Callable[[Ints, Ints], NDArray[Any]]
"""A function of rows of users and items, int64 of equal length, that returns their scores."""


def scored_parts(source: Source, rows: Ints, width: float) -> Iterator[tuple[slice, ScoresOf]]:
    """Yield parts of the targets, and what scores pairs of their users and items.

    Parameters
    ----------
    source : Source
    rows : int64, (n_targets,)
        The row of each target's user, in increasing order.
    width : float
        The number of items that are scored for each target at a time.
    """
    step = max(1, int(_SCORED // max(width, 1)))
    for first in range(0, source.n_users, source.block_size):
        stop = min(first + source.block_size, source.n_users)
        start, end = (int(place) for place in np.searchsorted(rows, [first, stop]))
        if start == end:
            continue
        block = source.block(first, stop - first)

        def scores_of(users: Ints, items: Ints, block: Block = block, first: int = first) -> Any:
            scores, _ = block.scores(users - first, items)
            is_odd = ~np.isfinite(scores)
            if is_odd.any():
                place = int(np.argmax(is_odd))
                refuse_score(int(users[place]), int(items[place]), scores[place])
            return scores

        for place in range(start, end, step):
            yield slice(place, min(place + step, end)), scores_of


def simulate_ranks(
    ranks: ArrayLike,
    n_items: int,
    n_negatives: int,
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
    design = Design(n_negatives, n_items, replacement)
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
    n, n_others = design.n_negatives, design.n_items - 1
    if design.replacement:
        above = rng.binomial(n, better / n_others)
    else:
        above = rng.hypergeometric(better, n_others - better, n)
    return SampledRanks(
        above + 1, n, design.n_items, replacement=replacement, user=user, history=history
    )


def counts_above(
    codes: Ints, score: Floats, is_target: NDArray[np.bool_], is_candidate: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Return the numbers of users' candidates above each target, and equal to it.

    `codes` has the number of each row's user.
    """
    levels, score_level = np.unique(score, return_inverse=True)
    keys = codes * levels.size + score_level
    candidates, targets = np.sort(keys[is_candidate]), keys[is_target]
    user_ends = np.searchsorted(candidates, (codes[is_target] + 1) * levels.size)
    end_of_equal = np.searchsorted(candidates, targets, side="right")
    return user_ends - end_of_equal, end_of_equal - np.searchsorted(candidates, targets)
