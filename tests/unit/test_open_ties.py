"""Values that depend on an order of equal scores that nobody chose are said, and do not pass."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator

import podium
from podium.errors import PodiumWarning

SCHEMAS = Path(__file__).parents[2] / "docs/schemas"
Table = dict[str, Any]


def runs(n_users: int, n_tied: int) -> tuple[Table, Table, Table]:
    """Return a truth, a run whose first users have ties, and one that is right every other time.

    The ties are of a relevant and another item, so that precision@1 of these users is 0 or 1.
    """
    user = np.repeat(np.arange(n_users), 2)
    truth = {"user": np.arange(n_users), "item": np.zeros(n_users, int)}
    score = np.where(user < n_tied, 1.0, np.tile([0.0, 1.0], n_users))
    tied = {"user": user, "item": np.tile([0, 1], n_users), "score": score}
    is_right = user % 2 == 0
    other = np.where(is_right, np.tile([1.0, 0.0], n_users), np.tile([0.0, 1.0], n_users))
    return truth, tied, {**tied, "score": other}


def validate(name: str, result: Any) -> dict[str, Any]:
    content = json.loads(json.dumps(result.as_json(), allow_nan=False))
    Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text())).validate(content)
    return content


def random_tables(seed: int, n_users: int = 60, n_items: int = 12) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    user, item = np.repeat(np.arange(n_users), n_items), np.tile(np.arange(n_items), n_users)
    keep = rng.random(user.size) < 0.8
    run = {"user": user[keep], "item": item[keep], "score": rng.integers(0, 4, keep.sum()) * 1.0}
    is_judged = rng.random(user.size) < 0.4
    truth = {"user": user[is_judged], "item": item[is_judged]}
    return {**truth, "relevance": rng.integers(0, 3, is_judged.sum())}, run


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unjudged": "skip"},
        {"unretrieved": "drop"},
        {"score_above": 0.5},
        {"min_relevance": 2.0},
        {"missing": "zero", "undefined": "zero"},
        {"n_items": 40},
        {"like": "ranx", "missing": "zero", "min_relevance": 2.0},
    ],
)
def test_first_is_the_mean_under_best(options: dict[str, Any]) -> None:
    truth, run = random_tables(len(options))
    measures = ["ndcg@3", "ap", "rr", "precision@2", "recall@4"]
    if "like" not in options:
        measures += ["judged@3", "bpref", "topk_loss@2"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = podium.measure(truth, run, measures, **options)
        best = podium.measure(truth, run, measures, ties="best", **options)
    for name in measures:
        np.testing.assert_array_equal(result.best[name], best.values[name])
        effect = result.as_json()["measures"][name].get("ties")
        if effect is not None:
            assert effect["first"] == pytest.approx(best.means[name])
            assert effect["last"] == pytest.approx(result.means[name])
            assert effect["n_lists"] == int(
                (~np.isclose(result.values[name], best.values[name], equal_nan=True)).sum()
            )


def test_parts_and_memory_say_the_same(tmp_path: Path) -> None:
    truth, tied, other = runs(4000, 300)
    for name, table in (("t", truth), ("a", tied), ("b", other)):
        pl.DataFrame(table).write_parquet(tmp_path / f"{name}.parquet")
    t, a, b = (tmp_path / f"{name}.parquet" for name in "tab")
    results: list[Any] = []
    for memory in (None, "64KiB"):
        with pytest.warns(PodiumWarning, match="300 of 4,000"):
            results.append(
                [
                    podium.measure(t, a, "precision@1", memory=memory).as_json(),
                    podium.compare(t, {"a": a, "b": b}, "precision@1", memory=memory).as_json(),
                    podium.gate(t, a, b, "precision@1", memory=memory).as_json(),
                ]
            )
    assert results[0] == results[1]
    with pytest.warns(PodiumWarning):
        assert "300 of 4,000 lists" in str(podium.measure(t, a, "precision@1").to_report())
    assert results[0][1]["measures"]["precision@1"]["means"]["a"]["ties"]["n_lists"] == 300
    assert results[0][2]["ties"]["n_lists"] == 300


@pytest.mark.filterwarnings("ignore:.*order of equal scores")
@pytest.mark.parametrize(
    ("n_tied", "margin", "decisions", "verdict"),
    [
        (373, 0.0, ("pass", "fail"), "cannot tell"),
        (100, 0.0, ("pass", "pass"), "superior"),
        (245, 0.2, ("pass", "pass"), "non-inferior"),  # superior if relevant items are last
    ],
)
def test_a_verdict_is_the_one_that_holds_in_both_orders(
    n_tied: int, margin: float, decisions: tuple[str, str], verdict: str
) -> None:
    # The candidate is right for half of the users; the base for none, or for those with ties.
    truth, tied, other = runs(500, n_tied)
    result = podium.gate(truth, tied, other, "precision@1", margin=margin)
    assert (result.passed, result.verdict) == (decisions == ("pass", "pass"), verdict)
    assert result.ties is not None
    assert (result.ties.decisions, result.ties.n_lists) == (decisions, n_tied)
    assert f"{n_tied} of 500 users" in " ".join(str(result).split())
    assert validate("gate", result)["ties"]["claims_first"][0]["base"] == pytest.approx(
        n_tied / 500
    )
    for ties, decision in zip(("worst", "best"), decisions, strict=True):
        options: Any = {"ties": ties, "margin": margin}
        assert podium.gate(truth, tied, other, "precision@1", **options).decision == decision


@pytest.mark.filterwarnings("ignore:.*order of equal scores")
def test_a_look_that_depends_on_ties_does_not_pass(tmp_path: Path) -> None:
    truth, tied, other = runs(500, 373)
    early = {name: column[:200] for name, column in truth.items()}
    for name, ties in (("open", {}), ("chosen", {"ties": "worst"})):
        options: Any = {"sequential": True, "state": tmp_path / name, **ties}
        looks = [podium.gate(t, tied, other, "precision@1", **options) for t in (early, truth)]
        assert [look.passed for look in looks] == [bool(ties)] * 2
    assert podium.gate(truth, tied, other, "precision@1", **options).passed
