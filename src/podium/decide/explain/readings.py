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
from podium.decide.explain.deviation import register
from podium.groups import find

Tables = tuple[Truth, Run] | None


@register("order-reversed", stage="tables")
def order_reversed(truth: Truth, run: Run) -> Tables:
    """The lowest score is ranked first.

    Sort by decreasing score. Pass ranks as ranks, and the negative of a distance as the score.
    """
    return truth, replace(run, score=-run.score)


@register("order-of-file", stage="tables")
def order_of_file(truth: Truth, run: Run) -> Tables:
    """Items are in the order of the file, not of the scores.

    Sort each list by decreasing score first.
    """
    return truth, replace(run, score=-np.arange(run.score.size, dtype=np.float64), is_order=True)


@register("ties-in-order-of-file", stage="tables")
def ties_in_order_of_file(truth: Truth, run: Run) -> Tables:
    """Equal scores keep the order of the file, as a stable sort leaves them.

    State the order of equal scores, such as by id.
    """
    return _untied(truth, run, 1)


@register("ties-in-reverse", stage="tables")
def ties_in_reverse(truth: Truth, run: Run) -> Tables:
    """Equal scores have the reverse order of the file, as an increasing sort read backwards.

    State the order of equal scores, such as by id.
    """
    return _untied(truth, run, -1)


def _untied(truth: Truth, run: Run, sign: int) -> Tables:
    """Return a run in which equal scores have the order of the file, or the reverse."""
    if first_repeated(pair_codes(run.user, np.unique(run.score, return_inverse=True)[1])) is None:
        return None
    ranks = np.empty(run.score.size)
    ranks[np.lexsort((sign * np.arange(ranks.size), -run.score))] = np.arange(ranks.size)
    return truth, replace(run, score=-ranks, is_order=True)


@register("duplicates-twice", stage="tables", keeps_ideal=True, reads_repeated=True)
def duplicates_twice(truth: Truth, run: Run) -> Tables:
    """An item that is listed twice counts twice, but once in the ideal list.

    List each item once: its first occurrence only.
    """
    rows, (known, pairs) = np.flatnonzero(repeated(run)), _pairs(truth, run)
    order = np.argsort(known)
    at = find(known[order], pairs[rows])
    judged, again = order[at[at >= 0]], rows[at >= 0]
    items = _renamed(run.item, rows)
    counted = replace(
        truth,
        user=joined_ids([truth.user, truth.user[judged]]),
        item=joined_ids([strings(truth.item), items[again]]),
        relevance=np.concatenate([truth.relevance, truth.relevance[judged]]),
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


@register("duplicates-not-relevant", stage="tables", packages=("haystack",), reads_repeated=True)
def duplicates_not_relevant(truth: Truth, run: Run) -> Tables:
    """An item that is listed twice counts once, and takes its second rank all the same.

    List each item once: its first occurrence only.
    """
    again = np.flatnonzero(repeated(run))
    return (truth, replace(run, item=_renamed(run.item, again))) if again.size else None


@register("duplicates-first", stage="tables", reads_repeated=True)
def duplicates_first(truth: Truth, run: Run) -> Tables:
    """Of an item that is listed twice, only the best rank stays, and the others move up.

    List each item once.
    """
    once = listed_once(run)
    return None if once is run else (truth, once)


def listed_once(run: Run) -> Run:
    """Return a run without repeated items of a user; the run itself if there are none."""
    if first_repeated(pair_codes(run.user, run.item)) is None:
        return run
    return rows_of(run, np.flatnonzero(~repeated(run)))


def repeated(run: Run) -> NDArray[np.bool_]:
    """Return the rows of a run whose item the user has with a better or an earlier score."""
    again = np.ones(run.score.size, np.bool_)
    again[best_of_pairs(run, run.score)] = False
    return again


def _spelt(change: Callable[[str], str]) -> Callable[[Truth, Run], Tables]:
    def spelt(truth: Truth, run: Run) -> Tables:
        """Ids are compared in another spelling: {name}.

        Write the ids of both tables in the same way.
        """
        before = [truth.user, truth.item, run.user, run.item]
        after = [_changed(ids, change) for ids in before]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return None
        judged = replace(truth, user=after[0], item=after[1])
        first = np.unique(pair_codes(judged.user, judged.item), return_index=True)[1]
        shown = replace(run, user=after[2], item=after[3])
        return rows_of(judged, np.sort(first)), listed_once(shown)

    return spelt


def _changed(ids: Ids, change: Callable[[str], str]) -> Ids:
    """Return ids with another spelling, or the same object if nothing changes."""
    if isinstance(ids, np.ndarray):
        return ids
    names = ids.unique()
    spelt = names.map_elements(change, return_dtype=names.dtype)
    return ids if spelt.equals(names) else ids.replace_strict(names, spelt)


register("ids-trimmed", stage="tables")(_spelt(str.strip))
register("ids-without-case", stage="tables")(_spelt(str.casefold))
register("ids-normalized", stage="tables")(_spelt(lambda i: unicodedata.normalize("NFKC", i)))


@register("chunks-as-documents", stage="tables")
def chunks_as_documents(truth: Truth, run: Run) -> Tables:
    """Chunks are judged as their documents, of which the best chunk counts.

    Judge chunks, or pass the documents of the chunks, each once.
    """
    known = set(strings(truth.item).to_list())
    parent = re.compile(r"(.+?)[#:_/.-]+(?:chunk|part|p|c)?[#:_-]*\d+")

    def document(item: str) -> str:
        match = parent.fullmatch(item)
        return match[1] if match and item not in known and match[1] in known else item

    items = _changed(run.item, document)
    return None if items is run.item else (truth, listed_once(replace(run, item=items)))
