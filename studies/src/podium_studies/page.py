"""The output files of a finished recipe: HTML page, Markdown table, JSON numbers, SVG plots."""

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
from podium.report import File, Provenance, Report, Section, Table, figures, tables
from podium_studies import views
from podium_studies.recipe import Claim, Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Study
from podium_studies.verdict import Standing, Verdict

_RESULTS = "results.json"
_ERROR = "± s.e."


_STATUS = {
    "reproduced": "good",
    "all claims hold": "good",
    "not reproduced": "bad",
    "measured": "",
}


@dataclass(frozen=True)
class Finished:
    """The content of a recipe's output files; `shown` has its plots and tables."""

    recipe: Recipe
    cells: Cells
    figures: Figures
    verdict: Verdict
    shown: Sequence[Any]
    run: Mapping[str, Any]
    seconds: float
    checksums: Mapping[str, str]

    @property
    def plots(self) -> list[Any]:
        return [item for item in self.shown if "kind" in item]

    @property
    def tables(self) -> list[Any]:
        return [item for item in self.shown if "kind" not in item]


def shown(study: Study, recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Any]:
    """Yield the plots and tables of a study, with those of its grids."""
    for item in study.shown(recipe, cells, figures):
        if isinstance(item, Grid):
            yield from views.shown(item, recipe, figures)
        else:
            yield item


def require_renderer() -> None:
    """Raise MissingExtraError if pages cannot be rendered."""
    report.render({"title": ""})


def write(done: Finished, folder: Path) -> Path:
    """Write all files, each of them atomically, and return the path of the page."""
    from podium.data.appending import atomic

    for old in folder.glob("plot-*.svg"):
        old.unlink()
    for number, plot in enumerate(done.plots, 1):
        with atomic(folder / f"plot-{number}-{_slug(str(plot['title']))}.svg") as path:
            path.write_text(figures.draw(plot, background="white"), encoding="utf-8")
    with atomic(folder / "table.md") as path:
        path.write_text(_markdown(done), encoding="utf-8", newline="\n")
    report.write(page(done), folder / "report.html")
    with atomic(folder / _RESULTS) as path:
        text = json.dumps(summary(done), indent=1, ensure_ascii=False, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return folder / "report.html"


def finished(folder: Path, run: Mapping[str, Any]) -> str | None:
    """Return the overall verdict of exactly this run, or None if it is not finished."""
    try:
        stored = json.loads((folder / _RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stored["verdict"]["overall"] if stored["run"] == dict(run) else None


def page(done: Finished) -> Report:
    """Return the page as a dictionary."""
    recipe, verdict = done.recipe, done.verdict
    facts: dict[str, Any] = {"verdict": verdict.overall, "cells": len(done.cells)}
    if recipe.repeats is not None:
        facts["repeats"] = recipe.repeats
    facts["computing time"] = _duration(done.seconds)
    return {
        "title": recipe.title,
        "subtitle": f"{recipe.where} of {recipe.paper}, "
        f"{'computed by ' if recipe.printed else ''}podium reproduce {recipe.name}",
        "status": _STATUS.get(verdict.overall, "open"),
        "summary": [f"{verdict.overall.capitalize()}. {verdict.text}".strip()],
        "facts": facts,
        "sections": _sections(done),
        "conventions": _settings(recipe.parameters),
        "provenance": _provenance(done),
    }


def _provenance(done: Finished) -> Provenance:
    """Return the command, the seed and versions, and the checksums of the unpacked data."""
    recipe = done.recipe
    repeats = [] if recipe.repeats is None else ["--repeats", str(recipe.repeats)]
    command = shlex.join(["podium", "reproduce", recipe.name, *repeats])
    files: list[File] = [
        {"name": name, "size": None, "sha256": checksum}
        for name, checksum in done.checksums.items()
    ]
    return {**report.provenance(command=command, seed=recipe.seed), "files": files}


def summary(done: Finished) -> dict[str, Any]:
    """Return all results as a dictionary for JSON."""
    return {
        "recipe": done.recipe.name,
        "run": dict(done.run),
        "verdict": {"overall": done.verdict.overall, "text": done.verdict.text},
        "figures": [
            {"figure": line.key, "printed": line.printed}
            | _measured(line.measured)
            | {"verdict": line.agreement}
            for line in done.verdict.lines
        ],
        "claims": [
            {"text": claim.text, "figure": claim.figure}
            | _measured(measured)
            | {"standing": standing}
            for claim, measured, standing in done.verdict.claims
        ],
        "seconds": round(done.seconds, 3),
    }


def figure_table(verdict: Verdict, *, printed_only: bool = False) -> Table:
    """Return a row per figure: the paper's value, podium's, the difference and the verdict."""
    rows = [
        [
            line.key,
            _number(line.printed),
            _number(line.measured.value),
            _number(line.measured.std_error),
            _number(line.difference, "+"),
            line.agreement,
        ]
        for line in verdict.lines
        if line.printed is not None or not printed_only
    ]
    return _table(["figure", "paper", "podium", _ERROR, "diff.", "verdict"], rows)


def claim_table(claims: Sequence[tuple[Claim, Measured, Standing]]) -> Table:
    """Return a row per claim: its text, the figure that decides it, and whether it holds."""
    rows = [
        [claim.text, _number(measured.value), _number(measured.std_error), standing]
        for claim, measured, standing in claims
    ]
    return _table(["claim", "podium", _ERROR, "verdict"], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table, without the column of standard errors if all of them are undefined."""
    error = columns.index(_ERROR)
    kept = [i for i in range(len(columns)) if i != error or any(row[i] is not None for row in rows)]
    align = ["left", *["right"] * (len(columns) - 2), "left"]
    return {
        "columns": [columns[i] for i in kept],
        "rows": [[row[i] for i in kept] for row in rows],
        "align": [align[i] for i in kept],
    }


def _sections(done: Finished) -> list[Section]:
    verdict = done.verdict
    sections: list[Section] = []
    if verdict.claims:
        title = "Claims of the paper" if done.recipe.printed else "Claims"
        sections.append({"title": title, "tables": [claim_table(verdict.claims)]})
    if done.plots:
        sections.append({"title": "Plots", "figures": done.plots})
    if done.recipe.notes:
        sections.append({"title": "Notes", "text": done.recipe.notes})
    sections.append({"title": "All figures", "tables": [figure_table(verdict)]})
    if done.tables:
        sections.append({"title": "More tables", "tables": done.tables})
    return sections


def _markdown(done: Finished) -> str:
    parts = [f"**{done.recipe.name}: {done.verdict.overall}.** {done.verdict.text}"]
    if done.verdict.claims:
        parts.append(tables.to_markdown(claim_table(done.verdict.claims)))
    parts.append(tables.to_markdown(figure_table(done.verdict)))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _measured(measured: Measured) -> dict[str, Any]:
    value, error = (
        float(number) if math.isfinite(number) else None
        for number in (measured.value, measured.std_error)
    )
    return {"value": value, "std_error": error, "n": measured.n}


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


def _settings(parameters: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Flatten the parameters into pairs of name and text for the page."""
    settings: list[tuple[str, Any]] = []
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            settings += _settings(cast("Mapping[str, Any]", value), f"{prefix}{name}, ")
        else:
            settings.append((f"{prefix}{name}", str(value)))
    return settings


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]
