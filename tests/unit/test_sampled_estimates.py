"""Estimates with errors, intervals and differences: laws by arithmetic and simulation."""

from __future__ import annotations

import dataclasses
import warnings
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import beta, norm

from podium.errors import ArgumentError, PodiumWarning
from podium.evaluation import stats
from podium.sampled import (
    BV,
    Difference,
    Estimator,
    RankDistribution,
    SampledRanks,
    ScannedRanks,
    SharedRanks,
    Smooth,
    SmoothFit,
    compare,
    evaluate,
    get,
    identification_bounds,
    simulate_ranks,
)
from podium.sampled.distribution import read_measure
from podium.sampled.estimators import ErrorFrom
from podium.sampled.fits import EstimatorFit, Resampler, Tally

N_ITEMS, N_NEGATIVES = 60, 9
MASS = np.arange(1.0, N_ITEMS + 1) ** -0.7
MASS /= MASS.sum()


def population(n_users: int, seed: int, n_negatives: int = N_NEGATIVES) -> SampledRanks:
    """Return sampled ranks of users whose exact ranks have the chances MASS."""
    ranks = np.random.default_rng(seed).choice(N_ITEMS, n_users, p=MASS) + 1
    return simulate_ranks(ranks, N_ITEMS, n_negatives, seed=seed)


def repeated(rows: SampledRanks, counts: list[int]) -> SampledRanks:
    """Return rows written as many times as counts say."""
    sizes = rows.n_negatives
    return SampledRanks(
        np.repeat(rows.ranks, counts),
        np.repeat(sizes, counts) if isinstance(sizes, np.ndarray) else sizes,
        rows.n_items,
    )


def paired(a: SampledRanks, b: SampledRanks, measure: str, **options: Any) -> Difference:
    return compare({"a": a, "b": b}, measure, **{"bounds": False, **options}).summary(measure)


def resampled(method: Estimator, samples: list[SampledRanks], measure: str, n: int) -> Any:
    """Return estimates from resampled users: (n, n_samples)."""
    users = Resampler(samples)
    return np.column_stack(
        [
            EstimatorFit(method, ranks).resampled([read_measure(measure)], users.first, draws)
            for ranks, draws in ((ranks, users.draws(n, 0)) for ranks in samples)
        ]
    )


def test_interval_of_positive_estimates_is_one_of_their_logarithm() -> None:
    found = evaluate(population(100, 0), "recall@2", estimator="mes", n_bootstrap=30, bounds=False)
    positive = found.summary("recall@2")
    assert np.prod(positive.interval) == pytest.approx(positive.mean**2)
    width = np.log(positive.interval[1] / positive.mean)
    assert width == pytest.approx(1.984 * positive.std_error / positive.mean, rel=1e-3)


def test_interval_ends_at_the_largest_value() -> None:
    ranks = SampledRanks([1] * 9 + [9], 9, 60)
    found = evaluate(ranks, "recall@50", estimator="mes", n_bootstrap=30, bounds=False)
    assert found.summary("recall@50").interval[1] == 1.0


@pytest.mark.parametrize("name", ["bv", "mle", "smooth", "unbiased-rank"])
def test_sample_of_everything_has_the_errors_of_users_alone(name: str) -> None:
    ranks = SampledRanks([1, 2, 2, 5, 10, 10], 9, 10, replacement=False)
    found = evaluate(ranks, "rr", estimator=name, bounds=False).summary("rr")
    expected = stats.summarize([1, 1 / 2, 1 / 2, 1 / 5, 1 / 10, 1 / 10])
    assert found.mean == pytest.approx(expected.mean)
    assert found.std_error == pytest.approx(expected.std_error)
    assert found.interval == pytest.approx(expected.interval)
    assert (found.biased, found.interval_of) == (False, "exact")


@pytest.mark.parametrize("name", ["bv", "mle", "smooth", "unbiased-rank"])
def test_sample_of_everything_is_exact_in_catalogues_of_several_sizes(name: str) -> None:
    ranks = SampledRanks([1, 4, 2, 9], [9, 9, 4, 9], [10, 10, 5, 10], replacement=False)
    found = evaluate(ranks, ["rr", "auc"], estimator=name, bounds=False).estimates
    assert found["rr"].mean == pytest.approx((1 + 1 / 4 + 1 / 2 + 1 / 9) / 4)
    assert found["auc"].mean == pytest.approx((9 / 9 + 6 / 9 + 3 / 4 + 1 / 9) / 4)
    assert (found["rr"].biased, found["rr"].interval_of) == (False, "exact")
    assert get(name).fit(ranks).expect("recall@2") == pytest.approx(2 / 4)


def test_warning_of_many_fits_is_given_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate(population(30, 0), "rr", estimator="wmle", n_bootstrap=5, bounds=False)
    assert [each.category for each in caught] == [PodiumWarning]


def test_seed_is_all_that_decides() -> None:
    ranks = population(30, seed=0)
    first, same, other = (
        evaluate(ranks, "rr", estimator="mes", n_bootstrap=10, bounds=False, seed=seed).as_json()
        for seed in (1, 1, 2)
    )
    assert first == same
    assert first["measures"]["rr"]["std_error"] != other["measures"]["rr"]["std_error"]
    assert first["measures"]["rr"]["mean"] == other["measures"]["rr"]["mean"]


def test_difference_of_linear_estimates_is_that_of_users() -> None:
    a, b = SampledRanks([1, 2, 4, 4], 4, 60), SampledRanks([1, 1, 2, 5], 4, 60)
    found = paired(a, b, "rr", estimator="naive")
    gains = stats.summarize([0, 1 - 1 / 2, 1 / 2 - 1 / 4, 1 / 5 - 1 / 4])
    assert found.difference == pytest.approx(gains.mean)
    assert found.std_error == pytest.approx(gains.std_error)
    assert found.interval == pytest.approx(gains.interval)
    assert (found.a, found.b) == pytest.approx(
        ((1 + 1 / 2 + 1 / 2) / 4, (1 + 1 + 1 / 2 + 1 / 5) / 4)
    )


@pytest.mark.parametrize("bounds", [True, False])
def test_interval_of_a_difference_has_no_impossible_values(bounds: bool) -> None:
    ranks = SampledRanks([1, 3, 5, 9], 9, 100)
    found = paired(ranks, ranks, "recall@5", bounds=bounds)
    assert found.std_error * 3.18 > 1  # the 97.5 % point of the t distribution of 4 users
    assert found.interval == (-1, 1)


def test_exact_ranks_are_compared_with_sampled_ones() -> None:
    """What users move a mean of exact ranks by is their own value's share of it."""
    exact = SampledRanks([1, 4, 9, 16] * 25, N_ITEMS - 1, N_ITEMS, replacement=False)
    with pytest.raises(ArgumentError):
        Smooth().posterior(exact).influences("recall@5")
    sampled = SampledRanks([1, 1, 2, 3] * 25, N_NEGATIVES, N_ITEMS)
    found = paired(sampled, exact, "recall@5")
    assert found.b == pytest.approx(1 / 2)
    values = np.tile([0.01, 0.01, 0.0, 0.0], 25)
    fit = Smooth().posterior(sampled)
    spread = 100 * np.cov([fit.influences("recall@5"), values])
    assert spread[0, 1] > 0
    total = fit.std_error("recall@5") ** 2 + spread[1, 1] - 2 * spread[0, 1]
    assert found.std_error == pytest.approx(np.sqrt(total))


def test_bounds_tell_whether_either_model_may_be_better() -> None:
    good, bad = np.full(400, 1), np.full(400, 50)
    a, b = (simulate_ranks(r, N_ITEMS, N_NEGATIVES, seed=0) for r in (bad, good))
    clear = paired(a, b, "recall@30", estimator="bv", bounds=True)
    assert clear.either_sign is False
    assert clear.bounds is not None
    assert 0 < clear.bounds.low <= 1 <= clear.bounds.high
    close = compare({"a": population(400, 0), "b": population(400, 1)}, "recall@5", estimator="bv")
    assert close.summary("recall@5").either_sign is True
    assert "Where either sign is possible" in " ".join(str(close).split())


@dataclasses.dataclass(frozen=True)
class OtherPosterior(Estimator):
    """An estimator of another package, with standard errors of its own."""

    name: ClassVar[str] = "other"
    error_from: ClassVar[ErrorFrom] = "posterior"

    def posterior(self, ranks: SampledRanks) -> SmoothFit:
        return Smooth().posterior(ranks)


def test_posterior_of_any_estimator_gives_its_errors() -> None:
    a, b = population(40, seed=0), population(40, seed=1)
    mine, smooth = (paired(a, b, "rr", estimator=each) for each in (OtherPosterior(), "smooth"))
    assert dataclasses.replace(mine, method="smooth") == smooth
    assert OtherPosterior().estimate(a, "rr") == Smooth().estimate(a, "rr")
    with pytest.raises(ArgumentError):
        BV().posterior(a)


@pytest.mark.parametrize("users", [1, 2])
def test_error_of_a_weighted_mean_is_that_of_the_jackknife(users: int) -> None:
    rng = np.random.default_rng(0)
    ranks, weights, user = rng.integers(1, 101, 200), rng.exponential(size=200), np.arange(200)
    user //= users
    options: dict[str, Any] = {"user": user, "row_weights": weights}
    sampled = SampledRanks(ranks, 99, 100, replacement=False, **options)
    none = np.zeros(200, int)
    scanned = ScannedRanks(ranks - 1, none + 99, none, none, 100, k=50, **options)
    expected = stats.clustered_mean(ranks <= 50, weights, user)
    for found in (
        evaluate(sampled, "recall@50", bounds=False).summary("recall@50"),
        evaluate(scanned, "recall@50").summary("recall@50"),
    ):
        assert found.mean == pytest.approx(expected.mean)
        assert found.std_error == pytest.approx(expected.std_error, rel=0.03)


@pytest.mark.parametrize("name", ["auto", "mle", "bv"])
def test_rows_of_weight_zero_are_left_out(name: str) -> None:
    rows = population(60, seed=0)
    history, weights = np.repeat([1, 5, 20], 20), np.repeat([1.0, 2.0, 0.0], 20)
    kept: dict[str, Any] = {
        "history": history[:40],
        "row_weights": weights[:40],
        "user": np.arange(40),
    }
    options: dict[str, Any] = {"estimator": name, "n_bootstrap": 5, "bounds": False}
    columns: dict[str, Any] = {"history": history, "row_weights": weights, "user": np.arange(60)}
    found = evaluate(dataclasses.replace(rows, **columns), "recall@5", **options)
    alone = SampledRanks(rows.ranks[:40], N_NEGATIVES, N_ITEMS, **kept)
    assert found.as_json() == evaluate(alone, "recall@5", **options).as_json()
    assert found.summary("recall@5").n_groups == 40


def test_users_are_drawn_whole() -> None:
    """User a's two targets come together, or not at all: of 2 users, 0, 1 or 2 are a."""
    ranks, seen = SampledRanks([1, 3, 2], 4, 60, user=["a", "a", "b"]), set[tuple[float, ...]]()
    (part,) = ranks.parts(read_measure("rr"))
    users = Resampler([ranks])
    for drawn in users.draws(40, seed=0):
        by_user = np.zeros(2)
        by_user[users.first] = drawn
        (_, counts), *_ = Tally(part.ranks, part.sizes * by_user[ranks.owner], 2).designs
        assert counts.sum() == pytest.approx(2.0)
        seen.add(tuple(counts[:3].tolist()))
    assert seen == {(1.0, 0.0, 1.0), (0.5, 1.0, 0.5), (0.0, 2.0, 0.0)}


@pytest.mark.parametrize("name", ["naive", "mes"])
def test_users_are_matched_by_their_labels(name: str) -> None:
    """10 comes before 2 as text: users must be paired by label, not by place."""
    a = SampledRanks([1, 2, 3], 9, [100, 100, 90], user=[2, 10, 11], row_weights=[1, 1, 2])
    options: dict[str, Any] = {"estimator": name, "n_bootstrap": 20}
    for labels in ([11, 2, 10], ["11", "2", "10"]):
        b = SampledRanks([3, 1, 2], 4, [90, 100, 100], user=labels, row_weights=[10, 5, 5])
        b = dataclasses.replace(b, n_negatives=9)
        found = paired(a, b, "rr", **options)
        assert (found.difference, found.std_error) == pytest.approx((0, 0), abs=1e-6)
        assert found.n_groups == 3


def test_auc_in_catalogues_of_several_sizes_is_the_mean_of_users_or_refused() -> None:
    ranks = SampledRanks([1, 2, 1, 5], 9, [40, 40, 60, 60])
    found = evaluate(ranks, "auc", estimator="unbiased-rank", bounds=False).means["auc"]
    assert found == pytest.approx((1 + (40 - 5) / 39 + 1 + (60 - 27) / 59) / 4)
    for name in ("auto", "mle", "mes", "bv"):
        with pytest.raises(ArgumentError):
            get(name).fit(ranks).expect("auc")
    alike = SampledRanks([1, 2, 1, 5], 9, [100, 100, 99, 99])
    assert 0 < evaluate(alike, ["auc", "rank_auc@5"], bounds=False).means["auc"] < 1


def test_tally_keeps_designs_apart() -> None:
    rows = SampledRanks([2, 3, 1, 5], [4, 4, 9, 9], 60)
    counts = [3, 0, 6, 2]
    tally = Tally(rows, np.array(counts, dtype=np.float64))
    expected = get("bv").estimate(repeated(rows, counts), "recall@5")
    assert get("bv").estimate(tally, "recall@5") == pytest.approx(expected, rel=1e-9)
    for name in ("mle", "smooth"):
        expected = get(name).fit(repeated(rows, counts)).expect("recall@5")
        assert get(name).fit(tally).expect("recall@5") == pytest.approx(expected, rel=1e-9)


def test_one_user_has_no_standard_error() -> None:
    ranks = SampledRanks([2], 9, 60)
    shared = SharedRanks(SampledRanks([1, 3], 99, 1000, user=["a", "a"]))
    scanned = ScannedRanks([1], [9], [0], [50], 1000, k=5)
    for each, names in (
        (ranks, ("bv", "mes", "smooth")),
        (shared, ("auto", "naive", "mle")),
        (scanned, ("auto",)),
    ):
        for name in names:
            found = evaluate(each, "recall@5", estimator=name, bounds=False)
            assert np.isnan(found.summary("recall@5").std_error)
            form = found.as_json()["measures"]["recall@5"]
            assert each is scanned or form["interval"] == [None, None]
    both = {"a": ranks, "b": SampledRanks([1], 9, 60)}
    for name in ("bv", "mes", "smooth"):
        other = compare(both, "rr", estimator=name, bounds=False).summary("rr")
        assert other.difference > 0
        assert np.isnan([other.std_error, other.sign_probability]).all()


@pytest.mark.parametrize("name", ["bv", "mes", "smooth"])
def test_interval_leaves_out_zero_where_the_sign_is_sure(name: str) -> None:
    a = population(100, seed=0)
    for shift in (0, 1, 3):
        b = SampledRanks(np.maximum(a.ranks - shift * (a.ranks % 2), 1), N_NEGATIVES, N_ITEMS)
        found = compare(
            {"a": a, "b": b}, "rr", estimator=name, n_bootstrap=20, level=0.9, bounds=False
        )
        one = found.summary("rr")
        assert (one.interval[0] > 0 or one.interval[1] < 0) == (one.sign_probability > 0.95)


RISING = ("r_precision", "recall@3", "recall@10", "recall@30", "recall@1000")  # each is worth more
ORDERED = (("ap@10", "ndcg@10"), ("ndcg@10", "recall@10"), ("ap@10", "ap"), ("ndcg@10", "ndcg"))


def lognormal(n_items: int, median: float, deviation: float, seed: int) -> np.ndarray:
    """Exact ranks of 1,000 users."""
    places = np.arange(1, n_items + 1) + 0.5
    law = norm.cdf((np.log(places) - np.log(median)) / deviation)
    drawn = np.random.default_rng(seed).random(1000) * law[-1]
    return np.minimum(np.searchsorted(law, drawn), n_items - 1) + 1


def steep(n_items: int, seed: int) -> SampledRanks:
    return simulate_ranks(lognormal(n_items, n_items / 20, 1.5, seed), n_items, 99, seed=seed)


@pytest.mark.long
@pytest.mark.parametrize("n_items", [3706, 100_000])
def test_intervals_lie_inside_the_bounds_in_the_order_of_measures(n_items: int) -> None:
    names = dict.fromkeys([*RISING, *(name for pair in ORDERED for name in pair)])
    found = evaluate(steep(n_items, seed=0), list(names))
    for name in names:
        one = found.summary(name)
        assert one.bounds is not None
        assert one.bounds.low <= one.interval.low <= one.mean
        assert one.mean <= one.interval.high <= one.bounds.high
    for less, more in (*pairwise(RISING), *ORDERED):
        first, second = found.summary(less), found.summary(more)
        assert first.mean <= second.mean
        assert first.interval.low <= second.interval.low + 1e-6
        assert first.interval.high <= second.interval.high + 1e-6


def test_result_says_where_the_prior_decides() -> None:
    """Of a hundred sampled items among 100,000, the first ten are never one by chance."""
    open_ = evaluate(steep(100_000, seed=0), "recall@10").summary("recall@10")
    bounds = identification_bounds(steep(100_000, seed=0), "recall@10")
    assert open_.prior_decides
    assert open_.interval == pytest.approx(bounds)
    assert open_.std_error < (bounds.high - bounds.low) / 3.9
    assert open_.as_json()["prior_decides"] is True
    known = evaluate(steep(1000, seed=0), "recall@100").summary("recall@100")
    assert not known.prior_decides


@pytest.mark.long
@pytest.mark.parametrize(("n_items", "n_users"), [(3706, 6040), (20_000, 5000)])
def test_intervals_hold_a_peak_at_rank_1(n_items: int, n_users: int) -> None:
    """Half of the users' top ten is at rank 1, which no sample shows."""
    law, held = beta.cdf(np.arange(1, n_items + 1) / n_items, 0.3, 4), np.zeros(2)
    for seed in range(20):
        exact = np.searchsorted(law, np.random.default_rng(seed).random(n_users)) + 1
        truth = RankDistribution.of_ranks(exact, n_items)
        found = Smooth().posterior(simulate_ranks(exact, n_items, 99, seed=seed))
        for i, name in enumerate(("ndcg@10", "ap@10")):
            low, high = found.interval(name)
            held[i] += low <= truth.expect(name) <= high
    assert (held >= 17).all()  # of 20


def test_intervals_without_bounds_are_those_with_them_where_the_prior_decides() -> None:
    ranks = steep(100_000, seed=1)
    alone, both = (evaluate(ranks, "ndcg@10", bounds=each) for each in (False, True))
    assert alone.summary("ndcg@10").interval == both.summary("ndcg@10").interval


def drawn(seed: int = 0, n_users: int = 300, hardness: float = 20.0) -> SharedRanks:
    """Return users with one to four targets whose ranks are alike within a user."""
    rng = np.random.default_rng(seed)
    n_targets = rng.integers(1, 5, n_users)
    user = np.repeat(np.arange(n_users), n_targets)
    strength = np.exp(rng.normal(0, 0.5, n_users))[user]
    above = np.minimum(rng.exponential(hardness * strength), 990).astype(int)
    sampled = rng.hypergeometric(above, 996 - above, 99)
    sizes = 99, 996 + n_targets[user]
    return SharedRanks(SampledRanks(1 + sampled, *sizes, user=user, replacement=False))


def strata(seed: int = 0, hardness: float = 1.0) -> SharedRanks:
    """Return the targets of `drawn`, with half of the items above them on a list of 50."""
    rng, uniform = np.random.default_rng(seed), drawn(seed)
    listed = np.minimum(rng.exponential(8.0 * hardness, uniform.n_rows), 50).astype(int)
    rest = np.minimum(rng.exponential(5.0 * hardness, uniform.n_rows), 900).astype(int)
    above = rng.hypergeometric(rest, 946 - rest, 49)
    sizes, n = (50, 49), uniform.n_rows
    columns = listed, np.full(n, sizes[0]), above, np.full(n, sizes[1]), uniform.n_items
    return SharedRanks(ScannedRanks(*columns, k=1, user=uniform.user))


def test_strata_have_intervals_and_paired_differences() -> None:
    models = {"a": strata(), "same": strata(), "b": strata(0, 1.5)}
    found = compare(models, ["recall@20", "pap@10"])
    for name in ("recall@20", "pap@10"):
        estimate = found.evaluations["a"].summary(name)
        assert estimate.bounds is not None
        assert estimate.bounds.low <= estimate.mean <= estimate.bounds.high
        assert estimate.interval.low <= estimate.mean <= estimate.interval.high
        assert (estimate.method, estimate.error_from) == ("strata", "posterior")
        assert found.summary(name, "same").difference == 0
        assert found.summary(name, "same").std_error == 0
        assert found.summary(name, "b").difference < 0
    assert "n_listed=50, n_negatives=99" in str(models["a"])
    assert found.evaluations["a"].conventions["n_negatives"] == 99


def test_intervals_do_not_depend_on_whether_bounds_are_shown() -> None:
    for name in ("recall@20", "ndcg@5"):
        with_bounds, without = (
            evaluate(strata(), name, bounds=shown).summary(name) for shown in (True, False)
        )
        assert without.bounds is None
        assert without.interval == pytest.approx(with_bounds.interval, abs=1e-12)
        assert without.std_error == with_bounds.std_error
