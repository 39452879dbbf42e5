"""Losses by name, and margins: bad input, and groups without a value."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import _margins as theory
from podium.rankers import LightGBMRanker, LinearRanker


def test_get_reads_the_cutoff_from_the_name() -> None:
    assert losses.get("pap-avg@7") == losses.get("pap-avg", k=7) == losses.PApAverage(7)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("pap-avg", True),
        (" pap-avg @7", True),
        ("listmle(head=relevant)@10", True),
        ("listmle(", True),  # what is wrong with it is for parse to say
        ("rank_xendcg", False),
        ("pap", False),
        ("", False),
    ],
)
def test_registered_name_is_seen_in_a_text(text: str, is_one: bool) -> None:
    assert losses.is_registered(text) is is_one


@pytest.mark.parametrize("name", sorted(losses.REGISTRY))
def test_spec_survives_json(name: str) -> None:
    known = {field.name for field in dataclasses.fields(losses.REGISTRY[name])}
    others = {"k": 3, "clip": True, "weight": 2.0, "temperature": 0.5}
    others |= {"min_relevance": 2.0, "n_orders": 3, "head": "relevant", "scale": 0.5}
    given = {param: value for param, value in others.items() if param in known}
    loss = losses.get(name, **given)
    text = ",".join(f"{param}={value}" for param, value in given.items())
    assert losses.get(f"{name}({text})") == losses.parse(str(loss)) == loss
    assert losses.from_spec(json.loads(json.dumps(losses.spec(loss)))) == loss


class _NoSubclass:
    def prepare(self, relevance: Any, groups: Any, *, weights: Any = None, rng: Any = None) -> Any:
        return groups

    def value_and_grad(self, scores: Any, target: Any) -> Any:
        return np.zeros(target.n_groups), np.zeros(scores.size)

    def curvature(self, scores: Any, target: Any) -> Any:
        return np.ones(scores.size)


@pytest.mark.parametrize("ranker", [LinearRanker, LightGBMRanker])
def test_a_loss_that_is_no_subclass_is_refused(ranker: Any) -> None:
    with raises(ArgumentError, "loss"):
        ranker(_NoSubclass()).fit([[0.0], [1.0]], [0, 1], [0, 0])
    with pytest.raises(ArgumentError):
        losses.spec(object())


def test_a_loss_of_three_methods_has_every_declaration() -> None:
    class Own(_NoSubclass, losses.Loss):
        pass

    loss = Own()
    assert (loss.name, loss.reads_groups, loss.draws, loss.k) == ("Own", True, False, None)
    target = loss.prepare(np.ones(2), Groups.single(2))
    assert len(loss.value_grad_and_curvature(np.zeros(2), target)) == 3
    assert loss.why_undefined(target).endswith("is defined on no group.")
    with pytest.raises(TypeError, match="k"):
        losses.PApRamp()  # pyright: ignore[reportCallIssue]


def test_rows_in_any_order_and_groups_without_a_value() -> None:
    assert theory.margins([1.5e308, -1.5e308], [1, 0], k=1).strong.tolist() == [np.inf]
    qid = np.array(["b", "a", "b", "c", "a", "b", "d", "a"])
    relevance = [1, 0, 0, 1, 1, 0, 0, 2]
    scores = [2.0, 0.0, 0.5, 1.0, 4.0, 1.0, 1.0, 3.0]
    m = theory.margins(scores, relevance, qid, k=2, clip=True)
    assert m.groups.labels.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(m.weak, [3.0 - 0.0, 2.0 - 1.0, np.nan, np.nan])
    np.testing.assert_array_equal(m.plain, [(4.0 + 3.0) / 2 - 0.0, 1.0, np.nan, np.nan])
    assert m.defined.tolist() == m.holds("strong").tolist() == [True, True, False, False]
    assert not any(sure[2:].any() for sure in m.guarantees().values())
    strict = theory.margins(scores, relevance, qid, k=2)
    np.testing.assert_array_equal(strict.weak, [np.nan, 2.0 - 1.0, np.nan, np.nan])
    graded = theory.margins(scores, relevance, qid, k=1, min_relevance=2)
    np.testing.assert_array_equal(graded.strong, [3.0 - 4.0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(
    "change",
    [
        *({"k": 0}, {"delta": -1.0}, {"delta": np.inf}, {"clip": "no"}, {"min_relevance": 0}),
        *({"scores": [1.0, np.nan]}, {"scores": [1.0]}, {"qid": [7]}, {"relevance": [1, -1]}),
    ],
)
def test_bad_argument_is_named(change: dict[str, Any]) -> None:
    arguments = {"scores": [1.0, 0.0], "relevance": [1, 0], "qid": [7, 7], "k": 1, **change}
    with pytest.raises(ArgumentError, match=next(iter(change))):
        theory.margins(**arguments)
