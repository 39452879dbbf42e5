"""Laws of the rankers: scikit-learn's contract, repeated fits, row order, groups."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.rankers import (
    REGISTRY,
    SOLVERS,
    LightGBMRanker,
    LinearRanker,
    NeuralRanker,
    XGBoostRanker,
)

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")

LOSSES = [
    f"{name}@3" if "k" in {field.name for field in dataclasses.fields(cls)} else name
    for name, cls in losses.REGISTRY.items()
]
DRAWING = [name for name in LOSSES if losses.get(name).draws]
UNDRAWN = [name for name in LOSSES if name not in DRAWING]
OF_DIFFERENCES = [name for name in LOSSES if losses.get(name).shift_invariant]


@parametrize_with_checks(
    [
        LinearRanker("logistic", one_group=True),
        *(LinearRanker("logistic", solver=name, max_iter=100, one_group=True) for name in SOLVERS),
    ],
)
def test_linear_ranker_follows_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def problem(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((240, 5))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3, 0.0]) + 0.3 * rng.standard_normal(240)
    return X, (utility > 0.8).astype(float), rng.integers(0, 12, 240)


READING = [name for name in LOSSES if losses.get(name).reads_groups]
POINTWISE = [name for name in LOSSES if name not in READING]


def each_ranker(**params: Any) -> list[Any]:
    """Return an instance of every registered ranker, with parameters for a quick fit."""
    instances: list[Any] = []
    for make in REGISTRY.values():
        quick_parameters = {"max_iter": 5, "n_trees": 2, "n_rounds": 3, "n_threads": 1, **params}
        parameter_names = make().get_params(deep=False)
        instances.append(
            make(
                **{key: value for key, value in quick_parameters.items() if key in parameter_names}
            )
        )
    return instances


@pytest.mark.parametrize("loss", READING)
def test_losses_that_read_groups_are_not_fitted_without_them(loss: str) -> None:
    X, y, _ = problem()
    name = losses.get(loss).name  # pyright: ignore[reportAttributeAccessIssue]
    for make in (LinearRanker, LightGBMRanker):
        with pytest.raises(ArgumentError, match=f"qid is missing, but {name} needs groups.*one_gr"):
            make(loss).fit(X, y)
    ranker = stepping(loss).set_params(one_group=True, max_iter=3, keep="last")
    np.testing.assert_array_equal(
        ranker.fit(X, y).coef_, ranker.fit(X, y, np.zeros_like(y, int)).coef_
    )


@pytest.mark.parametrize("loss", POINTWISE)
def test_losses_of_rows_are_fitted_without_groups(loss: str) -> None:
    X, y, qid = problem()
    without_groups, grouped = stepping(loss).fit(X, y).coef_, stepping(loss).fit(X, y, qid).coef_
    np.testing.assert_allclose(without_groups, grouped, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ranker", each_ranker(), ids=lambda ranker: type(ranker).__name__)
def test_no_ranker_is_measured_without_groups(ranker: Any) -> None:
    X, y, qid = problem()
    with pytest.raises(ArgumentError, match=r"eval_set qid is missing.*eval_set=\(X, y, qid\)"):
        ranker.fit(X, y, qid, eval_set=(X, y))
    ranker.fit(X, y, qid, eval_set=(X, y, qid))
    with pytest.raises(ArgumentError, match=r"qid is missing, but .*set_score_request\(qid=True\)"):
        ranker.score(X, y)
    single_group = clone(ranker).set_params(one_group=True).fit(X, y, eval_set=(X, y))
    assert single_group.score(X, y) == single_group.score(X, y, np.zeros(y.size, int))
    assert single_group.score(X, y, qid) != single_group.score(X, y)


def stepping(loss: str) -> LinearRanker:
    """Return a ranker whose solver does not amplify rounding errors as quasi-Newton methods do."""
    return LinearRanker(loss, solver="subgradient", max_iter=60)


@pytest.mark.parametrize("loss", LOSSES)
def test_refit_gives_the_same_bits(loss: str) -> None:
    X, y, qid = problem()
    ranker = LinearRanker(loss, max_iter=60)
    first = ranker.fit(X, y, qid).coef_.tobytes()
    assert clone(ranker).fit(X, y, qid).coef_.tobytes() == first
    assert ranker.fit(X, y, qid).coef_.tobytes() == first


def shuffled(rows: Any, seed: int = 1) -> Any:
    order = np.random.default_rng(seed).permutation(rows[1].size)
    return tuple(column[order] for column in rows)


@pytest.mark.parametrize("loss", LOSSES)
def test_shuffled_rows_give_the_same_ranker(loss: str) -> None:
    """The order of ties is drawn from the content of rows, some of which are equal here."""
    X, y, qid = problem()
    X[:60], qid[:60] = X[60:120], qid[60:120]
    ranker = stepping(loss).set_params(learning_rate=0.01)
    coef, shuffled_coef = ranker.fit(X, y, qid).coef_, ranker.fit(*shuffled((X, y, qid))).coef_
    np.testing.assert_allclose(shuffled_coef, coef, rtol=1e-9, atol=1e-12)
    assert coef.any()
    in_csr = ranker.fit(sparse.csr_array(X), y, qid).coef_
    np.testing.assert_allclose(in_csr, coef, rtol=1e-9, atol=1e-12)


def test_scaled_features_draw_the_same_order_of_ties() -> None:
    """The order of ties is the same, though scaled values of shuffled rows differ in rounding."""
    rows = problem()
    model = make_pipeline(StandardScaler(), stepping("listmle"))
    last = model.steps[-1][0]
    fits = [clone(model).fit(X, y, **{f"{last}__qid": qid}) for X, y, qid in (rows, shuffled(rows))]
    coef, shuffled_coef = (fit[-1].coef_ for fit in fits)
    np.testing.assert_allclose(shuffled_coef, coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("make", [LightGBMRanker, XGBoostRanker])
def test_shuffled_rows_grow_the_same_trees(make: Any, loss: str) -> None:
    rows = problem()
    ranker = make(loss, n_trees=4, n_leaves=4, n_threads=1)
    scores = ranker.fit(*rows).predict(rows[0])
    shuffled_scores = ranker.fit(*shuffled(rows)).predict(rows[0])
    np.testing.assert_allclose(shuffled_scores, scores, rtol=1e-6, atol=1e-6)
    assert np.unique(scores).size > 1


@pytest.mark.parametrize("loss", ["listmle", "listnet@3", "pap-logistic"])
def test_shuffled_rows_give_the_same_passes_over_batches(loss: str) -> None:
    rows = problem()
    for ranker, learned in (
        (LinearRanker(loss, solver="stochastic", max_iter=4), "coef_"),
        (NeuralRanker(loss, hidden=4, max_iter=4), "parameters_"),
    ):
        if isinstance(ranker, NeuralRanker):
            pytest.importorskip("torch", reason="needs the extra podium[torch]")
        parameters = getattr(ranker.fit(*rows), learned).copy()
        shuffled_parameters = getattr(ranker.fit(*shuffled(rows)), learned)
        np.testing.assert_allclose(shuffled_parameters, parameters, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("one_group", [False, True])
@pytest.mark.parametrize("ranker", each_ranker(n_trees=3), ids=lambda r: type(r).__name__)
def test_shuffled_rows_give_the_same_ranker_of_any_kind(ranker: Any, one_group: bool) -> None:
    rows = problem()
    columns = slice(None, 2 if one_group else 3)
    ranker = ranker.set_params(one_group=one_group)
    scores = ranker.fit(*rows[columns]).predict(rows[0])
    shuffled_scores = ranker.fit(*shuffled(rows)[columns]).predict(rows[0])
    np.testing.assert_allclose(shuffled_scores, scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", DRAWING)
def test_another_seed_draws_another_order_of_ties(loss: str) -> None:
    X, y, qid = problem()
    ranker = stepping(loss)
    coef = ranker.fit(X, y, qid).coef_
    assert not np.allclose(clone(ranker).set_params(random_state=1).fit(X, y, qid).coef_, coef)


@pytest.mark.parametrize("loss", LOSSES)
def test_groups_whose_rows_lie_together_give_the_same_bits_in_any_order(loss: str) -> None:
    """The bits are equal, and not only up to rounding, which a quasi-Newton method amplifies."""
    X, y, qid = problem()
    rows = np.argsort(qid, kind="stable")
    order = np.argsort((qid * 7) % 12, kind="stable")
    ranker, weights = LinearRanker(loss, max_iter=60), np.arange(1.0, 13.0)
    first = ranker.fit(X[rows], y[rows], qid[rows], sample_weight=weights).coef_.tobytes()
    reordered = ranker.fit(X[order], y[order], qid[order], sample_weight=weights).coef_.tobytes()
    assert reordered == first


@pytest.mark.parametrize("loss", UNDRAWN)
def test_names_of_groups_do_not_matter(loss: str) -> None:
    X, y, qid = problem()
    ranker = stepping(loss)
    coef = ranker.fit(X, y, qid).coef_
    renamed = np.array([f"user {9 - q % 10}{q}" for q in qid])
    np.testing.assert_allclose(ranker.fit(X, y, renamed).coef_, coef, rtol=1e-9, atol=1e-12)


def test_stochastic_gives_the_same_bits_again_and_minds_no_order() -> None:
    X, y, qid = problem()
    order = np.random.default_rng(1).permutation(y.size)
    ranker = LinearRanker("pap-max@3", solver="stochastic", l2=0.01, max_iter=20)
    first = ranker.fit(X, y, qid).coef_
    assert clone(ranker).fit(X, y, qid).coef_.tobytes() == first.tobytes()
    shuffled_coef = ranker.fit(X[order], y[order], qid[order]).coef_
    np.testing.assert_allclose(shuffled_coef, first, rtol=1e-4, atol=1e-6)
    assert first.any()


@pytest.mark.parametrize("loss", LOSSES)
def test_weight_by_group_is_weight_by_row(loss: str) -> None:
    X, y, qid = problem()
    weights = np.arange(1.0, 13.0)
    ranker = stepping(loss)
    by_group = ranker.fit(X, y, qid, sample_weight=weights).coef_
    by_row = ranker.fit(X, y, qid, sample_weight=weights[Groups.from_qid(qid).index]).coef_
    assert by_group.tobytes() == by_row.tobytes()
    assert not np.allclose(by_group, ranker.fit(X, y, qid).coef_)


@pytest.mark.parametrize("loss", UNDRAWN)
def test_group_of_weight_zero_is_as_good_as_absent(loss: str) -> None:
    X, y, qid = problem()
    is_kept = qid != 4
    ranker = stepping(loss)
    without = ranker.fit(X[is_kept], y[is_kept], qid[is_kept]).coef_
    zero = ranker.fit(X, y, qid, sample_weight=is_kept.astype(float)).coef_
    np.testing.assert_allclose(zero, without, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", OF_DIFFERENCES)
def test_losses_of_differences_learn_no_intercept(loss: str) -> None:
    X, y, qid = problem()
    ranker = stepping(loss).fit(X, y, qid)
    assert ranker.intercept_ == 0.0
    shifted = clone(ranker).fit(X + 2.0, y, qid)
    np.testing.assert_allclose(shifted.coef_, ranker.coef_, rtol=1e-6, atol=1e-9)


def test_ranker_fits_the_same_bits_for_any_number_of_blas_threads() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 60)), rng.integers(0, 2, 4000)
    qid = np.repeat(np.arange(40), 100)
    coefs = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            coefs.append(LinearRanker("pap-ramp@10", max_iter=20, tol=1e9).fit(X, y, qid).coef_)
    assert np.array_equal(*coefs)
