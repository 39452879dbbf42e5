"""Powers and logarithms of base 2 in float32 that loops can vectorise, and random draws."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from podium._kernels import inlined, kernel, mix

STEEPEST = np.float32(30.0)
"""The limit to which exponents are clipped: the product of four numbers 1 + 2**30 is finite."""

_MAGIC = np.float32(12582912.0)  # 1.5 * 2**23: adding it rounds to an integer
_LOG2_E = np.float32(1.4426950408889634)
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_ONE_BITS = np.int32(0x3F800000)
_MANTISSA = np.int32(0x007FFFFF)
_ONE = np.float32(1.0)


@intrinsic
def _bits(context, value):
    """Return the bits of a float32 as an int32."""

    def build(target, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), build


@intrinsic
def _float(context, bits):
    """Return the float32 with the given bits."""

    def build(target, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), build


@inlined
def power(exponent):
    """Return 2 ** exponent to about 7 digits, the exponent clipped to +-30."""
    clipped = min(max(exponent, -STEEPEST), STEEPEST)
    nearest = (clipped + _MAGIC) - _MAGIC
    # 2**r for r in [-1/2, 1/2], by a polynomial; 2**nearest is set through the exponent's bits.
    r = clipped - nearest
    p = r * np.float32(1.5353362e-4) + np.float32(1.3398874e-3)
    p = p * r + np.float32(9.6184374e-3)
    p = p * r + np.float32(5.5503324e-2)
    p = p * r + np.float32(2.4022648e-1)
    p = p * r + np.float32(6.9314720e-1)
    return (p * r + _ONE) * _float(np.int32((np.int32(nearest) + np.int32(127)) << np.int32(23)))


@inlined
def logarithm(number):
    """Return log2(number) of a normal number > 0, to about 7 digits."""
    # number = 2**exponent * m, with m in [1 / sqrt(2), sqrt(2)], where the series is short.
    shifted = np.int32(_bits(number) + (_ONE_BITS - _SQRT_HALF_BITS))
    exponent = np.float32(np.int32(shifted >> np.int32(23)) - np.int32(127))
    m = _float(np.int32((shifted & _MANTISSA) + _SQRT_HALF_BITS))
    # ln m = 2 artanh(s) = 2 (s + s**3 / 3 + s**5 / 5 + ...) at s = (m - 1) / (m + 1).
    s = (m - _ONE) / (m + _ONE)
    q = s * s
    p = q * np.float32(0.2222222) + np.float32(0.2857143)
    p = p * q + np.float32(0.4)
    p = p * q + np.float32(0.6666667)
    return exponent + (p * q + np.float32(2.0)) * s * _LOG2_E


@kernel
def next_bits(state):
    """Return the next state of a xorshift64* generator; a state is never 0."""
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    return state


@kernel
def random_below(state, n):
    """Return an integer in [0, n) from the upper bits of a state, without division; n < 2**31."""
    high = (state * np.uint64(2685821657736338717)) >> np.uint64(32)
    return np.int64((high * np.uint64(n)) >> np.uint64(32))


@kernel
def stream(seed, number):
    """Return the first state of a stream of random bits, mixed from the seed and a number."""
    step = np.uint64(0x9E3779B97F4A7C15)
    return mix(seed + (np.uint64(number) + np.uint64(1)) * step) | np.uint64(1)


@kernel
def shuffle(order, n, state):
    """Write a random permutation of 0 .. n - 1 (Fisher and Yates)."""
    for i in range(n):
        j = random_below(state, i + 1)
        state = next_bits(state)
        order[i] = order[j]
        order[j] = i
