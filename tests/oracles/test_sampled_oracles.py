"""Sampled metrics against their definitions: enumerated samples, and the papers' equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import comb, log2

import numpy as np
import pytest

from podium.sampled import BV, CLS, Design, RankDistribution, SampledRanks, get
from podium.sampled.distribution import all_rank_weights, rank_weights, read_measure
from podium.sampled.estimators.least_squares import _bounded, _two_values, moments

N_ITEMS, N_NEGATIVES = 3706, 99  # ml-1m, and the paper's sample
NDCG = [1 / log2(rank + 1) for rank in range(1, 11)]
AP = [1 / rank for rank in range(1, 11)]


def samples(design: Design) -> Iterator[Sequence[int]]:
    """Every equally likely order in which items other than the target can be drawn."""
    others = range(design.n_items - 1)
    if design.replacement:
        return product(others, repeat=design.n_negatives)
    return permutations(others, design.n_negatives)


DESIGNS = [
    Design(3, 5),
    Design(3, 5, replacement=False),
    Design(4, 5, replacement=False),
]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_chances_of_outcomes_are_those_of_all_samples(design: Design) -> None:
    chances = design.probabilities()
    for rank in range(1, design.n_items + 1):
        found = [sum(item < rank - 1 for item in drawn) for drawn in samples(design)]
        counted = np.bincount(found, minlength=design.n_outcomes)
        np.testing.assert_allclose(chances[rank - 1], counted / len(found), atol=1e-14)


def test_chances_are_binomial_and_hypergeometric() -> None:
    n, n_items, rank, above = 7, 12, 5, 2
    share = Fraction(rank - 1, n_items - 1)
    drawn_again = comb(n, above) * share**above * (1 - share) ** (n - above)
    drawn_once = Fraction(
        comb(rank - 1, above) * comb(n_items - rank, n - above), comb(n_items - 1, n)
    )
    again, once = Design(n, n_items), Design(n, n_items, replacement=False)
    assert again.probabilities([rank])[0, above] == pytest.approx(float(drawn_again), rel=1e-13)
    assert once.probabilities([rank])[0, above] == pytest.approx(float(drawn_once), rel=1e-13)


@pytest.mark.parametrize(
    "design",
    [
        Design(7, 12, replacement=False),
        Design(11, 12, replacement=False),
        Design(5, 90, replacement=False),
        Design(40, 90, replacement=False),
        Design(99, 3706),
        Design(1, 2),
    ],
    ids=str,
)
def test_sums_on_a_few_ranks_are_the_sums_over_all(design: Design) -> None:
    a, found = chances(design), moments(design)
    np.testing.assert_allclose(found.total, a.mean(axis=0), rtol=1e-10, atol=1e-18)
    np.testing.assert_allclose(found.gram, a.T @ a / design.n_items, rtol=1e-8, atol=1e-16)


def chances(design: Design) -> np.ndarray:
    return np.concatenate([block for _, block in design.blocks()])


@pytest.mark.parametrize("gamma", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("measure", ["recall@10", "ndcg@10", "ap@10", "ndcg"])
def test_bv_solves_equation_11(gamma: float, measure: str) -> None:
    design = Design(19, 200)
    a = chances(design) / np.sqrt(200)
    b = all_rank_weights(read_measure(measure), 200) / np.sqrt(200)
    matrix = (1 - gamma) * a.T @ a + gamma * np.diag((a / np.sqrt(200)).sum(axis=0))
    values = BV(gamma).values(design, measure)
    np.testing.assert_allclose(matrix @ values, a.T @ b, rtol=1e-10, atol=1e-15)


def test_bv_minimises_equation_10() -> None:
    design, gamma, rng = Design(9, 60), 0.2, np.random.default_rng(0)
    a, wanted = chances(design), all_rank_weights(read_measure("ap@5"), 60)

    def objective(values: np.ndarray) -> float:
        mean = a @ values
        variance = a @ values**2 - mean**2
        return float(np.mean((mean - wanted) ** 2 + gamma * variance))

    best = BV(gamma).values(design, "ap@5")
    for _ in range(50):
        assert objective(best + 1e-3 * rng.normal(size=best.size)) > objective(best)


def test_bv_at_gamma_1_is_the_posterior_mean() -> None:
    design = Design(9, 60)
    a, wanted = chances(design), all_rank_weights(read_measure("recall@5"), 60)
    posterior = (a.T @ wanted) / a.sum(axis=0)
    np.testing.assert_allclose(BV(1.0).values(design, "recall@5"), posterior, rtol=1e-12)


def test_bv_distribution_is_equation_15() -> None:
    ranks = SampledRanks([1, 1, 2, 7], 9, 60)
    found = get("bv-ranks(gamma=0.1)").fit(ranks).probabilities
    recalls = [BV(0.1).estimate(ranks, f"recall@{k}") for k in range(1, 61)]
    np.testing.assert_allclose(found, np.diff([0.0, *recalls]), atol=1e-13)


@pytest.mark.parametrize(
    ("measure", "first", "others"),
    [("recall@10", 0.4670, -0.00205), ("ndcg@10", 0.21855, -0.0010), ("ap@10", 0.14461, -0.00068)],
)
def test_cls_of_the_paper_has_two_values(measure: str, first: float, others: float) -> None:
    values = CLS().values(Design(N_NEGATIVES, N_ITEMS), measure)
    assert values[0] == pytest.approx(first, abs=6e-5)
    assert values[1] == pytest.approx(others, abs=6e-5)
    assert np.ptp(values[1:]) == 0


def test_cls_explains_the_ratios_of_the_printed_columns() -> None:
    """EASE's printed recall, ndcg and ap of 54.43, 25.44 and 16.81 follow from one share of 1s."""
    design = Design(N_NEGATIVES, N_ITEMS)
    recall, ndcg, ap = (CLS().values(design, m)[:2] for m in ("recall@10", "ndcg@10", "ap@10"))
    first = (0.05443 - recall[1]) / (recall[0] - recall[1])
    printed = [first * x[0] + (1 - first) * x[1] for x in (ndcg, ap)]
    assert printed == pytest.approx([0.02544, 0.01681], abs=2e-5)
    assert printed[0] / 0.05443 == pytest.approx(0.4673, abs=3e-4)
    assert printed[1] / 0.05443 == pytest.approx(0.3089, abs=3e-4)


@pytest.mark.parametrize("measure", ["recall@10", "ndcg@20", "ap@5"])
def test_cls_in_closed_form_is_the_bounded_solution(measure: str) -> None:
    design, wanted = Design(29, 700), read_measure(measure)
    closed = _two_values(design, rank_weights(wanted, 700))
    assert closed is not None
    np.testing.assert_allclose(closed, _bounded(design, wanted), atol=1e-12)


@pytest.mark.parametrize("measure", ["recall@60", "recall@300", "ndcg", "ndcg@300"])
def test_cls_with_more_values_meets_the_conditions_of_optimality(measure: str) -> None:
    design, wanted = Design(19, 400), read_measure(measure)
    assert _two_values(design, rank_weights(wanted, 400)) is None
    a, values = chances(design), CLS().values(design, measure)
    drops = -np.diff(values)
    gradient = np.cumsum(a.T @ (a @ values - all_rank_weights(wanted, 400)))
    assert (drops >= -1e-12).all()
    assert gradient[-1] == pytest.approx(0.0, abs=1e-9)  # by the last value, which is free
    assert (gradient[:-1] >= -1e-9).all()
    np.testing.assert_allclose(gradient[:-1] * drops, 0.0, atol=1e-9)
    assert (drops > 1e-9).sum() > 1 or np.argmax(drops) > 0


def test_rebuilt_table_has_the_ratios_of_measures_at_10() -> None:
    """With one held-out item, a measure is the expectation of its weight under the ranks."""
    found = RankDistribution.of_ranks([1, 3, 10, 11], 20)
    assert found.expect("recall@10") == pytest.approx(3 / 4)
    assert found.expect("precision@10") == pytest.approx(3 / 4 / 10)
    assert found.expect("ndcg@10") == pytest.approx((NDCG[0] + NDCG[2] + NDCG[9]) / 4)
    assert found.expect("ap@10") == pytest.approx((AP[0] + AP[2] + AP[9]) / 4)
    assert found.expect("rank_auc@10") == pytest.approx((19 + 17 + 10) / 19 / 4)
    assert found.expect("auc") == pytest.approx((19 + 17 + 10 + 9) / 19 / 4)
    assert found.expect("pap@3") == pytest.approx((3 / 3 + 1 / 3) / 4)
