"""The command podium explain, which finds out why two numbers differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium import _check
from podium.cli._options import MEASURE, OF_RESULT, format_option
from podium.cli._protocol import Columns, Given
from podium.cli._spelling import Sets

FORMATS = ("table", "json")
_FOUND, _NOT_FOUND = 0, 1


def explain(
    *,
    truth: Annotated[Path, typer.Argument()],
    run: Annotated[Path, typer.Argument()],
    measure: Annotated[str | None, Sets("measures"), MEASURE] = None,
    value: str | None = None,
    like: str | None = None,
    other_truth: Path | None = None,
    other_run: Path | None = None,
    format: Annotated[str, OF_RESULT, format_option(FORMATS)] = "table",
    given: Given,
    columns: Columns,
) -> int:
    """Explain why your number differs from another one, on the same data.

    Without --value, --like, --other-truth and --other-run, the values of all packages are shown.
    The exit status is 1 if no conventions give the value.

    Parameters
    ----------
    measure : MEASURE
        Measure of both numbers. Default: ndcg@10.
    value : X
        The other number, with all digits that were printed. Shows the conventions that give it.
    like : PACKAGE
        Package, such as recbole. Shows the steps from podium's value to the package's.
    other_truth : FILE
        Their truth, to compare with TRUTH.
    other_run : FILE
        Their run, to compare with RUN.
    """
    from podium import decide
    from podium.cli import _render
    from podium.report.explanation import ExplanationRenderer

    _check.choice(format, "--format", FORMATS)
    protocol = given.in_force(columns, ["ndcg@10"], measures=measure and [measure])
    result = decide.explain(
        truth,
        run,
        protocol,
        value=value,
        like=like,
        other_truth=other_truth,
        other_run=other_run,
    )
    _render.write_result(ExplanationRenderer(result, (str(truth), str(run))), format)
    given.say(protocol)
    is_lost = result.search is not None and not result.search.matches
    return _NOT_FOUND if is_lost else _FOUND
