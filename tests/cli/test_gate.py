"""podium gate: exit statuses, formats, files, and errors in terms of its options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import podium as library

Run = Callable[..., Any]
N = 40

pytestmark = pytest.mark.usefixtures("gate_lists")

# The options with which the runs of `lists` have each decision.
PASS = ("truth.csv", "worst.csv", "best.csv", "-m", "hit_rate@1")
NON_INFERIOR = ("truth.csv", "best.csv", "other.csv", "-m", "hit_rate@2", "--margin", "0.2")
FAIL = ("truth.csv", "best.csv", "worst.csv", "-m", "hit_rate@1")
CANNOT_TELL = ("truth.csv", "best.csv", "other.csv", "-m", "hit_rate@2")
EQUAL = ("truth.csv", "best.csv", "other.csv", "-m", "hit_rate@1")


@pytest.mark.parametrize(
    ("argv", "decision", "statuses"),
    [
        (PASS, "pass", (0, 0, 0)),
        (NON_INFERIOR, "pass", (0, 0, 1)),
        (FAIL, "fail", (1, 1, 1)),
        (CANNOT_TELL, "cannot tell", (0, 3, 3)),
        (EQUAL, "pass", (0, 0, 1)),
    ],
    ids=["superior", "non-inferior", "inferior", "cannot tell", "equal"],
)
def test_status_is_the_decision(
    podium: Run, argv: tuple[str, ...], decision: str, statuses: tuple[int, ...]
) -> None:
    for fail_on, status in zip(("inferior", "cannot-tell", "non-inferior"), statuses, strict=True):
        done = podium("gate", *argv, "--fail-on", fail_on, "--format", "json")
        assert (done.status, done.err) == (status, "")
        assert json.loads(done.out)["decision"] == decision
    assert podium("gate", *argv).status == statuses[1]


def test_json_is_that_of_the_library(podium: Run) -> None:
    done = podium(
        *("gate", *PASS, "--guard", "coverage@1:-0.5", "--guard", "rr:-0.1", "--by", "country"),
        *("--users", "users.csv", "--cluster", "home", "--weight", "visits", "--level", "0.9"),
        *("--catalogue", "past.csv", "--ties", "best", "--undefined", "zero", "--format", "json"),
    )
    expected = library.gate(
        "truth.csv",
        "worst.csv",
        "best.csv",
        "hit_rate@1",
        guards={"coverage@1": -0.5, "rr": -0.1},
        by="country",
        users="users.csv",
        cluster="home",
        weight="visits",
        level=0.9,
        catalogue="past.csv",
        ties="best",
        undefined="zero",
        names=("worst", "best"),
    )
    assert json.loads(done.out) == expected.as_json()


def junit(text: str) -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    suite = ET.fromstring(text)
    assert suite.tag == "testsuite"
    cases = [(case.attrib["name"], [part.tag for part in case]) for case in suite]
    return suite.attrib, cases


def test_junit_has_a_case_for_each_claim(podium: Run) -> None:
    segments = ("--by", "country", "--users", "users.csv", "--format", "junit")
    counts, cases = junit(podium("gate", *FAIL, "--guard", "rr:-0.9", *segments).out)
    assert counts == {"name": "podium gate", "tests": "6", "failures": "3", "skipped": "0"}
    assert cases[0] == ("hit_rate@1", ["failure"])
    assert cases[1] == ("rr", ["system-out"])
    assert [name for name, _ in cases[2:]] == [
        f"{measure} in country {name}" for name in ("FR", "a|b") for measure in ("hit_rate@1", "rr")
    ]


def test_out_has_the_format_of_its_suffix(podium: Run) -> None:
    files = ("a.json", "b.MD", "c.xml", ".json")
    done = podium("gate", *PASS, *(word for name in files for word in ("--out", name)))
    assert (done.status, done.err) == (0, "")
    for name, format in zip(files, ("json", "markdown", "junit", "json"), strict=True):
        assert Path(name).read_text() == podium("gate", *PASS, "--format", format).out
