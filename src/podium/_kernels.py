"""Compiled loops over groups: grouping rows, and ranking the rows of each group.

All `*_kernels.py` files of podium use the decorator `kernel`. Kernels take typed contiguous
arrays, write into arrays that they are given, check nothing, and add in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

A = TypeVar("A", bound=np.generic)

WORST, BEST, AVERAGE, ID, RANDOM = 1, 2, 3, 4, 5
"""Codes of the tie rules."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call, cache the code on disk, and release the interpreter's lock.

    With error_model="numpy", a division by zero gives nan, the value of an undefined group.
    """
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def summing_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as `kernel` does, but allow reordered sums, so that they are vectorised.

    Use it for short dot products in kernels that no other kernel calls. The order of the terms then
    depends only on the machine's vector width: equal calls give equal bits, for any number of
    threads. If another kernel contained such a sum, its order would also depend on whether both
    were compiled by the same process; use `lane_sum` there. nan, inf and signed zeros keep their
    meaning.
    """
    allowed = {"reassoc", "contract"}
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=allowed)(function)


def fused_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as `kernel` does, with fused multiplications and additions, in the given order."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy the function into each kernel that calls it.

    Use it for calls in innermost loops, and for the long steps of a kernel that nothing else calls:
    a callee is optimised on its own, and its code again with each kernel that contains it.
    """
    return numba.njit(inline="always", error_model="numpy")(function)


_LANES, _VECTORS = 8, 4  # sums in a vector, and vectors whose additions don't wait for one another


@intrinsic
def _lane_sums(context, a, b, n_vectors):
    """Return the sum of a, or of the products a * b, over the first n_vectors * 8 places.

    Four vectors of eight sums take the terms in turn; the vectors left over go to the first one.
    Then the vectors are added, and the halves of their sum.
    """

    def build(target, builder, signature, arguments):
        ir = cgutils.ir
        number = target.get_value_type(a.dtype)
        vector, size, place = ir.VectorType(number, _LANES), arguments[2].type, ir.IntType(32)
        factors = [
            make_array(kind)(target, builder, argument).data
            for kind, argument in zip(signature.args[:2], arguments[:2], strict=True)
            if isinstance(kind, types.Array)
        ]
        zeros = ir.Constant(vector, [0.0] * _LANES)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(_VECTORS)]

        def vector_at(data, index):
            first = builder.gep(data, [builder.mul(index, size(_LANES))])
            return builder.load(
                builder.bitcast(first, vector.as_pointer()), align=a.dtype.bitwidth // 8
            )

        def add(lanes, index):
            terms = vector_at(factors[0], index)
            for data in factors[1:]:
                terms = builder.fmul(terms, vector_at(data, index))
            builder.store(builder.fadd(builder.load(lanes), terms), lanes)

        n_full = builder.and_(arguments[2], size(-_VECTORS))
        with cgutils.for_range_slice(builder, size(0), n_full, size(_VECTORS)) as (index, _):
            for i, lanes in enumerate(sums):
                add(lanes, builder.add(index, size(i)))
        with cgutils.for_range_slice(builder, n_full, arguments[2], size(1)) as (index, _):
            add(sums[0], index)
        first, second, third, fourth = (builder.load(lanes) for lanes in sums)
        total = builder.fadd(builder.fadd(first, second), builder.fadd(third, fourth))
        for width in (4, 2, 1):
            halves = (
                ir.Constant(ir.VectorType(place, width), list(range(start, start + width)))
                for start in (0, width)
            )
            total = builder.fadd(*(builder.shuffle_vector(total, total, half) for half in halves))
        return builder.extract_element(total, place(0))

    return a.dtype(a, b, n_vectors), build


@kernel
def lane_sum(values):
    """Return the sum of contiguous values in an order that only their number determines.

    Kernels write terms and add them with this function. A loop whose sum the compiler may reorder
    is as fast. But its bits would depend on which kernels a process compiles together, and which
    it reads from its cache.
    """
    n_vectors = values.size // _LANES
    total = _lane_sums(values, None, n_vectors)
    for i in range(n_vectors * _LANES, values.size):
        total += values[i]
    return total


@kernel
def lane_dot(a, b):
    """Return the dot product of contiguous arrays of one type; see `lane_sum`."""
    n_vectors = a.size // _LANES
    total = _lane_sums(a, b, n_vectors)
    for i in range(n_vectors * _LANES, a.size):
        total += a[i] * b[i]
    return total


@intrinsic
def prefetch(context, array, row, column):
    """Start to load the cache line that contains array[row, column], without waiting for it.

    With one dimension, the column has no effect.

    Loops that read rows in an unpredictable order run twice as fast with it. It changes no value.
    """

    def build(target, builder, signature, arguments):
        values = make_array(signature.args[0])(target, builder, arguments[0])
        indices = list(arguments[1:][: signature.args[0].ndim])
        item = cgutils.get_item_pointer(target, builder, signature.args[0], values, indices)
        ir = cgutils.ir
        word, line = ir.IntType(32), builder.bitcast(item, cgutils.voidptr_t)
        function_type = ir.FunctionType(ir.VoidType(), [line.type, word, word, word])
        call = builder.module.declare_intrinsic("llvm.prefetch", [line.type], function_type)
        builder.call(call, [line, word(0), word(3), word(1)])  # to read, keep, data
        return target.get_dummy_value()

    return types.void(array, types.intp, types.intp), build


@kernel
def mix(bits):
    """Scramble 64 bits with the finaliser of SplitMix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def read_only(array: NDArray[A]) -> NDArray[A]:
    """Return a contiguous view that cannot be written to.

    Read-only arrays have their own type in numba. A kernel whose argument is always such a view is
    compiled only once.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@kernel
def counting_order(codes, first, offsets, order):
    """Write the stable row order that groups equal codes; offsets receive the group bounds.

    The codes begin at `first`.
    """
    n_groups = offsets.size - 1
    # Count the sizes, sum them to offsets, then put each row at the next position of its code.
    for i in range(codes.size):
        offsets[codes[i] - first + 1] += 1
    for g in range(n_groups):
        offsets[g + 1] += offsets[g]
    next_position = offsets[:-1].copy()
    for i in range(codes.size):
        g = codes[i] - first
        order[next_position[g]] = i
        next_position[g] += 1


@kernel
def sort_falling(keys, order, n, spare):
    """Reorder order[:n] so that keys[order] decreases; equal keys keep their order.

    A merge sort over insertion-sorted runs of 16. It is as fast as NumPy's on lists of the usual
    length, and compiles in a fraction of the time that numba takes for np.argsort.
    """
    for start in range(0, n, 16):
        for i in range(start + 1, min(start + 16, n)):
            moved = order[i]
            key = keys[moved]
            j = i
            while j > start and keys[order[j - 1]] < key:
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    _merge_falling(keys, order, n, 16, spare)


@kernel
def falling_order(keys, order, n, spare):
    """Write the order of the first n keys that `sort_falling` gives for rows in their own order.

    No key may be nan. In runs of 32, the keys that precede each key are counted. The compiler
    vectorises the counts, and they have no unpredictable branches.
    """
    for start in range(0, n, 32):
        end = min(start + 32, n)
        for i in range(start, end):
            place, key = start, keys[i]
            for j in range(start, i):
                place += keys[j] >= key
            for j in range(i + 1, end):
                place += keys[j] > key
            order[place] = i
    _merge_falling(keys, order, n, 32, spare)


@kernel
def _merge_falling(keys, order, n, width, spare):
    """Merge sorted runs of `width` rows."""
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle, end = start + width, min(start + 2 * width, n)
            if keys[order[middle - 1]] >= keys[order[middle]]:
                continue
            for i in range(start, middle):  # a slice assignment takes ten times longer to compile
                spare[i] = order[i]
            i, j = start, middle
            for k in range(start, end):
                if i == middle:
                    break
                if j == end or keys[spare[i]] >= keys[order[j]]:
                    order[k] = spare[i]
                    i += 1
                else:
                    order[k] = order[j]
                    j += 1
        width *= 2


@kernel
def _falls(values, lo, hi):
    for i in range(lo, hi - 1):
        if not values[i] > values[i + 1]:
            return False
    return True


@kernel
def longest_group(offsets):
    """Return the largest number of rows of a group."""
    longest = 0
    for g in range(offsets.size - 1):
        longest = max(longest, offsets[g + 1] - offsets[g])
    return longest


@kernel
def rank_rows(offsets, scores, tie_keys, sign, values, tied):
    """Reorder `values` in each group by decreasing score, equal scores by increasing sign * key.

    `tie_keys` may be empty, in which case equal scores keep their order, or `values` itself: the
    order of a group is computed before its values move. If `tied` is not empty, it becomes True for
    a row whose score equals that of the next row of its group. Groups with strictly decreasing
    scores, the usual input, are only read.
    """
    longest = longest_group(offsets)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    keys, moved = np.empty(longest), np.empty(longest)
    for g in range(offsets.size - 1):
        lo, hi = offsets[g], offsets[g + 1]
        if _falls(scores, lo, hi):
            continue
        # Sort by score, then the rows of each score by tie key.
        n = hi - lo
        for i in range(n):
            keys[i] = scores[lo + i]
        falling_order(keys, order, n, spare)
        start = 0
        for i in range(1, n if tie_keys.size else 0):
            if keys[order[i]] != keys[order[start]]:
                start = i
            elif i == n - 1 or keys[order[i + 1]] != keys[order[start]]:
                for j in range(start, i + 1):
                    moved[order[j]] = -sign * tie_keys[lo + order[j]]
                sort_falling(moved, order[start:], i + 1 - start, spare)
        for i in range(n):
            moved[i] = values[lo + order[i]]
        for i in range(n):
            values[lo + i] = moved[i]
        if tied.size:
            for i in range(n - 1):
                tied[lo + i] = keys[order[i]] == keys[order[i + 1]]


@kernel
def drawn_keys(bits, groups, offsets, items, out):
    """Write a number in [0, 1) per row, determined by the seed's bits, its group and its item."""
    for g in range(offsets.size - 1):
        stream = mix(bits ^ mix(groups[g]))
        for i in range(offsets[g], offsets[g + 1]):
            out[i] = (mix(stream ^ mix(items[i])) >> np.uint64(11)) * 2.0**-53


@kernel
def tie_key(rule, grade, item, stream):
    """Return the key by which equal scores are ordered, highest first.

    `stream` contains the random bits of the user.
    """
    if rule == WORST:
        return -grade
    if rule == BEST:
        return grade
    if rule == ID:
        return float(item)
    if rule == RANDOM:  # 53 bits from (seed, user, item), independent of blocks and depths
        return (mix(stream ^ mix(np.uint64(item))) >> np.uint64(11)) * 2.0**-53
    return 0.0


@kernel
def ideal_order(offsets, relevance, out):
    """Write the relevances of each group in decreasing order."""
    longest = longest_group(offsets)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    keys = np.empty(longest)
    for g in range(offsets.size - 1):
        lo = offsets[g]
        n = offsets[g + 1] - lo
        is_ordered = True
        for i in range(n):
            keys[i] = out[lo + i] = relevance[lo + i]
            is_ordered &= keys[i] <= keys[max(0, i - 1)]
        if is_ordered:  # such as grades of 1 only
            continue
        falling_order(keys, order, n, spare)
        for i in range(n):
            out[lo + i] = keys[order[i]]


@kernel
def average_ties(offsets, tied, values):
    """Replace each value by the mean over the rows of its group with the same score.

    Equal values are their own mean; that of a rounded sum could differ from it.
    """
    for g in range(offsets.size - 1):
        hi = offsets[g + 1]
        start = offsets[g]
        total = 0.0
        differs = False
        for i in range(start, hi):
            total += values[i]
            differs |= values[i] != values[start]
            if not tied[i]:  # the last row of this score
                mean = total / (i + 1 - start) if differs else values[start]
                for j in range(start, i + 1):
                    values[j] = mean
                start = i + 1
                total = 0.0
                differs = False
