"""Bootstrap means and random signs, in bounded memory, with separate random streams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.evaluation.stats import intervals
from podium.evaluation.stats.intervals import Interval
from podium.types import PerGroup

_EXACT = 16  # up to this many nonzero differences, all 2**16 sign patterns are enumerated
_BYTE = 8  # sign flips are drawn a byte at a time; each byte selects an entry of a table of sums
_TABLES = 1024  # tables of sums made at a time: 2 MiB
_BLOCK = 1 << 22  # draws that the bootstrap holds at a time


def bca_interval(values: PerGroup, level: float, n_resamples: int, seed: int) -> Interval:
    """Return percentiles of the bootstrap means, shifted for bias and skewness (acceleration).

    The BCa interval of efron1987: the percentiles Phi(z0 + (z0 + z) / (1 - a (z0 + z))) at
    z = Phi^-1((1 -+ level) / 2), with the bias z0 and the acceleration a.
    """
    from scipy.special import ndtr, ndtri

    values = np.sort(values)  # the draws must not depend on the order of the groups
    if values.size < 2 or np.ptp(values) == 0:
        return intervals.t_interval(
            intervals.mean(values), intervals.std_error(values), values.size, level
        )
    mean, means = values.mean(), _bootstrap_means(values, n_resamples, seed)
    # z0: means that equal the observed one count one half, since they are frequent if there are
    # few distinct values. Shares of 0 and 1, where z0 is infinite, are moved inwards.
    below = float((means < mean).mean() + (means <= mean).mean()) / 2
    bias = float(ndtri(min(max(below, 0.5 / n_resamples), 1 - 0.5 / n_resamples)))
    # a: one sixth of the skewness of the mean, which equals the jackknife estimate.
    centred = values - mean
    acceleration = (centred**3).sum() / (6 * (centred**2).sum() ** 1.5)
    shifted = bias + np.asarray(ndtri([(1 - level) / 2, (1 + level) / 2]), np.float64)
    shares = np.asarray(ndtr(bias + shifted / (1 - acceleration * shifted)), np.float64)
    bounds: NDArray[np.float64] = np.quantile(means, shares)
    return Interval(float(bounds[0]), float(bounds[1]))


def _bootstrap_means(values: PerGroup, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """Return means of resamples with replacement; the size of blocks depends on the data only."""
    rng = _generator(seed, "bootstrap")
    distinct, counts = np.unique(values, return_counts=True)
    has_few_values = 12 * distinct.size < values.size  # a binomial draw costs about 12 index draws
    rows = max(1, _BLOCK // (distinct.size if has_few_values else values.size))
    means = np.empty(n_resamples)
    for start in range(0, n_resamples, rows):
        n = min(rows, n_resamples - start)
        if has_few_values:  # draw the number of times that each distinct value occurs, not rows
            value_counts = rng.multinomial(values.size, counts / values.size, size=n)
            means[start : start + n] = value_counts @ distinct / values.size
        else:
            indices = rng.integers(values.size, size=(n, values.size), dtype=np.uint32)
            means[start : start + n] = values[indices].mean(axis=1)
    return means


def sign_flip_p_value(differences: PerGroup, n_permutations: int, seed: int) -> float:
    """Return the share of sign patterns whose absolute sum reaches the observed one.

    Differences are sorted first, so that names and order of the groups do not matter.
    """
    nonzero = np.sort(differences[differences != 0])  # flipping a zero has no effect
    if not nonzero.size:
        return 1.0 if differences.size else np.nan
    # Equal sums can differ in their last bits: they count as reached.
    reached = abs(nonzero.sum()) - 1e-12 * np.abs(nonzero).sum()
    if nonzero.size <= _EXACT:
        return float((np.abs(_signed_sums(nonzero[None])) >= reached).mean())
    sums = _random_signed_sums(nonzero, n_permutations, seed)
    # The observed pattern counts as one of the draws, so p is never 0 and the test is valid.
    return (1 + int((np.abs(sums) >= reached).sum())) / (1 + n_permutations)


def _random_signed_sums(values: PerGroup, n_draws: int, seed: int) -> NDArray[np.float64]:
    """Draw sums under random signs: a random byte selects one of 256 sums of eight values."""
    rng = _generator(seed, "sign-flip")
    sums = np.zeros(n_draws)
    n_whole = values.size // _BYTE * _BYTE
    for start in range(0, n_whole, _BYTE * _TABLES):
        rows = values[start : min(start + _BYTE * _TABLES, n_whole)].reshape(-1, _BYTE)
        for table in _signed_sums(rows):
            sums += table[rng.integers(table.size, size=n_draws, dtype=np.uint8)]
    if n_whole < values.size:
        [table] = _signed_sums(values[None, n_whole:])
        sums += table[rng.integers(table.size, size=n_draws, dtype=np.uint8)]
    return sums


def _signed_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all 2**n sums ±v1 ±v2 … ±vn of each row, (n_rows, 2**n)."""
    sums = np.zeros((rows.shape[0], 1))
    for column in rows.T[:, :, None]:
        sums = np.concatenate([sums + column, sums - column], axis=1)
    return sums


def _generator(seed: int, purpose: str) -> np.random.Generator:
    """Return a random stream; streams for different purposes never overlap."""
    return np.random.default_rng([_check.seed(seed), *purpose.encode()])
