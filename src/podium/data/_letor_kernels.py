"""The compiled parser of LETOR files."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel

NO_LABEL, NO_QID, NO_FEATURE, NOT_RISING = 1, 2, 3, 4
_LARGEST_QID = np.uint64(2**63 - 1)

_POWERS = np.array([10.0**i for i in range(23)])  # powers of ten that doubles hold exactly
_MOST_EXACT = 2**53  # doubles represent every smaller integer

_NO_NUMBER, _READ, _INEXACT = 0, 1, 2  # states of a number that was read

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
def _digits(data, i, stop):
    """Return (value, end, number of digits) of the integer at position i; 20 digits overflow."""
    value = np.uint64(0)
    start = i
    while i < stop and _ZERO <= data[i] <= _NINE:
        value = value * np.uint64(10) + np.uint64(data[i] - _ZERO)
        i += 1
    return value, i, i - start


@kernel
def _number(data, i, end):
    """Return (value, end, state) of the number at position i.

    Clinger's fast path: if doubles represent both factors of digits * 10**power exactly, their
    product is rounded once and is the nearest double. Other numbers (_INEXACT) are left to Python.
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
                if mantissa > 0:  # leading zeros are not significant
                    n_digits += 1
                if has_point:
                    power -= 1
            else:  # too large for int64: the number is left to Python
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
    if mantissa == 0 and n_digits == 0:  # zero, with any exponent
        return sign * 0.0, i, _READ
    if n_digits > 18 or mantissa >= _MOST_EXACT or power > 22 or power < -22:
        return 0.0, i, _INEXACT
    value = float(mantissa)
    value = value / _POWERS[-power] if power < 0 else value * _POWERS[power]
    return sign * value, i, _READ


class Lines(NamedTuple):
    """The output by row: its label, qid, line in the file (from 0), and the end of its values."""

    labels: Any
    qids: Any
    lines: Any
    ends: Any


class Features(NamedTuple):
    """The output by stored value: its feature, from 0, and the value."""

    indices: Any
    values: Any


@kernel
def parse_svmlight(data, rows, features, hard, problem):
    """Read lines "label qid:n id:value … # comment"; return counts of (rows, values, hard numbers).

    `hard` lists numbers that need Python's conversion: (position in values, or -1 - row for a
    label; first byte; byte after the last). At a malformed line `problem` becomes (kind, byte).
    """
    labels, qids, lines, ends = rows
    indices, values = features
    n_rows, n_values, n_hard = 0, 0, 0
    i = 0
    line = -1
    while i < data.size:
        line += 1
        # Find the line's end and the start of its comment; nothing beyond `stop` is read.
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
        # Read the label.
        begin = i
        labels[n_rows], i, state = _number(data, i, stop)
        if state == _NO_NUMBER or (i < stop and not _blank(data[i])):
            problem[0], problem[1] = NO_LABEL, begin
            return n_rows, n_values, n_hard
        if state == _INEXACT:
            hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = -1 - n_rows, begin, i
            n_hard += 1
        # Read "qid:" and an integer, which must end at a blank.
        i = _after_blanks(data, i, stop)
        begin = i
        is_valid = i + 4 < stop and data[i] == _Q and data[i + 1] == _I and data[i + 2] == _D
        is_valid = is_valid and data[i + 3] == _COLON
        qid, i, n_digits = _digits(data, begin + 4, stop)
        is_valid = is_valid and 0 < n_digits <= 19 and qid <= _LARGEST_QID
        is_valid = is_valid and (n_digits == 1 or data[begin + 4] != _ZERO)
        if not is_valid or (i < stop and not _blank(data[i])):
            problem[0], problem[1] = NO_QID, min(begin, end)
            return n_rows, n_values, n_hard
        qids[n_rows] = qid
        lines[n_rows] = line
        # Read "id:value" to the end of the line. Increasing ids give the CSR form without a sort.
        previous = np.uint64(0)
        while True:
            i = _after_blanks(data, i, stop)
            if i >= stop:
                break
            begin = i
            index, i, n_digits = _digits(data, i, stop)
            if n_digits == 0 or i >= stop or data[i] != _COLON:
                problem[0], problem[1] = NO_FEATURE, begin
                return n_rows, n_values, n_hard
            start = i + 1
            values[n_values], i, state = _number(data, start, stop)
            if state == _NO_NUMBER or (i < stop and not _blank(data[i])):
                problem[0], problem[1] = NO_FEATURE, begin
                return n_rows, n_values, n_hard
            if index <= previous or n_digits > 9:  # int32 represents all integers of 9 digits
                problem[0], problem[1] = NOT_RISING, begin
                return n_rows, n_values, n_hard
            if state == _INEXACT:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = n_values, start, i
                n_hard += 1
            indices[n_values] = np.int64(index) - 1
            n_values += 1
            previous = index
        ends[n_rows] = n_values
        n_rows += 1
        i = end + 1
    return n_rows, n_values, n_hard
