"""The search of the gain: counts or once per pair, and when it is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from podium.errors import PodiumWarning
from podium.recommenders import EASE, REGISTRY, Factorization, ItemKNN, Recommender
from podium.tuning import default_grid, search

RNG = np.random.default_rng(0)
LIKES = (RNG.random((50, 24)) < np.where(np.indices((50, 24)).sum(0) % 2, 0.6, 0.05)) * 1.0
NOISE = np.where(RNG.random(LIKES.shape) < 0.1, 200.0, 1.0)
READS_GAIN = [name for name in REGISTRY if REGISTRY[name].reads_gain]


def table(weights: Any) -> dict[str, Any]:
    user, item = np.nonzero(LIKES)
    return {"user": user, "item": item, "value": (LIKES * weights)[user, item]}


@pytest.mark.parametrize("name", REGISTRY)
def test_models_that_read_weights_have_a_gain_to_search(name: str) -> None:
    cls = REGISTRY[name]
    assert cls.reads_gain == cls.reads_weights == ("gain" in cls().get_params())
    assert all(("gain" in part) == cls.reads_gain for part in default_grid(cls()))


@pytest.mark.parametrize("gain", ["one", "exp2"])
@pytest.mark.parametrize(
    "model",
    [EASE(l2=9.0), ItemKNN(k=5), Factorization(4, n_epochs=2)],
    ids=lambda model: type(model).__name__,
)
def test_gain_turns_values_into_weights(model: Recommender, gain: str) -> None:
    weights = RNG.integers(1, 6, LIKES.shape)
    by_hand = {"one": LIKES, "exp2": LIKES * (2.0**weights - 1)}[gain]
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
    assert all(set(trial.params) == {"l2"} for trial in found.trials)


def test_gain_is_left_out_with_a_warning_if_values_are_0() -> None:
    events = table(NOISE)
    events["value"][3] = 0.0
    with pytest.warns(PodiumWarning, match="gain is not searched"):
        found = search(EASE(), events, n_trials=3)
    assert all(set(trial.params) == {"l2"} for trial in found.trials)
