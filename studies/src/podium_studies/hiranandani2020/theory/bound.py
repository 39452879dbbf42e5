"""The generalization bound of pAp@k, and the shares of positives and negatives that it uses.

The theorem does not specify the constant of the bound.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from podium.errors import ArgumentError
from podium_studies import checks

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
    """Return a bound on population risk less empirical risk that holds with probability 1 - rho.

    The bound is ``constant (sqrt((vc_dim ln n_pos + ln 1/rho) / n_pos) / gamma_plus
    + sqrt((vc_dim ln n_neg + ln 1/rho) / n_neg) / gamma_minus)`` with gamma_minus = k / n_neg.

    Parameters
    ----------
    n_pos, n_neg, k : int
        The numbers of positives and negatives of the group, and the cutoff, k <= n_neg.
    vc_dim : int
        The VC dimension of the thresholded scoring functions, at least 1. For linear scores of d
        features, it is d + 1.
    rho : float
        The probability that the bound does not hold, between 0 and 1.
    constant : float
        The constant C of the theorem, > 0. According to the theorem, a constant exists that is
        the same for all distributions, but its value is unknown. The bounds of two settings can
        be compared. A single bound is no guarantee.
    gamma_plus : {"corrected", "printed"} or float
        The share of positives that the risk uses, see `population_risk`.

    Returns
    -------
    float
        The bound in units of the risk. The risk is at most 1, so that a bound >= 1 is trivial.

    Raises
    ------
    ArgumentError
        If a count is below 1, k > n_neg, or rho, constant or gamma_plus is out of range.

    Notes
    -----
    The bound is valid for independently drawn positives and negatives of one group. It does not
    depend on the number of groups (users).

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
    positive_share, negative_share = gammas(n_pos, n_neg, k, gamma_plus)
    capacity = checks.cutoff(vc_dim, name="vc_dim")
    log_inverse_rho = math.log(1.0 / checks.open_fraction(rho, "rho"))
    checked_constant = checks.positive(constant, "constant")
    positive_term = math.sqrt((capacity * math.log(n_pos) + log_inverse_rho) / n_pos)
    negative_term = math.sqrt((capacity * math.log(n_neg) + log_inverse_rho) / n_neg)
    return checked_constant * (positive_term / positive_share + negative_term / negative_share)


def sizes(n_pos: int, n_neg: int, k: int) -> tuple[int, int, int]:
    """Return the checked counts, or raise an error if k > n_neg."""
    positives = checks.cutoff(n_pos, name="n_pos")
    negatives = checks.cutoff(n_neg, name="n_neg")
    cutoff = checks.cutoff(k)
    if cutoff > negatives:
        raise ArgumentError(
            f"k must be at most n_neg, got k={cutoff} and n_neg={negatives}. "
            "pAp@k uses the k best negatives."
        )
    return positives, negatives, cutoff


def gammas(n_pos: int, n_neg: int, k: int, gamma_plus: GammaPlus) -> tuple[float, float]:
    """Return (gamma_plus, gamma_minus), the shares of positives and negatives that are used."""
    n_pos, n_neg, k = sizes(n_pos, n_neg, k)
    negative_share = k / n_neg
    if not isinstance(gamma_plus, str):
        return checks.number(
            gamma_plus, "gamma_plus", low=0.0, high=1.0, strict=True
        ), negative_share
    if checks.choice(gamma_plus, "gamma_plus", _FORMS) == "corrected":
        return min(1.0, k / n_pos), negative_share
    # The share of positives among all, n_pos / (n_pos + n_neg), against k / n_neg, in integers.
    return (1.0 if n_pos * n_neg <= k * (n_pos + n_neg) else negative_share), negative_share
