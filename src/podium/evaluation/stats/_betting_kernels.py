"""The capital of bettors on the mean of values in [0, 1], compiled."""

from __future__ import annotations

import math

from podium._kernels import kernel


@kernel
def precisions(values, out):
    """Write 1 / sigma of the values before each one, regularised by one value of variance 1/4.

    mu_t = (1/2 + sum x_i) / (t + 1) and sigma_t^2 = (1/4 + sum (x_i - mu_i)^2) / (t + 1), as in
    section 3.2 of waudbysmith2023. Entry t + 1 is 1 / sigma_t, which reads t values only.
    """
    total, squares = 0.5, 0.25
    for i in range(values.size):
        out[i] = 1.0 / math.sqrt(squares / (i + 1))
        total += values[i]
        squares += (values[i] - total / (i + 2)) ** 2


@kernel
def highest_capital(values, inverse_sigma, mean, shares, sizes, joins, c, enough):
    """Return the highest total capital of the bettors on "the mean is above `mean`".

    Bettor j has shares[j] at the start, and bets sizes[j] / sigma from value joins[j] on. The total
    is read after each value; the loop stops when it is `enough`.
    """
    capital = shares.copy()
    n_joined = 0
    waiting = capital.sum()
    highest = waiting
    for i in range(values.size):
        while n_joined < joins.size and joins[n_joined] <= i + 1:
            waiting -= shares[n_joined]
            n_joined += 1
        excess = values[i] - mean
        # A bet of c / mean, the largest one. In this form the factor never rises with the mean,
        # not even in the last bit.
        capped = (1.0 - c) + c * (values[i] / mean)
        total = waiting
        for j in range(n_joined):
            bet = sizes[j] * inverse_sigma[i]
            capital[j] *= 1.0 + bet * excess if bet * mean <= c else capped
            total += capital[j]
        if total > highest:
            highest = total
            if highest >= enough:
                break
    return highest
