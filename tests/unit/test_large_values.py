"""Relevances so large that powers or sums of them overflow, and grades below a threshold."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from math import log2
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import podium
from podium import data
from podium.catalogue import rank_all
from podium.errors import ArgumentError
from podium.evaluation import evaluate, judgement_bounds, stats
from podium.metrics import dcg, err, ndcg


def test_err_of_a_scale_whose_powers_overflow() -> None:
    r = podium.Ranking.from_scores([2.0, 1, 2, 1, 2], [1024, 1, 1, 0, 1100], [0, 0, 1, 1, 2])
    first = 1 - 2.0**-1023 * 0.5  # 1 to all digits
    assert err(r, k=2, max_grade=1100)[2] == 1
    of_1024 = podium.Ranking.from_scores([2.0, 1, 2, 1], [1024, 1, 1, 0], [0, 0, 1, 1])
    assert err(of_1024, k=2, max_grade=1024).tolist() == [first, float(Fraction(1, 2**1024))]


def test_ndcg_whose_sums_overflow_and_dcg_that_refuses() -> None:
    r = podium.Ranking.from_scores([3.0, 2, 1], [1e308, 0, 1e308], [0, 0, 0])
    expected = (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert ndcg(r)[0] == pytest.approx(expected, rel=1e-14)
    assert ndcg(r, ideal="full")[0] == pytest.approx(1.5 / (1.5 + 1 / math.log2(3)), rel=1e-14)
    whole = podium.Ranking.from_scores([3.0, 2, 1], [1.7e308] * 3, [0, 0, 0])
    with pytest.raises(ArgumentError, match="dcg"):
        dcg(whole)


def test_ndcg_of_grades_that_lose_digits_near_zero() -> None:
    small = podium.Ranking.from_scores([3.0, 2, 1], [5e-324, 0, 5e-324], [0, 0, 0])
    usual = podium.Ranking.from_scores([3.0, 2, 1], [1, 0, 1], [0, 0, 0])
    assert ndcg(small).tolist() == ndcg(usual).tolist()


def test_means_and_tests_of_values_whose_squares_overflow() -> None:
    values, others = np.array([1e200, 3e200, 5e200]), np.array([2e200, 2e200, 8e200])
    small = stats.summarize(values / 1e200)
    large = stats.summarize(values)
    assert large.mean == pytest.approx(3e200)
    assert large.std_error == pytest.approx(2 / math.sqrt(3) * 1e200)
    assert np.array(large.interval) == pytest.approx(1e200 * np.array(small.interval))
    test, unit = stats.paired(values, others), stats.paired(values / 1e200, others / 1e200)
    assert (test.difference, test.std_error) == pytest.approx(
        (unit.difference * 1e200, unit.std_error * 1e200)
    )
    same = ("t_p_value", "randomisation_p_value", "effect_size", "wins", "losses")
    assert [getattr(test, n) for n in same] == pytest.approx([getattr(unit, n) for n in same])
    assert stats.paired(values, b=others) == stats.paired(b=others, a=values) == test
    bounded = stats.summarize(values=values, bounds=(0.0, 6e200))
    assert (bounded.mean, bounded.interval) == (large.mean, (0.0, 6e200))
    weighted = stats.pooled(values, [1, 1, 2])
    assert weighted.mean == pytest.approx(3.5e200)
    assert weighted.std_error == pytest.approx(1e200 * stats.pooled([1, 3, 5], [1, 1, 2]).std_error)
    units, power = np.array([1.0, 3.0, 5.0]), 2.0**700
    boot = stats.summarize(units * power, method="bootstrap", n_resamples=200)
    of_unit = stats.summarize(units, method="bootstrap", n_resamples=200)
    assert np.array(boot.interval) == pytest.approx(power * np.array(of_unit.interval))


@pytest.mark.parametrize("top", [1e200, 5e307, 1.7e308])
def test_a_gate_and_a_report_of_large_values(tmp_path: Path, top: float) -> None:
    users = [f"u{i}" for i in range(8)]
    truth = {"user": users, "item": ["a"] * 8, "relevance": [top / (1 + i % 4) for i in range(8)]}
    base = {"user": users, "item": ["a"] * 8, "score": [1.0] * 8}
    shuffled = {"user": users, "item": ["a", "x"] * 4, "score": [1.0] * 8}
    exact = [Fraction(top / (1 + i % 4)) for i in range(8)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = podium.gate(truth, base, shuffled, "dcg@1", margin=0.1)
        assert "dcg@1" in str(result)
        claim = result.claims[0]
        podium.compare(truth, {"a": base, "b": shuffled}, "dcg@1").write_report(tmp_path / "r.html")
    assert claim.base == pytest.approx(float(sum(exact) / 8))
    assert claim.candidate == pytest.approx(float(sum(exact[::2]) / 8))


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
