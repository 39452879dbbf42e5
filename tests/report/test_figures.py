"""Every kind of figure: well-formed, with all labels, drawn at its values."""

from __future__ import annotations

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
METHODS = ["popularity", "item similarity (cosine, top 50)", NASTY, "線形ランカー", "Wm@ " * 27]


def rows(shift: float = 0.0, scale: float = 1.0) -> list[dict[str, Any]]:
    """Return rows with bounds around the interval, left of it, and undefined."""
    ends = [(0.1, 0.5), (0.1, 0.5), (0.0, 0.1), (None, None), (None, None)]
    method_rows = [
        {
            "label": name,
            "series": name,
            "value": scale * (0.2 + 0.05 * i + shift),
            "low": scale * (0.15 + 0.05 * i + shift),
            "high": scale * (0.26 + 0.05 * i + shift),
            "lowest": lowest,
            "highest": highest,
        }
        for i, (name, (lowest, highest)) in enumerate(zip(METHODS, ends, strict=True))
    ]
    method_rows[1] |= {"low": None, "high": None}
    method_rows[3] |= {"value": None, "low": None, "high": None}
    return method_rows


def curves(n_points: int) -> list[dict[str, Any]]:
    x = list(range(1, n_points + 1))
    return [
        {"label": name, "x": x, "y": [0.1 * i + 0.01 * k if k % 4 else None for k in x]}
        for i, name in enumerate(METHODS)
    ]


TITLE = f"What {NASTY} does to a title that has many words, and so goes over several lines"
FULL: dict[str, dict[str, Any]] = {
    "interval_plot": {
        "kind": "interval_plot",
        "rows": rows(),
        "axis_label": f"mean of {NASTY}",
        "bounds_label": f"all values that {NASTY} allows",
        "reference": {"value": 0.9, "label": "published"},
    },
    "difference_plot": {
        "kind": "interval_plot",
        "sides": [f"{NASTY} higher", "linear higher"],
        "rows": rows(-0.3, scale=0.01),
        "reference": {"value": -0.02, "label": "limit −0.02"},
    },
    "interval_plot with headings": {
        "kind": "interval_plot",
        "rows": [{"label": f"segment of {NASTY}"}, *rows(), {"label": "one"}, *rows(0.1)[:2]],
        "axis_label": "mean pap@10",
    },
    "histogram": {
        "kind": "histogram",
        **figures.bin_values(np.random.default_rng(0).random(5000), 30),
        "axis_label": f"mean of {NASTY}",
        "count_label": NASTY,
        "mean": 0.99,
        "n_undefined": 12345,
    },
    "line_plot": {
        "kind": "line_plot",
        "series": curves(40),
        "x_label": "epoch",
        "y_label": f"mean of {NASTY}",
    },
    "line_plot with a band, bounds and a goal": {
        "kind": "line_plot",
        "series": [
            {"label": "a", "x": [1, 2], "y": [1, 2], "lowest": [0, 1], "highest": [3, None]},
            {"label": "b", "x": [1, 2], "y": [2, 2], "low": [1, None], "high": [3, 3]},
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
}


def parse(figure: dict[str, Any], **style: Any) -> ET.Element:
    return ET.fromstring(figures.draw({"title": TITLE, **figure}, **style))


def words(root: ET.Element) -> str:
    """All text of a figure; the description has the full text of a shortened label."""
    return " ".join(root.itertext())


def test_every_kind_of_figure_is_tested() -> None:
    assert {figure["kind"] for figure in FULL.values()} == set(figures.FIGURES)


@pytest.mark.parametrize("name", FULL)
def test_figure_has_every_label(name: str) -> None:
    figure = FULL[name]
    said = words(parse(figure, width=360))
    labels = [line["label"] for line in (*figure.get("rows", []), *figure.get("series", []))]
    labels += [figure[key] for key in figure if key.endswith("_label")]
    labels += figure.get("sides", ())
    assert [label for label in labels if label not in said] == []


def test_figure_is_drawn_again_with_the_same_bytes() -> None:
    figure = {"title": TITLE, **FULL["interval_plot with headings"]}
    first, second = (figures.draw(figure, width=360) for _ in range(2))
    assert first == second
    assert not re.search(r"\bid=|matplotlib|<style|<!--|20\d\d-\d\d", first)


def test_colours_are_variables_in_a_page_and_fixed_in_a_file() -> None:
    figure = {"title": TITLE, **FULL["histogram"]}
    in_page, in_file = figures.draw(figure), figures.draw(figure, background="white")
    assert f"var(--c0, {colours.LIGHT['c0']})" in in_page
    assert "var(" not in in_file
    assert "rect" not in in_page
    assert next(ET.fromstring(in_file).iter(f"{SVG}rect")).get("fill") == "white"


def test_signs_of_formulas_and_control_characters_are_text() -> None:
    label = "$\\frac{1}{2}$ $ a\x00b\x1b[31m\nc"
    labels = {"title": "$a_1$", "axis_label": "$b^2$"}
    figure = {"kind": "interval_plot", "rows": [{"label": label, "value": 1.0}]}
    said = words(parse({**figure, **labels}))
    assert "$\\frac{1}{2}$ $ a\ufffdb\ufffd[31m c" in said
    assert all(text in said for text in labels.values())


def line(x: list[float], y: list[float | None], **options: Any) -> dict[str, Any]:
    return {"kind": "line_plot", "series": [{"label": "a", "x": x, "y": y}], "title": "t"} | options


@pytest.mark.parametrize(
    ("figure", "named"),
    [
        ({"kind": "pie"}, "kind.*'pie'"),
        ({"kind": "interval_plot"}, "'interval_plot'.*'rows'"),
        ({"kind": "histogram", "edges": [0, 1], "counts": [1, 2]}, "edges.*counts.*2 and 2"),
        (line([1], []), "x and y.*1 and 0"),
        (line([0, 1], [0, 1], log_x=True), "^x.*log_x"),
        (line([0, 1], [0, 1], log_y=True), "^y.*log_y"),
        (line([1], [2], log_x="yes"), "log_x.*'yes'"),
    ],
)
def test_figures_that_cannot_be_drawn(figure: dict[str, Any], named: str) -> None:
    with pytest.raises(ArgumentError, match=named):
        figures.draw({"title": "a", **figure})


def test_bins_hold_every_defined_value() -> None:
    bins = figures.bin_values([0.1, float("nan"), 0.4, 0.9], n_bins=3)
    assert sum(bins["counts"]) == 3
    assert len(bins["edges"]) == 3 + 1
