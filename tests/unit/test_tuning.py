"""The search: what it tries, on which rows, and what it keeps."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.raised import raises
from threadpoolctl import threadpool_info, threadpool_limits

from podium import losses, tuning
from podium.errors import ArgumentError, ConvergenceWarning
from podium.metrics import parse
from podium.rankers import LightGBMRanker, LinearRanker, XGBoostRanker
from podium.ranking import Ranking
from podium.recommenders import Popularity
from podium.tuning import of_rows
from podium.tuning.of_rows import Rows

GRID = {"l2": [0.1, 0.001], "learning_rate": [0.2, 1.0]}


def problem(n_users: int = 12, n_rows: int = 20, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_users * n_rows, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + 0.5 * rng.standard_normal(len(X))
    order = rng.permutation(len(X))
    qid = np.repeat(np.arange(n_users), n_rows)
    return X[order], (utility > 0.8).astype(float)[order], qid[order]


X, Y, QID = problem()


class Known(BaseEstimator):
    """Scores ``sign * X[:, 0]``, whatever it is shown; -1 fails on request."""

    def __init__(self, sign: float = 1.0, fails: bool = False) -> None:
        self.sign = sign
        self.fails = fails

    def fit(self, X: Any, y: Any, qid: Any) -> Known:
        assert len(X) == len(y) == len(qid)
        if self.fails:
            raise RuntimeError("no luck")
        self.rows_ = np.asarray(X)[:, 0]
        return self

    def predict(self, X: Any) -> Any:
        return self.sign * np.asarray(X)[:, 0]


def search(estimator: Any, **options: Any) -> tuning.Search:
    return tuning.search(estimator, *problem(), **options)


def measured(scores: Any, y: Any, qid: Any, measure: str = "pap@5") -> Any:
    return parse(measure)(Ranking.from_scores(scores, y, qid))


def test_features_may_be_of_any_kind_that_rankers_read() -> None:
    columns = {f"f{i}": X[:, i] for i in range(X.shape[1])}
    kinds = (
        X,
        X.tolist(),
        sparse.coo_array(X),
        sparse.csc_matrix(X),
        pl.DataFrame(columns),
        pa.table(columns),
    )
    values = [
        tuning.search(LinearRanker("logistic"), kind, Y, QID, grid={"l2": [0.1]}).best.mean
        for kind in kinds
    ]
    assert values == pytest.approx([values[0]] * len(kinds))


def test_value_is_the_mean_over_all_users_with_its_standard_error() -> None:
    found = search(Known(), grid={}, n_folds=3, measure="pap@5")
    values = measured(X[:, 0], Y, QID)  # Known learns nothing, so each user has its own value
    defined = values[~np.isnan(values)]
    (trial,) = found.trials
    assert trial.mean == pytest.approx(defined.mean())
    assert trial.std_error == pytest.approx(defined.std(ddof=1) / math.sqrt(defined.size))
    assert (trial.n_groups, len(trial.by_fold)) == (defined.size, 3)


@pytest.mark.parametrize("measure", ["topk_loss@1", "ap", "pap@5"])
def test_trials_are_the_grid_in_order_and_the_first_of_the_best_is_kept(measure: str) -> None:
    grid = {"sign": [-1.0, 2.0, 1.0]}
    found = search(Known(), grid=grid, measure=measure, n_jobs=3)
    assert [t.params for t in found.trials] == [{"sign": -1.0}, {"sign": 2.0}, {"sign": 1.0}]
    bad, good, same = (trial.mean for trial in found.trials)
    assert (bad > good) == (measure == "topk_loss@1")
    assert good == same
    assert found.best is found.trials[1]
    assert found.estimator.sign == 2.0


@pytest.mark.long
@pytest.mark.parametrize("rows_aside", [{}, {"n_folds": 3}, {"split": "rows", "valid": 0.3}])
def test_any_number_of_jobs_gives_the_same_search(rows_aside: dict[str, Any]) -> None:
    found = [
        search(
            LinearRanker("pap-ramp@5", max_iter=60, tol=0.0),
            grid=GRID,
            measure="pap@5",
            n_jobs=n_jobs,
            **rows_aside,
        )
        for n_jobs in (1, 4)
    ]
    one, many = ({**s.table, "seconds": None} for s in found)
    assert one == many
    assert np.array_equal(found[0].estimator.coef_, found[1].estimator.coef_)


def test_warnings_of_candidates_are_kept_in_the_table() -> None:
    found = search(LinearRanker("pap-ramp@5", tol=0.0), grid={"max_iter": [3, 4]}, n_jobs=2)
    for trial in found.trials:
        assert trial.warning
        assert trial.stop_reasons == ("max_iter",)
    model = LinearRanker("pap-ramp@5", tol=0.0, max_iter=3)
    with pytest.warns(ConvergenceWarning):
        found = search(model, grid={"l2": [0.0]}, eval_set=problem(seed=1))
    assert found.estimator.n_iter_ == 3


def test_eval_set_stops_early_and_is_never_trained_on() -> None:
    other = problem(seed=1)
    model = LinearRanker("pap-ramp@5", tol=0.0, patience=5)
    found = search(model, grid={"l2": [0.01]}, eval_set=other, measure="ap")
    alone = LinearRanker("pap-ramp@5", tol=0.0, patience=5, l2=0.01, eval_metric="ap")
    alone.fit(X, Y, QID, eval_set=other)
    assert np.array_equal(found.estimator.coef_, alone.coef_)
    assert alone.stop_reason_ == "patience"
    assert found.best.mean == pytest.approx(alone.history_["validation"].max())
    assert found.best.iterations == (alone.best_iteration_ + 1,)


def test_refit_learns_from_all_rows_for_as_long_as_validation_chose() -> None:
    model = LinearRanker("pap-ramp@5", tol=0.0, patience=5)
    found = search(model, grid={"l2": [0.01]}, n_folds=3, measure="ap")
    length = sorted(found.best.iterations)[1]
    again = LinearRanker("pap-ramp@5", tol=0.0, l2=0.01, max_iter=length, keep="last")
    with pytest.warns(ConvergenceWarning):
        again.fit(X, Y, QID)
    assert found.estimator.n_iter_ == length
    assert np.array_equal(found.estimator.coef_, again.coef_)


def test_without_refit_the_estimator_saw_the_training_part() -> None:
    found = search(Known(), grid={"sign": [-1.0, 1.0]}, refit=False, valid=0.25)
    assert found.estimator.sign == 1.0
    assert found.estimator.rows_.size == 9 * 20
    whole = search(Known(), grid={"sign": [1.0]}, valid=0.25)
    assert whole.estimator.rows_.size == 12 * 20
    several = search(Known(), grid={"sign": [1.0]}, refit=False, n_folds=2)
    assert several.estimator is None


def test_pipeline_is_scaled_by_the_rows_to_learn_from_alone() -> None:
    X, y, qid = problem()
    X = X * [1.0, 100.0, 1.0, 1e-3] + 7.0
    model = make_pipeline(StandardScaler(), LinearRanker("pap-ramp@5", tol=0.0, patience=5))
    found = tuning.search(model, X, y, qid, grid={"l2": [0.01]}, refit=False, measure="ap")
    (fold,) = of_rows.of_split(Rows(X, y, qid), "users", 0.2, None, 0)
    train, valid = fold.train.cut(), fold.valid.cut()
    scaler = StandardScaler().fit(train[0])
    alone = LinearRanker("pap-ramp@5", tol=0.0, patience=5, l2=0.01, eval_metric="ap")
    alone.fit(
        scaler.transform(train[0]), *train[1:], eval_set=(scaler.transform(valid[0]), *valid[1:])
    )
    assert np.array_equal(found.estimator[-1].coef_, alone.coef_)
    assert np.array_equal(found.estimator[0].mean_, scaler.mean_)
    assert np.array_equal(found.estimator.predict(X), alone.predict(scaler.transform(X)))


def test_classifiers_that_know_no_groups_are_scored_by_decision_or_probability() -> None:
    X, _, _ = problem()
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        found = search(model, grid={"C": [1e-4, 1.0]}, measure="ap", n_folds=2)
        assert all(t.mean > 0.7 for t in found.trials)
        scores = found.estimator.decision_function(X)
        assert np.array_equal(tuning.fitting.scores(found.estimator, X), scores)


def test_failed_candidate_is_kept_with_its_reason_unless_all_fail() -> None:
    with pytest.raises(ArgumentError, match="RuntimeError: no luck"):
        search(Known(fails=True), grid={"sign": [1.0, 2.0]})
    with pytest.raises(ArgumentError, match="pap@500"):  # before a fit
        search(Known(fails=True), grid={}, measure="pap@500")
    found = search(Known(), grid={"fails": [True, False]}, n_folds=2)
    assert found.trials[0].error == "RuntimeError: no luck"
    assert math.isnan(found.trials[0].mean)
    assert found.best_params == {"fails": False}
    assert found.table["mean"][0] is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_holds_what_was_done(n_jobs: int) -> None:
    def stop_after_three(done: int, total: int, note: str) -> None:
        assert (threading.current_thread(), total) == (threading.main_thread(), 5)
        if done == 3:
            raise KeyboardInterrupt

    grid = {"sign": [-1.0, 1.0, 3.0, 5.0, 7.0]}
    with pytest.raises(tuning.Interrupted) as stop:
        search(Known(), grid=grid, n_jobs=n_jobs, progress=stop_after_three)
    done = stop.value.search
    assert len(done.trials) == 3
    assert done.best.params["sign"] > 0
    assert (done.estimator, len(done.table["trial"])) == (None, 3)
    assert isinstance(stop.value, KeyboardInterrupt)


class Endless(BaseEstimator):
    """Learns until its progress callback ends it."""

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign

    def fit(self, X: Any, y: Any, qid: Any, progress: Any = None) -> Endless:
        if self.sign < 0:
            raise KeyboardInterrupt
        for done in range(10**9):
            progress(done, 10**9, "")
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def test_fits_that_run_end_with_the_search() -> None:
    for options in ({"grid": {"sign": [1.0, -1.0]}, "n_jobs": 2}, {"grid": {"sign": [-1.0]}}):
        with pytest.raises(KeyboardInterrupt) as stop:  # a plain one: nothing was done before
            search(Endless(), **options)
        assert not isinstance(stop.value, tuning.Interrupted)
    assert [t for t in threading.enumerate() if t.name.startswith("podium-tuning")] == []


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_each_fit_has_the_seed_and_one_thread_of_blas(n_jobs: int) -> None:
    class Checking(Known):
        def __init__(self, sign: float = 1.0, random_state: int | None = None) -> None:
            super().__init__(sign)
            self.random_state = random_state

        def fit(self, X: Any, y: Any, qid: Any) -> Known:
            blas = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
            assert (set(blas), self.random_state) == ({1}, 5)
            return super().fit(X, y, qid)

    with threadpool_limits(2, user_api="blas"):
        found = search(Checking(), grid={"sign": [1.0, -1.0]}, n_jobs=n_jobs, seed=5, refit=False)
    assert [t.error for t in found.trials] == [""] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        *({"grid": grid} for grid in ({"max_itr": [1]}, {"l2": "0.1"}, {"l2": []}, [], [3])),
        {"n_trials": None, "grid": {"l2": tuning.LogUniform(1e-3, 1)}},
        {"n_trials": 0},
        {"n_folds": 13},
        {"n_folds": 2, "eval_set": problem()},
        {"eval_set": (1,)},
        {"split": "user"},
        {"split": "time"},
        {"time": np.arange(240)},
        {"split": "time", "time": [1]},
        {"n_folds": 2, "time": np.arange(240)},
        *({"valid": 1.0}, {"valid": 0.01}, {"measure": "papp@10"}, {"min_relevance": 0}),
        *({"seed": -1}, {"n_jobs": 0}, {"refit": "no"}),
    ],
)
def test_bad_argument_is_refused_before_any_fit(arguments: dict[str, Any]) -> None:
    seen: list[int] = []
    with pytest.raises(ArgumentError, match="|".join(arguments)):
        search(LinearRanker("logistic"), progress=lambda *step: seen.append(0), **arguments)
    assert seen == []


def test_what_is_no_estimator_is_refused() -> None:
    with raises(ArgumentError, "estimator"):
        tuning.search("linear", *problem())

    class Grouped(BaseEstimator):
        def fit(self, X: Any, y: Any, group: Any = None) -> None: ...

    with raises(ArgumentError, "group"):
        tuning.search(Grouped(), *problem())


def test_search_without_qid_is_refused_unless_all_rows_are_one_group() -> None:
    X, y, _ = problem()
    rows: Any = {"grid": {}, "split": "rows", "measure": "ap"}
    for estimator in (
        LinearRanker("logistic"),
        make_pipeline(StandardScaler(), LinearRanker("logistic")),
    ):
        with pytest.raises(ArgumentError, match="qid"):
            tuning.search(estimator, X, y, **rows)
        with pytest.raises(ArgumentError, match="eval_set qid"):
            search(estimator, grid={}, measure="ap", eval_set=(X, y))
    one = LinearRanker("logistic", one_group=True)
    for arguments in ({}, {"n_folds": 2}, {"split": "time-per-user", "time": np.arange(240)}):
        with raises(ArgumentError, "eval_set"):  # no users to divide
            tuning.search(one, X, y, **arguments)
    with pytest.raises(ArgumentError, match="qid"):
        tuning.search(LogisticRegression(), X, y, **rows)
    with raises(ArgumentError, "y", "measure"):  # a measure in the place of y
        tuning.search("auto", X, "ap")
    assert tuning.search(one, X, y, **rows).best.n_groups == 1
    piped = make_pipeline(StandardScaler(), one)
    assert tuning.search(piped, X, y, **rows).best.n_groups == 1


def test_items_reach_the_fit_cut_as_the_rows_are() -> None:
    seen: list[tuple[Any, Any]] = []

    class Reader(LinearRanker):
        pools_items = True

        def fit(self, X: Any, y: Any, qid: Any = None, *, item: Any = None, **rest: Any) -> Any:
            seen.append((np.asarray(X)[:, 0], item))
            return super().fit(X, y, qid, **rest)

    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 2)), np.repeat(np.arange(12), 10)
    item = np.array([f"i{x:.6f}" for x in X[:, 0]])
    y = X[:, 0] > 0.3
    tuning.search(Reader(), X, y, qid, item=item, grid={"l2": [0.1]}, n_folds=3, measure="ap")
    assert len(seen) == 4
    assert [len(items) for _, items in seen] == [80, 80, 80, 120]
    for first, items in seen:
        assert [f"i{x:.6f}" for x in first] == list(items)
    with pytest.raises(ArgumentError, match="item"):
        tuning.search(Reader(), X, y, qid, item=item[1:], grid={"l2": [0.1]}, n_folds=3)


@pytest.mark.parametrize(
    ("ranker", "loss", "measure"),
    [
        (LinearRanker(), losses.get("pap-logistic"), "pap@5"),
        (LinearRanker("softmax"), losses.get("softmax"), "ndcg@5"),
        (LightGBMRanker(), losses.get("group-logistic"), "pap@5"),
        (LightGBMRanker("lambdarank"), "lambdarank", "ndcg@5"),
        (LightGBMRanker("binary"), "binary", "pap@5"),
        (XGBoostRanker("lambdarank"), losses.LambdaRank(), "ndcg@5"),
        (LightGBMRanker("lambdarank@10"), losses.LambdaRank(10), "ndcg@5"),
    ],
)
def test_loss_in_use_is_the_default_or_named_and_suits_a_measure(
    ranker: Any, loss: Any, measure: str
) -> None:
    assert ranker.loss_in_use() == loss
    assert ranker.suited_measure(5) == measure


def test_columns_of_other_lengths_are_refused_before_the_first_fit() -> None:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 2)), np.repeat(np.arange(8), 5)
    y = (X[:, 0] > 0).astype(int)
    options: dict[str, Any] = {"grid": {"l2": [0.1]}, "measure": "rr", "n_folds": 2}
    for tables in ((np.r_[X, X], y, qid), (X, y[:-5], qid), (X, y, np.r_[qid, qid])):
        with pytest.raises(ArgumentError):
            tuning.search(LinearRanker("logistic"), *tables, refit=False, **options)


@pytest.mark.parametrize("place", ["nowhere/file", "."])
def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_first_fit(
    tmp_path: Path, place: str
) -> None:
    likes = sparse.csr_array(np.triu(np.ones((30, 30))))
    with pytest.raises(ArgumentError):
        tuning.search(Popularity(), likes, checkpoint=tmp_path / place)
