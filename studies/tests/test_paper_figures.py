"""The pages of papers show the stored figures of the recipes."""

from __future__ import annotations

import math

import pytest
from studies.tools import paper_figures

from podium_studies.recipe import load


def test_regions_of_the_pages_are_generated() -> None:
    assert paper_figures.pages()
    for path, text in paper_figures.pages().items():
        assert path.read_text(encoding="utf-8") == text, (
            "run: python studies/tools/paper_figures.py"
        )


@pytest.mark.parametrize("name", paper_figures.names())
def test_stored_figures_are_those_of_the_recipe(name: str) -> None:
    recipe = load(name)
    stored = paper_figures.verdict(recipe)
    assert [line.key for line in stored.lines if line.printed is not None] == list(recipe.printed)
    assert all(math.isfinite(line.measured.value) for line in stored.lines)
