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
FAST = ("--method", "bv", "--sizes", "25,80")


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


def rounded(plan: sampled.Plan) -> dict[str, Any]:
    """Return the JSON of a plan with numbers of items to 6 digits."""
    found = plan.as_json()
    for design in found["designs"]:
        for name in ("n_scored", "n_scored_in_all"):
            design[name] = round(design[name], 6)
    return found


def test_json_is_that_of_the_library(planned: Callable[..., dict[str, Any]]) -> None:
    found = planned(*ASKED)
    assert found == rounded(sampled.plan(2000, 3000, "ndcg@10", 0.01))
    costs = [design["n_scored"] for design in found["designs"] if design["kind"] == "fixed"]
    assert costs == [int(cost) for cost in costs]
    assert found["designs"][found["best"]]["reaches"]
    assert found["designs"][found["fixed"]]["kind"] == "fixed"
    assert found["designs"][found["growing"]]["stages"] is not None
    assert found["conventions"]["method"] == "smooth"


def test_pilot_is_read_as_estimate_reads_it(planned: Callable[..., dict[str, Any]]) -> None:
    known = sampled.read("ranks.csv", n_items=2000, n_negatives=9, replacement=False)
    expected = sampled.plan(
        2000, 3000, "ndcg@10", 0.01, pilot=known, method="bv", sizes=[25, 80], replacement=False
    )
    found = planned(*ASKED, *PILOT, *FAST, "--no-replacement")
    assert found == rounded(expected)
    assert found["conventions"]["n_pilot_users"] == 200
    assert found["designs"][-1]["errors"].keys() == {"pilot"}


def test_pilot_that_grew(planned: Callable[..., dict[str, Any]], files: Path) -> None:
    (files / "grown.csv").write_text("rank,n_negatives\n" + "1,20\n3,10\n2,10\n4,20\n" * 9)
    found = planned(*ASKED, "--pilot", "grown.csv", "--stages", "10,20", *FAST)
    known = sampled.read("grown.csv", n_items=2000, stages=[10, 20])
    again = sampled.plan(2000, 3000, "ndcg@10", 0.01, pilot=known, method="bv", sizes=[25, 80])
    assert found == rounded(again)


def test_options_reach_the_library(planned: Callable[..., dict[str, Any]]) -> None:
    argv = ("--ignore-bias", "--expect", "0.2", "--metric", "recall@10")
    found = planned(*ASKED, *argv, *FAST, "--no-replacement", "--seed", "3")
    assert found["goal"] == 0.01
    assert (found["measure"], found["value"]) == ("recall@10", 0.2)
    kept = found["conventions"]
    assert (kept["ignore_bias"], kept["replacement"]) == (True, False)
    assert (kept["seed"], kept["method"]) == (3, "bv")
    assert planned(*ASKED, *PILOT, *FAST, "--repeats", "5")["conventions"]["n_repeats"] == 5
    asked = ("--method", "mes", "--sizes", "7", "--repeats", "2")
    assert planned(*ASKED, *asked)["conventions"]["n_repeats"] == 2
    fixed = [d["n_negatives"] for d in found["designs"] if d["kind"] == "fixed"]
    assert fixed == [25, 80]
    again = planned(*ASKED, *argv, *FAST)
    assert again["designs"][0]["stages"] == found["designs"][0]["stages"] is not None
    assert again["designs"][0]["n_scored"] != found["designs"][0]["n_scored"]


def test_nothing_but_all_items_is_enough(podium: Callable[..., Any]) -> None:
    words = " ".join(podium("plan", *ASKED, "--method", "naive", "--sizes", "25").out.split())
    assert "No sample of up to 25 items gives ndcg@10 within 0.01. Rank all items" in words
    few = " ".join(podium("plan", "--items", "2", *ASKED[2:4], "--error", "0.1").out.split())
    assert "2 items are too few to sample from" in few
    fixed = " ".join(podium("plan", *ASKED, "--method", "cls", "--sizes", "900").out.split())
    assert "no sample that doubles while the target ranks first is enough." in fixed


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((*ASKED[:4], "--error", "0"), "--error must be a number > 0, got 0"),
        (("--items", "1", *ASKED[2:]), "--items must be >= 2 (the target and other items), got 1."),
        ((*ASKED[:2], "--users", "0", *ASKED[4:]), "--users must be an integer >= 1, got 0."),
        ((*ASKED, "-m", "topk_loss@10"), "its value is 1 if the only relevant item has rank 11"),
        ((*ASKED, "-m", "ndgc@10"), "Did you mean 'ndcg'?"),
        ((*ASKED, "-m", "recall@2000"), "recall@2000 is 1 for every ranking of 2000 items"),
        ((*ASKED, "--method", "mel"), "Did you mean 'mle'?"),
        ((*ASKED, "--expect", "3"), "--expect must lie between 0 and 1"),
        ((*ASKED, "--expect", "0.1", *PILOT), "--expect is only for plans without a pilot"),
        ((*ASKED, "--sizes", "5;9"), "--sizes must be numbers with commas"),
        ((*ASKED, "--sizes", "2000"), "--sizes must be numbers of sampled items below --items"),
        ((*ASKED, "--repeats", "9"), "--repeats is for plans with a pilot and for methods"),
        (
            (*ASKED, "--repeats", "9", "--method", "cls"),
            "no pilot, and the error of cls is computed. Leave",
        ),
        ((*ASKED, *PILOT, "--repeats", "1"), "--repeats must be >= 2, got 1."),
        ((*ASKED, "--seed", "-1"), "--seed must be an integer >= 0"),
        ((*ASKED, "--format", "tabel"), "Did you mean 'table'?"),
        ((*ASKED, "--negatives", "9"), "--negatives is an option of the pilot"),
        ((*ASKED, "--negatives", "0"), "--negatives is an option of the pilot"),
        ((*ASKED, "--column", "rank=r"), "--column is an option of the pilot"),
        ((*ASKED, "--mixed"), "--mixed is an option of the pilot"),
        ((*ASKED, "--pilot", "ranks.csv"), "--negatives must be given once"),
        ((*ASKED, "--pilot", "ranks.csv", "--negatives", "4"), "1 to --negatives + 1 = 5"),
        ((*ASKED, "--pilot", "absent.csv"), "absent.csv does not exist"),
        (ASKED[2:], "Missing option '--items'"),
        (ASKED[:2], "Missing option '--users'"),
        (ASKED[:4], "Missing option '--error'"),
    ],
)
def test_refused_in_one_line(
    podium: Callable[..., Any], argv: tuple[str, ...], message: str
) -> None:
    done = podium("plan", *argv)
    assert done.status == 2
    assert done.out == ""
    assert message in done.message
