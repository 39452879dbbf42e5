"""The table of guarantees in docs/theory.md is that of the code."""

from __future__ import annotations

import pytest

from podium.losses import _margins as theory

ALL = {"risk", *theory.SURROGATES}


@pytest.mark.parametrize(
    ("margin", "n_pos", "k", "delta", "sure"),
    [
        ("weak", 3, 2, 1.0, {"risk", "pap-ramp"}),
        ("weak", 3, 3, 1.0, ALL),
        ("plain", 3, 3, 1.0, {"pap-avg"}),
        ("plain", 5, 3, 1.0, {"risk", "pap-ramp", "pap-avg"}),
        ("plain", 3, 1, 1.0, ALL),
        ("moderate", 3, 2, 1.0, {"risk", "pap-ramp", "pap-tight-struct", "pap-tight-struct-exact"}),
        ("moderate", 3, 2, 1.5, ALL - {"pap-max", "pauc-hinge"}),
        ("moderate", 3, 3, 1.0, ALL),
        ("strong", 3, 2, 1.0, ALL),
        ("strong", 4, 2, 0.5, {"risk", "pap-tight-struct-exact"}),
    ],
)
def test_table_of_guarantees(
    margin: theory.Margin, n_pos: int, k: int, delta: float, sure: set[str]
) -> None:
    m = theory.margins([9.0] * n_pos + [0.0] * k, [1] * n_pos + [0] * k, k=k, delta=delta)
    assert {name for name, actual in m.guarantees(margin).items() if actual[0]} == sure


@pytest.mark.parametrize(
    ("margin", "n_pos", "delta", "sure"),
    [
        ("strong", 3, 2.0, ALL),
        ("strong", 3, 1.75, ALL - {"pap-struct"}),
        ("moderate", 3, 3.0, ALL - {"pap-max", "pauc-hinge"}),
        ("moderate", 3, 2.75, ALL - {"pap-max", "pauc-hinge", "pap-struct"}),
        ("weak", 2, 2.0, ALL),
    ],
)
def test_more_negatives_than_k_matter_to_the_loose_surrogate_alone(
    margin: theory.Margin, n_pos: int, delta: float, sure: set[str]
) -> None:
    m = theory.margins([9.0] * n_pos + [0.0] * 4, [1] * n_pos + [0] * 4, k=2, delta=delta)
    assert {name for name, actual in m.guarantees(margin).items() if actual[0]} == sure
