"""The command podium reproduce: a paper's tables and figures, beside the printed values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli import _messages
from podium.cli._messages import progress
from podium.cli._samples import is_given

if TYPE_CHECKING:
    from podium.papers.runner import Outcome
    from podium.papers.study import Measured
    from podium.report import Table

_OUTPUT = "Output"


def reproduce(
    recipe: Annotated[
        str, typer.Argument(metavar="NAME|list", help="Name of a recipe, or list to show all.")
    ] = "list",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder to write the results to, in DIR/NAME. With list, the folder "
            "to read the progress from.",
            rich_help_panel=_OUTPUT,
        ),
    ] = Path("reproduce"),
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Data set of the recipe: a folder, an archive or a file, or the folder that "
            "contains it.",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            "--seeds",
            metavar="N",
            help="Number of repeats with different seeds. A small number gives a quick look. "
            "Default: the number of the recipe.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", help="Number of parallel processes.")] = 1,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start from the beginning instead of continuing.")
    ] = False,
) -> None:
    """Reproduce a table or figure of a paper, and compare it with the printed values.

    Finished parts are kept: after an interruption, the same command continues.
    """
    from podium.errors import ArgumentError
    from podium.papers import runner

    if recipe == "list":
        options = {"--data": data, "--repeats": repeats, "--jobs": jobs != 1, "--fresh": fresh}
        for option, value in options.items():
            if is_given(value):
                raise ArgumentError(f"{option} has no effect with list. Leave it out.")
        _list(out)
        return
    study = runner.load(recipe)
    if data is not None and not study.data:
        raise ArgumentError(f"{study.name} needs no data. Leave --data out.")
    with progress(study.name) as show:
        try:
            outcome = runner.reproduce(
                study, out, data=data, repeats=repeats, jobs=jobs, fresh=fresh, progress=show
            )
        except KeyboardInterrupt:
            _print_progress(out / study.name)
            raise
    _print(outcome)


def _list(out: Path) -> None:
    """Print all recipes with their requirements and progress."""
    from podium.cli import _render
    from podium.papers import runner

    rows = [
        [
            status.recipe.name,
            status.recipe.where,
            ", ".join(data.folder for data in status.recipe.data),
            status.text,
            _time(status.recipe.minutes),
            status.recipe.paper,
            status.recipe.title,
        ]
        for status in runner.status(out)
    ]
    columns = ["recipe", "makes", "needs", "status", "takes", "paper", "title"]
    _render.table({"columns": columns, "rows": rows})


def _print(outcome: Outcome) -> None:
    """Print figures and claims, the verdict, and the path of the page."""
    from podium.cli import _render
    from podium.papers.page import figure_table

    verdict, recipe = outcome.verdict, outcome.done.recipe
    if outcome.resumed:
        _messages.say(f"{outcome.resumed} of {len(outcome.cells)} cells were already done.")
    if outcome.others:
        _messages.say(f"{outcome.others} cells of other settings or another version ignored.")
    claims = [
        f"{status}: {claim.text} Found {_signed(value)}." for claim, value, status in verdict.claims
    ]
    sentences = [*claims, f"{recipe.name}: {verdict.overall}. {verdict.text}", *recipe.notes]
    # Figures that the paper does not print have no verdict and are only on the page.
    table = figure_table(verdict, printed_only=bool(recipe.printed))
    n_more = len(verdict.lines) - len(table["rows"])
    if n_more:
        sentences.append(f"The page has {n_more} more figures of podium.")
    _render.table(_nested(table), note="\n".join(sentences))
    _messages.say(f"wrote {outcome.page}")


def _print_progress(folder: Path) -> None:
    """Print how many cells an interrupted run has finished, and how to continue."""
    from podium.papers import checkpoint

    state = checkpoint.last(folder)
    if state is not None:
        header, n_done = state
        _messages.say(
            f"{n_done} of {header.cells} cells are kept in {folder / checkpoint.FILE}: "
            "the same command continues from there."
        )


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


def _time(minutes: float) -> str:
    if minutes < 1:
        return "seconds"
    return f"{minutes:g} min" if minutes < 90 else f"{minutes / 60:.0f} h"
