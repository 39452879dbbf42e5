"""Recipes: TOML files with a paper's printed figures and the data and settings to compute them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import podium
from podium.errors import ArgumentError, DataError
from podium_studies import checks


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    name : str
    sha256 : str
        The checksum of its decompressed content, or "" if unknown.
    also : sequence of str
        Other names under which publishers distribute the same content.
    """

    name: str
    sha256: str = ""
    also: Sequence[str] = ()


@dataclass(frozen=True)
class DataSet:
    """A data set that the caller must download first.

    Attributes
    ----------
    folder : str
        The name of the data set, and of its folder below the caller's path.
    title, url, licence : str
        The title, the source and the licence of the data set.
    files : tuple of DataFile
        The files to check. If empty, the folder is passed to the study unchecked.
    """

    folder: str
    title: str
    url: str
    licence: str
    files: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim of a paper in words: a figure, usually a difference, lies above or below a bound."""

    text: str
    figure: str
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, eq=False)
class Recipe:
    """One table or figure of a paper, with the settings to reproduce it.

    Attributes
    ----------
    name, title : str
    paper, where : str
        The key in docs/references.bib, and the table or figure in the paper.
    study : str
        The module of the paper's package whose STUDY computes the cells, or "module:NAME".
    repeats : int or None
        The number of seeded repeats; None if there is nothing to repeat.
    seed : int
        The seed of all random numbers.
    minutes : float
        The approximate duration on two cores.
    parameters : mapping
        The parameters of the study: steps, sizes, grids.
    data : tuple of DataSet
    printed : mapping of str to float
        The paper's figures by their names in tables.
    tolerance, tolerances : float, mapping of str to float
        The largest difference from a printed figure that counts as agreement: the default, and
        exceptions by figure.
    claims : tuple of Claim
    notes : tuple of str
        Explanations of differences and decisions, shown below the result.
    """

    name: str
    title: str
    paper: str
    where: str
    study: str
    repeats: int | None = None
    seed: int = 0
    minutes: float = 1.0
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data: tuple[DataSet, ...] = ()
    printed: Mapping[str, float] = field(default_factory=dict[str, float])
    tolerance: float = 0.0
    tolerances: Mapping[str, float] = field(default_factory=dict[str, float])
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The hash of everything that a cell's result depends on, without the number of repeats."""
        parts = {
            "name": self.name,
            "study": self.study,
            "seed": self.seed,
            "parameters": dict(self.parameters),
            "data": [dataclasses.asdict(data) for data in self.data],
            "version": podium.__version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def tolerance_of(self, key: str) -> float:
        """Return the largest difference from the printed figure that counts as agreement."""
        return float(self.tolerances.get(key, self.tolerance))

    def repeated(self, n: int | None) -> Recipe:
        """Return the recipe with another number of repeats; None keeps the recipe's number.

        Raises
        ------
        ArgumentError
            If n < 1, or if the recipe has nothing to repeat.
        """
        if n is None:
            return self
        if self.repeats is None:
            raise ArgumentError(
                f"{self.name} has nothing to repeat. Leave out the number of repeats."
            )
        return dataclasses.replace(self, repeats=checks.cutoff(n, name="repeats"))


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
    return _made(recipe_name, _content(recipe_name, files))


def _content(name: str, files: Mapping[str, Traversable]) -> dict[str, Any]:
    """Return the content of a recipe's file, with that of the recipe it is like."""
    content = _parsed(name, files[name].read_text(encoding="utf-8"))
    if "like" not in content:
        return content
    inherited = _content(content.pop("like"), files)
    parameters = inherited["parameters"] | content.get("parameters", {})
    return inherited | content | {"parameters": parameters}


def _files() -> dict[str, Traversable]:
    """Return the file of every recipe, from the folder "recipes" of each paper's package."""
    folders = (paper / "recipes" for paper in resources.files("podium_studies").iterdir())
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir())
    return {file.name.removesuffix(".toml"): file for file in files}


def read(name: str, text: str) -> Recipe:
    """Parse the TOML text of a recipe; an unknown key raises DataError."""
    return _made(name, _parsed(name, text))


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise DataError(f"Recipe {name} can't be read: {error}.") from error


def _made(name: str, content: dict[str, Any]) -> Recipe:
    try:
        data_sets: list[dict[str, Any]] = [
            {**data, "files": tuple(DataFile(**file) for file in data.get("files", ()))}
            for data in content.get("data", ())
        ]
        made: dict[str, Any] = {
            "claims": tuple(Claim(**claim) for claim in content.get("claims", ())),
            "notes": tuple(content.get("notes", ())),
            "data": tuple(DataSet(**data) for data in data_sets),
        }
        return Recipe(name=name, **content | made)
    except TypeError as error:
        raise DataError(f"Recipe {name} can't be read: {error}.") from error
