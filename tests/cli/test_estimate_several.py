"""podium estimate of several files: estimates of each model, and differences from the first."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium import sampled

DESIGN = ("--items", "200", "--negatives", "9")


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


def test_json_and_csv_have_the_librarys_estimates_and_differences(
    json_of: Callable[..., dict[str, Any]], podium: Callable[..., Any]
) -> None:
    options: dict[str, Any] = {"n_items": 200, "n_negatives": 9}
    ranks = {name: sampled.read(f"{name}.csv", **options) for name in "abc"}
    argv = ("estimate", "a.csv", "b.csv", "c.csv", *DESIGN, "-m", "ndcg@10", "-m", "rr")
    found = json_of("estimate-comparison.json", *argv)
    expected = sampled.compare(ranks, ["ndcg@10", "rr"])
    assert found == expected.as_json()
    alone = sampled.evaluate(ranks["b"], ["ndcg@10", "rr"]).as_json()
    assert found["conventions"]["b"] == alone["conventions"]
    for measure, of in found["measures"].items():
        assert of["means"]["b"] == alone["measures"][measure]
    table, frame = (
        pl.read_csv(io.StringIO(podium(*argv, "--format", "csv").out)),
        expected.to_frame(),
    )
    assert table.columns == frame.columns
    for name in frame.columns:
        assert table[name].to_list() == frame[name].to_list(), name


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
