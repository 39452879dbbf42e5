"""Population risks by quadrature; the bound by hand; gaps and their rate; bad arguments."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from podium.errors import ArgumentError
from podium_studies.hiranandani2020 import theory

GROUP = {"n_pos": 20, "n_neg": 200, "k": 10}


def normal(mean: float, sd: float = 1.0) -> theory.Sampler:
    return lambda rng, n: rng.normal(mean, sd, n)


def rows(mean: float) -> theory.Sampler:
    return lambda rng, n: rng.normal(mean, 1.0, (n, 4))


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
    ("pos", "n_pos", "n_neg", "k", "form", "plus"),
    [
        ((1.0, 1.0), 10, 100, 5, "corrected", 0.5),
        # Positives are 1/11 of all, above k / n_neg = 1/20.
        ((1.0, 1.0), 10, 100, 5, "printed", 0.05),
        # 1/21 of all, below 1/20.
        ((1.0, 1.0), 5, 100, 5, "printed", 1.0),
        # Equal: 1/5 of all and k / n_neg = 1/5.
        ((1.0, 1.0), 25, 100, 20, "printed", 1.0),
        ((2.0, 0.5), 5, 40, 10, "corrected", 1.0),
        ((0.0, 1.0), 4, 4, 4, "corrected", 1.0),
        ((0.5, 2.0), 100, 50, 5, "corrected", 0.05),
    ],
)
def test_population_risk_is_the_integral(
    pos: tuple[float, float], n_pos: int, n_neg: int, k: int, form: theory.GammaPlus, plus: float
) -> None:
    risk = theory.population_risk(
        normal(*pos), normal(0.0), n_pos=n_pos, n_neg=n_neg, k=k, gamma_plus=form
    )
    assert (risk.gamma_plus, risk.gamma_minus) == (plus, k / n_neg)
    assert 0 < risk.std_error < 0.01
    assert abs(risk.value - quadrature(pos, (0.0, 1.0), plus, k / n_neg)) < 4 * risk.std_error


def test_small_batches_are_not_biased_and_their_spread_is_the_error() -> None:
    """20 negatives in the top share of each batch; 200 seeds: an error of 0.002."""
    risks = [
        theory.population_risk(
            normal(1.0), normal(0.0), n_pos=10, n_neg=100, k=5, n_draws=8_000, seed=seed
        )
        for seed in range(200)
    ]
    values = np.array([risk.value for risk in risks])
    spread = values.std(ddof=1)
    exact = quadrature((1, 1), (0, 1), 0.5, 0.05)
    assert abs(values.mean() - exact) < 4 * spread / np.sqrt(200)
    assert np.mean([risk.std_error for risk in risks]) == pytest.approx(spread, rel=0.2)


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


@pytest.mark.parametrize(
    "change",
    [
        {"k": 201},
        {"gamma_plus": "corected"},
        {"n_draws": 7_000},
        {"positives": lambda rng, n: np.full(n, np.nan)},
    ],
)
def test_bad_argument_is_refused(change: dict[str, Any]) -> None:
    given = {"positives": normal(1.0), "negatives": normal(0.0), **GROUP, "n_draws": 20_000}
    with pytest.raises(ArgumentError):
        theory.population_risk(**{**given, **change})


def test_bound_by_hand() -> None:
    group = {"n_pos": 50, "n_neg": 400, "k": 20, "vc_dim": 3, "rho": 0.1}
    of_pos = math.sqrt((3 * math.log(50) + math.log(10)) / 50)
    of_neg = math.sqrt((3 * math.log(400) + math.log(10)) / 400) / (20 / 400)
    for form, plus in (("corrected", 20 / 50), ("printed", 20 / 400)):
        bound = theory.generalization_bound(**group, gamma_plus=form)
        assert bound == pytest.approx(of_pos / plus + of_neg, rel=1e-12)


def gap(**change: Any) -> dict[str, Any]:
    sizes = {"multiples": (1, 4, 16), "n_repeats": 60, "n_draws": 200_000}
    given: dict[str, Any] = {"positives": normal(1.0), "negatives": normal(0.0), "vc_dim": 1}
    return theory.generalization_gap(**{**given, **GROUP, **sizes, **change})


def test_gap_of_one_scorer_falls_by_the_root_of_n() -> None:
    actual = gap()
    assert actual["n_neg"] == [200, 800, 3200]
    assert actual["rate"] == pytest.approx(-0.5, abs=0.15)
    assert len(set(actual["population"])) == 1
    means = np.subtract(actual["population"], actual["empirical"])
    np.testing.assert_allclose(actual["gap"]["mean"], means, atol=1e-12)
    above = np.subtract(actual["scaled_bound"], actual["gap"]["high"])
    assert above.min() == pytest.approx(0.0, abs=1e-12)  # the least constant touches the band
    assert json.loads(json.dumps(actual)) == actual


def test_gap_of_what_was_learned_from_the_sample_is_positive() -> None:
    def fit(pos: Any, neg: Any) -> theory.Scorer:
        w = pos.mean(axis=0) - neg.mean(axis=0)
        return lambda X: X @ w

    samplers = {"positives": rows(0.0), "negatives": rows(0.0)}
    actual = gap(**samplers, fit=fit, n_repeats=20, vc_dim=5, n_draws=20_000)
    # Nothing to learn: chance on the population, better than that on its own sample.
    assert actual["gap"]["mean"][0] > 0.05
    assert actual["gap"]["mean"][-1] < actual["gap"]["mean"][0] / 2


def test_separated_classes_have_no_gap_and_no_constant() -> None:
    actual = gap(positives=lambda rng, n: rng.random(n) + 5, negatives=lambda rng, n: rng.random(n))
    assert actual["gap"]["high"] == [0.0, 0.0, 0.0]
    assert actual["constant"] is None
    assert actual["rate"] is None
