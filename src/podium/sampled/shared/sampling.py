"""Samples of items that all targets of a user share, ranked by scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.catalogue.source import Scores, read
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError, arg
from podium.sampled._draws import read_plan
from podium.sampled.design import Floats
from podium.sampled.sampling import rank_targets, refuse_nonfinite, require_shape, score_blocks
from podium.sampled.scanning.strata import StratifiedCandidates, draw_strata
from podium.sampled.shared.ranks import SharedRanks
from podium.types import Ties

_MOST_PAIRS = 2**18  # whose factors are in memory


def sample_shared(
    scores: Scores,
    targets: Any,
    n_negatives: int | None = None,
    *,
    proxy: Scores | ArrayLike | None = None,
    lists: ArrayLike | None = None,
    certain: int = 0,
    uniform: int | None = None,
    replacement: bool = True,
    exclude: Any = None,
    overlap: Overlap = "error",
    ties: Ties = "worst",
    users: ArrayLike | None = None,
    seed: int = 0,
) -> SharedRanks:
    """Rank the targets of each user among items that are chosen once for the user.

    Parameters
    ----------
    scores, targets, replacement, exclude, overlap, users, seed
        The parameters of `sample_ranks`. Targets of the user are not drawn.
    n_negatives : int, optional
        The number of items drawn for each user, without a proxy.
    proxy, lists, certain, uniform
        The parameters of `draw_strata`: the first `certain` items of a proxy's list are ranked for
        certain, and `uniform` items are drawn without replacement from the others. They replace
        n_negatives. With certain=0, the proxy has no effect.
    ties : {"worst", "best", "id", "random"}
        The order of equal scores, as in `sample_ranks`. With a proxy, it is "worst" or "best".

    Returns
    -------
    SharedRanks

    Raises
    ------
    ArgumentError
        If fewer than n_negatives items can be drawn, if both n_negatives and uniform are given, or
        for a reason listed in `sample_ranks` or `draw_strata`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> held_out = csr_array([[1, 0, 1, 0]])
    >>> sample_shared([[0.3, 0.2, 0.1, 0.4]], held_out, 2, replacement=False)
    SharedRanks(2 targets of 1 users, n_negatives=2, n_items=4, replacement=False)
    >>> popularity = [9, 8, 7, 6]
    >>> sample_shared([[0.3, 0.2, 0.1, 0.4]], held_out, proxy=popularity, certain=1, uniform=1)
    SharedRanks(2 targets of 1 users, n_listed=1, n_negatives=1, n_items=4, replacement=False)
    """
    options: dict[str, Any] = {"exclude": exclude, "overlap": overlap, "users": users, "seed": seed}
    if uniform is None:
        _refuse_half_design(proxy, lists, certain)
        n_drawn = _check.cutoff(n_negatives, name="n_negatives")
        return _uniform(scores, targets, n_drawn, replacement=replacement, ties=ties, **options)
    if n_negatives is not None:
        raise ArgumentError(
            f"{arg.n_negatives} and uniform are both numbers of drawn items. Give uniform with a "
            "proxy."
        )
    if not certain:
        n_drawn = _check.cutoff(uniform, name="uniform")
        return _uniform(scores, targets, n_drawn, replacement=False, ties=ties, **options)
    drawn = draw_strata(
        targets,
        proxy=proxy,
        lists=lists,
        certain=certain,
        uniform=uniform,
        other_targets="exclude",
        **options,
    )
    pairs = _pair_scores(scores, targets.shape, drawn)
    return SharedRanks.of_candidates(drawn, pairs, ties=ties)


def _uniform(
    scores: Scores,
    targets: Any,
    size: int,
    *,
    replacement: bool,
    ties: Ties,
    seed: int,
    **options: Any,
) -> SharedRanks:
    if ties == "average":
        raise ArgumentError(
            f"{arg.ties('average')} is undefined for targets that share a sample, because it gives "
            "ranks between two items. Use 'worst', 'best', 'random' or 'id'."
        )
    plan = read_plan(targets, other_targets="exclude", **options)
    drawing: dict[str, Any] = {"replacement": replacement, "ties": ties, "seed": seed}
    doubled_above, _ = rank_targets(scores, plan, np.zeros_like(plan.targets), (size,), **drawing)
    n_targets = np.bincount(plan.rows)[plan.rows]
    return SharedRanks(
        doubled_above // 2,
        size,
        plan.n_items + n_targets - 1,
        user=plan.user,
        replacement=replacement,
        item=plan.targets,
    )


def _pair_scores(scores: Scores, shape: tuple[int, int], drawn: StratifiedCandidates) -> Floats:
    """Return the score of each row of candidates, which are in the order of users."""
    source, pair_scores = read(scores), np.empty(drawn.row.size)
    require_shape(source, shape)
    for start, left, right in score_blocks(scores, source):
        first, end = np.searchsorted(drawn.row, [start, start + left.shape[0]]).tolist()
        for begin in range(first, end, _MOST_PAIRS):
            part = slice(begin, min(begin + _MOST_PAIRS, end))
            rows, items = drawn.row[part] - start, drawn.item[part]
            values = (left[rows] * right[items]).sum(axis=1) if right.size else left[rows, items]
            if not np.isfinite(values).all():
                bad = int(np.argmin(np.isfinite(values)))
                refuse_nonfinite(start, (left, right), int(rows[bad]), int(items[bad]))
            pair_scores[part] = values
    return pair_scores


def _refuse_half_design(proxy: Any, lists: Any, certain: int) -> None:
    if proxy is not None or lists is not None or certain:
        raise ArgumentError(
            "uniform is missing: a proxy needs certain, the number of its first items, and "
            "uniform, the number of random others."
        )
