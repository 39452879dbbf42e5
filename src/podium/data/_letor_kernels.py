"""Compiled loops for LETOR files: parsing their lines, and normalising features by query."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel

NO_LABEL, NO_QID, NO_FEATURE, NOT_RISING, LONG_QID, LONG_ID = 1, 2, 3, 4, 5, 6

_EXACT = np.array([10.0**i for i in range(23)])  # powers of ten that doubles hold exactly


@kernel
def _blank(byte):
    return byte == 32 or byte == 9 or byte == 13


@kernel
def _number(data, i, end):
    """Return (value, where it ends, state): 0 is no number, 1 exact, 2 to be read again."""
    sign = 1.0
    if i < end and (data[i] == 45 or data[i] == 43):
        if data[i] == 45:
            sign = -1.0
        i += 1
    mantissa = np.int64(0)
    n_digits = 0
    power = 0
    seen = False
    point = False
    while i < end:
        byte = data[i]
        if 48 <= byte <= 57:
            seen = True
            if n_digits < 18:
                mantissa = mantissa * 10 + np.int64(byte - 48)
                if mantissa > 0:
                    n_digits += 1
                if point:
                    power -= 1
            else:
                n_digits += 1
        elif byte == 46 and not point:
            point = True
        else:
            break
        i += 1
    if not seen:
        return 0.0, i, 0
    if i < end and (data[i] == 101 or data[i] == 69):
        i += 1
        negative = False
        if i < end and (data[i] == 45 or data[i] == 43):
            negative = data[i] == 45
            i += 1
        if i >= end or not 48 <= data[i] <= 57:
            return 0.0, i, 0
        exponent = 0
        while i < end and 48 <= data[i] <= 57:
            exponent = min(exponent * 10 + np.int64(data[i] - 48), 100_000)
            i += 1
        power += -exponent if negative else exponent
    # One exact operand and one rounding, or the digits are left to Python (Clinger's fast path).
    if mantissa == 0 and n_digits == 0:
        return sign * 0.0, i, 1
    if n_digits > 18 or mantissa >= 9007199254740992 or power > 22 or power < -22:
        return 0.0, i, 2
    value = float(mantissa)
    value = value / _EXACT[-power] if power < 0 else value * _EXACT[power]
    return sign * value, i, 1


@kernel
def parse_svmlight(data, labels, qids, lines, ends, indices, values, hard, problem):
    """Read "label qid:n id:value … # comment" lines; return (rows, values, hard ones) written.

    `lines` holds the line of each row, from 0, and `ends` where its values end. `hard` lists
    numbers that one rounding can't give: (place in values, or -1 - row for a label; first byte;
    byte after the last).
    """
    n_rows, n_values, n_hard = 0, 0, 0
    i = 0
    line = -1
    while i < data.size:
        line += 1
        end = i
        while end < data.size and data[end] != 10:
            end += 1
        stop = i
        while stop < end and data[stop] != 35:
            stop += 1
        while i < stop and _blank(data[i]):
            i += 1
        if i == stop:
            i = end + 1
            continue
        begin = i
        labels[n_rows], i, state = _number(data, i, stop)
        if state == 0 or (i < stop and not _blank(data[i])):
            problem[0], problem[1] = NO_LABEL, begin
            return n_rows, n_values, n_hard
        if state == 2:
            hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = -1 - n_rows, begin, i
            n_hard += 1
        while i < stop and _blank(data[i]):
            i += 1
        begin = i
        good = i + 4 < stop and data[i] == 113 and data[i + 1] == 105 and data[i + 2] == 100
        good = good and data[i + 3] == 58
        qid = np.int64(0)
        i += 4
        n_digits = 0
        while good and i < stop and not _blank(data[i]):
            good = 48 <= data[i] <= 57
            if n_digits < 18:
                qid = qid * 10 + np.int64(data[i] - 48)
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
        previous = np.int64(0)
        while True:
            while i < stop and _blank(data[i]):
                i += 1
            if i >= stop:
                break
            begin = i
            index = np.int64(0)
            n_digits = 0
            while i < stop and 48 <= data[i] <= 57:
                if n_digits < 9:
                    index = index * 10 + np.int64(data[i] - 48)
                n_digits += 1
                i += 1
            if n_digits == 0 or i >= stop or data[i] != 58:
                problem[0], problem[1] = NO_FEATURE, begin
                return n_rows, n_values, n_hard
            if n_digits > 9:
                problem[0], problem[1] = LONG_ID, begin
                return n_rows, n_values, n_hard
            start = i + 1
            values[n_values], i, state = _number(data, start, stop)
            if state == 0 or (i < stop and not _blank(data[i])):
                problem[0], problem[1] = NO_FEATURE, begin
                return n_rows, n_values, n_hard
            if index <= previous:
                problem[0], problem[1] = NOT_RISING, begin
                return n_rows, n_values, n_hard
            if state == 2:
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

    `low` and `high` are space for one row. nan takes no part and stays.
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
                if value != value:
                    continue
                span = high[column] - low[column]
                if span == np.inf:  # of finite numbers: half of it is finite
                    span = 0.5 * high[column] - 0.5 * low[column]
                    X[row, column] = (0.5 * value - 0.5 * low[column]) / span
                else:
                    X[row, column] = (value - low[column]) / span if span > 0 else 0.0
