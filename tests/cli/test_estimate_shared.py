"""podium estimate --shared: whole rankings of users whose targets share their sampled items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.sampled import SharedRanks, compare, evaluate, read

OPTIONS = ("--items", "500", "--no-replacement", "--shared", "-m", "pap@5", "-m", "recall@20")


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Write scores of 60 users with one to four targets and 20 sampled items, by two models."""
    for name, strength in (("a", 1.5), ("b", 1.0)):
        rng, lines = np.random.default_rng(1), ["user,item,score,target"]
        for user in range(60):
            n_targets = int(rng.integers(1, 5))
            items = rng.choice(500, n_targets + 20, replace=False)
            scores = rng.normal(size=items.size)
            scores[:n_targets] += strength
            lines += [
                f"u{user},{item},{score:.6f},{int(i < n_targets)}"
                for i, (item, score) in enumerate(zip(items, scores, strict=True))
            ]
        (folder / f"{name}.csv").write_text("\n".join(lines))
    return folder


def models() -> dict[str, SharedRanks]:
    return {
        name: SharedRanks.of(read(f"{name}.csv", n_items=500, replacement=False)) for name in "ab"
    }


def test_results_are_those_of_python(
    podium: Callable[..., Any], json_of: Callable[..., dict[str, Any]]
) -> None:
    measures = ["pap@5", "recall@20"]
    found = json_of("estimate.json", "estimate", "a.csv", *OPTIONS)
    assert found == evaluate(models()["a"], measures).as_json()
    assert found["conventions"]["n_items"] == 500
    both = json_of("estimate-comparison.json", "estimate", "a.csv", "b.csv", *OPTIONS)
    assert both == compare(models(), measures).as_json()
    text = podium("estimate", "a.csv", *OPTIONS).out
    assert "--items 500 --shared --no-replacement" in text


REFUSED = """
a.csv -m err@5 | err@5
a.csv --ties average | --ties average
a.csv --column history=score | --column --shared
scores.csv --negatives-file negatives.txt | --shared --negatives-file
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("negatives.txt").write_text("(0,1)\t2\t3\n(0,4)\t5\t6\n")
    Path("scores.csv").write_text(
        "user,item,score\n" + "".join(f"0,{item},{item}\n" for item in range(1, 7))
    )
    refuses("estimate --items 500 --shared", REFUSED)
