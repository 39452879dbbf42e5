"""The choice among recommenders and their blends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.raised import raises

from podium import recommenders
from podium.errors import ArgumentError
from podium.executors import Threads
from podium.tuning import Interrupted, of_events, search
from podium.tuning.portfolio import Candidate, Family, Portfolio


def pairs(seed: int = 0, n_users: int = 120, n_items: int = 30) -> Any:
    """Return pairs in which users like the items of one of three groups."""
    rng = np.random.default_rng(seed)
    likes = np.where(np.arange(n_items) % 3 == np.arange(n_users)[:, None] % 3, 0.5, 0.05)
    return sparse.csr_array((rng.random((n_users, n_items)) < likes).astype(float))


def families(monkeypatch: pytest.MonkeyPatch, *settings: str) -> None:
    monkeypatch.setattr(of_events, "FAMILIES", tuple(Family((text,)) for text in settings))


def test_the_chosen_model_is_that_of_its_text_fitted_to_all_pairs() -> None:
    user_items = pairs()
    found = search("auto", user_items, budget=5)
    again = recommenders.get(found.best_params["model"]).fit(user_items)
    np.testing.assert_array_equal(found.estimator.scores(), again.scores())
    assert found.best.mean > 2 * found.trials[0].mean  # popularity knows nothing of the groups


def test_of_equal_models_the_first_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    families(monkeypatch, "item-knn(k=30)", "item-knn(k=29)", "blend(formula=1*item-knn(k=30))")
    assert search("auto", pairs(), refit=False).best_params == {"model": "item-knn(k=30)"}


def test_a_blend_is_chosen_if_two_models_know_different_things(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    families(monkeypatch, "popularity", "item-knn(k=5)")
    user_items = pairs(n_users=600)
    popular = np.random.default_rng(5).random(user_items.shape) < np.linspace(0.5, 0, 30)
    found = search("auto", sparse.csr_array((user_items + popular > 0) * 1.0), valid=0.3)
    assert found.best_params["model"].startswith("blend(formula=")


@pytest.mark.parametrize("cost", [(1e9, 0.0), (0.0, 1e15)], ids=["seconds", "bytes"])
def test_a_model_that_needs_too_much_is_named_and_not_tried(
    monkeypatch: pytest.MonkeyPatch, cost: tuple[float, float]
) -> None:
    monkeypatch.setattr(recommenders.EASE, "cost", lambda self, pairs: cost)
    families(monkeypatch, "popularity", "ease")
    trials = search("auto", pairs()).trials
    errors = [trial.error for trial in trials if "blend" not in trial.params["model"]]
    assert (errors[0], bool(errors[1])) == ("", True)


def test_an_interrupt_leaves_the_best_model_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Any, pairs: Any) -> None:
        raise KeyboardInterrupt

    families(monkeypatch, "popularity", "ease")
    monkeypatch.setattr(recommenders.EASE, "_fit", interrupted)
    with pytest.raises(Interrupted) as stop:
        search("auto", pairs())
    assert isinstance(stop.value.search.estimator, recommenders.Popularity)


def test_costly_models_keep_the_weights_of_cheap_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    user_items = pairs()
    user_items.data[::2] = 40.0
    monkeypatch.setattr(recommenders.EASE, "cost", lambda self, pairs: (10.0, 0.0))
    texts = [trial.params["model"] for trial in search("auto", user_items).trials]
    assert any("gain=one" in text for text in texts if text.startswith("item-knn"))
    assert len({text.partition(",gain=")[2] for text in texts if text.startswith("ease")}) == 1


@pytest.mark.parametrize(
    "option", [{"grid": {"l2": [1.0]}}, {"executor": Threads(1)}, {"n_jobs": 2}]
)
def test_options_of_one_model_are_refused(option: dict[str, Any]) -> None:
    with raises(ArgumentError, *option):
        search("auto", pairs(), **option)
    with raises(ArgumentError, "exclude_seen"):
        search(recommenders.EASE(), pairs(), exclude_seen=False)


def test_users_with_one_pair_each_are_refused() -> None:
    with pytest.raises(ArgumentError, match="popularity"):
        search("auto", sparse.eye_array(30, format="csr"))


def test_the_chosen_ranker_is_fitted_to_all_rows() -> None:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    y = (X[:, 0] + 0.3 * rng.normal(size=400) > 1.0).astype(float)
    found = search("auto", X, y, qid, measure="ap")
    assert found.best.params["model"].startswith("logistic-regression")  # the simplest suffices
    assert found.estimator.coef_.argmax() == 0
    names = {trial.params["model"].partition("(")[0] for trial in found.trials}
    assert names == {"logistic-regression", "linear", "lightgbm"}
    kept = search("auto", X, y, qid, measure="ap", eval_set=(X, y, qid))
    chosen = kept.rivals[kept.best.params["model"]]
    np.testing.assert_array_equal(chosen.predict(X), kept.estimator.predict(X))
    assert {text.partition(",")[0].partition("=")[2] for text in kept.rivals} > {"robirank"}


def test_the_choice_is_the_first_model_to_which_none_is_surely_better() -> None:
    noise = np.random.default_rng(0).normal(size=200)
    values = {"simple": 0.0 * noise, "sure": 0.1 + 0.1 * noise, "lucky": 0.2 + 9.0 * noise}
    best = [Candidate({text: None}, value - noise.mean()) for text, value in values.items()]
    best[2].values[:] += 0.2 - best[2].mean
    assert best[2].mean > best[1].mean
    tried: Any = SimpleNamespace(best=best, noise=2.0)
    assert Portfolio.simplest(tried).text == "sure"
