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
SAID = r"order of equal scores"
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


def test_measure_says_how_many_lists_and_between_which_values() -> None:
    truth, tied, _ = runs(200, 150)
    with pytest.warns(PodiumWarning, match="150 of 200 .* between 0.0000 .* and 0.7500"):
        result = podium.measure(truth, tied, ["precision@1", "recall@2"])
    content = validate("evaluation", result)["measures"]
    assert content["precision@1"]["ties"] == {
        "n_lists": 150,
        "n_groups": 200,
        "last": 0.0,
        "first": 0.75,
    }
    assert "ties" not in content["recall@2"]  # both orders have both items
    report = json.dumps(result.to_report())
    assert "150 of 200 lists" in report


def random_tables(seed: int, n_users: int = 60, n_items: int = 12) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    user, item = np.repeat(np.arange(n_users), n_items), np.tile(np.arange(n_items), n_users)
    keep = rng.random(user.size) < 0.8
    run = {"user": user[keep], "item": item[keep], "score": rng.integers(0, 4, keep.sum()) * 1.0}
    is_judged = rng.random(user.size) < 0.4
    truth = {"user": user[is_judged], "item": item[is_judged]}
    return {**truth, "relevance": rng.integers(0, 3, is_judged.sum())}, run


@pytest.mark.parametrize("seed", range(4))
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
    ],
)
def test_first_is_the_mean_under_best(seed: int, options: dict[str, Any]) -> None:
    truth, run = random_tables(seed)
    measures = ["ndcg@3", "ap", "rr", "precision@2", "recall@4", "judged@3", "bpref", "topk_loss@2"]
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
    assert results[0][1]["measures"]["precision@1"]["means"]["a"]["ties"]["n_lists"] == 300
    assert results[0][2]["ties"]["n_lists"] == 300


@pytest.mark.filterwarnings(f"ignore:.*{SAID}")
def test_gate_that_depends_on_ties_does_not_pass() -> None:
    truth, tied, other = runs(500, 373)
    # The candidate is right for half of the users; the base for none of them, or for 373 of 500.
    result = podium.gate(truth, tied, other, "precision@1")
    assert (result.decision, result.passed, result.verdict) == ("cannot tell", False, "cannot tell")
    assert result.ties is not None
    assert result.ties.decisions == ("pass", "fail")
    assert result.ties.n_lists == 373
    text = " ".join(str(result).split())
    assert "373 of 500 users" in text
    for words in ("superior", "inferior", "Relevant items last", "Relevant items first"):
        assert words in text
    content = validate("gate", result)
    assert content["ties"]["claims_first"][0]["base"] == pytest.approx(373 / 500)
    for ties, decision in (("worst", "pass"), ("best", "fail")):
        chosen: Any = ties
        assert podium.gate(truth, tied, other, "precision@1", ties=chosen).decision == decision


@pytest.mark.filterwarnings(f"ignore:.*{SAID}")
def test_gate_names_ties_that_do_not_decide() -> None:
    truth, tied, other = runs(500, 100)
    result = podium.gate(truth, tied, other, "precision@1")
    assert (result.decision, result.verdict) == ("pass", "superior")
    assert "100 of 500 users" in " ".join(str(result).split())
    validate("gate", result)


@pytest.mark.filterwarnings(f"ignore:.*{SAID}")
def test_a_verdict_is_the_one_that_holds_in_both_orders() -> None:
    truth, tied, other = runs(500, 245)
    result = podium.gate(truth, tied, other, "precision@1", margin=0.2)
    assert result.ties is not None
    assert result.ties.decisions == ("pass", "pass")
    assert [c.verdict for c in (result.ties.last[0], result.ties.first[0])] == [
        "superior",
        "non-inferior",
    ]
    assert (result.passed, result.verdict) == (True, "non-inferior")


@pytest.mark.filterwarnings(f"ignore:.*{SAID}")
def test_a_look_that_depends_on_ties_does_not_pass(tmp_path: Path) -> None:
    truth, tied, other = runs(500, 373)
    early = {name: column[:200] for name, column in truth.items()}
    for name, ties in (("open", {}), ("chosen", {"ties": "worst"})):
        options: Any = {"sequential": True, "state": tmp_path / name, **ties}
        looks = [podium.gate(t, tied, other, "precision@1", **options) for t in (early, truth)]
        assert [look.passed for look in looks] == [bool(ties)] * 2
    assert podium.gate(truth, tied, other, "precision@1", **options).passed
