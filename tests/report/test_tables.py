"""Each format's escaping, cells that are not text, and how numbers read."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from tests.raised import raises

from podium.errors import ArgumentError
from podium.report import cells, tables

NAN = float("nan")


def test_text_counts_wide_characters_twice_and_disarms_control_characters() -> None:
    rows = [["線形", "x"], ["abcd", "\x1b[31mred"]]
    lines = tables.to_text({"columns": ["a", "b"], "rows": rows}).split("\n")
    assert lines[2] == "線形  x"
    assert "\x1b" not in lines[3]


def test_floats_have_digits_and_undefined_a_dash() -> None:
    rows = [[0.12345], [None], [NAN], [12345], [True], [-0.00001]]
    written = tables.to_text({"columns": ["a"], "rows": rows, "digits": 2})
    texts = [line.strip() for line in written.split("\n")[2:]]
    assert texts == ["0.12", "–", "–", "12,345", "True", "0.00"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        ("*bold* `code`", r"\*bold\* \`code\`"),
        ("n_pos <= 10", "n_pos <= 10"),  # nothing here means anything in Markdown
        ("_private_", r"\_private\_"),
        ("<b>", r"\<b>"),
        ("[a](b)", r"\[a\](b)"),
        ("a\nb", "a b"),
        ("back\\slash", r"back\\slash"),
        ("&lt; & co", r"\&lt; & co"),
    ],
)
def test_markdown_escapes(text: str, expected: str) -> None:
    written = tables.to_markdown({"columns": ["c"], "rows": [[text]]})
    assert written.split("\n")[2] == f"| {expected} |"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50% & more_$5 #1 {x}", r"50\% \& more\_\$5 \#1 \{x\}"),
        (r"a\b", r"a\textbackslash{}b"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("p < 0.001", r"p \textless{} 0.001"),
        ("[0.1, 0.2]", "{[}0.1, 0.2{]}"),
        ("−1", "$-$1"),
    ],
)
def test_latex_escapes(text: str, expected: str) -> None:
    written = tables.to_latex({"columns": ["c"], "rows": [[text]]})
    assert written.split("\n")[4] == expected + r" \\"


def test_csv_reads_back_and_keeps_every_digit() -> None:
    rows: list[list[Any]] = [['a "b", c', "line\nbreak"], ["", "=1+1"]]
    written = tables.to_csv({"columns": ["x,y", "z"], "rows": rows})
    assert list(csv.reader(io.StringIO(written))) == [["x,y", "z"], *rows]
    table = {"columns": ["a", "b", "c"], "rows": [[1 / 3, None, NAN]], "digits": 2}
    assert tables.to_csv(table) == f"a,b,c\n{1 / 3!r},,\n"


def test_bad_tables_are_refused() -> None:
    table = {"columns": ["a", "b"], "rows": [["x", "y"]], "align": ["right", "left"]}
    with raises(ArgumentError, "align"):
        tables.to_text({**table, "align": ["right", "middle"]})
    for write in (tables.to_text, tables.to_markdown, tables.to_latex, tables.to_csv):
        with pytest.raises(ArgumentError, match="2 columns, got 1 in row 1"):
            write({"columns": ["a", "b"], "rows": [[1, 2], [3]]})


def test_numbers_of_cells() -> None:
    assert cells.number(-0.00004) == "0.0000"
    assert cells.span((-0.00004, 0.00004), "+") == "[+0.0000, +0.0000]"
    assert cells.number(-0.00006, "+") == "-0.0001"
    p_values = [cells.p_value(p) for p in (0.0, 0.00009, 0.0001, 0.25, None)]
    assert p_values == ["<0.0001", "<0.0001", "0.0001", "0.2500", "–"]
