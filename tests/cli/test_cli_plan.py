"""podium plan: what it prints, with a pilot and without, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import sampled

ASKED = ("--items", "2000", "--users", "3000", "--error", "0.01")
PILOT = ("--pilot", "ranks.csv", "--negatives", "9")


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Write sampled ranks of 200 users among 9 items, most of them small."""
    ranks = 1 + (np.arange(200) % 10) * (np.arange(200) % 3) // 2
    (folder / "ranks.csv").write_text("rank\n" + "".join(f"{rank}\n" for rank in ranks.tolist()))
    return folder


@pytest.fixture
def planned(json_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return the JSON of a command that went well, by its schema."""
    return partial(json_of, "plan.json", "plan")


def test_json_is_that_of_the_library(planned: Callable[..., dict[str, Any]]) -> None:
    found = planned(*ASKED)
    assert found == sampled.plan(2000, 3000, "ndcg@10", 0.01).as_json()
    assert found["designs"][found["best"]]["reaches"]
    assert found["conventions"]["method"] == "smooth"


def test_pilot_is_read_as_estimate_reads_it(planned: Callable[..., dict[str, Any]]) -> None:
    known = sampled.read("ranks.csv", n_items=2000, n_negatives=9, replacement=False)
    expected = sampled.plan(
        2000, 3000, "ndcg@10", 0.01, pilot=known, method="bv", replacement=False
    )
    found = planned(*ASKED, *PILOT, "--method", "bv", "--no-replacement")
    assert found == expected.as_json()
    assert found["conventions"]["n_pilot_users"] == 200
    assert found["designs"][-1]["errors"].keys() == {"pilot"}


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    refuses(
        "plan --items 2000 --users 3000 --error 0.01",
        """
        --error 0 | --error
        --items 1 | --items
        --users 0 | --users
        -m recall@2000 | recall@2000
        --negatives 0 | --negatives
        --column rank=r | --column
        --pilot ranks.csv | --negatives
        """,
    )
    refuses("plan", "--users 9 --error 0.1 | --items")
    refuses("plan", "--items 9 --error 0.1 | --users")
    refuses("plan", "--items 9 --users 9 | --error")
