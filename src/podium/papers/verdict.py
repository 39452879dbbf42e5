"""Verdicts: the paper's figure against ours, and the paper's claim against what was found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from podium.errors import ArgumentError
from podium.papers.recipe import Claim, Recipe
from podium.papers.study import Figures, Measured

Agreement: TypeAlias = Literal["exact", "agrees", "within noise", "differs", "undefined", ""]
Standing: TypeAlias = Literal["holds", "open", "fails"]
Judged: TypeAlias = tuple[Claim, Measured, Standing]

_OTHER: dict[Standing, str] = {"open": "open", "fails": "failed"}
_Z = 1.96  # an interval of 95 %
_SAME = 1e-12  # of the figure: what two orders of a sum may differ by


@dataclass(frozen=True)
class Line:
    """One figure: what the paper printed (None: nothing), what was measured, and how they agree."""

    key: str
    printed: float | None
    found: Measured
    agreement: Agreement

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.printed is None else self.found.value - self.printed


@dataclass(frozen=True)
class Verdict:
    """How a recipe came out.

    Attributes
    ----------
    lines : tuple of Line
        The printed figures first, in the recipe's order.
    claims : tuple of (Claim, Measured, Standing)
    overall : str
        A few words: "reproduced", "direction only", "in part", "not reproduced", "measured"; and
        where nothing was printed "all claims hold" or "2 of 3 claims hold".
    text : str
        The counts behind them, in sentences.
    """

    lines: tuple[Line, ...]
    claims: tuple[Judged, ...]
    overall: str
    text: str


def judge(recipe: Recipe, figures: Figures) -> Verdict:
    """Compare what was measured with what the paper printed and claimed.

    Raises
    ------
    ArgumentError
        If the study lacks a figure that the recipe prints or claims something about.
    """
    _complete(recipe, figures)
    lines = [line(recipe, key, figures[key]) for key in recipe.printed]
    lines += [line(recipe, key, figures[key]) for key in figures if key not in recipe.printed]
    claims: list[Judged] = [
        (claim, figures[claim.figure], standing(claim, figures[claim.figure]))
        for claim in recipe.claims
    ]
    agree = [each.agreement not in ("differs", "undefined") for each in lines if each.agreement]
    hold = [each == "holds" for *_, each in claims]
    return Verdict(tuple(lines), tuple(claims), _overall(agree, hold), _text(agree, claims))


def line(recipe: Recipe, key: str, found: Measured) -> Line:
    """Return how one figure compares with the printed one.

    "exact" up to rounding of sums; "agrees" within the recipe's tolerance; "within noise" if the
    tolerance and 1.96 standard errors of ours cover the difference.
    """
    printed = recipe.printed.get(key)
    return Line(key, printed, found, _agreement(printed, found, recipe.tolerance_of(key)))


def standing(claim: Claim, found: Measured) -> Standing:
    """Tell whether a claim holds: the whole 95 % interval beyond its bound, or none of it."""
    margin = 0.0 if math.isnan(found.std_error) else _Z * found.std_error
    beyond = [found.value - claim.above] if claim.above is not None else []
    beyond += [claim.below - found.value] if claim.below is not None else []
    least = min(beyond)
    if least > margin:
        return "holds"
    return "open" if least > -margin and not math.isnan(least) else "fails"


def _agreement(printed: float | None, found: Measured, tolerance: float) -> Agreement:
    if printed is None:
        return ""
    if math.isnan(found.value):
        return "undefined"
    away = abs(found.value - printed)
    if away <= _SAME * max(1.0, abs(printed)):
        return "exact"
    if away <= tolerance * (1 + _SAME):
        return "agrees"
    noise = 0.0 if math.isnan(found.std_error) else _Z * found.std_error
    return "within noise" if away <= tolerance + noise else "differs"


def _overall(agree: Sequence[bool], hold: Sequence[bool]) -> str:
    if not agree and not hold:
        return "measured"
    if not agree:  # nothing was printed: claims of podium's own
        return "all claims hold" if all(hold) else f"{sum(hold)} of {len(hold)} claims hold"
    if all(agree) and all(hold):
        return "reproduced"
    if hold and all(hold):
        return "direction only"
    return "in part" if any(agree) or any(hold) else "not reproduced"


def _text(agree: Sequence[bool], claims: Sequence[Judged]) -> str:
    """Return the counts; those of claims that hold only where `_overall` does not say them."""
    counts = Counter(standing for *_, standing in claims)
    said = [f"{counts['holds']} of {len(claims)} claims hold"] if agree and claims else []
    said += [f"{counts[each]} {word}" for each, word in _OTHER.items() if counts[each]]
    text = f"{', '.join(said)}." if said else ""
    return f"{sum(agree)} of {len(agree)} printed figures agree. {text}".strip() if agree else text


def _complete(recipe: Recipe, figures: Figures) -> None:
    wanted = [*recipe.printed, *(claim.figure for claim in recipe.claims)]
    lacking = [key for key in wanted if key not in figures]
    if lacking:
        raise ArgumentError(f"The study of {recipe.name} measured no {lacking[0]!r}.")
