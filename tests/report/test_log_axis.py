"""A line plot's logarithmic axes: points at equal factors, plain labels, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from podium.errors import ArgumentError
from podium.report import figures


def figure(x: list[float], y: list[float | None] | None = None, **options: Any) -> dict[str, Any]:
    line = {"label": "a", "x": x, "y": y or [0.1] * len(x)}
    return {"kind": "line_plot", "series": [line], "title": "t", **options}


def test_points_and_labels_follow_the_scale() -> None:
    ax: Any = figures.plot(figure([10, 100, 1000], [0.01, 0.1, 1], log_x=True, log_y=True))
    ax.figure.draw_without_rendering()
    points = ax.transData.transform([(10, 0.01), (100, 0.1), (1000, 1)])
    assert points[1] - points[0] == pytest.approx(points[2] - points[1])
    assert {"10", "100", "1,000"} <= {text.get_text() for text in ax.get_xticklabels()}
    assert {"0.01", "0.10", "1.00"} <= {text.get_text() for text in ax.get_yticklabels()}


def test_undefined_heights_break_a_logarithmic_line() -> None:
    svg = figures.draw(figure([1, 2, 3], [0.1, None, 1.0], log_y=True))
    assert "a: 1.000 at 3, the last of 3" in svg


@pytest.mark.parametrize("axis", ["x", "y"])
def test_values_that_have_no_logarithm(axis: str) -> None:
    with pytest.raises(ArgumentError, match=f"{axis} must be above 0 with log_{axis}=True, got 0"):
        figures.draw({**figure([0, 1], [0, 1]), f"log_{axis}": True})
    with pytest.raises(ArgumentError, match=f"log_{axis} must be True or False"):
        figures.draw({**figure([1, 2]), f"log_{axis}": "yes"})
