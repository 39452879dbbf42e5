"""Candidates, folds, rungs and gains of a search, and scaling that a ranker takes over."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.raised import raises

from podium import losses, tuning
from podium.errors import ArgumentError, PodiumWarning
from podium.metrics import parse
from podium.rankers import LinearRanker, NeuralRanker
from podium.rankers.scaling import folded, scaled
from podium.recommenders import EASE, REGISTRY, Factorization, ItemKNN, Recommender
from podium.tuning import Integers, LogUniform, Uniform, default_grid, of_rows, search
from podium.tuning import of_pairs as pairs
from podium.tuning.candidates import candidates, parse_values
from podium.tuning.fit_file import Fit, FitFile
from podium.tuning.labels import check_ratings
from podium.tuning.of_pairs import OfPairs
from podium.tuning.of_rows import Rows
from podium.tuning.results import Trial
from podium.tuning.searching import plan
from podium.tuning.trials import Task, Trials


def test_grids_are_in_order_and_the_last_name_varies_fastest() -> None:
    found = candidates([{"a": [1, 2], "b": ["x", "y"]}, {}, {"b": np.array([3.0])}], None, 0)
    assert found == [*({"a": a, "b": b} for a in (1, 2) for b in ("x", "y")), {}, {"b": 3.0}]
    assert [list(params) for params in found[:4]] == [["a", "b"]] * 4


def test_budget_takes_that_many_of_a_grid_once_each_and_in_order() -> None:
    grid = {"a": list(range(10)), "b": list(range(10))}
    whole = candidates(grid, None, 0)
    some = candidates(grid, 30, 1)
    places = [whole.index(params) for params in some]
    assert places == sorted(set(places))
    assert len(some) == 30
    assert some == candidates(grid, 30, 1) != candidates(grid, 30, 2)
    assert candidates(grid, 500, 1) == whole


def test_draws_stay_in_their_limits_and_follow_their_law() -> None:
    grid = {"u": Uniform(2, 4), "l": LogUniform(1e-6, 1.0), "i": Integers(1, 3), "c": ["x", "y"]}
    drawn = candidates(grid, 4000, 0)
    u, log = (np.array([params[name] for params in drawn]) for name in "ul")
    assert (u.min() >= 2, u.max() <= 4, log.min() >= 1e-6, log.max() <= 1) == (True,) * 4
    # Four standard errors of a mean, and of a share.
    assert abs(u.mean() - 3) < 4 * 2 / np.sqrt(12 * 4000)
    assert abs((log < 1e-3).mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    for name, n in (("i", 3), ("c", 2)):
        counts = Counter(params[name] for params in drawn)
        assert len(counts) == n
        assert all(
            abs(c / 4000 - 1 / n) < 4 * np.sqrt((n - 1) / n**2 / 4000) for c in counts.values()
        )
    assert candidates(grid, 7, 0) == drawn[:7]  # a larger budget only adds


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", [1]),
        ("1e-4, 0.5,3", [1e-4, 0.5, 3]),
        ("none,True,false", [None, True, False]),
        ("pap-ramp@10,logistic", ["pap-ramp@10", "logistic"]),
        ("log(1e-6, 1)", LogUniform(1e-6, 1)),
        (" uniform(-1,1) ", Uniform(-1, 1)),
        ("int(2,7)", Integers(2, 7)),
    ],
)
def test_values_are_read_from_text(text: str, values: Any) -> None:
    found = parse_values(text)
    assert found == values
    if isinstance(values, list):
        assert [type(one) for one in found] == [type(one) for one in values]


@pytest.mark.parametrize(
    "text",
    [
        *("", "1,,2", "lgo(1,2)", "log(0,1)", "log(2,1)", "uniform(a,1)"),
        *("uniform(none,1)", "int(0.5,2)", "uniform(0,inf)"),
    ],
)
def test_bad_values_are_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse_values(text)


def rows(n_users: int = 7, n_rows: int = 10) -> Rows:
    qid = np.random.default_rng(0).permutation(np.repeat(np.arange(n_users), n_rows))
    return Rows(np.arange(qid.size)[:, None], np.arange(qid.size) % 2, qid)


def parts(found: Any) -> tuple[Any, Any]:
    return found.train.positions, found.valid.positions


def test_folds_measure_every_user_once_and_never_train_on_them() -> None:
    given = rows()
    found = of_rows.of_users(given, 3, seed=0)
    seen = np.concatenate([np.unique(given.qid[fold.valid.positions]) for fold in found])
    assert sorted(seen.tolist()) == list(range(7))
    assert sorted(np.unique(given.qid[f.valid.positions]).size for f in found) == [2, 2, 3]
    for fold in found:
        train, valid = parts(fold)
        assert not np.intersect1d(given.qid[train], given.qid[valid]).size
        assert np.array_equal(np.sort(np.concatenate([train, valid])), np.arange(70))
    other = of_rows.of_users(given, 3, seed=1)
    assert any(
        not np.array_equal(a.valid.positions, b.valid.positions)
        for a, b in zip(found, other, strict=True)
    )


def test_splits_set_users_or_rows_or_the_last_rows_aside() -> None:
    given = rows()
    times = np.random.default_rng(1).permutation(70)
    train, valid = parts(of_rows.of_split(given, "users", 0.3, None, 0)[0])
    assert np.unique(given.qid[valid]).size == 2  # 0.3 of 7, rounded down
    assert not np.intersect1d(given.qid[train], given.qid[valid]).size
    _, valid = parts(of_rows.of_split(given, "rows", 0.3, None, 0)[0])
    assert np.bincount(given.qid[valid]).tolist() == [3] * 7
    train, valid = parts(of_rows.of_split(given, "time", 0.3, times, 0)[0])
    assert valid.size == 21
    assert times[train].max() < times[valid].min()
    train, valid = parts(of_rows.of_split(given, "time-per-user", 0.3, times, 0)[0])
    for user in range(7):
        before, after = (times[p[given.qid[p] == user]] for p in (train, valid))
        assert (after.size, before.max() < after.min()) == (3, True)


@pytest.mark.parametrize(
    ("loss", "has_steps"),
    [
        (None, False),
        ("logistic", False),
        ("pap-logistic", False),
        ("listmle@7", False),
        ("pap-avg@7", True),
        ("pap-tight-struct@3", True),
    ],
)
@pytest.mark.parametrize("solver", ["auto", "subgradient", "stochastic", "lbfgs"])
def test_default_grid_has_steps_where_neither_loss_nor_solver_tells_them(
    loss: str | None, has_steps: bool, solver: str
) -> None:
    model = LinearRanker(loss, solver=solver)
    grid = default_grid(model)[0]
    assert ("learning_rate" in grid) == (solver != "lbfgs" and has_steps)
    assert len(plan(model)) == np.prod([len(values) for values in grid.values()])


def test_default_grid_has_cutoffs_of_the_loss_and_refuses_a_solver_that_is_none() -> None:
    assert default_grid(LinearRanker("pap-avg@7"))[0]["loss__k"] == [7, 21, 70]
    assert len(plan(NeuralRanker("listmle@3"))) > 1
    with raises(ArgumentError, "solver"):
        default_grid(LinearRanker("pap-avg@7", solver="newton"))


def test_ratings_need_a_threshold_of_each_loss_of_a_grid() -> None:
    rated = LinearRanker("logistic(min_relevance=4)")
    check_ratings("r.csv", rated, [], validated=False)
    with raises(ArgumentError, "min_relevance", "loss"):
        grid = [{"loss": [losses.get(name)]} for name in ("softmax", "pap-ramp@5")]
        check_ratings("r.csv", rated, grid, validated=False)


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


RNG = np.random.default_rng(0)
LIKES = (RNG.random((50, 24)) < np.where(np.indices((50, 24)).sum(0) % 2, 0.6, 0.05)) * 1.0
NOISE = np.where(RNG.random(LIKES.shape) < 0.1, 200.0, 1.0)


def table(weights: Any) -> dict[str, Any]:
    user, item = np.nonzero(LIKES)
    return {"user": user, "item": item, "value": (LIKES * weights)[user, item]}


@pytest.mark.parametrize("name", sorted({*REGISTRY} - {"blend"}))  # whose models have the gain
def test_models_that_read_weights_have_a_gain_to_search(name: str) -> None:
    cls = REGISTRY[name]
    assert cls.reads_gain == cls.reads_weights == ("gain" in cls().get_params())
    assert all(("gain" in part) == cls.reads_gain for part in default_grid(cls()))


@pytest.mark.parametrize("gain", ["one", "log"])
@pytest.mark.parametrize(
    "model",
    [EASE(l2=9.0), ItemKNN(k=5), Factorization(4, n_epochs=2)],
    ids=lambda model: type(model).__name__,
)
def test_gain_turns_values_into_weights(model: Recommender, gain: str) -> None:
    weights = RNG.integers(1, 6, LIKES.shape)
    by_hand = {"one": LIKES, "log": LIKES * np.log2(1.0 + weights)}[gain]
    scores = model.set_params(gain=gain).fit(sparse.csr_array(LIKES * weights)).scores()
    expected = model.set_params(gain="value").fit(sparse.csr_array(by_hand)).scores()
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("model", [EASE(), ItemKNN()], ids=["ease", "item-knn"])
def test_once_wins_if_the_weights_are_noise(model: Recommender) -> None:
    noisy = sparse.csr_array(LIKES * NOISE)
    found = search(model, noisy, grid={"gain": ["value", "one"]}, valid=0.3)
    assert {trial.params["gain"] for trial in found.trials} == {"value", "one"}
    assert found.best_params["gain"] == found.estimator.gain
    assert found.best.mean == max(trial.mean for trial in found.trials)
    assert found.best_params["gain"] == "one"


def test_gain_is_left_out_if_all_weights_are_1() -> None:
    found = search(EASE(), table(1.0), n_trials=3)
    assert {name for trial in found.trials for name in trial.params} == {"l2", "user_power"}


def test_gain_is_left_out_with_a_warning_if_values_are_0() -> None:
    events = table(NOISE)
    events["value"][3] = 0.0
    with pytest.warns(PodiumWarning, match="gain is not searched"):
        found = search(EASE(), events, n_trials=3)
    assert {name for trial in found.trials for name in trial.params} == {"l2", "user_power"}


def problem(seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 4)) * [1.0, 1e3, 1e-3, 0.0] + [0.0, 1e4, 5.0, 7.0]
    utility = X[:, 0] - 1e-3 * X[:, 1] + 0.5 * rng.standard_normal(200)
    return X, (utility > utility.mean() + 1).astype(float), np.arange(200) // 20


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "pap-ramp@3"])
def test_folded_ranker_scores_raw_rows_as_the_pipeline_does(loss: str, center: bool) -> None:
    X, y, qid = problem()
    model = scaled(LinearRanker(loss, tol=1e-3, fit_intercept=center), X)
    tuning.fit(model, X, y, qid)
    ranker = folded(model)
    assert type(ranker) is LinearRanker
    np.testing.assert_allclose(ranker.predict(X), model.predict(X), rtol=1e-9, atol=1e-9)
    assert not np.allclose(ranker.coef_, model[-1].coef_)
    assert ranker.history_["objective"].size == ranker.n_iter_
    before = model.predict(X)
    ranker.coef_[:] = 0.0
    assert np.array_equal(model.predict(X), before)


def test_sparse_features_keep_their_zeros() -> None:
    X, y, qid = problem()
    thin = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    model = scaled(LinearRanker("logistic"), thin)
    tuning.fit(model, thin, y, qid)
    np.testing.assert_allclose(folded(model).predict(thin), model.predict(thin), rtol=1e-9)
