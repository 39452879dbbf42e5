"""What measure, compare and gate print and write: JSON by its schema, and the same elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

import podium as library

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
MEASURES = ("-m", "recall@2", "-m", "pap@1")


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def parsed(done: Any) -> dict[str, Any]:
    """Return the one JSON object on stdout of a command that went well and said nothing else."""
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)


@pytest.fixture
def measured(podium: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def run(*options: str) -> dict[str, Any]:
        argv = ("measure", "truth.csv", "a.csv", *MEASURES, "--format", "json", *options)
        found = parsed(podium(*argv))
        validator("evaluation").validate(found)
        return found

    return run


# Of RUN_A (conftest.py), with items 0 and 1 relevant: recall@2 is the share of the two at places
# 0 and 1; pap@1 is 1 where a relevant item comes first.
RECALL = [2 / 2, 1 / 2, 0 / 2, 0 / 2]
PAP = [1.0, 0.0, 0.0, 0.0]


def test_segments_are_named_and_counted(measured: Callable[..., dict[str, Any]]) -> None:
    found = measured("--by", "engagement", "--by", "n_pos", "--by", "country", "--users=users.csv")
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


def test_bounds_are_in_json_tables_and_files(podium: Callable[..., Any]) -> None:
    argv = ("measure", "truth.csv", "a.csv", "-m", "recall@2", "--unjudged", "bounds")
    found = parsed(podium(*argv, "--format", "json", "--by", "n_pos"))
    validator("evaluation").validate(found)
    # Items 2 to 7 are unjudged. All of them lower recall@2 as relevant items below rank 2.
    ends = found["measures"]["recall@2"]["unjudged"]
    assert ends["low"] == pytest.approx((2 / (2 + 6) + 1 / (2 + 5) + 0 + 0) / 4)
    assert ends["high"] == pytest.approx((2 / 2 + (1 + 1) / (2 + 1) + 2 / (2 + 2) * 2) / 4)
    assert found["segments"][0]["measures"]["recall@2"]["unjudged"] == ends
    assert f"[{ends['low']:.4f}, {ends['high']:.4f}]" in podium(*argv).out
    assert "unjudged_low,unjudged_high" in podium(*argv, "--format", "csv").out
    podium(*argv, "--per-user", "users.tsv")
    assert "recall@2 low\trecall@2 high" in Path("users.tsv").read_text()


@pytest.fixture
def compared(podium: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def run(*options: str) -> dict[str, Any]:
        done = podium("compare", "truth.csv", "a.csv", "b.csv", "--format", "json", *options)
        found = parsed(done)
        validator("comparison").validate(found)
        return found

    return run


# Of RUN_B, as above.
RECALL_B = [2 / 2, 2 / 2, 1 / 2, 0 / 2]


def test_differences_are_from_the_first_run(compared: Callable[..., dict[str, Any]]) -> None:
    found = compared(*MEASURES)
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


@pytest.fixture
def gated(podium: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def run(base: str, candidate: str, *options: str) -> dict[str, Any]:
        done = podium("gate", "truth.csv", base, candidate, "-mrecall@2", "--format=json", *options)
        assert done.err == ""
        result = json.loads(done.out)
        validator("gate").validate(result)
        return result

    return run


# The means of a and b differ by 1/4. With 4 users, only intervals of low level are short enough.
@pytest.mark.parametrize(
    ("verdict", "decision", "options"),
    [
        ("superior", "pass", ("a.csv", "b.csv", "--level", "0.1")),
        ("equal", "pass", ("a.csv", "a.csv")),
        ("non-inferior", "pass", ("b.csv", "a.csv", "--level", "0.1", "--margin", "0.5")),
        ("inferior", "fail", ("b.csv", "a.csv", "--level", "0.1")),
        ("cannot tell", "cannot tell", ("a.csv", "b.csv")),
    ],
)
def test_gate_has_its_schema_in_every_verdict(
    gated: Callable[..., dict[str, Any]], verdict: str, decision: str, options: tuple[str, ...]
) -> None:
    result = gated(*options)
    assert (result["verdict"], result["decision"]) == (verdict, decision)
    assert bool(result["reasons"]) == (decision != "pass")
