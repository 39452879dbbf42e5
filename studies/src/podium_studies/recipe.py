"""Recipes: TOML files with a paper's printed figures and the data and settings to compute them."""

from __future__ import annotations

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from podium.errors import DataError
from podium_studies import checks
from podium_studies.study import Claim, DataFile, DataSet, Recipe


def names() -> list[str]:
    """Return the names of all recipes, sorted."""
    return sorted(_files())


def load(name: str) -> Recipe:
    """Read the recipe of this name.

    A recipe with the key "like" has all that it doesn't state from the recipe of that name.

    Raises
    ------
    ArgumentError
        If no recipe has this name; the message has the nearest one.

    Examples
    --------
    >>> load("pap-table1").where
    'Table 1'
    """
    files = _files()
    recipe_name = checks.choice(name, "recipe", sorted(files))
    return read(recipe_name, files[recipe_name].read_text(encoding="utf-8"))


def read(name: str, text: str) -> Recipe:
    """Parse the TOML text of a recipe; an unknown key raises DataError."""
    try:
        content = _content(text)
        for data in content.get("data", ()):
            data["files"] = tuple(DataFile(**file) for file in data.get("files", ()))
        for key, make in (("data", DataSet), ("claims", Claim)):
            content[key] = tuple(make(**given) for given in content.get(key, ()))
        content["notes"] = tuple(content.get("notes", ()))
        return Recipe(name=name, **content)
    except (TypeError, ValueError) as error:
        raise DataError(f"Recipe {name} can't be read: {error}.") from error


def _content(text: str) -> dict[str, Any]:
    """Return the content of a recipe's file, with that of the recipe it is like."""
    content = tomllib.loads(text)
    if "like" not in content:
        return content
    inherited = _content(_files()[content.pop("like")].read_text(encoding="utf-8"))
    parameters = inherited["parameters"] | content.get("parameters", {})
    return inherited | content | {"parameters": parameters}


def _files() -> dict[str, Traversable]:
    """Return the file of every recipe, from the folder "recipes" of each paper's package."""
    folders = (paper / "recipes" for paper in resources.files("podium_studies").iterdir())
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir())
    return {file.name.removesuffix(".toml"): file for file in files}
