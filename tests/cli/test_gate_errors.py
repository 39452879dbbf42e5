"""Errors of podium gate in terms of its options, and the file of its looks."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
N = 40

pytestmark = pytest.mark.usefixtures("gate_lists")


USERS = ("--users", "users.csv")
SEQUENTIAL = ("--sequential", "--state", "s")


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


REFUSED = """
--fail-on never | --fail-on inferior
--out a.txt | --out a.txt
--out none/a.md | --out none/a.md
-m coverage@5 | --measure
-m hit_rate@1 -m rr | --measure hit_rate@1 rr
--margin -1 | --margin
--margin x | --margin 'podium gate'
--guard rr | --guard rr
--guard rr:0 --guard rr:1 | --guard rr
--guard ndcg@10:0 | --measure --guard ndcg@10
--by country | --by --users
--users users.csv | --users --by
--users users.csv --by contry | contry country
--cluster home | --cluster --users
--weight visits | --weight --users
--users users.csv --weight country | --weight country
--users bad.csv --weight w | --weight w
--users few.csv --weight w | --users '39 of 40' --weight
--catalogue past.csv | --catalogue
--guard novelty@1:0 | novelty@1 --catalogue
--sequential | --sequential --state
--state s | --state --sequential
--horizon 9 | --horizon --sequential
--sequential --state s --horizon 0 | --horizon
--sequential --state s --by n_pos | '--by n_pos' --sequential
--sequential --state s --users users.csv --weight visits | --weight --sequential --horizon
--sequential --state s --guard dcg@3:0 | dcg@3 --sequential --horizon
--sequential --state none/s | --state none/s
--sequential --state old | old
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("old").write_text("user\n")
    Path("few.csv").write_text("user,w\n0,1\n")
    rows = "".join(f"{u},{-1 if u == 0 else 1}\n" for u in range(N))
    Path("bad.csv").write_text("user,w\n" + rows)
    refuses("gate truth.csv best.csv worst.csv", REFUSED)


def test_state_is_of_one_gate(podium: Run, refuses: Callable[[str, str], None]) -> None:
    assert podium(*look(range(10), "worst", "best")).err == ""
    same = shlex.join(look(range(25), "worst", "best"))
    other = shlex.join(look(range(25), "worst", "worst"))
    refuses(same, "--margin 0.5 | '--state s' limits 0.5")
    refuses(same, "--level 0.9 | '--state s' level 0.95 0.9")
    refuses(same, "--horizon 50 | '--state s' horizon 30 50")
    refuses(other, " | --state hit_rate@1 'user 0' '10 users'")
    assert podium(*look(range(35), "worst", "best")).err == ""
    refuses(shlex.join(look(range(N), "worst", "best")), " | --state '35 users' 30")
