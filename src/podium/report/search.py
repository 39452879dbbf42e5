"""The table of a search's trials as a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium._text import counted, tally
from podium.metrics import parse
from podium.report._types import Table
from podium.report.cells import NOTHING, number
from podium.report.views import Tables, Text, View

_HIDDEN = ("chosen", "stop_reason", "warning", "error")


def search_view(measure: str, columns: Mapping[str, Sequence[Any]]) -> View:
    """Return the trials from the best mean to the worst; the chosen one comes first.

    Parameters
    ----------
    measure : str
    columns : dict of str to list
        The columns of `Search.table`.
    """
    names = [name for name in columns if name not in _HIDDEN and not name.startswith("fold_")]
    sign = parse(measure).metric.sign

    def place(i: int) -> tuple[bool, bool, float]:
        mean = columns["mean"][i]
        return not columns["chosen"][i], mean is None, -sign * (mean or 0.0)

    order = sorted(range(len(columns["trial"])), key=place)
    rows = [[_cell(name, columns[name][i]) for name in names] for i in order]
    errors = [text for text in columns["error"] if text]
    failed = f" {len(errors)} of them failed: {tally(errors)}." if errors else ""
    note = f"{counted(len(order), 'trials')} by {measure}, the chosen one first.{failed}"
    table: Table = {"columns": names, "rows": rows, "highlight": [(0, names.index("mean"))]}
    legend = ("Bold: the chosen trial. Its lead over the others is not tested.",)
    return View((Tables((table,)), Text((note,))), legend)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return NOTHING
    if name in ("mean", "std_error"):
        return number(value)
    if name == "seconds":
        return f"{value:.1f}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
