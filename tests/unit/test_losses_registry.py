from __future__ import annotations

import json

import pytest

from podium import losses
from podium.errors import ArgumentError


def test_get_reads_the_cutoff_from_the_name() -> None:
    assert losses.get("pap-avg@7") == losses.get("pap-avg", k=7) == losses.PApAverage(7)


def test_names_are_these() -> None:
    assert sorted(losses.REGISTRY) == ["logistic", "pap-avg", "pap-max", "pap-ramp", "pap-ts"]


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
    cutoff = {} if name == "logistic" else {"k": 3, "clip": True}
    loss = losses.get(name, min_relevance=2.0, **cutoff)
    assert losses.from_spec(json.loads(json.dumps(losses.spec(loss)))) == loss


def test_spec_of_a_stranger_says_how_to_register_it() -> None:
    with pytest.raises(ArgumentError, match=r"not in the registry.*losses\.register"):
        losses.spec(object())
