"""Figures of a search and of the training of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium._text import counted
from podium.report._types import Figure
from podium.report.cells import percentage
from podium.report.figures import intervals

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
    return {
        "kind": "line_plot",
        "title": f"Best {measure} at each value of {name}",
        "x_label": name,
        "y_label": f"mean {measure}",
        "log_x": values[0] > 0 and values[-1] / values[0] >= _LOG_FACTOR,
        "series": [{"label": measure, "x": values, "y": [best[value] for value in values]}],
    }


def training(name: str, values: Sequence[float]) -> Figure:
    """Return one value of a model after each iteration of its fit, such as the objective."""
    return {
        "kind": "line_plot",
        "title": f"Training: {name}",
        "x_label": "iteration",
        "y_label": name,
        "series": [{"label": name, "x": [*range(1, len(values) + 1)], "y": [*values]}],
    }
