"""Population risks by quadrature, and over all orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from podium import Ranking, metrics
from podium_studies.hiranandani2020 import theory


def normal(mean: float, sd: float = 1.0) -> theory.Sampler:
    return lambda rng, n: rng.normal(mean, sd, n)


def quadrature(
    pos: tuple[float, float], neg: tuple[float, float], plus: float, minus: float
) -> float:
    """Eq. (16) of two normal distributions of scores."""
    above, below = stats.norm(*pos), stats.norm(*neg)
    # Over the negatives' top share in their own quantile u, where top positives lie below them.
    end = min(minus, float(below.sf(above.isf(plus))))
    total = integrate.quad(lambda u: plus - float(above.sf(below.isf(u))), 0, end, limit=500)[0]
    return total / (plus * minus)


@pytest.mark.parametrize(
    ("pos", "n_pos", "n_neg", "k", "form"),
    [
        ((1.0, 1.0), 10, 100, 5, "corrected"),
        ((1.0, 1.0), 10, 100, 5, "printed"),
        ((2.0, 0.5), 5, 40, 10, "corrected"),
        ((0.0, 1.0), 4, 4, 4, "corrected"),
        ((0.5, 2.0), 100, 50, 5, "corrected"),
        ((-1.0, 1.0), 10, 10, 3, 0.7),
    ],
)
def test_population_risk_is_the_integral(
    pos: tuple[float, float], n_pos: int, n_neg: int, k: int, form: theory.GammaPlus
) -> None:
    risk = theory.population_risk(
        normal(*pos), normal(0.0), n_pos=n_pos, n_neg=n_neg, k=k, gamma_plus=form
    )
    exact = quadrature(pos, (0.0, 1.0), risk.gamma_plus, risk.gamma_minus)
    assert 0 < risk.std_error < 0.01
    assert abs(risk.value - exact) < 4 * risk.std_error


def test_small_batches_are_not_biased() -> None:
    """20 negatives in the top share of each batch, 4,000 batches: an error of 0.002."""
    risk = theory.population_risk(
        normal(1.0), normal(0.0), n_pos=10, n_neg=100, k=5, n_draws=1_600_000, n_batches=4000
    )
    assert abs(risk.value - quadrature((1, 1), (0, 1), 0.5, 0.05)) < 4 * risk.std_error


def test_std_error_is_the_spread_over_seeds() -> None:
    def draw(seed: int) -> theory.PopulationRisk:
        group = {"n_pos": 10, "n_neg": 100, "k": 5}
        return theory.population_risk(
            normal(1.0), normal(0.0), **group, n_draws=40_000, n_batches=40, seed=seed
        )

    actual = [draw(seed) for seed in range(100)]
    spread = np.std([risk.value for risk in actual], ddof=1)
    assert np.mean([risk.std_error for risk in actual]) == pytest.approx(spread, rel=0.25)


def test_papers_gamma_plus_is_not_the_limit_of_the_metric() -> None:
    """One sample of 10,000 and 100,000 at k = 5,000 lies at the corrected value."""
    rng = np.random.default_rng(0)
    s, t = rng.normal(1, 1, 10_000), rng.normal(0, 1, 100_000)
    ranking = Ranking.from_scores(np.append(s, t), np.repeat([1.0, 0.0], [s.size, t.size]))
    empirical = 1 - metrics.pap(ranking, k=5000)[0]
    corrected = quadrature((1, 1), (0, 1), 0.5, 0.05)
    printed = quadrature((1, 1), (0, 1), 0.05, 0.05)
    assert corrected == pytest.approx(0.6821, abs=1e-4)
    assert printed == pytest.approx(0.0340, abs=1e-4)
    assert abs(empirical - corrected) < 0.02


@pytest.mark.long
def test_empirical_risk_converges_to_the_population_risk() -> None:
    def off(n: int) -> float:
        gaps: list[float] = []
        for seed in range(30):
            rng = np.random.default_rng([n, seed])
            s, t = rng.normal(1, 1, 2 * n), rng.normal(0, 1, 10 * n)
            ranking = Ranking.from_scores(np.append(s, t), np.repeat([1.0, 0.0], [2 * n, 10 * n]))
            gaps.append(1 - metrics.pap(ranking, k=n)[0] - quadrature((1, 1), (0, 1), 0.5, 0.1))
        return float(np.sqrt(np.mean(np.square(gaps))))

    # A rate of 1/sqrt(n): 64 times the items, an eighth of the error.
    assert off(640) / off(10) == pytest.approx(1 / 8, rel=0.5)


def test_ties_are_errors_and_atoms_fill_their_share() -> None:
    """Scores 0, 1, 2 with known shares: the limit of the metric in closed form."""

    def scores(*shares: float) -> theory.Sampler:
        return lambda rng, n: rng.choice(len(shares), n, p=shares)

    # Top half of positives: .2 of 2, .3 of 1. Top .4 of negatives: .1 of 2, .3 of 1.
    risk = theory.population_risk(
        scores(0.3, 0.5, 0.2), scores(0.5, 0.4, 0.1), n_pos=20, n_neg=25, k=10
    )
    exact = (0.2 * 0.1 + 0.3 * 0.4) / (0.5 * 0.4)
    assert abs(risk.value - exact) < 4 * risk.std_error + 1e-9


def test_constant_scorer_errs_on_every_pair() -> None:
    def rows(rng: np.random.Generator, n: int):
        return rng.normal(size=(n, 3))

    risk = theory.population_risk(
        rows, rows, n_pos=30, n_neg=30, k=7, scorer=lambda X: np.zeros(len(X)), n_draws=10_000
    )
    assert risk.value == pytest.approx(1.0)
    assert risk.pap == pytest.approx(0.0, abs=1e-12)
