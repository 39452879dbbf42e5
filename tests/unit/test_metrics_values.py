"""Each metric by hand, the pAp@k paper's table 1, gains and discounts, every option and error."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from tests.raised import raises

import podium
from podium import metrics
from podium.errors import ArgumentError, UnsettledError
from podium.groups import Groups
from podium.metrics import REGISTRY, coverage, make_scorer, novelty, parse
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
    with pytest.raises(ArgumentError, match="1000"):
        parse("ndcg(gain=exp2)@2")(ranking)
    assert parse("ndcg@2")(ranking) == 1


# --- Judged items, and ties as one threshold ------------------------------------------------------

TRUTH = {"user": [1] * 3 + [2], "item": ["a", "b", "c", "a"], "relevance": [1, 0, 1, 0]}
RUN = {"user": [1, 1, 1, 2, 2], "item": ["b", "x", "a", "x", "a"], "score": [3, 2, 1, 2, 1]}


@pytest.mark.parametrize("measure", ["bpref", "judged@2"])
def test_measures_of_judged_items_require_a_ranking_that_marks_them(measure: str) -> None:
    with pytest.raises(ArgumentError):
        parse(measure)(podium.data.ranking(TRUTH, RUN))
    marked = podium.data.ranking(TRUTH, RUN, mark_judged=True)
    expected = podium.measure(TRUTH, RUN, measure).values[measure]
    np.testing.assert_array_equal(parse(measure)(marked), expected)


def test_the_order_of_rows_does_not_decide_which_tied_item_is_judged() -> None:
    for order in ([False, True], [True, False]):
        for ties, value in (("worst", 0.0), ("best", 1.0)):
            ranking = Ranking.from_scores([1.0, 1.0], [0, 0], judged=order, ties=ties)
            assert parse("judged@1")(ranking).tolist() == [value]


LABELS = {
    "f1": (0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0),
    "f2": (1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1),
    "f3": (1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1),
    "f4": (1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0),
    "f5": (1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0),
}
ENTRIES = {
    ("auc", "f1"): Fraction(22, 30),
    ("auc", "f2"): Fraction(21, 30),
    ("auc", "f3"): Fraction(12, 30),
    ("pauc@2", "f1"): Fraction(2, 10),
    ("pauc@2", "f2"): Fraction(5, 10),
    ("pauc@2", "f3"): Fraction(4, 10),
    ("pap@2", "f1"): Fraction(2, 4),
    ("pap@2", "f2"): Fraction(3, 4),
    ("pap@2", "f3"): Fraction(4, 4),
    ("precision@6", "f4"): Fraction(5, 6),
    ("precision@6", "f5"): Fraction(5, 6),
    ("pap@6", "f4"): Fraction(27, 30),
    ("pap@6", "f5"): Fraction(28, 30),
}


def ranking(*columns: str) -> Ranking:
    """The named columns as groups, rows dealt out rank by rank."""
    rows = [(c, -rank, LABELS[c][rank]) for rank in range(11) for c in columns]
    qid, scores, relevance = zip(*rows, strict=True)
    return Ranking.from_scores(scores, relevance, qid)


@pytest.mark.parametrize(("text", "column"), ENTRIES)
def test_table_1_is_the_nearest_float_to_each_fraction(text: str, column: str) -> None:
    assert parse(text)(ranking(column)).tolist() == [float(ENTRIES[text, column])]


QID = np.repeat(np.arange(12), 8)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data() -> tuple[Any, Any]:
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
    data: Any, text: str, model: Any, sign: int
) -> None:
    X, y = data
    y[QID == 0] = 0
    model.fit(X, y)
    scores = model.predict(X) if isinstance(model, Ridge) else model.predict_proba(X)[:, 1]
    values = parse(text)(Ranking.from_scores(scores, y, QID))
    assert np.isnan(values[0])
    assert make_scorer(text)(model, X, y, qid=QID) == sign * np.nanmean(values)


def test_scorer_without_qid_takes_all_rows_as_one_list(data: Any) -> None:
    X, y = data
    model = Ridge().fit(X, y)
    (expected,) = parse("ndcg@9")(Ranking.from_scores(model.predict(X), y))
    assert make_scorer("ndcg@9", one_group=True)(model, X, y) == expected
    with raises(ArgumentError, "one_group"):
        make_scorer("ndcg@9")(model, X, y)


def test_scorer_keeps_ties_and_min_relevance() -> None:
    y, X = np.array([2.0, 1.0]), np.zeros((2, 1))
    model = Ridge().fit(X, y)
    assert make_scorer("rr", min_relevance=2, one_group=True)(model, X, y) == 1 / 2
    assert make_scorer("rr", min_relevance=2, ties="best", one_group=True)(model, X, y) == 1


def test_scorer_refuses_an_unknown_measure_at_once() -> None:
    with pytest.raises(ArgumentError):
        make_scorer("ndgc@10")
    with raises(ArgumentError, "ties"):
        make_scorer("ndcg@10", ties="id")


@pytest.mark.usefixtures("routing")
def test_grid_search_passes_qid_to_the_scorer_and_groups_to_the_split(data: Any) -> None:
    X, y = data
    splitter = GroupKFold(n_splits=3)
    search = GridSearchCV(
        Ridge(), {"alpha": [1.0, 1e9]}, scoring=make_scorer("pap@2"), cv=splitter
    ).fit(X, y, qid=QID, groups=QID)
    expected = []
    for train, test in splitter.split(X, y, groups=QID):
        predicted = Ridge(alpha=1.0).fit(X[train], y[train]).predict(X[test])
        expected.append(
            np.nanmean(parse("pap@2")(Ranking.from_scores(predicted, y[test], QID[test])))
        )
    first = [search.cv_results_[f"split{i}_test_score"][0] for i in range(3)]
    np.testing.assert_allclose(first, expected, rtol=1e-12)
