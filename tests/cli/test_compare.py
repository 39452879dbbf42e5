"""podium compare with all pairs, segments, and several splits or seeds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import podium as library

Compare = Callable[..., dict[str, Any]]


@pytest.fixture
def compared(json_of: Callable[..., dict[str, Any]]) -> Compare:
    return partial(json_of, "comparison.json", "compare")


@pytest.fixture
def splits() -> list[str]:
    """Copy the files to the folders of three splits; b.csv of the third is a.csv."""
    names = ["one", "three", "two"]
    for name in names:
        Path(name).mkdir()
        for file in ("truth", "a", "b"):
            shutil.copy(f"{file}.csv", f"{name}/{file}.csv")
    shutil.copy("a.csv", "two/b.csv")
    return names


def test_segments_are_compared_too(compared: Compare, podium: Callable[..., Any]) -> None:
    argv = ("truth.csv", "a.csv", "b.csv", "-m", "recall@2", "--pairs", "all")
    argv = (*argv, "--by", "country", "--users", "users.csv")
    found = compared(*argv)
    assert found["measures"]["recall@2"]["letters"] == {"a": "a", "b": "a"}
    assert "letters" in podium("compare", *argv).out
    assert [(s["by"], s["name"], s["n_groups"]) for s in found["segments"]] == [
        ("country", "FR", 2),
        ("country", "UK", 2),
    ]
    [test] = found["segments"][1]["measures"]["recall@2"]["differences"]
    assert test["difference"] == (1 / 2 - 0) / 2
    for format in ("table", "csv", "markdown"):
        assert "UK" in podium("compare", *argv, "--format", format).out
    assert podium("compare", *argv, "--report", "page.html").status == 0
    assert "UK (2 users)" in Path("page.html").read_text()


def test_a_star_is_the_name_of_the_split(compared: Compare, splits: list[str]) -> None:
    argv = ("*/truth.csv", "*/a.csv", "*/b.csv", "-m", "recall@2", "--per-user", "each.csv")
    found = compared(*argv)
    assert found["splits"] == 3
    files = {name: [f"{split}/{name}.csv" for split in splits] for name in ("truth", "a", "b")}
    runs = {name: files[name] for name in ("a", "b")}
    expected = library.compare(files["truth"], runs, "recall@2").as_json()
    assert found["measures"] == expected["measures"]
    each = pl.read_csv("each.csv")
    assert each.columns == ["run", "split", "user", "n_pos", "recall@2"]
    assert sorted(set(each["split"])) == splits


def test_unjudged_items_give_a_range_and_the_labels_that_settle_it(
    compared: Compare, podium: Callable[..., Any]
) -> None:
    Path("truth.csv").write_text("user,item,relevance\n0,1,1\n1,0,1\n2,3,1\n3,6,1\n")
    argv = ("truth.csv", "a.csv", "b.csv", "-m", "rr@2", "--unjudged", "bounds")
    found = compared(*argv, "--labels", "labels.csv")
    [test] = found["measures"]["rr@2"]["differences"]
    unjudged = test["unjudged"]
    assert unjudged["low"] < 0 < unjudged["high"]
    assert unjudged["can_reverse"]
    labels = pl.read_csv("labels.csv")
    assert labels.columns == ["measure", "baseline", "run", "user", "item"]
    assert labels.height == unjudged["n_labels"] > 0
    table = podium("compare", *argv).out
    assert f"[{unjudged['low']:+.4f}, {unjudged['high']:+.4f}]" in table
    assert "unjudged_low" in podium("compare", *argv, "--format", "csv").out


REFUSED = """
'x*/truth.csv' a.csv b.csv | 'x*/truth.csv'
'*/*.csv' a.csv b.csv | '*/*.csv'
'*/truth.csv' 't*/a.csv' '*/b.csv' | '*/truth.csv' 't*/a.csv'
truth.csv 'one*/a.csv' b.csv | 'one*/a.csv'
truth.csv a.csv '*/b.csv' --per-user two/b.csv | two/b.csv
truth.csv a.csv b.csv --by country | --users
truth.csv a.csv b.csv --labels x.csv | --labels --unjudged
truth.csv a.csv b.csv -m gini@2 | gini@2 --catalogue
"""


@pytest.mark.usefixtures("splits")
def test_refusals(refuses: Callable[[str, str], None]) -> None:
    refuses("compare", REFUSED)
