"""Verdicts: comparison of computed figures with a paper's printed figures and claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from podium_studies.study import Claim, Figures, Measured, Recipe

Agreement: TypeAlias = Literal["exact", "agrees", "within noise", "differs", "undefined", ""]
Standing: TypeAlias = Literal["holds", "open", "fails"]
Judged: TypeAlias = tuple[Claim, Measured, Standing]

_OTHER: dict[Standing, str] = {"open": "open", "fails": "failed"}
_SAME = 1e-12  # relative to the figure: rounding differences between two orders of a sum


@dataclass(frozen=True)
class Line:
    """One figure: the printed value (None if absent), the measured one, and their agreement."""

    key: str
    printed: float | None
    measured: Measured
    agreement: Agreement

    @property
    def difference(self) -> float | None:
        """The measured value minus the printed one."""
        return None if self.printed is None else self.measured.value - self.printed


@dataclass(frozen=True)
class Verdict:
    """The verdict on a recipe.

    Attributes
    ----------
    lines : tuple of Line
        The printed figures first, in the recipe's order.
    claims : tuple of (Claim, Measured, Standing)
    overall : str
        A few words: "reproduced", "direction only", "in part", "not reproduced" or "measured";
        without printed figures, "all claims hold" or "2 of 3 claims hold".
    text : str
        The counts behind `overall`, in sentences.
    """

    lines: tuple[Line, ...]
    claims: tuple[Judged, ...]
    overall: str
    text: str


def judge(recipe: Recipe, figures: Figures) -> Verdict:
    """Compare the measured figures with those that the paper printed and claimed."""
    lines = [line(recipe, key, figures[key]) for key in {**recipe.printed, **figures}]
    claimed = ((claim, figures[claim.figure]) for claim in recipe.claims)
    claims: list[Judged] = [(claim, found, standing(claim, found)) for claim, found in claimed]
    agreements = [result.agreement for result in lines if result.agreement]
    agree = [agreement not in ("differs", "undefined") for agreement in agreements]
    hold = [result == "holds" for *_, result in claims]
    return Verdict(tuple(lines), tuple(claims), _overall(agree, hold), _text(agree, claims))


def line(recipe: Recipe, key: str, measured: Measured) -> Line:
    """Return the comparison of one figure with the printed one.

    A figure is "exact" if only the rounding of sums differs. It "agrees" within the recipe's
    tolerance. It is "within noise" if the tolerance plus 1.96 standard errors of the measured
    value cover the difference.
    """
    printed = recipe.printed.get(key)
    if printed is None:
        return Line(key, printed, measured, "")
    distance = abs(measured.value - printed)
    tolerance = recipe.tolerances.get(key, recipe.tolerance)
    agreement: Agreement = "differs"
    if math.isnan(distance):
        agreement = "undefined"
    elif distance <= _SAME * max(1.0, abs(printed)):
        agreement = "exact"
    elif distance <= tolerance * (1 + _SAME):
        agreement = "agrees"
    elif distance <= tolerance + measured.half_width:
        agreement = "within noise"
    return Line(key, printed, measured, agreement)


def standing(claim: Claim, measured: Measured) -> Standing:
    """Return whether a claim holds.

    A claim "holds" if the entire 95 % interval lies beyond its bounds, "fails" if no part of the
    interval does, and is "open" otherwise.
    """
    beyond = [measured.value - claim.above] if claim.above is not None else []
    beyond += [claim.below - measured.value] if claim.below is not None else []
    smallest_margin = min(beyond)
    if smallest_margin > measured.half_width:
        return "holds"
    return "open" if smallest_margin > -measured.half_width else "fails"


def _overall(agree: Sequence[bool], hold: Sequence[bool]) -> str:
    if not agree and not hold:
        return "measured"
    if not agree:  # the recipe has only claims, no printed figures
        return "all claims hold" if all(hold) else f"{sum(hold)} of {len(hold)} claims hold"
    if all(agree) and all(hold):
        return "reproduced"
    if hold and all(hold):
        return "direction only"
    return "in part" if any(agree) or any(hold) else "not reproduced"


def _text(agree: Sequence[bool], claims: Sequence[Judged]) -> str:
    """Return the counts; those of claims that hold are left out if `_overall` has them."""
    counts = Counter(standing for *_, standing in claims)
    claim_counts = [f"{counts['holds']} of {len(claims)} claims hold"] if agree and claims else []
    claim_counts += [
        f"{counts[status]} {word}" for status, word in _OTHER.items() if counts[status]
    ]
    text = f"{', '.join(claim_counts)}." if claim_counts else ""
    return f"{sum(agree)} of {len(agree)} printed figures agree. {text}".strip() if agree else text
