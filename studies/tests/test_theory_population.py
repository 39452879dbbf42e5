"""Population risk, bound and gap: shares, seeds, bad input, and what is drawn."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from podium.errors import ArgumentError
from podium_studies.hiranandani2020 import theory

GROUP = {"n_pos": 20, "n_neg": 200, "k": 10}


def high(rng: np.random.Generator, n: int) -> Any:
    return rng.normal(1.0, 1.0, n)


def low(rng: np.random.Generator, n: int) -> Any:
    return rng.normal(0.0, 1.0, n)


def rows(mean: float) -> theory.Sampler:
    return lambda rng, n: rng.normal(mean, 1.0, (n, 4))


@pytest.mark.parametrize(
    ("n_pos", "n_neg", "k", "form", "plus"),
    [
        (10_000, 100_000, 5_000, "corrected", 0.5),
        # Positives are 1/11 of all, above k / n_neg = 1/20.
        (10_000, 100_000, 5_000, "printed", 0.05),
        # 1/21 of all, below 1/20.
        (5_000, 100_000, 5_000, "printed", 1.0),
        # Equal: 1/5 of all and k / n_neg = 1/5.
        (25, 100, 20, "printed", 1.0),
        (3, 100, 20, "corrected", 1.0),
        (3, 100, 20, 0.25, 0.25),
    ],
)
def test_gamma_plus(n_pos: int, n_neg: int, k: int, form: Any, plus: float) -> None:
    risk = theory.population_risk(
        high, low, n_pos=n_pos, n_neg=n_neg, k=k, gamma_plus=form, n_draws=20_000
    )
    assert (risk.gamma_plus, risk.gamma_minus) == (plus, k / n_neg)


@pytest.mark.parametrize(
    "change",
    [
        {"k": 201},
        {"n_pos": 0},
        {"gamma_plus": 0.0},
        {"gamma_plus": "corected"},
        {"n_batches": 1},
        {"n_draws": 7_000},
        {"seed": -1},
        {"positives": lambda rng, n: rng.normal(size=3)},
        {"negatives": lambda rng, n: 1.0},
        {"positives": rows(0.0)},
        {"positives": lambda rng, n: np.full(n, np.nan)},
        {"scorer": lambda X: X[:3]},
    ],
)
def test_bad_argument_is_named(change: dict[str, Any]) -> None:
    arguments = {"positives": high, "negatives": low, **GROUP, "n_draws": 20_000, **change}
    with pytest.raises(ArgumentError):
        theory.population_risk(**arguments)


def test_bound_by_hand() -> None:
    value = theory.generalization_bound(n_pos=50, n_neg=400, k=20, vc_dim=3, rho=0.1, constant=2)
    of_pos = math.sqrt((3 * math.log(50) + math.log(10)) / 50) / (20 / 50)
    of_neg = math.sqrt((3 * math.log(400) + math.log(10)) / 400) / (20 / 400)
    assert value == pytest.approx(2 * (of_pos + of_neg), rel=1e-12)
    printed = theory.generalization_bound(
        n_pos=50, n_neg=400, k=20, vc_dim=3, rho=0.1, constant=2, gamma_plus="printed"
    )
    assert printed == pytest.approx(2 * (of_pos * (20 / 50) / (20 / 400) + of_neg), rel=1e-12)


def gap(**change: Any) -> theory.Gap:
    arguments: dict[str, Any] = {
        "positives": high,
        "negatives": low,
        **GROUP,
        "vc_dim": 1,
        "multiples": (1, 4, 16),
        "n_repeats": 60,
        "n_draws": 200_000,
        **change,
    }
    return theory.generalization_gap(**arguments)


def test_gap_of_one_scorer_falls_by_the_root_of_n() -> None:
    actual = gap()
    assert actual["n_neg"] == [200, 800, 3200]
    assert actual["rate"] == pytest.approx(-0.5, abs=0.15)
    assert len(set(actual["population"])) == 1
    for mean, pop, emp in zip(
        actual["gap"]["mean"], actual["population"], actual["empirical"], strict=True
    ):
        assert mean == pytest.approx(pop - emp, abs=1e-12)
    lies_above = [
        b >= h - 1e-12 for b, h in zip(actual["scaled_bound"], actual["gap"]["high"], strict=True)
    ]
    assert all(lies_above)
    assert actual["constant"] == max(
        h / b for h, b in zip(actual["gap"]["high"], actual["bound"], strict=True)
    )
    assert json.loads(json.dumps(actual)) == actual


def test_gap_of_what_was_learned_from_the_sample_is_positive() -> None:
    def fit(pos: Any, neg: Any) -> theory.Scorer:
        w = pos.mean(axis=0) - neg.mean(axis=0)
        return lambda X: X @ w

    actual = gap(
        positives=rows(0.0), negatives=rows(0.0), fit=fit, n_repeats=20, vc_dim=5, n_draws=20_000
    )
    # Nothing to learn: chance on the population, better than that on its own sample.
    assert actual["gap"]["mean"][0] > 0.05
    assert actual["gap"]["mean"][-1] < actual["gap"]["mean"][0] / 2


def test_separated_classes_have_no_gap_and_no_constant() -> None:
    actual = gap(positives=lambda rng, n: rng.random(n) + 5, negatives=lambda rng, n: rng.random(n))
    assert actual["gap"]["high"] == [0.0, 0.0, 0.0]
    assert actual["constant"] is None
    assert actual["rate"] is None
    assert "<svg" in theory.gap_plot(actual)
