"""What all rankers refuse: parameters, rows, and libraries that are not there."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError, MissingExtraError, PodiumWarning
from podium.groups import Groups
from podium.rankers import (
    SOLVERS,
    LightGBMRanker,
    LinearRanker,
    LogisticRanker,
    NeuralRanker,
    XGBoostRanker,
)
from podium.rankers.objective import LinearObjective
from podium.rankers.solvers import Settings

for _module in ("torch", "lightgbm", "xgboost"):
    pytest.importorskip(_module)

KINDS: list[Any] = [LinearRanker, NeuralRanker, LightGBMRanker, XGBoostRanker, LogisticRanker]
TREES: list[Any] = [LightGBMRanker, XGBoostRanker]

every = pytest.mark.parametrize("kind", KINDS)


def rows(seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((240, 4))
    return X, (X[:, 0] + 0.3 * rng.standard_normal(240) > 0.8).astype(float), np.arange(240) // 20


X0, Y0, Q0 = rows()


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": "warm"},
        {"hidden": (4, 0)},
        {"solver": "lbfgs", "loss": "pap-avg@5"},
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any]) -> None:
    kind: Any = NeuralRanker if "hidden" in wrong else LinearRanker
    with pytest.raises(ArgumentError, match="|".join(wrong)):
        kind(**{"loss": "logistic", **wrong}).fit(X0, Y0, Q0)


@every
@pytest.mark.parametrize(
    "wrong",
    [
        {"y": np.where(np.arange(240) == 30, np.nan, Y0)},
        *({"y": -Y0}, {"y": Y0[:-1]}, {"y": None}, {"qid": Q0[:-1]}, {"qid": Q0 + 0.5}),
        *(
            {"sample_weight": weights}
            for weights in (np.ones(7), -np.ones(240), np.arange(12.0) - 1, np.zeros(240))
        ),
        {"eval_set": (X0,)},
        {"eval_set": (X0, Y0[:-1], Q0)},
        {"eval_set": (X0[:, :2], Y0, Q0)},
    ],
)
def test_wrong_rows_are_refused(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (scikit-learn's errors of shapes among them)
        kind().fit(X0, **{"y": Y0, "qid": Q0, **wrong})


@every
def test_rows_of_a_score_have_one_label_and_one_group_each(kind: Any) -> None:
    ranker = kind(**({"n_trees": 2} if kind in TREES else {})).fit(X0, Y0, Q0)
    for labels, groups in ((Y0[1:], Q0), (Y0, Q0[1:]), (Y0[1:], Q0[1:]), (-Y0, Q0)):
        with pytest.raises(ArgumentError):
            ranker.score(X0, labels, groups)


@every
def test_a_measure_without_a_group_is_named_and_scored_nan(kind: Any) -> None:
    ranker = kind(eval_metric="pap@5", **({"n_trees": 2} if kind in TREES else {}))
    with pytest.raises(ArgumentError, match="eval_set"):
        ranker.fit(X0, Y0, Q0, eval_set=(X0, 0 * Y0, Q0))
    with pytest.warns(PodiumWarning, match="12 have no"):
        assert np.isnan(ranker.fit(X0, Y0, Q0).score(X0, 0 * Y0, Q0))
    with pytest.warns(PodiumWarning, match="12 have weight 0"):
        assert np.isnan(ranker.score(X0, Y0, Q0, np.zeros(12)))


@every
def test_values_that_are_no_numbers_are_named_by_row_group_and_column(kind: Any) -> None:
    X = X0.copy()
    X[21, 2] = np.inf
    with pytest.raises(ArgumentError, match=r"first at row 21 \(qid 1\), column 2"):
        kind().fit(X, Y0, Q0)
    ranker = kind(**({"n_trees": 2} if kind in TREES else {})).fit(X0, Y0, Q0)
    with pytest.raises(ArgumentError, match="first at row 21, column 2"):
        ranker.predict(X)
    if kind is not XGBoostRanker:
        with pytest.raises(ArgumentError, match="first at row 21, column 2"):
            ranker.predict(sparse.csr_array(X))


@pytest.mark.parametrize("kind", KINDS[:4])
def test_rows_that_no_loss_is_defined_on_are_counted(kind: Any) -> None:
    for loss, labels, numbers in (
        ("pap-ramp@50", Y0, r"and 50 negatives \(1 with .*which 12 of 12 groups lack"),
        ("pap-ramp@5", 0 * Y0, "a positive and .*which 12 of 12 groups lack"),
        ("softmax", 0 * Y0, "which 12 of 12 groups lack"),
    ):
        with pytest.raises(ArgumentError, match=f"None of the 12 groups .*{numbers}"):
            kind(loss).fit(X0, labels, Q0)


def test_mini_batches_need_labels() -> None:
    loss = losses.Logistic()
    target = loss.prepare(Y0, Groups.from_qid(Q0))
    with raises(ArgumentError, "solver"):
        SOLVERS["stochastic"](
            LinearObjective(X0, loss, target), Settings(0.1, 3, 0.0), None, lambda *_: None
        )


@pytest.mark.parametrize(
    ("kind", "module", "given"),
    [
        (LightGBMRanker, "lightgbm", {}),
        (XGBoostRanker, "xgboost", {}),
        (NeuralRanker, "torch", {}),
    ],
)
def test_missing_library_names_the_extra(
    kind: Any, module: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'podium\["):
        kind(**given).fit(X0, Y0, Q0)


@pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
@pytest.mark.parametrize("kind", TREES)
def test_numbers_beyond_float32_are_refused_for_trees(kind: Any) -> None:
    with pytest.raises(ArgumentError, match="y must be at most"):
        kind(n_trees=1).fit([[0.0], [1.0]], [0.0, 1e155], qid=[1, 1])
    if kind is XGBoostRanker:
        model = kind("logistic", n_trees=1).fit([[0.0], [1.0]], [0, 1], qid=[1, 1])
        with pytest.raises(ArgumentError, match="float32"):
            model.predict([[1e308]])
