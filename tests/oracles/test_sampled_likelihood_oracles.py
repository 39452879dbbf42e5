"""Likelihood estimators against sums over every rank and against general solvers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize

from podium.sampled import MES, Design, SampledRanks
from podium.sampled.bounds import identification_bounds
from podium.sampled.bounds.ball import ball_of_ranks
from podium.sampled.likelihood import Likelihood, em, likelihood
from podium.sampled.sums import expected

Floats = NDArray[np.float64]


def drawn(
    weights: Floats, n_negatives: int, n_users: int, seed: int, *, replacement: bool = True
) -> SampledRanks:
    """Sampled ranks of users whose ranks come from a distribution."""
    rng, n_items = np.random.default_rng(seed), weights.size
    ranks = rng.choice(n_items, n_users, p=weights / weights.sum()) + 1
    if replacement:
        above = rng.binomial(n_negatives, (ranks - 1) / (n_items - 1))
    else:
        above = rng.hypergeometric(ranks - 1, n_items - ranks, n_negatives)
    return SampledRanks(above + 1, n_negatives, n_items, replacement=replacement)


def whole_em(observed: Likelihood, n_steps: int) -> Floats:
    """Equation 21 over every rank, as it is written."""
    chances = observed.chances(np.arange(1.0, observed.n_items + 1))
    found = np.full(observed.n_items, 1.0 / observed.n_items)
    for _ in range(n_steps):
        found = found * (chances @ (observed.shares / (found @ chances)))
    return found


def falling(n_items: int, power: float) -> Floats:
    return np.arange(1.0, n_items + 1) ** -power


def spikes(n_items: int) -> Floats:
    found = np.zeros(n_items)
    found[[n_items // 100, 2 * n_items // 3]] = 0.3, 0.7
    return found


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("n_users", [3, 2000])
@pytest.mark.parametrize("n_steps", [1, 7, 150])
def test_em_equals_sums_over_every_rank(n_steps: int, n_users: int, replacement: bool) -> None:
    for seed, weights in enumerate((falling(2500, 0.9), spikes(2500), falling(2500, -2.0))):
        observed = likelihood(drawn(weights, 60, n_users, seed, replacement=replacement))
        assert not observed.grid(n_steps).has_all_ranks
        found, wanted = em(observed, n_steps), whole_em(observed, n_steps)
        assert np.abs(found - wanted).sum() < 2e-7


def test_em_reads_several_designs() -> None:
    rng = np.random.default_rng(3)
    ranks = np.minimum(rng.geometric(0.01, 400), 900)
    sizes, items = rng.choice([20, 50], 400), rng.choice([1000, 950], 400)
    mixed = SampledRanks(1 + rng.binomial(sizes, (ranks - 1) / (items - 1)), sizes, items)
    assert len(mixed.designs) == 4
    observed = likelihood(mixed)
    assert np.abs(em(observed, 30) - whole_em(observed, 30)).sum() < 2e-7


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n_negatives", "n_items"), [(30, 1000), (30, 200), (900, 1000)])
def test_sweep_equals_the_table(n_negatives: int, n_items: int, replacement: bool) -> None:
    design = Design(n_negatives, n_items, replacement=replacement)
    values = np.random.default_rng(0).normal(size=n_negatives + 1)
    wanted = design.probabilities() @ values
    assert expected(design, values) == pytest.approx(wanted, rel=1e-9, abs=1e-11)


def test_sweep_takes_samples_beyond_the_range_of_doubles() -> None:
    design = Design(1200, 2000)
    assert expected(design, np.ones(1201)) == pytest.approx(np.ones(2000), rel=1e-9)


@pytest.mark.parametrize("eta", [0.001, 0.01, 1.0])
def test_mes_minimises_its_objective(eta: float) -> None:
    ranks = drawn(falling(30, 1.0), 8, 60, 5)
    design, counts = ranks.designs[0]
    shares, chances = counts / 60, design.probabilities()

    def objective(mass: Floats) -> float:
        error = float(shares @ (mass @ chances - shares) ** 2)
        return 9 * error + eta * float(mass @ np.log(np.maximum(mass, 1e-300)))

    found = MES(eta=eta).fit(ranks).probabilities
    rng = np.random.default_rng(0)
    least = objective(found)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(200):
            other = found * np.exp(size * rng.normal(size=30))
            assert objective(other / other.sum()) >= least - 1e-13
    softmax = minimize(
        lambda x: objective(np.exp(x - x.max()) / np.exp(x - x.max()).sum()) / eta,
        np.zeros(30),
        method="BFGS",
    )
    assert least / eta == pytest.approx(softmax.fun, abs=1e-4)
    assert least / eta <= softmax.fun + 1e-9


def test_identification_bounds_are_close_to_distributions_that_fit() -> None:
    """Distributions near the edge of the ball nearly attain the bounds that were proved."""
    ranks = drawn(falling(80, 0.8), 10, 3000, 1)
    inside = ball_of_ranks(ranks, 0.95)
    ((design, _, values),) = inside.parts
    features = (design.probabilities() @ values).T
    worth = (np.arange(80) < 5).astype(np.float64)
    bounds = identification_bounds(ranks, "recall@5")
    for sign, bound in zip((1.0, -1.0), bounds, strict=True):
        cuts: list[Floats] = []
        for _ in range(60):
            gap = features - inside.means[:, None]
            rows = np.array([cut @ gap for cut in cuts]) if cuts else None
            limits = np.full(len(cuts), inside.radius) if cuts else None
            found = linprog(sign * worth, A_ub=rows, b_ub=limits, A_eq=np.ones((1, 80)), b_eq=[1.0])
            away = gap @ found.x
            cuts.append(away / np.linalg.norm(away))
            if np.linalg.norm(away) <= inside.radius * 1.001:
                break
        assert sign * found.fun == pytest.approx(bound, abs=2e-3)
