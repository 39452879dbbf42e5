"""docs/explain.md and podium explain: JSON, exit status, wrong input."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.pages.page import DOCS, code, page, section, shell

from podium.decide.explain.grid import SEPARATED_BY, conventions
from podium.metrics import REGISTRY, Measure

PAGE, SEARCH = page("explain.md"), section("explain.md", "What is searched")
SCHEMA = json.loads((DOCS / "schemas" / "explanation.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def files() -> None:
    """Write the files of the page."""
    (script,) = code(PAGE, "sh")
    assert shell(script).returncode == 0


def test_every_convention_has_its_row() -> None:
    for name, data in SEPARATED_BY.items():
        assert any(f"| `{name}` |" in line and data in line for line in SEARCH.splitlines())


def test_every_value_that_is_searched_is_in_its_row() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", SEARCH, re.M))
    for name, metric in REGISTRY.items():
        measure = Measure(name, None if metric.cutoff == "none" else 2)
        for axis in conventions(measure, []):
            if axis.name != "norm":  # the row refers to the measures
                named = {value for value in axis.values if isinstance(value, str)}
                assert named <= set(re.findall(r"\w+", rows[axis.name]))


def test_command_of_the_answer_gives_the_value(podium: Callable[..., Any]) -> None:
    answer = re.compile(r"--value (\S+)\n.*?^Command: podium (.*?)```", re.M | re.S)
    value, command = answer.findall(PAGE)[0]
    result = json.loads(podium(*shlex.split(command), "--format", "json").out)
    (summary,) = result["measures"].values()
    assert f"{summary['mean']:.4f}" == value


@pytest.mark.parametrize("name", ["ndcg_cut_2", "NDCG(k=2)", "ndcg(gain=exp2,ideal=best)@2"])
def test_command_of_the_answer_has_every_name_of_the_measure(
    podium: Callable[..., Any], name: str
) -> None:
    explained = podium("explain", "truth.csv", "run.csv", "-m", name, "--value", "0.4033").out
    (command,) = re.findall(r"^Command: podium (.*)", explained, re.M | re.S)
    words = shlex.split(command)
    assert "ndcg(gain=binary,ideal=full)@2" in words
    result = json.loads(podium(*words, "--format", "json").out)
    (summary,) = result["measures"].values()
    assert f"{summary['mean']:.4f}" == "0.4033"


def test_command_of_the_answer_repeats_the_options(podium: Callable[..., Any]) -> None:
    for name in ("truth", "run"):
        text = Path(f"{name}.csv").read_text(encoding="utf-8")
        Path(f"{name}.csv").write_text(text.replace("item", "thing"), encoding="utf-8")
    options = ("-m", "ap@2", "--min-relevance", "0.5", "--column", "item=thing")
    explained = podium("explain", "truth.csv", "run.csv", *options, "--value", "0.250").out
    (command,) = re.findall(r"^Command: podium (.*)", explained, re.M | re.S)
    result = json.loads(podium(*shlex.split(command), "--format", "json").out)
    assert result["conventions"]["min_relevance"] == 0.5
    (summary,) = result["measures"].values()
    assert f"{summary['mean']:.3f}" == "0.250"


@pytest.mark.parametrize(
    "question",
    [(), ("--value", "0.4033"), ("--value", "0.9876"), ("--like", "ranx"), ("-m", "pap@1")],
)
def test_json_has_its_schema(podium: Callable[..., Any], question: tuple[str, ...]) -> None:
    others = ("--other-truth", "theirs.csv", "--other-run", "run.csv")
    for tables in ((), others):
        done = podium("explain", "truth.csv", "run.csv", *question, *tables, "--format", "json")
        jsonschema.validate(json.loads(done.out), SCHEMA)


def test_status_says_whether_the_value_is_found(podium: Callable[..., Any]) -> None:
    ask = ("explain", "truth.csv", "run.csv", "-m", "ndcg@2", "--value")
    assert podium(*ask, "0.4033").status == 0
    assert podium(*ask, "0.9876").status == 1
    assert podium(*ask, "0.40").status == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--value", "40.33"),
            "--value must be from 0 to 1 for ndcg@10, got 40.33. Write a",
        ),
        (("--value", "0.4"), "--value must have at least 3 digits after the point"),
        (("--value", "x"), "--value must be a number such as 0.3121, got 'x'."),
        (("--like", "lucene"), "--like must be one of 'trec_eval', "),
        (("-m", "coverage@5"), "coverage@5 measures the items shown"),
        (("--other-run", "none.csv"), "none.csv does not exist"),
    ],
)
def test_wrong_input_is_refused_in_one_line(
    podium: Callable[..., Any], options: tuple[str, ...], message: str
) -> None:
    done = podium("explain", "truth.csv", "run.csv", *options)
    assert done.status == 2
    assert message in done.message
