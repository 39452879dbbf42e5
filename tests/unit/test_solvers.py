"""Every solver reaches the optimum that another way finds, and says how close it is."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.progress import or_silent
from podium.rankers import LinearRanker, fitting
from podium.rankers.fitting import NothingLearnedError
from podium.rankers.objective import Labels, LinearObjective, times, transposed_times
from podium.rankers.solvers import SOLVERS, Settings, Solution

SETTINGS = Settings(learning_rate=0.5, max_iter=2000, tol=1e-6)


def problem(
    loss: str = "pap-avg@3",
    *,
    l2: float = 0.05,
    n: int = 200,
    seed: int = 0,
    weights: Any = None,
    labels: Any = None,
) -> LinearObjective:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + 0.5 * rng.standard_normal(n)
    y = (utility > 0.8).astype(float) if labels is None else labels
    made = Labels(y, Groups.from_qid(np.arange(n) // 20), weights)
    return objective(X, loss, made, l2)


def objective(X: Any, name: str, labels: Labels, l2: float) -> LinearObjective:
    loss: Any = losses.get(name)
    target = loss.prepare(labels.relevance, labels.groups, weights=labels.weights)
    return LinearObjective(X, loss, target, l2, not loss.shift_invariant, labels=labels)


def part_of(whole: LinearObjective, batch: Any) -> LinearObjective:
    return replace(whole, rows=batch.rows, target=batch.target, scale=batch.scale)


def solve(solver: str, problem: LinearObjective, settings: Settings = SETTINGS) -> Solution:
    return SOLVERS[solver](problem, settings, None, or_silent(None))


def test_a_stochastic_pass_is_judged_by_the_mean_of_its_iterates() -> None:
    from podium.rankers.batches import Batches

    given = problem()
    assert given.labels is not None
    batches = Batches.of(given.loss, given.target, given.labels, 7)
    now, iterates = np.zeros(given.n_parameters), list[Any]()
    for number in (1, 2):
        for batch in batches.epoch(number, 3):
            step = 0.5 / np.sqrt(len(iterates) + 1)
            now = now - step * part_of(given, batch).evaluate(now).grad
            iterates.append(now)
    assert len(iterates) == 2 * 4
    settings = Settings(0.5, max_iter=3, tol=0.0, keep="last", batch_size=3, seed=7)
    found = solve("stochastic", given, settings)
    np.testing.assert_allclose(found.parameters, np.mean(iterates[4:], axis=0), rtol=1e-12)
    assert (
        found.objective == found.history.objectives[2] == given.evaluate(found.parameters).objective
    )


def test_lbfgs_comes_to_logistic_regression() -> None:
    given = problem("logistic", l2=0.01)
    made = given.labels
    assert made is not None
    peer = LogisticRegression(C=1 / (0.01 * 200), tol=1e-10).fit(given.features, made.relevance)
    exact = np.append(peer.coef_[0], peer.intercept_)
    found = solve("lbfgs", given, replace(SETTINGS, tol=1e-9))
    np.testing.assert_allclose(found.parameters, exact, atol=1e-4)
    assert found.objective <= given.evaluate(exact).objective + 1e-8


def test_each_rule_keeps_its_iterate() -> None:
    given = problem("pap-ramp@3", l2=0.5)
    runs = {
        keep: solve("subgradient", given, replace(SETTINGS, keep=keep, max_iter=15, tol=0.0))
        for keep in ("best", "best_loss", "last")
    }
    history = runs["best"].history
    assert history.kept_at == int(np.argmin(history.objectives))
    assert runs["best_loss"].history.kept_at == int(np.argmin(history.losses))
    assert runs["best_loss"].history.kept_at != history.kept_at
    assert runs["last"].history.kept_at == 14
    assert runs["last"].objective == history.objectives[-1]
    assert len({run.objective for run in runs.values()}) == 3


def test_validation_chooses_and_patience_stops_every_solver() -> None:
    for solver in SOLVERS:
        given = problem("logistic", l2=1e-3)
        seen = iter([0.1, 0.5, 0.3, 0.5, 0.2, 0.9])
        settings = replace(SETTINGS, tol=0.0, patience=3, learning_rate=1.0)
        found = SOLVERS[solver](given, settings, lambda _, s=seen: next(s), or_silent(None))
        assert found.stop_reason == "patience", solver
        assert (found.history.kept_at, len(found.history.objectives)) == (1, 5)


def test_passes_draw_each_group_once_in_an_order_of_seed_and_pass() -> None:
    from podium.rankers.batches import Batches

    given = problem()
    assert given.labels is not None
    labels = given.labels

    def order(number: int, seed: int) -> list[Any]:
        batches = Batches.of(given.loss, given.target, labels, seed)
        return [tuple(batch.rows // 20) for batch in batches.epoch(number, 4)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(2, 0) != order(2, 1)
    assert [len(rows) for rows in order(1, 0)] == [80, 80, 40]
    assert sorted(np.concatenate(order(1, 0))) == sorted(np.arange(200) // 20)


def test_first_step_of_a_smooth_loss_is_one_over_its_largest_curvature() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)) * [1.0, 5.0, 20.0], rng.integers(0, 3, 60).astype(float)
    groups = Groups.from_sizes([20, 20, 20])
    # At equal scores the Hessian of a softmax is exactly the bound less its mean.
    for name in ("softmax", "listnet", "logistic"):
        loss = losses.get(name)
        objective = LinearObjective(X, loss, loss.prepare(y, groups), labels=Labels(y, groups))
        step = 1e-5 * np.eye(3)
        hessian = [objective.evaluate(e).grad - objective.evaluate(-e).grad for e in step]
        largest = np.linalg.eigvalsh(np.array(hessian) / 2e-5).max()
        found = fitting.first_step(objective, np.zeros(3))
        assert found == pytest.approx(min(0.5, 1.0 / largest), rel=0.05)
    hinge = losses.get("pairwise-hinge")
    objective = LinearObjective(X, hinge, hinge.prepare(y, groups), labels=Labels(y, groups))
    assert fitting.first_step(objective, np.zeros(3)) == 0.5


RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((60, 13)) < 0.4, RNG.standard_normal((60, 13)), 0.0)
COEF, BY_ROW = RNG.standard_normal(13), RNG.standard_normal(60) * (np.arange(60) % 3 == 0)
ROWS = np.array([7, 3, 3, 59, 0])

KINDS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_float64(kind: str, dtype: Any) -> None:
    exact = DENSE.astype(dtype).astype(np.float64)
    X = KINDS[kind](DENSE.astype(dtype))
    close = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(times(X, COEF), exact @ COEF, **close)
    np.testing.assert_allclose(times(X, COEF, ROWS), exact[ROWS] @ COEF, **close)
    np.testing.assert_allclose(transposed_times(X, BY_ROW), exact.T @ BY_ROW, **close)
    some = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    np.testing.assert_allclose(transposed_times(X, some, ROWS), exact[ROWS].T @ some, **close)
    none = np.empty(0, np.int64)
    assert times(X, COEF, none).size == 0
    np.testing.assert_array_equal(transposed_times(X, np.empty(0), none), np.zeros(13))
    assert times(X, COEF).dtype == transposed_times(X, BY_ROW).dtype == np.float64


@pytest.mark.parametrize("kind", ["C", "csr_array"])
def test_rows_without_a_gradient_are_not_read(kind: str) -> None:
    X = np.where((BY_ROW == 0.0)[:, None], np.nan, DENSE)
    exact = DENSE.T @ BY_ROW
    np.testing.assert_allclose(transposed_times(KINDS[kind](X), BY_ROW), exact, atol=1e-13)


def fit_peak(X: Any, loss: str) -> int:
    """Return the bytes that a fit holds at its peak beside what it is given."""
    y = (X[:, [0]] > 0.8).astype(float)
    y = np.asarray(y.toarray() if sparse.issparse(y) else y).ravel()
    qid = np.arange(X.shape[0]) // 50
    ranker = LinearRanker(loss, solver="subgradient", max_iter=12, tol=1e9)
    ranker.fit(X[:200], y[:200], qid[:200])
    tracemalloc.start()
    try:
        ranker.fit(X, y, qid)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["pap-avg@5", "logistic"])
def test_fitting_copies_no_features(loss: str, dtype: Any) -> None:
    X = np.random.default_rng(0).standard_normal((4_000, 200)).astype(dtype)
    assert fit_peak(X, loss) < X.nbytes / 4
    held = sparse.csr_array(X)
    assert fit_peak(held, loss) < held.data.nbytes / 4


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("row", [0, 5000, 8999])
def test_not_finite_features_are_found_in_any_block(row: int, value: float) -> None:
    X = np.ones((9000, 2), np.float32)
    X[row, 1] = X[8999, 1] = value
    message = f"X has {1 if row == 8999 else 2} NaN or inf values, first at row {row}, column 1"
    for features in (X, sparse.csr_array(X)):
        with pytest.raises(ArgumentError, match=message):
            LinearRanker("logistic").fit(features, np.arange(9000) % 2)


def test_largest_and_smallest_numbers_are_finite() -> None:
    for dtype in (np.float32, np.float64):
        info = np.finfo(dtype)
        X = np.array([[info.max, info.tiny], [info.min, -0.0]], dtype)
        narrow = dtype is np.float32  # scores of float32 don't overflow: no step is an improvement
        refused = raises(NothingLearnedError, "eval_set")
        with refused if narrow else pytest.warns(UserWarning, match="LinearRanker"):
            LinearRanker("pap-avg@1", solver="subgradient").fit(X, [1, 0], qid=[0, 0])


def test_objective_overflows_to_infinity_and_never_to_undefined() -> None:
    loss = losses.PApAverage(1)
    y = np.array([1.0, 0.0])
    given = LinearObjective(np.array([[1.0], [-1.0]]), loss, loss.prepare(y, Groups.single(2)))
    for size in (1e280, 1e300, 1e308, np.inf):
        assert given.evaluate(np.array([-size])).objective > 1e279
    assert given.evaluate(np.array([np.nan])).objective == np.inf
