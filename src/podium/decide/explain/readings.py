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


@register("order-reversed", stage="tables", odds=0.02)
def order_reversed(truth: Truth, run: Run) -> Tables:
    """The lowest score is ranked first.

    Sort by decreasing score. Pass ranks as ranks, and the negative of a distance as the score.
    """
    return truth, replace(run, score=-run.score)


@register("order-of-file", stage="tables", odds=0.02)
def order_of_file(truth: Truth, run: Run) -> Tables:
    """Items are in the order of the file, not of the scores.

    Sort each list by decreasing score first.
    """
    return truth, replace(run, score=-np.arange(run.score.size, dtype=np.float64), is_order=True)


@register("ties-in-order-of-file", stage="tables", reads_ties=True)
def ties_in_order_of_file(truth: Truth, run: Run) -> Tables:
    """Equal scores keep the order of the file, as a stable sort leaves them.

    State the order of equal scores, such as by id.
    """
    return _untied(truth, run, np.arange(run.score.size))


@register("ties-by-id", stage="tables", reads_ties=True, odds=0.02)
def ties_by_id(truth: Truth, run: Run) -> Tables:
    """Equal scores are in the order of their ids as text, the first one first.

    State the order of equal scores, such as by decreasing id.
    """
    return _untied(truth, run, np.unique(strings(run.item).to_numpy(), return_inverse=True)[1])


@register("ties-in-reverse", stage="tables", reads_ties=True)
def ties_in_reverse(truth: Truth, run: Run) -> Tables:
    """Equal scores have the reverse order of the file, as an increasing sort read backwards.

    State the order of equal scores, such as by id.
    """
    return _untied(truth, run, -np.arange(run.score.size))


def _untied(truth: Truth, run: Run, order: NDArray[np.int64]) -> Tables:
    """Return a run in which equal scores have the order of increasing numbers."""
    ranks = np.empty(run.score.size)
    ranks[np.lexsort((order, -run.score))] = np.arange(ranks.size)
    return truth, replace(run, score=-ranks, is_order=True)


@register("judged-as-relevant", stage="tables", odds=0.02)
def judged_as_relevant(truth: Truth, run: Run) -> Tables:
    """Each judged item counts as relevant, also with grade 0.

    Leave out items of grade 0, or compare grades with a threshold.
    """
    if truth.relevance.all():
        return None
    return replace(truth, relevance=np.maximum(truth.relevance, 1.0)), run


@register("first-positive-only", stage="tables")
def first_positive_only(truth: Truth, run: Run) -> Tables:
    """Only the first relevant item of each user in the file counts.

    Keep all relevant items of a user.
    """
    return _with_one_positive(truth, run, 1)


@register("last-positive-only", stage="tables")
def last_positive_only(truth: Truth, run: Run) -> Tables:
    """Only the last relevant item of each user in the file counts, as in a dictionary by user.

    Keep all relevant items of a user.
    """
    return _with_one_positive(truth, run, -1)


def _with_one_positive(truth: Truth, run: Run, step: int) -> Tables:
    """Return a truth with the first relevant item of each user, from the start or the end."""
    rows = np.flatnonzero(truth.relevance > 0)[::step]
    users = share_all([truth.user]).columns[0][rows]
    first = rows[np.unique(users, return_index=True)[1]]
    keep = np.append(np.flatnonzero(truth.relevance == 0), first)
    return None if keep.size == truth.relevance.size else (rows_of(truth, np.sort(keep)), run)


@register("duplicates-twice", stage="tables", odds=0.03, keeps_ideal=True, reads_repeated=True)
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


@register("duplicates-first", stage="tables", odds=0.02, reads_repeated=True)
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


_SPELLINGS: dict[str, Callable[[str], str]] = {
    "ids-trimmed": str.strip,
    "ids-without-case": str.casefold,
    "ids-normalized": lambda text: unicodedata.normalize("NFKC", text),
}
for _name, _spelling in _SPELLINGS.items():
    register(_name, stage="tables", odds=0.02, spelling=_spelling)(_spelt(_spelling))


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
