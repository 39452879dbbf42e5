"""Tables, {"columns": names, "rows": lists of cells}, as text, Markdown, LaTeX or CSV.

A cell is text (written unchanged, but escaped for the format), an integer, a float, or None for
undefined. Floats have `digits` decimals, a key of the table, except in CSV.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from podium import _check, _numbers, _text
from podium.errors import ArgumentError
from podium.report._types import Table

Columns: TypeAlias = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""The columns of a table by name: the field of a record, and its form in a cell."""

_DIGITS = 3
_RARE = "undefined"
_BOUNDS = ("lowest", "highest")
_NUMERIC = re.compile(r"(?!.*[A-Za-df-z])[<>≈±]?[-+−[(\d∞–][-+−\d.,%e±∞–\s\[\]()]*|")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # a bracket at the start of a row would be parsed as the option of \\
    "]": "{]}",
    "−": r"$-$",
    "–": "--",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
# Characters that start a Markdown construct; _ only where it could open or close emphasis.
_MARKDOWN = re.compile(r"[\\|`*\[\]~$]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")


def build(columns: Columns, records: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table with a row for each record; an undefined column of a record is None.

    Examples
    --------
    >>> build({"run": ("name", str), "mean": ("mean", "{:.1f}".format)}, [{"name": "a", "mean": 1}])
    {'columns': ['run', 'mean'], 'rows': [['a', '1.0']]}
    """
    cells = [*columns.values()]
    rows = [[form(record.get(field)) for field, form in cells] for record in records]
    return {"columns": [*columns], "rows": rows}


def flat(names: Iterable[str], records: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table of all digits; `low` and `high` are the ends of a record's interval."""
    columns: Columns = {name: (name, lambda value: value) for name in names}
    return build(columns, ({**record, **ends(record)} for record in records))


def ends(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ends of a record's interval and of its bounds by name."""
    low, high = record.get("interval") or (None, None)
    lowest, highest = record.get("bounds") or (None, None)
    return {"low": low, "high": high, "lowest": lowest, "highest": highest}


def named(record: Mapping[str, Any], value: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the value of a record under the name "", and the numbers of these names.

    A record without bounds has no `lowest` and `highest`.
    """
    numbers, absent = {**record, **ends(record)}, () if record.get("bounds") else _BOUNDS
    return {"": record[value], **{name: numbers.get(name) for name in names if name not in absent}}


def texts(*names: str) -> Columns:
    """Return columns of text whose names are those of the fields."""
    return {name: (name, str) for name in names}


def chosen(table: Mapping[str, Any], places: Sequence[int]) -> Table:
    """Return some columns of a table, given their places, with their alignment and bold cells."""
    result: Any = {**table, "columns": [table["columns"][j] for j in places]}
    result["rows"] = [[row[j] for j in places] for row in table["rows"]]
    if sides := table.get("align"):
        result["align"] = [sides[j] for j in places]
    if bold := table.get("highlight"):
        result["highlight"] = [(i, places.index(j)) for i, j in bold if j in places]
    return result


def without_zeros(table: Table) -> Table:
    """Return a table without the column of undefined users if there are none."""
    columns = list(table["columns"])
    column = columns.index(_RARE) if _RARE in columns else -1
    is_zero = column >= 0 and all(row[column] in ("", "0") for row in table["rows"])
    return chosen(table, [j for j in range(len(columns)) if j != column]) if is_zero else table


def to_text(table: Mapping[str, Any]) -> str:
    """Return a table as text aligned by spaces, for a terminal; control characters are replaced.

    Examples
    --------
    >>> print(to_text({"columns": ["run", "pap@10"], "rows": [["linear", 0.5], ["als", None]]}))
    run     pap@10
    ------  ------
    linear   0.500
    als          –
    """
    header, rows = formatted(table)
    header, *rows = [[_text.printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(_text.columns, column)) for column in zip(header, *rows, strict=True)]
    right = [side == "right" for side in alignment(table)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(_joined(line, widths, right) for line in lines)


def to_markdown(table: Mapping[str, Any]) -> str:
    r"""Return a table as a pipe table of GitHub's Markdown.

    Examples
    --------
    >>> print(to_markdown({"columns": ["run", "n_pos"], "rows": [["a|b", 3]]}))
    | run | n_pos |
    | :--- | ---: |
    | a\|b | 3 |
    """
    header, rows = formatted(table)
    rules = ["---:" if side == "right" else ":---" for side in alignment(table)]
    lines = [[_markdown(cell) for cell in row] for row in (header, *rows)]
    markdown_rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([markdown_rows[0], f"| {' | '.join(rules)} |", *markdown_rows[1:]])


def to_latex(table: Mapping[str, Any]) -> str:
    r"""Return a table as a tabular environment with booktabs rules (``\usepackage{booktabs}``).

    Examples
    --------
    >>> print(to_latex({"columns": ["run", "n_pos"], "rows": [["a & b", 3]]}))
    \begin{tabular}{lr}
    \toprule
    run & n\_pos \\
    \midrule
    a \& b & 3 \\
    \bottomrule
    \end{tabular}
    """
    header, rows = formatted(table)
    sides = "".join(side[0] for side in alignment(table))
    latex_rows = [" & ".join(map(_latex, row)) + r" \\" for row in (header, *rows)]
    start = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", latex_rows[0], r"\midrule"]
    return "\n".join([*start, *latex_rows[1:], r"\bottomrule", r"\end{tabular}"])


def to_csv(table: Mapping[str, Any]) -> str:
    r"""Return a table as comma-separated values; undefined cells are empty.

    Floats have all digits.

    Examples
    --------
    >>> to_csv({"columns": ["run", "pap@10"], "rows": [["a, b", 0.1], ["c", None]]})
    'run,pap@10\n"a, b",0.1\nc,\n'
    """
    columns, rows = read(table)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return out.getvalue()


def read(table: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return columns and rows, after a check that each row has one cell per column."""
    columns = [str(column) for column in table["columns"]]
    rows = [list(row) for row in table["rows"]]
    for i, row in enumerate(rows):
        if len(row) != len(columns):
            raise ArgumentError(
                f"rows must have one cell for each of the {len(columns)} columns, "
                f"got {len(row)} in row {i}."
            )
    return columns, rows


def formatted(table: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows as `read` does, with cells as text for readers."""
    columns, rows = read(table)
    digits = int(table.get("digits", _DIGITS))
    return columns, [[cell_text(cell, digits) for cell in row] for row in rows]


def cell_text(cell: Any, digits: int = _DIGITS) -> str:
    """Return a cell as text for readers."""
    if cell is None:
        return _numbers.NOTHING
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else _numbers.fixed(cell, digits)


def alignment(table: Mapping[str, Any]) -> list[str]:
    """Return "left" or "right" per column: from the table, or "right" for columns of numbers."""
    columns, rows = read(table)
    if table.get("align"):
        return [_check.choice(side, "align", ("left", "right")) for side in table["align"]]
    by_column = [[row[i] for row in rows] for i in range(len(columns))]
    return ["right" if _is_numeric(cells) else "left" for cells in by_column]


def _is_numeric(cells: Sequence[Any]) -> bool:
    texts = [cell_text(cell).strip() for cell in cells]
    return any(texts) and all(_NUMERIC.fullmatch(text) for text in texts)


def _plain(cell: Any) -> str:
    is_undefined = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return "" if is_undefined else str(cell)


def _joined(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = zip(line, widths, right, strict=True)
    return "  ".join(_pad(cell, width, to_right) for cell, width, to_right in cells).rstrip()


def _pad(cell: str, width: int, to_right: bool) -> str:
    spaces = " " * (width - _text.columns(cell))
    return spaces + cell if to_right else cell + spaces


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(lambda match: "\\" + match.group(), _text.printable(text))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _text.printable(text))
