"""Boosters without a split, without lists to learn from, and with labels that a library refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import ArgumentError, ConvergenceWarning
from podium.rankers import LightGBMRanker, XGBoostRanker, load, save

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

RANKING = [
    *((LightGBMRanker, name) for name in ("lambdarank", "rank_xendcg")),
    *((XGBoostRanker, name) for name in ("rank:ndcg", "rank:map", "rank:pairwise")),
]


def pairs(n: int) -> tuple[Any, Any, Any]:
    """Return n lists of two rows, of which the first feature is 0 for the relevant one."""
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * n)
    return X, np.array([0.0, 1.0] * n), np.repeat(np.arange(n), 2)


@pytest.mark.parametrize("loss", ["group-logistic", "softmax", "lambdarank", "binary"])
@pytest.mark.parametrize("validated", [False, True])
def test_trees_without_a_split_are_reported(loss: str, validated: bool) -> None:
    """Two leaves of 20 rows need 40 rows: 38 are too few, and 40 are enough."""
    for n in (19, 20):
        X, y, qid = pairs(n)
        ranker = LightGBMRanker(loss, n_trees=3, eval_metric="ndcg@1", n_threads=1)
        eval_set = (X, y, qid) if validated else None
        if n == 19:
            with pytest.warns(ConvergenceWarning):
                ranker.fit(X, y, qid, eval_set=eval_set)
        else:
            ranker.fit(X, y, qid, eval_set=eval_set)
        assert np.unique(ranker.predict(X)).size == (1 if n == 19 else 2)


@pytest.mark.parametrize("loss", ["softmax", "rank:ndcg", "binary:logistic"])
def test_trees_of_xgboost_without_a_split_are_reported(loss: str, tmp_path: Path) -> None:
    X, y, qid = pairs(10)
    ranker = XGBoostRanker(loss, n_trees=3, min_hessian_in_leaf=1e6, n_threads=1)
    with pytest.warns(ConvergenceWarning):
        ranker.fit(X, y, qid)
    assert np.unique(ranker.predict(X)).size == 1
    save(ranker, tmp_path / "model")
    assert load(tmp_path / "model").predict(X).tolist() == ranker.predict(X).tolist()


@pytest.mark.parametrize(("make", "loss"), RANKING)
def test_objectives_of_the_libraries_are_refused_without_an_order_to_learn(
    make: Any, loss: str
) -> None:
    X, y, qid = pairs(30)
    alone, equal = np.arange(60), np.repeat([0.0, 1.0], 30)
    for labels, groups, weights in (
        (y, alone, None),
        (equal, qid, None),
        (y, np.minimum(qid, 1), np.where(qid < 1, 0.0, y)),  # no weight on two grades
    ):
        with pytest.raises(ArgumentError, match="two rows of different relevance"):
            make(loss, n_trees=2).fit(X, labels, groups, sample_weight=weights)


@pytest.mark.parametrize(("make", "loss"), RANKING)
def test_labels_that_an_objective_cannot_read_are_refused_in_words_of_podium(
    make: Any, loss: str, capfd: pytest.CaptureFixture[str]
) -> None:
    X, y, qid = pairs(30)
    ranker = make(loss, n_trees=2, n_threads=1)
    for labels in (0.25 + y / 2, 40 * y):
        if loss == "rank:pairwise":  # only compares
            scores = ranker.fit(X, labels, qid).predict(X)
            assert scores[y == 1].min() > scores[y == 0].max()
            continue
        with pytest.raises(ArgumentError, match=r"y must have .* got (0\.25|40) at row [01]"):
            ranker.fit(X, labels, qid)
    assert capfd.readouterr() == ("", "")


def test_gains_of_the_caller_allow_higher_grades() -> None:
    X, y, qid = pairs(30)
    gains = {"label_gain": ",".join(str(i) for i in range(41))}
    scores = LightGBMRanker("lambdarank", n_trees=2, options=gains).fit(X, 40 * y, qid).predict(X)
    assert scores[y == 1].min() > scores[y == 0].max()
