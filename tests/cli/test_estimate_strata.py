"""podium estimate of scores with strata, and of whole rankings with and without strata."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import sampled

ITEMS = ("--items", "500")


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Write the scores of 80 users' targets, 10 listed and 20 drawn items, by models a and b.

    Those of c and d are of 60 users with one to four targets, and 20 items without strata.
    """
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        lines = ["user,item,score,target,stratum"]
        for user in range(80):
            scores = rng.normal(size=31)
            scores[0] += rng.choice([1.5, 4.5])
            scores[1:11] += 1.5  # the list of a proxy
            items = [*range(11), *(11 + rng.choice(489, 20, replace=False))]
            lines += [
                f"{user},{item},{score},{int(item == 0)},{'listed' if 0 < item < 11 else 'drawn'}"
                for item, score in zip(items, scores, strict=True)
            ]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    for name, strength in (("c", 1.5), ("d", 1.0)):
        rng, lines = np.random.default_rng(1), ["user,item,score,target"]
        for user in range(60):
            n_targets = int(rng.integers(1, 5))
            items = rng.choice(500, n_targets + 20, replace=False)
            scores = rng.normal(size=items.size) + strength * (np.arange(items.size) < n_targets)
            lines += [
                f"u{user},{item},{score:.6f},{int(i < n_targets)}"
                for i, (item, score) in enumerate(zip(items, scores, strict=True))
            ]
        (folder / f"{name}.csv").write_text("\n".join(lines))
    return folder


def test_json_fits_the_schema(json_of: Callable[..., dict[str, Any]]) -> None:
    measures = ("-m", "recall@5", "-m", "ndcg@3")
    found = json_of("estimate.json", "estimate", "a.csv", *ITEMS, *measures)
    assert found["conventions"]["method"] == "scan(k=5)"
    assert found["conventions"]["n_negatives"] == 30
    estimate = found["measures"]["recall@5"]
    low, high = estimate["bounds"]
    assert 0 <= low <= estimate["mean"] <= high <= 1
    both = json_of("estimate-comparison.json", "estimate", "a.csv", "b.csv", *ITEMS, *measures)
    assert both["measures"]["recall@5"]["means"]["a"] == estimate


@pytest.mark.parametrize(
    ("models", "options"),
    [("ab", ()), ("cd", ("--no-replacement",))],
)
def test_whole_rankings_are_those_of_python(
    json_of: Callable[..., dict[str, Any]],
    podium: Callable[..., Any],
    models: str,
    options: tuple[str, ...],
) -> None:
    measures, files = ["pap@5", "recall@3"], [f"{name}.csv" for name in models]
    asked = (*ITEMS, "--shared", *options, "-m", "pap@5", "-m", "recall@3")
    design: dict[str, Any] = {"n_items": 500, "shared": True, "replacement": not options}
    ranks = {name: sampled.read(f"{name}.csv", **design) for name in models}
    found = json_of("estimate.json", "estimate", files[0], *asked)
    assert found == sampled.evaluate(ranks[models[0]], measures).as_json()
    both = json_of("estimate-comparison.json", "estimate", *files, *asked)
    assert both == sampled.compare(ranks, measures).as_json()
    assert "shared=true" in podium("estimate", files[0], *asked).out


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    refuses(
        "estimate a.csv --items 500",
        """
        --method mle | mle scans
        --column rank=r | 'r'
        --column history=h | strata
        --negatives 0 | --negatives
        -m recall | recall@10
        --shared -m auc | auc
        --shared --ties random | --ties
        """,
    )
    refuses("plan --users 9 --error 0.1 --items 500", "--pilot a.csv | --pilot ScannedRanks")
    refuses("estimate c.csv --items 500 --shared", "--column history=score | --column --shared")
