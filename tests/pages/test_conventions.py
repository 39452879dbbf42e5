"""The page of conventions names every option and value of a metric."""

from __future__ import annotations

import re

import pytest
from tests.pages.page import page

from podium.metrics import REGISTRY, parse
from podium.metrics.measures import choices

PAGE = page("conventions.md")


def row(convention: str) -> str:
    """The line of the second table that begins with a convention's name."""
    (line,) = (x for x in PAGE.splitlines() if x.startswith("| [") and f"`{convention}`" in x)
    return line


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
