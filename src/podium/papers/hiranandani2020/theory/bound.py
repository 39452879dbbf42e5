"""The generalization bound of pAp@k, up to the constant that its theorem leaves open."""

from __future__ import annotations

import math

from podium import _check
from podium.papers.hiranandani2020.theory import _shares
from podium.papers.hiranandani2020.theory._shares import GammaPlus


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
    plus, minus = _shares.gammas(n_pos, n_neg, k, gamma_plus)
    capacity = _check.cutoff(vc_dim, name="vc_dim")
    unlikely = math.log(1.0 / _check.open_fraction(rho, "rho"))
    factor = _check.number(constant, "constant", low=0.0, strict=True)
    of_pos = math.sqrt((capacity * math.log(n_pos) + unlikely) / n_pos)
    of_neg = math.sqrt((capacity * math.log(n_neg) + unlikely) / n_neg)
    return factor * (of_pos / plus + of_neg / minus)
