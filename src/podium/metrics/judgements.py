"""Metrics of which items are judged."""

from __future__ import annotations

import numpy as np

from podium.errors import ArgumentError
from podium.metrics import _kernels, _passes
from podium.metrics._registry import register
from podium.ranking import Ranking, count_between
from podium.types import Counts, Mask, PerGroup


@register("bpref", cutoff="none", judgements=True)
def bpref(ranking: Ranking) -> PerGroup:
    """Return the binary preference: how few judged negatives rank above the judged positives.

    It is the mean over all positives of 1 - min(negatives above, n_pos) / min(n_pos, n_neg), where
    negatives are judged items and n_neg is their number, in the list or not. A positive that is
    not in the list adds 0.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists, with `judged` if not all items are judged.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan without a positive.

    Raises
    ------
    ArgumentError
        If the judged items are not marked; see `podium.data.ranking`.

    References
    ----------
    buckley2004, as computed by trec_eval.

    Examples
    --------
    >>> judged = [True, False, True, True]
    >>> r = Ranking.from_scores([4.0, 3.0, 2.0, 1.0], [0, 0, 1, 1], judged=judged)
    >>> bpref(r)
    array([0.])
    """
    judged, n_judged = _judgements(ranking, "bpref")
    n_pos = ranking.n_pos
    out = np.empty(ranking.n_groups)
    _kernels.preferences(
        ranking.groups.offsets,
        ranking.relevance,
        judged,
        ranking.min_relevance,
        n_pos,
        n_judged - n_pos,
        out,
    )
    return out / n_pos


@register("judged", cutoff="required", ideal_defined=False, needs_positive=False, judgements=True)
def judged(ranking: Ranking, *, k: int) -> PerGroup:
    """Return the share of the k top ranks whose item is judged.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists, with `judged` if not all items are judged.
    k : int
        The cutoff in items, at least 1. A shorter list is divided by its length.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan for an empty list.

    Raises
    ------
    ArgumentError
        If the judged items are not marked; see `podium.data.ranking`.

    Notes
    -----
    The value does not depend on relevance, and groups without a positive have one.

    Examples
    --------
    >>> judged_rows = [True, False, True]
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 0], judged=judged_rows)
    >>> judged(r, k=2)
    array([0.5])
    """
    is_judged, _ = _judgements(ranking, f"judged@{k}")
    depth = np.minimum(_passes.depths(ranking, k), ranking.groups.sizes)
    rank = np.arange(is_judged.size) - np.repeat(ranking.groups.offsets[:-1], ranking.groups.sizes)
    return count_between(is_judged & (rank < k), ranking.groups.offsets) / depth


def _judgements(ranking: Ranking, measure: str) -> tuple[Mask, Counts]:
    """Return whether each row is judged, and the number of judged items of each group."""
    if ranking.judged is None and ranking.n_judged is not None:
        raise ArgumentError(
            f"{measure} reads which items are judged. Pass it to podium.data.ranking as a measure."
        )
    flags = ranking.judged
    if flags is None:
        flags = np.ones(ranking.relevance.size, np.bool_)
    if ranking.n_judged is not None:
        return flags, ranking.n_judged
    offsets = ranking.groups.offsets
    n_unlisted = ranking.n_relevant - count_between(ranking.relevance > 0, offsets)
    return flags, count_between(flags, offsets) + n_unlisted
