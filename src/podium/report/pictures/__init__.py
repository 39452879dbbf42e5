"""Pictures of results: figures by name, from the JSON forms of results and from plain values.

`Result.plot` and the pages of reports draw the same figures. A picture that is expensive is a
function without arguments, which is called only if it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import ByMeasure
from podium.report._types import Figure
from podium.report.pictures import decided, estimated, measured, searched

Pictures: TypeAlias = Mapping[str, Figure | Callable[[], Figure]]
"""The pictures of a result by name; the first one is the natural one."""

__all__ = [
    "Pictures",
    "chosen_measure",
    "chosen_measures",
    "decided",
    "estimated",
    "measured",
    "picture",
    "searched",
]


def picture(pictures: Pictures, kind: str | None, result: str) -> Figure:
    """Return one picture of a result, by default the natural one.

    Parameters
    ----------
    pictures : dict of str to figure, or to a function that returns one
    kind : str or None
    result : str
        The class of the result, for the text of errors.

    Raises
    ------
    ArgumentError
        If there are no pictures, or the kind is not one of them.

    Examples
    --------
    >>> picture({"means": {"kind": "interval_plot", "rows": []}}, None, "Evaluation")
    {'kind': 'interval_plot', 'rows': []}
    """
    if not pictures:
        raise ArgumentError(
            f"This {result} has no numbers to draw. print(result) shows what it has; podium.plots "
            "draws numbers of your own."
        )
    name = next(iter(pictures)) if kind is None else _check.choice(kind, "kind", list(pictures))
    chosen = pictures[name]
    return chosen() if callable(chosen) else chosen


def chosen_measures(measures: Iterable[str], measure: Any) -> tuple[str, str, list[str]]:
    """Return the chosen measure, or the first one; the only one to show, if any; those to try."""
    name = chosen_measure(measures, measure)
    return (name, "", [*measures]) if measure is None else (name, name, [name])


def chosen_measure(measures: Iterable[str], measure: Any) -> str:
    """Return the name of a measure as a result has it, by default the first.

    Raises
    ------
    ArgumentError
        If the result does not have the measure.

    Examples
    --------
    >>> chosen_measure(["rr", "ap@5"], "map@5")
    'ap@5'
    """
    names = ByMeasure({name: name for name in measures})
    if measure is None:
        return next(iter(names), "")
    if str(measure) not in names:
        raise ArgumentError(
            f"{arg.measure} must be one of {', '.join(names) or 'none'}, got {str(measure)!r}."
        )
    return names[str(measure)]
