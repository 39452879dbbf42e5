"""Candidates that a file lists for each target, and the scores that rank targets among them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data.columns import ITEM, USER, resolve
from podium.data.convert import as_integers, to_ids, to_scores
from podium.data.files import check_file, read_bytes
from podium.data.source import Column, Source
from podium.data.tables import fetch, open_table
from podium.errors import DataError
from podium.sampled.candidates import Candidates
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import SampledRanks
from podium.sampled.reading.scores import SCORE, read_candidate_scores
from podium.sampled.reading.seen import OnSeen, without_seen

OnOwnTarget = Literal["error", "drop"]

_DIGITS = 18  # of numbers that int64 holds, whatever the digits are
_PAIR = re.compile(rb"\((\d+), ?(\d+)\)")
_HIGHEST = 2**62  # room for the sum of a product and an item


def read_negatives(
    path: str | Path,
    *,
    n_items: ArrayLike,
    n_negatives: int | None = None,
    replacement: bool = False,
    mixed: bool = False,
    own_target: OnOwnTarget = "error",
    seen: Any = None,
    seen_candidates: OnSeen = "error",
) -> Candidates:
    """Read a file of sampled negatives as neural collaborative filtering's: a line a target.

    Parameters
    ----------
    path : path
        Lines of ``(user,item)``, a tab, and the candidates' numbers with tabs between them; .gz
        is unpacked. Users and items are row and column numbers of scores, from 0.
    n_items : int or int, (n,)
        Items that a target's candidates were drawn from, and the target. Where they were drawn
        from items that the user has not seen, that is fewer than the catalogue has, and another
        number for each line: see `seen`.
    n_negatives : int, optional
        The number of candidates of each line, if the file is to be checked for it.
    replacement : bool
        Whether an item could be drawn twice.
    mixed : bool
        Allow lines with different numbers of candidates, which otherwise are an error: some may
        have been lost.
    own_target : {"error", "drop"}
        What to do about a line whose candidates hold its own target: refuse the file, or drop
        the candidate. Sizes then differ between lines.
    seen : Seen, or what `read_seen` reads, optional
        Items that users had before, in the file's numbers. They are taken from the users'
        catalogues, of which n_items is then the whole.
    seen_candidates : {"error", "drop"}
        What to do where the file has seen items among the candidates: refuse it, or drop them.
        What is left of a uniform sample of all items is one of the unseen items.

    Raises
    ------
    DataError
        If the file is missing or broken, or a line has another form; it names the line. If a line
        has no candidate, a target is listed twice, the numbers of candidates are not those
        expected, an item is repeated that could not be, or there are more items than n_items. If
        candidates or targets are seen items, or `seen` has none of the users.

    References
    ----------
    he2017.
    """
    file = Path(path)
    check_file(file, "negatives")
    lines = read_bytes(file).splitlines()
    if not lines:
        raise DataError(f"{file} has no lines.")
    heads: list[tuple[int, int]] = []
    drawn: list[Ints] = []
    for number, line in enumerate(lines, 1):
        user, item, items = _line(line, number, file)
        own = items == item
        if own.any() and _check.choice(own_target, "own_target", ("error", "drop")) == "error":
            raise DataError(
                f"{file}: line {number} has its own target, item {item}, among its candidates. "
                "Pass own_target='drop' to leave it out there."
            )
        heads.append((user, item))
        drawn.append(items[~own])
    users, targets = np.array(heads, dtype=np.int64).T
    sizes = np.array([items.size for items in drawn])
    found = Candidates(
        users.copy(),
        users.copy(),
        targets.copy(),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate(drawn),
        int(np.asarray(n_items)) if np.ndim(n_items) == 0 else np.asarray(n_items, dtype=np.int64),
        _check.flag(replacement, "replacement"),
    )
    _refuse_sizes(file, sizes, n_negatives, mixed=mixed or own_target == "drop")
    _refuse_same_targets(file, users, targets)
    _refuse_draws(file, found)
    if seen is None:
        return found
    return without_seen(found, seen, source=str(file), seen_candidates=seen_candidates)


def _refuse_sizes(file: Path, sizes: Ints, n_negatives: int | None, *, mixed: bool) -> None:
    """Refuse lines without candidates, of different lengths, or of another than was given."""
    least, most = int(sizes.min()), int(sizes.max())
    if not least:
        raise DataError(
            f"{file}: line {int(np.argmin(sizes)) + 1} has no candidate beside its target. Leave "
            "the line out."
        )
    if least < most and not mixed:
        raise DataError(
            f"{file}: lines have from {least} to {most} candidates. Pass mixed=True if they were "
            "drawn so."
        )
    if n_negatives not in (None, most):
        raise DataError(
            f"{file}: lines have {most} candidates, n_negatives says {n_negatives}. Leave it out, "
            "or check that no candidates were lost."
        )


def _refuse_same_targets(file: Path, users: NDArray[Any], targets: NDArray[Any]) -> None:
    """Refuse a user's target twice: scores of pairs are the same for both lines."""
    order = np.lexsort((targets, users))
    a, b = order[:-1], order[1:]
    same = (users[a] == users[b]) & (targets[a] == targets[b])
    if same.any():
        first, second = sorted((int(a[np.argmax(same)]), int(b[np.argmax(same)])))
        raise DataError(
            f"{file}: lines {first + 1} and {second + 1} have the same user and target. Keep one."
        )


def _refuse_draws(file: Path, found: Candidates) -> None:
    """Refuse more items than there are, and items drawn twice that could not be."""
    n_named, n_items = np.union1d(found.target, found.items).size, int(np.max(found.n_items))
    if n_named > n_items:
        raise DataError(
            f"{file} names {n_named} different items, and n_items says that they were drawn from "
            f"{n_items}."
        )
    line, item = found.repeated
    if line.size and not found.replacement:
        raise DataError(
            f"{file}: line {line[0] + 1} has item {item[0]} twice, so that items were drawn with "
            "replacement. Pass replacement=True."
        )


def _line(line: bytes, number: int, file: Path) -> tuple[int, int, Ints]:
    head, *fields = line.split() or [b""]
    match = _PAIR.fullmatch(head)
    if match is None or not fields or not all(field.isdigit() for field in fields):
        raise DataError(
            f"{file}: line {number} is not of the form (user,item), a tab, and item numbers with "
            f"tabs between them, got {line[:40].decode(errors='replace')!r}."
        )
    longest = max(match[1], match[2], *fields, key=len)
    if len(longest) > _DIGITS:
        raise DataError(
            f"{file}: line {number} has a number of {len(longest)} digits, "
            f"{longest[:20].decode()}..., where at most {_DIGITS} can be told apart. Number users "
            "and items anew."
        )
    return int(match[1]), int(match[2]), np.array(fields, dtype=np.bytes_).astype(np.int64)


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """The pairs of users and items whose scores rank targets among listed candidates.

    Attributes
    ----------
    file : str
        What messages call the candidates.
    owner : int64, (n_lines,)
        The user of each line.
    line, user, item : int64, (n_rows,)
        The line, from 0, the user and the item of each pair.
    target : bool, (n_rows,)
        Whether the item is the line's target.
    n_items : int or int64, (n_lines,)
        Items of the catalogue, or of the one that each line's user has.
    replacement : bool
        Whether an item could be drawn twice.
    """

    file: str
    owner: NDArray[Any]
    line: NDArray[Any]
    user: NDArray[Any]
    item: NDArray[Any]
    target: NDArray[Any]
    n_items: int | NDArray[Any]
    replacement: bool

    @classmethod
    def of(cls, candidates: Candidates, file: str) -> CandidatePairs:
        """Return the pairs of candidates, targets first."""
        n, sizes = candidates.target.size, np.diff(candidates.offsets)
        line = np.concatenate([np.arange(n), np.repeat(np.arange(n), sizes)])
        item = np.concatenate([candidates.target, candidates.items])
        owner = np.asarray(candidates.user)
        is_target = np.arange(line.size) < n
        about = candidates.n_items, candidates.replacement
        return cls(file, owner, line, owner[line], item, is_target, *about)

    def keep(self, rows: NDArray[Any]) -> CandidatePairs:
        """Return some of the pairs."""
        line, user, item, target = self.line, self.user, self.item, self.target
        return replace(self, line=line[rows], user=user[rows], item=item[rows], target=target[rows])

    def ranks(self, scores: NDArray[Any], **options: Any) -> SampledRanks:
        """Rank each target among its line's candidates by a score of each pair.

        Parameters
        ----------
        scores : float64, (n_rows,)
        **options
            ties and seed, as in `read_candidate_scores`.
        """
        keys = self._line_keys()
        table = {
            "user": keys[self.line],
            "item": self.item,
            "score": scores,
            "target": self.target,
        }
        found = read_candidate_scores(
            table,
            n_items=int(np.max(self.n_items)),
            mixed=True,
            replacement=self.replacement,
            **options,
        )
        order = np.argsort(keys)
        line = order[np.searchsorted(keys, np.asarray(found.user), sorter=order)]
        left = self.n_items if isinstance(self.n_items, int) else self.n_items[line]
        return replace(found, user=self.owner[line], n_items=left)

    def _line_keys(self) -> NDArray[Any]:
        """Return a number for each line that follows from its user and target, not its place."""
        owner, item = self.owner, self.item
        if int(owner.max()) > _HIGHEST // (int(item.max()) + 1):
            owner, item = (np.unique(ids, return_inverse=True)[1] for ids in (owner, item))
        keys = owner * (int(item.max()) + 1)
        keys[self.line[self.target]] += item[self.target]
        return keys


def read_pair_scores(
    source: Any, pairs: CandidatePairs, *, columns: dict[str, str] | None = None
) -> Floats:
    """Look the score of each pair up in a table of users, items and scores.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        See `podium.data`. Users and items are the numbers of `pairs`; other rows are left out.
    pairs : CandidatePairs
    columns : dict, optional
        Names of columns that don't have their usual name, by "user", "item", "score".

    Raises
    ------
    DataError
        If a pair has no score, or several that differ.
    """
    users, items = (np.unique(ids) for ids in (pairs.user, pairs.item))
    wanted = np.searchsorted(users, pairs.user) * items.size + np.searchsorted(items, pairs.item)
    name, user, item, score = _read_scores(source, columns or {})
    row = np.flatnonzero(np.isin(user, users) & np.isin(item, items))
    keys = np.searchsorted(users, user[row]) * items.size + np.searchsorted(items, item[row])
    order = np.argsort(keys, kind="stable")
    keys, row = keys[order], row[order]
    unlike = (keys[1:] == keys[:-1]) & (score[row[1:]] != score[row[:-1]])
    if unlike.any():
        first = row[np.argmax(unlike)]
        raise DataError(
            f"{name} has several scores of user {user[first]} and item {item[first]}. Keep one."
        )
    place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    lost = keys[place] != wanted if keys.size else np.ones(wanted.size, np.bool_)
    if lost.any():
        first = int(np.argmax(lost))
        raise DataError(
            f"{name} has no score of {int(lost.sum())} of the {lost.size} pairs in {pairs.file}, "
            f"first of user {pairs.user[first]} and item {pairs.item[first]}. Users and items "
            "are numbers there; each target and candidate needs a score."
        )
    return score[row[place]]


def _read_scores(source: Any, named: dict[str, str]) -> tuple[str, Ints, Ints, Floats]:
    """Return the table's name, and users, items and scores, numbered as in files of negatives."""
    roles = (USER, ITEM, SCORE)
    table = open_table(source, "candidates' scores", roles)
    found = resolve(table.names, roles, named, table.name)
    got = fetch(table, found, {"user": "id", "item": "id", "score": "number"})
    user, item = (_numbers(got[role], found[role], table) for role in ("user", "item"))
    return table.name, user, item, to_scores(table, found["score"], got["score"], user)


def _numbers(column: Column, name: str, table: Source) -> Ints:
    ids = to_ids(column, name, table)
    numbers = ids if isinstance(ids, np.ndarray) else as_integers(ids)
    if not isinstance(numbers, np.ndarray):
        raise DataError(
            f"{table.name}: {name} must hold the numbers that the file of negatives has, got "
            f"{numbers[0]!r}."
        )
    return numbers
