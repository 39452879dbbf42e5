"""The smooth estimator where users have several designs, or are very many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.errors import ConvergenceWarning
from podium.sampled import SampledRanks, Smooth, simulate_ranks
from podium.sampled.estimators.smooth import fit as smooth_fit
from podium.sampled.estimators.smooth.cells import Cells
from podium.sampled.estimators.smooth.fit import Sample, modes, without_history
from podium.sampled.likelihood import likelihood

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
    chances = cells.chances(likelihood(SampledRanks(np.arange(1, 11), 9, 300)))
    one, weights = modes(without_history(cells), Sample.of(chances, counts, np.zeros(10, np.int64)))
    shares = np.arange(1.0, n_designs + 1)
    split = np.concatenate([share / shares.sum() * counts for share in shares], axis=1)
    copies = np.repeat(np.arange(n_designs), 10)
    several, same = modes(
        without_history(cells), Sample.of(np.tile(chances, n_designs), split, copies)
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
    state = found.state
    assert state is not None
    assert all(mode.converged for mode in state.modes)
    for k in (1000, 10_000):
        truth = float(np.mean(exact <= k))
        low, high = found.interval("recall", k)
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
