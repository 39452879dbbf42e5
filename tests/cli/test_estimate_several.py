"""podium estimate of several files: estimates of each model, and differences from the first."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium import sampled

DESIGN = ("--items", "200", "--negatives", "9")
BV = (*DESIGN, "--method", "bv", "--no-bounds")


def write_ranks(file: Path, ranks: list[int], users: list[str] | None = None) -> None:
    """Write a table of users and ranks; without users, of ranks alone."""
    if users is None:
        file.write_text("rank\n" + "".join(f"{r}\n" for r in ranks))
        return
    rows = "".join(f"{u},{r}\n" for u, r in zip(users, ranks, strict=True))
    file.write_text("user,rank\n" + rows)


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Write ranks of 60 users by three models, the second better; users in any order."""
    rng = np.random.default_rng(0)
    users = [str(u) for u in range(60)]
    first = 1 + rng.integers(0, 10, 60)
    better = np.maximum(first - 3, 1)
    write_ranks(folder / "a.csv", first.tolist(), users)
    order = rng.permutation(60)
    write_ranks(folder / "b.csv", better[order].tolist(), [users[i] for i in order])
    write_ranks(folder / "c.csv", rng.permutation(first).tolist(), users)
    return folder


@pytest.fixture
def compared(json_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return the JSON of a command that went well, by its schema."""
    return partial(json_of, "estimate-comparison.json", "estimate")


def test_json_has_the_librarys_estimates_and_differences(
    compared: Callable[..., dict[str, Any]],
) -> None:
    options: dict[str, Any] = {"n_items": 200, "n_negatives": 9}
    ranks = {name: sampled.read(f"{name}.csv", **options) for name in "abc"}
    found = compared("a.csv", "b.csv", "c.csv", *DESIGN, "-m", "ndcg@10", "-m", "rr")
    assert (found["runs"], found["baseline"]) == (["a", "b", "c"], "a")
    assert list(found["measures"]) == ["ndcg@10", "rr"]
    assert found == sampled.compare(ranks, ["ndcg@10", "rr"]).as_json()
    alone = sampled.evaluate(ranks["b"], ["ndcg@10", "rr"]).as_json()
    assert found["conventions"]["b"] == alone["conventions"]
    for measure, of in found["measures"].items():
        assert of["means"]["b"] == alone["measures"][measure]


def test_users_are_paired_by_their_labels(compared: Callable[..., dict[str, Any]]) -> None:
    """The better model is so for every user alike; shuffled ranks are another pairing."""
    found = compared("a.csv", "b.csv", *BV, "-m", "auc")["measures"]["auc"]["differences"][0]
    means = compared("b.csv", "a.csv", *BV, "-m", "auc")["measures"]["auc"]
    assert found["difference"] > 0
    assert found["std_error"] < means["means"]["a"]["std_error"]
    assert means["differences"][0]["difference"] == -found["difference"]


def test_files_without_users_are_paired_by_rows(
    compared: Callable[..., dict[str, Any]], files: Path
) -> None:
    write_ranks(files / "x.csv", [1, 2, 3, 4])
    write_ranks(files / "y.csv", [1, 1, 2, 3])
    found = compared("x.csv", "y.csv", *BV, "-m", "rr")
    assert found["measures"]["rr"]["differences"][0]["n_groups"] == 4


def test_csv_is_the_frame_of_the_library(podium: Callable[..., Any]) -> None:
    done = podium("estimate", "a.csv", "b.csv", *DESIGN, "--format", "csv")
    ranks = {name: sampled.read(f"{name}.csv", n_items=200, n_negatives=9) for name in "ab"}
    expected = sampled.compare(ranks, ["ndcg@10", "recall@10"]).to_frame()
    found = pl.read_csv(io.StringIO(done.out))
    assert found.columns == expected.columns
    for name in expected.columns:
        assert found[name].to_list() == expected[name].to_list(), name


REFUSED = """
a.csv less.csv | less '1 of the 60 users' a
less.csv a.csv | less '1 of the 60 users' a
a.csv b.csv less.csv | less a
a.csv bare.csv | bare
bare.csv a.csv | bare
bare.csv short.csv | 'short has 2' 'bare has 3'
a.csv wrong.csv | wrong.csv --negatives
a.csv past.csv b.csv | 'a, b' history
"""


def test_refusals(refuses: Callable[[str, str], None], files: Path) -> None:
    lines = (files / "a.csv").read_text().splitlines()
    (files / "less.csv").write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    write_ranks(files / "bare.csv", [1, 2, 3])
    write_ranks(files / "short.csv", [1, 2])
    (files / "wrong.csv").write_text((files / "a.csv").read_text() + "60,11\n")
    text = (files / "c.csv").read_text().replace("\n", ",4\n")
    (files / "past.csv").write_text(text.replace("rank,4", "rank,history"))
    refuses(f"estimate {' '.join(DESIGN)}", REFUSED)
