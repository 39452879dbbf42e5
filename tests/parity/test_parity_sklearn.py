"""scikit-learn: roc_auc_score, ndcg_score, dcg_score, average_precision_score, one list a time.

podium's convention mapped to the peer's: ``ties="average"`` for the area under the curve and for
discounted gains; distinct scores for average precision and for ``ignore_ties=True``.

Known differences
-----------------
========================  ===================================  ==================================
convention                scikit-learn                         podium
========================  ===================================  ==================================
roc_auc_score(max_fpr=f)  standardised to 1/2 for chance       pauc@k: share of ordered pairs,
                          (McClish): (1 + (a - f²/2) /         a / f with f = k / n_neg
                          (f - f²/2)) / 2
ties, ROC                 half a pair                          "worst" by default: an error
ties, average precision   one threshold: all equal scores      by rule: worst, best, id, random
                          enter at once
ndcg, ignore_ties=True    the order of an unstable sort        ties="id" states the order
no relevance > 0          ndcg 0, average precision 0, AUC     nan, counted
                          nan, with warnings
========================  ===================================  ==================================
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as peer
from sklearn.exceptions import UndefinedMetricWarning

from podium.metrics import parse
from podium.ranking import Ranking

N_GROUPS, SIZE = 40, 12
QID = np.repeat(np.arange(N_GROUPS), SIZE)
EXACT = {"rtol": 1e-12}


def data(*, tied: bool, top: int = 4) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores and grades 0 .. top - 1, with both classes in every group."""
    rng = np.random.default_rng(0)
    n = QID.size
    scores = rng.integers(-3, 3, n).astype(float) if tied else rng.permutation(n) - n / 2.0
    grades = rng.integers(0, top, n).astype(float)
    grades[::SIZE], grades[1::SIZE] = 0, 1
    return scores, grades


def by_group(function: object, grades: NDArray[np.float64], scores: NDArray[np.float64]) -> object:
    return [function(grades[q == QID], scores[q == QID]) for q in range(N_GROUPS)]


def test_some_scores_are_tied() -> None:
    scores, grades = data(tied=True, top=2)
    rows = set(zip(QID, scores, grades, strict=True))
    assert any((q, s, 1 - g) in rows for q, s, g in rows)


@pytest.mark.parametrize("tied", [True, False])
def test_auc_counts_half_a_tied_pair_under_average(tied: bool) -> None:
    scores, grades = data(tied=tied, top=2)
    got = parse("auc")(Ranking.from_scores(scores, grades, QID, ties="average"))
    np.testing.assert_allclose(got, by_group(peer.roc_auc_score, grades, scores), **EXACT)


@pytest.mark.parametrize("k", [1, 3, 7, None])
@pytest.mark.parametrize("name", ["ndcg", "dcg"])
def test_gains_are_averaged_over_ties(name: str, k: int | None) -> None:
    scores, grades = data(tied=True)
    function = getattr(peer, f"{name}_score")
    text = name if k is None else f"{name}@{k}"
    got = parse(text)(Ranking.from_scores(scores, grades, QID, ties="average"))
    expected = by_group(lambda g, s: function([g], [s], k=k), grades, scores)
    np.testing.assert_allclose(got, expected, **EXACT)


@pytest.mark.parametrize("k", [1, 3, 7, None])
def test_ties_may_be_ignored_where_there_are_none(k: int | None) -> None:
    scores, grades = data(tied=False)
    expected = by_group(
        lambda g, s: peer.ndcg_score([g], [s], k=k, ignore_ties=True), grades, scores
    )
    got = parse("ndcg" if k is None else f"ndcg@{k}")(Ranking.from_scores(scores, grades, QID))
    np.testing.assert_allclose(got, expected, **EXACT)


def test_exponential_gain_is_the_peers_ndcg_of_the_gains() -> None:
    scores, grades = data(tied=True)
    got = parse("ndcg(gain=exp2)@5")(Ranking.from_scores(scores, grades, QID, ties="average"))
    expected = by_group(lambda g, s: peer.ndcg_score([2**g - 1], [s], k=5), grades, scores)
    np.testing.assert_allclose(got, expected, **EXACT)


@pytest.mark.parametrize("tied", [False, True])
def test_average_precision_takes_equal_scores_as_one_threshold(tied: bool) -> None:
    scores, grades = data(tied=tied, top=2)
    got = parse("ap")(Ranking.from_scores(scores, grades, QID, ties="threshold"))
    np.testing.assert_allclose(got, by_group(peer.average_precision_score, grades, scores), **EXACT)


# --- Known differences --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4])
def test_partial_auc_is_standardised_otherwise(k: int) -> None:
    scores, grades = data(tied=False, top=2)
    ranking = Ranking.from_scores(scores, grades, QID)
    ours = parse(f"pauc(clip=true)@{k}")(ranking)
    for q in range(N_GROUPS):
        n_neg = int(ranking.n_neg[q])
        if n_neg <= k:
            continue
        f = k / n_neg
        theirs = peer.roc_auc_score(grades[q == QID], scores[q == QID], max_fpr=f)
        area, chance = ours[q] * f, f * f / 2
        assert theirs == pytest.approx((1 + (area - chance) / (f - chance)) / 2, rel=1e-12)


def test_a_constant_scorer_gets_one_half_from_the_peer_and_nothing_here() -> None:
    grades = [1, 0, 0, 1]
    assert peer.roc_auc_score(grades, np.zeros(4)) == 1 / 2
    assert parse("auc")(Ranking.from_scores(np.zeros(4), grades)).tolist() == [0]


def test_ignored_ties_lie_somewhere_between_worst_and_best() -> None:
    scores, grades = data(tied=True)
    theirs = np.array(
        by_group(lambda g, s: peer.ndcg_score([g], [s], ignore_ties=True), grades, scores)
    )
    worst, best = (
        parse("ndcg")(Ranking.from_scores(scores, grades, QID, ties=t)) for t in ("worst", "best")
    )
    assert np.all((worst - 1e-12 <= theirs) & (theirs <= best + 1e-12))
    assert np.any(worst < theirs - 0.01)
    assert np.any(theirs < best - 0.01)


def test_groups_with_nothing_to_find_are_zero_there_and_nan_here() -> None:
    scores, none = [2.0, 1.0], [0, 0]
    ranking = Ranking.from_scores(scores, none)
    assert peer.ndcg_score([none], [scores]) == 0
    with pytest.warns(UserWarning, match="No positive class"):
        assert peer.average_precision_score(none, scores) == 0
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(peer.roc_auc_score(none, scores))
    for text in ("ndcg", "ap", "auc"):
        assert np.isnan(parse(text)(ranking)).all()
