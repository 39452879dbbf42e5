"""Ids that are spelled in two ways, such as ``i31`` and ``31``, or ``7`` and ``007``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from podium.data import spelling
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Tables, present
from podium.decide.finding import finding
from podium.evaluation.finding import Finding
from podium.types import Mask

_FORM = re.compile(r"(\D*?)0*(\d+)(?:\.0*)?")
# A new prefix is a second spelling only if most of its ids have a twin. Otherwise "i31" and "31"
# may be two items, as in a catalogue of films and books.
_SYSTEMATIC = 0.5


def respell(tables: Tables) -> tuple[Tables, list[Finding]]:
    """Find ids of the test part and of runs that other tables spell differently.

    Returns
    -------
    Tables
        The tables with one spelling of each id, so that later checks see other faults.
    list of Finding
    """
    findings: list[Finding] = []
    for noun, run in product(("user", "item"), ("", *tables.runs)):
        labels = tables.users if noun == "user" else tables.items
        if labels.dtype.kind != "U":
            continue  # all ids are plain integers
        has_id, is_known = _ids(tables, noun, run)
        lone, known = np.flatnonzero(has_id & ~is_known), np.flatnonzero(is_known)
        code = np.arange(labels.size)
        for left, right in _matches(labels[lone].tolist(), labels[known].tolist()):
            code[lone[left]] = known[right]
        changed = np.flatnonzero(code != np.arange(code.size))
        if changed.size:
            pairs = list(zip(labels[changed].tolist(), labels[code[changed]].tolist(), strict=True))
            before, tables = Pricing(tables), tables.respelled(noun, code)
            after = Pricing(tables)
            names = [name for name in before.base if run in ("", name)]
            effects = {name: (before.base[name], after.base[name]) for name in names}
            one = finding(
                f"{noun}-spelling",
                (changed.size, int(has_id.sum())),
                tuple(f"{noun} {text}" for text, _ in pairs[:3]),
                before.effects(effects),
                run=run,
                table=f"Run {run}" if run else "TEST",
                reference="TRAIN" if not run else "TEST" if noun == "user" else "TRAIN or TEST",
                pair="{!r} against {!r}".format(*pairs[0]),
            )
            findings.append(one)
    return tables, findings


def _ids(tables: Tables, noun: str, run: str) -> tuple[Mask, Mask]:
    """Return which ids the test part or a run has, and which are those of other tables."""
    if noun == "user":
        test, train = (present(p.user, tables.n_users) for p in (tables.test, tables.train))
    else:
        test, train = tables.item_in_test, tables.in_train[1]
    if not run:
        return test, train
    # A run lists items of training, but its users are those of the test part.
    has_id = present(tables.runs[run].ids(noun), test.size)
    return has_id, test if noun == "user" else train | test


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
