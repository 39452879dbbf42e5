"""Candidates that a file lists for each target, and the scores that rank targets among them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.columns import ITEM, USER
from podium.data.convert import as_integers, to_scores
from podium.data.files import File
from podium.data.tables import RoleColumns
from podium.errors import DataError, arg, warn
from podium.groups import find, row_offsets
from podium.sampled.candidates import Candidates
from podium.sampled.design import Floats, Ints
from podium.sampled.reading.columns import SCORE, read_columns
from podium.sampled.reading.scores import ScoredRows, refuse_more_items, warn_of_dropped
from podium.sampled.reading.seen import catalogue_size
from podium.sampled.sampling import repeats

if TYPE_CHECKING:
    from podium.sampled.reading import SampleReader

_PAIR = re.compile(rb"\s*\((\d{1,18}), ?(\d{1,18})\)\s+")
_NUMBER = re.compile(rb"\d{1,18}")  # as many digits as always fit in int64


def listed_candidates(file: Path, reader: SampleReader) -> Candidates:
    """Read a file of candidates in the format of the paper on neural collaborative filtering.

    Raises
    ------
    DataError
        If the file is missing, empty or in another format, if a line has no candidate beside its
        target, or if two lines have the same user and target. If the number of candidates is not
        n_negatives, if an item is drawn twice without replacement, or if there are more items than
        n_items. If a check of `Seen.candidates` or `Seen.sizes` fails.

    Warns
    -----
    PodiumWarning
        If candidates are the target of their own line. They are left out.
    """
    lines = File.of(file, "negatives").content().splitlines()
    if not lines:
        raise DataError(f"{file} has no lines. Pass a file with candidates.")
    targets_of_users: list[tuple[int, int]] = []
    candidates_of_lines: list[Ints] = []
    n_own = 0
    for number, line in enumerate(lines, 1):
        user, item, drawn = _read_line(line, number, file)
        if reader.n_negatives not in (None, drawn.size):
            raise DataError(
                f"{file}: line {number} has {drawn.size} candidates, but {arg.n_negatives} is "
                f"{reader.n_negatives}. Leave it out, or check that no candidates were lost."
            )
        is_own_target = drawn == item
        n_own += int(is_own_target.sum())
        if is_own_target.all():
            raise DataError(
                f"{file}: line {number} has no candidate beside its target. Remove the line."
            )
        targets_of_users.append((user, item))
        candidates_of_lines.append(drawn[~is_own_target])
    if n_own:
        warn(
            f"{file}: candidates left out, because they are the target of their own line: {n_own}."
        )
    users, targets = np.array(targets_of_users, dtype=np.int64).T
    sizes = np.array([drawn.size for drawn in candidates_of_lines])
    items, n_items = np.concatenate(candidates_of_lines), catalogue_size(reader.n_items)
    columns = (users.copy(), users.copy(), targets.copy(), row_offsets(sizes), items)
    candidates = Candidates(*columns, n_items, reader.replacement)
    first, second = repeats(users, targets)
    if first.size:
        raise DataError(
            f"{file}: lines {first[0] + 1} and {second[0] + 1} have the same user and target. "
            "Keep one."
        )
    pairs = ScoredRows.of_candidates(candidates, str(file))
    if not reader.replacement:
        pairs.refuse_repeats(replacement=False)
    refuse_more_items(np.union1d(targets, items).size, n_items, str(file))
    seen = reader.seen_items
    if seen is None:
        return candidates
    is_seen = seen.candidates(pairs, (pairs.row_users, pairs.item), reader)
    # Targets left without a candidate are dropped, which introduces no bias.
    n_left = seen.sizes(users, n_items, pairs.name)
    remaining = replace(candidates, n_items=n_left).without(is_seen[~pairs.is_target])
    warn_of_dropped(users.size - remaining.target.size, pairs.name)
    return remaining


def _read_line(line: bytes, number: int, file: Path) -> tuple[int, int, Ints]:
    match = _PAIR.match(line)
    fields = line[match.end() :].split() if match else []
    if match is None or not fields or not all(map(_NUMBER.fullmatch, fields)):
        raise DataError(
            f"{file}: line {number} must be (user,item), a tab, and item numbers separated by "
            f"tabs, of at most 18 digits, got {line[:40].decode(errors='replace')!r}."
        )
    return int(match[1]), int(match[2]), np.array(fields, dtype=np.bytes_).astype(np.int64)


def read_pair_scores(source: Any, pairs: ScoredRows, columns: dict[str, str]) -> Floats:
    """Return the score of each pair from a table of users, items and scores.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        The table; see `podium.data`. Users and items are the numbers of `pairs`. Rows of other
        pairs are ignored.
    pairs : ScoredRows
        The targets and candidates, without scores.
    columns : dict
        The names of columns that do not have their usual name, by "user", "item", "score".

    Returns
    -------
    float64, (n_rows,)

    Raises
    ------
    DataError
        If a pair has no score, or several different scores.
    """
    owner = pairs.row_users
    users, items = np.unique(owner), np.unique(pairs.item)

    def keys_of(user: Ints, item: Ints) -> Ints:
        return np.searchsorted(users, user) * items.size + np.searchsorted(items, item)

    read = read_columns(source, "candidates' scores", (USER, ITEM, SCORE), columns)
    name, user, item = read.table.name, _numbers(read, "user"), _numbers(read, "item")
    score, _ = to_scores(read.table, read.names["score"], read.read["score"], user)
    rows = np.flatnonzero(np.isin(user, users) & np.isin(item, items))
    keys = keys_of(user[rows], item[rows])
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], rows[order]
    is_conflict = (keys[1:] == keys[:-1]) & (score[rows[1:]] != score[rows[:-1]])
    if is_conflict.any():
        first = rows[np.argmax(is_conflict)]
        raise DataError(
            f"{name} has several scores for user {user[first]} and item {item[first]}. Keep one."
        )
    position = find(keys, keys_of(owner, pairs.item))
    is_missing = position < 0
    if is_missing.any():
        first = int(np.argmax(is_missing))
        raise DataError(
            f"{name} has no score for {int(is_missing.sum())} of the {is_missing.size} "
            f"pairs in {pairs.name}, first user {owner[first]} and item {pairs.item[first]}. "
            "Each target and candidate needs a score, and users and items are the numbers in that "
            "file."
        )
    return score[rows[position]]


def _numbers(read: RoleColumns, role: str) -> Ints:
    ids = read.ids(role)
    numbers = ids if isinstance(ids, np.ndarray) else as_integers(ids)
    if not isinstance(numbers, np.ndarray):
        raise DataError(
            f"{read.table.name}: {read.names[role]} must hold numbers, as the file of negatives "
            f"does, got {numbers[0]!r}."
        )
    return numbers
