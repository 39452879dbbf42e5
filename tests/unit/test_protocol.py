"""Laws of protocols: their text and digest, what they refuse, and what takes the place of what."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from tests.raised import raises

import podium
from podium import presets, types
from podium._fields import FIELDS
from podium.errors import ArgumentError
from podium.protocol import EXCLUSIONS, Protocol, ProtocolFields
from podium.protocol.conventions import KINDS
from podium.testing.strategies import all_measures

TABLES: Any = {"user": [1, 2], "item": [1, 3]}, {"user": [1], "item": [1], "score": [0.9]}
RULES = ("low_grades", "ties", "missing", "unjudged", "unretrieved", "undefined")
NAMES = ("by", "weight", "cluster", "user", "item", "relevance", "score", "rank", "parent")
ALL = all_measures()
EACH = st.integers(0, len(ALL) - 1).map(lambda place: ALL[place])  # hypothesis warns of long reprs
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "measures": st.lists(EACH, unique=True, min_size=1, max_size=3),
    "like": st.sampled_from(presets.PACKAGES),
    **{name: st.from_type(vars(types)[name.title().replace("_", "")]) for name in RULES},
    **dict.fromkeys(("single_precision", "rows_ranked"), st.booleans()),
    **dict.fromkeys(("min_relevance", "score_above"), st.floats(1e-9, 9)),
    **dict.fromkeys(
        ("n_items", "ties_seed", "bootstrap_seed", "n_permutations"), st.integers(1, 9)
    ),
    "level": st.floats(1e-9, 0.999),
    "interval": st.from_type(types.IntervalMethod),
    **dict.fromkeys(NAMES, st.text()),
    "margin": st.floats(0, 1),
    **dict.fromkeys(("guards", "at_least"), st.dictionaries(EACH, st.floats(-1, 1), max_size=2)),
    "sequential": st.booleans(),
    "horizon": st.integers(1, 9),
}


def possible(fields: dict[str, Any]) -> Protocol:
    try:
        return Protocol.of(**fields)
    except ArgumentError:
        reject()


PROTOCOLS = st.fixed_dictionaries({}, optional=VALUES).map(possible)


@given(PROTOCOLS)
@example(Protocol.of("ndcg", user="\x7f"))
def test_text_is_read_as_an_equal_value_with_the_same_digest(protocol: Protocol) -> None:
    for fields in (tomllib.loads(protocol.to_toml()), protocol.as_json()):
        assert Protocol.of_json(fields) == protocol
    changes: Any = {**dict.fromkeys(NAMES, "x"), "level": 0.5, "bootstrap_seed": 10}
    other = protocol.replace(interval="t", **changes)
    assert other.digest() == protocol.digest()
    is_drawn = "random" in {protocol.conventions(m).ties for m in protocol.measures}
    assert (other.replace(ties_seed=10).digest() != protocol.digest()) == is_drawn


@pytest.mark.parametrize(("first", "second"), [pair[:2] for pair in EXCLUSIONS])
def test_exclusions_are_refused_before_and_by_a_call(first: str, second: str) -> None:
    some = {"score_above": "0.5", "n_items": 9, "like": "ranx"}
    facts = [fact.partition("=") for fact in (first, second) if fact not in KINDS]
    fields: Any = {name: value or some[name] for name, _, value in facts}
    wrong = [m for m in all_measures() if second in KINDS and KINDS[second](m)]
    for call in (Protocol.of, lambda *given, **more: podium.measure(*TABLES, *given, **more)):
        with pytest.raises(ArgumentError, match=f"{facts[0][0]}.* can't be combined with"):
            call(wrong[:1] or "ndcg@5", **fields)


def test_fields_are_declared_once_checked_and_named() -> None:
    assert [name.replace("package", "like") for name in vars(Protocol())] == list(FIELDS)
    assert FIELDS.keys() == VALUES.keys() == ProtocolFields.__annotations__.keys()
    for name in FIELDS:
        with raises(ArgumentError, name):
            Protocol.of(**{name: object()})
        with pytest.raises(ArgumentError, match=f"Did you mean '{name}'"):
            Protocol.of(**{f"{name}{name[-1]}": 1})


@pytest.mark.parametrize("package", presets.PACKAGES)
def test_a_package_replaces_conventions_and_fields_those_of_the_package(package: Any) -> None:
    kept: Any = {"min_relevance": 2.0, "level": 0.9}
    other: Any = {"ties": "average", "missing": "zero"}
    stated = Protocol.of(ties="best", undefined="one", **kept)
    of_package = stated.replace(like=package)
    assert of_package.stated() == {**kept, "like": package}
    override = of_package.replace(**other)
    assert override == stated.replace(like=package, **other)
    before, after = (vars(p.conventions()) for p in (of_package, override))
    assert {**before, **other, "open_ties": False} == after
