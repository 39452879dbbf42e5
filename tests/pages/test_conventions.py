"""The page of conventions names every rule, option and value that the code knows."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from tests.pages.page import page
from tools.coming_from import BOOSTING, PODIUM, TITLES

from podium import presets
from podium._ties import TIES_OF_LISTS
from podium.data import build
from podium.evaluation import from_rankings
from podium.metrics import REGISTRY, parse
from podium.metrics.measures import choices
from podium.presets import Preset

PAGE = page("conventions.md")
POLICIES = {
    "ties": TIES_OF_LISTS,
    "undefined": from_rankings.UNDEFINED,
    "missing": build.MISSING,
    "unjudged": build.UNJUDGED,
    "unretrieved": build.UNRETRIEVED,
}
PACKAGES = (*map(presets.get, presets.PACKAGES), *BOOSTING)


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


def differing(preset: Preset) -> set[str]:
    """The conventions that a package, or one of its metrics, has otherwise than podium."""
    forms = preset.metrics.values()
    rules = [asdict(preset.conventions), *(dict(form.conventions) for form in forms)]
    usual = asdict(PODIUM)
    of_lists = {name for part in rules for name, value in part.items() if value != usual[name]}
    return of_lists | {
        name
        for key, form in preset.metrics.items()
        for name, value in form.options.items()
        if value != parse(key.replace("@k", "@10")).metric.options[name]
    }


def test_last_column_links_to_the_packages_that_differ() -> None:
    linked: set[tuple[str, str, str]] = set()
    for line in (x for x in PAGE.splitlines() if x.startswith("| [")):
        links = re.findall(r"\[([\w-]+)\]\(coming-from/(\w+)\.md\)", line.split("|")[5])
        names = re.findall(r"`(\w+)`", line.split("](")[0])
        linked |= {(name, *link) for name in names if name != "discount" for link in links}
    assert linked == {  # discount, which shares the row of gain, is log2 in all packages
        (name, TITLES[preset.name].split()[0], "boosting" if preset in BOOSTING else preset.name)
        for preset in PACKAGES
        for name in differing(preset)
    }


def test_names_of_the_page_are_those_measures() -> None:
    table = PAGE.split("## Names of measures")[1].split("## ")[0]
    rows = re.findall(r"^\| (`.*?) \| `(.*?)` \|", table, re.M)
    assert len(rows) > 10
    for texts, measure in rows:
        for text in re.findall(r"`(.*?)`", texts):
            assert parse(text).canonical == measure
