"""Laws of every registered metric, from its declared properties.

These tests loop over the registry, and so include new metrics. Comparisons with brute force are in
tests/oracles.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.raised import raises

from podium.errors import ArgumentError, UnsettledError
from podium.groups import Groups
from podium.metrics import REGISTRY, Measure, Metric, parse
from podium.ranking import Ranking
from podium.testing.oracles import in_orders
from podium.testing.pairs.formulas import List
from podium.testing.strategies import Case, all_measures, cases
from podium.types import PerGroup

STRICT_RULES = ("worst", "best", "id")
CLOSE = {"rtol": 1e-12, "atol": 1e-15}

ALL = all_measures()
MEASURES = {name: [m for m in ALL if m.metric is metric] for name, metric in REGISTRY.items()}

each_metric = pytest.mark.parametrize("name", sorted(REGISTRY))
each_averaged = pytest.mark.parametrize(
    "name", [n for n, m in REGISTRY.items() if m.linear or m.half_pairs]
)


def options(measure: Measure) -> dict[str, Any]:
    return {**measure.metric.options, **dict(measure.options)}


def value_or_unsettled(measure: Measure, ranking: Ranking) -> PerGroup | None:
    try:
        return measure(ranking)
    except UnsettledError:
        return None


def rows(case: Case, order: list[int]) -> Case:
    """Return the case with some of its rows, in this order."""
    return replace(
        case,
        scores=tuple(case.scores[i] for i in order),
        relevance=tuple(case.relevance[i] for i in order),
        qid=tuple(case.qid[i] for i in order),
        item=tuple(case.item[i] for i in order),
    )


def same(measure: Measure, a: Ranking, b: Ranking) -> None:
    first, second = value_or_unsettled(measure, a), value_or_unsettled(measure, b)
    assert (first is None) == (second is None), measure
    if first is not None:
        np.testing.assert_array_equal(first, second, err_msg=str(measure))


def worse_or_equal(metric: Metric, low: PerGroup, high: PerGroup) -> bool:
    """Return whether `low` is nowhere better than `high`; assert that both are nan together."""
    sign = 1.0 if metric.higher_is_better else -1.0
    defined = ~np.isnan(low)
    np.testing.assert_array_equal(np.isnan(low), np.isnan(high))
    return bool(np.all(sign * low[defined] <= sign * high[defined] + 1e-12))


# --- Values -------------------------------------------------------------------------------------


@each_metric
@given(case=cases(), ties=st.sampled_from(("worst", "best", "id", "random")))
def test_metric_stays_in_its_bounds_and_is_nan_only_where_undefined(
    name: str, case: Case, ties: str
) -> None:
    ranking, metric = case.ranking(ties), REGISTRY[name]
    for measure in MEASURES[name]:
        values = value_or_unsettled(measure, ranking)
        if values is None:
            continue
        n_found = ranking.n_relevant if measure.graded else ranking.n_pos
        if not metric.needs_positive:
            n_found = ranking.groups.sizes
        assert values.dtype == np.float64
        assert values.shape == (ranking.n_groups,)
        assert np.all(np.isnan(values[n_found == 0]))
        defined = values[~np.isnan(values)]
        low, high = metric.bounds
        assert np.all((low <= defined) & (defined <= high + 1e-12))
        if name not in ("pap", "pauc", "pauc2", "auc", "auc@k"):  # these also require negatives
            assert defined.size == np.count_nonzero(n_found)


@each_metric
@pytest.mark.parametrize("grades", [(2,), (0, 0), (1, 0), (2, 1), (2, 1, 0), (1, 0, 0, 0)])
def test_group_without_a_list_is_undefined_only_if_every_list_is(
    name: str, grades: tuple[int, ...]
) -> None:
    lists = {p[:n] for p in itertools.permutations(grades) for n in range(1, len(grades) + 1)}
    positive = np.array([float(grade) for grade in grades if grade > 0])
    absent = Ranking.from_grouped(
        Groups(np.array([7]), np.array([0, 0])),
        np.empty(0),
        np.empty(0),
        ideal=(np.array([0, positive.size]), positive),
        n_items=np.array([len(grades)]),
        absent=np.array([True]),
    )
    for measure in MEASURES[name]:
        is_defined = any(has_value(measure, shown, grades) for shown in lists)
        expected = measure.metric.worst if is_defined else np.nan
        np.testing.assert_array_equal(measure(absent), [expected], err_msg=str(measure))


def has_value(measure: Measure, shown: tuple[int, ...], grades: tuple[int, ...]) -> bool:
    """Return whether a measure has a value for a list of some of the items of these grades."""
    hidden = list((Counter(grades) - Counter(shown)).elements())
    ranking = Ranking.from_scores(
        -np.arange(len(shown)),
        shown,
        np.full(len(shown), 7),
        unretrieved=(hidden, [7] * len(hidden)),
        n_items=len(grades),
    )
    values = value_or_unsettled(measure, ranking)
    return values is not None and not np.isnan(values[0])


@each_averaged
@given(case=cases(max_groups=2))
def test_averaged_metric_stays_in_its_bounds(name: str, case: Case) -> None:
    for measure in MEASURES[name]:
        values = value_or_unsettled(measure, case.ranking("average"))
        if values is not None:
            defined = values[~np.isnan(values)]
            low, high = measure.metric.bounds
            assert np.all((low <= defined) & (defined <= high + 1e-12))


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if not (m.linear or m.half_pairs)])
def test_average_is_refused_where_it_is_not_exact(name: str) -> None:
    ranking = Ranking.from_scores([1.0, 1.0], [1, 0], ties="average")
    for measure in MEASURES[name]:
        with raises(ArgumentError, "ties"):
            measure(ranking)


# --- Invariance ---------------------------------------------------------------------------------


@each_metric
@given(data=st.data(), case=cases(), ties=st.sampled_from((*STRICT_RULES, "average")))
def test_metric_ignores_row_order(name: str, data: Any, case: Case, ties: str) -> None:
    metric = REGISTRY[name]
    assume(ties != "average" or metric.linear or metric.half_pairs)
    order = data.draw(st.permutations(range(len(case.qid))))
    a, b = case.ranking(ties), rows(case, order).ranking(ties)
    for measure in MEASURES[name]:
        first, second = value_or_unsettled(measure, a), value_or_unsettled(measure, b)
        assert (first is None) == (second is None)
        if first is not None:
            # a mean over equal scores is summed in row order
            np.testing.assert_allclose(first, second, rtol=1e-12 if ties == "average" else 0)


@each_metric
@given(case=cases(), shift=st.sampled_from((1, 10**6, 10**13)))
def test_metric_ignores_group_labels(name: str, case: Case, shift: int) -> None:
    numbers = {label: i for i, label in enumerate(sorted(set(case.qid), reverse=True))}
    relabelled = replace(
        case,
        qid=tuple(shift * numbers[q] for q in case.qid),
        unretrieved=None
        if case.unretrieved is None
        else tuple((r, shift * numbers[q]) for r, q in case.unretrieved),
    )
    for measure in MEASURES[name]:
        first = value_or_unsettled(measure, case.ranking())
        second = value_or_unsettled(measure, relabelled.ranking())
        assert (first is None) == (second is None)
        if first is not None:
            np.testing.assert_array_equal(first, second[::-1])


@each_metric
@given(
    case=cases(),
    ties=st.sampled_from(STRICT_RULES),
    rising=st.sampled_from((np.exp, np.cbrt, lambda x: 1e6 * x - 3e6, lambda x: 1e-6 * x)),
)
def test_metric_ignores_strictly_increasing_score_maps(
    name: str, case: Case, ties: str, rising: Any
) -> None:
    mapped = replace(case, scores=tuple(rising(np.array(case.scores)).tolist()))
    for measure in MEASURES[name]:
        same(measure, case.ranking(ties), mapped.ranking(ties))


@each_metric
@given(case=cases(), ties=st.sampled_from(STRICT_RULES))
def test_metric_of_a_batch_equals_each_list_alone(name: str, case: Case, ties: str) -> None:
    for measure in MEASURES[name]:
        together = value_or_unsettled(measure, case.ranking(ties))
        alone = [value_or_unsettled(measure, _only(case, q).ranking(ties)) for q in _labels(case)]
        assert (together is None) == any(v is None for v in alone)
        if together is not None:
            np.testing.assert_array_equal(together, np.concatenate(alone))


def _labels(case: Case) -> list[Any]:
    return sorted(set(case.qid))


def _only(case: Case, label: Any) -> Case:
    part = rows(case, [i for i, q in enumerate(case.qid) if q == label])
    unretrieved = case.unretrieved
    return replace(
        part,
        unretrieved=None if unretrieved is None else tuple(x for x in unretrieved if x[1] == label),
    )


# --- Monotonicity -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.monotone])
@given(data=st.data(), case=cases(max_groups=1))
def test_swapping_a_better_item_upwards_never_makes_a_metric_worse(
    name: str, data: Any, case: Case
) -> None:
    listed = sorted(range(len(case.scores)), key=lambda i: -case.scores[i])
    distinct = replace(rows(case, listed), scores=tuple(float(-i) for i in range(len(listed))))
    grades = distinct.relevance
    swaps = [(i, j) for j in range(len(grades)) for i in range(j) if grades[i] < grades[j]]
    assume(swaps)
    i, j = data.draw(st.sampled_from(swaps))
    order = list(range(len(grades)))
    order[i], order[j] = j, i
    swapped = replace(distinct, relevance=tuple(grades[o] for o in order))
    for measure in MEASURES[name]:
        before = value_or_unsettled(measure, distinct.ranking())
        after = value_or_unsettled(measure, swapped.ranking())
        if (
            before is not None
            and after is not None
            and measure.metric.holds("monotone", options(measure))
        ):
            assert worse_or_equal(measure.metric, before, after), measure


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.ideal_defined])
@given(case=cases())
def test_ideal_list_reaches_the_best_value(name: str, case: Case) -> None:
    ideal = replace(case, scores=case.relevance, unretrieved=None, n_items=None).ranking("best")
    for measure in MEASURES[name]:
        if measure.metric.holds("ideal_defined", options(measure)):
            values = measure(ideal)
            defined = values[~np.isnan(values)]
            np.testing.assert_allclose(defined, measure.metric.best, rtol=1e-12)


def test_exceptions_to_the_declared_laws_are_real() -> None:
    """Every declared exception is necessary: a list with this option breaks the law."""
    ideal = Ranking.from_scores([3.0, 2.0, 1.0], [1, 1, 0])
    assert parse("recall@1")(ideal)[0] == 1 / 2
    assert parse("ap@1")(ideal)[0] == 1 / 2
    before = Ranking.from_scores([4.0, 3.0, 2.0, 1.0], [1, 0, 0, 1])
    after = Ranking.from_scores([4.0, 3.0, 2.0, 1.0], [1, 0, 1, 0])
    assert parse("ap(norm=retrieved)@3")(before)[0] == 1
    assert parse("ap(norm=retrieved)@3")(after)[0] == (1 / 1 + 2 / 3) / 2
    assert parse("auc@3")(before)[0] == 1
    assert parse("auc@3")(after)[0] == 1 / 2
    assert np.isnan(parse("auc@2")(ideal)[0])
    assert parse("precision@3")(ideal)[0] == parse("precision(norm=list)@3")(ideal)[0] == 2 / 3
    assert parse("ndcg(ideal=full)@3")(ideal)[0] < 1
    binary = Ranking.from_scores([2.0, 1.0], [1, 1], min_relevance=2)
    for text in ("dcg(gain=binary)", "ndcg(gain=binary)"):
        assert np.isnan(parse(text)(binary)[0])  # it has grades, but no positive
    excepted = {
        (m.name, law, option, value)
        for m in REGISTRY.values()
        for law, by_option in m.exceptions.items()
        for option, values in by_option.items()
        for value in values
    }
    assert excepted == {
        ("recall", "ideal_defined", "norm", "n_pos"),
        ("precision", "ideal_defined", "norm", "k"),
        ("precision", "ideal_defined", "norm", "list"),
        ("ndcg", "ideal_defined", "ideal", "full"),
        ("ndcg", "graded", "gain", "binary"),
        ("dcg", "graded", "gain", "binary"),
        ("ap", "ideal_defined", "norm", "n_pos"),
        ("ap", "monotone", "norm", "retrieved"),
    }


# --- Ties ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.monotone])
@given(case=cases(), rule=st.sampled_from(("id", "random", "average")), seed=st.integers(0, 99))
def test_every_tie_rule_lies_between_worst_and_best(
    name: str, case: Case, rule: str, seed: int
) -> None:
    metric = REGISTRY[name]
    assume(rule != "average" or metric.linear or metric.half_pairs)
    worst, between, best = (case.ranking(r, seed=seed) for r in ("worst", rule, "best"))
    for measure in MEASURES[name]:
        if not metric.holds("monotone", options(measure)):
            continue
        values = [value_or_unsettled(measure, r) for r in (worst, between, best)]
        if any(v is None for v in values):
            continue
        assert worse_or_equal(metric, values[0], values[1]), measure
        assert worse_or_equal(metric, values[1], values[2]), measure


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.monotone])
@given(case=cases(max_groups=1))
def test_worst_and_best_are_attained_by_an_order_of_the_ties(name: str, case: Case) -> None:
    (listing,) = case.listings().values()
    orders = [_in_order(case, one) for one in in_orders(listing)]
    for measure in MEASURES[name]:
        if not measure.metric.holds("monotone", options(measure)):
            continue
        values = [v for r in orders if (v := value_or_unsettled(measure, r)) is not None]
        ends = [value_or_unsettled(measure, case.ranking(rule)) for rule in ("worst", "best")]
        if len(values) < len(orders) or any(v is None for v in ends):
            continue
        extremes = (
            [min(values), max(values)]
            if measure.metric.higher_is_better
            else [max(values), min(values)]
        )
        np.testing.assert_array_equal(ends, extremes, err_msg=str(measure))


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.linear])
@given(case=cases(max_groups=1))
def test_average_is_the_mean_over_all_orders_of_the_ties(name: str, case: Case) -> None:
    (listing,) = case.listings().values()
    orders = [_in_order(case, one) for one in in_orders(listing)]
    for measure in MEASURES[name]:
        average = value_or_unsettled(measure, case.ranking("average"))
        if average is not None:
            mean = np.mean([measure(ranking) for ranking in orders], axis=0)
            np.testing.assert_allclose(average, mean, **CLOSE, err_msg=str(measure))


def _in_order(case: Case, one: List) -> Ranking:
    columns = {
        "scores": [e.score for e in one.entries],
        "relevance": [e.grade for e in one.entries],
    }
    return replace(case, **columns).ranking()


def test_average_of_pap_counts_half_a_pair_which_is_not_the_mean_over_orders() -> None:
    scores, relevance = [1.0] * 4, [1, 0, 0, 0]
    half = parse("pap@1")(Ranking.from_scores(scores, relevance, ties="average"))
    # The positive takes each of 4 positions equally often, and is first in one of them.
    over_orders = [
        parse("pap@1")(Ranking.from_scores([4, 3, 2, 1], np.roll(relevance, i)))[0]
        for i in range(4)
    ]
    assert half.tolist() == [1 / 2]
    assert np.mean(over_orders) == 1 / 4


# --- Pairs of the top ---------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=4), k=st.integers(1, 5))
def test_a_constant_scorer_gains_nothing_by_pairs_under_worst(sizes: list[int], k: int) -> None:
    groups = Groups.from_sizes(sizes)
    relevance = np.arange(groups.n_rows) % 2
    ranking = Ranking.from_scores(np.zeros(groups.n_rows), relevance, groups.index)
    for text in (f"pap@{k}", f"pauc@{k}", f"pap(clip=true)@{k}", "auc"):
        values = parse(text)(ranking)
        assert np.all(np.isnan(values) | (values == 0))
    some_pair = (ranking.n_pos > 0) & (ranking.n_neg > 0)
    np.testing.assert_array_equal(parse("auc")(ranking) == 0, some_pair)


@given(case=cases(), k=st.integers(1, 6), clip=st.booleans())
def test_pap_is_pauc_where_all_positives_fit_into_k(case: Case, k: int, clip: bool) -> None:
    ranking, inside = case.ranking(), f"(clip={clip})@{k}"
    pap, pauc = (value_or_unsettled(parse(name + inside), ranking) for name in ("pap", "pauc"))
    assume(pap is not None and pauc is not None)
    has_few_positives = ranking.n_pos <= k
    np.testing.assert_array_equal(pap[has_few_positives], pauc[has_few_positives])
    assert np.all(~(pap < pauc))  # pap leaves out the lowest positives


@given(case=cases(whole=True))
def test_pauc_of_all_negatives_is_auc(case: Case) -> None:
    for label in _labels(case):
        ranking = _only(case, label).ranking()
        n_neg = int(ranking.n_neg[0])
        assume(n_neg > 0)
        np.testing.assert_array_equal(parse(f"pauc@{n_neg}")(ranking), parse("auc")(ranking))


@given(case=cases(max_groups=2, max_items=12, whole=True), k=st.integers(1, 4))
def test_perfect_pap_is_perfect_precision_where_positives_fill_the_top(case: Case, k: int) -> None:
    ranking = case.ranking()
    pap, precision = parse(f"pap@{k}")(ranking), parse(f"precision@{k}")(ranking)
    has_k_positives = (ranking.n_pos >= k) & ~np.isnan(pap)
    np.testing.assert_array_equal(pap[has_k_positives] == 1, precision[has_k_positives] == 1)
    # With h hits in the top k, h of the k best negatives rank below k, and so below every hit.
    hits = precision[has_k_positives] * k
    assert np.all(pap[has_k_positives] >= hits * hits / k**2 - 1e-12)


@pytest.mark.parametrize("ties", ["worst", "best", "id"])
@given(case=cases(max_groups=3, max_items=14, whole=True), k=st.integers(1, 5))
def test_pap_needs_only_the_top_2k_minus_1_items(ties: str, case: Case, k: int) -> None:
    complete = case.ranking(ties)
    has_k_negatives = complete.n_neg >= k  # a list of unknown length counts as having k negatives
    top = truncated(complete, 2 * k - 1)
    np.testing.assert_array_equal(
        parse(f"pap@{k}")(complete)[has_k_negatives], parse(f"pap@{k}")(top)[has_k_negatives]
    )


def test_pap_of_a_list_of_2k_minus_2_items_can_be_unsettled() -> None:
    complete = Ranking.from_scores([5.0, 4.0, 3.0, 2.0, 1.0], [1, 0, 1, 0, 1])
    assert parse("pap@2")(truncated(complete, 3)).tolist() == parse("pap@2")(complete).tolist()
    with pytest.raises(UnsettledError, match="does not hold for 1 of 1 groups"):
        parse("pap@2")(truncated(complete, 2))


def truncated(ranking: Ranking, depth: int) -> Ranking:
    """Return a ranking of the first ranks only, with the positives below them as unretrieved."""
    position = np.concatenate([np.arange(n) for n in ranking.groups.sizes.tolist()])
    retrieved, label = position < depth, ranking.groups.labels[ranking.groups.index]
    return Ranking.from_scores(
        -position[retrieved],
        ranking.relevance[retrieved],
        label[retrieved],
        min_relevance=ranking.min_relevance,
        unretrieved=(ranking.relevance[~retrieved], label[~retrieved]),
    )
