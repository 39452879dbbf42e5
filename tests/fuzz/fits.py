"""Estimators with odd parameters or odd rows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from tests.fuzz.calls import odd
from tests.fuzz.case import Case, Corpus

from podium import rankers
from podium.recommenders import Factorization

# Parameters that determine the amount of work, and so may take any time if large.
_WORK = {"max_iter", "n_epochs", "n_trees", "n_factors", "n_rounds", "n_negatives", "hidden"}
_WORK |= {"n_threads", "n_jobs", "patience", "batch_size", "n_blocks", "n_steps", "n_leaves"}
_FEW = {
    rankers.LinearRanker: {"max_iter": 3},
    rankers.LogisticRanker: {},
    rankers.NeuralRanker: {"max_iter": 1},
    rankers.LightGBMRanker: {"n_trees": 2},
    rankers.XGBoostRanker: {"n_trees": 2},
}


def fits(rng: random.Random, corpus: Corpus) -> Case:
    """Return a call that fits and predicts with odd parameters or odd rows."""
    del corpus
    return _factorized(rng) if rng.random() < 0.25 else _ranked(rng)


def _ranked(rng: random.Random) -> Case:
    kind = rng.choice(list(_FEW))
    n, params = 16, dict(_FEW[kind])
    X = np.array([[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(n)])
    rows: dict[str, Any] = {"X": X, "y": (X[:, 0] > 0).astype(int), "qid": np.arange(n) % 2}
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = rng.choice(list(rows))
        rows[name] = odd(rng, rows[name])
    if rng.random() < 0.3:
        _spoil_params(rng, kind(), params)
    later = odd(rng, X) if rng.random() < 0.3 else X

    def fit() -> None:
        model = kind(**params).fit(**rows)
        model.predict(later)

    return Case(call=fit)


def _factorized(rng: random.Random) -> Case:
    n, params = 20, {"n_factors": 2, "n_epochs": 1, "n_blocks": 1}
    pairs: dict[str, Any] = {
        "user": np.array([rng.randrange(5) for _ in range(n)]),
        "item": np.array([rng.randrange(8) for _ in range(n)]),
        "value": np.array([rng.choice((1.0, 2.0)) for _ in range(n)]),
    }
    interactions: Any = odd(rng, pairs) if rng.random() < 0.7 else pairs
    if rng.random() < 0.4:
        _spoil_params(rng, Factorization(), params)

    def fit() -> None:
        Factorization(**params).fit(interactions).recommend(k=2)

    return Case(call=fit)


def _spoil_params(rng: random.Random, model: Any, params: dict[str, Any]) -> None:
    defaults = model.get_params(deep=False)
    name = rng.choice([name for name in defaults if name not in _WORK])
    params[name] = odd(rng, defaults[name])
