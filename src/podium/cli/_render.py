"""Results on stdout: tables that fit 80 columns, one JSON object, CSV, Markdown or LaTeX."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podium.cli._fit import WIDTH, Table, narrow

_NOTHING = "–"
_SMALLEST_P = 1e-4
_GLUE = "\N{NO-BREAK SPACE}"  # joins words that must stay on one line


def evaluation(result: Mapping[str, Any], format: str) -> None:
    """Print the JSON form of an Evaluation."""
    from podium.evaluation.flat import evaluation_table

    note = _without_segments(result) + conventions_line(result["conventions"])
    flat = evaluation_table(result)
    print_result(result, format, tables=[_means_table(result)], flat=flat, note=note)


def comparison(result: Mapping[str, Any], format: str) -> None:
    """Print the JSON form of a Comparison."""
    from podium.evaluation.flat import comparison_table

    tables = [_run_means_table(result), _differences_table(result), _wins_table(result)]
    note = f"{_tests_note(result)}\n{conventions_line(result['conventions'])}"
    print_result(result, format, tables=tables, flat=comparison_table(result), note=note)


def _tests_note(result: Mapping[str, Any]) -> str:
    """Return how to read the differences and tests of a comparison."""
    is_first = result["pairs"] == "first"
    text = f"Differences are from {result['baseline']}. " if is_first else ""
    if result["splits"] == 1:
        text += (
            "p rand., p Holm: paired randomisation test, before and after Holm's correction for "
            "all tests here. p t: paired t test. "
        )
        if any(test["randomisation_p_value"] is None for _, test in _tests(result)):
            text += "Without p rand., p Holm corrects p t. "
    else:
        text += (
            f"There are {result['splits']} splits, and users counts each user once per split. The "
            "standard errors include the variation of users and of splits. p t, p Holm: paired t "
            "test, before and after Holm's correction for all tests here. "
        )
    text += (
        "Detectable: the smallest true difference that a test with this many users detects (5% "
        "level, 80% power). Effect: mean difference, divided by the standard deviation of the "
        "differences. Relative: difference, divided by the baseline's mean."
    )
    if _has_unjudged(result):
        text += (
            " Unjudged: the range of the difference over all ways to judge the items that the "
            "truth lacks. Labels: if this range contains both signs, the number of items to judge "
            "(--labels writes them). If none of them is relevant, the sign cannot change."
        )
    if not is_first:
        text += " Runs with a letter in common do not differ significantly (p Holm)."
    return re.sub(r"\bp (?=t\b|Holm|rand\.)", f"p{_GLUE}", text)


def table(content: Table, *, note: str = "") -> None:
    """Print one table and a paragraph; a table that is too wide is divided into several."""
    _print_tables([content], "table", note)


def print_result(
    result: Mapping[str, Any], format: str, *, tables: Iterable[Table], flat: Table, note: str
) -> None:
    """Print a result as JSON, as one flat CSV table, or as tables for reading and a paragraph."""
    if format == "json":
        write_line(json_text(result))
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
        parts.append(wrapped(note, "% " if format == "latex" else ""))
    write_line("\n\n".join(parts))


def write_line(text: str) -> None:
    """Write a text and the end of the line to stdout."""
    sys.stdout.write(text + "\n")


def json_text(result: Mapping[str, Any]) -> str:
    """Return a result as JSON for reading."""
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)


def wrapped(text: str, start: str) -> str:
    """Return paragraphs in lines of the usual width, each line with this start."""
    wrap = textwrap.TextWrapper(
        WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False
    )
    return "\n".join(wrap.fill(line) for line in text.split("\n")).replace(_GLUE, " ")


def conventions_line(conventions: Mapping[str, Any]) -> str:
    """Return the conventions as options that reproduce them."""
    remaining = dict(conventions)
    interval = remaining.pop("interval")
    like, computed = remaining.pop("like", None), remaining.pop("computed", {})
    if interval != "bootstrap" and remaining.get("ties") != "random":
        del remaining["seed"]  # no random numbers were used
    options = _options(remaining) + ([f"--interval{_GLUE}{interval}"] if interval != "t" else [])
    if like is None:
        return " ".join(options)
    measures = [
        f"{text} is {' '.join([rules['measure'], *_options(rules, but='measure')])}"
        for text, rules in computed.items()
        if rules != {"measure": text}
    ]
    return "\n".join([f"--like{_GLUE}{like} stands for {' '.join(options)}.", *measures])


def _options(conventions: Mapping[str, Any], but: str = "") -> list[str]:
    """Return conventions as options, without those that are usual and need none."""
    usual = {"unretrieved": "count", "single_precision": False, but: conventions.get(but)}
    unusual = {
        name: value
        for name, value in conventions.items()
        if value is not None and (name not in usual or usual[name] != value)
    }
    return [
        f"--{name.replace('_', '-')}{'' if value is True else f'{_GLUE}{_text(value)}'}"
        for name, value in unusual.items()
    ]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _means_table(result: Mapping[str, Any]) -> Table:
    from podium.evaluation.flat import has_bounds, summaries

    level = next(iter(result["measures"].values()))["level"]
    columns = ["measure", "mean", f"{level:.4g} interval", "std error", "users", "undefined"]
    is_bounded = has_bounds(result)
    if is_bounded:
        columns.insert(3, "unjudged")
    rows: list[list[str]] = []
    previous_segment = ""
    for by, name, measure, summary in summaries(result):
        segment = _segment(by, name)
        rows.append(
            [] if not result["segments"] else [segment if segment != previous_segment else ""]
        )
        cells = _mean_cells(summary)
        if is_bounded:
            cells.insert(2, span(summary["unjudged"].values()) if "unjudged" in summary else "")
        rows[-1] += [measure, *cells]
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


def _without_segments(result: Mapping[str, Any]) -> str:
    """Return a line on the measures that segments lack, empty if there are none."""
    if not result["segments"]:
        return ""
    names = [name for name in result["measures"] if name not in result["segments"][0]["measures"]]
    if not names:
        return ""
    is_or_are = "is not a mean" if len(names) == 1 else "are not means"
    return f"{' and '.join(names)} {is_or_are} over users and can't be divided into segments.\n"


def _run_means_table(result: Mapping[str, Any]) -> Table:
    from podium.evaluation.flat import comparisons

    has_letters = result["pairs"] == "all"
    rows = [
        [
            _measure_in(by, name, measure) if i == 0 else "",
            run,
            *([results["letters"][run]] if has_letters else []),
            *_mean_cells(summary),
        ]
        for by, name, measure, results in comparisons(result)
        for i, (run, summary) in enumerate(results["means"].items())
    ]
    columns = ["measure", "run", *(["letters"] if has_letters else []), "mean"]
    columns += [f"{_first_level(result):.4g} interval", "std error", "users", "undefined"]
    return {"columns": columns, "rows": rows}


def _differences_table(result: Mapping[str, Any]) -> Table:
    p_columns = {"randomisation_p_value": "p rand.", "holm_p_value": "p Holm"}
    if result["splits"] > 1:
        p_columns = {"t_p_value": "p t", "holm_p_value": "p Holm"}
    columns = ["measure", "run", "diff.", f"{_first_level(result):.4g} interval"]
    has_bounds = _has_unjudged(result)
    return {
        "columns": [
            *(*columns, *p_columns.values()),
            *(["unjudged", "labels"] if has_bounds else []),
        ],
        "rows": [
            [
                *start,
                number(test["difference"], "+"),
                span(test["interval"], "+"),
                *(_p_value(test[name]) for name in p_columns),
                *(_unjudged_cells(test) if has_bounds else []),
            ]
            for start, test in _tests(result)
        ],
    }


def _has_unjudged(result: Mapping[str, Any]) -> bool:
    return any("unjudged" in test for _, test in _tests(result))


def _unjudged_cells(test: Mapping[str, Any]) -> list[str]:
    """Return the range of a difference over all judgements, and the number of labels."""
    unjudged = test.get("unjudged")
    if unjudged is None:
        return [_NOTHING, _NOTHING]
    n_labels = unjudged["n_labels"]
    bounds = span((unjudged["low"], unjudged["high"]), "+")
    return [bounds, _NOTHING if n_labels is None else str(n_labels)]


def _wins_table(result: Mapping[str, Any]) -> Table:
    has_t = result["splits"] == 1
    columns = ["measure", "run", "wins", "losses", "equal", "detectable", "effect", "relative"]
    return {
        "columns": [*columns, *(["p t"] if has_t else [])],
        "rows": [
            [
                *start,
                *(_count(test[name]) for name in ("wins", "losses", "equal")),
                number(test["detectable"]),
                _NOTHING if test["effect_size"] is None else f"{test['effect_size']:+.2f}",
                _percent(test["relative_difference"]),
                *([_p_value(test["t_p_value"])] if has_t else []),
            ]
            for start, test in _tests(result)
        ],
    }


def _tests(result: Mapping[str, Any]) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    from podium.evaluation.flat import comparisons

    for by, name, measure, results in comparisons(result):
        for i, test in enumerate(results["differences"]):
            run = test["run"]
            if result["pairs"] == "all":
                run = f"{run} - {test['baseline']}"
            yield [_measure_in(by, name, measure) if i == 0 else "", run], test


def _measure_in(by: str, name: str, measure: str) -> str:
    """Return the name of a measure, followed by that of its segment."""
    return f"{measure}, {_segment(by, name)}" if by else measure


def _count(value: int | None) -> str:
    return _NOTHING if value is None else str(value)


def _percent(value: float | None) -> str:
    return _NOTHING if value is None else f"{100 * value:+.1f}%"


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
