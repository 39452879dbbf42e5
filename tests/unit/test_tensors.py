"""Tensors of torch at every entrance give the results of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podium
from podium import _check
from podium.rankers import LinearRanker

torch = pytest.importorskip("torch")

SCORES = [3.0, 2.0, 1.0, 5.0, 4.0]
KINDS = [
    lambda values: torch.tensor(values, dtype=torch.bfloat16),
    lambda values: torch.tensor(values, dtype=torch.float16),
    lambda values: torch.tensor(values, dtype=torch.float32, requires_grad=True),
    lambda values: torch.tensor(values, dtype=torch.bfloat16, requires_grad=True) * 1,
]


@pytest.fixture(params=range(len(KINDS)))
def tensor(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param]


def test_columns_of_a_run_and_a_truth(tensor: Any) -> None:
    truth = {"user": [1, 1, 2], "item": [1, 3, 4], "relevance": [0.0, 1.0, 1.0]}
    run = {"user": [1, 1, 1, 2, 2], "item": [1, 2, 3, 4, 5], "score": SCORES}
    expected = podium.measure(truth, run, "rr@10").values["rr@10"]
    tensors = {**run, "score": tensor(SCORES), "item": torch.tensor(run["item"])}
    grades = {**truth, "relevance": tensor(truth["relevance"])}
    assert expected.tolist() == [1 / 3, 1.0]
    assert podium.measure(grades, tensors, "rr@10").values["rr@10"].tolist() == expected.tolist()
    r = podium.Ranking.from_scores(tensor(SCORES), tensor([1.0, 0, 0, 0, 1]), torch.tensor([0] * 5))
    assert r.relevance.tolist() == [0, 1, 1, 0, 0]
    assert _check.on_host(tensor([0.1, 3.0])).dtype in (np.float16, np.float32)
    columns = (torch.tensor(run["user"]), torch.tensor(run["item"]), tensor(SCORES))
    assert podium.measure(grades, columns, "rr@10").values["rr@10"].tolist() == expected.tolist()


def test_features_and_grades_of_a_ranker(tensor: Any) -> None:
    X, y, qid = [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [0.0, 1.0, 0.0, 1.0], [0, 0, 1, 1]
    expected = LinearRanker("logistic").fit(np.array(X, np.float32), y, qid=qid)
    model = LinearRanker("logistic").fit(tensor(X), tensor(y), qid=torch.tensor(qid))
    assert model.predict(tensor(X)) == pytest.approx(expected.predict(np.array(X)), abs=1e-5)
