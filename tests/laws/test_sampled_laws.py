"""Laws of every registered estimator of sampled metrics, from its declared properties.

These tests loop over the registry, and so include new estimators.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import ArgumentError, UnsettledError
from podium.metrics import REGISTRY as METRICS
from podium.metrics import Measure
from podium.ranking import Ranking
from podium.sampled import (
    REGISTRY,
    Design,
    LinearEstimator,
    RankDistribution,
    SampledRanks,
    evaluate,
    get,
    parse,
    simulate_ranks,
)
from podium.sampled.distribution import all_rank_weights, read_measure
from podium.testing.strategies import all_measures

N_ITEMS = 40
MEASURES = ("recall@5", "precision@3", "ndcg@10", "ap@10", "rr", "ndcg")
LAW = settings(max_examples=settings().max_examples // 3)

each_estimator = pytest.mark.parametrize("name", sorted(REGISTRY))
pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")  # of a bias
exact_ranks = st.lists(st.integers(1, N_ITEMS), min_size=1, max_size=40)


@each_estimator
@given(ranks=exact_ranks)
@LAW
def test_full_sample_is_exact(name: str, ranks: list[int]) -> None:
    estimator = get(name)
    if not estimator.consistent:
        return
    full_sample = SampledRanks(ranks, N_ITEMS - 1, N_ITEMS, replacement=False)
    for measure in MEASURES:
        expected = RankDistribution.of_ranks(ranks, N_ITEMS).expect(measure)
        assert estimator.estimate(full_sample, measure) == pytest.approx(expected, abs=1e-9)


@each_estimator
@pytest.mark.filterwarnings("ignore:wmle gives users")
def test_one_draw_from_one_item_is_exact_whether_items_could_repeat(name: str) -> None:
    sampled_ranks = [1] * 60 + [2] * 40
    found = [
        evaluate(SampledRanks(sampled_ranks, 1, 2, replacement=replacement), "rr", estimator=name)
        for replacement in (False, True)
    ]
    without, with_replacement = (evaluation.summary("rr") for evaluation in found)
    if get(name).consistent:
        assert with_replacement.mean == pytest.approx(0.8)
    assert with_replacement == without


def test_most_estimators_are_consistent() -> None:
    names = {name for name in REGISTRY if get(name).consistent}
    assert {"bv", "cls", "mle", "naive", "unbiased-rank"} <= names


@each_estimator
def test_text_of_an_estimator_reads_back(name: str) -> None:
    estimator = get(name)
    assert parse(str(estimator)) == estimator
    assert estimator.name == name


@each_estimator
def test_sampled_order_and_users_do_not_matter_beyond_their_weight(name: str) -> None:
    rng, estimator = np.random.default_rng(2), get(name)
    observed = rng.integers(1, 11, 30)
    order = rng.permutation(30)
    plain = estimator.estimate(SampledRanks(observed, 10, N_ITEMS), "recall@5")
    permuted = estimator.estimate(SampledRanks(observed[order], 10, N_ITEMS), "recall@5")
    assert permuted == pytest.approx(plain, abs=1e-9)
    doubled = SampledRanks(np.repeat(observed, 2), 10, N_ITEMS, user=np.repeat(np.arange(30), 2))
    assert doubled.n_users == 30
    assert estimator.estimate(doubled, "recall@5") == pytest.approx(plain, abs=1e-9)


@each_estimator
def test_distribution_sums_to_1_and_gives_the_estimates(name: str) -> None:
    estimator = get(name)
    ranks = simulate_ranks(np.repeat([1, 3, 8, 25], 20), N_ITEMS, 15, seed=3)
    if not estimator.gives_distribution:
        with pytest.raises(ArgumentError, match="gives no distribution of ranks"):
            estimator.fit(ranks)
        return
    distribution = estimator.fit(ranks)
    assert distribution.n_items == N_ITEMS
    assert distribution.probabilities.sum() == pytest.approx(1.0, abs=1e-9)
    if name == "naive":  # its distribution is that of sampled ranks
        return
    for measure in MEASURES:
        assert distribution.expect(measure) == pytest.approx(
            estimator.estimate(ranks, measure), abs=1e-8
        )


@each_estimator
def test_designs_of_several_sizes_are_read_one_by_one(name: str) -> None:
    estimator = get(name)
    ranks = SampledRanks([1, 2, 1, 5, 9, 3], [10, 10, 12, 12, 10, 12], [40, 40, 40, 30, 30, 40])
    assert len(ranks.designs) == 4
    assert np.isfinite(estimator.estimate(ranks, "recall@5"))


@each_estimator
def test_measure_of_more_than_ranks_is_refused(name: str) -> None:
    ranks = SampledRanks([1, 2], 5, N_ITEMS)
    with pytest.raises(ArgumentError, match="its value is undefined if the only relevant item has"):
        get(name).estimate(ranks, "auc@10")


linear = [name for name in sorted(REGISTRY) if isinstance(get(name), LinearEstimator)]


@pytest.mark.parametrize("name", linear)
@pytest.mark.parametrize("replacement", [True, False])
def test_mean_over_samples_is_what_the_chances_say(name: str, replacement: bool) -> None:
    """The mean estimate over repeats is within four standard errors of the exact expectation."""
    estimator = get(name)
    assert isinstance(estimator, LinearEstimator)
    design = Design(8, N_ITEMS, replacement)
    targets = np.array([1, 2, 2, 6, 15, 33])
    values = estimator.values(design, "recall@5")
    probabilities = design.probabilities(targets)
    expected = (probabilities @ values).mean()
    variance = (probabilities @ values**2 - (probabilities @ values) ** 2).mean() / targets.size
    repeats = 4000
    drawn = simulate_ranks(np.tile(targets, repeats), N_ITEMS, 8, replacement=replacement)
    mean = values[drawn.ranks - 1].mean()
    assert abs(mean - expected) < 4 * np.sqrt(variance / repeats) + 1e-12
    assert estimator.estimate(drawn, "recall@5") == pytest.approx(mean, abs=1e-9)


def ranking(rank: int, n_items: int) -> Ranking:
    relevance = np.zeros(n_items)
    relevance[rank - 1] = 1
    return Ranking.from_scores(-np.arange(n_items), relevance)


@pytest.mark.parametrize("measure", all_measures(), ids=str)
def test_weight_of_a_rank_is_the_measure_of_a_whole_ranking(measure: Measure) -> None:
    try:
        read_measure(measure)
    except ArgumentError:
        refused = {"auc@k", "topk_loss", "bpref", "judged"}
        assert measure.metric.name in refused or str(measure).startswith("err")
        return
    for n_items in (2, 4, 9):
        weights = all_rank_weights(measure, n_items)
        for rank in range(1, n_items + 1):
            try:
                value = measure(ranking(rank, n_items))[0]
            except UnsettledError:  # the list is complete, so no value may be unsettled
                raise AssertionError(measure) from None
            assert weights[rank - 1] == pytest.approx(value, rel=1e-14, nan_ok=True)


def test_every_metric_is_estimated_or_refused() -> None:
    assert {measure.metric.name for measure in all_measures()} == set(METRICS)
