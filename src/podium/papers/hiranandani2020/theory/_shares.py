"""Which share of positives and negatives pAp@k reads, and the checks that go with it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from podium import _check
from podium.errors import ArgumentError

GammaPlus: TypeAlias = Literal["corrected", "printed"] | float

_FORMS = ("corrected", "printed")


def sizes(n_pos: int, n_neg: int, k: int) -> tuple[int, int, int]:
    """Return checked counts; k may not exceed n_neg."""
    positives = _check.cutoff(n_pos, name="n_pos")
    negatives = _check.cutoff(n_neg, name="n_neg")
    cutoff = _check.cutoff(k)
    if cutoff > negatives:
        raise ArgumentError(
            f"k must be at most n_neg, got k={cutoff} and n_neg={negatives}. "
            "pAp@k reads the k best of the negatives."
        )
    return positives, negatives, cutoff


def gammas(n_pos: int, n_neg: int, k: int, gamma_plus: GammaPlus) -> tuple[float, float]:
    """Return (gamma_plus, gamma_minus), the shares of positives and negatives that are read."""
    n_pos, n_neg, k = sizes(n_pos, n_neg, k)
    minus = k / n_neg
    if not isinstance(gamma_plus, str):
        return _check.number(gamma_plus, "gamma_plus", low=0.0, high=1.0, strict=True), minus
    if _check.choice(gamma_plus, "gamma_plus", _FORMS) == "corrected":
        return min(1.0, k / n_pos), minus
    # The share of positives among all, n_pos / (n_pos + n_neg), against k / n_neg, in integers.
    return (1.0 if n_pos * n_neg <= k * (n_pos + n_neg) else minus), minus
