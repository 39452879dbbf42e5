"""Recipes as they are shipped: each can be read, and names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podium.errors import ArgumentError, DataError
from podium_studies import recipe as recipes
from podium_studies.runner import study_of

ROOT = Path(__file__).resolve().parents[2]
each_recipe = pytest.mark.parametrize("name", recipes.names())

TEXT = """
title = "A table"
paper = "hiranandani2020"
where = "Table 9"
study = "table1"
repeats = 3
tolerance = 0.5

[tolerances]
"b" = 2.0

[parameters]
k = 4

[printed]
a = 1.0
b = 2.0

[[claims]]
text = "a is positive"
figure = "a"
above = 0.0

[[data]]
folder = "set"
title = "A set"
url = "https://example.org"
licence = "free"

[[data.files]]
name = "x.csv"
sha256 = "ab"
"""


@each_recipe
def test_recipe_has_all_that_a_reader_needs(name):
    recipe = recipes.load(name)
    assert recipe.name == name
    assert recipe.minutes > 0
    assert recipe.notes or recipe.data
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(), re.M)
    assert recipe.paper in keys
    cells = list(study_of(recipe).cells(recipe))
    assert len(set(cells)) == len(cells) > 0
    assert set(recipe.tolerances) <= set(recipe.printed)
    assert all((c.above is None) != (c.below is None) for c in recipe.claims)


def test_recipe_is_what_its_text_says():
    recipe = recipes.read("made-up", TEXT)
    assert (recipe.name, recipe.repeats, recipe.parameters["k"]) == ("made-up", 3, 4)
    assert (recipe.tolerance, recipe.tolerances) == (0.5, {"b": 2.0})
    assert recipe.claims[0].above == 0.0
    assert recipe.data[0].files[0].sha256 == "ab"


@pytest.mark.parametrize(
    ("old", "new"),
    [("repeats = 3", "repeat = 3"), ("licence =", "license ="), ("k = 4", "k = ")],
)
def test_recipe_with_a_slip_is_an_error_that_names_it(old, new):
    with pytest.raises(DataError):
        recipes.read("made-up", TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("k = 4", "k = 5", False),
        ("repeats = 3", "seed = 1", False),
        ('"ab"', '"cd"', False),
        ("repeats = 3", "repeats = 9", True),
        ("a = 1.0", "a = 7.0", True),
    ],
)
def test_fingerprint_tells_what_a_cell_depends_on(old, new, is_same):
    first, second = (recipes.read("r", text) for text in (TEXT, TEXT.replace(old, new)))
    assert (first.fingerprint == second.fingerprint) == is_same


def test_repeats_are_the_callers_where_there_are_any():
    recipe = recipes.read("r", TEXT)
    assert recipe.repeated(None) is recipe
    assert recipe.repeated(7).repeats == 7
    with pytest.raises(ArgumentError):
        recipe.repeated(0)
    with pytest.raises(ArgumentError):
        recipes.read("r", TEXT.replace("repeats = 3", "")).repeated(2)
