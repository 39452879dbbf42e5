"""The study of losses for features: folds, labels, and a small run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from podium.errors import DataError
from podium_studies.recipe import load
from podium_studies.rows import Rows
from podium_studies.xia2009.top_losses import binary, in_folds, lightgbm_example, standardized


def test_folds_divide_the_queries() -> None:
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(60, 3)), rng.integers(0, 3, 60).astype(float), np.arange(60) // 4)
    folds = in_folds(rows, seed=1)
    tests = np.concatenate([np.unique(fold.test.qid) for fold in folds])
    assert sorted(tests.tolist()) == list(range(15))
    for fold in folds:
        queries = [set(part.qid.tolist()) for part in fold]
        assert sum(map(len, queries)) == 15
        assert not queries[0] & queries[1] | queries[1] & queries[2]
        scaled = standardized(fold)
        assert scaled.train.X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
        assert scaled.train.X.std(axis=0) == pytest.approx(1.0)
        assert binary(fold, 2.0).test.y.tolist() == (fold.test.y >= 2.0).tolist()


def test_the_example_of_lightgbm_is_read_with_its_queries(tmp_path: Path) -> None:
    for name, n_queries in (("rank.train", 8), ("rank.test", 4)):
        lines = [f"{n % 3} 1:{n}.5 3:2\n" for n in range(3 * n_queries)]
        (tmp_path / name).write_text("".join(lines))
        (tmp_path / f"{name}.query").write_text("3\n" * n_queries)
    source = replace(load("topk-losses").data[1])
    folds = lightgbm_example(tmp_path, source, {"seed": 0})
    rows = folds[0].train
    assert rows.X.shape == (3 * np.unique(rows.qid).size, 3)
    assert set(rows.X[:, 2].tolist()) == {2.0}
    (tmp_path / "rank.test.query").write_text("three\n")
    with pytest.raises(DataError):
        lightgbm_example(tmp_path, source, {"seed": 0})
