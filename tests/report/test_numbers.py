"""How numbers read."""

from __future__ import annotations

import pytest

from podium import _numbers
from podium.report import cells

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "digits"),
    [([0.312, 0.05], 3), ([1.0], 3), ([9.99], 3), ([12.34], 1), ([123.4], 0), ([0.0123], 4)],
)
def test_decimals_give_three_digits(values: list[float], digits: int) -> None:
    assert _numbers.decimals([*values, NAN, None]) == digits


@pytest.mark.parametrize(
    ("value", "signed", "text"),
    [
        (0.1234, False, "0.123"),
        (-0.1234, False, "−0.123"),
        (0.1234, True, "+0.123"),
        (0.0, True, "0.000"),
        (-0.0001, True, "0.000"),
        (12345.6, False, "12,345.600"),
        (None, False, "–"),
        (NAN, True, "–"),
        (float("inf"), True, "+∞"),
        (float("-inf"), False, "−∞"),
    ],
)
def test_fixed_reads(value: float | None, signed: bool, text: str) -> None:
    assert _numbers.fixed(value, 3, signed=signed) == text


def test_number_of_a_cell_that_rounds_to_0_has_no_minus() -> None:
    assert cells.number(-0.00004) == "0.0000"
    assert cells.span((-0.00004, 0.00004), "+") == "[+0.0000, +0.0000]"
    assert cells.number(-0.00006, "+") == "-0.0001"


def test_p_values_never_read_as_zero() -> None:
    assert [_numbers.p_value(p) for p in (0.0, 0.0009, 0.001, 0.25, None)] == [
        "<0.001",
        "<0.001",
        "0.001",
        "0.250",
        "–",
    ]


@pytest.mark.parametrize(
    ("ticks", "expected"),
    [
        ([0.0, 0.5, 1.0], ["0.0", "0.5", "1.0"]),
        ([-0.01, 0.0, 0.01], ["−0.01", "0.00", "0.01"]),
        ([0, 500, 1000], ["0", "500", "1,000"]),
        ([0.25, 0.5], ["0.25", "0.50"]),
        ([0.51], ["0.5100"]),
    ],
)
def test_labels_of_ticks_have_the_same_decimals(ticks: list[float], expected: list[str]) -> None:
    labels = _numbers.tick_labels(ticks)
    assert [float(label.replace("−", "-").replace(",", "")) for label in labels] == ticks
    assert len(ticks) == 1 or labels == expected
