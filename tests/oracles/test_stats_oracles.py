"""podium.evaluation.stats against scipy.stats, and against enumeration in plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from podium.evaluation import stats


@pytest.fixture(params=[2, 5, 300])
def pair(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(request.param)
    a = rng.beta(1, 3, request.param)
    return a, a + rng.normal(0.02, 0.1, request.param)


def test_t_interval_is_scipys(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, _ = pair
    expected = scipy.stats.t.interval(0.9, a.size - 1, a.mean(), scipy.stats.sem(a))
    assert stats.summarize(a, level=0.9).interval == pytest.approx(expected)


def test_paired_t_test_is_scipys(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = pair
    expected = scipy.stats.ttest_rel(b, a)
    result = stats.paired(a, b, level=0.9)
    assert result.t_statistic == pytest.approx(expected.statistic)
    assert result.t_p_value == pytest.approx(expected.pvalue)
    bounds = expected.confidence_interval(0.9)
    assert result.interval == pytest.approx((bounds.low, bounds.high))


@pytest.mark.parametrize("seed", range(5))
def test_exact_sign_flips_are_all_patterns(seed: int) -> None:
    """Differences of a tenth tie often: each tie must count."""
    d = np.random.default_rng(seed).integers(-3, 5, 9)
    sums = [
        abs(sum(s * v for s, v in zip(signs, d.tolist(), strict=True)))
        for signs in itertools.product((-1, 1), repeat=9)
    ]
    expected = sum(total >= abs(int(d.sum())) for total in sums) / 2**9
    assert stats.paired(np.zeros(9), d / 10).randomisation_p_value == expected


def test_exact_sign_flips_are_scipys() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.random(11), rng.random(11)
    expected = scipy.stats.permutation_test(
        (b - a,), lambda d, axis: d.mean(axis=axis), permutation_type="samples", vectorized=True
    )
    assert stats.paired(a, b).randomisation_p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("shift", [0.01, 0.03])
def test_drawn_sign_flips_estimate_the_exact_share(
    shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    d = np.round(np.random.default_rng(5).normal(shift, 0.1, 15), 2)
    exact = stats.paired(np.zeros(15), d).randomisation_p_value
    monkeypatch.setattr("podium.evaluation.stats._resampling._EXACT", 0)
    drawn = stats.paired(np.zeros(15), d, n_permutations=40_000).randomisation_p_value
    assert 0.01 < exact < 1
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 40_000))


def test_drawn_sign_flips_of_many_groups_follow_the_t_test() -> None:
    rng = np.random.default_rng(2)
    a = rng.random(2003)
    result = stats.paired(a, a + rng.normal(0.001, 0.1, 2003), n_permutations=20_000)
    assert 0.02 < result.t_p_value < 0.9
    assert result.randomisation_p_value == pytest.approx(result.t_p_value, abs=0.02)


@pytest.mark.parametrize("rounded", [False, True])
def test_bootstrap_interval_is_scipys_bca(rounded: bool) -> None:
    """Few and skewed values, so that the corrections for bias and skewness matter."""
    values = np.random.default_rng(1).lognormal(0.0, 1.2, 10)
    values = np.repeat(np.round(values[:2], 1), 30) if rounded else values
    values = np.append(values, 9.0)
    n_resamples = 100_000
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=n_resamples, method="BCa", rng=np.random.default_rng(0)
    ).confidence_interval
    result = stats.summarize(values, method="bootstrap", n_resamples=n_resamples).interval
    std_error = stats.summarize(values).std_error
    assert result.low == pytest.approx(expected.low, abs=0.06 * std_error)
    assert result.high == pytest.approx(expected.high, abs=0.06 * std_error)
    middle = (result.low + result.high) / 2
    assert (
        middle > values.mean()
    )  # the interval leans towards the long tail, as a t interval cannot


@pytest.mark.parametrize("n_hits", [3, 800, 1993])
def test_wilson_interval_of_hits_is_scipys(n_hits: int) -> None:
    """With many users, the t quantile and n_eff = n - 1 do not matter."""
    n = 2000
    expected = scipy.stats.binomtest(n_hits, n).proportion_ci(0.9, method="wilson")
    values = np.arange(n) < n_hits
    low, high = stats.summarize(values, level=0.9, method="wilson", bounds=(0, 1)).interval
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=2e-3)


def test_t_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    tries = 1500
    covered = 0
    for _ in range(tries):
        low, high = stats.summarize(rng.normal(0.3, 1.0, 8), level=0.8).interval
        covered += low <= 0.3 <= high
    assert covered / tries == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / tries))


def test_pooled_interval_covers_the_ratio_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    tries, n = 1000, 200
    covered = 0
    for _ in range(tries):
        weights = rng.integers(1, 20, n)
        values = rng.binomial(weights, 0.3 + 0.4 * (weights > 10)) / weights
        low, high = stats.pooled(values, weights, level=0.8).interval
        sizes = np.arange(1, 20)
        covered += low <= (sizes * (0.3 + 0.4 * (sizes > 10))).sum() / sizes.sum() <= high
    assert covered / tries == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / tries))
