"""Verdicts on one figure, one claim, and all of them."""

from __future__ import annotations

import pytest

from podium_studies.cells import generator
from podium_studies.study import Claim, Measured, Recipe
from podium_studies.verdict import judge, line, standing

NAN = float("nan")


def made(printed: dict[str, float], *claims: Claim, tolerance: float = 0.5) -> Recipe:
    return Recipe("r", "", "", "", "", printed=printed, claims=claims, tolerance=tolerance)


@pytest.mark.parametrize(
    ("found", "agreement"),
    [
        (Measured(2.0), "exact"),
        (Measured(2.0 + 1e-13), "exact"),
        (Measured(2.5), "agrees"),
        (Measured(1.5), "agrees"),
        (Measured(2.6), "differs"),
        (Measured(2.6, 0.1), "within noise"),  # 0.5 + 1.96 * 0.1 = 0.696
        (Measured(2.7, 0.1), "differs"),
        (Measured(1.3, 0.1), "differs"),
        (Measured(NAN), "undefined"),
    ],
)
def test_figure_agrees_within_tolerance_and_noise(found, agreement):
    assert line(made({"a": 2.0}), "a", found).agreement == agreement


@pytest.mark.parametrize(
    ("claim", "found", "expected"),
    [
        (Claim("", "a", above=1.0), Measured(2.0, 0.5), "holds"),  # 2 - 1.96 * 0.5 = 1.02
        (Claim("", "a", above=1.0), Measured(2.0, 0.6), "open"),
        (Claim("", "a", above=1.0), Measured(0.0, 0.6), "open"),
        (Claim("", "a", above=1.0), Measured(0.0, 0.5), "fails"),
        (Claim("", "a", below=1.0), Measured(0.0, 0.5), "holds"),
        (Claim("", "a", below=1.0), Measured(1.5), "fails"),
        (Claim("", "a", above=1.0), Measured(1.0), "fails"),
        (Claim("", "a", above=1.0), Measured(NAN, 0.5), "fails"),
    ],
)
def test_claim_holds_where_its_whole_interval_lies_beyond_the_bound(claim, found, expected):
    assert standing(claim, found) == expected


@pytest.mark.parametrize(
    ("a", "gain", "overall"),
    [
        (2.0, 1.0, "reproduced"),
        (9.0, 1.0, "direction only"),
        (2.0, -1.0, "in part"),
        (9.0, -1.0, "not reproduced"),
    ],
)
def test_overall_verdict_tells_values_from_direction(a, gain, overall):
    recipe = made({"a": 2.0}, Claim("gains", "gain", above=0.0))
    verdict = judge(recipe, {"a": Measured(a), "gain": Measured(gain), "more": Measured(3.0)})
    assert verdict.overall == overall
    assert [each.key for each in verdict.lines] == ["a", "gain", "more"]


def test_claims_of_podiums_own_reproduce_nothing():
    both = made({}, Claim("gains", "gain", above=0.0), Claim("more", "gain", above=2.0))
    assert judge(both, {"gain": Measured(1.0)}).overall == "1 of 2 claims hold"
    assert judge(both, {"gain": Measured(1.0)}).text == "1 failed."
    assert judge(both, {"gain": Measured(3.0)}).overall == "all claims hold"
    assert judge(both, {"gain": Measured(3.0)}).text == ""


def test_generator_depends_on_seed_purpose_and_index_only():
    recipe = made({})
    draws = {
        tuple(generator(recipe, purpose, *index).integers(0, 2**62, 2))
        for purpose, index in [("a", (1,)), ("a", (2,)), ("b", (1,)), ("a", (1, 2))]
    }
    assert len(draws) == 4
    rerun = generator(recipe, "a", 1).integers(0, 2**62, 2)
    assert tuple(rerun) in draws
