"""The command podium explain, which finds out why two numbers differ."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from podium.cli._options import OF_RESULT, format_option
from podium.cli.measure import Columns, RunTable, TruthTable

FORMATS = ("table", "json")
_FOUND, _NOT_FOUND = 0, 1


def explain(
    truth: TruthTable,
    run: RunTable,
    columns: Columns,
    measure: Annotated[
        str,
        typer.Option("--measure", "-m", metavar="MEASURE", help="Measure of both numbers."),
    ] = "ndcg@10",
    value: Annotated[
        str | None,
        typer.Option(
            metavar="X",
            help="The other number, with all digits that were printed. Shows the conventions that "
            "give it.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE",
            help="Package, such as recbole. Shows the steps from podium's value to the package's.",
        ),
    ] = None,
    other_truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Their truth, to compare with TRUTH."),
    ] = None,
    other_run: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Their run, to compare with RUN."),
    ] = None,
    min_relevance: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Lowest relevance of a positive item in podium's value. Default: 1. Required if "
            "the column is named rating.",
        ),
    ] = None,
    format: Annotated[str, OF_RESULT, format_option(FORMATS)] = "table",
) -> int:
    """Explain why your number differs from another one, on the same data.

    Without --value, --like, --other-truth and --other-run, the values of all packages are shown.
    The exit status is 1 if no conventions give the value.
    """
    from podium import _check, decide
    from podium.cli import _render
    from podium.report import explanation

    _check.choice(format, "--format", FORMATS)
    result = decide.explain(
        truth,
        run,
        measure,
        value=value,
        like=like,
        other_truth=other_truth,
        other_run=other_run,
        min_relevance=min_relevance,
        **columns.names_by_role(),
    )
    options = {"min_relevance": min_relevance, **vars(columns)}
    given_options = {name: option for name, option in options.items() if option is not None}
    files = (str(truth), str(run))
    content = result.as_json()
    _render.write_result(
        content, format, view=partial(explanation.view, content, files, given_options)
    )
    is_lost = result.search is not None and not result.search.matches
    return _NOT_FOUND if is_lost else _FOUND
