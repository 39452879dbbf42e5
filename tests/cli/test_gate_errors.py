"""Errors of podium gate in terms of its options, and the file of its looks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
N = 40

pytestmark = pytest.mark.usefixtures("gate_lists")


USERS = ("--users", "users.csv")
SEQUENTIAL = ("--sequential", "--state", "s")
BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "format": (("--format", "csv"), r"^--format must be one of 'table', 'json', .* got 'csv'"),
    "fail on": (("--fail-on", "never"), r"^--fail-on must be one of 'inferior', 'cannot-tell' or"),
    "out": (("--out", "a.txt"), r"^--out must end in '\.json', '\.md' or '\.xml', got 'a\.txt'"),
    "out folder": (("--out", "none/a.md"), r"^--out none/a\.md can't be written: there is no fold"),
    "measure": (("-m", "ndgc@5"), r"'ndgc' is not known\. Did you mean 'ndcg'\?"),
    "coverage": (("-m", "coverage@5"), r"^--measure must be a measure of relevance"),
    "margin": (("--margin", "-1"), r"^--margin must be a number >= 0, got -1"),
    "margin text": (("--margin", "x"), r"'--margin'.* valid number.*\. See 'podium gate"),
    "guard": (("--guard", "rr"), r"^--guard must be MEASURE:LIMIT, .* got 'rr'\.$"),
    "guards": (("--guard", "rr:0", "--guard", "rr:1"), r"^--guard names rr twice\. Keep one limit"),
    "same": (("--guard", "ndcg@10:0"), r"^--measure and --guard name ndcg@10 twice\. Keep one\.$"),
    "level": (("--level", "95"), r"^--level must be a number > 0 and < 1, got 95"),
    "seed": (("--seed", "-1"), r"^--seed must be an integer >= 0, got -1"),
    "by": (("--by", "country"), r"^--by must be .* Pass --users to use one of its columns\.$"),
    "users": (USERS, r"^--users has no effect, because --by, --cluster and --weight name none of"),
    "no users": (("--by", "x", "--users", "none.csv"), r"^none\.csv does not exist\."),
    "column": ((*USERS, "--by", "contry"), r"'contry'.* Did you mean 'country'\?"),
    "cluster": (
        ("--cluster", "home"),
        r"^--cluster requires --users, a table with the column",
    ),
    "weight": (("--weight", "visits"), r"^--weight requires --users, a table with the column"),
    "text": (
        (*USERS, "--weight", "country"),
        r"^--weight must be a column of numbers, but coun",
    ),
    "negative": (
        ("--users", "bad.csv", "--weight", "w"),
        r"^--weight must be >= 0 and finite for each user, but w is not for ",
    ),
    "few": (
        ("--users", "few.csv", "--weight", "w"),
        r"^--users has no w for 39 of 40 users, first 1\. --weight needs a value for each user\.$",
    ),
    "catalogue": (
        ("--catalogue", "past.csv"),
        r"^--catalogue has no effect without",
    ),
    "guard alone": (("--guard", "novelty@1:0"), r"^novelty@1 requires --catalogue, a table of the"),
    "sequential": (("--sequential",), r"^--sequential requires --state, the file that keeps earli"),
    "state": (
        ("--state", "s"),
        r"^--state requires --sequential\. Leave it out to use the gate",
    ),
    "horizon alone": (("--horizon", "9"), r"^--horizon requires --sequential\. Leave it out to"),
    "horizon": ((*SEQUENTIAL, "--horizon", "0"), r"^--horizon must be an integer >= 1, got 0\.$"),
    "n_pos": ((*SEQUENTIAL, "--by", "n_pos"), r"^--by n_pos divides .* so --sequential can't use"),
    "weights": (
        (*SEQUENTIAL, *USERS, "--weight", "visits"),
        r"^--weight has no valid interval with --sequential alone\. Pass --horizon too\.$",
    ),
    "no bounds": (
        (*SEQUENTIAL, "--guard", "dcg@3:0"),
        r"^dcg@3 has no bounds, which --sequential requires\. Pass --horizon, or leave the measure",
    ),
    "state folder": (
        ("--sequential", "--state", "none/s"),
        r"^--state none/s can't be written: there is no folder none\.$",
    ),
    "foreign": (("--sequential", "--state", "old"), r"^old is truncated or not a gate state"),
}


@pytest.mark.parametrize(("options", "pattern"), BAD.values(), ids=BAD)
def test_wrong_option_is_one_line(podium: Run, options: tuple[str, ...], pattern: str) -> None:
    Path("old").write_text("user\n")
    Path("few.csv").write_text("user,w\n0,1\n")
    Path("bad.csv").write_text(
        "user,w\n" + "".join(f"{u},{-1 if u == 0 else 1}\n" for u in range(N))
    )
    files = sorted(Path().iterdir())
    done = podium("gate", "truth.csv", "best.csv", "worst.csv", *options)
    assert re.search(pattern, done.message), done.message
    assert (done.status, done.out) == (2, "")
    assert sorted(Path().iterdir()) == files


def some(name: str, users: range) -> str:
    """Write the rows of some users, and return the name of the file."""
    head, *rows = Path(f"{name}.csv").read_text().splitlines()
    kept = [row for row in rows if int(row.split(",")[0]) in users]
    Path(f"{name}-{users.stop}.csv").write_text("\n".join([head, *kept]) + "\n")
    return f"{name}-{users.stop}.csv"


def look(users: range, *names: str) -> tuple[str, ...]:
    tables = (some(name, users) for name in ("truth", *names))
    return ("gate", *tables, "-m", "hit_rate@1", *SEQUENTIAL, "--horizon", "30")


def test_state_counts_users_once(podium: Run) -> None:
    names = ("worst", "best")
    looks = [
        json.loads(podium(*look(range(n), *names), "--format", "json").out)["look"]
        for n in (10, 25, 25)
    ]
    assert [(one["number"], one["n_users"], one["n_new"]) for one in looks] == [
        (1, 10, 10),
        (2, 25, 15),
        (2, 25, 0),
    ]
    assert "Look 3: 40 users, 15 of them new, horizon 30." in podium(*look(range(N), *names)).out
    markdown = podium(*look(range(N), *names), "--format", "markdown").out
    assert "\n\nLook 3: 40 users, 0 of them new, horizon 30.\n\n" in markdown


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (("--margin", "0.5"), r"^--state s was begun with limits \[0\.0\], but this look has \[-0"),
        (("--level", "0.9"), r"^--state s was begun with level 0\.95, but this look has 0\.9\."),
        (("--horizon", "50"), r"^--state s was begun with horizon 30, but this look has 50\."),
        ((), r"^--state has hit_rate@1 of candidate 1 for user 0, but it is 0 now \(10 users"),
    ],
)
def test_state_is_not_overwritten_on_error(
    podium: Run, change: tuple[str, ...], pattern: str
) -> None:
    assert podium(*look(range(10), "worst", "best")).err == ""
    before = Path("s").read_bytes()
    done = podium(*look(range(25), "worst", "best" if change else "worst"), *change)
    assert re.search(pattern, done.message), done.message
    assert (done.status, Path("s").read_bytes()) == (2, before)


def test_late_users_are_refused(podium: Run) -> None:
    names = ("worst", "best")
    for n in (10, 35):
        assert podium(*look(range(n), *names)).err == ""
    message = podium(*look(range(N), *names)).message
    assert re.search(r"^--state has 35 users, so the horizon of 30 was reached\.", message)
