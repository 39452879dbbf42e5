"""podium gate --unjudged bounds: each format, the file of labels, and refusals."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import podium as library

Run = Callable[..., Any]

GATE = ("gate", "truth.csv", "a.csv", "b.csv", "-mrr", "--margin=2")
BOUNDS = ("--unjudged", "bounds")


def test_json_has_its_schema_and_the_range_of_each_claim(
    json_of: Callable[..., dict[str, Any]],
) -> None:
    guards = ("--guard", "recall@2:-2", "--guard", "coverage@2:-2", "--catalogue", "past.csv")
    result = json_of("gate.json", *GATE, *BOUNDS, *guards, "--by", "engagement")
    assert (result["unjudged"]["n_items"], result["unjudged"]["n_labels"]) == (24, 1)
    has_no_range = [claim["measure"] for claim in result["claims"] if claim["unjudged"] is None]
    assert has_no_range == ["coverage@2"]


def test_labels_file_has_the_items_that_settle_the_order(podium: Run) -> None:
    done = podium(*GATE, *BOUNDS, "--labels", "labels.parquet", "--format", "json")
    labels = pl.read_parquet("labels.parquet")
    expected = library.gate("truth.csv", "a.csv", "b.csv", "rr", unjudged="bounds")
    assert expected.labels_to_settle is not None
    assert labels.to_dict(as_series=False) == {
        name: ids.tolist() for name, ids in expected.labels_to_settle.items()
    }
    # The labels, all not relevant, leave no judgement that reverses the order.
    judged = labels.with_columns(relevance=pl.lit(0, pl.Int64))
    pl.concat([pl.read_csv("truth.csv"), judged]).write_csv("truth.csv")
    before = json.loads(done.out)["claims"][0]
    again = json.loads(podium(*GATE, *BOUNDS, "--labels=labels.csv", "--format=json").out)
    assert before["unjudged"]["can_reverse"]
    assert not again["claims"][0]["unjudged"]["can_reverse"]
    assert again["claims"][0]["difference"] == before["difference"]
    assert Path("labels.csv").read_text() == "user,item\n"


REFUSED = """
--labels l.csv | --labels '--unjudged bounds'
--unjudged bounds --labels l.txt | --labels .parquet
--unjudged bounds --labels no/l.csv | --labels no/l.csv
--unjudged bounds --labels l.csv --out l.csv | '--out l.csv' '--labels l.csv'
--unjudged bounds --state s | '--unjudged bounds' --state
--unjudged bounds --guard pap@3:0 | '--unjudged bounds' pap@3
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    refuses(shlex.join(GATE), REFUSED)
    rows = "".join(f"{u},{i},1\n" for u in range(4) for i in (0, 9))
    Path("a.csv").write_text("user,item,score\n" + rows)
    refuses(shlex.join(GATE), "--unjudged bounds | '--unjudged bounds' '--ties id'")
