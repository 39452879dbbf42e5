"""The output files of a finished recipe: HTML page, JSON numbers, SVG plots."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from podium import report
from podium.data.appending import atomic
from podium.report import File, Report, Section, Table, figures
from podium_studies import views
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Study
from podium_studies.verdict import Judged, Verdict

_RESULTS = "results.json"
_ERROR = "± s.e."
_STATUS = {
    "reproduced": "good",
    "all claims hold": "good",
    "not reproduced": "bad",
    "measured": "",
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a complete run of a recipe.

    Attributes
    ----------
    recipe : Recipe
    folder : Path
        The folder of its output files.
    cells : mapping
    verdict : Verdict
    shown : sequence
        The plots and tables of the page.
    seconds : float
        The computing time of all cells.
    checksums : mapping
    resumed : int
        The number of cells that an earlier run had finished.
    others : int
        The number of unused cells in the checkpoint, of other parameters, data or versions.
    """

    recipe: Recipe
    folder: Path
    cells: Cells
    verdict: Verdict
    shown: Sequence[Any]
    seconds: float
    checksums: Mapping[str, str]
    resumed: int
    others: int

    @property
    def page(self) -> Path:
        """The path of the HTML page."""
        return self.folder / "report.html"

    @property
    def plots(self) -> list[Any]:
        return [item for item in self.shown if "kind" in item]


def shown(study: Study, recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Any]:
    """Yield the plots and tables of a study, with those of its grids."""
    for item in study.shown(recipe, cells, figures):
        if isinstance(item, Grid):
            yield from views.shown(item, recipe, figures)
        else:
            yield item


def write(done: Outcome) -> None:
    """Write all files, each of them atomically."""
    for old in done.folder.glob("plot-*.svg"):
        old.unlink()
    for number, plot in enumerate(done.plots, 1):
        slug = re.sub(r"[^a-z0-9]+", "-", plot["title"].lower()).strip("-")[:60]
        with atomic(done.folder / f"plot-{number}-{slug}.svg") as path:
            path.write_text(figures.draw(plot, background="white"), encoding="utf-8")
    report.write(as_report(done), done.page)
    with atomic(done.folder / _RESULTS) as path:
        text = json.dumps(summary(done), indent=1, ensure_ascii=False, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8", newline="\n")


def stored(folder: Path) -> dict[str, Any] | None:
    """Return the results of the last finished run in a folder, or None if there is none."""
    file = folder / _RESULTS
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def as_report(done: Outcome) -> Report:
    """Return the page as a dictionary."""
    recipe, verdict = done.recipe, done.verdict
    facts: dict[str, Any] = {"verdict": verdict.overall, "cells": len(done.cells)}
    command = ["podium", "reproduce", recipe.name]
    if recipe.repeats is not None:
        facts["repeats"] = recipe.repeats
        command += ["--repeats", str(recipe.repeats)]
    minutes = done.seconds / 60
    facts["computing time"] = f"{minutes:.1f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
    checksums = done.checksums.items()
    files: list[File] = [
        {"name": name, "size": None, "sha256": digest} for name, digest in checksums
    ]
    provenance = report.provenance(command=shlex.join(command), seed=recipe.seed)
    return {
        "title": recipe.title,
        "subtitle": f"{recipe.where} of {recipe.paper}, "
        f"{'computed by ' if recipe.printed else ''}podium reproduce {recipe.name}",
        "status": _STATUS.get(verdict.overall, "open"),
        "summary": [f"{verdict.overall.capitalize()}. {verdict.text}".strip()],
        "facts": facts,
        "sections": [*_sections(done)],
        "conventions": [*_settings(recipe.parameters)],
        "provenance": {**provenance, "files": files},
    }


def _sections(done: Outcome) -> Iterator[Section]:
    if claims := done.verdict.claims:
        title = "Claims of the paper" if done.recipe.printed else "Claims"
        yield {"title": title, "tables": [claim_table(claims)]}
    if done.plots:
        yield {"title": "Plots", "figures": done.plots}
    if done.recipe.notes:
        yield {"title": "Notes", "text": done.recipe.notes}
    yield {"title": "All figures", "tables": [figure_table(done.verdict)]}
    if tables := [item for item in done.shown if "kind" not in item]:
        yield {"title": "More tables", "tables": tables}


def summary(done: Outcome) -> dict[str, Any]:
    """Return all results as a dictionary for JSON."""
    verdict = done.verdict
    return {
        "recipe": done.recipe.name,
        "fingerprint": done.recipe.fingerprint,
        "repeats": done.recipe.repeats,
        "verdict": {"overall": verdict.overall, "text": verdict.text},
        "figures": [
            {"figure": line.key, "printed": line.printed}
            | _measured(line.measured)
            | {"verdict": line.agreement}
            for line in verdict.lines
        ],
        "claims": [
            {"text": claim.text, "figure": claim.figure}
            | _measured(measured)
            | {"standing": standing}
            for claim, measured, standing in verdict.claims
        ],
        "seconds": round(done.seconds, 3),
    }


def _measured(measured: Measured) -> dict[str, Any]:
    numbers = vars(measured).items()
    return {name: value if math.isfinite(value) else None for name, value in numbers}


def figure_table(verdict: Verdict, *, printed_only: bool = False) -> Table:
    """Return a row per figure: the paper's value, podium's, the difference and the verdict."""
    rows: list[list[Any]] = []
    for line in verdict.lines:
        if line.printed is not None or not printed_only:
            numbers = line.printed, line.measured.value, line.measured.std_error
            difference = _number(line.difference, "+")
            rows.append([line.key, *map(_number, numbers), difference, line.agreement])
    return _table(["figure", "paper", "podium", _ERROR, "diff.", "verdict"], rows)


def claim_table(claims: Sequence[Judged]) -> Table:
    """Return a row per claim: its text, the figure that decides it, and whether it holds."""
    rows = [
        [claim.text, _number(measured.value), _number(measured.std_error), standing]
        for claim, measured, standing in claims
    ]
    return _table(["claim", "podium", _ERROR, "verdict"], rows)


def _table(columns: list[str], rows: list[list[Any]]) -> Table:
    """Return a table, without the column of standard errors if all of them are undefined."""
    error = columns.index(_ERROR)
    if all(row[error] is None for row in rows):
        for row in (columns, *rows):
            del row[error]
    align = ["left", *["right"] * (len(columns) - 2), "left"]
    return {"columns": columns, "rows": rows, "align": align}


def _number(value: float | None, sign: str = "") -> str | None:
    """Write integers without decimals, others with four digits and at most four decimals."""
    if value is None or not math.isfinite(value):
        return None
    if value == round(value) and abs(value) < 1e9:
        return f"{value:{sign}.0f}" if value else "0"
    if abs(value) < 5e-5:
        return f"{value:{sign}.0e}"
    decimals = min(4, max(0, 3 - math.floor(math.log10(abs(value)))))
    return f"{value:{sign}.{decimals}f}"


def _settings(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and text of each parameter, also of those in tables."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from _settings(cast("Mapping[str, Any]", value), f"{prefix}{name}, ")
        else:
            yield f"{prefix}{name}", str(value)
