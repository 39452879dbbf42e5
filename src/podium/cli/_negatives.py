"""Candidates that a file lists for each target, and their scores in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import _messages
from podium.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.sampled import Candidates, SampledRanks, Seen
    from podium.sampled.reading.seen import OnSeen

_HIGHEST = 2**62  # room for the sum of a product and an item
_TELLING = 10  # repeated items to be expected, before their absence says something


@dataclass(frozen=True, eq=False)
class Listed:
    """A row for each target, line by line of the file, and one for each candidate.

    Attributes
    ----------
    file : Path
    owner : int64, (n_lines,)
        User of each line.
    line, user, item : int64, (n_rows,)
        Line, from 0, user and item of each row.
    target : bool, (n_rows,)
    n_items : int or int64, (n_lines,)
        Items of the catalogue, or of the one that each line's user has.
    """

    file: Path
    owner: NDArray[Any]
    line: NDArray[Any]
    user: NDArray[Any]
    item: NDArray[Any]
    target: NDArray[Any]
    n_items: int | NDArray[Any]

    @classmethod
    def of(cls, file: Path, candidates: Candidates) -> Listed:
        """Return the rows of candidates, targets first."""
        import numpy as np

        n, sizes = candidates.target.size, np.diff(candidates.offsets)
        line = np.concatenate([np.arange(n), np.repeat(np.arange(n), sizes)])
        item = np.concatenate([candidates.target, candidates.items])
        owner = np.asarray(candidates.user)
        first = np.arange(line.size) < n
        return cls(file, owner, line, owner[line], item, first, candidates.n_items)

    def keep(self, rows: NDArray[Any]) -> Listed:
        """Return some of the rows."""
        kept = {name: getattr(self, name)[rows] for name in ("line", "user", "item", "target")}
        return replace(self, **kept)

    def ranks(self, scores: NDArray[Any], n_items: int, **options: Any) -> SampledRanks:
        """Rank each target among its line's candidates; `n_items` is the whole catalogue."""
        import numpy as np

        from podium import sampled

        keys = self._line_keys()
        table = {
            "user": keys[self.line],
            "item": self.item,
            "score": scores,
            "target": self.target,
        }
        found = sampled.read_candidate_scores(table, n_items=n_items, mixed=True, **options)
        asked: NDArray[Any] = np.asarray(found.user)
        order = np.argsort(keys)
        line = order[np.searchsorted(keys, asked, sorter=order)]
        left = self.n_items if isinstance(self.n_items, int) else self.n_items[line]
        return replace(found, user=self.owner[line], n_items=left)

    def _line_keys(self) -> NDArray[Any]:
        """Return a number for each line that follows from its user and target, not its place."""
        import numpy as np

        owner, item = self.owner, self.item
        if int(owner.max()) > _HIGHEST // (int(item.max()) + 1):
            owner, item = (np.unique(ids, return_inverse=True)[1] for ids in (owner, item))
        keys = owner * (int(item.max()) + 1)
        keys[self.line[self.target]] += item[self.target]
        return keys


def read_listed(
    file: Path,
    n_items: int,
    *,
    replacement: bool,
    drop_own: bool,
    check: Callable[[Path, NDArray[Any]], None],
    seen: Seen | None,
    seen_candidates: OnSeen,
) -> Listed:
    """Read a file of a line for each target; see `podium.sampled.read_negatives`.

    `check` is called with the file and the lines' numbers of candidates, seen ones not dropped.
    """
    import numpy as np

    from podium import sampled
    from podium.sampled.reading.seen import without_seen

    found = sampled.read_negatives(
        file, n_items=n_items, replacement=replacement, own_target="drop" if drop_own else "error"
    )
    sizes = np.diff(found.offsets)
    if not sizes.all():
        raise DataError(
            f"{file}: line {int(np.argmin(sizes)) + 1} has no candidate beside its target. Leave "
            "the line out."
        )
    check(file, sizes)
    _check_targets(file, np.asarray(found.user), found.target)
    n_named = np.union1d(found.target, found.items).size
    if n_named > n_items:
        raise DataError(
            f"{file} names {n_named} different items, and --items says that they were drawn from "
            f"{n_items}."
        )
    drawn = np.repeat(np.arange(sizes.size), sizes)
    _check_draws(file, drawn, found.items, n_items, replacement=replacement)
    if seen is not None:
        found = without_seen(found, seen, source=str(file), seen_candidates=seen_candidates)
    return Listed.of(file, found)


def _check_targets(file: Path, users: NDArray[Any], targets: NDArray[Any]) -> None:
    """Refuse a user's target twice: no scores could tell the two lines apart."""
    import numpy as np

    order = np.lexsort((targets, users))
    a, b = order[:-1], order[1:]
    same = (users[a] == users[b]) & (targets[a] == targets[b])
    if same.any():
        first, second = sorted((int(a[np.argmax(same)]), int(b[np.argmax(same)])))
        raise DataError(
            f"{file}: lines {first + 1} and {second + 1} have the same user and target. Keep one."
        )


def _check_draws(
    file: Path, lines: NDArray[Any], items: NDArray[Any], n_items: int, *, replacement: bool
) -> None:
    """Refuse items drawn twice that could not be; say where none was that could."""
    import numpy as np

    order = np.lexsort((items, lines))
    a, b = order[:-1], order[1:]
    twice = (lines[a] == lines[b]) & (items[a] == items[b])
    if twice.any() and not replacement:
        row = a[np.argmax(twice)]
        raise DataError(
            f"{file}: line {lines[row] + 1} has item {items[row]} twice, so that items were drawn "
            "with replacement. Leave out --no-replacement."
        )
    sizes = np.bincount(lines).astype(float)
    expected = float((sizes * (sizes - 1)).sum()) / (2 * n_items)
    if replacement and not twice.any() and expected > _TELLING:
        _messages.say(f"{file}: no line has an item twice; pass --no-replacement if none could.")


def of_table(path: Path, listed: Listed, columns: dict[str, str]) -> NDArray[Any]:
    """Look each pair's score up in a table of users, items and scores.

    Raises
    ------
    DataError
        If a pair has no score, or several that differ.
    """
    import numpy as np

    users, items = (np.unique(ids) for ids in (listed.user, listed.item))
    wanted = np.searchsorted(users, listed.user) * items.size + np.searchsorted(items, listed.item)
    user, item, score = _read_scores(path, columns)
    row = np.flatnonzero(np.isin(user, users) & np.isin(item, items))
    keys = np.searchsorted(users, user[row]) * items.size + np.searchsorted(items, item[row])
    order = np.argsort(keys, kind="stable")
    keys, row = keys[order], row[order]
    unlike = (keys[1:] == keys[:-1]) & (score[row[1:]] != score[row[:-1]])
    if unlike.any():
        first = row[np.argmax(unlike)]
        raise DataError(
            f"{path} has several scores of user {user[first]} and item {item[first]}. Keep one."
        )
    place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    lost = keys[place] != wanted if keys.size else np.ones(wanted.size, np.bool_)
    if lost.any():
        first = int(np.argmax(lost))
        raise DataError(
            f"{path} has no score of {int(lost.sum())} of the {lost.size} pairs in {listed.file}, "
            f"first of user {listed.user[first]} and item {listed.item[first]}. Users and items "
            "are numbers there; each target and candidate needs a score."
        )
    return score[row[place]]


def _read_scores(path: Path, named: dict[str, str]) -> tuple[NDArray[Any], ...]:
    """Return users and items, which the file of negatives has as numbers, and scores."""
    import numpy as np

    from podium.data.columns import ITEM, USER, resolve
    from podium.data.convert import as_integers, to_ids, to_scores
    from podium.data.tables import open_table
    from podium.sampled._tables import fetch
    from podium.sampled.reading.scores import SCORE

    roles = (USER, ITEM, SCORE)
    table = open_table(path, "candidates' scores", roles)
    found = resolve(table.names, roles, named, table.name)
    got = fetch(table, found, {"user": "id", "item": "id", "score": "number"})
    ids: list[NDArray[Any]] = []
    for role in ("user", "item"):
        column = to_ids(got[role], found[role], table)
        column = column if isinstance(column, np.ndarray) else as_integers(column)
        if not isinstance(column, np.ndarray):
            raise DataError(
                f"{path}: {found[role]} must hold the numbers that the file of negatives has, got "
                f"{column[0]!r}."
            )
        ids.append(column)
    return *ids, to_scores(table, found["score"], got["score"], ids[0])
