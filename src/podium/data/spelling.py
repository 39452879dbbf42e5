"""Ids that are the same but for their spelling: Unicode form, blanks, case, or form of a number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

_NUMBER = re.compile(r"^(-?)\+?0*(\d+)(?:\.0*)?$")
_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")  # spaces of width 0 and byte order marks

_STEPS: Mapping[str, Callable[[str], str]] = {
    "Unicode form": lambda text: unicodedata.normalize("NFC", text),
    "invisible characters": lambda text: _INVISIBLE.sub("", text),
    "blanks": lambda text: " ".join(text.split()),
    "upper and lower case": str.lower,
    "the form of a number": lambda text: _NUMBER.sub(r"\1\2", text),
}
"""What is removed from an id to get the form that all its spellings have, by name."""


def plain(text: str, steps: Iterable[str] = _STEPS) -> str:
    """Return an id in the form that all its spellings have, or without some parts of its spelling.

    Examples
    --------
    >>> plain(" A12 "), plain("a12"), plain("007.00")
    ('a12', 'a12', '7')
    """
    for step in steps:
        text = _STEPS[step](text)
    return text


def twins(left: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    """Return each id of `left` that `right` has in another spelling, with that spelling.

    Examples
    --------
    >>> twins(["A", "b"], ["a", "c"])
    [('A', 'a')]
    """
    by_form = {plain(text): text for text in sorted(right, reverse=True)}
    return [(text, by_form[form]) for text in sorted(left) if (form := plain(text)) in by_form]


def differences(pairs: Sequence[tuple[str, str]]) -> str:
    """Return what distinguishes the spellings of pairs, in words.

    Examples
    --------
    >>> differences([("A", "a"), ("b ", "b")])
    'blanks and upper and lower case'
    """
    needed = list(_STEPS)
    for step in _STEPS:
        fewer = [other for other in needed if other != step]
        if all(plain(left, fewer) == plain(right, fewer) for left, right in pairs):
            needed = fewer
    return " and ".join(needed)
