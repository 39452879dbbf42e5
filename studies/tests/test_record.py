"""Every recipe on small data gives its record, and its page can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.tests.record import recipes
from tests.record import text

RECORD = text.read("recipes", Path(__file__).with_name("record"))
SLOW = "topk-consistency"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name == SLOW else [])
        for name in recipes.SMALL
    ],
)
def test_recipe_gives_its_record(name: str) -> None:
    found = {name: recipes.small(name)}
    assert text.differences({name: RECORD[name]}, found, close=True) == []
