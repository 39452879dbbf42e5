"""What podium audit prints and writes, and its exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
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


@pytest.mark.usefixtures("leak")
def test_json_is_that_of_the_library(json_of: Callable[..., dict[str, Any]]) -> None:
    result = library.audit("train.csv", "test.csv", {"a": "a.csv"}, "recall@2")
    found = json_of("audit.json", *FOLDER, "-m", "recall@2", "--fail-on", "never")
    assert found == result.as_json()
    assert result.worst == "error"


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


@pytest.mark.usefixtures("tables")
def test_a_truth_or_published_numbers_are_audited_without_a_training_part(podium: Run) -> None:
    done = podium("audit", "--no-train", "test.csv", "a.csv", "-m", "recall@2", "--format", "json")
    expected = library.audit(None, "test.csv", {"a": "a.csv"}, "recall@2")
    assert (done.status, json.loads(done.out)) == (0, expected.as_json())
    numbers = "n=20,hits=11,baseline=9"
    done = podium("audit", "--published", numbers, "--format", "json")
    assert (done.status, json.loads(done.out)) == (1, library.audit(published=numbers).as_json())


REFUSED = """
a.csv --fail-on note | --fail-on error
a.csv --out found.txt | --out .json found.txt
a.csv --candidates popular | --candidates uniform
a.csv --min-relevance 0 | --min-relevance
a.csv --column timestamp=when | train.csv when
found.json --out found.json | --out found.json
"""


@pytest.mark.usefixtures("tables")
def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("found.json").write_text("{}")
    refuses("audit train.csv test.csv", REFUSED)
    refuses("audit", "none.csv test.csv | none.csv")
    refuses("audit", "train.csv | TRAIN TEST --no-train")
    refuses("audit --no-train", "test.csv | runs")
    refuses("audit --published", "n=5 | --published\nn=5,hits=6,baseline=1 | hits 5")
    refuses("audit train.csv test.csv", "--published n=5,hits=4,baseline=1 | --published")
