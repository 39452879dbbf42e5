"""Ids that are spelled in two ways, such as ``i31`` and ``31``, or ``7`` and ``007``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data import spelling
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Ints, Tables, present
from podium.decide.finding import finding
from podium.evaluation.finding import Finding
from podium.types import Mask

_FORM = re.compile(r"(\D*?)0*(\d+)(?:\.0*)?")
# A new prefix is a second spelling only if most of its ids have a twin. Otherwise "i31" and "31"
# may be two items, as in a catalogue of films and books.
_SYSTEMATIC = 0.5


def respell(tables: Tables, price: Callable[[Tables], Pricing]) -> tuple[Tables, list[Finding]]:
    """Find ids of the test part and of runs that other tables spell differently.

    Parameters
    ----------
    tables : Tables
    price : callable
        A function that prices tables.

    Returns
    -------
    Tables
        The tables with one spelling of each id, so that later checks see other faults.
    list of Finding
    """
    findings: list[Finding] = []
    if all(labels.dtype.kind != "U" for labels in (tables.users, tables.items)):
        return tables, findings  # all ids are plain integers
    for noun in ("user", "item"):
        for name in ("", *tables.runs):
            twins = _twins_of(tables, noun, name)
            if twins is not None:
                after = tables.respelled(noun, twins.code)
                findings.append(_finding(twins, noun, name, price(tables), price(after)))
                tables = after
    return tables, findings


@dataclass(frozen=True, eq=False)
class _Twins:
    """The code of the other spelling of each id, or its own code."""

    code: Ints
    labels: NDArray[np.str_]
    has_id: Mask
    is_known: Mask

    @property
    def n_ids(self) -> int:
        """The number of ids of the table."""
        return int(self.has_id.sum())

    def remedy(self, noun: str) -> str:
        """Return an instruction that merges the twins and no other ids."""
        codes = self.respelled
        pairs = zip(
            self.labels[codes].tolist(), self.labels[self.code[codes]].tolist(), strict=True
        )
        ids, known = (self.labels[mask].tolist() for mask in (self.has_id, self.is_known))
        return spelling.remedy(list(pairs), ids, known, noun)

    @property
    def respelled(self) -> Ints:
        """The codes that have another spelling."""
        return np.flatnonzero(self.code != np.arange(self.code.size))


def _finding(twins: _Twins, noun: str, name: str, before: Pricing, after: Pricing) -> Finding:
    first = twins.respelled[0]
    texts = [str(twins.labels[code]) for code in (first, twins.code[first])]
    pair = f"{texts[0]!r} against {texts[1]!r}"
    table = f"Run {name}" if name else "TEST"
    reference = "TRAIN" if not name else "TEST" if noun == "user" else "TRAIN or TEST"
    runs = [run for run in before.base if run == name or not name]
    return finding(
        f"{noun}-spelling",
        (int(twins.respelled.size), twins.n_ids),
        tuple(f"{noun} {label}" for label in twins.labels[twins.respelled[:3]]),
        before.effects({run: (before.base[run], after.base[run]) for run in runs}),
        run=name,
        table=table,
        reference=reference,
        pair=pair,
        advice=twins.remedy(noun),
    )


def _twins_of(tables: Tables, noun: str, run: str) -> _Twins | None:
    """Return the twins of ids that only the test part, or only a run, has."""
    labels = tables.users if noun == "user" else tables.items
    if labels.dtype.kind != "U":
        return None
    if noun == "user":
        test, train = (present(p.user, labels.size) for p in (tables.test, tables.train))
    else:
        test, train = tables.item_in_test, tables.in_train[1]
    has_id = present(tables.runs[run].ids(noun), labels.size) if run else test
    # A run lists items of training, but its users are those of the test part.
    reference = train if not run else test if noun == "user" else train | test
    lone = np.flatnonzero(has_id & ~reference)
    if not lone.size:
        return None
    known = np.flatnonzero(reference)
    code = np.arange(labels.size)
    for left, right in _matches(labels[lone].tolist(), labels[known].tolist()):
        code[lone[left]] = known[right]
    twins = _Twins(code, labels, has_id, reference)
    return twins if twins.respelled.size else None


def _matches(lone: Sequence[str], known: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of ids that are the same number, or the same text in another case."""
    forms = [_form(text) for text in known]
    prefixes = {prefix for prefix, _ in forms}
    by_form, by_number = _positions(forms), _positions([number for _, number in forms])
    of_prefix: dict[str, list[tuple[int, int]]] = defaultdict(list)
    n_of_prefix: Counter[str] = Counter()
    for i, text in enumerate(lone):
        prefix, number = _form(text)
        same = by_form.get((prefix, number), ())
        if len(same) == 1:
            yield i, same[0]
        elif number and prefix != "-" and prefix not in prefixes:  # -7 and 7 are two numbers
            n_of_prefix[prefix] += 1
            if len(by_number.get(number, ())) == 1:
                of_prefix[prefix].append((i, by_number[number][0]))
    for prefix, pairs in of_prefix.items():
        if len(pairs) >= _SYSTEMATIC * n_of_prefix[prefix]:
            yield from pairs


def _form(text: str) -> tuple[str, str]:
    """Return the text before a number, and the number without zeros that do not change it."""
    folded = spelling.plain(text)
    match = _FORM.fullmatch(folded)
    return (folded, "") if match is None else (match[1], match[2])


def _positions(values: Sequence[object]) -> dict[object, list[int]]:
    positions: dict[object, list[int]] = defaultdict(list)
    for i, value in enumerate(values):
        positions[value].append(i)
    return positions
