"""Sampled ranks from tables of ranks or scores whose samples were drawn in the same way."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from podium.data.columns import is_usual
from podium.data.tables import open_table
from podium.errors import ArgumentError, DataError, arg
from podium.sampled.candidates import Candidates
from podium.sampled.ranks import SampledRanks
from podium.sampled.reading.columns import RANK, SCORE
from podium.sampled.reading.negatives import (
    CandidatePairs,
    OnOwnTarget,
    read_negatives,
    read_pair_scores,
)
from podium.sampled.reading.ranks import Tie, read_candidate_scores, read_ranks
from podium.sampled.reading.seen import OnSeen, Seen, read_seen
from podium.sampled.reading.seen import without_seen as without_seen

_ROLES = {
    "ranks": ("user", "rank", "history"),
    "scores": ("user", "item", "score", "target", "history"),
    "negatives": ("user", "item", "score"),
}
_NOT_READ = {
    "ranks": f"the file is read as ranks: see {arg.kind()}",
    "scores": "the file is read as scores",
    "negatives": f"with {arg.negatives()} only user, item and score are read",
}
_TABLES_WITH = {
    "target": "scores with targets",
    "rank": "ranks",
    "history": "ranks or of scores with targets",
}


@dataclass(frozen=True)
class SampleReader:
    """A reader of tables of models that were evaluated on samples drawn in the same way.

    Parameters
    ----------
    n_items : int
        The number of items that the samples were drawn from, including the target.
    n_negatives : int, optional
        The number of items drawn beside the target. Ranks need it unless they have a column
        n_negatives. For scores and `negatives` it is only checked.
    replacement : bool
        Whether an item could be drawn twice.
    stages : sequence of int, optional
        The sizes of samples that grow, as in `SampledRanks`; only for ranks.
    mixed : bool
        Whether samples can have different sizes. By default, different sizes are an error.
    negatives : path, optional
        A file of each target's candidates, in the format of `read_negatives`. Tables then have
        scores of users and items, and need no targets.
    own_target, seen, seen_candidates
        The options of `read_negatives`. Ranks do not support seen_candidates="drop", because they
        do not show which items were drawn.
    kind : {"ranks", "scores"}, optional
        The content of tables. By default a table with scores and without ranks is read as scores,
        and any other table as ranks. A table is also read as scores if it has the column that
        `columns` names for scores or targets.
    ties : {"worst", "best", "average", "random"}, optional
        The order of equal scores, as in `read_candidate_scores`; by default "worst". Only for
        scores.
    seed : int
        The seed of ties="random".
    columns : mapping, optional
        The names of columns that do not have their usual name, by "user", "item", "score",
        "target", "rank" and "history". The names of users and items also apply to the table of seen
        items, if it has such columns.

    Raises
    ------
    ArgumentError
        If an option needs another one that is missing.

    Examples
    --------
    >>> reader = SampleReader(n_items=50, n_negatives=9)
    >>> reader.read({"user": [1, 2], "rank": [3, 1]}).ranks.tolist()
    [3, 1]
    """

    n_items: int
    n_negatives: int | None = None
    replacement: bool = True
    stages: Sequence[int] | None = None
    mixed: bool = False
    negatives: str | Path | None = None
    own_target: OnOwnTarget = "error"
    seen: Any = None
    seen_candidates: OnSeen = "error"
    kind: Literal["ranks", "scores"] | None = None
    ties: Tie | None = None
    seed: int = 0
    columns: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.seen_candidates == "drop" and self.seen is None:
            raise ArgumentError(f"{arg.seen_candidates('drop')} needs {arg.seen()}.")
        if self.own_target == "drop" and self.negatives is None:
            raise ArgumentError(f"{arg.own_target('drop')} needs {arg.negatives()}.")

    def read(self, source: Any) -> SampledRanks:
        """Read one table: a path, frame, mapping or tuple of arrays; see `podium.data`.

        Returns
        -------
        SampledRanks

        Raises
        ------
        ArgumentError
            If an option has no effect on a table of this kind.
        DataError
            If samples differ in size without `mixed`, if their size is not n_negatives, or for a
            reason listed in `read_ranks`, `read_candidate_scores`, `read_negatives` or
            `read_pair_scores`.
        """
        kind = self._kind(source)
        self._refuse_options(kind, source)
        with self._with_table_name(source):
            return {
                "ranks": self._from_ranks,
                "scores": self._from_scores,
                "negatives": self._from_negatives,
            }[kind](source)

    @cached_property
    def candidates(self) -> Candidates:
        """The candidates listed in `negatives`, without seen items."""
        if self.negatives is None:
            raise ArgumentError(
                f"{arg.candidates} needs {arg.negatives()}, which is missing. Pass the file of "
                "candidates."
            )
        self._refuse_options("negatives", self.negatives)
        return read_negatives(
            self.negatives,
            n_items=self.n_items,
            n_negatives=self.n_negatives,
            replacement=self.replacement,
            mixed=self.mixed,
            own_target=self.own_target,
            seen=self._seen,
            seen_candidates=self.seen_candidates,
        )

    @cached_property
    def pairs(self) -> CandidatePairs:
        """The pairs of users and items of `negatives`, whose scores rank its targets."""
        return CandidatePairs.of(self.candidates, str(self.negatives))

    def rank(self, pairs: CandidatePairs, scores: Any) -> SampledRanks:
        """Rank the targets of pairs by one score per pair."""
        return pairs.ranks(scores, ties=self.ties or "worst", seed=self.seed)

    def _kind(self, source: Any) -> Literal["ranks", "scores", "negatives"]:
        if self.negatives is not None:
            return "negatives"
        if self.kind is not None or "rank" in self.columns or not _has_names(source):
            return self.kind or "ranks"
        names = open_table(source, "ranks", ()).names
        has_rank, has_score = (any(is_usual(n, role) for n in names) for role in (RANK, SCORE))
        is_named = any(self.columns.get(role) in names for role in ("score", "target"))
        return "scores" if is_named or (has_score and not has_rank) else "ranks"

    def _refuse_options(self, kind: str, source: Any) -> None:
        """Raise if an option has no effect on a table of this kind."""
        if kind != "ranks" and self.stages is not None:
            raise ArgumentError(
                f"{arg.stages} is only for ranks. Scores do not show when a sample grew."
            )
        if kind == "ranks" and self.ties is not None:
            raise ArgumentError(
                f"{arg.ties()} is only for scores, but {_name(source)} has ranks. Leave it out."
            )
        if kind == "ranks" and self.seen_candidates == "drop":
            raise ArgumentError(
                f"{arg.seen_candidates('drop')} is only for candidates, but {_name(source)} has "
                "ranks, which do not show the items that were drawn. Leave it out."
            )
        has_items = kind == "ranks" and self.seen is not None
        for role in self.columns:
            if role not in _ROLES[kind] and not (has_items and role == "item"):
                raise ArgumentError(
                    f"{arg['columns', role]} names a column of {_TABLES_WITH.get(role, 'scores')}, "
                    f"but {_NOT_READ[kind]}. Leave it out."
                )
        if kind == "ranks" and "item" in self.columns:
            self._require_seen(self.columns["item"])

    def _require_seen(self, column: str) -> None:
        """Raise if the table of seen items, which alone uses this name, has no such column."""
        if _has_names(self.seen):
            names = open_table(self.seen, "pairs", ()).names
            if column not in names:
                raise DataError(
                    f"{_name(self.seen)} has no column {column!r} ({arg['columns', 'item']}). It "
                    f"has: {', '.join(names)}."
                )

    def _columns(self, kind: str) -> dict[str, str]:
        return {role: name for role, name in self.columns.items() if role in _ROLES[kind]}

    @cached_property
    def _seen(self) -> Seen | None:
        """The table of seen items, read with those names in `columns` that it has."""
        if self.seen is None or isinstance(self.seen, Seen):
            return self.seen
        seen_columns: dict[str, str] = {}
        if _has_names(self.seen):
            names = open_table(self.seen, "pairs", ()).names
            renamed = {role: self.columns.get(role) for role in ("user", "item")}
            seen_columns = {role: name for role, name in renamed.items() if name in names}
        return read_seen(self.seen, columns=seen_columns)

    def _from_ranks(self, source: Any) -> SampledRanks:
        ranks = read_ranks(
            source,
            n_items=self.n_items,
            n_negatives=self.n_negatives,
            replacement=self.replacement,
            stages=self.stages,
            columns=self._columns("ranks"),
            seen=self._seen,
        )
        if np.ndim(ranks.n_negatives) and not (self.mixed or self.stages):
            raise DataError(
                f"{_name(source)}: samples have different sizes, from {np.min(ranks.n_negatives)} "
                f"to {np.max(ranks.n_negatives)} items beside the target. Pass {arg.mixed(True)} "
                f"if they were drawn with different sizes, or {arg.stages()} if they grew."
            )
        return ranks

    def _from_scores(self, source: Any) -> SampledRanks:
        ranks = read_candidate_scores(
            source,
            n_items=self.n_items,
            replacement=self.replacement,
            ties=self.ties or "worst",
            mixed=self.mixed,
            seed=self.seed,
            columns=self._columns("scores"),
            seen=self._seen,
            seen_candidates=self.seen_candidates,
        )
        if self.n_negatives is not None and np.any(ranks.n_negatives != self.n_negatives):
            raise DataError(
                f"{_name(source)}: users have {np.min(ranks.n_negatives)} candidates, but "
                f"{arg.n_negatives} is {self.n_negatives}. Leave it out, or check that no rows "
                "were lost."
            )
        return ranks

    def _from_negatives(self, source: Any) -> SampledRanks:
        scores = read_pair_scores(source, self.pairs, columns=self._columns("negatives"))
        return self.rank(self.pairs, scores)

    @contextmanager
    def _with_table_name(self, source: Any) -> Generator[None]:
        """Add the name of the table to errors on its content, except those that name a table."""
        try:
            yield
        except DataError:
            raise
        except ArgumentError as error:
            raise type(error)(f"{_name(source)}: {error.message.text}") from error


def read(source: Any, **options: Any) -> SampledRanks:
    """Read sampled ranks from a table of ranks, or of scores of targets and candidates.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        The table; see `podium.data`.
    **options
        The parameters of `SampleReader`, which reads several tables with the same options.

    Returns
    -------
    SampledRanks

    Examples
    --------
    >>> read({"user": [1, 2], "rank": [3, 1]}, n_items=50, n_negatives=9).ranks.tolist()
    [3, 1]
    """
    return SampleReader(**options).read(source)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | Path)


def _name(source: Any) -> str:
    return str(source) if _is_path(source) else "the table"


def _has_names(source: Any) -> bool:
    """Return whether columns have names; those of a tuple are in the order of the roles."""
    return not isinstance(source, tuple | Seen)
