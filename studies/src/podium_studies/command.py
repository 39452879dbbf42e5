"""What `podium reproduce` shows: the list of recipes, and the outcome of a run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from podium.errors import ArgumentError
from podium.report import Table
from podium.types import Progress
from podium_studies import page, runner
from podium_studies.recipe import load
from podium_studies.study import Measured


class Shown(NamedTuple):
    """A table with a note below it, and messages before and after it."""

    table: Table
    note: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def recipes(out: Path) -> Table:
    """Return all recipes with their requirements and their progress in a folder of results."""
    columns = ["recipe", "makes", "needs", "status", "takes", "paper", "title"]
    rows: list[list[str]] = []
    for recipe, state in runner.status(out):
        needs, minutes = ", ".join(d.folder for d in recipe.data), f"{recipe.minutes:g} min"
        rows.append([recipe.name, recipe.where, needs, state, minutes, recipe.paper, recipe.title])
    return {"columns": columns, "rows": rows}


def run(
    name: str,
    out: Path,
    *,
    data: Path | None,
    repeats: int | None,
    jobs: int,
    fresh: bool,
    progress: Progress,
) -> Shown:
    """Run a recipe, and return its figures and claims, the verdict, and the path of the page.

    Raises
    ------
    ArgumentError
        If `data` is given to a recipe that needs none; see also `runner.reproduce`.
    """
    if data is not None and not load(name).data:
        raise ArgumentError(f"{name} needs no data. Leave --data out.")
    done = runner.reproduce(
        name, out, data=data, repeats=repeats, jobs=jobs, fresh=fresh, progress=progress
    )
    verdict, recipe = done.verdict, done.recipe
    before: list[str] = []
    if done.resumed:
        before.append(f"{done.resumed} of {len(done.cells)} cells were already done.")
    if done.others:
        before.append(f"{done.others} cells of other settings or another version ignored.")
    claims = [
        f"{status}: {claim.text} Found {_signed(value)}." for claim, value, status in verdict.claims
    ]
    sentences = [*claims, f"{recipe.name}: {verdict.overall}. {verdict.text}", *recipe.notes]
    # Figures that the paper does not print have no verdict and are only on the page.
    table = page.figure_table(verdict, printed_only=bool(recipe.printed))
    n_more = len(verdict.lines) - len(table["rows"])
    if n_more:
        sentences.append(f"The page has {n_more} more figures of podium.")
    return Shown(_nested(table), "\n".join(sentences), (*before,), (f"wrote {done.page}",))


def kept(name: str, out: Path) -> str:
    """Return where the finished cells of an interrupted run are, and how to continue."""
    file = out / name / runner.FILE
    if not file.exists():
        return ""
    return f"finished cells are kept in {file}: the same command continues from there."


def _nested(table: Table) -> Table:
    """Replace "group: figure" by a line for the group and an indented line for each figure."""
    groups: dict[str, list[list[Any]]] = {}
    for label, *cells in table["rows"]:
        group, colon, name = label.rpartition(": ")
        groups.setdefault(group, []).append([f"  {name}" if colon else label, *cells])
    rows: list[list[Any]] = []
    for group, lines in groups.items():
        rows += [[group, *[""] * len(lines[0][1:])], *lines] if group else lines
    return {"columns": table["columns"], "rows": rows}


def _signed(measured: Measured) -> str:
    error = "" if math.isnan(measured.std_error) else f" ± {measured.std_error:.2g}"
    return f"{measured.value:+.4g}{error}"
