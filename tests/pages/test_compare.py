"""docs/compare.md: what its text says about the examples of unjudged items and of splits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.pages.page import Runner, code, section, shell

import podium as package

UNJUDGED = section("compare.md", "Unjudged items")
SPLITS = section("compare.md", "Several splits or seeds")
JUDGED = [line for line in UNJUDGED.splitlines() if line.startswith("precision@2,")]


def test_judging_the_labels_of_the_page_settles_the_order() -> None:
    (tables,) = code(UNJUDGED, "sh")
    assert shell(tables).returncode == 0
    header, *rows = Path("truth.csv").read_text(encoding="utf-8").splitlines()
    rows = [f"{row},1" for row in rows] + [f"{line.split(',', 3)[3]},0" for line in JUDGED]
    Path("truth.csv").write_text("\n".join([f"{header},relevance", *rows]), encoding="utf-8")
    runs = {"old": "old.csv", "new": "new.csv"}
    judged = package.compare("truth.csv", runs, "precision@2", unjudged="bounds")
    unjudged = judged.difference("precision@2", "new").unjudged
    assert unjudged is not None
    assert not unjudged.can_reverse


@pytest.mark.long
def test_intervals_of_the_page_are_those_of_its_splits(
    podium: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    runner = Runner(podium, capsys, {})
    runner.python(code(SPLITS, "python")[0])
    for n_splits in (2, 3, 5):
        folders = [f"split{i}" for i in range(n_splits)]
        result = package.compare(
            [f"{folder}/truth.parquet" for folder in folders],
            {name: [f"{folder}/{name}.parquet" for folder in folders] for name in ("knn", "ease")},
            "ndcg@10",
        )
        low, high = result.difference("ndcg@10", "ease").test.interval
        assert f"[{low:+.4f}, {high:+.4f}]" in " ".join(SPLITS.split())
