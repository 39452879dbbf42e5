from __future__ import annotations

import dataclasses
import json

import pytest

from podium import losses
from podium.errors import ArgumentError


def test_get_reads_the_cutoff_from_the_name() -> None:
    assert losses.get("pap-avg@7") == losses.get("pap-avg", k=7) == losses.PApAverage(7)


def test_names_are_these() -> None:
    assert sorted(losses.REGISTRY) == [
        "group-logistic",
        "logistic",
        "pap-avg",
        "pap-logistic",
        "pap-max",
        "pap-ramp",
        "pap-struct",
        "pap-ts",
        "pap-ts-exact",
        "pauc-hinge",
    ]


def test_a_name_may_stand_for_parameters() -> None:
    exact = losses.PApTightStruct(7, exact=True)
    assert losses.get("pap-ts-exact@7") == exact == losses.get("pap-ts@7", exact=True)
    assert (exact.name, losses.PApTightStruct(7).name) == ("pap-ts-exact", "pap-ts")
    assert losses.spec(exact) == losses.spec(losses.get("pap-ts-exact", k=7, exact=True))
    assert "exact" not in losses.spec(exact)
    assert losses.from_spec(losses.spec(exact)) == exact


def test_a_name_contradicted_says_what_it_stands_for() -> None:
    with pytest.raises(ArgumentError, match=r"pap-ts-exact stands for exact=True, got exact=False"):
        losses.get("pap-ts-exact@7", exact=False)


def test_declarations_follow_the_parameters() -> None:
    assert losses.PApTightStruct(7, exact=True).convex
    assert not losses.PApTightStruct(7).convex


def test_exact_must_be_a_flag() -> None:
    with pytest.raises(ArgumentError, match="exact must be True or False, got 'no'"):
        losses.PApTightStruct(7, exact="no")  # type: ignore[arg-type]


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r"loss must be one of .* Did you mean 'pap-avg'"):
        losses.get("pap-avrg@10")


def test_missing_cutoff_says_how_to_give_it() -> None:
    with pytest.raises(ArgumentError, match="pap-max needs k: write 'pap-max@10', or pass k=10"):
        losses.get("pap-max")


def test_cutoff_given_twice_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="k is given twice"):
        losses.get("pap-avg@10", k=5)


@pytest.mark.parametrize("name", ["pap-avg@0", "pap-avg@-1", "pap-avg@x", "pap-avg@"])
def test_bad_cutoff_names_k(name: str) -> None:
    with pytest.raises(ArgumentError, match="k must be an integer >= 1"):
        losses.get(name)


def test_unknown_parameter_lists_the_known() -> None:
    with pytest.raises(ArgumentError, match="logistic has no parameter 'k'"):
        losses.get("logistic@10")
    with pytest.raises(ArgumentError, match="Did you mean 'clip'"):
        losses.get("pap-ts@10", clp=True)


@pytest.mark.parametrize("name", sorted(losses.REGISTRY))
def test_spec_survives_json(name: str) -> None:
    known = {field.name for field in dataclasses.fields(losses.REGISTRY[name])}
    others = {"k": 3, "clip": True, "per": "group", "weight": 2.0, "temperature": 0.5}
    given = {param: value for param, value in others.items() if param in known}
    loss = losses.get(name, min_relevance=2.0, **given)
    assert losses.from_spec(json.loads(json.dumps(losses.spec(loss)))) == loss


def test_spec_of_a_stranger_says_how_to_register_it() -> None:
    with pytest.raises(ArgumentError, match=r"not in the registry.*losses\.register"):
        losses.spec(object())
