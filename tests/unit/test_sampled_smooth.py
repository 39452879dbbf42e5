"""The smooth estimator: its parts against slow forms, and what it does where no shape is smooth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from podium.metrics import parse
from podium.sampled import (
    Design,
    RankDistribution,
    SampledRanks,
    Smooth,
    SmoothFit,
)
from podium.sampled.estimators.smooth.cells import Cells, RowIndex
from podium.sampled.estimators.smooth.fit import (
    Mode,
    Prior,
    Sample,
    State,
    _climb,
    combined_mass,
    log_moments,
    with_history,
)
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
    assert np.abs(cells.chances(observed) - means).max() < 1e-3
    uniform = cells.spread(cells.sizes / n_items)
    assert uniform == pytest.approx(np.full(n_items, 1 / n_items))


def test_history_dips_ranks_that_own_items_take() -> None:
    cells = Cells.of(1000, 50)
    prior = with_history(cells, np.array([5.0, 80.0]), np.array([0.5, 0.5]))
    dip = prior.design[:, :, -1]
    assert dip[:, 0] == pytest.approx(np.log(-np.expm1([-1 / 5, -1 / 80])))
    assert dip[:, -1] == pytest.approx([0.0, 0.0], abs=1e-4)
    n = (prior.design.shape[2] - 1) // 2
    spread = np.log(80 / 5) / 2
    assert prior.design[1, :, n : 2 * n] == pytest.approx(spread * prior.design[1, :, :n])
    assert prior.design[0, :, n : 2 * n] == pytest.approx(-spread * prior.design[0, :, :n])


def one_design(chances: NDArray[np.float64], counts: NDArray[np.float64]) -> Sample:
    return Sample.of(chances, counts, np.zeros(chances.shape[1], np.int64))


def small_case() -> tuple[Prior, NDArray[np.float64], NDArray[np.float64]]:
    cells = Cells.of(60, 6)
    observed = likelihood(SampledRanks(np.arange(1, 8), 6, 60))
    counts = np.array([[30.0, 12, 9, 5, 4, 2, 3], [10.0, 9, 8, 7, 7, 6, 9]])
    prior = with_history(cells, np.array([3.0, 20.0]), np.array([65.0, 56.0]))
    return prior, cells.chances(observed), counts


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
    found = _climb(prior, penalty, sample, np.zeros(prior.design.shape[2]))
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
    found = _climb(prior, prior.fixed, one_design(chances, many), np.zeros(1))
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
    state = fitted.state
    assert state is not None
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


def test_history_of_nothing_is_none() -> None:
    """Where seen items were left out, there is no dip to look for."""
    without_history = SampledRanks([1, 2, 3, 9], 9, 100)
    empty = SampledRanks([1, 2, 3, 9], 9, 100, history=[0] * 4)
    one, other = (Smooth().fit(each).probabilities for each in (without_history, empty))
    assert (one == other).all()


def test_catalogues_of_many_sizes_give_what_rounded_ones_do() -> None:
    """A thousand sizes within 30 %: some 20 after rounding, and hardly another estimate."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1400, 2001, 4000)
    exact = np.minimum(rng.choice(1400, 4000, p=power_law(1400, 20.0, 1.0)) + 1, sizes)
    ranks = rng.binomial(99, (exact - 1) / (sizes - 1)) + 1
    truth = RankDistribution.of_ranks(exact, 2000)
    many = Smooth().posterior(SampledRanks(ranks, 99, sizes))
    assert many.state is not None
    assert many.state.sample.counts.shape[1] < 100 * 20
    large = SampledRanks(ranks, 99, sizes, history=sizes - 1)
    assert 0 < Smooth().estimate(large, "recall@50") < 1
    few = Smooth().fit(SampledRanks(ranks, 99, 100 * np.rint(sizes / 100).astype(np.int64)))
    assert many.expect("recall@50") == pytest.approx(few.expect("recall@50"), rel=0.03)
    assert many.expect("recall@50") == pytest.approx(truth.expect("recall@50"), rel=0.1)
