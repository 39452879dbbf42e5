"""The citation data's original files, and that reading a pickle runs nothing of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium_studies.hiranandani2020 import citation

pandas = pytest.importorskip("pandas")

GROUPS = {  # author, paper: positives of rows
    (1, 10): (3, 12),  # stays
    (1, 11): (2, 8),  # too few positives
    (2, 10): (3, 31),  # less than a tenth
    (2, 12): (4, 40),  # just a tenth
}


def table(seed: int = 0) -> Any:
    """Return a table in the form of the published ones."""
    rng = np.random.default_rng(seed)
    rows = [
        (author, paper, int(i < positives))
        for (author, paper), (positives, size) in GROUPS.items()
        for i in range(size)
    ]
    frame = pandas.DataFrame(rows, columns=["u_id", "paper_id_written", "label"])
    frame["a_id"], frame["paper_id_referred"], frame["c_id"] = 0, "p", 5
    for column in citation.SIDE:
        frame[column] = rng.integers(0, 9, len(frame))
    vectors = rng.normal(size=(len(frame), 100))
    names = [str(i) for i in range(100)]
    return pandas.concat([frame, pandas.DataFrame(vectors, columns=names)], axis=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, name in enumerate(citation.FILES):
        table(seed).to_pickle(tmp_path / name)
    return tmp_path


def test_groups_and_features(folder: Path) -> None:
    parts = citation.read(folder)
    test, source = parts.test, table(2)
    assert np.unique(test.qid).tolist() == ["1_10", "2_12"]
    assert test.y.sum() == 3 + 4
    assert test.X.shape == (12 + 40, 155)
    first = source.iloc[0]
    assert test.X[0, :5].tolist() == [first[name] for name in citation.SIDE]
    writer = np.array([first[str(i)] for i in range(50)])
    cited = np.array([first[str(i)] for i in range(50, 100)])
    assert np.array_equal(test.X[0, 5:], np.concatenate([writer, cited, writer * cited]))
    assert not np.array_equal(parts.train.X, parts.valid.X)
