"""docs/explain.md: its commands and Python run, and its table is that of the search."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.cli.pages import DOCS, blocks, check_commands, lost_links, page, printed, shell

from podium import presets
from podium.decide.explain.grid import SEPARATED_BY, conventions
from podium.metrics import REGISTRY, Measure

PAGE = page("explain.md")
TABLE = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", PAGE, re.M)
ROWS = {name: values for name, values, _ in TABLE}
SCHEMA = json.loads((DOCS / "schemas" / "explanation.json").read_text(encoding="utf-8"))


@pytest.fixture
def tables() -> None:
    """Write the tables of the page."""
    (script,) = blocks(PAGE, "sh")
    assert shell(script).returncode == 0


def test_links_lead_somewhere() -> None:
    assert lost_links("explain.md") == []


@pytest.mark.usefixtures("tables")
def test_commands_print_what_the_page_shows(podium: Callable[..., Any]) -> None:
    check_commands(PAGE, podium)


@pytest.mark.usefixtures("tables")
def test_command_of_the_answer_gives_the_value(podium: Callable[..., Any]) -> None:
    answer = re.compile(r"--value (\S+)\n.*?^Command: podium (.*?)```", re.M | re.S)
    value, command = answer.findall(PAGE)[0]
    result = json.loads(podium(*shlex.split(command), "--format", "json").out)
    (summary,) = result["measures"].values()
    assert f"{summary['mean']:.4f}" == value


@pytest.mark.usefixtures("tables")
def test_python_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks(PAGE, "python"):
        found, said = printed(block, capsys)
        assert found == said


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--value", "0.4033"),
        ("--value", "0.9876"),
        ("--like", "ranx"),
        ("--other-truth", "theirs.csv", "--other-run", "run.csv"),
        ("--value", "0.4033", "--like", "trec_eval", "--other-truth", "theirs.csv"),
        ("-m", "precision@2", "--value", "0.1999"),
        ("-m", "ap", "--min-relevance", "9"),
    ],
    ids=" ".join,
)
def test_json_follows_the_schema(podium: Callable[..., Any], options: tuple[str, ...]) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    done = podium("explain", "truth.csv", "run.csv", "-m", "ndcg@2", *options, "--format", "json")
    Draft202012Validator(SCHEMA).validate(json.loads(done.out))


def test_schema_names_every_package_and_convention() -> None:
    assert SCHEMA["$defs"]["package"]["enum"] == list(presets.PACKAGES)
    assert set(SCHEMA["$defs"]["choice"]["propertyNames"]["enum"]) == set(SEPARATED_BY)


def test_table_has_every_convention_with_its_data() -> None:
    assert {name: data for name, _, data in TABLE} == SEPARATED_BY


def test_table_has_every_value_that_is_searched() -> None:
    for name, metric in REGISTRY.items():
        measure = Measure(name, None if metric.cutoff == "none" else 2)
        for axis in conventions(measure, []):
            if axis.name != "norm":  # the row refers to the measures
                named = {value for value in axis.values if isinstance(value, str)}
                assert named <= set(re.findall(r"\w+", ROWS[axis.name]))
