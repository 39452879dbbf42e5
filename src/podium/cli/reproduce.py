"""The command podium reproduce: a paper's tables and figures, beside the printed values."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli import _messages, _render
from podium.cli._messages import progress
from podium.cli._samples import is_given
from podium.errors import ArgumentError, MissingExtraError

_OUTPUT = "Output"


def reproduce(
    recipe: Annotated[str, typer.Argument()] = "list",
    out: Annotated[Path, typer.Option("--out", "-o", rich_help_panel=_OUTPUT)] = Path("reproduce"),
    data: Path | None = None,
    repeats: Annotated[int | None, typer.Option("--repeats", "--seeds")] = None,
    jobs: int = 1,
    fresh: bool = False,
) -> None:
    """Reproduce a table or figure of a paper, and compare it with the printed values.

    Finished parts are kept: after an interruption, the same command continues.

    The recipes are in a package of their own, podium-studies.

    Parameters
    ----------
    recipe : NAME|list
        Name of a recipe, or list to show all.
    out : DIR
        Folder to write the results to, in DIR/NAME. With list, the folder to read the progress
        from.
    data : PATH
        Data set of the recipe: a folder, an archive or a file, or the folder that contains it.
    repeats : N
        Number of repeats with different seeds. A small number gives a quick look. Default: the
        number of the recipe.
    jobs : N
        Number of parallel processes.
    fresh
        Start from the beginning instead of continuing.
    """
    studies = _studies()
    if recipe == "list":
        options = {"--data": data, "--repeats": repeats, "--jobs": jobs != 1, "--fresh": fresh}
        for option, value in options.items():
            if is_given(value):
                raise ArgumentError(f"{option} has no effect with list. Leave it out.")
        _render.table(studies.recipes(out))
        return
    with progress(recipe) as show:
        try:
            result = studies.run(
                recipe, out, data=data, repeats=repeats, jobs=jobs, fresh=fresh, progress=show
            )
        except KeyboardInterrupt:
            _say(studies.kept(recipe, out))
            raise
    _say(*result.before)
    _render.table(result.table, note=result.note)
    _say(*result.after)


def _studies() -> Any:
    """Import the command of podium-studies, which podium does not depend on."""
    try:
        return importlib.import_module("podium_studies.command")
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("podium_studies"):
            raise
        raise MissingExtraError(
            "podium reproduce needs the package podium-studies, which is not installed. Run: "
            "pip install ./studies in a copy of podium's repository."
        ) from None


def _say(*lines: str) -> None:
    for line in filter(None, lines):
        _messages.say(line)
