"""Each metric on lists that can be done by hand, as arithmetic; every option; every error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.raised import raises

import podium
from podium import metrics
from podium.errors import ArgumentError, UnsettledError
from podium.groups import Groups
from podium.metrics import REGISTRY, coverage, novelty, parse
from podium.ranking import Ranking

LOG3 = np.log2(3)


def listed(*relevance: float, **conventions: Any) -> Ranking:
    """One list with these relevances from the top."""
    return Ranking.from_scores(-np.arange(len(relevance)), relevance, **conventions)


def value(text: str, ranking: Ranking) -> float:
    (result,) = parse(text)(ranking).tolist()
    return result


@pytest.mark.parametrize(
    ("text", "relevance", "expected"),
    [
        # 2 positives on top of the 2 best negatives but for one pair
        ("pap@2", [1, 0, 1, 0, 1], 3 / 4),
        ("pap@2", [0, 0, 1, 1, 1], 0 / 4),
        ("pap@3", [1, 0, 0, 0], 3 / 3),
        ("pap(clip=true)@3", [0, 1, 0], 1 / 2),
        ("pauc@2", [1, 0, 1, 0, 1], (2 + 1 + 0) / 6),
        ("pauc(clip=true)@9", [1, 0, 1, 0, 1], (2 + 1 + 0) / 6),
        ("auc", [0, 1, 0, 1], (1 + 0) / 4),
        ("auc@3", [0, 1, 0, 1], 1 / 2),
        ("auc@9", [0, 1, 0, 1], 1 / 4),
        ("precision@3", [1, 0, 1, 1], 2 / 3),
        ("precision@8", [1, 0, 1, 1], 3 / 8),
        ("recall@3", [1, 0, 1, 1], 2 / 3),
        ("recall(norm=min)@2", [1, 0, 1, 1], 1 / 2),
        ("recall", [0, 1], 1),
        ("r_precision", [1, 0, 1, 1], 2 / 3),
        ("hit_rate@1", [0, 1], 0),
        ("hit_rate@2", [0, 1], 1),
        ("hit_rate", [0, 0, 1], 1),
        ("rr", [0, 0, 1, 1], 1 / 3),
        ("rr@2", [0, 0, 1, 1], 0),
        ("ap", [1, 0, 1, 0], (1 / 1 + 2 / 3) / 2),
        ("ap@2", [1, 0, 1, 1], (1 / 1) / 3),
        ("ap(norm=min)@2", [1, 0, 1, 1], (1 / 1) / 2),
        ("ap(norm=retrieved)@2", [1, 0, 1, 1], (1 / 1) / 1),
        ("ap(norm=retrieved)@1", [0, 1], 0),
        ("rbp", [1, 0, 1], 0.2 * 1 + 0.2 * 0.8**2),
        ("rbp(p=0.5)@2", [1, 0, 1], 0.5),
        ("dcg", [2, 0, 1], 2 + 1 / np.log2(4)),
        ("dcg@1", [2, 0, 1], 2),
        ("dcg(gain=exp2)", [2, 0, 1], 3 + 1 / np.log2(4)),
        ("dcg(discount=letor)", [2, 1, 1], 2 + 1 + 1 / LOG3),
        ("ndcg", [1, 0, 2], (1 + 2 / 2) / (2 + 1 / LOG3)),
        ("ndcg@2", [0, 1, 2], (1 / LOG3) / (2 + 1 / LOG3)),
        ("ndcg(gain=exp2)@2", [0, 1, 2], (1 / LOG3) / (3 + 1 / LOG3)),
        ("ndcg(discount=letor)@2", [0, 1, 2], 1 / (2 + 1)),
        ("err(max_grade=1)", [1, 0, 1], 1 / 2 + (1 - 1 / 2) * (1 / 2) / 3),
        ("err@2", [4, 2, 4], 15 / 16 + (1 / 16) * (3 / 16) / 2),
        ("topk_loss@1", [2, 0, 1], 0),
        ("topk_loss@2", [2, 0, 1], 1),
        ("topk_loss@2", [1, 1, 1], 0),
        ("topk_loss@9", [1, 0], 0),
    ],
)
def test_metric_by_hand(text: str, relevance: list[float], expected: float) -> None:
    assert value(text, listed(*relevance)) == pytest.approx(expected, rel=1e-15)


# --- Undefined groups ---------------------------------------------------------------------------


def test_min_relevance_decides_what_is_positive_and_low_grades_keep_gains_on_request() -> None:
    strict = listed(1, 2, 0, min_relevance=2)
    assert value("precision@1", strict) == 0
    assert value("rr", strict) == 1 / 2
    assert value("ndcg@1", strict) == 0
    assert value("ndcg@1", listed(1, 2, 0, min_relevance=2, low_grades="keep")) == 1 / 2
    low = listed(0.5, 0)
    assert np.isnan(value("rr", low))
    assert value("ndcg", low) == 1


# --- Lists that go on ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "pap@2",
            (
                r"pap@2 needs min\(k, n_pos\) positives or k negatives in each list\. This does "
                r"not hold for 2 of 4 groups, first group 'b' \(a list of length 2\)\. List at "
                r"least 2k - 1 = 3 items"
            ),
        ),
        ("pauc@2", r"pauc@2 needs all positives or k negatives in each list\. .* 2 of 4 groups"),
        ("auc", r"auc needs the whole list\. .* 3 of 4 groups, first group 'a'.* pass n_items"),
        ("auc@3", r"auc@3 needs k items in each list\. .* 3 of 4 groups, first group 'a'"),
    ],
)
def test_unsettled_lists_are_counted(text: str, message: str) -> None:
    qid = np.repeat(["a", "b", "c", "d"], 2)
    relevance = [1, 0, 1, 0, 1, 0, 0, 0]  # 'd' has no positive: undefined, not unsettled
    ranking = Ranking.from_scores(-np.arange(8), relevance, qid, unretrieved=([1, 1], ["b", "c"]))
    with pytest.raises(UnsettledError, match=message):
        parse(text)(ranking)


# --- Arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.cutoff != "none"])
@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
def test_k_must_be_a_positive_integer(name: str, k: Any) -> None:
    with pytest.raises(ArgumentError, match="k must be an integer >= 1"):
        REGISTRY[name].function(listed(1, 0), k=k)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: metrics.recall(r, norm="max"), "norm must be one of 'n_pos' or 'min'"),
        (lambda r: metrics.ap(r, norm="max"), "norm must be one of 'n_pos', 'min' or 'retrieved'"),
        (lambda r: metrics.ndcg(r, gain="exp"), "gain must be one of 'linear', 'exp2' or 'binary'"),
        (lambda r: metrics.dcg(r, discount="ln"), "discount must be one of 'log2' or 'letor'"),
        (lambda r: metrics.rbp(r, p=1.0), "p must be a number > 0"),
        (lambda r: metrics.rbp(r, p=0.0), "p must be a number > 0"),
        (lambda r: metrics.err(r, max_grade=0), "max_grade must be a number > 0"),
        (
            lambda r: metrics.err(r, max_grade=1),
            (
                r"max_grade must be at least the highest relevance, got 1 and a relevance of 2\. "
                r"Write the top of your scale, such as err\(max_grade=2\)"
            ),
        ),
    ],
)
def test_wrong_options_are_named(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call(listed(2, 0))


# --- What a run shows ---------------------------------------------------------------------------


def test_coverage_refuses_a_catalogue_smaller_than_the_run() -> None:
    with pytest.raises(ArgumentError, match=r"n_items must be at least .* got 1 and 2 distinct"):
        coverage([1, 2], 1)
    with pytest.raises(ArgumentError, match="n_items must be an integer >= 1"):
        coverage([1, 2], 0)


def test_novelty_needs_interactions() -> None:
    with pytest.raises(ArgumentError, match="interactions must hold at least one"):
        novelty(["a"], Groups.single(1), [])


def test_exp2_refuses_grades_whose_gain_is_no_number() -> None:
    ranking = Ranking.from_scores([2.0, 1.0], [2000, 1])
    with pytest.raises(ArgumentError, match="gain='exp2' takes grades up to 1000"):
        parse("ndcg(gain=exp2)@2")(ranking)
    assert parse("ndcg@2")(ranking) == 1


def test_k_beyond_64_bits_is_refused() -> None:
    with pytest.raises(ArgumentError, match="k must be an integer below"):
        parse(f"precision@{10**20}")(Ranking.from_scores([1.0], [1]))


def test_clip_is_a_flag_and_not_a_text() -> None:
    with pytest.raises(ArgumentError, match="clip must be True or False, got 'false'"):
        metrics.pap(Ranking.from_scores([1.0], [1]), k=1, clip="false")


def test_novelty_refuses_ids_of_two_kinds_and_rows_too_many() -> None:
    with pytest.raises(ArgumentError, match="must be ids of the same kind"):
        novelty([1, 2], Groups.single(2), ["1", "2"])
    with raises(ArgumentError, "items"):
        novelty([1, 2, 3], Groups.single(2), [1])


# --- Judged items, and ties as one threshold ------------------------------------------------------

TRUTH = {"user": [1] * 3 + [2], "item": ["a", "b", "c", "a"], "relevance": [1, 0, 1, 0]}
RUN = {"user": [1, 1, 1, 2, 2], "item": ["b", "x", "a", "x", "a"], "score": [3, 2, 1, 2, 1]}


def test_judged_items_are_those_of_the_truth() -> None:
    values = podium.measure(TRUTH, RUN, ["judged@2", "Judged@5", "bpref"]).values
    assert values["judged@2"].tolist() == [1 / 2, 1 / 2]  # user 2 has no positive
    assert values["judged@5"].tolist() == [2 / 3, 1 / 2]
    # of the positives a and c, a is below the only judged negative, and c is not in the list
    np.testing.assert_array_equal(values["bpref"], [0.0, np.nan])


@pytest.mark.parametrize("measure", ["bpref", "judged@2"])
def test_measures_of_judged_items_require_a_ranking_that_marks_them(measure: str) -> None:
    with pytest.raises(ArgumentError, match=r"mark_judged=True to podium\.data\.ranking"):
        parse(measure)(podium.data.ranking(TRUTH, RUN))
    marked = podium.data.ranking(TRUTH, RUN, mark_judged=True)
    expected = podium.measure(TRUTH, RUN, measure).values[measure]
    np.testing.assert_array_equal(parse(measure)(marked), expected)


def test_the_order_of_rows_does_not_decide_which_tied_item_is_judged() -> None:
    for order in ([False, True], [True, False]):
        for ties, value in (("worst", 0.0), ("best", 1.0)):
            ranking = Ranking.from_scores([1.0, 1.0], [0, 0], judged=order, ties=ties)
            assert parse("judged@1")(ranking).tolist() == [value]
