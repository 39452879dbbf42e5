"""Laws of the functions that estimate: the same request has the same answer in each of them.

Samples are small and random, with pairs of options: method, measure, level, bounds, replacement,
several sizes, several targets of a user, weights.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from podium.errors import ArgumentError
from podium.sampled import (
    REGISTRY,
    Difference,
    Estimate,
    SampledRanks,
    ScannedRanks,
    SharedRanks,
    compare,
    evaluate,
    get,
    identification_bounds,
    plan,
    simulate_ranks,
)

MEASURES = ("recall@1", "recall@5", "ndcg@10", "rr", "precision@3", "pap@3")
BOOTSTRAP = 4
CASES = 2  # random samples for each law

pytestmark = pytest.mark.filterwarnings("ignore")  # small samples and biased methods warn
each_estimator = pytest.mark.parametrize("name", sorted(REGISTRY))


def top_sample() -> SampledRanks:
    """Return 20 users whose target is first among 21 of 29 other items."""
    return SampledRanks([1] * 20, 21, 30, replacement=False)


@functools.cache
def drawn(seed: int, *, several_sizes: bool = False, weights: bool = False) -> SampledRanks:
    """Return the ranks of 8 to 40 users for a random design."""
    rng = np.random.default_rng(seed)
    n_users, n_items = int(rng.integers(8, 41)), int(rng.choice([12, 30, 60]))
    n_negatives = int(rng.integers(2, n_items - 3))
    ranks = np.minimum(rng.geometric(rng.choice([0.05, 0.4, 0.9]), n_users), n_items)
    options: dict[str, Any] = {"replacement": bool(rng.integers(2)), "seed": seed}
    sample = simulate_ranks(ranks, n_items, n_negatives, **options)
    if several_sizes:
        sample = replace(sample, n_items=n_items + rng.integers(0, 2, n_users))
    return replace(sample, row_weights=rng.integers(1, 4, n_users)) if weights else sample


@functools.cache
def other_model(sample: SampledRanks, seed: int) -> SampledRanks:
    """Return the ranks of another model for the same users and designs."""
    rng = np.random.default_rng([seed, 1])
    worse = np.minimum(sample.ranks + rng.integers(0, 3, sample.n_rows), sample.n_negatives + 1)
    return replace(sample, ranks=worse)


def evaluated(sample: SampledRanks, measure: str, **options: Any) -> Estimate:
    return evaluate(sample, measure, n_bootstrap=BOOTSTRAP, **options).summary(measure)


def designs_of(seed: int) -> SampledRanks:
    return drawn(seed, several_sizes=seed % 3 == 0, weights=seed % 4 == 1)


def assert_same(found: Estimate | Difference, expected: Estimate | Difference) -> None:
    assert found.interval == pytest.approx(expected.interval, abs=1e-9, nan_ok=True)
    assert found.std_error == pytest.approx(expected.std_error, abs=1e-9, nan_ok=True)
    assert found.bounds == pytest.approx(expected.bounds, abs=1e-9)
    for field in ("level", "n_groups", "biased", "interval_of", "error_from", "prior_decides"):
        assert getattr(found, field) == getattr(expected, field), field


@each_estimator
@pytest.mark.parametrize("seed", range(CASES))
def test_every_function_gives_the_same_mean(name: str, seed: int) -> None:
    sample, measure = designs_of(seed), MEASURES[seed % len(MEASURES)]
    other = other_model(sample, seed)
    options: dict[str, Any] = {"estimator": name, "level": (0.95, 0.8)[seed % 2]}
    a, b = (evaluated(ranks, measure, **options) for ranks in (sample, other))
    options["n_bootstrap"] = BOOTSTRAP
    every = compare({"a": sample, "b": other}, measure, **options)
    one = every.summary(measure)
    assert (one.a, one.b) == pytest.approx((a.mean, b.mean), abs=1e-9)
    assert one.difference == pytest.approx(b.mean - a.mean, abs=1e-9)
    assert one.interval.low - 1e-9 <= one.difference <= one.interval.high + 1e-9
    for model, expected in (("a", a), ("b", b)):
        found = every.evaluations[model].summary(measure)
        assert found.mean == expected.mean
        assert_same(found, expected)


@each_estimator
@pytest.mark.parametrize("seed", range(CASES))
def test_bounds_and_level_do_not_change_the_mean(name: str, seed: int) -> None:
    sample, measure = designs_of(seed), MEASURES[seed % len(MEASURES)]
    whole = evaluated(sample, measure, estimator=name)
    for options in ({"bounds": False}, {"level": 0.5}, {"level": 0.99, "bounds": False}):
        found = evaluated(sample, measure, estimator=name, **options)
        assert (found.mean, found.std_error) == (whole.mean, whole.std_error)
        assert found.interval.low - 1e-12 <= found.mean <= found.interval.high + 1e-12
        assert options.get("bounds", True) == (found.bounds is not None)
    bounds = identification_bounds(sample, measure)
    assert whole.bounds == bounds
    if name == "smooth":
        assert bounds.low <= whole.mean <= bounds.high
        assert bounds.low <= whole.interval.low <= whole.interval.high <= bounds.high


@each_estimator
@pytest.mark.parametrize("seed", range(2))
def test_single_targets_have_the_same_estimates_in_whole_rankings(name: str, seed: int) -> None:
    sample = drawn(seed, several_sizes=seed % 2 == 0)
    sample = replace(sample, user=np.random.default_rng(seed).permutation(sample.n_rows))
    other, measure = other_model(sample, seed), MEASURES[seed % len(MEASURES)]
    options: dict[str, Any] = {"estimator": name, "n_bootstrap": BOOTSTRAP, "level": 0.9}
    shared = {"a": SharedRanks(sample), "b": SharedRanks(other)}
    found = compare(shared, measure, **options)
    expected = compare({"a": sample, "b": other}, measure, **options)
    for model in ("a", "b"):
        ours, theirs = (e.evaluations[model].summary(measure) for e in (found, expected))
        assert ours.mean == pytest.approx(theirs.mean, abs=1e-6)
        assert ours.std_error == pytest.approx(theirs.std_error, abs=1e-6, nan_ok=True)
        assert ours.bounds == pytest.approx(theirs.bounds, abs=1e-5)
        alone = evaluate(shared[model], measure, **options).summary(measure)
        assert alone.mean == ours.mean
        assert_same(alone, ours)
    ours, theirs = (e.summary(measure, "b") for e in (found, expected))
    assert ours.difference == pytest.approx(theirs.difference, abs=1e-6)
    assert ours.std_error == pytest.approx(theirs.std_error, abs=1e-6, nan_ok=True)
    assert ours.bounds == pytest.approx(theirs.bounds, abs=1e-5)


def test_mean_outside_the_bounds_is_moved_to_them_everywhere() -> None:
    """All targets come first in samples of 21 of 29 items, which the smooth density undervalues."""
    a = top_sample()
    b = SampledRanks(np.resize([1, 2, 5, 9], 20), 21, 30, replacement=False)
    fit = get("auto").posterior(a)
    low, _ = identification_bounds(a, "recall@1")
    assert fit.distribution.expect("recall@1") < low - 0.05
    every = compare({"a": a, "b": b}, "recall@1")
    means = {name: found.means["recall@1"] for name, found in every.evaluations.items()}
    assert means["a"] == low == fit.expect("recall@1") == get("auto").estimate(a, "recall@1")
    assert evaluate(a, "recall@1", bounds=False).means["recall@1"] == low
    assert evaluate(a, "recall@1", level=0.5).means["recall@1"] == low
    difference = every.summary("recall@1", "b").difference
    assert difference == means["b"] - means["a"]
    shared = SharedRanks(replace(a, user=np.arange(20)))
    assert evaluate(shared, "recall@1", bounds=False).means["recall@1"] == pytest.approx(low)


@each_estimator
@pytest.mark.parametrize("seed", range(2))
def test_order_and_labels_of_users_change_nothing(name: str, seed: int) -> None:
    """Neither means nor errors, also if users have several targets or are resampled."""
    rng = np.random.default_rng(seed)
    rows = drawn(seed)
    user = np.sort(rng.integers(0, rows.n_rows // 2, rows.n_rows))
    sample = replace(rows, user=user, row_weights=None)
    order, labels = rng.permutation(user.size), rng.permutation(rows.n_rows)
    texts = np.array([f"user {label}" for label in labels])
    measure = MEASURES[seed % len(MEASURES)]
    expected = evaluated(sample, measure, estimator=name)
    for new_labels in (labels, texts):
        moved = replace(sample, ranks=sample.ranks[order], user=new_labels[user[order]])
        found = evaluated(moved, measure, estimator=name)
        assert found.mean == pytest.approx(expected.mean, abs=1e-9)
        assert_same(found, expected)


@each_estimator
@pytest.mark.parametrize("seed", range(2))
def test_weight_of_a_user_is_that_of_as_many_users(name: str, seed: int) -> None:
    sample, measure = drawn(seed), MEASURES[seed % len(MEASURES)]
    copies = np.random.default_rng(seed).integers(0, 4, sample.n_rows)
    rows = np.repeat(np.arange(sample.n_rows), copies)
    repeated = replace(sample, ranks=sample.ranks[rows])
    weighted = replace(sample, row_weights=copies)
    mean = evaluated(weighted, measure, estimator=name, bounds=False).mean
    if name != "smooth":  # it assumes less of few users than of many
        expected = evaluated(repeated, measure, estimator=name, bounds=False).mean
        assert mean == pytest.approx(expected, abs=1e-9)
    weighted = replace(sample, row_weights=3.0 * copies)
    found = evaluated(weighted, measure, estimator=name, bounds=False).mean
    assert found == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_mean_of_a_scan_does_not_depend_on_the_level(seed: int) -> None:
    """Nor on the function; some of the drawn items are above targets that the list puts first."""
    rng = np.random.default_rng(seed)
    a, b = (
        ScannedRanks(
            np.minimum(rng.geometric(0.3, 30) - 1, 12),
            [12] * 30,
            rng.binomial(6, chance, 30),
            [6] * 30,
            60,
            k=5,
        )
        for chance in (0.1, 0.6)
    )
    measure = ("recall@5", "ndcg@5", "rr@5")[seed % 3]
    usual = {"a": evaluate(a, measure), "b": evaluate(b, measure)}
    for level in (0.05, 0.99):
        every = compare({"a": a, "b": b}, measure, level=level)
        for model, ranks in (("a", a), ("b", b)):
            found = every.evaluations[model].summary(measure)
            assert found.mean == usual[model].means[measure]
            assert_same(found, evaluate(ranks, measure, level=level).summary(measure))
            assert found.interval.low <= found.mean <= found.interval.high
        difference = every.summary(measure, "b")
        assert difference.difference == usual["b"].means[measure] - usual["a"].means[measure]
        assert difference.interval.low <= difference.difference <= difference.interval.high


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    sample = top_sample()
    for call, name in (
        (lambda: plan(100, 50, "ndcg@10", value), "error"),
        (lambda: evaluate(sample, "rr", seed=value), "seed"),  # pyright: ignore[reportArgumentType]
        (lambda: evaluate(sample, "rr", level=value), "level"),
        (lambda: identification_bounds(sample, "rr", confidence=value), "confidence"),
        (lambda: get("auto").posterior(sample).interval("rr", level=value), "level"),
        (lambda: SampledRanks([1, 2], 3, 10, row_weights=[value, 1]), "row_weights"),
    ):
        with pytest.raises(ArgumentError, match=name):
            call()
