"""NeuralRanker: what it learns, what it keeps, and what it does without torch."""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError, ConvergenceWarning, DataError
from podium.groups import Groups
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.rankers import LinearRanker, NeuralRanker, load, save
from podium.rankers.neural._training import Adam
from podium.rankers.scaling import scaled

torch: Any = pytest.importorskip("torch", reason="needs the extra podium[torch]")

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")


@pytest.mark.long
@parametrize_with_checks(
    [NeuralRanker("logistic", hidden=hidden, max_iter=20, one_group=True) for hidden in (32, 0)]
)
def test_neural_ranker_follows_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def problem(seed: int = 0, n: int = 240) -> tuple[Any, Any, Any]:
    """Return rows with three grades in 12 groups, shuffled, and features of several units."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 5e3, 1.0, -2.0]
    utility = X @ np.array([1.0, -5e-4, 0.0, 0.3]) + 0.3 * rng.standard_normal(n)
    y = np.searchsorted(np.quantile(utility, [0.6, 0.9]), utility).astype(float)
    return X, y, rng.integers(0, 12, n)


X, Y, QID = problem()


def crossed(seed: int) -> tuple[Any, Any, Any]:
    """Return rows that are relevant where two features have the same sign."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (800, 2))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(float), np.arange(800) // 20


def small(loss: Any = "softmax", **given: Any) -> NeuralRanker:
    return NeuralRanker(loss, **{"hidden": 5, "max_iter": 8, "batch_size": 4, **given})


def bits(ranker: NeuralRanker) -> bytes:
    return ranker.parameters_.tobytes()


@pytest.mark.long
@pytest.mark.parametrize("loss", ["softmax", "listnet", "pairwise-logistic", "logistic"])
def test_without_hidden_units_it_finds_the_linear_rankers_minimum(loss: str) -> None:
    linear = scaled(LinearRanker(loss, l2=0.05, tol=1e-8), X)
    linear.fit(X, Y, linearranker__qid=QID)
    neural = NeuralRanker(
        loss, hidden=0, l2=0.05, learning_rate=0.3, batch_size=12, max_iter=700, tol=0.0
    ).fit(X, Y, QID)
    exact = linear[-1]
    assert exact.stop_reason_ == "converged"
    assert exact.objective_ - 1e-12 <= neural.objective_
    assert neural.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    np.testing.assert_allclose(neural.coefs_[0][:, 0], exact.coef_, atol=2e-3)
    assert neural.intercepts_[0] == pytest.approx(exact.intercept_, abs=2e-3)


@pytest.mark.long
def test_hidden_units_learn_what_no_linear_score_can() -> None:
    """Of held-out lists: a line ranks no better than chance, half of the rows being relevant."""
    given: dict[str, Any] = {
        "max_iter": 120,
        "learning_rate": 0.1,
        "eval_metric": "auc",
    }
    line = NeuralRanker("pairwise-logistic", hidden=0, **given).fit(*crossed(0))
    net = NeuralRanker("pairwise-logistic", hidden=16, **given).fit(*crossed(0))
    assert line.score(*crossed(1)) < 0.6
    assert net.score(*crossed(1)) > 0.97


def test_objective_is_the_mean_loss_and_the_penalty_on_weights_alone() -> None:
    loss, l2 = SoftmaxCrossEntropy(), 0.3
    ranker = small(loss, l2=l2, hidden=(5, 3)).fit(X, Y, QID)
    target = loss.prepare(Y, Groups.from_qid(QID))
    value = np.mean(loss.value_and_grad(ranker.predict(X), target)[0])
    penalty = l2 / 2 * sum((weights**2).sum() for weights in ranker.coefs_)
    assert ranker.objective_ == pytest.approx(value + penalty)
    assert [w.shape for w in ranker.coefs_] == [(4, 5), (5, 3), (3, 1)]
    assert [b.shape for b in ranker.intercepts_] == [(5,), (3,), (1,)]
    assert ranker.objective_ == ranker.history_["objective"].min()


@pytest.mark.parametrize("loss", ["listmle@3", "logistic"])
def test_refit_gives_the_same_bits_and_another_seed_others(loss: str) -> None:
    ranker = small(loss)
    first = bits(ranker.fit(X, Y, QID))
    assert bits(clone(ranker).fit(X, Y, QID)) == first == bits(ranker.fit(X, Y, QID))
    assert bits(clone(ranker).set_params(random_state=1).fit(X, Y, QID)) != first


def test_same_bits_for_any_number_of_threads_which_are_given_back() -> None:
    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((4000, 60)), rng.integers(0, 2, 4000), np.arange(4000) // 100
    found, inside, before = [], set[int](), torch.get_num_threads()
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            ranker = small(hidden=64, max_iter=3).fit(
                X, y, qid, progress=lambda *_: inside.add(torch.get_num_threads())
            )
            found.append(bits(ranker))
            assert torch.get_num_threads() == n_threads
        assert inside == {1}
        with raises(ArgumentError, "eval_set", "eval_metric", "min_relevance"):
            small().fit(X, y, qid, eval_set=(X[:9], y[:9] * 0, qid[:9]))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


def test_fits_side_by_side_do_not_disturb_each_other() -> None:
    expected, before = bits(small().fit(X, Y, QID)), torch.get_num_threads()
    with ThreadPoolExecutor(3) as pool:
        fits = [pool.submit(small().fit, X, Y, QID) for _ in range(6)]
        assert {bits(fit.result()) for fit in fits} == {expected}
    assert torch.get_num_threads() == before


def test_torchs_own_settings_change_nothing() -> None:
    expected = bits(small().fit(X, Y, QID))
    before, state = torch.get_default_dtype(), torch.get_rng_state()
    torch.set_default_dtype(torch.float16)
    try:
        with torch.no_grad(), torch.device("meta"):
            assert bits(small().fit(X, Y, QID)) == expected
        with torch.inference_mode():
            assert bits(small().fit(X, Y, QID)) == expected
    finally:
        torch.set_default_dtype(before)
    assert torch.equal(torch.get_rng_state(), state)


def test_units_of_features_do_not_matter_once_standardised() -> None:
    other = X * [3.0, 1e-6, 1e5, 2.0] + [1.0, 0.0, -7.0, 1e3]
    one, moved = small().fit(X, Y, QID), small().fit(other, Y, QID)
    np.testing.assert_allclose(moved.predict(other), one.predict(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.mean_, X.mean(axis=0))
    np.testing.assert_allclose(one.scale_, X.std(axis=0))
    plain = small(standardize=False, l2=0.0).fit(X, Y, QID)
    assert (plain.mean_.tolist(), plain.scale_.tolist()) == ([0.0] * 4, [1.0] * 4)


def test_a_constant_feature_says_nothing() -> None:
    wide = np.column_stack([X, np.full(Y.size, 0.1), np.zeros(Y.size)])
    ranker = small().fit(wide, Y, QID)
    np.testing.assert_array_equal(ranker.scale_[4:], 1.0)
    moved = wide.copy()
    moved[:, 5] += 1.0
    assert np.isfinite(ranker.predict(moved)).all()
    with pytest.raises(ArgumentError, match="column 1"):
        small().fit(X * [1.0, 1e300, 1.0, 1.0], Y, QID)


def test_sparse_and_float32_features_are_the_same_features() -> None:
    X, y, qid = problem()
    X = np.where(qid[:, None] % 2 == 0, np.round(X, 1), 0.0).astype(np.float32)
    dense = small().fit(X, y, qid)
    for other in (sparse.csr_array(X), sparse.csc_matrix(X), X.astype(np.float64)):
        again = small().fit(other, y, qid)
        np.testing.assert_allclose(again.predict(other), dense.predict(X), rtol=1e-9, atol=1e-9)


def test_equal_rows_get_equal_scores_wherever_they_stand() -> None:
    ranker = small(hidden=(7, 3)).fit(X, Y, QID)
    for n in (1, 5, 37, 5000):
        assert set(ranker.predict(np.tile(X[:1], (n, 1)))) == {ranker.predict(X)[0]}


def test_validation_keeps_the_best_epoch_and_patience_stops() -> None:
    ranker = small("pairwise-logistic", max_iter=200, patience=6, tol=0.0, learning_rate=0.1)
    ranker.set_params(eval_metric="ndcg(gain=exp2)@5").fit(*problem(), eval_set=problem(1))
    seen = ranker.history_["validation"]
    assert ranker.best_iteration_ == int(np.argmax(seen))
    assert ranker.score(*problem(1)) == pytest.approx(seen.max())
    assert ranker.stop_reason_ == "patience"
    assert ranker.n_iter_ == len(seen) == ranker.best_iteration_ + 1 + 6
    assert ranker.objective_ == ranker.history_["objective"][ranker.best_iteration_]


def test_it_says_why_it_stopped() -> None:
    with warnings.catch_warnings():  # so many epochs were asked for
        warnings.simplefilter("error")
        assert small().fit(X, Y, QID).stop_reason_ == "max_iter"
    assert small(tol=1e9, max_iter=50).fit(X, Y, QID).stop_reason_ == "converged"
    with raises(ArgumentError, "learning_rate"):
        small(learning_rate=1e200).fit(X, Y, QID)


def test_steps_that_overflow_later_leave_the_epochs_before() -> None:
    ranker = small(learning_rate=3e144, batch_size=12, max_iter=50, tol=0.0, l2=0.0)
    with pytest.warns(ConvergenceWarning):
        ranker.fit(X, Y, QID)
    assert ranker.stop_reason_ == "diverged"
    assert np.isfinite(ranker.predict(X)).all()


def test_steps_are_those_of_adam() -> None:
    rng = np.random.default_rng(0)
    mean, square, ours = np.zeros(5), np.zeros(5), torch.zeros(5, dtype=torch.float64)
    adam = Adam(torch.zeros_like(ours), torch.zeros_like(ours))
    for n in range(1, 21):
        grad = rng.standard_normal(5) * [1.0, 1e-6, 1e6, 0.0, -1.0]
        mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad**2
        step = mean / (1 - 0.9**n) / (np.sqrt(square / (1 - 0.999**n)) + 1e-8)
        np.testing.assert_allclose(adam.direction(torch.tensor(grad)), step, rtol=1e-10)


def test_saved_model_scores_the_same_and_without_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranker = small(losses.ListMLE(3), hidden=(5, 3)).fit(X, Y, QID)
    save(ranker, tmp_path / "model")
    monkeypatch.setitem(sys.modules, "torch", None)
    again = load(tmp_path / "model")
    assert again.predict(X).tobytes() == ranker.predict(X).tobytes()
    assert again.loss == ranker.loss
    assert again.history_.keys() == {"objective"}


WRONG: dict[str, list[Any]] = {
    "layer_sizes_": [
        *map(np.array, ([4, 6, 1], [3, 5, 1], [4, 5, 2], [[4, 5, 1]], [4.0, 5.0, 1.0])),
    ],
    "parameters_": [np.zeros(3), np.full(31, np.nan), np.ones(31, np.float16)],
    "mean_": [np.zeros((4, 1)), np.ones(4, np.uint64)],
    "scale_": [np.zeros(4), np.ones(4, np.bool_), np.ones(4, np.float32)],
}


@pytest.mark.parametrize("name", WRONG)
def test_file_of_a_network_that_does_not_fit_together_is_refused(name: str, tmp_path: Path) -> None:
    ranker = small().fit(X, Y, QID)
    assert ranker.parameters_.size == 31
    for value in WRONG[name]:
        setattr(ranker, name, value)
        save(ranker, tmp_path / "model")
        with pytest.raises(DataError):
            load(tmp_path / "model")
