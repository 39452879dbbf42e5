"""Compiled loops for LETOR files: parsing their lines, and normalising features by query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel

NO_LABEL, NO_QID, NO_FEATURE, NOT_RISING, LONG_QID, LONG_ID = 1, 2, 3, 4, 5, 6

_POWERS = np.array([10.0**i for i in range(23)])  # powers of ten that doubles hold exactly
_MOST_EXACT = 2**53  # below it, doubles hold every integer

_NO_NUMBER, _READ, _INEXACT = 0, 1, 2  # what became of a number

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _COLON = 9, 10, 13, 32, 35, 58
_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
_SMALL_E, _LARGE_E, _Q, _I, _D = 101, 69, 113, 105, 100


@kernel
def _blank(byte):
    return byte == _SPACE or byte == _TAB or byte == _RETURN


@kernel
def _after_blanks(data, i, stop):
    while i < stop and _blank(data[i]):
        i += 1
    return i


@kernel
def _number(data, i, end):
    """Return (value, where it ends, what became of it).

    Clinger's fast path: digits * 10**power, where doubles hold both factors exactly, rounds once
    and is the nearest double. Other numbers (_INEXACT) are left to Python.
    """
    sign = 1.0
    if i < end and (data[i] == _MINUS or data[i] == _PLUS):
        if data[i] == _MINUS:
            sign = -1.0
        i += 1
    mantissa = np.int64(0)
    n_digits = 0
    power = 0
    has_digit = False
    has_point = False
    while i < end:
        byte = data[i]
        if _ZERO <= byte <= _NINE:
            has_digit = True
            if n_digits < 18:
                mantissa = mantissa * 10 + np.int64(byte - _ZERO)
                if mantissa > 0:  # zeros before the first digit count for nothing
                    n_digits += 1
                if has_point:
                    power -= 1
            else:  # more than an int64 holds: the number is left to Python in any case
                n_digits += 1
        elif byte == _POINT and not has_point:
            has_point = True
        else:
            break
        i += 1
    if not has_digit:
        return 0.0, i, _NO_NUMBER
    if i < end and (data[i] == _SMALL_E or data[i] == _LARGE_E):
        i += 1
        negative = False
        if i < end and (data[i] == _MINUS or data[i] == _PLUS):
            negative = data[i] == _MINUS
            i += 1
        if i >= end or not _ZERO <= data[i] <= _NINE:
            return 0.0, i, _NO_NUMBER
        exponent = 0
        while i < end and _ZERO <= data[i] <= _NINE:
            exponent = min(exponent * 10 + np.int64(data[i] - _ZERO), 100_000)  # no overflow
            i += 1
        power += -exponent if negative else exponent
    if mantissa == 0 and n_digits == 0:  # zero, whatever its exponent
        return sign * 0.0, i, _READ
    if n_digits > 18 or mantissa >= _MOST_EXACT or power > 22 or power < -22:
        return 0.0, i, _INEXACT
    value = float(mantissa)
    value = value / _POWERS[-power] if power < 0 else value * _POWERS[power]
    return sign * value, i, _READ


class Lines(NamedTuple):
    """Output by row: its label, qid and line in the file (from 0), and where its values end."""

    labels: Any
    qids: Any
    lines: Any
    ends: Any


class Features(NamedTuple):
    """Output by stored value: its feature, from 0, and itself."""

    indices: Any
    values: Any


@kernel
def parse_svmlight(data, rows, features, hard, problem):
    """Read "label qid:n id:value … # comment" lines; return (rows, values, hard ones) written.

    `hard` lists numbers that one rounding can't give: (place in values, or -1 - row for a label;
    first byte; byte after the last). `problem` becomes (kind, byte) at what is no such line.
    """
    labels, qids, lines, ends = rows
    indices, values = features
    n_rows, n_values, n_hard = 0, 0, 0
    i = 0
    line = -1
    while i < data.size:
        line += 1
        # The line's end, and where its comment begins: nothing beyond `stop` is read.
        end = i
        while end < data.size and data[end] != _NEWLINE:
            end += 1
        stop = i
        while stop < end and data[stop] != _HASH:
            stop += 1
        i = _after_blanks(data, i, stop)
        if i == stop:
            i = end + 1
            continue
        # The label.
        begin = i
        labels[n_rows], i, state = _number(data, i, stop)
        if state == _NO_NUMBER or (i < stop and not _blank(data[i])):
            problem[0], problem[1] = NO_LABEL, begin
            return n_rows, n_values, n_hard
        if state == _INEXACT:
            hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = -1 - n_rows, begin, i
            n_hard += 1
        # "qid:" and a whole number, which must end at a blank.
        i = _after_blanks(data, i, stop)
        begin = i
        good = i + 4 < stop and data[i] == _Q and data[i + 1] == _I and data[i + 2] == _D
        good = good and data[i + 3] == _COLON
        qid = np.int64(0)
        i += 4
        n_digits = 0
        while good and i < stop and not _blank(data[i]):
            good = _ZERO <= data[i] <= _NINE
            if n_digits < 18:  # the digits that an int64 holds, whichever they are
                qid = qid * 10 + np.int64(data[i] - _ZERO)
            n_digits += 1
            i += 1
        if not good or n_digits == 0:
            problem[0], problem[1] = NO_QID, min(begin, end)
            return n_rows, n_values, n_hard
        if n_digits > 18:
            problem[0], problem[1] = LONG_QID, begin
            return n_rows, n_values, n_hard
        qids[n_rows] = qid
        lines[n_rows] = line
        # "id:value" until the line stops, ids rising: CSR form without a sort.
        previous = np.int64(0)
        while True:
            i = _after_blanks(data, i, stop)
            if i >= stop:
                break
            begin = i
            index = np.int64(0)
            n_digits = 0
            while i < stop and _ZERO <= data[i] <= _NINE:
                if n_digits < 9:  # the digits that an int32 holds
                    index = index * 10 + np.int64(data[i] - _ZERO)
                n_digits += 1
                i += 1
            if n_digits == 0 or i >= stop or data[i] != _COLON:
                problem[0], problem[1] = NO_FEATURE, begin
                return n_rows, n_values, n_hard
            if n_digits > 9:
                problem[0], problem[1] = LONG_ID, begin
                return n_rows, n_values, n_hard
            start = i + 1
            values[n_values], i, state = _number(data, start, stop)
            if state == _NO_NUMBER or (i < stop and not _blank(data[i])):
                problem[0], problem[1] = NO_FEATURE, begin
                return n_rows, n_values, n_hard
            if index <= previous:
                problem[0], problem[1] = NOT_RISING, begin
                return n_rows, n_values, n_hard
            if state == _INEXACT:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = n_values, start, i
                n_hard += 1
            indices[n_values] = index - 1
            n_values += 1
            previous = index
        ends[n_rows] = n_values
        n_rows += 1
        i = end + 1
    return n_rows, n_values, n_hard


@kernel
def fill_rows(ends, indices, values, out):
    """Write the stored values of each row into rows of zeros."""
    i = 0
    for row in range(ends.size):
        while i < ends[row]:
            out[row, indices[i]] = values[i]
            i += 1


@kernel
def scale_groups(offsets, order, low, high, X):
    """Bring each column of X to [0, 1] within each group, in place; a constant one becomes 0.

    (value - low) / (high - low), LETOR's normalisation by query. `low` and `high` are space for
    one row: two passes over a group's rows read them as they lie in memory, where one pass per
    column would not. nan takes no part and stays.
    """
    for g in range(offsets.size - 1):
        for column in range(X.shape[1]):
            low[column], high[column] = np.inf, -np.inf
        for i in range(offsets[g], offsets[g + 1]):
            row = order[i] if order.size else i
            for column in range(X.shape[1]):
                value = X[row, column]
                if value < low[column]:
                    low[column] = value
                if value > high[column]:
                    high[column] = value
        for i in range(offsets[g], offsets[g + 1]):
            row = order[i] if order.size else i
            for column in range(X.shape[1]):
                value = X[row, column]
                if value != value:  # nan
                    continue
                span = high[column] - low[column]
                if span == np.inf:  # of finite numbers: half of it is finite
                    span = 0.5 * high[column] - 0.5 * low[column]
                    X[row, column] = (0.5 * value - 0.5 * low[column]) / span
                else:
                    X[row, column] = (value - low[column]) / span if span > 0 else 0.0
