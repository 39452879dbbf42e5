"""What the commands say of repeated pairs and of failures, and what a refusal leaves behind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium import recommenders
from podium.data.part_folder import PartFolder

Run = Callable[..., Any]
FACTORS = ("--set", "n_factors=4", "--set", "n_epochs=3", "--set", "n_negatives=8")


@pytest.fixture(autouse=True)
def events() -> None:
    """Write events.csv, in which 100 of 400 pairs occur three times."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(60 * 20)[:400]
    rows = np.concatenate([pairs, pairs[:100], pairs[:100]])
    pl.DataFrame({"user": rows // 20, "item": rows % 20}).write_csv("events.csv")


def test_values_of_repeated_pairs_are_added_up(podium: Run) -> None:
    events = pl.read_csv("events.csv").with_columns(rating=pl.lit(2))
    events.write_csv("ratings.csv")
    done = podium("train", "ratings.csv", "--model", "ease", "--out", "model")
    assert "25 % of the pairs occur more than once; the weight of a pair is the sum of" in done.err
    assert set(recommenders.load("model").seen_weights_.tolist()) == {2.0, 6.0}
    events.unique().write_csv("once.csv")
    done = podium("train", "once.csv", "--model", "ease", "--out", "model")
    assert "more than once" not in done.err


@pytest.mark.parametrize("options", [("--model", "item-knn"), ("--model", "factorization")])
def test_search_tries_both_weights_and_can_be_repeated(
    podium: Run, options: tuple[str, ...]
) -> None:
    few = FACTORS if "factorization" in options else ()
    argv = ("train", "events.csv", *options, *few, "--tune", "--budget", "6", "--out", "model")
    done = podium(*argv, "--tune-table", "t.csv")
    assert done.status == 0, done.err
    assert set(pl.read_csv("t.csv")["gain"]) == {"value", "one"}
    (line,) = re.findall(r"^podium: to repeat: podium (.*)$", done.err, re.M)
    assert line.count("--gain ") == 1
    before = Path("model").read_bytes()
    assert podium(*shlex.split(line)).status == 0
    assert Path("model").read_bytes() == before
    for fixed in ("value", "one"):
        assert podium(*argv, "--gain", fixed, "--tune-table", "t.csv").status == 0
        assert "gain" not in pl.read_csv("t.csv").columns
        assert recommenders.load("model").get_params()["gain"] == fixed


def test_search_says_why_candidates_failed(podium: Run) -> None:
    argv = ("train", "events.csv", "--model", "ease", "--tune", "--out", "model")
    done = podium(*argv, "--grid", "l2=5,-1,-2")
    assert "tried 4 candidates, of which 2 failed (1 × ArgumentError: l2 must be" in done.err
    assert done.err.count("l2 must be a number > 0") == 2


def test_search_without_a_success_leaves_nothing(podium: Run) -> None:
    there = sorted(Path().iterdir())
    argv = ("train", "events.csv", "--model", "ease", "--tune", "--out", "model")
    done = podium(*argv, "--set", "precision=half")
    assert "precision" in done.message
    assert sorted(Path().iterdir()) == there


@pytest.mark.parametrize("out", ["lists", "lists.csv", "lists.parquet", "lists.trec"])
def test_refused_lists_leave_nothing(podium: Run, out: str) -> None:
    assert podium("train", "events.csv", "--model", "popularity", "--out", "model").status == 0
    there = sorted(Path().iterdir())
    done = podium("recommend", "model", "--deny", "events.csv", "--out", out)
    assert "--deny" in done.message
    assert sorted(Path().iterdir()) == there


def test_error_of_a_later_part_keeps_finished_parts() -> None:
    with suppress(KeyboardInterrupt), PartFolder(Path("lists"), {"k": 1}) as folder:
        folder.write(0, {"user": [1], "item": [2]})
        raise KeyboardInterrupt
    with suppress(ValueError), PartFolder(Path("lists"), {"k": 1}) as folder:
        assert folder.has(0)
        raise ValueError("later")
    with PartFolder(Path("lists"), {"k": 1}) as folder:
        assert folder.has(0)
    assert [path.name for path in Path("lists").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        (("--model", "ease"), {1.0, 3.0}),
        (("--model", "ease", "--gain", "one"), {1.0}),
        (("--model", "ease", "--gain", "exp2"), {1.0, 7.0}),
    ],
)
def test_weight_of_a_repeated_pair(
    podium: Run, options: tuple[str, ...], weights: set[float]
) -> None:
    done = podium("train", "events.csv", "--out", "model", *options)
    assert "25 % of the pairs occur more than once" in done.err
    assert set(recommenders.load("model").seen_weights_.tolist()) == weights
