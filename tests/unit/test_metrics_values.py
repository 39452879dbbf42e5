"""Metrics: gains, discounts, large values, every option and error; scorers of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from math import log2
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from tests.raised import raises
from tests.ranked import rank_all

import podium
from podium import data, metrics
from podium.errors import ArgumentError, PodiumWarning, UnsettledError
from podium.evaluation import evaluate, judgement_bounds, make_scorer, stats
from podium.groups import Groups
from podium.metrics import REGISTRY, coverage, dcg, err, ndcg, novelty, parse
from podium.rankers import LinearRanker
from podium.ranking import Ranking


def listed(*relevance: float, **conventions: Any) -> Ranking:
    """One list with these relevances from the top."""
    return Ranking.from_scores(-np.arange(len(relevance)), relevance, **conventions)


def value(text: str, ranking: Ranking) -> float:
    (result,) = parse(text)(ranking).tolist()
    return result


@pytest.mark.parametrize(("text", "n"), [("pap@2", 2), ("pauc@2", 2), ("auc", 3), ("auc@3", 3)])
def test_unsettled_lists_are_counted(text: str, n: int) -> None:
    qid = np.repeat(["a", "b", "c", "d"], 2)
    relevance = [1, 0, 1, 0, 1, 0, 0, 0]  # 'd' has no positive: undefined, not unsettled
    ranking = Ranking.from_scores(-np.arange(8), relevance, qid, unretrieved=([1, 1], ["b", "c"]))
    with pytest.raises(UnsettledError, match=f"{n} of 4 groups, first group '{'ab'[n == 2]}'"):
        parse(text)(ranking)


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.cutoff != "none"])
def test_k_must_be_a_positive_integer(name: str) -> None:
    for k in (0, -1, 1.5, "3", True, 10**20):
        with raises(ArgumentError, "k"):
            REGISTRY[name].function(listed(1, 0), k=k)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda r: metrics.recall(r, norm="max"), "norm"),
        (lambda r: metrics.ap(r, norm="max"), "norm"),
        (lambda r: metrics.ndcg(r, gain="exp"), "gain"),
        (lambda r: metrics.dcg(r, discount="ln"), "discount"),
        (lambda r: metrics.rbp(r, p=1.0), "p"),
        (lambda r: metrics.rbp(r, p=0.0), "p"),
        (lambda r: metrics.err(r, max_grade=0), "max_grade"),
        (lambda r: metrics.err(r, max_grade=1), "max_grade"),
        (lambda r: metrics.pap(r, k=1, clip="false"), "clip"),
        (lambda _: coverage([1, 2], 1), "n_items"),
        (lambda _: coverage([1, 2], 0), "n_items"),
        (lambda _: novelty(["a"], Groups.single(1), []), "interactions"),
        (lambda _: novelty([1, 2], Groups.single(2), ["1", "2"]), "interactions"),
        (lambda _: novelty([1, 2, 3], Groups.single(2), [1]), "items"),
    ],
)
def test_wrong_options_are_named(call: Any, parameter: str) -> None:
    with pytest.raises(ArgumentError, match=parameter):
        call(listed(2, 0))


def test_exp2_refuses_grades_whose_gain_is_no_number() -> None:
    ranking = Ranking.from_scores([2.0, 1.0], [2000, 1])
    with pytest.raises(ArgumentError, match="298"):
        parse("ndcg(gain=exp2)@2")(ranking)
    assert parse("ndcg@2")(ranking) == 1


# --- Judged items, and ties as one threshold ------------------------------------------------------

TRUTH = {"user": [1] * 3 + [2], "item": ["a", "b", "c", "a"], "relevance": [1, 0, 1, 0]}
RUN = {"user": [1, 1, 1, 2, 2], "item": ["b", "x", "a", "x", "a"], "score": [3, 2, 1, 2, 1]}


@pytest.mark.parametrize("measure", ["bpref", "judged@2"])
def test_measures_of_judged_items_require_a_ranking_that_marks_them(measure: str) -> None:
    with pytest.raises(ArgumentError):
        parse(measure)(podium.data.ranking(TRUTH, RUN))
    marked = podium.data.ranking(TRUTH, RUN, "bpref")
    expected = podium.measure(TRUTH, RUN, measure).values[measure]
    np.testing.assert_array_equal(parse(measure)(marked), expected)


def test_the_order_of_rows_does_not_decide_which_tied_item_is_judged() -> None:
    for order in ([False, True], [True, False]):
        for ties, value in (("worst", 0.0), ("best", 1.0)):
            ranking = Ranking.from_scores([1.0, 1.0], [0, 0], judged=order, ties=ties)
            assert parse("judged@1")(ranking).tolist() == [value]


QID = np.repeat(np.arange(12), 8)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def told() -> tuple[Any, Any]:
    """Lists in which the first feature tells relevance and the second only looks as if it did."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(QID.size, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=QID.size) > 0.8).astype(float)
    return X, y


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("text", "model", "sign"),
    [("pap@2", Ridge(), 1), ("topk_loss@2", Ridge(), -1), ("auc", GaussianNB(), 1)],
)
def test_scorer_is_the_mean_over_the_groups_that_are_defined(
    told: Any, text: str, model: Any, sign: int
) -> None:
    X, y = told
    y[QID == 0] = 0
    model.fit(X, y)
    scores = model.predict(X) if isinstance(model, Ridge) else model.predict_proba(X)[:, 1]
    values = parse(text)(Ranking.from_scores(scores, y, QID))
    assert np.isnan(values[0])
    assert make_scorer(text)(model, X, y, qid=QID) == sign * np.nanmean(values)


def test_scorer_without_qid_takes_all_rows_as_one_list(told: Any) -> None:
    X, y = told
    model = Ridge().fit(X, y)
    (expected,) = parse("ndcg@9")(Ranking.from_scores(model.predict(X), y))
    assert make_scorer("ndcg@9", one_group=True)(model, X, y) == expected
    with raises(ArgumentError, "one_group"):
        make_scorer("ndcg@9")(model, X, y)


def test_scorer_keeps_ties_and_min_relevance() -> None:
    y, X = np.array([2.0, 1.0]), np.zeros((2, 1))
    model = Ridge().fit(X, y)
    assert make_scorer("rr", min_relevance=2, one_group=True)(model, X, y) == 1 / 2
    stated = podium.Protocol.of("rr", min_relevance=2, ties="best", level=0.9)
    with pytest.warns(PodiumWarning, match="level"):
        scorer = make_scorer(stated, one_group=True)
    assert scorer(model, X, y) == 1
    assert math.isnan(make_scorer("rr", one_group=True)(model, X, [0, 0]))
    assert make_scorer("rr", undefined="zero", one_group=True)(model, X, [0, 0]) == 0


def test_scorer_refuses_an_unknown_measure_at_once() -> None:
    with pytest.raises(ArgumentError):
        make_scorer("ndgc@10")
    with raises(ArgumentError, "ties"):
        make_scorer("ndcg@10", ties="id")


def rings(seed: int = 0) -> tuple[Any, Any, Any]:
    """Return 12 users' points in the plane; positives lie between two rings of negatives."""
    rng = np.random.default_rng(seed)
    y = np.tile([1.0, 0.0, 0.0], 120)
    radius = np.where(y > 0, 2.0, np.tile([0.0, 0.7, 3.3], 120)) + 0.1 * rng.standard_normal(360)
    angle = rng.uniform(0.0, 2.0 * np.pi, 360)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X, y, rng.permutation(np.repeat(np.arange(12), 30))


def ranker() -> LinearRanker:
    return LinearRanker("pap-ramp@5", learning_rate=5.0, eval_metric="pap@5")


def searched(scoring: Any) -> GridSearchCV:
    X, y, qid = rings()
    model = make_pipeline(Nystroem(n_components=40, random_state=0), ranker())
    model[-1].set_fit_request(qid=True).set_score_request(qid=True)
    grid = {"nystroem__gamma": [0.5], "linearranker__l2": [1e-4, 1e-2]}
    search = GridSearchCV(model, grid, cv=GroupKFold(3), scoring=scoring)
    return search.fit(X, y, groups=qid, qid=qid)


@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
def test_search_by_score_is_the_search_by_a_scorer() -> None:
    by_score, by_scorer = (searched(scoring) for scoring in (None, make_scorer("pap@5")))
    for key in ("mean_test_score", "split0_test_score"):
        np.testing.assert_array_equal(by_score.cv_results_[key], by_scorer.cv_results_[key])
    X, y, qid = rings(seed=1)
    assert by_score.score(X, y, qid=qid) > 0.97


@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
def test_groups_of_the_fit_are_those_of_qid() -> None:
    """Routed qid reaches the loss: one group of all rows gives other coefficients."""
    X, y, qid = rings()
    model = make_pipeline(Nystroem(n_components=20, random_state=0), ranker())
    model[-1].set_fit_request(qid=True)
    grouped = model.fit(X, y, qid=qid)[-1].coef_.copy()
    with pytest.raises(ArgumentError, match="qid is missing"):
        model.fit(X, y)
    model.set_params(**{f"{model.steps[-1][0]}__one_group": True})
    assert not np.allclose(grouped, model.fit(X, y)[-1].coef_)
    alone = ranker().fit(model[0].transform(X), y, qid)
    np.testing.assert_allclose(grouped, alone.coef_, rtol=1e-6, atol=1e-9)


def test_err_of_a_scale_whose_powers_overflow() -> None:
    r = podium.Ranking.from_scores([2.0, 1, 2, 1, 2], [1024, 1, 1, 0, 1100], [0, 0, 1, 1, 2])
    first = 1 - 2.0**-1023 * 0.5  # 1 to all digits
    assert err(r, k=2, max_grade=1100)[2] == 1
    of_1024 = podium.Ranking.from_scores([2.0, 1, 2, 1], [1024, 1, 1, 0], [0, 0, 1, 1])
    assert err(of_1024, k=2, max_grade=1024).tolist() == [first, float(Fraction(1, 2**1024))]


@pytest.mark.parametrize("grade", [1e91, 1.7e308, 5e-324])
@pytest.mark.parametrize("metric", [dcg, ndcg])
def test_grades_whose_sums_would_lose_digits_are_refused(metric: Any, grade: float) -> None:
    r = podium.Ranking.from_scores([3.0, 2, 1], [grade, 0, 1], [0, 0, 1])
    with pytest.raises(ArgumentError, match="linear"):
        metric(r)


def test_values_whose_cubes_would_overflow_are_refused() -> None:
    largest = 1e100 * np.array([1.0, 0.5, 0.2, 0.1])
    assert np.isfinite(stats.summarize(largest, method="bootstrap", n_resamples=99).interval).all()
    for call in (
        lambda: stats.summarize(2 * largest),
        lambda: stats.paired(largest, -2 * largest),
        lambda: stats.pooled(2 * largest, np.ones(4)),
    ):
        with pytest.raises(ArgumentError, match="1e\\+100"):
            call()


# User 1 ranks the grades 3, 5, 4. User 2 has no grade of at least 4.
ZEROED = (5 / log2(3) + 4 / log2(4)) / (5 + 4 / log2(3))
KEPT = (3 + 5 / log2(3) + 4 / log2(4)) / (5 + 4 / log2(3) + 3 / log2(4))


def test_a_catalogue_applies_the_rule() -> None:
    scores, truth = [[3.0, 2.0, 1.0]], csr_array([[3.0, 5.0, 4.0]])
    for depth in (None, 3):
        ranking = rank_all(scores, truth, min_relevance=4, depth=depth)
        assert evaluate(ranking, "ndcg").means["ndcg"] == pytest.approx(ZEROED)
        kept = rank_all(scores, truth, min_relevance=4, low_grades="keep", depth=depth)
        assert evaluate(kept, "ndcg").means["ndcg"] == pytest.approx(KEPT)


def test_bounds_judge_items_by_grades_that_count() -> None:
    truth = {"user": [1, 1], "item": [1, 2], "relevance": [2, 5]}
    run = {"user": [1, 1], "item": [9, 2], "score": [2.0, 1.0]}
    ranking = data.ranking(truth, run, min_relevance=4, unjudged="bounds")
    low, high = judgement_bounds(ranking, "ndcg@2", grades=[2, 5])
    # Item 9 has grade 0 or 5; grade 2 counts as 0.
    assert low == pytest.approx([1 / log2(3)])
    assert high == pytest.approx([1.0])
