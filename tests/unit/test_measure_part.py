"""Parts of larger tables: their values, joined, have the bits of the whole tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import polars as pl
import pytest
from tests.raised import raises
from tests.unit.test_in_buckets import FEW, assert_equal, tables

import podium
from podium.errors import ArgumentError, DataError, UnsettledError
from podium.evaluation import Evaluation, measure_part, merge

pytestmark = pytest.mark.filterwarnings("ignore:.*order of equal scores")

pa: Any = import_module("pyarrow")

N_PARTS = 12
RULES_OF_MEANS = ("undefined", "interval", "seed")


def in_part(i: int) -> pl.Expr:
    """Return whether the user of each row is in a part."""
    return pl.col("user").cast(pl.String).hash(seed=0) % N_PARTS == i


def divided(frame: pl.DataFrame) -> list[Any]:
    """Return the rows of each part as Arrow tables."""
    return [frame.filter(in_part(i)).to_arrow() for i in range(N_PARTS)]


def parts_of(truth: pl.DataFrame, run: pl.DataFrame, *args: Any, **options: Any) -> Evaluation:
    """Measure all parts and join them."""
    lowest: Any = truth["relevance"].min() if "relevance" in truth.columns else 1

    def parts() -> Iterator[Evaluation]:
        for of_truth, of_run in zip(divided(truth), divided(run), strict=True):
            yield measure_part(of_truth, of_run, *args, lowest=lowest, **options)

    return merge(parts())


def without_rules_of_means(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation whose conventions are those of lists."""
    lists = {n: v for n, v in evaluation.conventions.items() if n not in RULES_OF_MEANS}
    return replace(evaluation, conventions=lists)


@pytest.mark.parametrize("whole", [True, False])
def test_lists_of_absent_users_are_whole_if_the_caller_says_so(whole: bool) -> None:
    frames = tables(whole=True)
    users = frames["truth"]["user"].unique().sort().to_list()
    run = frames["a"].filter(~pl.col("user").is_in(users[::9]))
    if not whole:  # one list lacks items
        run = run.filter((pl.col("user") != users[1]) | (pl.col("item") % 2 == 0))
    measures = [*FEW, "auc@5"]
    expected = podium.measure(frames["truth"], run, measures, missing="zero")
    options: dict[str, Any] = {"missing": "zero"}
    actual = parts_of(frames["truth"], run, measures, lists_whole=whole, **options)
    assert_equal(without_rules_of_means(expected), actual)
    with raises(ArgumentError, "missing"):
        parts_of(frames["truth"], run, measures, **options)
    if whole:
        wrong = parts_of(frames["truth"], run, measures, lists_whole=False, **options)
        assert wrong.means["pap@3"] < expected.means["pap@3"]
    else:
        with pytest.raises(ArgumentError, match=f"that of user {users[1]} has others"):
            parts_of(frames["truth"], run, measures, lists_whole=True, **options)


TRUTH = pa.table({"user": [1, 2], "item": [7, 7], "relevance": [1, 2]})
RUN = pa.table({"user": [1], "item": [7], "score": [0.5]})
NULLS = pa.table({"user": pa.array([None], pa.int64()), "item": [7], "score": [0.5]})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, ArgumentError),
        ({"missing": "none"}, ArgumentError),
        *(({"lowest": lowest}, ArgumentError) for lowest in (2, None, float("nan"))),
        ({"unjudged": "bounds"}, ArgumentError),
        ({"measures": "coverage@2", "missing": "skip"}, ArgumentError),
        ({"measures": "auc", "missing": "skip"}, UnsettledError),
        ({"truth": TRUTH.slice(0, 0), "run": NULLS}, DataError),
        ({"run": RUN.select(["user", "item"])}, DataError),
        ({"truth": TRUTH.rename_columns(["user", "item", "rating"])}, ArgumentError),
    ],
)
def test_wrong_parts_are_refused(options: dict[str, Any], error: Any) -> None:
    arguments: dict[str, Any] = {"truth": TRUTH, "run": RUN, "measures": "rr", "lowest": 1}
    with pytest.raises(error) as caught:
        measure_part(**arguments | options)
    assert caught.type is error


def test_parts_may_lack_judgements_or_rows() -> None:
    for ids in ([1, 2], ["a", "b"]):
        truth = pa.table({"user": ids, "item": [7, 7]})
        run = pa.table({"user": ids, "item": [7, 8], "score": [0.5, 0.5]})
        some, none = (measure_part(rows, run, "rr", lowest=1) for rows in (truth, truth[:0]))
        assert (none.n_groups, none.per_user().column_names) == (0, ["user", "n_pos", "rr"])
        assert_equal(merge([none, some, none]), some)
    for missing, values in (("zero", [[0.0, 0.0], [1.0, 1.0]]), ("skip", [[], []])):
        options: Any = {"lowest": 1, "missing": missing}
        found = measure_part(TRUTH, RUN.slice(0, 0), ["rr", "topk_loss@5"], **options)
        assert [column.tolist() for column in found.values.values()] == values
