"""Functions that damage bytes."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

# Texts that are unusual in columns of numbers or ids.
ODD_TEXTS = (
    *("", " ", "nan", "NaN", "inf", "-inf", "1e308", "-1e308", "1e309", "1e-320", "-0.0", "0.5"),
    *(str(2**31), str(2**53 + 1), str(2**63 - 1), str(2**63), str(2**64), str(-(2**63)), "9" * 40),
    *("-1", "0", "1", "0x1F", "1_000", "1,5", "007", "7.0", "1.5", "true", "None", "null", "NA"),
    *("2020-01-01", "2020-01-01T00:00:00", "é", "e\u0301", "\u2028", "\x00", "\x1b[31m", "a\rb"),
    *("'", '"', '""', '"a\nb"', ",", "\t", "#", "user", "qid:1", "1:1", "😀", "=1+1", "<script>"),
    *("i31", "31", "x" * 70000, "٣", "\ufeff1", "(1,2)", "{}", "[]", "%s", "\\n", "-", "+1"),
)
_TOKENS = (*(text.encode() for text in ODD_TEXTS), b"\xff", b"\xc3", b"\x00\x00", b"\n", b"\r")


def _flip_bits(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _behead(data: bytes, rng: random.Random) -> bytes:
    return data[rng.randrange(min(len(data), 64)) :]


def _splice(data: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    position = rng.randrange(len(data))
    return data[:position] + data[start:stop] * rng.choice((1, 1, 2, 50)) + data[position:]


def _cut_out(data: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def _swap(data: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    return data[stop:] + data[start:stop] + data[:start]


def _insert(data: bytes, rng: random.Random) -> bytes:
    position = rng.randrange(len(data) + 1)
    return data[:position] + rng.choice(_TOKENS) + data[position:]


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    start, stop = _span(data, rng)
    value = rng.choice((b"\x00", b"\xff", b"9", b"\x7f", b" "))
    return data[:start] + value * (stop - start) + data[stop:]


def _exchange_number(data: bytes, rng: random.Random) -> bytes:
    """Replace a run of digits by an odd text."""
    starts = [i for i in range(len(data)) if data[i : i + 1].isdigit()]
    if not starts:
        return _insert(data, rng)
    start = stop = rng.choice(starts)
    while stop < len(data) and data[stop : stop + 1].isdigit():
        stop += 1
    return data[:start] + rng.choice(_TOKENS) + data[stop:]


def _recode(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("latin-1")
    return text.encode(rng.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7", "cp037")))


def _line_ends(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n\r", b"", b"\x00")))


def _separators(data: bytes, rng: random.Random) -> bytes:
    old = rng.choice((b",", b"\t", b" ", b":"))
    return data.replace(old, rng.choice((b";", b",", b"\t", b"|", b"  ", b"")))


def _empty(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"", b"\n", b" \n\n", b"\x00" * 100, b"\xef\xbb\xbf", data[:1]))


def _repeat(data: bytes, rng: random.Random) -> bytes:
    return data * rng.choice((2, 2, 20))


def _pack(data: bytes, rng: random.Random) -> bytes:
    del rng
    return gzip.compress(data, 1, mtime=0)


_WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip_bits,) * 4, _truncate, _truncate, _behead, _splice, _cut_out, _cut_out, _swap, _insert,
    _insert, _overwrite, _overwrite, *(_exchange_number,) * 3, _recode, _line_ends, _separators,
    _empty, _repeat, _pack,
)  # fmt: skip


def spoil(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with one to three kinds of damage, at most 2 MB of them."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not data:
            break
        data = rng.choice(_WAYS)(data, rng)
    return data[:2_000_000]


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 30, 200, 1000)))
