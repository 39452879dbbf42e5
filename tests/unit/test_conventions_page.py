"""docs/conventions.md names every rule, option and value that the code knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podium._ties import TIES_OF_LISTS
from podium.data import build
from podium.evaluation import from_rankings
from podium.metrics import REGISTRY, choices

PAGE = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text()
POLICIES = {
    "ties": TIES_OF_LISTS,
    "undefined": from_rankings.UNDEFINED,
    "missing": build.MISSING,
    "unjudged": build.UNJUDGED,
}


def row(convention: str) -> str:
    """The line of the first table that begins with a convention's name."""
    (line,) = (x for x in PAGE.splitlines() if x.startswith("| [") and f"`{convention}`" in x)
    return line


@pytest.mark.parametrize("policy", POLICIES)
def test_every_value_of_a_policy_is_in_its_row(policy: str) -> None:
    for value in POLICIES[policy]:
        assert f"`{value}`" in row(policy)


def test_every_tie_rule_has_a_line_of_its_own() -> None:
    for rule in TIES_OF_LISTS:
        assert re.search(rf"^\| `{rule}`", PAGE, re.M)


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


def test_measures_are_said_to_average_exactly_where_they_do() -> None:
    exact, half, refused = re.findall(
        r"^- (?:the exact|a tied pair|refused).*?(?=^- |^$)", PAGE, re.M | re.S
    )
    for name, metric in REGISTRY.items():
        named = f"`{name}`"
        assert (named in exact) == metric.linear
        assert (named in half.split("(")[0]) == metric.half_pairs
        assert (named in refused) == (not metric.linear and not metric.half_pairs)


def test_links_inside_the_page_lead_somewhere() -> None:
    titles = re.findall(r"^#+ (.+)$", PAGE, re.M)
    anchors = {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors
