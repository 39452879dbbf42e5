"""The two rungs of a search, with a budget of seconds, on fits whose costs are invented."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from podium.metrics import parse
from podium.recommenders import Factorization
from podium.tuning import of_pairs as pairs
from podium.tuning.of_pairs import OfPairs
from podium.tuning.results import Trial
from podium.tuning.trials import Fit, FitFile, Task, Trials

MEASURING = 0.1  # seconds


class Invented(Task):
    """Fits of candidates that take such seconds with all passes, and score at random."""

    measure = parse("pap@10")
    n_rungs = 2

    def __init__(self, costs: list[float]) -> None:
        self.costs, self.now = costs, 0.0
        self.means = np.random.default_rng(0).random((len(costs), 2))

    def fitted(self, params: dict[str, Any], fold: int, progress: Any) -> Any:
        self.now += self.costs[params["number"]] * params.get("share", 1.0)
        return params["number"], 0 if "share" in params else 1

    def values(self, model: Any, fold: int) -> Any:
        self.now += MEASURING
        return np.full(5, self.means[model])

    def course(self, model: Any, params: dict[str, Any]) -> tuple[None, str]:
        return None, ""

    def clock(self) -> float:
        return self.now

    def final(self, best: Trial, kept: Any) -> None: ...

    def on_rung(self, params: dict[str, Any], rung: int) -> dict[str, Any]:
        return params if rung == self.n_rungs - 1 else {**params, "share": 1 / 3}


class OneRung(Invented):
    n_rungs = 1


def run(
    costs: list[float], budget: float | None, n_jobs: int = 1, task: type[Invented] = Invented
) -> list[Fit]:
    calls: list[tuple[int, int]] = []
    trials = Trials(
        task(costs),
        FitFile(None, {}),
        budget=budget,
        n_jobs=n_jobs,
        report=lambda done, total, _: calls.append((done, total)),
    )
    trials.run([{"number": number} for number in range(len(costs))])
    assert calls[-1][0] == calls[-1][1]
    return trials.fits


@given(
    st.lists(st.floats(0.5, 20.0), min_size=60, max_size=60),
    st.floats(1.0, 300.0),
    st.sampled_from([Invented, OneRung]),
)
def test_budget_is_exceeded_by_one_fit_at_most(
    costs: list[float], budget: float, task: type[Invented]
) -> None:
    fits = run(costs, budget, task=task)
    seconds = sum(fit.trial.seconds for fit in fits)
    assert seconds <= budget + max(costs) + MEASURING + 1e-6
    assert len({(fit.candidate, fit.rung) for fit in fits}) == len(fits)


@pytest.mark.parametrize("budget", [30.0, 100.0, 300.0])
def test_budget_is_used_and_every_rung_is_reached(budget: float) -> None:
    fits = run([5.0] * 500, budget)
    assert budget - 5.2 <= sum(fit.trial.seconds for fit in fits) <= budget + MEASURING
    assert {fit.rung for fit in fits} == {0, 1}
    assert {fit.rung for fit in fits if fit.candidate == 0} == {0, 1}


def test_more_seconds_try_more_candidates_and_the_fewest_give_one_fit() -> None:
    counts = [len({f.candidate for f in run([5.0] * 500, b)}) for b in (30.0, 60.0, 120.0)]
    assert counts == sorted(set(counts))
    assert len({fit.candidate for fit in run([5.0] * 4, 120.0)}) == 4
    assert [(fit.candidate, fit.rung) for fit in run([5.0] * 9, 0.1)] == [(0, 0)]


@pytest.mark.parametrize(("n_trials", "n_jobs"), [(1, 1), (2, 1), (9, 1), (10, 1), (27, 4)])
def test_without_seconds_the_best_third_goes_on(n_trials: int, n_jobs: int) -> None:
    fits = run([1.0] * n_trials, None, n_jobs)
    numbers = {fit.candidate for fit in fits if fit.rung == 1}
    best = sorted(fits[:n_trials], key=lambda fit: -fit.trial.mean)[: math.ceil(n_trials / 3)]
    assert numbers == {0} | {fit.candidate for fit in best}
    expected = [(fit.candidate, fit.rung, fit.trial.mean) for fit in run([1.0] * n_trials, None)]
    assert [(fit.candidate, fit.rung, fit.trial.mean) for fit in fits] == expected


@pytest.mark.parametrize(("n_epochs", "passes"), [(1, [1]), (8, [8]), (9, [3, 9]), (30, [10, 30])])
def test_short_fits_have_at_least_three_passes(n_epochs: int, passes: list[int]) -> None:
    likes = sparse.csr_array(np.triu(np.ones((5, 5))))
    parts = pairs.divided_pairs(likes, None, None, 0.5, 0)
    model = Factorization(4, n_epochs=n_epochs)
    task = OfPairs(model, parse("ap"), parts, likes, None, None, refits=False)
    params = task.first([{}])
    assert [task.on_rung(params, rung)["n_epochs"] for rung in range(task.n_rungs)] == passes
