"""The search for recommenders: what it tries, what it measures on, and what its file keeps."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from tests.raised import raises
from tests.ranked import rank_all

from podium import tuning
from podium.errors import (
    ArgumentError,
    ConvergenceWarning,
    DataError,
    MissingExtraError,
    PodiumWarning,
)
from podium.evaluation import evaluate
from podium.recommenders import (
    EASE,
    REGISTRY,
    Factorization,
    ItemKNN,
    MatrixRecommender,
    Popularity,
)
from podium.tuning import Interrupted, LogUniform, Uniform
from podium.tuning import of_pairs as pairs
from podium.tuning.candidates import checked_parts, drawn

N_USERS, N_ITEMS = 40, 30
RNG = np.random.default_rng(0)
SAME: NDArray[np.bool_] = np.add.outer(np.arange(N_USERS), np.arange(N_ITEMS)) % 2 == 0
LIKES: Any = sparse.csr_array(
    (RNG.random(SAME.shape) < np.where(SAME, 0.5, 0.03)).astype(np.float64)
)
NOISE: NDArray[np.float64] = RNG.standard_normal(SAME.shape)


@dataclass(eq=False)
class Planted(MatrixRecommender):
    """Scores that are best for l2=1 and many passes; other parameters make the fit fail or warn."""

    n_fits: ClassVar[int] = 0

    l2: float = 30.0
    n_epochs: int = 27
    fails: bool = False
    diverges: bool = False

    def _fit(self, pairs: Any) -> None:
        Planted.n_fits += 1
        if self.fails:
            raise RuntimeError("no luck")
        if self.diverges:
            warnings.warn("Steps diverged.", ConvergenceWarning, stacklevel=2)

    def _score(self, users: NDArray[np.int64]) -> NDArray[np.float32]:
        strength = 3.0 * (1 - 1 / (1 + self.n_epochs)) / (1 + abs(np.log10(self.l2)))
        return (strength * SAME + NOISE)[users].astype(np.float32)


SPACE = {"l2": LogUniform(0.01, 100.0)}


def search(model: Any = None, **options: Any) -> tuning.Search:
    options = {"grid": SPACE, "n_trials": 9, "valid": 0.3, **options}
    return tuning.search(Planted() if model is None else model, LIKES, **options)


def without_seconds(found: tuning.Search) -> dict[str, list[Any]]:
    return {name: column for name, column in found.table.items() if name != "seconds"}


def interrupted_after(n_fits: int) -> Callable[[int, int, str], None]:
    n_done = 0

    def stop(done: int, total: int, note: str) -> None:
        nonlocal n_done
        n_done += 1
        if n_done == n_fits:
            raise KeyboardInterrupt

    return stop


# --- Candidates ---------------------------------------------------------------------------------


def test_the_given_parameters_are_first_and_get_all_passes() -> None:
    found = search()
    passes = [(trial.number, trial.params["n_epochs"]) for trial in found.trials]
    assert passes[:9] == [(number, 9) for number in range(9)]
    assert Counter(n for _, n in passes[9:]) == {27: 4}  # a third, and the first candidate
    assert passes[10] == (0, 27)
    assert found.trials[0].params == {"l2": 30.0, "n_epochs": 9}
    assert [trial.iterations for trial in found.trials] == [(n,) for _, n in passes]


def test_planted_best_is_found_and_fitted_to_all_pairs() -> None:
    found = search(grid={"l2": [0.01, 0.1, 1.0, 10.0, 100.0]}, n_trials=100)
    assert found.best_params == {"l2": 1.0, "n_epochs": 27}
    assert found.estimator.get_params() == Planted(l2=1.0).get_params()
    assert (found.estimator.user_items_ != LIKES).nnz == 0
    assert {trial.number for trial in found.trials} == set(range(6))  # the space is used up


def test_a_model_without_passes_has_one_rung() -> None:
    found = search(ItemKNN(), grid={"k": [1, 5, 20]}, n_trials=None)
    assert sorted(trial.params["k"] for trial in found.trials) == [1, 5, 20, 150]
    assert all(trial.iterations == () for trial in found.trials)
    assert len(search(Popularity(), grid=None).trials) == 1


def test_draws_stay_in_their_limits() -> None:
    parts = checked_parts({"u": Uniform(0.12345, 0.12346), "c": [1, 2]}, "grid")
    draws = list(drawn(parts, {"u": 5.0, "c": 1}, 0))  # ends: both limits, and nothing between
    assert {draw["u"] for draw in draws[1:]} <= {0.12345, 0.12346}


NEURAL = ("multi-vae", "neumf")
EACH = [pytest.param(name, marks=pytest.mark.long if name in NEURAL else ()) for name in REGISTRY]


@pytest.mark.parametrize("name", EACH)
def test_every_recommender_is_searched(name: str) -> None:
    model = REGISTRY[name]()
    if "n_epochs" in model.get_params():
        model.set_params(n_epochs=2)
    try:
        found = search(model, grid=None, n_trials=3)
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    n_trials = 1 if name in ("blend", "popularity", "recent", "own-history") else 3
    assert [trial.error for trial in found.trials] == [""] * n_trials
    best = type(model)(**(model.get_params() | found.best_params)).fit(LIKES)
    assert np.array_equal(best.scores(), found.estimator.scores())


# --- Validation pairs ---------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_each_user_gives_a_share_of_the_pairs_and_keeps_one(share: float) -> None:
    likes = sparse.csr_array(np.triu(np.ones((30, 30))))
    parts = pairs.divided_pairs(likes, None, None, share, 0)
    assert abs(parts.train + parts.valid - likes).max() == 0
    n_valid = np.diff(parts.valid.indptr)
    n_all = np.diff(likes.indptr)
    assert (np.abs(n_valid - share * n_all) < 1 + (n_valid == n_all - 1)).all()
    assert (np.diff(parts.train.indptr) >= 1).all()
    assert abs(n_valid.sum() - share * n_all.sum()) < 25  # rounded up or down, not always down
    assert parts.digest() != pairs.divided_pairs(likes, None, None, share, 1).digest()


def test_mean_is_the_measure_of_a_fit_to_the_training_pairs() -> None:
    found = search(EASE(l2=5.0), grid={}, measure="recall@5", seed=3)
    parts = pairs.divided_pairs(LIKES, None, None, 0.3, 3)
    model = EASE(l2=5.0).fit(parts.train)
    users = np.flatnonzero(np.diff(parts.valid.indptr))
    ranking = rank_all(model.scores(users), parts.valid[users], exclude=parts.train[users])
    summary = evaluate(ranking, "recall@5").summary("recall@5")
    (trial,) = found.trials
    assert trial.mean == pytest.approx(summary.mean, abs=1e-12)
    assert trial.std_error == pytest.approx(summary.std_error, abs=1e-12)
    assert trial.n_groups == users.size


def table(matrix: Any) -> dict[str, Any]:
    coo = matrix.tocoo()
    return {"user": np.char.add("u", (100 + coo.row).astype(str)), "item": 1000 + coo.col}


def test_tables_and_matrices_give_the_same() -> None:
    parts = pairs.divided_pairs(LIKES, None, None, 0.3, 0)
    space = {"n_factors": [4, 8]}
    base = Factorization(4, n_epochs=9, gain="one")
    results: list[tuning.Search] = []
    for train, valid in ((table(parts.train), table(parts.valid)), (parts.train, parts.valid)):
        results.append(tuning.search(base, train, eval_set=valid, grid=space))
    one, two = results
    assert without_seconds(one) == without_seconds(two)
    assert np.array_equal(one.estimator.item_factors_, two.estimator.item_factors_)
    assert one.estimator.item_labels_.min() == 1000
    with pytest.raises(ArgumentError, match="user of eval_set"):
        tuning.search(base, table(LIKES), eval_set={"user": ["x"], "item": [1000]})


def test_seen_pairs_are_not_ranked() -> None:
    parts = pairs.divided_pairs(LIKES, None, None, 0.3, 0)
    unseen = sparse.csr_array((SAME & ~(LIKES.toarray() > 0)).astype(float))
    base = Factorization(4, n_epochs=5)
    plain, easy = (
        tuning.search(base, parts.train, eval_set=parts.valid, seen=seen, grid={}, measure="ap")
        for seen in (None, unseen)
    )
    assert easy.best.mean > plain.best.mean
    assert easy.estimator.user_items_.nnz == parts.train.nnz + unseen.nnz


# --- Results ------------------------------------------------------------------------------------


def test_failures_and_warnings_are_listed_with_their_reasons(tmp_path: Path) -> None:
    options: dict[str, Any] = {"grid": {"fails": [True], "l2": [1.0]}}
    found = search(**options, checkpoint=tmp_path / "fits")
    again = search(**options, checkpoint=tmp_path / "fits", resume=True)
    assert json.dumps(again.table) == json.dumps(found.table)
    assert [trial.error for trial in found.trials] == ["", "RuntimeError: no luck", ""]
    assert found.best.number == 0
    with pytest.raises(ArgumentError, match="RuntimeError: no luck"):
        search(Planted(fails=True), grid={"l2": [1.0]})
    with pytest.warns(ConvergenceWarning, match="diverged"):  # of the last fit
        found = search(Planted(diverges=True), grid={}, n_trials=1)
    assert found.table["warning"] == ["Steps diverged."] * 2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"grid": {"l3": [1]}}, "l3"),
        ({"grid": {"l2": 1.0}}, "l2"),
        ({"grid": []}, "grid"),
        ({"grid": None}, "grid"),
        ({"valid": 0.0}, "valid"),
        ({"budget": 0.0}, "budget"),
        ({"n_trials": 0}, "n_trials"),
        ({"measure": "pap@40"}, "validation pairs"),
        ({"valid": 0.001}, "validation pairs"),
        ({"resume": True}, "checkpoint"),
        ({"eval_set": sparse.csr_array((2, 2))}, "eval_set"),
        ({"eval_set": {"user": [1], "item": [2]}}, "eval_set"),
    ],
)
def test_bad_argument_is_refused_before_a_fit(options: dict[str, Any], named: str) -> None:
    before = Planted.n_fits
    with pytest.raises(ArgumentError, match=named):
        search(**options)
    assert Planted.n_fits == before


# --- The file -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_fits", [1, 10])
def test_resumed_search_is_the_uninterrupted_one(tmp_path: Path, n_fits: int) -> None:
    path, whole = tmp_path / "fits", search()
    with pytest.raises(Interrupted) as stop:
        search(checkpoint=path, progress=interrupted_after(n_fits))
    assert len(stop.value.search.trials) == n_fits
    assert stop.value.search.estimator is None
    before = Planted.n_fits
    found = search(checkpoint=path, resume=True)
    assert Planted.n_fits - before == len(whole.trials) - n_fits + 1  # and the last fit
    assert without_seconds(found) == without_seconds(whole)
    kept = [trial.seconds for trial in stop.value.search.trials]
    assert [trial.seconds for trial in found.trials[:n_fits]] == kept


def test_larger_search_continues_a_finished_one(tmp_path: Path) -> None:
    path = tmp_path / "fits"
    search(checkpoint=path, n_trials=9, refit=False)
    before = Planted.n_fits
    found = search(checkpoint=path, n_trials=12, resume=True, refit=False)
    assert without_seconds(found) == without_seconds(search(n_trials=12))
    assert Planted.n_fits - before < 2 * len(found.trials)


def test_file_of_another_search_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fits"
    search(checkpoint=path, n_trials=2)
    for options in (
        {"seed": 1},
        {"valid": 0.2},
        {"model": Planted(l2=2.0)},
        {"grid": {"l2": [1.0]}},
        {"measure": "ap"},
    ):
        with pytest.raises(DataError):
            search(**{"checkpoint": path, "resume": True, **options})
    for text in ("", "{}", "no", path.read_text().replace('"mean"', '"men"')):
        path.write_text(text)
        with raises(DataError, "resume"):
            search(checkpoint=path, resume=True)
    with pytest.warns(PodiumWarning):
        search(checkpoint=tmp_path / "none", resume=True, n_trials=1)
