"""The public root: what it offers, and that each name loads what it says."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

import podium

ROOT = Path(__file__).resolve().parents[2]
WITH_ALL = "catalogue data demo evaluation losses metrics plots rankers report sampled tuning"


def test_all_is_sorted_and_is_what_the_root_can_load() -> None:
    assert podium.__all__ == sorted(set(podium.__all__))
    assert set(podium._HOME) < set(podium.__all__)
    assert dir(podium) == podium.__all__


@pytest.mark.parametrize("name", podium.__all__)
def test_public_name_resolves_to_one_object(name: str) -> None:
    assert getattr(podium, name) is getattr(podium, name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'podium' has no attribute 'topn'"):
        podium.topn  # noqa: B018


@pytest.mark.parametrize("name", WITH_ALL.split())
def test_package_offers_each_name_in_its_all_once(name: str) -> None:
    module = importlib.import_module(f"podium.{name}")
    names: list[str] = module.__all__
    assert len(set(names)) == len(names) > 0
    assert all(getattr(module, each) is not None for each in names)


def test_command_line_is_the_one_that_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["podium"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
