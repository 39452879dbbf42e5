"""The generalization bound of pAp@k, and which shares of positives and negatives it reads.

The theorem leaves the bound's constant open.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from podium import _check
from podium.errors import ArgumentError

GammaPlus: TypeAlias = Literal["corrected", "printed"] | float

_FORMS = ("corrected", "printed")


def generalization_bound(
    *,
    n_pos: int,
    n_neg: int,
    k: int,
    vc_dim: int,
    rho: float = 0.05,
    constant: float = 1.0,
    gamma_plus: GammaPlus = "corrected",
) -> float:
    """What the population risk may exceed the empirical risk by, with probability 1 - rho.

    ``constant (sqrt((vc_dim ln n_pos + ln 1/rho) / n_pos) / gamma_plus
    + sqrt((vc_dim ln n_neg + ln 1/rho) / n_neg) / gamma_minus)`` with gamma_minus = k / n_neg.

    Parameters
    ----------
    n_pos, n_neg, k : int
        Positives, negatives and cutoff of the one group, k <= n_neg.
    vc_dim : int
        VC dimension of the thresholded scoring functions, at least 1; d + 1 for linear scores of
        d features.
    rho : float
        Between 0 and 1.
    constant : float
        C of the theorem, > 0. The theorem says that there is one, the same for all
        distributions, and leaves it unknown: the values of two settings can be compared, one
        value alone is no guarantee.
    gamma_plus : {"corrected", "printed"} or float
        Share of positives that is read, see `population_risk`.

    Returns
    -------
    float
        In units of the risk; a value >= 1 says nothing, the risk being at most 1.

    Raises
    ------
    ArgumentError
        For a count below 1, k > n_neg, or rho, constant or gamma_plus out of range.

    Notes
    -----
    For positives and negatives that are drawn independently, of one group; it does not speak of
    how many groups (users) there are.

    References
    ----------
    hiranandani2020, theorem 2.

    Examples
    --------
    >>> small = generalization_bound(n_pos=100, n_neg=1_000, k=50, vc_dim=6)
    >>> large = generalization_bound(n_pos=10_000, n_neg=100_000, k=5_000, vc_dim=6)
    >>> round(small, 2), round(large, 2)
    (5.32, 0.69)
    """
    plus, minus = gammas(n_pos, n_neg, k, gamma_plus)
    capacity = _check.cutoff(vc_dim, name="vc_dim")
    unlikely = math.log(1.0 / _check.open_fraction(rho, "rho"))
    factor = _check.number(constant, "constant", low=0.0, strict=True)
    of_pos = math.sqrt((capacity * math.log(n_pos) + unlikely) / n_pos)
    of_neg = math.sqrt((capacity * math.log(n_neg) + unlikely) / n_neg)
    return factor * (of_pos / plus + of_neg / minus)


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
