"""The search for recommenders: what it tries, what it measures on, and what its file keeps."""

from __future__ import annotations

import json
import re
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

from podium import tuning
from podium.catalogue import rank_all
from podium.errors import (
    ArgumentError,
    ConvergenceWarning,
    DataError,
    MissingExtraError,
    PodiumWarning,
)
from podium.evaluation import evaluate
from podium.executors import Threads
from podium.recommenders import (
    EASE,
    REGISTRY,
    Factorization,
    ItemKNN,
    MatrixRecommender,
    Popularity,
)
from podium.tuning import Interrupted, LogUniform, Uniform, default_grid
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


def test_draws_differ_stay_in_their_limits_and_begin_alike() -> None:
    parts = checked_parts({"u": Uniform(0.12345, 0.12346), "c": [1, 2]}, "grid")
    first = {"u": 5.0, "c": 1}
    draws = list(drawn(parts, first, 0))  # ends: both limits, and nothing between them, twice
    assert draws[0] == first
    assert {draw["u"] for draw in draws[1:]} <= {0.12345, 0.12346}
    assert len(draws) == len({repr(draw) for draw in draws}) <= 5
    wide = checked_parts([{"u": Uniform(0, 1)}, {"c": [3]}], "grid")
    few = [draw for draw, _ in zip(drawn(wide, first, 1), range(20), strict=False)]
    assert few == [draw for draw, _ in zip(drawn(wide, first, 1), range(30), strict=False)][:20]
    assert all(draw["u"] == float(f"{draw['u']:.3g}") for draw in few)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_recommender_has_a_space_of_its_parameters(name: str) -> None:
    model = REGISTRY[name]()
    grid = default_grid(model)
    assert all(set(part) <= set(model.get_params()) for part in grid)
    for params, _ in zip(drawn(checked_parts(grid, "grid"), {}, 0), range(5), strict=False):
        model.set_params(**params)


class Declaring(Popularity):
    """A recommender of another package, with values to search."""

    default_space = ({"a": "log(1,10)", "b": [2, None]},)


def test_space_is_the_one_that_the_class_declares() -> None:
    assert default_grid(Declaring()) == [{"a": LogUniform(1, 10), "b": [2, None]}]


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
    assert [trial.error for trial in found.trials] == [""] * (1 if name == "popularity" else 3)
    best = type(model)(**(model.get_params() | found.best_params)).fit(LIKES)
    assert np.array_equal(best.scores(), found.estimator.scores())


def test_a_new_recommender_needs_a_space() -> None:
    with pytest.raises(ArgumentError, match=r"^Planted has no default grid\. Pass grid="):
        search(grid=None)


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


def as_it_is(matrix: Any) -> Any:
    return matrix


def table(matrix: Any) -> dict[str, Any]:
    coo = matrix.tocoo()
    return {"user": np.char.add("u", (100 + coo.row).astype(str)), "item": 1000 + coo.col}


def test_tables_and_matrices_give_the_same() -> None:
    parts = pairs.divided_pairs(LIKES, None, None, 0.3, 0)
    space = {"n_factors": [4, 8]}
    base = Factorization(4, n_epochs=9, gain="one")
    results: list[tuning.Search] = []
    for form in (table, as_it_is):
        train: Any = form(parts.train)
        valid: Any = form(parts.valid)
        results.append(tuning.search(base, train, eval_set=valid, grid=space))
    one, two = results
    assert without_seconds(one) == without_seconds(two)
    assert np.array_equal(one.estimator.item_factors_, two.estimator.item_factors_)
    assert one.estimator.item_labels_.min() == 1000
    with pytest.raises(ArgumentError, match=r"^user of eval_set .* is unknown to the model"):
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


def test_number_of_threads_changes_nothing() -> None:
    space = {"n_factors": [4, 8], "l2": LogUniform(0.01, 0.1)}
    one, three = (
        search(Factorization(4, n_epochs=9), grid=space, executor=Threads(n)) for n in (1, 3)
    )
    assert without_seconds(one) == without_seconds(three)
    assert np.array_equal(one.estimator.user_factors_, three.estimator.user_factors_)


def test_failures_are_listed_with_their_reasons() -> None:
    found = search(grid={"fails": [True], "l2": [1.0]})
    assert [trial.error for trial in found.trials] == ["", "RuntimeError: no luck", ""]
    assert found.best.number == 0
    with pytest.raises(ArgumentError, match=r"^All 2 candidates failed, .*RuntimeError: no luck"):
        search(Planted(fails=True), grid={"l2": [1.0]})


def test_a_warning_of_a_fit_is_in_its_row() -> None:
    with pytest.warns(ConvergenceWarning, match="diverged"):  # of the last fit
        found = search(Planted(diverges=True), grid={}, n_trials=1)
    assert found.table["warning"] == ["Steps diverged."] * 2


def test_progress_ends_at_its_total() -> None:
    calls: list[tuple[int, int, str]] = []

    def note(done: int, total: int, text: str) -> None:
        calls.append((done, total, text))

    for options in ({}, {"n_trials": 4}, {"n_trials": 2, "budget": 100.0}):
        calls.clear()
        found = search(progress=note, **options)
        done, total, text = calls[-1]
        assert done == total
        assert text == f"best ndcg@10 {found.best.mean:.4f}"
        assert [call[0] for call in calls] == sorted(call[0] for call in calls)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"l3": [1]}}, r"^grid\['l3'\] is not a parameter of Planted\. The par"),
        ({"grid": {"l2": 1.0}}, r"^grid\['l2'\] must be a list of values or a distribution"),
        ({"grid": []}, r"^grid must have at least one mapping"),
        ({"valid": 0.0}, r"^valid must be a number > 0 and < 1"),
        ({"budget": 0.0}, r"^budget must be a number > 0"),
        ({"n_trials": 0}, r"^n_trials must be an integer >= 1"),
        ({"measure": "pap@40"}, r"^pap@40 is defined on no user of the validation pairs"),
        ({"valid": 0.001}, r"^ndcg@10 is defined on no user of the validation pairs"),
        ({"resume": True}, r"^resume=True requires a checkpoint"),
        ({"eval_set": sparse.csr_array((2, 2))}, r"^eval_set must have the shape of user_items"),
        ({"eval_set": {"user": [1], "item": [2]}}, r"^eval_set must be a sparse matrix"),
    ],
)
def test_bad_argument_is_refused_before_a_fit(options: dict[str, Any], message: str) -> None:
    before = Planted.n_fits
    with pytest.raises(ArgumentError, match=message):
        search(**options)
    assert Planted.n_fits == before


# --- The file -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_fits", [1, 7, 10, 12])
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


def test_failure_is_kept_in_the_file(tmp_path: Path) -> None:
    options: dict[str, Any] = {"grid": {"fails": [True]}, "checkpoint": tmp_path / "fits"}
    one, two = search(**options), search(**options, resume=True)
    assert json.dumps(one.table) == json.dumps(two.table)


def test_file_of_another_search_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fits"
    search(checkpoint=path, n_trials=2)
    for options, reason in (
        ({"seed": 1}, "other interactions or validation pairs"),
        ({"valid": 0.2}, "other interactions or validation pairs"),
        ({"model": Planted(l2=2.0)}, "another recommender or other parameters"),
        ({"grid": {"l2": [1.0]}}, "another grid"),
        ({"measure": "ap"}, "another measure"),
    ):
        with pytest.raises(DataError, match=f"belongs to a search (with|by) {reason}"):
            search(**{"checkpoint": path, "resume": True, **options})
    for text in ("", "{}", "no", path.read_text().replace('"mean"', '"men"')):
        path.write_text(text)
        with raises(DataError, "resume"):
            search(checkpoint=path, resume=True)


def test_missing_file_starts_anew_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(PodiumWarning, match="The search starts from the first fit"):
        search(checkpoint=tmp_path / "fits", resume=True, n_trials=1)


def test_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text(encoding="utf-8")
    _, section = page.split("## Recommenders\n")
    (block,) = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    names: dict[str, Any] = {"user_items": LIKES}
    exec(compile(block, "tuning.md", "exec"), names)
    assert names["items"].shape == (N_USERS, 10)
    assert {trial.number for trial in names["found"].trials} == set(range(6))
    assert len(names["rival"].trials) == 6
    assert (tmp_path / "fits.jsonl").exists()
