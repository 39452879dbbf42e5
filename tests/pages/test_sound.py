"""docs/sound.md lists every check, and evidence.md what they find."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pages.page import page

import podium
from podium import data
from podium.decide.finding import table

PAGE, DATA_SETS = page("sound.md"), page("evidence.md")


def test_every_check_has_a_row_and_every_row_a_check() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(table())
    assert len(listed) > 30


def movielens(need: Callable[[str], Path]) -> dict[str, Any]:
    names = ["user", "item", "rating", "timestamp"]
    ratings = need("ml-100k/u.data.gz")
    events = pl.read_csv(ratings, separator="\t", has_header=False, new_columns=names)
    events = events.filter(pl.col("rating") >= 4).drop("rating")
    ways = {
        "at random": data.splits.random(events.height),
        "last one of each user": data.splits.leave_last_out(events["user"], events["timestamp"]),
        "at one moment": data.splits.by_time(events["timestamp"]),
    }
    return {name: (events[split.train], events[split.test]) for name, split in ways.items()}


def as_published(folder: str) -> Callable[..., dict[str, Any]]:
    def pairs(path: Path) -> pl.DataFrame:
        """Return the pairs of a file with one user in each line, before the items."""
        with gzip.open(path, "rt") as file:
            lines = [line.split() for line in file]
        user, item = np.array([(u, i) for u, *items in lines for i in items], np.int64).T
        return pl.DataFrame({"user": user, "item": item})

    def read(need: Callable[[str], Path]) -> dict[str, Any]:
        files = (need(f"{folder}/{part}.txt.gz") for part in ("train", "test"))
        return {"as published": tuple(map(pairs, files))}

    return read


SETS: dict[str, Callable[..., dict[str, Any]]] = {
    "MovieLens 100K": movielens,
    "Pinterest": as_published("pinterest-37k"),
    "Amazon-book": as_published("amazon-book-kgat"),
}


def page_rows(name: str, parts: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of the page's table of data sets, without its notes."""
    for split, (train, test) in parts.items():
        for finding in podium.audit(train, test).findings:
            if finding.severity != "note" and finding.effect is not None:
                values = f"{finding.effect.with_fault:.4f} | {finding.effect.without_fault:.4f}"
                count = f"{finding.count:,} of {finding.total:,} {finding.noun}"
                yield f"| {name} | {split} | `{finding.check}` | {count} | {values} |"


@pytest.mark.filterwarnings("ignore:.*equal time:podium.errors.PodiumWarning")
@pytest.mark.parametrize("name", SETS)
def test_findings_in_public_data_sets_are_those_of_the_page(
    name: str, podium_data: Callable[[str], Path]
) -> None:
    listed = [line for line in DATA_SETS.splitlines() if line.startswith(f"| {name} |")]
    assert list(page_rows(name, SETS[name](podium_data))) == listed
