"""The smooth estimator: its parts against slow forms, its errors, and users of several designs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from podium.errors import ConvergenceWarning
from podium.metrics import parse
from podium.sampled import (
    Design,
    RankDistribution,
    SampledRanks,
    Smooth,
    SmoothFit,
    compare,
    evaluate,
    simulate_ranks,
)
from podium.sampled.estimators.smooth import fit as smooth_fit
from podium.sampled.estimators.smooth.cells import Cells, RowIndex
from podium.sampled.estimators.smooth.draws import _draw_users
from podium.sampled.estimators.smooth.fit import (
    Mode,
    Objective,
    Sample,
    State,
    combined_mass,
    log_moments,
    modes,
)
from podium.sampled.estimators.smooth.prior import Prior, prior_of
from podium.sampled.likelihood import likelihood


def power_law(n_items: int, shift: float, power: float) -> NDArray[np.float64]:
    weights = (np.arange(1.0, n_items + 1) + shift) ** -power
    return weights / weights.sum()


def observe(exact: NDArray[np.int64], n_items: int, n_negatives: int, seed: int) -> SampledRanks:
    rng = np.random.default_rng(seed)
    above = rng.binomial(n_negatives, (exact - 1) / (n_items - 1))
    return SampledRanks(above + 1, n_negatives, n_items)


@pytest.mark.parametrize(("n_items", "n_negatives"), [(2, 1), (40, 39), (1000, 99), (9999, 500)])
def test_cells_cover_the_ranks_and_average_their_chances(n_items: int, n_negatives: int) -> None:
    cells = Cells.of(n_items, n_negatives)
    assert cells.edges[0] == 0
    assert cells.n_items == n_items
    assert (np.diff(cells.edges) > 0).all()
    observed = likelihood(SampledRanks(np.arange(1, n_negatives + 2), n_negatives, n_items))
    whole = Design(n_negatives, n_items).probabilities()
    means = np.add.reduceat(whole, cells.edges[:-1]) / cells.sizes[:, None]
    assert np.abs(cells.outcomes(observed)[0] - means).max() < 1e-3
    uniform = cells.spread(cells.sizes / n_items)
    assert uniform == pytest.approx(np.full(n_items, 1 / n_items))


def one_design(chances: NDArray[np.float64], counts: NDArray[np.float64]) -> Sample:
    return Sample.of(chances, counts, np.zeros(chances.shape[1], np.int64))


def small_case() -> tuple[Prior, NDArray[np.float64], NDArray[np.float64]]:
    cells = Cells.of(60, 6)
    observed = likelihood(SampledRanks(np.arange(1, 8), 6, 60))
    counts = np.array([[30.0, 12, 9, 5, 4, 2, 3], [10.0, 9, 8, 7, 7, 6, 9]])
    prior = prior_of(cells, np.array([3.0, 20.0]), np.array([65.0, 56.0]))
    return prior, cells.outcomes(observed)[0], counts


def test_mode_is_what_a_general_optimiser_finds() -> None:
    prior, chances, counts = small_case()
    penalty = 5.0 * prior.rough + prior.fixed

    def loss(point: NDArray[np.float64]) -> float:
        total = 0.5 * point @ penalty @ point
        for group in range(2):
            density = np.exp(prior.design[group] @ point + prior.sizes)
            total -= counts[group] @ np.log(density @ chances / density.sum())
        return float(total)

    sample = one_design(chances, counts)
    found = Objective(prior, penalty, sample).climb(np.zeros(prior.design.shape[2]))
    other = minimize(loss, np.zeros(prior.design.shape[2]), method="BFGS", options={"gtol": 1e-7})
    assert loss(found.coefficients) == pytest.approx(other.fun, abs=1e-3)
    best = minimize(loss, found.coefficients, method="BFGS", options={"gtol": 1e-7})
    assert loss(found.coefficients) < best.fun + 1e-3
    assert found.mass.sum(axis=1) == pytest.approx([1.0, 1.0])


def test_evidence_is_the_integral_over_one_coefficient() -> None:
    _, chances, counts = small_case()
    n_cells = chances.shape[0]
    slopes = np.linspace(-1.0, 1.0, n_cells)[None, :, None]
    prior = Prior(slopes, np.zeros(n_cells), np.zeros((1, 1)), np.array([[0.5]]))
    many = 20.0 * counts[:1]
    found = Objective(prior, prior.fixed, one_design(chances, many)).climb(np.zeros(1))
    points = found.coefficients[0] + np.linspace(-1.0, 1.0, 4001)
    logs = np.empty(points.size)
    for i, point in enumerate(points):
        density = np.exp(slopes[0, :, 0] * point)
        logs[i] = many[0] @ np.log(density @ chances / density.sum()) - 0.25 * point**2
    area = np.exp(logs - logs.max()).sum() * (points[1] - points[0])
    integral = logs.max() + np.log(area * np.sqrt(0.5 / (2 * np.pi)))
    assert found.evidence == pytest.approx(integral, abs=0.05)


def test_variance_of_a_measure_is_that_of_drawn_coefficients() -> None:
    rng = np.random.default_rng(4)
    exact = rng.choice(2000, 30_000, p=power_law(2000, 20.0, 1.0)) + 1
    fitted = Smooth().posterior(observe(exact, 2000, 99, 1))
    state = fitted.states[-1]
    mode, weights = state.modes[2], state.cells.weights(parse("recall@100"))
    half = np.linalg.cholesky(mode.precision)
    noise = np.linalg.solve(half.T, rng.standard_normal((mode.coefficients.size, 4000)))
    draws = mode.coefficients + noise.T
    logs = draws @ state.prior.design[0].T + state.prior.sizes
    density = np.exp(logs)
    values = (density @ weights) / density.sum(axis=1)
    users = float(np.var(exact <= 100)) / exact.size
    assert fitted.std_error("recall@100") == pytest.approx(np.sqrt(values.var() + users), rel=0.25)


def one_slope(slope: float, deviation: float) -> State:
    """A family of one coefficient, whose posterior is known: normal about `slope`."""
    cells = Cells.of(30, 5)
    n = cells.sizes.size
    design = (1.0 / np.arange(1.0, n + 1))[None, :, None]
    prior = Prior(design, np.zeros(n), np.zeros((1, 1)), np.ones((1, 1)))
    mass = np.exp(slope * design[..., 0])
    point = np.array([slope]), mass / mass.sum(), np.array([[1 / deviation**2]])
    row_index = RowIndex.of(SampledRanks([1], 5, 30))
    one = np.ones(1)
    sample = one_design(np.ones((n, 1)), np.ones((1, 1)))
    return State(cells, prior, sample, one, (Mode(*point, 0.0),), one, row_index)


def test_cells_have_their_posterior_harmonic_mean() -> None:
    state = one_slope(0.5, 0.3)
    drawn = np.random.default_rng(0).normal(0.5, 0.3, 40_000)
    density = np.exp(np.outer(drawn, state.prior.design[0, :, 0]))
    harmonic = 1 / np.mean(density.sum(axis=1)[:, None] / density, axis=0)
    found = combined_mass([state])
    assert found == pytest.approx(harmonic / harmonic.sum(), rel=0.01)
    assert found[0] < state.modes[0].mass[0, 0]


def test_families_weigh_the_same_and_their_distance_counts_as_error() -> None:
    low, high = one_slope(0.0, 1e-6), one_slope(1.0, 1e-6)
    weights = np.zeros(low.cells.sizes.size)
    weights[0] = 1.0
    ends = [state.modes[0].mass[0, 0] for state in (low, high)]
    mean, variance = log_moments([low, high], weights)
    assert mean == pytest.approx(np.mean(np.log(ends)))
    assert variance == pytest.approx(np.var(np.log(ends)))


def test_freedom_is_added_where_no_smooth_density_fits() -> None:
    smooth = observe(np.random.default_rng(0).choice(900, 5000) + 1, 900, 99, 0)
    assert Smooth().posterior(smooth).n_steps == 0
    spikes = Smooth().posterior(observe(np.repeat([46, 541], 20_000), 900, 99, 0))
    assert spikes.n_steps > 0
    assert spikes.expect("recall@80") == pytest.approx(0.5, abs=0.02)
    assert spikes.expect("recall@20") < 0.01
    low, high = spikes.interval("recall@80")
    assert low < 0.5 < high


def test_history_shows_the_top_of_lists_that_own_items_lead() -> None:
    """Users' own items come first: the target's rank is about their number or more."""
    rng = np.random.default_rng(7)
    n_items, history = 4000, np.round(np.exp(rng.normal(4.0, 1.0, 6000))).clip(8, 1500)
    exact = np.clip(np.ceil(history * rng.gamma(3.0, 0.8, 6000)), 1, n_items).astype(np.int64)
    truth = RankDistribution.of_ranks(exact, n_items)
    ranks = observe(exact, n_items, 99, 3)
    knowing = SampledRanks(ranks.ranks, 99, n_items, history=history)
    blind, told = Smooth().posterior(ranks), Smooth().posterior(knowing)
    for measure in ("recall@10", "ap@10"):
        wanted = np.log(truth.expect(measure))
        error = abs(np.log(told.expect(measure)) - wanted)
        assert error < 0.65 * abs(np.log(blind.expect(measure)) - wanted)
        low, high = told.interval(measure)
        assert low < truth.expect(measure) < high
    assert isinstance(told, SmoothFit)


def test_full_sample_leaves_nothing_open() -> None:
    found = Smooth().posterior(SampledRanks([1, 4, 4, 12], 11, 12, replacement=False))
    assert found.expect("recall@4") == pytest.approx(0.75)
    assert found.std_error("recall@4") == 0
    assert found.interval("recall@4") == pytest.approx((0.75, 0.75))


def test_catalogues_of_many_sizes_give_what_rounded_ones_do() -> None:
    """A thousand sizes within 30 %: some 20 after rounding, and hardly another estimate."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1400, 2001, 4000)
    exact = np.minimum(rng.choice(1400, 4000, p=power_law(1400, 20.0, 1.0)) + 1, sizes)
    ranks = rng.binomial(99, (exact - 1) / (sizes - 1)) + 1
    truth = RankDistribution.of_ranks(exact, 2000)
    many = Smooth().posterior(SampledRanks(ranks, 99, sizes))
    assert many.states
    assert many.states[-1].sample.counts.shape[1] < 100 * 20
    large = SampledRanks(ranks, 99, sizes, history=sizes - 1)
    assert 0 < Smooth().estimate(large, "recall@50") < 1
    few = Smooth().fit(SampledRanks(ranks, 99, 100 * np.rint(sizes / 100).astype(np.int64)))
    assert many.expect("recall@50") == pytest.approx(few.expect("recall@50"), rel=0.03)
    assert many.expect("recall@50") == pytest.approx(truth.expect("recall@50"), rel=0.1)


N_ITEMS, N_NEGATIVES, N_USERS = 600, 49, 150


def law(n_items: int, shift: float) -> NDArray[np.float64]:
    """Cumulative chances of a shifted power law of the rank."""
    weights = (np.arange(1.0, n_items + 1) + shift) ** -1.2
    return np.cumsum(weights / weights.sum())


def targets(shift: float, alike: bool, n_each: int, seed: int) -> SampledRanks:
    """Sampled ranks of several targets a user: of one exact rank for all, or independent."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(N_USERS), n_each)
    place = rng.random(N_USERS)[user] if alike else rng.random(user.size)
    exact = np.minimum(np.searchsorted(law(N_ITEMS, shift), place), N_ITEMS - 1) + 1
    return simulate_ranks(exact, N_ITEMS, N_NEGATIVES, user=user, seed=seed)


@pytest.mark.long
@pytest.mark.parametrize(("n_each", "alike"), [(1, False), (8, False), (8, True)])
def test_errors_are_what_users_and_draws_let_estimates_vary(n_each: int, alike: bool) -> None:
    """At least the deviation over simulations, and less than twice: priors leave more open."""
    found: list[list[float]] = []
    for seed in range(25):
        a, b = targets(2.0, alike, n_each, seed), targets(5.0, alike, n_each, 1000 + seed)
        one = evaluate(a, "recall@10", bounds=False).summary("recall@10")
        both = compare({"a": a, "b": b}, "recall@10", bounds=False).summary("recall@10")
        found.append([one.mean, one.std_error, both.difference, both.std_error])
    mean, error, gain, error_of_gain = np.array(found).T
    assert 0.85 < error.mean() / mean.std(ddof=1) < 2
    assert 0.85 < error_of_gain.mean() / gain.std(ddof=1) < 2


def test_draws_are_of_finitely_many_users() -> None:
    """About as many draws have nobody at rank 1 as the binomial distribution of users gives."""
    shares = np.diff(law(1000, 2.0), prepend=0.0)
    drawn = _draw_users(np.tile(shares, (2000, 1)), np.ones(1000), 10.0, np.random.default_rng(0))
    assert drawn.sum(axis=1) == pytest.approx(np.ones(2000))
    with_nobody = float((drawn[:, 0] == 0).mean())
    assert with_nobody == pytest.approx((1 - shares[0]) ** 10, rel=0.15)


def test_targets_that_are_alike_count_as_one() -> None:
    ranks = targets(2.0, alike=False, n_each=1, seed=0).ranks
    once = Smooth().posterior(SampledRanks(ranks, N_NEGATIVES, N_ITEMS))
    user = np.repeat(np.arange(N_USERS), 3)
    thrice = Smooth().posterior(SampledRanks(np.repeat(ranks, 3), N_NEGATIVES, N_ITEMS, user=user))
    assert thrice.expect("recall@10") == pytest.approx(once.expect("recall@10"))
    assert thrice.std_error("recall@10") == pytest.approx(once.std_error("recall@10"))


@pytest.mark.parametrize("n_items", [300, 1000])
@pytest.mark.parametrize("missing", [0.1, 3, 2, 1])
def test_nearly_full_samples_give_nearly_exact_measures(n_items: int, missing: float) -> None:
    """The error is that of users: the measure of theirs is known to a part of it."""
    n_negatives = n_items - (int(missing * n_items) if missing < 1 else int(missing))
    rng = np.random.default_rng(0)
    exact = np.searchsorted(law(n_items, 2.0), rng.random(800)) + 1
    ranks = simulate_ranks(exact, n_items, n_negatives, replacement=False, seed=1)
    found = evaluate(ranks, ["recall@10", "recall@100"], bounds=False)
    for measure, k in (("recall@10", 10), ("recall@100", 100)):
        truth = float(np.mean(exact <= k))
        of_users = np.sqrt(truth * (1 - truth) / 800)
        one = found.summary(measure)
        assert one.mean == pytest.approx(truth, abs=of_users / 2)
        assert 0.8 * of_users < one.std_error < 1.1 * of_users


@pytest.mark.parametrize(
    ("history", "options", "expected"),
    [
        (None, {}, None),
        ([5, 60, 5, 60], {}, "read"),
        ([5, 60, 5, 60], {"estimator": "bv"}, "not read"),
        ([0, 0, 0, 0], {}, "not read"),
        ([7, 7, 7, 7], {}, "not read"),
    ],
)
def test_record_says_whether_history_is_in_the_estimate(
    history: list[int] | None, options: dict[str, Any], expected: str | None
) -> None:
    drawn = [2, 9, 1, 4] * 10
    plain = SampledRanks(drawn, 19, 200)
    told = SampledRanks(drawn, 19, 200, history=None if history is None else history * 10)
    found = evaluate(told, "recall@10", bounds=False, **options)
    assert found.conventions["history"] == expected
    same = evaluate(plain, "recall@10", bounds=False, **options).means
    assert (found.means == same) == (expected != "read")


def test_history_of_full_samples_is_not_read() -> None:
    ranks = SampledRanks([1, 3, 9], 9, 10, replacement=False, history=[0, 3, 5])
    assert evaluate(ranks, "recall@3", bounds=False).conventions["history"] == "not read"


Floats = NDArray[np.float64]


def from_law(n_items: int, n_users: int, flat: float, power: float) -> NDArray[np.int64]:
    """Exact ranks of a power law of rank + flat, users evenly among its quantiles."""
    weights: Floats = (np.arange(1.0, n_items + 1) + flat) ** -power
    whole: Floats = np.cumsum(weights)
    places = (np.arange(n_users) + 0.5) / n_users * whole[-1]
    return np.minimum(np.searchsorted(whole, places), n_items - 1) + 1


def power_of(n_items: int, flat: float, recall: float) -> float:
    """Power under which such a law has a recall at 10, by halving."""
    low, high = 0.0, 64.0
    for _ in range(50):
        power = (low + high) / 2
        logs = -power * np.log(np.arange(1.0, n_items + 1) + flat)
        mass = np.exp(logs - logs[0])
        low, high = (power, high) if mass[:10].sum() < recall * mass.sum() else (low, power)
    return low


@pytest.mark.parametrize("n_designs", [2, 7])
def test_designs_that_are_equal_are_as_one(n_designs: int) -> None:
    """Users shared out among copies of a design tell what they tell together."""
    cells, counts = Cells.of(300, 9), np.array([[40.0, 20, 11, 9, 5, 5, 4, 3, 2, 1]])
    chances = cells.outcomes(likelihood(SampledRanks(np.arange(1, 11), 9, 300)))[0]
    one, weights = modes(
        prior_of(cells, np.ones(1), np.ones(1)), Sample.of(chances, counts, np.zeros(10, np.int64))
    )
    shares = np.arange(1.0, n_designs + 1)
    split = np.concatenate([share / shares.sum() * counts for share in shares], axis=1)
    copies = np.repeat(np.arange(n_designs), 10)
    several, same = modes(
        prior_of(cells, np.ones(1), np.ones(1)),
        Sample.of(np.tile(chances, n_designs), split, copies),
    )
    assert same == pytest.approx(weights)
    for each, other in zip(one, several, strict=True):
        assert other.coefficients == pytest.approx(each.coefficients, abs=1e-5)
        assert other.precision == pytest.approx(each.precision, rel=1e-4)
        assert other.evidence == pytest.approx(each.evidence)


@pytest.mark.parametrize("told", [False, True])
def test_catalogues_of_nearly_one_size_give_the_errors_of_one(told: bool) -> None:
    exact = from_law(3000, 2000, 20.0, 1.0)
    ranks = simulate_ranks(exact, 3000, 99, seed=0).ranks
    options: dict[str, Any] = {"history": np.tile([5, 20, 40, 90], 500)} if told else {}
    one = Smooth().posterior(SampledRanks(ranks, 99, 3000, **options))
    sizes = 3000 - np.random.default_rng(1).integers(0, 6, 2000)
    several = Smooth().posterior(SampledRanks(ranks, 99, sizes, **options))
    assert several.expect("recall@10") == pytest.approx(one.expect("recall@10"), rel=0.01)
    assert several.std_error("recall@10") == pytest.approx(one.std_error("recall@10"), rel=0.02)
    low, high = one.interval("recall@10")  # ends are quantiles of draws, others for each
    assert several.interval("recall@10") == pytest.approx((low, high), abs=0.2 * (high - low))
    moved = [np.std(fit.influences("recall@10")) for fit in (one, several)]
    assert moved[1] == pytest.approx(moved[0], rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize("flat", [1 / 300, 1 / 15])
def test_very_many_users_and_items_are_fitted(flat: float) -> None:
    """Steps from a flat density are far too long here: the search has to come nearer first."""
    n_items = 1_000_000
    power = power_of(n_items, flat * n_items, 0.0032)
    exact = from_law(n_items, 1_000_000, flat * n_items, power)
    found = Smooth().posterior(simulate_ranks(exact, n_items, 100, seed=1))
    state = found.states[-1]
    assert state is not None
    assert all(mode.converged for mode in state.modes)
    for k in (1000, 10_000):
        truth = float(np.mean(exact <= k))
        low, high = found.interval(f"recall@{k}")
        assert low < truth < high
    assert found.expect("recall@10000") == pytest.approx(float(np.mean(exact <= 10_000)), rel=0.02)
    low, high = found.interval("recall@10")
    assert low < 0.0032 < high
    assert found.expect("recall@10") < 0.02


def test_search_that_ends_early_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = simulate_ranks(from_law(3000, 3000, 20.0, 1.0), 3000, 99, seed=0)
    monkeypatch.setattr(smooth_fit, "_MOST_STEPS", 0)
    with pytest.warns(ConvergenceWarning, match="mle"):
        Smooth().fit(ranks)


def test_estimate_of_next_to_nothing_has_the_error_of_its_interval() -> None:
    """An interval of 1.96 errors on either side is as wide as the one that is reported."""
    found = Smooth().posterior(SampledRanks([20, 21, 22, 22, 22], 21, 20_000))
    low, high = found.interval("ndcg@1")
    assert high > 1000 * found.expect("ndcg@1")
    assert found.std_error("ndcg@1") == pytest.approx((high - low) / (2 * 1.959964), rel=1e-6)
