"""podium estimate: what it prints, from ranks and from scores, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import sampled

DESIGN = ("--items", "200", "--negatives", "9")
FAST = (*DESIGN, "--no-bounds")
NAMED = (
    *("--column", "user=who", "--column", "item=what", "--column", "score=model"),
    *("--column", "target=held", "--column", "history=past"),
)


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Write sampled ranks of 40 users among 9 items of 200, and scores that give such ranks."""
    ranks = 1 + np.arange(40) % 10
    (folder / "ranks.csv").write_text(
        "user,rank\n" + "".join(f"{u},{r}\n" for u, r in enumerate(ranks.tolist()))
    )
    rows = ["user,item,score,target"]
    for user, rank in enumerate(ranks.tolist()):
        rows += [f"{user},{item},{-item},0" for item in range(9)]
        rows.append(f"{user},99,{0.5 - (rank - 1)},1")  # below the first rank - 1 candidates
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")
    (folder / "sizes.csv").write_text("rank,n_negatives\n1,20\n3,10\n2,10\n4,20\n")
    lines = [f"{row},{3 * (u % 7)}" for u, row in enumerate(ranks.tolist())]
    (folder / "past.csv").write_text("rank,n_train\n" + "\n".join(lines) + "\n")
    return folder


@pytest.fixture
def estimated(json_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return the JSON of a command that went well, by its schema."""
    return partial(json_of, "estimate.json", "estimate")


@pytest.mark.parametrize(
    ("argv", "read", "options"),
    [
        (("ranks.csv", *DESIGN), {"n_negatives": 9}, {}),
        (
            ("ranks.csv", *FAST, "--method", "naive", "--confidence", "0.5", "--no-replacement"),
            {"n_negatives": 9, "replacement": False},
            {"estimator": "naive", "level": 0.5, "bounds": False},
        ),
        (("sizes.csv", "--items", "200"), {}, {}),
        (("past.csv", *FAST), {"n_negatives": 9}, {"bounds": False}),
    ],
)
def test_json_is_that_of_the_library(
    estimated: Callable[..., dict[str, Any]],
    argv: tuple[str, ...],
    read: dict[str, Any],
    options: dict[str, Any],
) -> None:
    ranks = sampled.read(argv[0], n_items=200, **read)
    expected = sampled.evaluate(ranks, ["ndcg@10", "recall@10"], **options).as_json()
    assert estimated(*argv) == expected
    assert (expected["conventions"]["history"] == "read") == (argv[0] == "past.csv")


def test_scores_give_the_ranks(estimated: Callable[..., dict[str, Any]]) -> None:
    expected = estimated("ranks.csv", *FAST, "--method", "bv")
    assert estimated("scores.csv", *FAST, "--method", "bv") == expected
    without = estimated("scores.csv", "--items", "200", "--no-bounds", "--method", "bv")
    assert without == expected


def test_ties_follow_their_rule(estimated: Callable[..., dict[str, Any]], files: Path) -> None:
    """A target that equals one of two candidates, both below it otherwise: rank 2, or 1."""
    (files / "tied.csv").write_text("user,item,score,target\n1,1,5,1\n1,2,5,0\n1,3,4,0\n")
    argv = ("tied.csv", "--items", "50", "--no-bounds", "--method", "naive", "-m", "rr")
    means = [
        estimated(*argv, *ties)["measures"]["rr"]["mean"]
        for ties in ((), ("--ties", "worst"), ("--ties", "best"))
    ]
    assert means == [1 / 2, 1 / 2, 1.0]


def test_last_line_has_the_conventions(podium: Callable[..., Any], files: Path) -> None:
    done = podium("estimate", "scores.csv", *FAST, "--method", "naive", "--no-replacement")
    text = "method=naive, n_users=40, n_items=200, n_negatives=9, replacement=false, seed=0"
    assert " ".join(done.out.split()).endswith(text)


REFUSED = """
ranks.csv --negatives 8 | --negatives 9 10
ranks.csv | --negatives
ranks.csv --negatives 9 --method "bv(gama=1)" | gamma
ranks.csv --negatives 9 --ties best | --ties
ranks.csv --negatives 9 --level 2 | --level
ranks.csv --negatives 9 --column score=x | '--column score=NAME' ranks
ranks.csv --negatives 9 --column history=x | 'x'
ranks.csv --negatives 9 --drop-seen | --drop-seen --seen
scores.csv --negatives 99 | '9 candidates'
lost.csv --negatives 9 | '8 candidates' --negatives
"""


def test_refusals(refuses: Callable[[str, str], None], files: Path) -> None:
    lines = (files / "scores.csv").read_text().splitlines()
    (files / "lost.csv").write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    refuses("estimate --items 200", REFUSED)
