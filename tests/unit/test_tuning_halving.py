"""Successive halving with a budget of seconds, on fits whose costs are invented."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.tuning.halving import Fit, Halving, shares_of_passes
from podium.tuning.results import Trial

SHARES = shares_of_passes(30)


def run(
    costs: list[float], budget: float | None, n_trials: int | None, shares: list[float] = SHARES
) -> list[Fit]:
    """Return the fits of candidates that take such seconds with all passes, and score at random."""
    rng = np.random.default_rng(0)
    means = rng.random((len(costs), len(shares)))
    calls: list[tuple[int, int]] = []

    def fit(number: int, params: dict[str, Any], rung: int) -> Fit:
        fit_seconds = costs[number] * shares[rung]
        seconds = fit_seconds + 0.1
        trial = Trial(number, params, (), float(means[number, rung]), 0.0, 5, seconds)
        return Fit(number, rung, params, trial, fit_seconds)

    halving = Halving(fit, shares, n_trials=n_trials, budget=budget, sign=1.0)
    halving.run(
        [{"cost": cost} for cost in costs],
        lambda done, total, _: calls.append((done, total)),
        lambda: "",
    )
    assert calls[-1][0] == calls[-1][1]
    return halving.fits


@given(
    st.lists(st.floats(0.5, 20.0), min_size=60, max_size=60),
    st.floats(1.0, 300.0),
    st.sampled_from([30, 9, 1]),
)
def test_budget_is_exceeded_by_one_fit_at_most(
    costs: list[float], budget: float, n_epochs: int
) -> None:
    fits = run(costs, budget, None, shares_of_passes(n_epochs))
    seconds = sum(fit.trial.seconds for fit in fits)
    assert seconds <= budget + max(costs) + 0.1
    assert len({(fit.candidate, fit.rung) for fit in fits}) == len(fits)


@pytest.mark.parametrize("budget", [30.0, 100.0, 300.0])
def test_budget_is_used_and_every_rung_is_reached(budget: float) -> None:
    fits = run([5.0] * 500, budget, None)
    assert budget - 5.2 <= sum(fit.trial.seconds for fit in fits) <= budget + 0.1
    assert {fit.rung for fit in fits} == {0, 1}
    assert {fit.rung for fit in fits if fit.candidate == 0} == {0, 1}


def test_more_seconds_try_more_candidates() -> None:
    counts = [len({f.candidate for f in run([5.0] * 500, b, None)}) for b in (30.0, 60.0, 120.0)]
    assert counts == sorted(set(counts))
    assert len({fit.candidate for fit in run([5.0] * 500, 120.0, 4)}) == 4


def test_a_budget_that_is_too_short_gives_one_fit() -> None:
    assert [(fit.candidate, fit.rung) for fit in run([5.0] * 9, 0.1, None)] == [(0, 0)]


@pytest.mark.parametrize("n_trials", [1, 2, 9, 10, 27])
def test_without_seconds_the_best_third_goes_on(n_trials: int) -> None:
    fits = run([1.0] * 50, None, n_trials)
    numbers = {fit.candidate for fit in fits if fit.rung == 1}
    best = sorted(fits[:n_trials], key=lambda fit: -fit.trial.mean)[: math.ceil(n_trials / 3)]
    assert numbers == {0} | {fit.candidate for fit in best}


@pytest.mark.parametrize(
    ("n_epochs", "passes"),
    [(None, [1]), (1, [1]), (8, [8]), (9, [3, 9]), (30, [10, 30])],
)
def test_short_fits_have_at_least_three_passes(n_epochs: int | None, passes: list[int]) -> None:
    assert [round((n_epochs or 1) * share) for share in shares_of_passes(n_epochs)] == passes
