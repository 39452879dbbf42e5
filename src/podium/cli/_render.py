"""Results on stdout: tables that fit 80 columns, one JSON object, CSV, Markdown or LaTeX."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from podium._files import replacing
from podium.cli._fit import WIDTH, Table, narrow
from podium.cli._options import format_of

_NOTHING = "–"
_SMALLEST_P = 1e-4
_GLUE = "\N{NO-BREAK SPACE}"  # joins words that must stay on one line


def evaluation(result: Mapping[str, Any], format: str) -> None:
    """Print the JSON form of an Evaluation.

    It may have a "run" with the coverage and novelty of the run.
    """
    from podium.evaluation.flat import evaluation_table

    tables, note = [_means_table(result), *_run_table(result)], _conventions(result["conventions"])
    print_result(result, format, tables=tables, flat=evaluation_table(result), note=note)


def comparison(result: Mapping[str, Any], format: str) -> None:
    """Print the JSON form of a Comparison."""
    from podium.evaluation.flat import comparison_table

    tables = [_run_means_table(result), _differences_table(result), _wins_table(result)]
    note = (
        f"Differences are from {result['baseline']}. p rand., p Holm: paired randomisation "
        "test, before and after Holm's correction for all tests here. p t: paired t test. "
        "Detectable: the smallest true difference that a test with this many users detects "
        "(5% level, 80% power).\n"
    )
    note += _conventions(result["conventions"])
    print_result(result, format, tables=tables, flat=comparison_table(result), note=note)


def results(text: Callable[[str], str], format: str, out: Iterable[Path]) -> None:
    """Write a result to files, each in the format of its suffix, and print it.

    `text` returns the result in a format.
    """
    for path in out:
        with replacing(path) as beside:
            beside.write_text(text(format_of(path)), encoding="utf-8")
    _print(text(format).rstrip("\n"))


def gate_text(result: Mapping[str, Any], format: str, *, fail_on: str) -> str:
    """Return the JSON form of a Gate as text: a table, JSON, Markdown or JUnit XML."""
    from podium.report import gate as writers
    from podium.report import tables

    if format == "json":
        return _json(result) + "\n"
    if format == "markdown":
        return writers.to_markdown(result)
    if format == "junit":
        return writers.to_junit(result, fail_on=fail_on)
    lines = [writers.headline(result), *result["reasons"], *writers.notes(result)]
    content = [tables.to_text(part) for part in narrow([{**writers.gate_table(result)}])]
    start = "\n".join(_note(line, "") for line in lines)
    return "\n\n".join([start, *content, _note(_conventions(result["conventions"]), "")])


def audit_text(result: Mapping[str, Any], format: str) -> str:
    """Return the JSON form of an Audit as text: a table, JSON or Markdown."""
    from podium.report import audit as writers

    if format == "json":
        return _json(result) + "\n"
    return writers.to_markdown(result) if format == "markdown" else "\n\n".join(_findings(result))


def _findings(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of an audit's text for a terminal."""
    from podium.report import audit as writers
    from podium.report import tables

    yield f"Audit of {result['measure']}: {writers.headline(result)}"
    if result["findings"]:
        for part in narrow([{**writers.findings_table(result)}]):
            yield tables.to_text(part)
    for finding in result["findings"]:
        lines = writers.paragraphs(finding, result["measure"])
        yield "\n".join([writers.title(finding), *(_note(line, "  ") for line in lines)])
    yield tables.to_text(writers.context_table(result))


def table(content: Table, *, note: str = "") -> None:
    """Print one table and a paragraph; a table that is too wide is divided into several."""
    _print_tables([content], "table", note)


def print_result(
    result: Mapping[str, Any], format: str, *, tables: Iterable[Table], flat: Table, note: str
) -> None:
    """Print a result as JSON, as one flat CSV table, or as tables for reading and a paragraph."""
    if format == "json":
        _print(_json(result))
    elif format == "csv":
        _print_tables([{**flat, "rows": _full(flat["rows"])}], "csv")
    else:
        _print_tables(tables, format, note)


def _print_tables(tables: Iterable[Table], format: str, note: str = "") -> None:
    from podium.report import tables as writers

    write = {
        "table": writers.to_text,
        "csv": writers.to_csv,
        "markdown": writers.to_markdown,
        "latex": writers.to_latex,
    }[format]
    if format == "table":
        tables = narrow(list(tables))
    parts = [write(content).rstrip("\n") for content in tables]
    if note:
        parts.append(_note(note, "% " if format == "latex" else ""))
    _print("\n\n".join(parts))


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _json(result: Mapping[str, Any]) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)


def _note(text: str, start: str) -> str:
    wrap = textwrap.TextWrapper(
        WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False
    )
    return "\n".join(wrap.fill(line) for line in text.split("\n")).replace(_GLUE, " ")


def _conventions(conventions: Mapping[str, Any]) -> str:
    """Return the conventions as options that reproduce them."""
    remaining = dict(conventions)
    is_bootstrap = remaining.pop("interval") == "bootstrap"
    if not is_bootstrap and remaining["ties"] != "random":
        del remaining["seed"]  # no random numbers were used
    options = [
        f"--{name.replace('_', '-')}{_GLUE}{value:{'g' if isinstance(value, float) else ''}}"
        for name, value in remaining.items()
        if value is not None
    ]
    return " ".join([*options, *(["--bootstrap"] if is_bootstrap else [])])


def _means_table(result: Mapping[str, Any]) -> Table:
    from podium.evaluation.flat import summaries

    level = next(iter(result["measures"].values()))["level"]
    columns = ["measure", "mean", f"{level:.4g} interval", "std error", "users", "undefined"]
    rows: list[list[str]] = []
    previous_segment = ""
    for by, name, measure, summary in summaries(result):
        segment = _segment(by, name)
        rows.append(
            [] if not result["segments"] else [segment if segment != previous_segment else ""]
        )
        rows[-1] += [measure, *_mean_cells(summary)]
        previous_segment = segment
    return {"columns": [*(["segment"] if result["segments"] else []), *columns], "rows": rows}


def _segment(by: str, name: str) -> str:
    """Return the name of a segment, with its column unless the name implies it."""
    return name if by in ("", "engagement", "n_pos") else f"{by} {name}"


def _mean_cells(summary: Mapping[str, Any]) -> list[str]:
    return [
        number(summary["mean"]),
        span(summary["interval"]),
        number(summary["std_error"]),
        str(summary["n_groups"]),
        str(summary["n_undefined"]),
    ]


def _run_table(result: Mapping[str, Any]) -> list[Table]:
    if "run" not in result:
        return []
    rows = [[name, number(value)] for name, value in result["run"].items()]
    return [{"columns": ["of the run", "value"], "rows": rows}]


def _run_means_table(result: Mapping[str, Any]) -> Table:
    interval = f"{_first_level(result):.4g} interval"
    rows = [
        [measure if i == 0 else "", run, *_mean_cells(summary)]
        for measure, results in result["measures"].items()
        for i, (run, summary) in enumerate(results["means"].items())
    ]
    columns = ["measure", "run", "mean", interval, "std error", "users", "undefined"]
    return {"columns": columns, "rows": rows}


def _differences_table(result: Mapping[str, Any]) -> Table:
    return {
        "columns": [
            *("measure", "run", "diff.", f"{_first_level(result):.4g} interval"),
            *("p rand.", "p Holm"),
        ],
        "rows": [
            [
                *start,
                number(test["difference"], "+"),
                span(test["interval"], "+"),
                _p_value(test["randomisation_p_value"]),
                _p_value(test["holm_p_value"]),
            ]
            for start, test in _tests(result)
        ],
    }


def _wins_table(result: Mapping[str, Any]) -> Table:
    return {
        "columns": ["measure", "run", "wins", "losses", "equal", "detectable", "p t"],
        "rows": [
            [
                *start,
                *(str(test[name]) for name in ("wins", "losses", "equal")),
                number(test["detectable"]),
                _p_value(test["t_p_value"]),
            ]
            for start, test in _tests(result)
        ],
    }


def _tests(result: Mapping[str, Any]) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    for measure, results in result["measures"].items():
        for i, test in enumerate(results["differences"]):
            yield [measure if i == 0 else "", test["run"]], test


def _first_level(result: Mapping[str, Any]) -> float:
    first = next(iter(result["measures"].values()))
    return next(iter(first["means"].values()))["level"]


def _full(rows: Iterable[Iterable[Any]]) -> list[list[str]]:
    """Return cells with all digits, for programs to read; undefined values are empty."""
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def number(value: float | None, sign: str = "") -> str:
    """Return a number as the text of a table cell."""
    return _NOTHING if value is None else f"{value:{sign}.4f}"


def span(bounds: Iterable[float | None], sign: str = "") -> str:
    """Return the two ends of an interval as the text of a table cell."""
    low, high = bounds
    if low is None or high is None:
        return _NOTHING
    return f"[{number(low, sign)}, {number(high, sign)}]"


def _p_value(value: float | None) -> str:
    if value is None:
        return _NOTHING
    return f"<{_SMALLEST_P:.4f}" if value < _SMALLEST_P else f"{value:.4f}"
