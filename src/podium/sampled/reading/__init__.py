"""Readers of sampled ranks and of scores, from tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from podium import _check
from podium.data.columns import is_usual
from podium.data.ids import label_array
from podium.data.tables import open_table
from podium.errors import ArgumentError, DataError, arg, warn
from podium.sampled.evaluating import Observations
from podium.sampled.ranks import SampledRanks, ScannedRanks
from podium.sampled.reading.columns import (
    HISTORY,
    N_NEGATIVES,
    OPTIONAL_USER,
    RANK,
    SCORE,
    STRATUM,
    read_columns,
)
from podium.sampled.reading.scores import ScoredRows, Tie, refuse_history
from podium.sampled.reading.seen import Seen, read_seen
from podium.sampled.shared import SharedRanks

Kind: TypeAlias = Literal["ranks", "scores", "strata"]

_ROLES = {
    "ranks": ("user", "rank", "history"),
    "scores": ("user", "item", "score", "target", "history"),
    "strata": ("user", "item", "score", "target", "stratum"),
}
_READ_AS = {"ranks": "ranks", "scores": "scores", "strata": "scores with strata"}
_CONTENT = {
    "ranks": "ranks, which show neither scores nor the items that were drawn",
    "strata": "scores with strata, which show how items were drawn and have one method",
}
_CONCLUSIVE_FIRST = 5.0  # if random ranks had as many of 1, their absence shows that samples grew


@dataclass(frozen=True)
class SampleReader:
    """A reader of ranks, or of scores that give ranks.

    Parameters
    ----------
    n_items : int
        The number of items of the whole catalogue, including the target (for ``shared=True``, all
        targets) and seen items.
    n_negatives : int, optional
        The number of sampled items beside the target. Ranks may have a column instead, with one
        number per target. Scores show it, and it is an error if another number is given.
    replacement : bool
        Whether an item could be drawn twice.
    seen : table of pairs, optional
        The items of each user that are not ranked, such as the training data; see `read_seen`.
    seen_candidates : {"error", "drop"}
        The treatment of candidates that their users had seen: raise an error, or drop them. Targets
        left without a candidate are dropped, which introduces no bias. Ranks do not support "drop",
        because they do not show which items were drawn.
    ties : {"worst", "best", "random"}, optional
        The order of equal scores; by default "worst". Strata support "worst" and "best". Only for
        scores.
    seed : int
        The seed of ties="random".
    columns : mapping, optional
        The names of columns that do not have their usual name, by "user", "item", "score",
        "target", "rank", "history" and "stratum". The names of users and items also apply to the
        table of seen items, if it has such columns.
    k : int, optional
        The largest cutoff of measures of scores with strata, at which targets are settled.
    shared : bool
        Whether the targets of a user share a sample, for measures of whole rankings.

    Raises
    ------
    ArgumentError
        If an option needs another one that is missing, or cannot be combined with another one.

    Notes
    -----
    The content of a table follows from its columns: a table with scores and without ranks has
    scores, and any other table has ranks. A table with both has scores if `columns` names that of
    scores, targets or strata.

    *Ranks* have the columns rank, from 1 to n_negatives + 1, and optionally user, n_negatives and
    history: the number of the user's own items that could be drawn.

    *Scores* have one row per user and item, in any order, with the columns user, item, score and
    target, which is above 0 for held-out items and 0 for candidates; and optionally history. All
    candidates of a user count for each of the user's targets. A candidate that was drawn twice has
    two rows with the same score.

    *Strata*: the column stratum is "listed" for items at the top of a proxy's list, all of which
    must be in the table, and "drawn" for items that were drawn uniformly without replacement from
    the other items. The stratum of a target shows whether the proxy lists it, and only serves for a
    warning. The user's other targets are ranked too, and count as listed items, unless `shared`.

    Examples
    --------
    >>> reader = SampleReader(n_items=50, n_negatives=9)
    >>> reader.read({"user": [1, 2], "rank": [3, 1]}).ranks.tolist()
    [3, 1]
    >>> scores = {"user": [1, 1, 1], "item": [5, 6, 7], "score": [0.2, 0.9, 0.1],
    ...           "target": [1, 0, 0]}
    >>> SampleReader(n_items=100).read(scores).ranks.tolist()
    [2]
    >>> SampleReader(n_items=100, k=1).read({**scores, "stratum": ["listed", "listed", "drawn"]})
    ScannedRanks(1 targets of 1 users, k=1, 2 items scored per target, 0.0% open)
    """

    n_items: int
    n_negatives: int | None = None
    replacement: bool = True
    seen: Any = None
    seen_candidates: Literal["error", "drop"] = "error"
    ties: Tie | None = None
    seed: int = 0
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    k: int | None = None
    shared: bool = False

    constraints: ClassVar[_check.Constraints] = {
        "seen_candidates": partial(_check.choice, options=("error", "drop")),
        **dict.fromkeys(("replacement", "shared"), _check.flag),
    }

    def __post_init__(self) -> None:
        vars(self).update(_check.parameters(self))
        if self.seen_candidates == "drop" and self.seen is None:
            raise ArgumentError(f"{arg.seen_candidates('drop')} needs {arg.seen()}.")
        if self.shared and "history" in self.columns:
            raise ArgumentError(
                f"{arg.shared(True)} cannot be combined with {arg['columns', 'history']}. Targets "
                "that share a sample have no history. Leave one out."
            )

    def read(self, source: Any) -> Observations:
        """Read one table: a path, frame, mapping or tuple of arrays; see `podium.data`.

        Returns
        -------
        SampledRanks, ScannedRanks for strata, or SharedRanks with ``shared=True``
            One row per target, in the order of the table.

        Raises
        ------
        ArgumentError
            If an option has no effect on a table of this kind.
        DataError
            If the file is missing or broken, if a column is missing, or if a value is not finite.
            If the size of a sample is not n_negatives. If a user has a target in two rows, an item
            with two scores, no target or no candidate. If there are more items than n_items, or if
            a candidate or a target is a seen item.

        Warns
        -----
        PodiumWarning
            If an item was drawn far more often than in a uniform sample. If no target ranks first
            in the smaller ones of samples that differ in size. If nearly all targets are listed,
            but many are not in the same number of first items by their scores: the proxy was
            probably trained on them.
        """
        table: Any = open_table(source, "table", ()) if _has_names(source) else source
        kind = self._kind(table)
        self._refuse_options(kind, source)
        try:
            if kind == "ranks":
                return self._from_ranks(table)
            return self._from_scores(table, in_strata=kind == "strata")
        except DataError:
            raise
        except ArgumentError as error:  # of numbers in the table, whose name it lacks
            raise type(error)(f"{_name(source)}: {error.message.text}") from error

    def _kind(self, table: Any) -> Kind:
        """Return the kind of a table, by its columns."""
        names: Sequence[str] = table.names if _has_names(table) else ()
        has_rank, has_score, has_stratum = (
            any(is_usual(name, role) for name in names) for role in (RANK, SCORE, STRATUM)
        )
        named = {role for role, name in self.columns.items() if name in names}
        has_scores = bool(named & {"score", "target", "stratum"}) or (has_score and not has_rank)
        is_scored = has_scores and "rank" not in self.columns
        has_strata = has_stratum or "stratum" in self.columns
        if not is_scored:
            return "ranks"
        return "strata" if has_strata else "scores"

    def _refuse_options(self, kind: Kind, source: Any) -> None:
        """Raise for options that have no effect on this kind of table."""
        for name, is_given, kinds in (
            ("ties", self.ties is not None, ("ranks",)),
            ("seen_candidates", self.seen_candidates == "drop", ("ranks", "strata")),
            ("n_negatives", self.n_negatives is not None, ("strata",)),
            ("replacement", not self.replacement, ("strata",)),
        ):
            if is_given and kind in kinds:
                raise ArgumentError(f"{arg[name]} has no effect on {_CONTENT[kind]}. Leave it out.")
        is_ranks = kind == "ranks"
        has_items = is_ranks and self.seen is not None
        for role in self.columns:
            if role not in _ROLES[kind] and not (has_items and role == "item"):
                raise ArgumentError(
                    f"{arg['columns', role]} has no effect on {_READ_AS[kind]}, of which only "
                    f"{', '.join(_ROLES[kind])} are read. Leave it out."
                )
        column = self.columns.get("item")
        if is_ranks and column is not None and _has_names(self.seen):
            names = open_table(self.seen, "pairs", ()).names
            if column not in names:
                raise DataError(
                    f"{_name(self.seen)} has no column {column!r} ({arg['columns', 'item']}). It "
                    f"has: {', '.join(names)}."
                )

    def _columns(self, kind: Kind) -> dict[str, str]:
        return {role: name for role, name in self.columns.items() if role in _ROLES[kind]}

    @cached_property
    def seen_items(self) -> Seen | None:
        """The items of `seen`, read once."""
        if self.seen is None or not _has_names(self.seen):
            return None if self.seen is None else read_seen(self.seen)
        table = open_table(self.seen, "seen items", ())
        renamed = {role: self.columns.get(role) for role in ("user", "item")}
        return read_seen(table, columns={r: n for r, n in renamed.items() if n in table.names})

    def _from_ranks(self, table: Any) -> SampledRanks | SharedRanks:
        roles, columns = (OPTIONAL_USER, RANK, N_NEGATIVES, HISTORY), self._columns("ranks")
        read = read_columns(table, "ranks", roles, columns)
        name, n_items = read.table.name, self.n_items
        user = read.ids("user") if "user" in read else None
        if (self.n_negatives is None) == ("n_negatives" not in read):
            raise ArgumentError(
                f"{arg.n_negatives} must be given once, as a number or as a column of the ranks, "
                f"got {'neither' if self.n_negatives is None else 'both'}."
            )
        has_history = "history" in read
        if self.seen_items is not None:
            if user is None:
                raise ArgumentError(f"{arg.seen()} needs users, but {name} has no column of users.")
            refuse_history(columns, name, is_read=has_history)
            n_items, has_history = self.seen_items.sizes(user, self.n_items, name), False
        ranks = SampledRanks(
            read.numbers("rank", user),
            read.numbers("n_negatives", user) if self.n_negatives is None else self.n_negatives,
            n_items,
            replacement=self.replacement,
            user=None if user is None else label_array(user),
            history=read.numbers("history", user) if has_history else None,
        )
        _warn_of_growth(ranks, name)
        return SharedRanks(ranks) if self.shared else ranks

    def _from_scores(self, table: Any, *, in_strata: bool) -> Observations:
        kind, ties = "strata" if in_strata else "scores", self.ties or "worst"
        rows = ScoredRows.read(table, self, self._columns(kind), in_strata=in_strata)
        if in_strata:
            counts = rows.counts(ties, keeps_targets=True)
            rows.warn_of_bad_strata(counts)
            k = _check.cutoff(1 if self.shared else self.k)
            if self.shared:
                counts = rows.counts(ties, keeps_targets=False)
            ranks = ScannedRanks(*counts, rows.n_items, k=k, user=rows.user, item=rows.target)
            return SharedRanks(ranks) if self.shared else ranks
        rows.warn_of_popular_draws()
        ranks = rows.ranks(self)
        _warn_of_growth(ranks, rows.name)
        return SharedRanks(ranks) if self.shared else ranks


def read(source: Any, **options: Any) -> Any:
    """Read one table of ranks, or of scores that give ranks.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        The table; see `podium.data`.
    **options
        The parameters of `SampleReader`.

    Returns
    -------
    SampledRanks, ScannedRanks for strata, or SharedRanks with ``shared=True``

    Raises
    ------
    ArgumentError, DataError
        For a reason listed in `SampleReader` or `SampleReader.read`.

    Examples
    --------
    >>> read({"rank": [3, 1]}, n_items=50, n_negatives=9)
    SampledRanks(2 ranks of 2 users, n_negatives=9, n_items=50, replacement=True)
    """
    return SampleReader(**options).read(source)


def _warn_of_growth(ranks: SampledRanks, name: str) -> None:
    """Warn if samples seem to have grown while their target ranked first."""
    largest = np.max(ranks.n_negatives)
    is_smaller = ranks.n_negatives < largest
    expected = np.sum(is_smaller / (ranks.n_negatives + 1))  # of targets in random places
    if expected > _CONCLUSIVE_FIRST and not (is_smaller & (ranks.ranks == 1)).any():
        warn(
            f"{name}: no target ranks first in a sample of fewer than {largest} items. If samples "
            "grew while their target ranked first, estimates are wrong, because the size of a "
            "sample must not depend on the rank."
        )


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else "the table"


def _has_names(source: Any) -> bool:
    """Return whether columns have names; those of a tuple are in the order of the roles."""
    return not isinstance(source, tuple | Seen)
