"""A line plot's logarithmic axis: round ticks at equal factors, and what it refuses."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from podium.errors import ArgumentError
from podium.plots._scales import LogScale
from podium.report import figures


def plot(x: list[float], *, width: int = 720, **options: Any) -> str:
    line = {"label": "a", "x": x, "y": [0.1] * len(x)}
    return figures.draw(
        {"kind": "line_plot", "series": [line], "title": "t", **options}, width=width
    )


@pytest.mark.parametrize("factor", [1.5, 3, 10, 100, 1e6, 1e15])
@pytest.mark.parametrize("spacing", [30, 64, 160, math.inf])
def test_ticks_lie_inside_and_apart(factor: float, spacing: float) -> None:
    scale = LogScale(7.0, 7.0 * factor, 40.0, 400.0)
    ticks = scale.ticks(spacing)
    assert ticks
    assert all(scale.low <= tick <= scale.high for tick in ticks)
    assert all(scale(b) - scale(a) >= spacing for a, b in itertools.pairwise(ticks))


def test_equal_factors_have_equal_room() -> None:
    scale = LogScale(1.0, 10_000.0, 0.0, 400.0)
    assert [scale(10.0**i) for i in range(5)] == pytest.approx([0, 100, 200, 300, 400])
    assert scale.ticks(90) == [1, 10, 100, 1000, 10_000]
    assert scale.ticks(25) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]


def test_short_axis_has_equal_steps_if_only_one_round_factor_fits() -> None:
    scale = LogScale(0.012, 0.026, 200.0, 0.0)
    assert scale.ticks(44) == pytest.approx([0.015, 0.02, 0.025])


def test_points_and_labels_follow_the_scale() -> None:
    root = ET.fromstring(plot([10, 100, 1000], log_x=True))
    dots = [float(e.attrib["cx"]) for e in root.iter() if e.tag.endswith("circle")][:3]
    assert dots[1] - dots[0] == pytest.approx(dots[2] - dots[1], abs=0.1)
    assert {"10", "100", "1,000"} <= set(root.itertext())


def test_heights_and_bands_follow_the_scale() -> None:
    line = {"label": "a", "x": [1, 2, 3], "y": [0.01, 0.1, 1], "low": [0.01, 0.01, 0.1]}
    line |= {"high": [0.1, 1, 10]}
    svg = figures.draw({"kind": "line_plot", "series": [line], "title": "t", "log_y": True})
    root = ET.fromstring(svg)
    dots = [float(e.attrib["cy"]) for e in root.iter() if e.tag.endswith("circle")][:3]
    assert dots[0] - dots[1] == pytest.approx(dots[1] - dots[2], abs=0.1)
    assert dots[0] > dots[1]
    assert {"0.01", "0.10", "1.00", "10.00"} <= set(root.itertext())


def test_undefined_heights_break_a_logarithmic_line() -> None:
    lines = [{"label": "a", "x": [1, 2, 3], "y": [0.1, None, 1.0]}]
    svg = figures.draw({"kind": "line_plot", "series": lines, "title": "t", "log_y": True})
    assert "a: 1.000 at 3, the last of 3" in svg
    assert svg.count("<circle") == 2 + 1  # two points that no line joins, and the name's


@pytest.mark.parametrize("x", [[3], [1, 2], [1e-3, 1e3], [1e12, 1e13]])
@pytest.mark.parametrize("width", [320, 720])
def test_any_positive_x_is_drawn(x: list[float], width: int) -> None:
    assert "<svg" in plot(x, log_x=True, width=width)


def test_x_that_has_no_logarithm() -> None:
    with pytest.raises(ArgumentError, match="x must be above 0 with log_x=True, got 0"):
        plot([0, 1], log_x=True)
    with pytest.raises(ArgumentError, match="log_x must be True or False"):
        plot([1, 2], log_x="yes")


def test_y_that_has_no_logarithm() -> None:
    line = {"label": "a", "x": [1, 2], "y": [0.0, 1.0]}
    with pytest.raises(ArgumentError, match="y must be above 0 with log_y=True, got 0"):
        figures.draw({"kind": "line_plot", "series": [line], "title": "t", "log_y": True})
    with pytest.raises(ArgumentError, match="log_y must be True or False"):
        plot([1, 2], log_y="yes")
