"""LinearRanker: what it fits, scores and reports, and files that bring it back or are refused."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from tests.raised import raises

from podium import losses, rankers
from podium._arrays import with_digest
from podium.errors import ArgumentError, ConvergenceWarning, DataError, PodiumWarning
from podium.groups import Groups
from podium.metrics import parse
from podium.rankers import SOLVERS, LinearRanker, LogisticRanker
from podium.rankers.fitting import NothingLearnedError

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")


def problem(n: int = 240, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + 0.3 * rng.standard_normal(n)
    return X, (utility > 0.8).astype(float), np.arange(n) // 20


X, Y, QID = problem()


@pytest.mark.parametrize("loss", [None, "softmax", "logistic"])
def test_grades_are_scored_by_ndcg(loss: str | None) -> None:
    """Lists of two rows are too short for pap@10, the measure of labels 0 and 1."""
    X, qid = np.array([[0.0], [1.0], [0.0], [2.0]]), np.array([0, 0, 1, 1])
    ranker = LinearRanker(loss, max_iter=20).fit(X, [0, 1, 0, 2], qid)
    assert ranker.score(X, [0, 1, 0, 2], qid) == 1.0
    assert ranker.score(-X, [0, 1, 0, 2], qid) == pytest.approx(1 / np.log2(3))
    assert ranker.suited_measure() == "ndcg@10"
    if loss != "softmax":  # a threshold makes positives of grades
        binary = LinearRanker(losses.Logistic(min_relevance=2), max_iter=20)
        assert binary.fit(X, [0, 1, 0, 2], qid).suited_measure() == "pap@10"


def test_columns_without_numbers_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    y, qid, number = [0, 1, 0, 1], [0, 0, 1, 1], [0.0, 1.0, 2.0, 3.0]
    for values in (pandas.Categorical(["x", "y", "x", "y"]), ["x", "y", "x", "y"]):
        frame = pandas.DataFrame({"size": number, "color": values})
        for make in (LinearRanker, LogisticRanker):
            with pytest.raises(ArgumentError, match="'x' in column 'color'"):
                make().fit(frame, y, qid)
    ranker = LinearRanker("logistic", max_iter=20).fit(frame[["size"]], y, qid)
    with pytest.raises(ArgumentError, match=r"column 'size' at row 1"):
        ranker.predict(pandas.DataFrame({"size": [1.0, "big"]}))


def test_score_reads_the_losss_threshold() -> None:
    ranker = LinearRanker(losses.PApRamp(5, min_relevance=2), eval_metric="pap@5", max_iter=30)
    ranker.fit(X, 2 * Y, QID)
    assert ranker.score(X, 2 * Y, QID) > 0.9
    with pytest.warns(PodiumWarning):
        assert np.isnan(ranker.score(X, Y, QID))


@pytest.mark.parametrize("loss", ["pap-ramp@2", "pap-avg@2", "pap-max@2", "pap-tight-struct@2"])
def test_a_loss_that_is_least_at_zero_starts_from_logistic_regression(loss: str) -> None:
    """With validation, the fit is never worse than logistic regression, its start."""
    rng = np.random.default_rng(2)
    X, qid = rng.standard_normal((480, 2)), np.repeat(np.arange(40), 12)
    y = (rng.random(480) < 1 / (1 + np.exp(2.2 - X[:, 0]))).astype(float)
    ranker = LinearRanker(loss, eval_metric="pap@2", max_iter=30)
    with raises(NothingLearnedError, "eval_set"):
        ranker.fit(X, y, qid)
    ranker.fit(X, y, qid, eval_set=(X, y, qid))
    first = clone(ranker).set_params(start="logistic", max_iter=1).fit(X, y, qid)
    assert ranker.history_["validation"][0] == first.score(X, y, qid)
    assert ranker.score(X, y, qid) >= first.score(X, y, qid)
    from_zero = clone(ranker).set_params(start="zero").fit(X, y, qid, eval_set=(X, y, qid))
    assert from_zero.history_["validation"][0] == 0.0


def test_smooth_loss_at_zero_is_reported() -> None:
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    with pytest.warns(ConvergenceWarning):
        ranker = LinearRanker("softmax").fit(X, [1, 0, 0, 1], [0, 0, 1, 1])
    assert ranker.coef_ == 0.0


def test_score_weighs_groups_by_row_or_by_group() -> None:
    X, y, qid = np.array([[2.0], [1.0], [1.0], [2.0]]), [1, 0, 1, 0], ["b", "b", "a", "a"]
    ranker = LinearRanker("logistic", eval_metric="rr").fit(X, [1, 0, 0, 1], qid=qid)
    # Right for b, wrong for a, whose reciprocal rank is 1/2.
    assert ranker.score(X, y, qid) == (1 + 1 / 2) / 2
    assert ranker.score(X, y, qid, sample_weight=[3, 3, 1, 1]) == (3 * 1 + 1 * 1 / 2) / 4
    assert ranker.score(X, y, qid, sample_weight=[1, 3]) == (3 * 1 + 1 * 1 / 2) / 4


OF_PAIRS = [name for name in SOLVERS if name != "lbfgs"]  # which takes the pointwise loss here
STARTS = ("zero", "normal", "logistic")


def loss_for(solver: str) -> str:
    """Return a loss that the solver can take."""
    return "logistic" if solver == "lbfgs" else "pap-ramp@5"


@pytest.mark.parametrize(("loss", "same_as"), [("logistic", "lbfgs"), ("pap-avg@5", "subgradient")])
def test_auto_takes_what_suits_the_loss(loss: str, same_as: str) -> None:
    settings: dict[str, Any] = {"max_iter": 30, "l2": 0.01}
    auto = LinearRanker(loss, **settings).fit(X, Y, QID)
    named = LinearRanker(loss, solver=same_as, **settings).fit(X, Y, QID)
    assert auto.coef_.tobytes() == named.coef_.tobytes()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("start", STARTS)
def test_fit_begins_at_the_start(solver: str, start: Any) -> None:
    loss = losses.get(loss_for(solver))
    ranker = LinearRanker(loss, solver=solver, start=start, l2=0.1, max_iter=2, random_state=7)
    first = ranker.fit(X, Y, QID).history_["objective"][0]
    coef, intercept = np.zeros(4), 0.0
    if start == "normal":
        coef = np.random.default_rng(7).standard_normal(4)
    elif start == "logistic":
        regression = LinearRanker("logistic", l2=0.1).fit(X, Y, QID)
        coef, intercept = regression.coef_, regression.intercept_
    target = loss.prepare(Y, Groups.from_qid(QID))
    values, _ = loss.value_and_grad(X @ coef + intercept, target)
    assert first == pytest.approx(np.nanmean(values) + 0.1 / 2 * coef @ coef, rel=1e-9)


def test_logistic_start_reads_weights_and_the_losss_positives() -> None:
    weights = np.arange(12.0)
    settings: dict[str, Any] = {"l2": 0.1, "max_iter": 1}
    ranker = LinearRanker(losses.PApRamp(5, min_relevance=2.0), start="logistic", **settings)
    ranker.fit(X, 2.0 * Y, QID, sample_weight=weights)
    other = LinearRanker(losses.Logistic(min_relevance=2.0), l2=0.1)
    other.fit(X, 2.0 * Y, QID, sample_weight=weights)
    np.testing.assert_array_equal(ranker.coef_, other.coef_)


@pytest.mark.parametrize("keep", ["best", "best_loss", "last"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_objective_and_validation_are_those_of_what_was_kept(solver: str, keep: str) -> None:
    loss = losses.get(loss_for(solver))
    ranker = LinearRanker(loss, solver=solver, keep=keep, l2=0.05, max_iter=14, tol=0.0)
    ranker.fit(X, Y, QID, eval_set=(X, Y, QID))
    assert ranker.fit_report().validation == pytest.approx(ranker.score(X, Y, QID), rel=1e-12)
    ranker.fit(X, Y, QID)
    values, _ = loss.value_and_grad(ranker.predict(X), loss.prepare(Y, Groups.from_qid(QID)))
    penalty = 0.05 / 2 * ranker.coef_ @ ranker.coef_
    assert ranker.objective_ == pytest.approx(np.nanmean(values) + penalty, rel=1e-12)
    if keep == "last":
        assert ranker.best_iteration_ == ranker.n_iter_ - 1


@pytest.mark.parametrize("solver", OF_PAIRS)
def test_constant_features_leave_zero_the_best(solver: str) -> None:
    """All scores equal, whatever the coefficients: those losses have nothing to learn."""
    ranker, rows = LinearRanker(loss_for(solver), solver=solver), (np.ones((240, 3)), Y, QID)
    for options in ({}, {"eval_set": rows}):
        with raises(NothingLearnedError, "eval_set"):
            ranker.fit(*rows, **options)


@pytest.mark.parametrize("size", [1e60, 1e120, 1e200, 1e300])
@pytest.mark.parametrize("solver", SOLVERS)
def test_huge_features_end_in_finite_coefficients(solver: str, size: float) -> None:
    ranker = LinearRanker(loss_for(solver), solver=solver, max_iter=50)
    with contextlib.suppress(NothingLearnedError):
        ranker.fit(size * X, Y, QID)
        assert np.isfinite(ranker.coef_).all()
        assert np.isfinite(ranker.objective_)
        assert ranker.objective_ <= ranker.history_["objective"][0]


@pytest.mark.parametrize("solver", SOLVERS)
def test_divergence_keeps_a_good_iterate_and_says_so(solver: str) -> None:
    ranker = LinearRanker(loss_for(solver), solver=solver, keep="last", max_iter=50)
    with pytest.warns(ConvergenceWarning, match="overflowed"):
        ranker.fit(1e220 * X, Y, QID)
    assert ranker.stop_reason_ == "diverged"
    assert np.isfinite(ranker.objective_)
    assert np.isfinite(ranker.coef_).all()


def test_lbfgs_leaves_a_start_with_equal_scores() -> None:
    """There, no step along the gradient of these data lowers the objective."""
    rng = np.random.default_rng(2)
    X, qid = rng.standard_normal((600, 4)), np.arange(600) // 20
    y = (0.2 * X[:, 0] + rng.standard_normal(600) > 0.5).astype(float)
    ranker = LinearRanker("pap-logistic@5").fit(X, y, qid)
    apart = LinearRanker("pap-logistic@5", start="normal").fit(X, y, qid)
    assert ranker.objective_ < ranker.history_["objective"][0]
    assert ranker.objective_ == pytest.approx(apart.objective_, abs=1e-5)


X_FILES = np.random.default_rng(0).standard_normal((40, 3))
Y_FILES = (X_FILES[:, 0] > 0.3).astype(float)
QID_FILES = np.arange(40) // 10


def fitted(**params: Any) -> LinearRanker:
    return LinearRanker(
        **{"loss": "pap-ramp@2", "max_iter": 15, "eval_metric": "pap@2", **params}
    ).fit(X_FILES, Y_FILES, QID_FILES)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": losses.PApMax(3, clip=True)},
        {"loss": None, "learning_rate": 2.5},
        {"eval_metric": parse("ndcg(gain=exp2)@5"), "patience": None},
        {"l2": np.float64(0.25)},
    ],
)
def test_model_survives_its_file(params: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(**params)
    rankers.save(model, tmp_path / "model")
    again = rankers.load(tmp_path / "model")
    assert again.predict(X_FILES).tobytes() == model.predict(X_FILES).tobytes()
    assert again.intercept_ == model.intercept_
    assert again.score(X_FILES, Y_FILES, QID_FILES) == model.score(X_FILES, Y_FILES, QID_FILES) > 0
    for name, value in model.get_params().items():
        assert again.get_params()[name] == (str(value) if name == "eval_metric" else value)
    for name in ("n_iter_", "objective_", "stop_reason_", "best_iteration_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name)
    np.testing.assert_array_equal(again.history_["objective"], model.history_["objective"])
    assert again.fit(X_FILES, Y_FILES, QID_FILES).coef_.tobytes() == model.coef_.tobytes()


def test_feature_names_survive(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="feature names come from a data frame")
    frame = pandas.DataFrame(X_FILES, columns=["price", "recency", "views"])
    model = LinearRanker("logistic", max_iter=15).fit(frame, Y_FILES, QID_FILES)
    rankers.save(model, tmp_path / "model")
    again = rankers.load(tmp_path / "model")
    assert again.feature_names_in_.tolist() == ["price", "recency", "views"]
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["views", "recency", "price"]])


def test_save_refuses_what_it_cannot_load(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="got Pipeline"):
        rankers.save(make_pipeline(fitted()), tmp_path / "model")
    with pytest.raises(NotFittedError):
        rankers.save(LinearRanker("logistic"), tmp_path / "model")
    with pytest.raises(ArgumentError):
        rankers.save(fitted(), tmp_path / "no" / "model")

    class Own(losses.PApRamp):
        pass

    with pytest.raises(ArgumentError):
        rankers.save(fitted(loss=Own(2)), tmp_path / "model")


def rewrite(path: Path, change: Any) -> None:
    """Save a model and put a changed header into its file, with its digest."""
    rankers.save(fitted(), path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["podium"])
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    del header["digest"]
    text = change(header, arrays)
    text = text if isinstance(text, str) else with_digest(json.dumps(header), arrays)
    save_file(arrays, path, metadata={"podium": text})


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h.update({"class": "os.system"}),
        lambda h, a: h.update(format=2),
        lambda h, a: h.pop("params"),
        lambda h, a: h["params"].update(shell="rm"),
        lambda h, a: h["params"].update(loss={"name": "evil"}),
        lambda h, a: a.pop("coef_"),
        lambda h, a: h["fitted"].pop("n_features_in_"),
        lambda h, a: h["fitted"].pop("intercept_"),
        *(
            (lambda h, a, name=name, value=value: h["fitted"].update({name: value}))
            for name, values in {
                "n_features_in_": (7, None, 2.0, 2**63 - 1),
                "intercept_": ("0", None, [1.0], True),
                "feature_names_in_": (["a"], ["a", "b", 3], [["a"], [], ["b", "c"]], "ab", None),
                "n_iter_": ("many",),
                "stop_reason_": (3,),
                "objective_": ({},),
                "predict": ("x",),
                "__sklearn_tags__": (1,),
                "_features_": (1,),
            }.items()
            for value in values
        ),
        *(
            (lambda h, a, name=name, value=value: a.update({name: value}))
            for name, values in {
                "n_features_in_": (np.ones(3),),
                "feature_names_in_": (np.ones(3),),
                "coef_": (np.ones(3, np.float16), np.ones(3, np.bool_), np.full(3, np.nan)),
                "intercept_": (np.zeros(3),),
                "history_.objective": (np.ones((2, 2)),),
            }.items()
            for value in values
        ),
        lambda h, a: h.update({"class": "LightGBMRanker"}),
        lambda h, a: "[" * 200_000,
        lambda h, a: "[1, 2]",
        lambda h, a: "{",
    ],
)
def test_wrong_headers_are_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    rewrite(path, change)
    with pytest.raises(DataError):
        rankers.load(path)


@pytest.mark.parametrize(("kind", "n_bytes"), [("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1)])
def test_numbers_that_numpy_has_no_type_for_are_refused(
    kind: str, n_bytes: int, tmp_path: Path
) -> None:
    entry = {"dtype": kind, "shape": [2], "data_offsets": [0, 2 * n_bytes]}
    text = json.dumps({"coef_": entry, "__metadata__": {"podium": "{}"}}).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(2 * n_bytes)
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(DataError):
        rankers.load(tmp_path / "model")


def test_a_width_of_millions_takes_no_memory(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="measures memory; of POSIX")
    path = tmp_path / "model"
    rewrite(path, lambda h, a: h["fitted"].update(n_features_in_=4 * 10**8))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="coef_ has shape"):
        rankers.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
