"""The two-way partial area under the ROC curve: its part with many positives and few negatives."""

from __future__ import annotations

import itertools

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import _passes
from podium.metrics._registry import Places, register
from podium.ranking import Ranking
from podium.types import Counts, Mask, PerGroup, PerRow


def _lacks_negatives(ranking: Ranking, *, alpha: float = 0.5, beta: float = 0.5) -> Mask:
    return ranking.n_neg == 0


def _area(ranking: Ranking, *, alpha: float = 0.5, beta: float = 0.5) -> PerGroup:
    return (1.0 - alpha) * ranking.n_pos * (beta * np.maximum(ranking.n_neg, 0))


def _terms(places: Places, *, alpha: float, beta: float) -> PerRow:
    n_top = beta * (places.n_items - places.n_pos)
    counted = np.clip(places.position - alpha * places.n_pos, 0.0, 1.0)
    with np.errstate(invalid="ignore"):  # without a negative, 0 / 0: undefined
        correct = np.maximum(n_top - places.above, 0.0) / n_top
    return counted * correct / ((1.0 - alpha) * places.n_pos)


@register(
    "pauc2",
    cutoff="none",
    aliases=("two_way_pauc", "tpauc"),
    half_pairs=True,
    needs="a negative",
    undefined=_lacks_negatives,
    weights=_area,
    rank_weights=_terms,
)
def pauc2(ranking: Ranking, *, alpha: float = 0.5, beta: float = 0.5) -> PerGroup:
    """Return the two-way partial area under the ROC curve, scaled to [0, 1].

    This is the area above the true positive rate alpha and up to the false positive rate beta,
    divided by (1 - alpha) beta: the share of correct pairs of the 1 - alpha lowest-scored positives
    and the beta highest-scored negatives. A positive or negative across which a bound falls counts
    in part, so that the area is exact for any number of items.

    Parameters
    ----------
    ranking : Ranking
        n_groups whole lists, or lists that hold all positives and have a known n_items.
    alpha : float
        The smallest true positive rate, in [0, 1).
    beta : float
        The largest false positive rate, in (0, 1].

    Returns
    -------
    float64, (n_groups,)
        Values in [0, 1]; nan without a positive or without a negative.

    Raises
    ------
    UnsettledError
        If the number of negatives is unknown, or a list has neither all positives nor the negatives
        up to beta.

    Notes
    -----
    Ties: a tied pair counts 0 with ``ties="worst"``, and one half with ``ties="average"``.
    With alpha=0 and beta=1, the value is auc.
    Cost: up to seven passes over the lists, each down to the last negative that counts.

    References
    ----------
    yang2019.

    Examples
    --------
    >>> r = Ranking.from_scores([4.0, 3.0, 2.0, 1.0], [1, 0, 1, 0])
    >>> pauc2(r), pauc2(r, alpha=0.0), pauc2(r, beta=1.0)
    (array([0.]), array([0.5]), array([0.5]))
    """
    if _check.number(alpha, "alpha", low=0.0, high=1.0) == 1.0:
        raise ArgumentError(f"{arg.alpha} must be below 1, because no positive is left above it.")
    _check.number(beta, "beta", low=0.0, high=1.0, strict=True)
    n_pos, n_top = ranking.n_pos.astype(np.float64), beta * np.maximum(ranking.n_neg, 0)
    last = np.ceil(n_top).astype(np.int64)
    _, settled = _passes.ordered_pairs(ranking, ranking.n_pos, last)
    _passes.require_settled(
        ranking,
        settled & (ranking.n_neg >= 0),
        "pauc2 needs all positives or the negatives up to beta in each list, and n_items",
        f"Rank all items, or pass {arg.n_items} if all relevant items are in the run.",
    )
    correct = _correct(ranking, n_pos, n_top) - _correct(ranking, alpha * n_pos, n_top)
    return correct / _area(ranking, alpha=alpha, beta=beta)


def _correct(ranking: Ranking, top_pos: PerGroup, top_neg: PerGroup) -> PerGroup:
    """Return the correct pairs of the best positives and negatives, of which the last are parts.

    Between whole numbers, the number of pairs is linear in each of the two.
    """
    total = np.zeros(ranking.n_groups)
    for (n_pos, part_pos), (n_neg, part_neg) in itertools.product(_ends(top_pos), _ends(top_neg)):
        weight = part_pos * part_neg
        if weight.any():
            total += weight * _passes.ordered_pairs(ranking, n_pos, n_neg)[0]
    return total


def _ends(number: PerGroup) -> tuple[tuple[Counts, PerGroup], tuple[Counts, PerGroup]]:
    """Return the whole numbers around each number, with their weights in the interpolation."""
    floor = np.floor(number)
    n, share = floor.astype(np.int64), number - floor
    return (n, 1.0 - share), (n + 1, share)
