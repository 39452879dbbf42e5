"""Counts as text, and the width of text, estimated without a font; it errs on the wide side."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

# Advance widths in em, of the widest of the usual system sans-serif fonts.
_NARROW = frozenset("iljIftr.,:;'|!()[]/\\ `-·")
_BROAD = frozenset("mwMWO@%+−±<>=~→←…")
BOLD = 1.13  # the width of bold text relative to normal text
_SINGULAR = {"queries": "query"}


def counted(n: float, plural: str) -> str:
    """Return a number with the name of what is counted, which is given in the plural.

    Examples
    --------
    >>> counted(1, "users"), counted(2_000, "users")
    ('1 user', '2,000 users')
    """
    name = _SINGULAR.get(plural, plural.removesuffix("s")) if n == 1 else plural
    return f"{n:,.15g} {name}".rstrip()


def inside(name: str) -> str:
    """Return the name of a table as a part of a sentence: "the run" for "The run"."""
    return f"the {name.removeprefix('The ')}" if name.startswith("The ") else name


def width(text: str, size: float) -> float:
    """Return an estimate of the width of one line of text in pixels."""
    return size * sum(map(_em, text))


def columns(text: str) -> int:
    """Return the number of columns of the text on a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def shorten(text: str, size: float, room: float) -> str:
    """Shorten text to the given width, with an ellipsis in its middle if anything is cut.

    Names of runs often begin alike and end with a parameter or a seed.
    """
    if width(text, size) <= room:
        return text
    shorter = "…"
    for n in range(1, len(text)):
        start, end = text[: n - n // 2].rstrip(), text[len(text) - n // 2 :].lstrip()
        if width(f"{start}…{end}", size) > room:
            break
        shorter = f"{start}…{end}"
    return shorter


def wrap(text: str, size: float, room: float) -> list[str]:
    """Break text into lines between words; a word wider than a line is shortened."""
    lines: list[str] = []
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and width(joined, size) <= room:
            lines[-1] = joined
        else:
            lines.append(shorten(word, size, room))
    return lines


def printable(text: str) -> str:
    """Replace control characters, which neither XML nor a terminal should receive."""
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    if character in "\t\n\r":
        return " "
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs") else character


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in _NARROW:
        return 0.41
    if character in _BROAD:
        return 0.99
    return 0.77 if character.isupper() else 0.64


def tally(texts: Iterable[str], n_shown: int = 3) -> str:
    """Return distinct texts with their numbers, the most frequent first, without full stops.

    Examples
    --------
    >>> tally(["k is too large.", "No pairs.", "No pairs."])
    '2 × No pairs; 1 × k is too large'
    >>> tally(["a", "b", "c", "c"], n_shown=1)
    '2 × c; 2 × others'
    """
    counts = Counter(text.rstrip(".") for text in texts).most_common()
    others = sum(n for _, n in counts[n_shown:])
    parts = [f"{n} × {text}" for text, n in counts[:n_shown]]
    return "; ".join([*parts, *([f"{others} × others"] if others else [])])
