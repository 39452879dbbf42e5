"""Metrics of graded relevance."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.discounts import METRIC_GAINS, Discount, MetricGain, discounts
from podium.errors import ArgumentError, arg
from podium.metrics import _kernels, _passes
from podium.metrics._registry import Places, register
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow

_LEAST_GAIN, _LARGEST_GAIN = 1e-290, 1e90  # in between, sums and their cubes keep their digits
_LARGEST_EXPONENT = 298.0  # 2 ** 298 is below this gain
_MOST_RANKS = 10_000_000  # the weights of all ranks are added up


def _dcg_terms(places: Places, *, k: int | None, discount: Discount, **_: Any) -> PerRow:
    # All gains of grade 1 are 1.
    n_ranks = int(places.ranks.max(initial=0))
    return places.within(k) * discounts(n_ranks, discount)[places.ranks - 1]


def _ndcg_terms(
    places: Places, *, k: int | None, discount: Discount, ideal: str, **_: Any
) -> PerRow:
    n_best = places.reachable(k) if ideal == "best" else k or places.n_items
    return _dcg_terms(places, k=k, discount=discount) / discounts(n_best, discount).sum()


@register(
    "dcg",
    cutoff="optional",
    aliases=("dcg_score",),
    bounds=(0.0, np.inf),
    graded=True,
    ideal_defined=False,
    linear=True,
    rank_weights=_dcg_terms,
    exceptions={"graded": {"gain": ("binary",)}},
)
def dcg(
    ranking: Ranking,
    *,
    k: int | None = None,
    gain: MetricGain = "linear",
    discount: Discount = "log2",
) -> PerGroup:
    """Return the discounted cumulative gain of the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists. Ranks below a list's end have no gain.
    k : int, optional
        The cutoff in items. By default, the whole list counts.
    gain : {"linear", "exp2", "binary"}
        The gain of an item: its relevance, 2 ** relevance - 1, or 1 for a positive.
    discount : {"log2", "letor"}
        The weight of a rank: 1 / log2(rank + 1), or that of LETOR, in which ranks 1 and 2 have
        the same weight.

    Returns
    -------
    float64, (n_groups,)
        Sums in units of the gain; nan without relevance > 0, and with gain="binary" without a
        positive.

    References
    ----------
    jarvelin2002; qin2010 for "letor".

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [2, 0, 1])
    >>> dcg(r) == 2 + 1 / np.log2(4)
    array([ True])
    """
    refuse_extreme(_highest(ranking), gain)
    weights = discounts(_passes.longest_depth(ranking, k), discount)
    return _passes.discounted_gain(ranking, _passes.depths(ranking, k), weights, gain)


@register(
    "ndcg",
    cutoff="optional",
    aliases=("ndcg_score",),
    graded=True,
    linear=True,
    rank_weights=_ndcg_terms,
    exceptions={"ideal_defined": {"ideal": ("full",)}, "graded": {"gain": ("binary",)}},
)
def ndcg(
    ranking: Ranking,
    *,
    k: int | None = None,
    gain: MetricGain = "linear",
    discount: Discount = "log2",
    ideal: Literal["best", "full"] = "best",
) -> PerGroup:
    """Return the discounted cumulative gain over that of the best possible list.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists. Ranks below a list's end have no gain.
    k : int, optional
        The cutoff in items, also of the best possible list. By default, whole lists count.
    gain : {"linear", "exp2", "binary"}
        The gain of an item: its relevance, 2 ** relevance - 1, or 1 for a positive.
    discount : {"log2", "letor"}
        The weight of a rank: 1 / log2(rank + 1), or that of LETOR, in which ranks 1 and 2 have
        the same weight.
    ideal : {"best", "full"}
        The list that is compared with: the best list, or one that has the group's highest grade at
        all k ranks, or at all ranks of the list.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan without relevance > 0, and with gain="binary" without a positive.

    Notes
    -----
    The best list includes relevant items that were not retrieved. A relevance below min_relevance
    has a gain only with low_grades="keep", see `Ranking`.

    References
    ----------
    jarvelin2002; qin2010 for "letor".

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> ndcg(r, k=2) == 1 / (1 + 1 / np.log2(3))
    array([ True])
    """
    refuse_extreme(_highest(ranking), gain)
    weights = discounts(_passes.longest_depth(ranking, k), discount)
    gain_sums = _passes.discounted_gain(ranking, _passes.depths(ranking, k), weights, gain)
    if _check.choice(ideal, "ideal", ("best", "full")) == "full":
        return gain_sums / _full_gain(ranking, k, discount, gain)
    return gain_sums / _passes.ideal_gain(ranking, _passes.best_depths(ranking, k), weights, gain)


def _full_gain(ranking: Ranking, k: int | None, discount: Discount, gain: MetricGain) -> PerGroup:
    """Return the gain of lists with the group's highest grade at each rank; 0 without one."""
    if k is not None and k > _MOST_RANKS:
        raise ArgumentError(
            f"ideal='full' takes cutoffs up to {_MOST_RANKS:,}, got {k:,}. Leave the cutoff out to "
            "use whole lists."
        )
    n_ranks = np.full(ranking.n_groups, k) if k is not None else np.maximum(ranking.groups.sizes, 1)
    sums = np.cumsum(discounts(int(n_ranks.max(initial=1)), discount))
    return _passes.graded(ranking, _highest(ranking), gain) * sums[n_ranks - 1]


def _highest(ranking: Ranking) -> PerGroup:
    """Return the highest relevance of each group; 0 without a relevance > 0."""
    highest = np.zeros(ranking.n_groups)
    has_ideal = ranking.n_relevant > 0
    highest[has_ideal] = ranking.ideal[ranking.ideal_offsets[:-1][has_ideal]]
    return highest


def refuse_extreme(grades: NDArray[np.float64], gain: MetricGain) -> None:
    """Raise if gain is unknown, or if sums of the gains of grades > 0 would lose digits."""
    highest, lowest = grades.max(initial=1.0), grades[grades > 0].min(initial=1.0)
    if _check.choice(gain, "gain", METRIC_GAINS) == "exp2" and highest > _LARGEST_EXPONENT:
        raise ArgumentError(
            f"{arg.gain('exp2')} takes grades up to {_LARGEST_EXPONENT:g}, got a relevance of "
            f"{highest:g}. Use {arg.gain('linear')}, or grades on a shorter scale."
        )
    if gain == "linear" and not _LEAST_GAIN <= lowest <= highest <= _LARGEST_GAIN:
        extreme = highest if highest > _LARGEST_GAIN else lowest
        raise ArgumentError(
            f"{arg.gain('linear')} takes lists whose highest relevance lies between "
            f"{_LEAST_GAIN:g} and {_LARGEST_GAIN:g}, got {extreme:g}. Divide all relevances by one "
            "number."
        )


@register("err", cutoff="optional", graded=True, ideal_defined=False)
def err(ranking: Ranking, *, k: int | None = None, max_grade: float = 4.0) -> PerGroup:
    """Return the expected reciprocal rank at which the reader stops.

    The reader reads from the top. An item of grade g satisfies the reader, who then stops, with
    probability (2 ** g - 1) / 2 ** max_grade.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        The cutoff in items. By default, the whole list counts.
    max_grade : float
        The highest grade of the scale. It is not the highest grade of the data, so that the
        value of a list does not depend on the other lists. The default is 4, as in the Web Track of
        TREC. Use 1 for binary relevance.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1); nan without relevance > 0.

    Raises
    ------
    ArgumentError
        If a relevance is above max_grade.

    References
    ----------
    chapelle2009.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> err(r, max_grade=1) == 1 / 2 + (1 / 2) * (1 / 2) / 3
    array([ True])
    """
    top = _check.positive(max_grade, "max_grade")
    highest = ranking.ideal.max(initial=0.0)
    if highest > top:
        raise ArgumentError(
            f"max_grade must be at least the highest relevance, got {top:g} and a relevance of "
            f"{highest:g}. Write the top of your scale, such as err(max_grade={highest:g})."
        )
    out = np.empty(ranking.n_groups)
    _kernels.cascade(
        ranking.groups.offsets, ranking.relevance, top, _passes.depths(ranking, k), out
    )
    return out


@register("topk_loss", cutoff="required", graded=True, higher_is_better=False)
def topk_loss(ranking: Ranking, *, k: int) -> PerGroup:
    """Return the top-k 0-1 loss.

    The loss is 0 if the grades of the k top ranks, in order, are those of the best list, else 1.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists. Ranks below a list's end count as grade 0.
    k : int
        The cutoff in items, at least 1.

    Returns
    -------
    float64, (n_groups,)
        Values 0 or 1, lower is better; nan without relevance > 0.

    Notes
    -----
    The order of items of the same grade does not matter, because the grades do not define it.
    With distinct grades this is the loss of the paper.

    References
    ----------
    xia2009, section 3.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [2, 0, 1])
    >>> topk_loss(r, k=1), topk_loss(r, k=2)
    (array([0.]), array([1.]))
    """
    out = np.empty(ranking.n_groups)
    _kernels.differs_from_ideal(
        ranking.groups.offsets,
        ranking.relevance,
        ranking.ideal_offsets,
        ranking.ideal,
        np.full(ranking.n_groups, k),
        out,
    )
    return out
