"""What podium audit prints and writes, and its exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Done

import podium as library

Run = Callable[..., Done]
FOLDER = ("audit", "train.csv", "test.csv", "a.csv")


@pytest.fixture
def tables(folder: Path) -> None:
    """Write parts without a leak; RUN_A lists items 0 to 7, and 0 and 1 are relevant."""
    past = "".join(f"{u},{i},{u + i}\n" for u in range(4) for i in range(10, 14))
    known = "".join(f"{9},{i},1\n" for i in range(8))
    (folder / "train.csv").write_text("user,item,timestamp\n" + past + known)
    truth = "".join(f"{u},{i},90\n" for u in range(4) for i in (0, 1))
    (folder / "test.csv").write_text("user,item,timestamp\n" + truth)


@pytest.fixture
def leak(tables: None) -> None:
    """Add a positive of user 2 to the training part, at the time of the test event."""
    del tables
    path = Path("train.csv")
    path.write_text(path.read_text() + "2,1,90\n")


@pytest.fixture
def audited(json_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return `audited("-m", "recall@2")`: the JSON, after its schema has been checked."""
    return partial(json_of, "audit.json", *FOLDER, "--fail-on", "never")


def checks(result: dict[str, Any], *severities: str) -> list[str]:
    return [f["check"] for f in result["findings"] if f["severity"] in severities]


@pytest.mark.usefixtures("tables")
def test_sound_parts_have_no_error(podium: Run) -> None:
    done = podium(*FOLDER, "-m", "recall@2", "--format", "json")
    assert (done.status, checks(json.loads(done.out), "error")) == (0, [])


@pytest.mark.usefixtures("leak")
def test_json_is_that_of_the_library(audited: Callable[..., dict[str, Any]]) -> None:
    result = library.audit("train.csv", "test.csv", {"a": "a.csv"}, "recall@2")
    assert audited("-m", "recall@2") == result.as_json()
    assert result.worst == "error"


@pytest.mark.usefixtures("leak")
def test_a_leak_is_counted_and_priced(audited: Callable[..., dict[str, Any]]) -> None:
    result = audited("-m", "recall@2")
    (finding,) = [f for f in result["findings"] if f["check"] == "train-test-overlap"]
    assert (finding["severity"], finding["count"], finding["total"]) == ("error", 1, 8)
    assert finding["examples"] == ["user 2, item 1"]
    effect = finding["effects"][0]
    # recall@2 is 1, 1/2, 0, 0; without the pair, user 2 has one positive, which is not listed.
    assert (effect["run"], effect["with"], effect["without"]) == ("a", 1.5 / 4, 1.5 / 4)
    assert result["counts"]["error"] == len(checks(result, "error"))


@pytest.mark.usefixtures("leak")
@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), 1),
        (("--fail-on", "error"), 1),
        (("--fail-on", "warning"), 1),
        (("--fail-on", "never"), 0),
    ],
)
def test_the_status_is_that_of_the_worst_finding(
    podium: Run, options: tuple[str, ...], status: int
) -> None:
    done = podium(*FOLDER, "-m", "recall@2", *options)
    assert (done.status, done.err) == (status, "")


@pytest.mark.usefixtures("leak")
def test_out_writes_the_same_and_keeps_stdout(podium: Run) -> None:
    done = podium(*FOLDER, "-m", "recall@2", "--out", "found.json", "--out", "found.md")
    assert done.out.startswith("Audit of recall@2")
    written = json.loads(Path("found.json").read_text())
    assert written == json.loads(podium(*FOLDER, "-m", "recall@2", "--format", "json").out)
    assert (
        Path("found.md").read_text() == podium(*FOLDER, "-m", "recall@2", "--format=markdown").out
    )


REFUSED = """
a.csv --fail-on note | --fail-on error
a.csv --out found.txt | --out .json found.txt
a.csv --candidates popular | --candidates uniform
a.csv --negatives 0 | --negatives
--negatives 9 | --candidates --negatives
a.csv --min-relevance 0 | --min-relevance
a.csv --column timestamp=when | train.csv when
found.json --out found.json | --out found.json
"""


@pytest.mark.usefixtures("tables")
def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("found.json").write_text("{}")
    refuses("audit train.csv test.csv", REFUSED)
    refuses("audit", "none.csv test.csv | none.csv")
