"""What measure and compare print and write: JSON by its schema, and the same elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import podium as library
from podium import presets

MEASURES = ("-m", "recall@2", "-m", "pap@1")
Json = Callable[..., dict[str, Any]]


# Of RUN_A (conftest.py), with items 0 and 1 relevant: recall@2 is the share of the two at places
# 0 and 1; pap@1 is 1 where a relevant item comes first.
RECALL = [2 / 2, 1 / 2, 0 / 2, 0 / 2]
PAP = [1.0, 0.0, 0.0, 0.0]


def test_segments_are_named_and_counted(json_of: Json) -> None:
    more = ("--by", "engagement", "--by", "n_pos", "--by", "country", "--users=users.csv")
    found = json_of("evaluation.json", "measure", "truth.csv", "a.csv", *MEASURES, *more)
    by = ["engagement", "n_pos", "country"]
    options: dict[str, Any] = {"by": by, "users": "users.csv"}
    evaluation = library.measure("truth.csv", "a.csv", ["recall@2", "pap@1"], **options)
    assert found == evaluation.as_json()
    segments = [(s["by"], s["name"], s["n_groups"]) for s in found["segments"]]
    assert segments == [
        ("engagement", "n_pos <= 1", 0),
        ("engagement", "n_pos > 1", 4),
        ("n_pos", "n_pos 1-2", 4),
        ("country", "FR", 2),
        ("country", "UK", 2),
    ]
    assert found["segments"][0]["measures"]["recall@2"]["mean"] is None
    assert found["segments"][3]["measures"]["recall@2"]["mean"] == (RECALL[0] + RECALL[1]) / 2


@pytest.mark.parametrize("package", presets.PACKAGES)
def test_measures_by_default_are_among_those_of_the_package(
    package: str, podium: Callable[..., Any], json_of: Json
) -> None:
    found = json_of("evaluation.json", "measure", "truth.csv", "a.csv", "--like", package)
    names = {name.replace("@10", "@k") for name in found["measures"]}
    assert names
    assert names <= set(presets.get(package).metrics)
    assert podium("protocol", "--like", package).status == 0


def test_bounds_are_in_json_tables_and_files(podium: Callable[..., Any], json_of: Json) -> None:
    argv = ("measure", "truth.csv", "a.csv", "-m", "recall@2", "--unjudged", "bounds")
    found = json_of("evaluation.json", *argv, "--by", "n_pos")
    # Items 2 to 7 are unjudged. All of them lower recall@2 as relevant items below rank 2.
    ends = found["measures"]["recall@2"]["unjudged"]
    assert ends["low"] == pytest.approx((2 / (2 + 6) + 1 / (2 + 5) + 0 + 0) / 4)
    assert ends["high"] == pytest.approx((2 / 2 + (1 + 1) / (2 + 1) + 2 / (2 + 2) * 2) / 4)
    assert found["segments"][0]["measures"]["recall@2"]["unjudged"] == ends
    assert f"[{ends['low']:.4f}, {ends['high']:.4f}]" in podium(*argv).out
    assert "unjudged_low,unjudged_high" in podium(*argv, "--format", "csv").out
    podium(*argv, "--per-user", "users.tsv")
    assert "recall@2 low\trecall@2 high" in Path("users.tsv").read_text()


# Of RUN_B, as above.
RECALL_B = [2 / 2, 2 / 2, 1 / 2, 0 / 2]


def test_differences_are_from_the_first_run(json_of: Json) -> None:
    found = json_of("comparison.json", "compare", "truth.csv", "a.csv", "b.csv", *MEASURES)
    runs = {"a": "a.csv", "b": "b.csv"}
    assert found == library.compare("truth.csv", runs, ["recall@2", "pap@1"]).as_json()
    recall = found["measures"]["recall@2"]
    [test] = recall["differences"]
    assert (found["baseline"], test["run"], recall["higher_is_better"]) == ("a", "b", True)
    assert recall["means"]["b"]["mean"] == sum(RECALL_B) / 4
    assert test["difference"] == (sum(RECALL_B) - sum(RECALL)) / 4
    assert (test["wins"], test["losses"], test["equal"]) == (2, 0, 2)


def test_undefined_everywhere_is_null_and_the_reason_told_once(podium: Callable[..., Any]) -> None:
    argv = ("compare", "truth.csv", "a.csv", "b.csv", "-m", "recall@2", "--min-relevance", "5")
    done = podium(*argv, "--format", "json")
    assert done.err.count("--min-relevance 1 or less") == done.err.count("\n") == 1
    found = json.loads(done.out)["measures"]["recall@2"]
    assert found["means"]["a"]["mean"] is None
    assert found["differences"][0]["difference"] is None
    assert found["differences"][0]["n_undefined"] == 4


@pytest.mark.parametrize("format", ["table", "csv", "markdown", "latex"])
def test_every_format_holds_the_values(podium: Callable[..., Any], format: str) -> None:
    done = podium("measure", "truth.csv", "a.csv", *MEASURES, "--by=n_pos", "--format", format)
    assert (done.status, done.err) == (0, "")
    for name, mean in (("recall@2", sum(RECALL) / 4), ("pap@1", sum(PAP) / 4)):
        rows = [line for line in done.out.splitlines() if name in line]
        assert len(rows) == 2  # of all users, and of the only segment
        assert all(f"{mean:.3g}" in line for line in rows)


@pytest.mark.parametrize("name", ["each.parquet", "each.tsv"])
def test_per_user_file_has_a_row_per_user(podium: Callable[..., Any], name: str) -> None:
    assert podium("measure", "truth.csv", "a.csv", *MEASURES, "--per-user", name).status == 0
    frame = (
        pl.read_parquet(name)
        if name.endswith("parquet")
        else pl.read_csv(name, separator="\t" if name.endswith("tsv") else ",")
    )
    assert frame.columns == ["user", "n_pos", "recall@2", "pap@1"]
    assert frame["user"].to_list() == [0, 1, 2, 3]
    assert frame["recall@2"].to_list() == RECALL
