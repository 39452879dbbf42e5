"""Deviations of reading: what becomes of ids, duplicates and the order before there are lists."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import Run, Truth
from podium.data.convert import Ids
from podium.data.ids import first_repeated, joined_ids, pair_codes, share_all, strings
from podium.data.runs import best_of_pairs, rows_of
from podium.decide.explain.deviation import register_file
from podium.groups import find

Tables = tuple[Truth, Run] | None


def _untied(truth: Truth, run: Run, order: NDArray[np.int64]) -> Tables:
    """Return a run in which equal scores have the order of increasing numbers."""
    ranks = np.empty(run.score.size)
    ranks[np.lexsort((order, -run.score))] = np.arange(ranks.size)
    return truth, _in_order(run, ranks)


def _text_codes(run: Run) -> NDArray[np.int64]:
    return np.unique(strings(run.item).to_numpy(), return_inverse=True)[1]


def _in_order(run: Run, ranks: NDArray[Any]) -> Run:
    return replace(run, score=-ranks.astype(np.float64), is_order=True)


def _judged_as_relevant(truth: Truth, run: Run) -> Tables:
    if truth.relevance.all():
        return None
    return replace(truth, relevance=np.maximum(truth.relevance, 1.0)), run


def _with_one_positive(truth: Truth, run: Run, step: int) -> Tables:
    """Return a truth with the first relevant item of each user, from the start or the end."""
    rows = np.flatnonzero(truth.relevance > 0)[::step]
    users = share_all([truth.user]).columns[0][rows]
    first = rows[np.unique(users, return_index=True)[1]]
    keep = np.append(np.flatnonzero(truth.relevance == 0), first)
    return None if keep.size == truth.relevance.size else (rows_of(truth, np.sort(keep)), run)


def _duplicates_twice(truth: Truth, run: Run) -> Tables:
    rows, (known, pairs) = np.flatnonzero(repeated(run)), _pairs(truth, run)
    order = np.argsort(known)
    at = find(known[order], pairs[rows])
    judged_rows, repeated_rows = order[at[at >= 0]], rows[at >= 0]
    items = _renamed(run.item, rows)
    counted = replace(
        truth,
        user=joined_ids([truth.user, truth.user[judged_rows]]),
        item=joined_ids([strings(truth.item), items[repeated_rows]]),
        relevance=np.concatenate([truth.relevance, truth.relevance[judged_rows]]),
    )
    return (counted, replace(run, item=items)) if rows.size else None


def _pairs(truth: Truth, run: Run) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number of the user and the item of each row, common to both tables."""
    users = share_all([truth.user, run.user]).columns
    items = share_all([truth.item, run.item])
    left, right = (u * items.labels.size + i for u, i in zip(users, items.columns, strict=True))
    return left, right


def _renamed(item: Ids, rows: NDArray[np.int64]) -> Any:
    """Return ids that are new in some rows."""
    new = [f"{name}\0{row}" for row, name in zip(rows, item[rows], strict=True)]
    return strings(item).clone().scatter(rows, new)


def _duplicates_not_relevant(truth: Truth, run: Run) -> Tables:
    rows = np.flatnonzero(repeated(run))
    return (truth, replace(run, item=_renamed(run.item, rows))) if rows.size else None


def _duplicates_first(truth: Truth, run: Run) -> Tables:
    once = listed_once(run)
    return None if once is run else (truth, once)


def listed_once(run: Run) -> Run:
    """Return a run without repeated items of a user; the run itself if there are none."""
    if first_repeated(pair_codes(run.user, run.item)) is None:
        return run
    return rows_of(run, np.flatnonzero(~repeated(run)))


def repeated(run: Run) -> NDArray[np.bool_]:
    """Return the rows of a run whose item the user has with a better or an earlier score."""
    is_repeated = np.ones(run.score.size, np.bool_)
    is_repeated[best_of_pairs(run, run.score)] = False
    return is_repeated


def _spelt(change: Callable[[str], str]) -> Callable[[Truth, Run], Tables]:
    def spelt(truth: Truth, run: Run) -> Tables:
        before = [truth.user, truth.item, run.user, run.item]
        after = [_changed(ids, change) for ids in before]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return None
        judged = replace(truth, user=after[0], item=after[1])
        first = np.unique(pair_codes(judged.user, judged.item), return_index=True)[1]
        listed = replace(run, user=after[2], item=after[3])
        return rows_of(judged, np.sort(first)), listed_once(listed)

    return spelt


def _changed(ids: Ids, change: Callable[[str], str]) -> Ids:
    """Return ids with another spelling, or the same object if nothing changes."""
    if isinstance(ids, np.ndarray):
        return ids
    names = ids.unique()
    spelt = names.map_elements(change, return_dtype=names.dtype)
    return ids if spelt.equals(names) else ids.replace_strict(names, spelt)


def _chunks_as_documents(truth: Truth, run: Run) -> Tables:
    known = set(strings(truth.item).to_list())
    parent = re.compile(r"(.+?)[#:_/.-]+(?:chunk|part|p|c)?[#:_-]*\d+")

    def document(item: str) -> str:
        match = parent.fullmatch(item)
        return match[1] if match and item not in known and match[1] in known else item

    items = _changed(run.item, document)
    return None if items is run.item else (truth, listed_once(replace(run, item=items)))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "ids-trimmed": str.strip,
    "ids-without-case": str.casefold,
    "ids-normalized": lambda text: unicodedata.normalize("NFKC", text),
}
"""The spelling of ids under a reading."""

_READINGS: dict[str, Callable[[Truth, Run], Tables]] = {
    "order-reversed": lambda truth, run: (truth, replace(run, score=-run.score)),
    "order-of-file": lambda truth, run: (truth, _in_order(run, np.arange(run.score.size))),
    "ties-in-order-of-file": lambda truth, run: _untied(truth, run, np.arange(run.score.size)),
    "ties-by-id": lambda truth, run: _untied(truth, run, _text_codes(run)),
    "ties-in-reverse": lambda truth, run: _untied(truth, run, -np.arange(run.score.size)),
    "judged-as-relevant": _judged_as_relevant,
    "first-positive-only": lambda truth, run: _with_one_positive(truth, run, 1),
    "last-positive-only": lambda truth, run: _with_one_positive(truth, run, -1),
    "duplicates-twice": _duplicates_twice,
    "duplicates-not-relevant": _duplicates_not_relevant,
    "duplicates-first": _duplicates_first,
    **{name: _spelt(change) for name, change in SPELLINGS.items()},
    "chunks-as-documents": _chunks_as_documents,
}

register_file("readings.toml", lambda name, _: _READINGS[name], stage="tables")
