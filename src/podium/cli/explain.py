"""The command podium explain, which finds out why two numbers differ."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium import _check
from podium._json import plain
from podium.cli import _render
from podium.cli._messages import Sets
from podium.cli._options import MEASURE, OF_RESULT, WRITTEN, format_option
from podium.cli._protocol import Columns, Given
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.decide.explain.language import Check

FORMATS = ("table", "json")
_FOUND, _NOT_FOUND = 0, 1


def explain(
    *,
    truth: Annotated[Path | None, typer.Argument()] = None,
    run: Annotated[Path | None, typer.Argument()] = None,
    measure: Annotated[str | None, Sets("measures"), MEASURE] = None,
    value: list[str] | None = None,
    like: str | None = None,
    other_truth: Path | None = None,
    other_run: Path | None = None,
    lists: Annotated[Path | None, WRITTEN] = None,
    values: Path | None = None,
    format: Annotated[str, OF_RESULT, format_option(FORMATS)] = "table",
    given: Given,
    columns: Columns,
) -> int:
    """Explain why your number differs from another one, on the same data.

    Without --value, --like, --other-truth and --other-run, the values of all packages are shown.
    The exit status is 1 if no cause gives the value, or if an implementation is not podium's.

    Parameters
    ----------
    measure : MEASURE
        Measure of both numbers. Default: ndcg@10.
    value : X
        The other number, with all digits that were printed: X, MEASURE=X, or a result file of
        another tool in JSON or CSV, with means or values of users. May be repeated. Shows the
        causes that give it.
    like : PACKAGE
        Package, such as recbole. Shows the steps from podium's value to the package's.
    other_truth : FILE
        Their truth, to compare with TRUTH.
    other_run : FILE
        Their run, to compare with RUN.
    lists : FILE.json
        File to write 200 small lists to, for an implementation in any language; no TRUTH and RUN.
    values : FILE.json
        File of another implementation's values: {"ndcg@5": {"1": 0.63, ...}, ...}. See --lists.
    """
    from podium import decide
    from podium.decide.explain import language
    from podium.report.explanation import ExplanationRenderer

    _check.choice(format, "--format", FORMATS)
    others = {"TRUTH": truth, "-m": measure, "--value": value, "--like": like}
    others |= {"--other-truth": other_truth, "--other-run": other_run}
    _refuse_others("--lists", lists, {"--values": values, **others})
    _refuse_others("--values", values, others)
    if lists is not None:
        language.write(lists)
        return _FOUND
    if values is not None:
        return _write_checks([*language.checks(values)], format)
    if truth is None or run is None:
        raise ArgumentError("TRUTH and RUN are required. Pass both files, or --lists or --values.")
    protocol = given.in_force(columns, ["ndcg@10"], measures=measure and [measure])
    result = decide.explain(
        truth,
        run,
        protocol,
        value=_numbers(value or []),
        like=like,
        other_truth=other_truth,
        other_run=other_run,
    )
    _render.write_result(ExplanationRenderer(result, (str(truth), str(run))), format)
    given.say(protocol)
    is_lost = result.search is not None and not result.search.matches
    return _NOT_FOUND if is_lost else _FOUND


def _refuse_others(option: str, given: Any, others: dict[str, Any]) -> None:
    """Refuse what has no effect beside an option that needs no tables."""
    named = [name for name, other in others.items() if other]
    if given is not None and named:
        raise ArgumentError(f"{named[0]} has no effect with {option}. Leave one of them out.")


def _write_checks(checks: list[Check], format: str) -> int:
    """Print what the values of small lists say of an implementation."""
    from podium.report.explanation import checks_table

    if format == "json":
        _render.write_line(json.dumps(plain([asdict(check) for check in checks]), indent=2))
    else:
        _render.table(checks_table(checks))
    return _FOUND if all(check.is_right for check in checks) else _NOT_FOUND


def _numbers(texts: list[str]) -> Any:
    """Return the numbers of --value: one of the measure, or one for each measure."""
    from podium.decide.explain.numbers import read_values

    values: dict[str, Any] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if equals and name:
            values[name] = number
        elif Path(text).is_file():
            values |= read_values(Path(text))
        elif len(texts) == 1:
            return text
        else:
            raise ArgumentError(f"--value must be MEASURE=X if there are several, got {text!r}.")
    return values or None
