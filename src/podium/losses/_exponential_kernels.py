"""Compiled exponentials, and their sums, in loops that vectorise."""

from __future__ import annotations

from podium._kernels import kernel

_MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # few enough bits that its multiples are exact
_LN2_LOW = 1.90821492927058770002e-10


@kernel
def falling_exp(part, power, bits):
    """Replace numbers in [-700, 0] by their exponentials, within 1 unit in the last place.

    exp(x) = 2**n * exp(r) with x = n log 2 + r: plain loops without a call, so that they
    vectorise, which np.exp does not. `power` and `bits` are one memory, as numbers and as bits.
    """
    for i in range(part.size):
        nearest = part[i] * _LOG2_E + _MAGIC
        power[i] = nearest
        nearest -= _MAGIC
        part[i] = (part[i] - nearest * _LN2_HIGH) - nearest * _LN2_LOW
    for i in range(part.size):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(part.size):
        r = part[i]
        p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        part[i] = (p * r * r + r + 1.0) * power[i]


@kernel
def four_sums(terms):
    """Return the sum, every fourth term in a sum of its own: no addition waits for the last."""
    a = b = c = d = 0.0
    whole = terms.size - terms.size % 4
    for i in range(0, whole, 4):
        a += terms[i]
        b += terms[i + 1]
        c += terms[i + 2]
        d += terms[i + 3]
    for i in range(whole, terms.size):
        a += terms[i]
    return (a + b) + (c + d)
