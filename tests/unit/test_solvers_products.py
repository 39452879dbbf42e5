"""Products of features: any storage, any type, chosen rows, and no more read than is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.rankers import LinearRanker
from podium.rankers.fitting import NothingLearnedError
from podium.rankers.objective import LinearObjective, times, transposed_times

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


def test_float32_gives_the_ranker_of_the_same_numbers_in_float64() -> None:
    X = np.random.default_rng(0).standard_normal((400, 5)).astype(np.float32)
    y, qid = (X[:, 0] > 0.7).astype(float), np.arange(400) // 20
    narrow = LinearRanker("pap-avg@3", tol=1e-3).fit(X, y, qid)
    wide = LinearRanker("pap-avg@3", tol=1e-3).fit(X.astype(np.float64), y, qid)
    assert narrow.coef_.dtype == np.float64
    np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=1e-12)
    assert narrow.predict(X).dtype == np.float64
    np.testing.assert_allclose(narrow.predict(X), wide.predict(X), rtol=1e-6, atol=1e-6)


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
            LinearRanker("pap-avg@1", solver="subgradient").fit(X, [1, 0], group=[2])


def test_objective_overflows_to_infinity_and_never_to_undefined() -> None:
    loss = losses.PApAverage(1)
    y = np.array([1.0, 0.0])
    given = LinearObjective(np.array([[1.0], [-1.0]]), loss, loss.prepare(y, Groups.single(2)))
    for size in (1e280, 1e300, 1e308, np.inf):
        assert given.evaluate(np.array([-size])).objective > 1e279
    assert given.evaluate(np.array([np.nan])).objective == np.inf


THREADS = """
import hashlib, warnings
import numpy as np
from scipy import sparse
from podium.rankers import LinearRanker
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 120))
wide = sparse.random_array((1500, 20_000), density=0.005, format="csr", rng=rng)
y, qid = (X[:, 0] + X[:, 1] > 1).astype(float), np.arange(3000) // 30
for features in (X, X.astype(np.float32), wide):
    n = features.shape[0]
    for solver, loss in (("lbfgs", "logistic"), ("bundle", "pap-max@5"),
                         ("subgradient", "pap-ramp@5"), ("stochastic", "pap-ramp@5")):
        ranker = LinearRanker(loss, solver=solver, l2=0.01, max_iter=10)
        ranker.fit(features, y[:n], qid[:n])
        print(solver, hashlib.sha256(ranker.coef_.tobytes()).hexdigest())
"""


def fingerprints(n_threads: int) -> str:
    """Fit in a new process with so many threads for everything."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        env=os.environ | dict.fromkeys(names, str(n_threads)),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.long
def test_every_solver_gives_the_same_bits_for_one_thread_and_two() -> None:
    one = fingerprints(1)
    assert len(one.splitlines()) == 12
    assert fingerprints(2) == one
