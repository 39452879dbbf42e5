"""docs/spark.md: what it does without Spark has the bits of whole tables."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pages.page import code, section

import podium
from podium.evaluation import Evaluation, compare_evaluations

pa: Any = import_module("pyarrow")

N_USERS, N_PARTS = 200, 7


def tables(*, text: bool) -> dict[str, pl.DataFrame]:
    """Return a truth with negatives and two runs; each table lacks users of the others."""
    rng = np.random.default_rng(0)
    made: dict[str, pl.DataFrame] = {}
    for name, first in (("truth", 0), ("old", 20), ("new", 10)):
        user = np.repeat(np.arange(first, N_USERS + first), 12)
        item = np.argsort(rng.random((N_USERS, 30)))[:, :12].ravel()
        value = rng.integers(0, 3, user.size)
        column = "relevance" if name == "truth" else "score"
        frame = pl.DataFrame({"user": user, "item": item, column: value})
        made[name] = frame.with_columns(pl.format("u{}", "user").alias("user")) if text else frame
    return made


def evaluated(names: dict[str, Any], truth: pl.DataFrame, run: pl.DataFrame) -> Evaluation:
    """Measure all parts with the functions of the page, in the place of Spark, and join them."""
    part = pl.col("user").hash(seed=0) % N_PARTS
    schema = names["schema_of_users"](text=truth["user"].dtype == pl.String)
    values = [
        names["measured"](*(t.filter(part == i).to_arrow() for t in (truth, run)), schema, 0)
        for i in range(N_PARTS)
    ]
    return names["evaluation"](pa.concat_tables(values))


@pytest.mark.parametrize("text", [False, True], ids=["integers", "text"])
def test_parts_joined_have_the_bits_of_whole_tables(text: bool) -> None:
    names: dict[str, Any] = {}
    for title in ("Measure one part", "Join the values"):
        exec(compile(code(section("spark.md", title), "python")[0], "spark.md", "exec"), names)
    truth, *runs = (tables(text=text)[name] for name in ("truth", "old", "new"))
    by_name: dict[str, pl.DataFrame] = dict(zip(("old", "new"), runs, strict=True))
    expected = podium.compare(truth, by_name, names["PROTOCOL"].replace(ties="worst"))
    actual = {name: evaluated(names, truth, run) for name, run in by_name.items()}
    for name, evaluation in expected.evaluations.items():
        np.testing.assert_array_equal(evaluation.labels, actual[name].labels)
        np.testing.assert_array_equal(evaluation.n_pos, actual[name].n_pos)
        for measure, values in evaluation.values.items():
            assert values.tobytes() == actual[name].values[measure].tobytes()
    compared = compare_evaluations(actual)
    assert compared.differences == expected.differences
    assert compared.as_json()["measures"] == expected.as_json()["measures"]
