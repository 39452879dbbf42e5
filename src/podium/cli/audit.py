"""The command podium audit, which finds the faults of an offline evaluation."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli._options import WRITTEN, check_target
from podium.cli.compare import run_names
from podium.cli.measure import Columns

FORMATS = ("table", "json", "markdown")
FAIL_ON = ("error", "warning", "never")
_BY_SUFFIX = {".json": "json", ".md": "markdown"}
_SOUND, _FAULTY = 0, 1
_WIDTH = 80


def audit(
    train: Annotated[
        Path,
        typer.Argument(
            help="Training part, a table of interactions: user, item, and timestamp if there is "
            "one.",
            metavar="TRAIN",
        ),
    ],
    test: Annotated[
        Path,
        typer.Argument(
            help="Test part, a table of relevant items: user, item, relevance, and timestamp if "
            "there is one.",
            metavar="TEST",
        ),
    ],
    columns: Columns,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Runs, tables of ranked items: user, item, and score or rank.", metavar="RUN…"
        ),
    ] = None,
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="Measure on which the effects of faults are shown.",
        ),
    ] = "ndcg@10",
    min_relevance: Annotated[
        float | None,
        typer.Option(metavar="X", help="Lowest relevance of a positive item. Default: 1."),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="How the items of the lists were sampled, if they are samples: uniform.",
        ),
    ] = None,
    negatives: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of sampled items in addition to the targets, if lists are samples.",
        ),
    ] = None,
    time_col: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of times in TRAIN and TEST. Default: timestamp or time.",
            rich_help_panel="Column names",
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="SEVERITY",
            help="Least severe finding with exit status 1: error, warning or never.",
            rich_help_panel="Output",
        ),
    ] = "error",
    format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help=f"Format of the result on stdout: {', '.join(FORMATS)}.",
            rich_help_panel="Output",
        ),
    ] = "table",
    out: Annotated[
        list[Path] | None,
        WRITTEN,
        typer.Option(
            metavar="FILE",
            help="File to write the result to: .json or .md. May be repeated.",
            rich_help_panel="Output",
        ),
    ] = None,
) -> int:
    """Find and count the faults of an offline evaluation, and show their effects.

    Faults include leaks between the parts, ids in two spellings, lists that are
    too short or tied, and samples that were not drawn as stated. For each fault,
    the measure is shown with the fault and without it. The exit status is 1 if
    there is an error (see --fail-on), and 2 if an option or a file is wrong.
    """
    _check_output(fail_on, format, out or [])
    from podium import decide
    from podium.cli import _messages

    names = run_names(runs or [])
    with _messages.naming_options(_as_options):
        result = decide.audit(
            train,
            test,
            dict(zip(names, runs or [], strict=True)),
            measure,
            min_relevance=min_relevance,
            candidates=candidates,
            n_negatives=negatives,
            user=columns.user_col,
            item=columns.item_col,
            relevance=columns.relevance_col,
            score=columns.score_col,
            rank=columns.rank_col,
            timestamp=time_col,
        )
    for path in out or []:
        _write(_text(result.to_dict(), _BY_SUFFIX[path.suffix.lower()]), path)
    sys.stdout.write(_text(result.to_dict(), format).rstrip("\n") + "\n")
    return _FAULTY if result.fails(fail_on) else _SOUND


def _as_options(text: str) -> str:
    """Replace the library's arguments by options of this command."""
    options = {"n_negatives must": "--negatives must", "candidates must": "--candidates must"}
    for argument, option in options.items():
        text = text.replace(argument, option)
    return text.replace("timestamp=", "--time-col")


def _text(result: dict[str, Any], format: str) -> str:
    from podium.report import audit as writers

    if format == "json":
        return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return writers.to_markdown(result) if format == "markdown" else "\n\n".join(_parts(result))


def _parts(result: dict[str, Any]) -> Iterator[str]:
    """Yield the parts of the text for a terminal."""
    from podium.cli._fit import narrow
    from podium.report import audit as writers
    from podium.report import tables

    yield f"Audit of {result['measure']}: {writers.headline(result)}"
    if result["findings"]:
        for table in narrow([{**writers.findings_table(result)}]):
            yield tables.to_text(table)
    for finding in result["findings"]:
        lines = [writers.title(finding)]
        for paragraph in writers.paragraphs(finding, result["measure"]):
            lines += _wrapped(paragraph)
        yield "\n".join(lines)
    yield tables.to_text(writers.context_table(result))


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(
        paragraph,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _check_output(fail_on: str, format: str, out: list[Path]) -> None:
    from podium import _check

    _check.choice(fail_on, "--fail-on", FAIL_ON)
    _check.choice(format, "--format", FORMATS)
    for path in out:
        check_target(path, "--out", tuple(_BY_SUFFIX))


def _write(text: str, path: Path) -> None:
    from podium._files import replacing

    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
