"""Recipes: what a paper printed, from which data and settings, as TOML files of this package."""

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
from podium import _check
from podium.errors import ArgumentError, DataError


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    name : str
    sha256 : str
        Of its content unpacked, or "" where unknown.
    also : tuple of str
        Other names under which publishers have the same content.
    """

    name: str
    sha256: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataSet:
    """A data set that the user must have fetched.

    Attributes
    ----------
    folder : str
        Its name; also the folder looked for below the path that the user gives.
    title, url, licence : str
        What it is, where it comes from, what its publisher allows.
    files : tuple of DataFile
        Without them the folder is passed on unchecked.
    """

    folder: str
    title: str
    url: str
    licence: str
    files: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class Claim:
    """What a paper says in words: a figure, most often a difference, beyond a bound."""

    text: str
    figure: str
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, eq=False)
class Recipe:
    """One table or figure of a paper, and how to make it again.

    Attributes
    ----------
    name, title : str
    paper, where : str
        Key in docs/references.bib, and the table or figure in it.
    study : str
        Module of the paper's package whose STUDY does the work, or "module:NAME".
    repeats : int or None
        Seeded repeats; None where there is nothing to repeat.
    seed : int
        Everything random derives from it.
    minutes : float
        How long it takes about, on two cores.
    parameters : mapping
        What the study reads: steps, sizes, grids.
    data : tuple of DataSet
    printed : mapping of str to float
        The paper's figures; a key is what the figure is called in tables.
    tolerance, tolerances : float, mapping of str to float
        How far from the printed figure still agrees: for all, and where a figure differs.
    claims : tuple of Claim
    notes : tuple of str
        Why the printed numbers differ, and what was decided; shown below the result.
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
        """Name of everything that one cell's result depends on, but for the number of repeats."""
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
        """Return how far this figure may be from the printed one."""
        return float(self.tolerances.get(key, self.tolerance))

    def repeated(self, n: int | None) -> Recipe:
        """Return the recipe with another number of repeats; None keeps the paper's.

        Raises
        ------
        ArgumentError
            If n < 1, or the recipe repeats nothing.
        """
        if n is None:
            return self
        if self.repeats is None:
            raise ArgumentError(
                f"{self.name} has nothing to repeat. Leave out the number of repeats."
            )
        return dataclasses.replace(self, repeats=_check.cutoff(n, name="repeats"))


def names() -> list[str]:
    """Return the names of all recipes, sorted."""
    return sorted(_files())


def load(name: str) -> Recipe:
    """Read the recipe of this name.

    Raises
    ------
    ArgumentError
        For an unknown name, with the nearest known one.

    Examples
    --------
    >>> load("pap-table1").where
    'Table 1'
    """
    files = _files()
    known = _check.choice(name, "recipe", sorted(files))
    return read(known, files[known].read_text(encoding="utf-8"))


def _files() -> dict[str, Traversable]:
    """Return the file of every recipe: those in the folder "recipes" of each paper's package."""
    papers = [paper for paper in resources.files("podium.papers").iterdir() if paper.is_dir()]
    folders = [paper / "recipes" for paper in papers]
    return {
        file.name.removesuffix(".toml"): file
        for folder in folders
        if folder.is_dir()
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }


def read(name: str, text: str) -> Recipe:
    """Make a recipe of a TOML text; a key that a recipe does not have is an error."""
    try:
        content = tomllib.loads(text)
        made: dict[str, Any] = {
            **content,
            "data": tuple(map(_data_set, content.get("data", ()))),
            "claims": tuple(Claim(**claim) for claim in content.get("claims", ())),
            "notes": tuple(content.get("notes", ())),
        }
        return Recipe(name=name, **made)
    except (TypeError, ValueError) as error:
        raise DataError(f"Recipe {name} can't be read: {error}.") from error


def _data_set(content: Mapping[str, Any]) -> DataSet:
    files: Sequence[Mapping[str, Any]] = content.get("files", ())
    made: dict[str, Any] = {**content, "files": tuple(map(_data_file, files))}
    return DataSet(**made)


def _data_file(content: Mapping[str, Any]) -> DataFile:
    made: dict[str, Any] = {**content, "also": tuple(content.get("also", ()))}
    return DataFile(**made)
