"""Ids that are the same but for their spelling: Unicode form, blanks, case, or form of a number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"^(-?)\+?0*(\d+)(?:\.0*)?$")
_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")  # spaces of width 0 and byte order marks
_PREFIX = re.compile(r"^\D+(?=\d)")


@dataclass(frozen=True)
class _Step:
    """A part of a spelling: its name, how it is removed, and the same for a Polars column."""

    name: str
    removed: Callable[[str], str]
    expression: str


_STEPS = (
    _Step("Unicode form", lambda t: unicodedata.normalize("NFC", t), ".str.normalize('NFC')"),
    _Step(
        "invisible characters",
        lambda t: _INVISIBLE.sub("", t),
        r".str.replace_all(r'[\u{200B}-\u{200D}\u{2060}\u{FEFF}]', '')",
    ),
    _Step(
        "blanks",
        lambda t: " ".join(t.split()),
        r".str.strip_chars().str.replace_all(r'\s+', ' ')",
    ),
    _Step("upper and lower case", str.lower, ".str.to_lowercase()"),
    _Step(
        "leading zeros or .0",
        lambda t: _NUMBER.sub(r"\1\2", t),
        r".str.replace(r'^(-?)\+?0*(\d+)(?:\.0*)?$', '${1}${2}')",
    ),
)


def plain(text: str) -> str:
    """Return an id in the form that all its spellings have.

    Examples
    --------
    >>> plain(" A12 "), plain("a12"), plain("007.0")
    ('a12', 'a12', '7')
    """
    return _without(_STEPS, text)


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
    """Return what distinguishes the ids of pairs, in words."""
    return " and ".join(step.name for step in _needed(pairs)) or "a prefix"


def remedy(
    pairs: Sequence[tuple[str, str]], left: Sequence[str], right: Sequence[str], column: str
) -> str:
    """Return an instruction that gives the ids of each pair one spelling, and merges no others.

    Parameters
    ----------
    pairs : sequence of pairs of str
        Ids of two tables that are the same.
    left, right : sequence of str
        All distinct ids of the two tables.
    column : str
        The name of the column in the instruction.

    Examples
    --------
    >>> remedy([("A", "a")], ["A", "B"], ["a", "b "], "item").partition(": ")[2]
    "pl.col('item').cast(pl.String).str.to_lowercase()."
    >>> remedy([("A", "a")], ["A", "B", "b"], ["a"], "item").partition(":")[0]
    'Replace these ids one by one'
    """
    steps = _needed(pairs)
    match = _PREFIX.match(pairs[0][0]) or _PREFIX.match(pairs[0][1])
    if match and _open(steps, pairs):
        prefix = match[0]
        cut = _Step("", lambda t: t.removeprefix(prefix), f".str.strip_prefix({prefix!r})")
        steps = (cut, *_needed([(cut.removed(a), cut.removed(b)) for a, b in pairs]))
    merged = _merged(steps, left) or _merged(steps, right)
    if _open(steps, pairs) or merged:
        why = f"would also merge {merged[0]!r} with {merged[1]!r}" if merged else "is not enough"
        return f"Replace these ids one by one: a rule for all ids {why}."
    rules = "".join(step.expression for step in steps)
    expression = f"pl.col({column!r}).cast(pl.String){rules}"
    return f"Use one spelling in all tables, for example with Polars: {expression}."


def _without(steps: Sequence[_Step], text: str) -> str:
    for step in steps:
        text = step.removed(text)
    return text


def _open(steps: Sequence[_Step], pairs: Sequence[tuple[str, str]]) -> bool:
    """Return whether a pair still differs."""
    return any(_without(steps, a) != _without(steps, b) for a, b in pairs)


def _needed(pairs: Sequence[tuple[str, str]]) -> tuple[_Step, ...]:
    """Return the steps without which a pair that is equal after all steps would differ."""
    equal = [pair for pair in pairs if not _open(_STEPS, [pair])]
    steps = _STEPS
    for step in _STEPS:
        fewer = tuple(other for other in steps if other is not step)
        if not _open(fewer, equal):
            steps = fewer
    return steps


def _merged(steps: Sequence[_Step], ids: Sequence[str]) -> tuple[str, str] | None:
    """Return two ids of a table that become one, or None."""
    first: dict[str, str] = {}
    for text in ids:
        other = first.setdefault(_without(steps, text), text)
        if other != text:
            return other, text
    return None
