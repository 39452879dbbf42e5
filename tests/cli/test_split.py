"""podium split, and docs/start.md: its ten commands lead from ratings to a decision."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.pages.page import code, page, shell

from podium import recommenders

Run = Callable[..., Any]
PAGE = page("start.md")
COMMANDS = [shlex.split(line)[1:] for line in code(PAGE, "sh")[2].splitlines()]


@pytest.mark.usefixtures("ratings")
def test_ten_commands_lead_to_a_decision(podium: Run) -> None:
    assert shell(code(PAGE, "sh")[1]).returncode == 0
    done = [podium(*argv) for argv in COMMANDS]
    assert [each.status for each in done] == [0] * 10
    assert "future-of-all" in done[7].out  # as the page says
    assert done[8].out.startswith("Pass: candidate is superior to base in ndcg@10.")
    assert Path("gate.md").read_text().startswith("### ")
    assert recommenders.load("model").n_users_ == recommenders.load("candidate").n_users_


def test_split_counts_what_it_leaves_out(podium: Run, ratings: pl.DataFrame) -> None:
    new = pl.DataFrame({"userId": ["new"], "movieId": [1], "rating": [5.0], "timestamp": [10**6]})
    pl.concat([ratings, new]).write_csv("ratings.csv")
    done = podium("split", "ratings.csv", "--by", "time", "--out", "parts")
    assert re.search(r"^podium: 1 of \d+ users of the test part have no training row\.$", done.err,
                     re.M)  # fmt: skip
    done = podium("split", "ratings.csv", "--by", "random", "--least", "2", "--out", "parts")
    assert f"1 of {ratings.height + 1} rows left out, because their users have fewer" in done.err


def test_names_of_one_table_do_not_hide_those_of_another(
    podium: Run, ratings: pl.DataFrame
) -> None:
    own = ratings.rename({"userId": "customer", "movieId": "film"}).filter(pl.col("rating") > 4)
    own.drop("rating", "timestamp").write_csv("truth.csv")
    names = ("--column", "user=customer", "--column", "item=film")
    assert podium("train", "truth.csv", *names, "--model", "popularity", "--out", "m").status == 0
    argv = ("recommend", "m", "--include-seen", "--users", "truth.csv", *names, "--out", "run.csv")
    assert podium(*argv).status == 0
    tables = ("truth.csv", "run.csv")
    for command in (
        ("measure", *tables),
        ("compare", *tables, "run.csv"),
        ("gate", *tables, "run.csv", "--fail-on", "inferior"),
        ("audit", "truth.csv", *tables, "--fail-on", "never"),
        ("explain", *tables),
    ):
        done = podium(*command, *names)
        assert done.status == 0, done.err
        done = podium(*command, "--column", "user=custmer", *names[2:])
        assert "has no column 'custmer'" in done.message, command


REFUSED = """
--by tme | --by time
 | --by
--by time --column timestamp=when | 'when'
--by time | few.csv '--column timestamp'
--by leave-last --seed 1 | --seed '--by leave-last'
--by random --column group=x | '--column group=NAME'
--by group --column group=x | few.csv 'x'
--by time --at 3 --test 0.1 | --test --at
--by random --test 0.8 --valid 0.2 | --test --valid
--by random | '--by random' 2
--by random --least 9 | '--least 9'
--by random --columns user | --columns
--by random --columns user,item | --columns
--by random --format xml | --format parquet
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("few.csv").write_text("user,item\n1,2\n1,3\n")
    refuses("split few.csv --out parts", REFUSED)
