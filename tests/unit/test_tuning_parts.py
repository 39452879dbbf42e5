"""Candidates and folds: draws from a seed, and rows that are set aside."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium.errors import ArgumentError
from podium.rankers import LinearRanker, NeuralRanker
from podium.tuning import Integers, LogUniform, Uniform, default_grid, of_rows
from podium.tuning.candidates import candidates, parse_values
from podium.tuning.labels import check_ratings
from podium.tuning.of_rows import Rows
from podium.tuning.searching import plan


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
    grid = {
        "u": Uniform(2, 4),
        "l": LogUniform(1e-6, 1.0),
        "i": Integers(1, 3),
        "c": ["x", "y"],
    }
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
        ("listmle(ties=redrawn)@7", False),
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
    check_ratings("r.csv", rated, {}, validated=False)
    with raises(ArgumentError, "min_relevance"):
        losses = [{"loss": ["softmax"]}, {"loss": ["pap-ramp"]}]
        check_ratings("r.csv", rated, losses, validated=False)
