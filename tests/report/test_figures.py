"""What holds for every figure: well-formed, complete, inside its frame, drawn at its values."""

from __future__ import annotations

import functools
import math
import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from podium.errors import ArgumentError
from podium.plots import colours
from podium.report import figures

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("1")</script> & co'
LONG = "WWWWW mmmmm @@@@@ " * 6
METHODS = ["popularity", "item similarity (cosine, top 50)", NASTY, "線形ランカー", LONG]


def rows(shift: float = 0.0, scale: float = 1.0) -> list[dict[str, Any]]:
    method_rows = [
        {
            "label": name,
            "series": name,
            "value": scale * (0.2 + 0.05 * i + shift),
            "low": scale * (0.15 + 0.05 * i + shift),
            "high": scale * (0.26 + 0.05 * i + shift),
        }
        for i, name in enumerate(METHODS)
    ]
    method_rows[1] |= {"low": None, "high": None}
    method_rows[3] |= {"value": None, "low": None, "high": None}
    return method_rows


def bounded_rows() -> list[dict[str, Any]]:
    """Return rows whose bounds are around the interval, left of it, and undefined."""
    first, second, third, *others = rows()
    ends = {"lowest": 0.1, "highest": 0.5}
    undefined = {"lowest": None, "highest": None}
    return [{**first, **ends}, {**second, **ends}, {**third, "lowest": 0.0, "highest": 0.1}] + [
        {**row, **undefined} for row in others
    ]


def panels(n: int) -> list[dict[str, Any]]:
    return [
        {"title": f"segment {i} of {NASTY}", "note": f"n = {i}", "rows": rows(0.1 * i)}
        for i in range(n)
    ]


def curves(n_points: int) -> list[dict[str, Any]]:
    x = list(range(1, n_points + 1))
    return [
        {"label": name, "x": x, "y": [0.1 * i + 0.01 * k if k % 4 else None for k in x]}
        for i, name in enumerate(METHODS)
    ]


def points(n: int) -> list[dict[str, Any]]:
    return [
        {
            "label": f"{METHODS[i % 5]} {i}",
            "x": i**0.5,
            "y": i % 7,
            "low": i % 7 - 1,
            "high": i % 7 + 1,
        }
        for i in range(n)
    ]


TITLE = f"What {NASTY} does to a title that has many words, and so goes over several lines"
FULL: dict[str, dict[str, Any]] = {
    "interval_plot": {
        "kind": "interval_plot",
        "rows": rows(),
        "axis_label": f"mean of {NASTY}",
        "reference": {"value": 0.9, "label": "published"},
    },
    "interval_plot with bounds": {
        "kind": "interval_plot",
        "rows": bounded_rows(),
        "bounds_label": f"all values that {NASTY} allows",
    },
    "difference_plot": {
        "kind": "interval_plot",
        "sides": [f"{NASTY} higher", "linear higher"],
        "rows": rows(-0.3, scale=0.01),
        "axis_label": "difference in pap@10",
    },
    "difference_plot with a limit and bounds": {
        "kind": "interval_plot",
        "sides": ["the base better", "the candidate better"],
        "rows": bounded_rows(),
        "reference": {"value": -0.02, "label": "limit −0.02"},
    },
    "grouped_intervals": {
        "kind": "grouped_intervals",
        "panels": panels(5),
        "axis_label": "mean pap@10",
    },
    "grouped_intervals with bounds": {
        "kind": "grouped_intervals",
        "panels": [{"title": f"part {i}", "rows": bounded_rows()[:2]} for i in range(3)],
    },
    "grouped_intervals of unlike rows": {
        "kind": "grouped_intervals",
        "panels": [{"title": "one", "rows": rows()[:2]}, {"title": "none", "rows": []}],
    },
    "histogram": {
        "kind": "histogram",
        **figures.bin_values(np.random.default_rng(0).random(5000), 30),
        "axis_label": f"mean of {NASTY}",
        "count_label": "users",
        "mean": 0.99,
    },
    "histogram with undefined values": {
        "kind": "histogram",
        **figures.bin_values([0.1, 0.2, 0.4]),
        "count_label": NASTY,
        "n_undefined": 12345,
    },
    "line_plot": {
        "kind": "line_plot",
        "series": curves(40),
        "x_label": "epoch",
        "y_label": f"mean of {NASTY}",
    },
    "line_plot with a band": {
        "kind": "line_plot",
        "series": [{"label": "a", "x": [0.5, 1], "y": [1, 2], "low": [0, None], "high": [2, 3]}],
    },
    "line_plot with bounds and a goal": {
        "kind": "line_plot",
        "series": [
            {"label": "a", "x": [1, 2], "y": [1, 2], "lowest": [0, 1], "highest": [3, None]},
            {"label": "b", "x": [1, 2], "y": [2, 2], "low": [1, 1], "high": [3, 3]},
        ],
        "reference": {"value": 2.5, "label": "goal: 2.5"},
    },
    "line_plot with a goal above all": {
        "kind": "line_plot",
        "series": [{"label": "a", "x": [1, 2, 9], "y": [0.02, 0.015, 0.012]}],
        "reference": {"value": 0.03, "label": "goal"},
        "log_x": True,
        "log_y": True,
    },
    "trade_off_plot": {
        "kind": "trade_off_plot",
        "points": points(5),
        "x_label": f"coverage of {NASTY}",
        "y_label": "ndcg@10",
    },
    "user_scatter": {
        "kind": "user_scatter",
        "x": np.random.default_rng(1).random(500) ** 3,
        "y": np.random.default_rng(2).integers(0, 5, 500) / 4,
        "x_label": f"ndcg@10 of {NASTY}",
        "y_label": "ndcg@10 of $als$",
        "count_label": "customers",
    },
}
EMPTY: list[dict[str, Any]] = [
    {"kind": "interval_plot", "rows": []},
    {"kind": "interval_plot", "sides": ["a", "b"], "rows": []},
    {"kind": "grouped_intervals", "panels": []},
    {"kind": "grouped_intervals", "panels": [{"title": "none", "rows": []}]},
    {"kind": "histogram", "edges": [], "counts": []},
    {"kind": "histogram", "edges": [], "counts": [], "n_undefined": 7},
    {"kind": "line_plot", "series": []},
    {"kind": "line_plot", "series": [{"label": "a", "x": [], "y": []}]},
    {"kind": "line_plot", "series": [{"label": "a", "x": [1], "y": [None]}]},
    {"kind": "trade_off_plot", "points": []},
    {"kind": "trade_off_plot", "points": [{"label": "a", "x": None, "y": 1}]},
    {"kind": "user_scatter", "x": [], "y": []},
    {"kind": "user_scatter", "x": [math.nan], "y": [1]},
]


def parse(figure: dict[str, Any], **style: Any) -> ET.Element:
    return ET.fromstring(figures.draw({"title": TITLE, **figure}, **style))


@functools.cache
def drawn(name: str, width: int) -> ET.Element:
    """A figure of `FULL`, drawn once for all tests of a process."""
    return parse(FULL[name], width=width)


def words(root: ET.Element) -> str:
    """All text of a figure; the tooltip has the full text of a shortened label."""
    return " ".join(root.itertext())


def test_every_kind_of_figure_is_tested() -> None:
    assert {figure["kind"] for figure in FULL.values()} == set(figures.FIGURES)
    assert {figure["kind"] for figure in EMPTY} == set(figures.FIGURES)


@pytest.mark.parametrize("width", [360, 720])
@pytest.mark.parametrize("name", FULL)
def test_figure_has_every_label(name: str, width: int) -> None:
    said = words(drawn(name, width))
    figure = FULL[name]
    parts = [figure, *figure.get("panels", [])]
    labels = [row["label"] for part in parts for row in part.get("rows", [])]
    labels += [line["label"] for key in ("series", "points") for line in figure.get(key, [])]
    labels += [panel["title"] for panel in figure.get("panels", [])]
    labels += [figure[key] for key in figure if key.endswith("_label")]
    labels += figure.get("sides", ())
    for label in labels:
        assert label in said


@pytest.mark.parametrize("width", [360, 720])
@pytest.mark.parametrize("figure", EMPTY, ids=lambda figure: figure["kind"])
def test_empty_figure_has_a_note(figure: dict[str, Any], width: int) -> None:
    root = parse(figure, width=width)
    assert "No values." in words(root)


@pytest.mark.parametrize("name", ["line_plot", "user_scatter", "grouped_intervals"])
def test_figure_is_drawn_again_with_the_same_bytes(name: str) -> None:
    figure = {"title": TITLE, **FULL[name]}
    first, second = (figures.draw(figure, width=360) for _ in range(2))
    assert first == second
    assert not re.search(r"\bid=|matplotlib|<style|<!--|20\d\d-\d\d", first)


def lines(figure: dict[str, Any]) -> list[Any]:
    return list(figures.plot(figure).get_lines())


def test_marks_are_drawn_at_their_values() -> None:
    row = {"label": "a", "value": 2.0, "low": 1.0, "high": 3.0, "lowest": 0.0, "highest": 9.0}
    drawn = lines({"kind": "interval_plot", "rows": [row], "reference": {"value": 5, "label": "b"}})
    assert [list(line.get_xdata()) for line in drawn] == [[0, 9], [1, 3], [2], [5, 5]]
    assert "2.000 [1.000, 3.000], bounds [0.000, 9.000]" in words(
        parse({"kind": "interval_plot", "rows": [row]})
    )
    bars = figures.plot({"kind": "histogram", "edges": [0, 1, 2, 4], "counts": [3, 6, 0]}).patches
    assert [bar.get_height() for bar in bars] == [3, 6, 0]
    curve = {"label": "a", "x": [1, 2, 3, 4, 5], "y": [1, 2, None, 2, 1]}
    (line,) = lines({"kind": "line_plot", "series": [curve]})
    np.testing.assert_array_equal(line.get_ydata(), [1, 2, math.nan, 2, 1])
    goal = lines(FULL["line_plot with a goal above all"])[1]
    assert list(goal.get_ydata()) == [0.03, 0.03]


def test_difference_is_hollow_where_the_interval_includes_zero() -> None:
    ends = [(1, 3), (-1, 3), (-3, -1), (None, None)]
    rows = [{"label": "a", "value": 1, "low": low, "high": high} for low, high in ends]
    dots = [
        d
        for d in lines({"kind": "interval_plot", "sides": ["", ""], "rows": rows})
        if d.get_marker() == "o"
    ]
    paper = colours.LIGHT["paper"]
    assert [dot.get_markerfacecolor() == paper for dot in dots] == [False, True, False, True]


def test_methods_have_their_colours_and_repeated_ones_are_dashed() -> None:
    both = [FULL["interval_plot"], {"kind": "line_plot", "series": curves(3)[::-1]}]
    numbers = figures.colour_numbers(both)
    assert list(numbers.values()) == list(range(len(METHODS)))
    line = figures.plot(both[1], colours=numbers).get_legend_handles_labels()[0][0]
    assert line.get_color() == colours.LIGHT["c4"]
    ten = [{"label": f"m{i}", "x": [1, 2], "y": [i, i + 1]} for i in range(10)]
    looks = {
        (line.get_color(), line.get_linestyle())
        for line in lines({"kind": "line_plot", "series": ten})
    }
    assert len(looks) == 10


def test_colours_are_variables_in_a_page_and_fixed_in_a_file() -> None:
    figure = {"title": TITLE, **FULL["histogram"]}
    in_page, in_file = figures.draw(figure), figures.draw(figure, background="white")
    assert f"var(--c0, {colours.LIGHT['c0']})" in in_page
    assert "var(" not in in_file
    assert "rect" not in in_page
    assert next(ET.fromstring(in_file).iter(f"{SVG}rect")).get("fill") == "white"


def test_signs_of_formulas_are_text() -> None:
    row = {"label": r"$\frac{1}{2}$ $", "value": 1.0}
    labels = {"title": "$a_1$", "axis_label": "$b^2$"}
    said = words(parse({"kind": "interval_plot", "rows": [row], **labels}))
    assert all(text in said for text in (row["label"], *labels.values()))


def test_undefined_values_are_counted_below_a_histogram() -> None:
    assert f"12,345 {NASTY} without a value." in words(
        drawn("histogram with undefined values", 720)
    )
    empty = parse({"kind": "histogram", "edges": [], "counts": [], "n_undefined": 7})
    assert "7 groups without a value." in words(empty)


def test_control_characters_leave_xml_well_formed() -> None:
    root = parse({"kind": "interval_plot", "rows": [{"label": "a\x00b\x1b[31m\nc", "value": 1}]})
    assert "a\ufffdb\ufffd[31m c" in words(root)


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"kind": "pie"}, "kind must be one of"),
        ({"kind": "line_plt", "series": []}, "Did you mean 'line_plot'"),
        ({"kind": "interval_plot"}, "'interval_plot' cannot be drawn.*rows"),
        (
            {"kind": "histogram", "edges": [0, 1], "counts": [1, 2]},
            "edges must have one entry more",
        ),
        ({"kind": "line_plot", "series": [{"label": "a", "x": [1], "y": []}]}, "equal length"),
    ],
)
def test_figure_errors_name_the_problem(figure: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        figures.draw({"title": "a", **figure})


def test_bins_hold_every_defined_value() -> None:
    bins = figures.bin_values([0.1, float("nan"), 0.4, 0.9], n_bins=3)
    assert sum(bins["counts"]) == 3
    assert len(bins["edges"]) == 3 + 1


# --- colours ----------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes 2009, severity 1: protanopia, deuteranopia, tritanopia


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
