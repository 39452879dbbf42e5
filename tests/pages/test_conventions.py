"""The page of conventions names every rule, option and value that the code knows."""

from __future__ import annotations

import re
import typing

import pytest
from tests.pages.page import page

from podium.metrics import REGISTRY, parse
from podium.metrics.measures import choices
from podium.protocol import Conventions

PAGE = page("conventions.md")
POLICIES = {
    name: typing.get_args(hint)
    for name, hint in typing.get_type_hints(Conventions).items()
    if typing.get_origin(hint) is typing.Literal
}


def row(convention: str) -> str:
    """The line of the first table that begins with a convention's name."""
    (line,) = (x for x in PAGE.splitlines() if x.startswith("| [") and f"`{convention}`" in x)
    return line


@pytest.mark.parametrize("policy", POLICIES)
def test_every_value_of_a_policy_is_in_its_row(policy: str) -> None:
    for value in POLICIES[policy]:
        assert f"`{value}`" in row(policy)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_metric_and_each_of_its_option_values_is_named(name: str) -> None:
    metric = REGISTRY[name]
    assert re.search(rf"\b{re.escape(name.removesuffix('@k'))}\b", PAGE)
    for option, default in metric.options.items():
        line = row(option)
        if isinstance(default, bool):
            assert "`false`, `true`" in line
        elif isinstance(default, float):
            assert f" {default:g} " in line
        else:
            assert f"`{default}`" in line.split("|")[2]
            assert all(f"`{value}`" in line for value in choices(metric, option))


def test_names_of_the_page_are_those_measures() -> None:
    table = PAGE.split("## Names of measures")[1].split("## ")[0]
    rows = re.findall(r"^\| (`.*?) \| `(.*?)` \|", table, re.M)
    assert len(rows) > 10
    for texts, measure in rows:
        for text in re.findall(r"`(.*?)`", texts):
            assert parse(text).canonical == measure
