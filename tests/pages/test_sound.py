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

ROOT = Path(__file__).parents[2]
PAGE, DATA_SETS = page("sound.md"), page("evidence.md")
NAME = re.compile(r"check=(?:f?)\"([a-z{}-]+)\"(?: if .*? else \"([a-z-]+)\")?")


def names() -> set[str]:
    """Return the names of all checks in the source."""
    folder = ROOT / "src" / "podium" / "decide" / "audit"
    pairs = [pair for file in folder.glob("*.py") for pair in NAME.findall(file.read_text())]
    found = {name for pair in pairs for name in pair if name}
    return (found - {"{noun}-spelling"}) | {"user-spelling", "item-spelling"}


def test_every_check_has_a_row_and_every_row_a_check() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(names())
    assert len(listed) > 30


def lines(path: Path, separator: str | None = None) -> list[list[str]]:
    with gzip.open(path, "rt") as file:
        return [line.strip().split(separator) for line in file]


def positives(path: Path, separator: str, least: float) -> pl.DataFrame:
    """Return the events of a file of ratings that are high enough."""
    table = np.array(lines(path, separator))
    columns = zip(
        ("user", "item", "timestamp"), table[:, [0, 1, 3]].astype(np.int64).T, strict=True
    )
    return pl.DataFrame(dict(columns)).filter(pl.Series(table[:, 2].astype(float) >= least))


def pairs(path: Path, *, numbered: bool) -> pl.DataFrame:
    """Return the pairs of a file with one user in each line, with or without the user's id."""
    rows = [(line[0] if numbered else n, i) for n, line in enumerate(lines(path)) for i in line[1:]]
    user, item = np.array(rows, dtype=np.int64).T
    return pl.DataFrame({"user": user, "item": item})


def divided(events: pl.DataFrame, split: data.splits.Split) -> tuple[pl.DataFrame, pl.DataFrame]:
    return events[split.train], events[split.test]


def movielens(need: Callable[[str], Path]) -> dict[str, Any]:
    events = positives(need("ml-100k/u.data.gz"), "\t", 4)
    last = data.splits.leave_last_out(events["user"], events["timestamp"])
    return {
        "at random": divided(events, data.splits.random(events.height)),
        "last one of each user": divided(events, last),
        "at one moment": divided(events, data.splits.by_time(events["timestamp"])),
    }


def movietweetings(need: Callable[[str], Path]) -> dict[str, Any]:
    events = positives(need("movietweetings-100k/ratings.dat.gz"), "::", 8)
    return {
        "at random": divided(events, data.splits.random(events.height)),
        "at one moment": divided(events, data.splits.by_time(events["timestamp"])),
    }


def citeulike(need: Callable[[str], Path]) -> dict[str, Any]:
    events = pairs(need("citeulike-a/users.dat.gz"), numbered=False)
    split = data.splits.random(events.height, user=events["user"])
    return {"at random per user": divided(events, split)}


def as_published(folder: str) -> Callable[..., dict[str, Any]]:
    def read(need: Callable[[str], Path]) -> dict[str, Any]:
        files = (need(f"{folder}/{part}.txt.gz") for part in ("train", "test"))
        return {"as published": tuple(pairs(file, numbered=True) for file in files)}

    return read


SETS: dict[str, Callable[..., dict[str, Any]]] = {
    "MovieLens 100K": movielens,
    "MovieTweetings 100K": movietweetings,
    "citeulike-a": citeulike,
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
