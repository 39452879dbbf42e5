"""podium split, and docs/start.md: its ten commands lead from ratings to a decision."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pages.page import code, page, shell

from podium import recommenders

Run = Callable[..., Any]
PAGE = page("start.md")
PROTOCOL, RATINGS, OTHER_PROTOCOL, LOG = code(PAGE, "sh")[1:5]


def ten(podium: Run, protocol: str, commands: str) -> list[Any]:
    """Run the commands of the page, all of which succeed."""
    assert shell(protocol).returncode == 0
    lines = commands.replace("\\\n", " ").splitlines()
    done = [podium(*shlex.split(line)[1:]) for line in lines]
    assert [each.status for each in done] == [0] * 10, done
    return done


@pytest.mark.usefixtures("ratings")
def test_ten_commands_lead_to_a_decision(podium: Run) -> None:
    done = ten(podium, PROTOCOL, RATINGS)
    assert "future-of-all" in done[7].out  # as the page says
    assert done[8].out.startswith("Pass: candidate is superior to base in ndcg@10.")
    assert Path("gate.md").read_text().startswith("### ")
    assert recommenders.load("model").n_users_ == recommenders.load("candidate").n_users_


def write_small_log() -> None:
    """Write purchases of three kinds of items, with the faults of the published table."""
    rng, n = np.random.default_rng(0), 12_000
    user, item, quantity = (
        rng.integers(low, high, n) for low, high in ((0, 300), (0, 60), (-1, 9))
    )
    likes = rng.random(n) < np.where(user % 3 == item % 3, 0.9, 0.2)
    names = np.array(["POST", *(f"A{i}" for i in range(59))])
    users = pl.Series(user).replace(7, None)
    times = pl.from_epoch(pl.Series(np.arange(n)))
    log = {
        "StockCode": names[item],
        "CustomerID": users,
        "Quantity": quantity,
        "InvoiceDate": times,
    }
    pl.DataFrame(log).filter(pl.Series(likes)).write_parquet("onlineretail.parquet")


@pytest.mark.parametrize("is_published", [False, pytest.param(True, marks=pytest.mark.long)])
def test_ten_commands_lead_from_a_raw_log_to_a_decision(
    podium: Run, podium_data: Callable[[str], Path], is_published: bool
) -> None:
    if is_published:
        Path("onlineretail.parquet").symlink_to(podium_data("onlineretail/onlineretail.parquet"))
    else:
        write_small_log()
    done = ten(podium, OTHER_PROTOCOL, LOG)
    assert "(--task new of its split)" in done[5].err
    assert done[8].out.startswith("Pass: candidate is superior to base in ndcg@10")
    dropped = json.loads(Path("parts/split.json").read_text())["dropped"]
    assert [*dropped] == ["drop_missing", "where", "unique", "task"]
    assert all(dropped.values())
    if is_published:
        assert all(f"{dropped[name]:,}" in PAGE for name in [*dropped][:3])
        assert re.search(r"^ndcg@10 +\+0.0[56]\d\d .* 0.0427$", done[8].out, re.M)


def test_split_counts_what_it_leaves_out(podium: Run, ratings: pl.DataFrame) -> None:
    new = pl.DataFrame({"userId": ["new"], "movieId": [1], "rating": [5.0], "timestamp": [10**6]})
    pl.concat([ratings, new]).write_csv("ratings.csv")
    done = podium("split", "ratings.csv", "--by", "time", "--out", "parts")
    assert re.search(r"^podium: 1 of \d+ users of the test part have no training row\.$", done.err,
                     re.M)  # fmt: skip
    done = podium("split", "ratings.csv", "--by", "random", "--least", "2", "--out", "parts")
    assert f"1 of {ratings.height + 1:,} rows dropped: 1 of users with too few events." in done.err


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
--by time --at 3 --test 0.1 | --test --at
--by random --test 0.8 --valid 0.2 | --test --valid
--by random | '--by random' 2
--by random --least 9 | '--least 9'
--by random --columns user | --columns
--by random --columns user,item | --columns
--by random --format xml | --format parquet
--by random --where 'itm > 1' | few.csv 'itm' --where 'item'
--by random --where 'item >' | --where 'item >'
--by random --unique sum | --unique 'count'
--by random --task old | --task 'repeat'
--by random --unique count --column weight=item | --unique weight
--by random --test 0.5 --task repeat | '--task repeat' test
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("few.csv").write_text("user,item\n1,2\n1,3\n")
    refuses("split few.csv --out parts", REFUSED)
