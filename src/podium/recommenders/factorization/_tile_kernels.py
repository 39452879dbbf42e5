"""Products of small dense matrices in registers, for the kernels of the factorization."""

from __future__ import annotations

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from podium._kernels import kernel


def _has_wide_registers() -> bool:
    return bool(llvmlite.binding.get_host_cpu_features().get("avx512f", False))


_WIDTH = 16 if _has_wide_registers() else 8  # float32 numbers in a vector register
_ROWS = 8 if _has_wide_registers() else 4  # rows of a tile: all its sums stay in registers
_COLUMNS = 2 * _WIDTH  # of a tile

ROWS, COLUMNS = 8, 32
"""The numbers of rows and columns of a product are multiples of these, on all processors."""


@intrinsic
def _tile(context, a, a_row, a_term, b, b_start, b_term, c, c_start, c_row, n_terms):
    """Write a tile of C = A @ B: ``C[i, j] = sum_t A[i, t] * B[t, j]``.

    `a`, `b` and `c` are flat. ``A[i, t]`` is at ``a[a_row[0] + i * a_row[1] + t * a_term]``, and
    the columns of B and of C are contiguous. Each sum has its terms in the order of t, so that the
    size of a tile does not change a bit of the result.
    """

    def build(target, builder, signature, arguments):
        a_data, b_data, c_data = (
            make_array(signature.args[i])(target, builder, arguments[i]).data for i in (0, 3, 6)
        )
        a_start, a_stride = cgutils.unpack_tuple(builder, arguments[1], 2)
        a_step, b_first, b_step, c_first, c_stride, stop = (
            arguments[i] for i in (2, 4, 5, 7, 8, 9)
        )
        number, vector = ir.FloatType(), ir.VectorType(ir.FloatType(), _WIDTH)
        size, place = ir.IntType(64), ir.IntType(32)
        multiply_add = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(vector, [vector] * 3),
            f"llvm.fmuladd.v{_WIDTH}f32",
        )
        a_pointer, b_pointer, c_pointer = (
            builder.gep(data, [start])
            for data, start in ((a_data, a_start), (b_data, b_first), (c_data, c_first))
        )
        places = [(i, j) for i in range(_ROWS) for j in range(_COLUMNS // _WIDTH)]

        def at(pointer, offset, column):
            moved = builder.gep(pointer, [builder.add(offset, size(column * _WIDTH))])
            return builder.bitcast(moved, vector.as_pointer())

        before = builder.block
        loop, after = (builder.append_basic_block(f"tile.{name}") for name in ("loop", "after"))
        builder.branch(loop)
        builder.position_at_end(loop)
        term = builder.phi(size)
        sums = {where: builder.phi(vector) for where in places}
        b_row = [
            builder.load(at(b_pointer, builder.mul(term, b_step), j))
            for j in range(_COLUMNS // _WIDTH)
        ]
        for load in b_row:
            load.align = 4
        added = {}
        for i in range(_ROWS):
            offset = builder.add(builder.mul(term, a_step), builder.mul(a_stride, size(i)))
            factor = builder.load(builder.gep(a_pointer, [offset]))
            undefined = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(undefined, factor, place(0))
            spread = ir.Constant(ir.VectorType(place, _WIDTH), [0] * _WIDTH)
            repeated = builder.shuffle_vector(first, undefined, spread)
            for j, row in enumerate(b_row):
                added[i, j] = builder.call(multiply_add, [repeated, row, sums[i, j]])
        following = builder.add(term, size(1))
        term.add_incoming(size(0), before)
        term.add_incoming(following, loop)
        for where in places:
            sums[where].add_incoming(
                ir.Constant(vector, [ir.Constant(number, 0.0)] * _WIDTH), before
            )
            sums[where].add_incoming(added[where], loop)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, after)
        builder.position_at_end(after)
        for i, j in places:
            store = builder.store(added[i, j], at(c_pointer, builder.mul(c_stride, size(i)), j))
            store.align = 4
        return target.get_dummy_value()

    n = types.intp
    return types.void(a, types.UniTuple(n, 2), n, b, n, n, c, n, n, n), build


@kernel
def multiply(a, a_row, a_term, b, c, n_rows, n_terms, n_columns):
    """Write C = A @ B. ``A[i, t]`` is ``a[i * a_row + t * a_term]``; B and C are in C order.

    `n_rows` and `n_columns` are multiples of `ROWS` and `COLUMNS`, and `n_terms` is at least 1.
    """
    for j in range(0, n_columns, _COLUMNS):
        for i in range(0, n_rows, _ROWS):
            start = (i * a_row, a_row)
            _tile(a, start, a_term, b, j, n_columns, c, i * n_columns + j, n_columns, n_terms)
