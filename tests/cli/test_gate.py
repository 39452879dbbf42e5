"""podium gate: exit statuses, formats, files, repeated looks, and refusals."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.cli.conftest import valid

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
        ((*PASS, "--at-least", "hit_rate@1=1"), "cannot tell", (0, 3, 3)),
        ((*PASS, "--at-least", "hit_rate@1=0.5"), "pass", (0, 0, 0)),
    ],
    ids=["superior", "non-inferior", "inferior", "cannot tell", "equal", "floor", "above it"],
)
def test_status_is_the_decision(
    podium: Run, argv: tuple[str, ...], decision: str, statuses: tuple[int, ...]
) -> None:
    for fail_on, status in zip(("inferior", "cannot-tell", "non-inferior"), statuses, strict=True):
        done = podium("gate", *argv, "--fail-on", fail_on, "--format", "json")
        assert (done.status, done.err) == (status, "")
        found = valid("gate.json", done.out)
        assert found["decision"] == decision
        assert bool(found["reasons"]) == (decision != "pass")
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


def test_a_leak_in_the_training_part_is_no_pass(podium: Run) -> None:
    passed = podium("gate", *PASS, "--format", "json")
    assert [f["check"] for f in json.loads(passed.out)["findings"]] == ["training-unchecked"]
    leaked = (*PASS, "--train", "truth.csv")
    for fail_on, status in (("inferior", 0), ("cannot-tell", 3)):
        done = podium("gate", *leaked, "--fail-on", fail_on, "--format", "json")
        assert (done.status, json.loads(done.out)["decision"]) == (status, "cannot tell")
        _, cases = junit(podium("gate", *leaked, "--fail-on", fail_on, "--format", "junit").out)
        tag = "skipped" if fail_on == "inferior" else "failure"
        assert ("train-test-overlap", [tag]) in cases
    assert "train-test-overlap" in podium("gate", *leaked, "--format", "markdown").out


def junit(text: str) -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    suite = ET.fromstring(text)
    assert suite.tag == "testsuite"
    cases = [(case.attrib["name"], [part.tag for part in case]) for case in suite]
    return suite.attrib, cases


def test_junit_has_a_case_for_each_claim(podium: Run) -> None:
    segments = ("--by", "country", "--users", "users.csv", "--format", "junit")
    further = ("--guard", "rr:-0.9", "--at-least", "rr=0.99")
    counts, cases = junit(podium("gate", *FAIL, *further, *segments).out)
    assert counts == {"name": "podium gate", "tests": "7", "failures": "4", "skipped": "0"}
    assert cases[0] == ("hit_rate@1", ["failure"])
    assert cases[1] == ("rr", ["system-out"])
    assert cases[2] == ("rr at least 0.99", ["failure"])
    assert [name for name, _ in cases[3:]] == [
        f"{measure} in country {name}" for name in ("FR", "a|b") for measure in ("hit_rate@1", "rr")
    ]


def test_out_has_the_format_of_its_suffix(podium: Run) -> None:
    files = ("a.json", "b.MD", "c.xml", ".json")
    done = podium("gate", *PASS, *(word for name in files for word in ("--out", name)))
    assert (done.status, done.err) == (0, "")
    for name, format in zip(files, ("json", "markdown", "junit", "json"), strict=True):
        assert Path(name).read_text() == podium("gate", *PASS, "--format", format).out


SEQUENTIAL = ("--state", "s")


def some(name: str, users: range) -> str:
    """Write the rows of some users, and return the name of the file."""
    head, *rows = Path(f"{name}.csv").read_text().splitlines()
    kept = [row for row in rows if int(row.split(",")[0]) in users]
    Path(f"{name}-{users.stop}.csv").write_text("\n".join([head, *kept]) + "\n")
    return f"{name}-{users.stop}.csv"


def look(users: range, *names: str) -> tuple[str, ...]:
    tables = (some(name, users) for name in ("truth", *names))
    return ("gate", *tables, "-m", "hit_rate@1", *SEQUENTIAL, "--horizon", "30")


def test_an_option_takes_the_place_of_a_rule_of_the_file(podium: Run) -> None:
    Path("podium.toml").write_text("[gate]\nsequential = true\nhorizon = 9\n")
    assert "--sequential requires --state" in podium("gate", *PASS).message
    done = podium("gate", *PASS, "--no-sequential", "--format", "json")
    assert json.loads(done.out)["look"] is None


REFUSED = """
--fail-on never | --fail-on inferior
--out a.txt | --out a.txt
--out none/a.md | --out none/a.md
-m hit_rate@1 -m rr | --measure hit_rate@1 rr
--margin x | --margin 'podium gate'
--guard rr | --guard rr
--guard rr:0 --guard rr:1 | --guard rr
--by country | --by --users
--users users.csv | --users --by
--users users.csv --by contry | contry country
--users few.csv --weight w | --users '39 of 40' --weight
--sequential | --sequential --state
--no-sequential --state s | --state --sequential
--sequential --state s --users users.csv --weight visits | --weight --state --horizon
--sequential --state none/s | --state none/s
--sequential --state old | old
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("old").write_text("user\n")
    Path("few.csv").write_text("user,w\n0,1\n")
    refuses("gate truth.csv best.csv worst.csv", REFUSED)


def test_state_is_of_one_gate(podium: Run, refuses: Callable[[str, str], None]) -> None:
    assert podium(*look(range(10), "worst", "best")).err == ""
    same = shlex.join(look(range(25), "worst", "best"))
    other = shlex.join(look(range(25), "worst", "worst"))
    refuses(same, "--margin 0.5 | '--state s' margin 0.5")
    refuses(same, "--level 0.9 | '--state s' level 0.95 0.9")
    refuses(same, "--horizon 50 | '--state s' horizon 30 50")
    refuses(other, " | --state hit_rate@1 'user 0' '10 users'")
    assert podium(*look(range(35), "worst", "best")).err == ""
    refuses(shlex.join(look(range(N), "worst", "best")), " | --state '35 users' 30")
