"""Figures of a search and of the training of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium._text import counted
from podium.report._types import Figure
from podium.report.cells import percentage
from podium.report.figures import intervals, lines

_MOST_TRIALS = 20
_LOG_FACTOR = 20.0  # values that differ by this factor get a logarithmic axis


def trials(measure: str, rows: Sequence[Mapping[str, Any]], level: float) -> Figure:
    """Return the mean of each trial with its interval, the best first.

    Parameters
    ----------
    measure : str
    rows : sequence of mappings
        The rows of `podium.plots.interval_plot`, the best first.
    level : float
        The coverage of the intervals.
    """
    drawn = rows[:_MOST_TRIALS]
    title = f"{measure} of {counted(len(rows), 'trials')}, with {percentage(level)} intervals"
    if len(drawn) < len(rows):
        title = f"The best {len(drawn)} trials of {len(rows)} by {measure}"
    return intervals(title, drawn, axis_label=f"mean {measure}")


def parameter(measure: str, name: str, best: Mapping[float, float]) -> Figure:
    """Return the best mean at each value of a parameter.

    Parameters
    ----------
    measure, name : str
    best : dict of value to mean
        The best mean over all trials with this value.
    """
    values = sorted(best)
    is_log = values[0] > 0 and values[-1] / values[0] >= _LOG_FACTOR
    line = {"label": measure, "x": values, "y": [best[value] for value in values]}
    title = f"Best {measure} at each value of {name}"
    return lines(title, (name, f"mean {measure}"), [line], log_x=is_log)


def training(name: str, values: Sequence[float]) -> Figure:
    """Return one value of a model after each iteration of its fit, such as the objective."""
    line = {"label": name, "x": [*range(1, len(values) + 1)], "y": [*values]}
    return lines(f"Training: {name}", ("iteration", name), [line])
