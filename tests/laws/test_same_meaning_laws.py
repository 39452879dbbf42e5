"""Equivalent tables: results do not depend on their order, format and types of ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import podium
from podium import data
from podium.cli import main

MEASURES = ("pap@3", "ndcg@5", "ap@5", "recall(norm=min)@2", "err(max_grade=2)@4", "topk_loss@2")


def tables() -> dict[str, pl.DataFrame]:
    """Return a truth and two runs with many ties; as text, their ids have another order."""
    rng = np.random.default_rng(5)
    n_users, n_items = 23, 40
    users, items = np.divmod(np.flatnonzero(rng.random(n_users * n_items) < 0.3), n_items)
    truth = pl.DataFrame(
        {"user": users, "item": items, "relevance": rng.integers(0, 3, users.size)}
    )
    tables_by_name = {"truth": truth}
    for name in ("a", "b"):
        users, items = np.divmod(np.flatnonzero(rng.random(n_users * n_items) < 0.6), n_items)
        scores = rng.integers(0, 4, users.size) / 4
        tables_by_name[name] = pl.DataFrame({"user": users, "item": items, "score": scores})
    return tables_by_name


def shuffled(table: pl.DataFrame) -> pl.DataFrame:
    return table.sample(fraction=1.0, shuffle=True, seed=3)


def with_ids(kind: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.col("user", "item").cast(kind))


def as_text(kind: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.col("user", "item").cast(pl.String).cast(kind))


CHANGES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "rows in another order": shuffled,
    "rows backwards": lambda table: table.reverse(),
    "columns in another order": lambda table: table.select(reversed(table.columns)),
    "other names": lambda table: table.rename({"user": "USER_ID", "item": "item_id"}),
    "a column more": lambda table: table.with_columns(note=pl.lit("x, y")),
    "small integers": with_ids(pl.Int16),
    "unsigned integers": with_ids(pl.UInt64),
    "whole floats": with_ids(pl.Float64),
    "texts": as_text(pl.String),
    "categories": as_text(pl.Categorical),
    "texts in another order": lambda table: shuffled(as_text(pl.String)(table)),
    "numbers of 32 bits": lambda table: table.with_columns(
        pl.col("^(score|relevance)$").cast(pl.Float32)
    ),
}
SUFFIXES = (".csv", ".tsv", ".csv.gz", ".parquet", ".arrow")


@pytest.fixture
def results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that runs measure and compare, and returns their output by user."""

    def run(
        tables_by_name: dict[str, pl.DataFrame], ties: str, suffix: str = ".parquet"
    ) -> dict[str, Any]:
        for name, table in tables_by_name.items():
            data.write_table(table.to_dict(), tmp_path / f"{name}{suffix}")
        truth, a, b = (str(tmp_path / f"{name}{suffix}") for name in ("truth", "a", "b"))
        words = [word for m in MEASURES for word in ("-m", m)]
        options = [
            *words,
            f"--ties={ties}",
            "--interval=bootstrap",
            "--n-items=60",
            "--format=json",
        ]
        users = tmp_path / "users.parquet"
        result: dict[str, Any] = {}
        more_options = ["--by", "n_pos", "--pooled", "-m", "gini@2", "--catalogue", truth]
        for argv in (["measure", truth, a, *more_options], ["compare", truth, a, b]):
            with pytest.raises(SystemExit) as stop:
                main([*argv, *options, "--per-user", str(users)])
            printed = capsys.readouterr()
            assert (stop.value.code, printed.err) == (0, "")
            rows = pl.read_parquet(users).with_columns(pl.col("user").cast(pl.String))
            keys = [name for name in ("run", "user") if name in rows.columns]
            result[argv[0]] = json.loads(printed.out), rows.sort(keys).to_dict(as_series=False)
        return result

    return run


def same(one: Any, other: Any) -> bool:
    """Return whether two results are equal up to rounding, since the order of sums may differ."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, list(one), list(other)))
    return one == other or one == pytest.approx(other, rel=1e-12, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("what", CHANGES)
def test_tables_that_say_the_same_give_the_same(results: Callable[..., Any], what: str) -> None:
    tables_by_name, change = tables(), CHANGES[what]
    expected = results(tables_by_name, "random")
    changed = {name: change(table) for name, table in tables_by_name.items()}
    for suffix in (".csv", ".parquet"):
        assert same(expected, results(changed, "random", suffix)), suffix
    assert same(expected, results({**tables_by_name, "truth": changed["truth"]}, "random")), (
        "truth alone"
    )


def test_formats_give_the_same(results: Callable[..., Any]) -> None:
    expected = results(tables(), "random")
    for suffix in SUFFIXES:
        assert results(tables(), "random", suffix) == expected, suffix


@pytest.mark.parametrize("ties", ["best", "average", "random", "id"])
def test_users_may_be_renamed(ties: Any) -> None:
    """A new label changes the order and the draws of one user, and nothing of other users."""
    tables_by_name = tables()
    swapped = {
        name: table.with_columns(user=pl.col("user").replace({0: 10_000}))
        for name, table in tables_by_name.items()
    }
    original, renamed = (
        podium.measure(t["truth"], t["a"], ["ndcg@5"], ties=ties) for t in (tables_by_name, swapped)
    )
    assert original.values["ndcg@5"][1:].tolist() == renamed.values["ndcg@5"][:-1].tolist()


@pytest.mark.filterwarnings("ignore:.*order of equal scores")
def test_tests_do_not_depend_on_the_order_of_users() -> None:
    tables_by_name = tables()
    reversed_names = {
        name: table.with_columns(user=1000 - pl.col("user"))
        for name, table in tables_by_name.items()
    }
    original, renamed = (
        podium.compare(t["truth"], {"a": t["a"], "b": t["b"]}, ["ndcg@5"], interval="bootstrap")
        for t in (tables_by_name, reversed_names)
    )
    assert same(original.as_json(), renamed.as_json())
