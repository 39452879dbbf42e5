"""Sampled ranks of files: of ranks, of scores, or of candidates that another file lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from podium.cli import _messages
from podium.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.cli._negatives import Listed
    from podium.cli._samples import SampleColumns, Samples
    from podium.sampled import SampledRanks

_AS_RANKS = "the file is read as ranks: see --scores"
_AS_SCORES = "the file is read as scores"


def read(
    path: Path,
    samples: Samples,
    columns: SampleColumns,
    *,
    scores: bool,
    ties: str | None,
    seed: int,
) -> SampledRanks:
    """Read what a file has, ranks or scores; errors of it name the file."""
    return Reader(samples, columns, scores, ties, seed).read(path)


@dataclass(frozen=True)
class Reader:
    """Reads files by the same options; what several of them need, once.

    Attributes
    ----------
    samples : Samples
    columns : SampleColumns
    scores : bool
        Whether files have scores, whatever they look like.
    ties : str or None
        Only scores have any.
    seed : int
        Of random ties.
    """

    samples: Samples
    columns: SampleColumns
    scores: bool
    ties: str | None
    seed: int

    def read(self, path: Path) -> SampledRanks:
        """Read one file; errors of it name the file."""
        samples = self.samples
        try:
            found = self._read(path)
            return found if samples.seen is None else self._without_seen(found, path, samples.seen)
        except ArgumentError as error:
            named = [str(file) for file in (path, samples.negatives_file, samples.seen) if file]
            if str(error).startswith(("--", *named)) or str(path) in str(error):
                raise
            raise type(error)(f"{path}: {error}") from error

    def _read(self, path: Path) -> SampledRanks:
        from podium.cli._model_scores import is_model

        samples, columns = self.samples, self.columns
        if samples.negatives_file is not None:
            return self._ranked_among(path, samples.negatives_file)
        if samples.drop_own:
            raise ArgumentError("--drop-own needs --negatives-file.")
        if is_model(path):
            raise ArgumentError(
                f"{path} is a model, which needs --negatives-file. To rank all items with it: "
                "podium recommend, then podium measure."
            )
        if self.scores or (columns.rank_col is None and _has_scores_only(path)):
            return _ranked(path, samples, columns, self.ties or "worst", self.seed)
        if self.ties is not None:
            raise ArgumentError(f"--ties is for scores, and {path} has ranks.")
        return _ranks(path, samples, columns)

    @cached_property
    def _listed(self) -> Listed:
        from podium.cli import _negatives

        samples = self.samples
        return _negatives.read_listed(
            cast("Path", samples.negatives_file),  # asked for where there is one
            samples.items,
            replacement=not samples.no_replacement,
            drop_own=samples.drop_own,
        )

    def _ranked_among(self, path: Path, file: Path) -> SampledRanks:
        """Rank the targets of --negatives-file by the scores of a table or a model."""
        from podium.cli import _model_scores, _negatives

        samples = self.samples
        if samples.stages is not None:
            raise ArgumentError("--stages is for ranks: --negatives-file has samples of one size.")
        why = "targets are those of --negatives-file: only user, item and score are read"
        named, listed = self.columns.of("user", "item", "score", why=why), self._listed
        if _model_scores.is_model(path):
            listed, scores = _model_scores.of_model(path, listed)
        else:
            scores = _negatives.of_table(path, listed, named)
        options: dict[str, Any] = {"ties": self.ties or "worst", "seed": self.seed}
        options["replacement"] = not samples.no_replacement
        found = listed.ranks(scores, samples.items, **options)
        _check_sizes(found, samples, file)
        return found

    def _without_seen(self, found: SampledRanks, path: Path, seen: Path) -> SampledRanks:
        """Take the items that users had from their catalogues."""
        import numpy as np

        if found.user is None:
            raise ArgumentError(f"--seen needs to know users, and {path} has no column of them.")
        asked, (users, n_seen) = found.user, self._n_seen
        if asked.dtype.kind != users.dtype.kind:
            asked, users = asked.astype(str), users.astype(str)
        order = np.argsort(users)
        place = order[np.minimum(np.searchsorted(users, asked, sorter=order), users.size - 1)]
        there = users[place] == asked
        if not there.any():
            raise DataError(f"--seen {seen} has none of the users of {path}, such as {asked[0]}.")
        sizes = found.most_items - np.where(there, n_seen[place], 0)
        return replace(self._without_history(found, path), n_items=sizes)

    def _without_history(self, found: SampledRanks, path: Path) -> SampledRanks:
        """Leave out counts of items that are not in the catalogues any more."""
        if self.columns.history_col is not None:
            raise ArgumentError(
                "--history-col counts a user's own items among those that were drawn from, and "
                "--seen says that they were left out. Pass one of the two."
            )
        if found.history is not None:
            _messages.say(f"{path}: history is not read: --seen leaves a user's own items out.")
        return replace(found, history=None)

    @cached_property
    def _n_seen(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return _count_seen(cast("Path", self.samples.seen), self.columns)  # as above


def _has_scores_only(path: Path) -> bool:
    """Whether a table has no rank, but what may be a score."""
    from podium.data.tables import open_table
    from podium.sampled.reading import RANK
    from podium.sampled.scored import SCORE

    names = [name.strip().lower() for name in open_table(path, "ranks", ()).names]
    return not any(n in RANK.usual for n in names) and any(n in SCORE.usual for n in names)


def _ranks(path: Path, samples: Samples, columns: SampleColumns) -> SampledRanks:
    """Read ranks; sizes that differ have to be said to be such."""
    import numpy as np

    from podium import sampled

    if samples.seen is not None and columns.item_col is not None:
        _require(samples.seen, columns.item_col, "--item-col")
    found = sampled.read_ranks(
        path,
        n_items=samples.items,
        n_negatives=samples.negatives,
        replacement=not samples.no_replacement,
        stages=_stages(samples.stages),
        columns=columns.of("user", "rank", "history", why=_AS_RANKS, also=_of_seen(samples)),
    )
    if np.ndim(found.n_negatives) and not (samples.mixed or samples.stages):
        raise DataError(
            f"{path}: samples have different sizes, from {np.min(found.n_negatives)} to "
            f"{np.max(found.n_negatives)} items beside the target. Pass --mixed if they were drawn "
            "so, or --stages if they grew."
        )
    return found


def _ranked(
    path: Path, samples: Samples, columns: SampleColumns, ties: Any, seed: int
) -> SampledRanks:
    """Rank targets by scores; the number of candidates must be the one that was given, if any."""
    import numpy as np

    from podium import sampled

    if samples.stages is not None:
        raise ArgumentError("--stages is for ranks: scores don't tell when a sample grew.")
    found = sampled.read_candidate_scores(
        path,
        n_items=samples.items,
        replacement=not samples.no_replacement,
        ties=ties,
        mixed=samples.mixed,
        seed=seed,
        columns=columns.of("user", "item", "score", "target", "history", why=_AS_SCORES),
    )
    if samples.negatives is not None and np.any(found.n_negatives != samples.negatives):
        raise DataError(
            f"{path}: users have {np.min(found.n_negatives)} candidates, --negatives says "
            f"{samples.negatives}. Leave it out, or check that no rows were lost."
        )
    return found


def _stages(text: str | None) -> list[int] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ArgumentError(f"--stages must be numbers with commas, as 100,200,400, got {text!r}.")
    return [int(word) for word in words]


def _check_sizes(found: SampledRanks, samples: Samples, file: Path) -> None:
    """Refuse lines of different lengths, or of another length than was said."""
    import numpy as np

    least, most = int(np.min(found.n_negatives)), int(np.max(found.n_negatives))
    if least < most and not (samples.mixed or samples.drop_own):
        raise DataError(
            f"{file}: lines have from {least} to {most} candidates. Pass --mixed if they were "
            "drawn so."
        )
    if samples.negatives not in (None, most):
        raise DataError(
            f"{file}: lines have {most} candidates, --negatives says {samples.negatives}. Leave "
            "it out, or check that no candidates were lost."
        )


def _of_seen(samples: Samples) -> tuple[str, ...]:
    """Return the roles that only the table of --seen has."""
    return () if samples.seen is None else ("item",)


def _require(path: Path, column: str, option: str) -> None:
    """Refuse a name that the only table which could have it lacks."""
    from podium.data.tables import open_table

    names = open_table(path, "pairs", ()).names
    if column not in names:
        raise DataError(f"{path} has no column {column!r} ({option}). It has: {', '.join(names)}.")


def _count_seen(path: Path, columns: SampleColumns) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return users and how many different items each of them had."""
    import numpy as np

    from podium.data import _columns
    from podium.data._convert import to_ids
    from podium.data.ids import codes_of
    from podium.data.tables import open_table
    from podium.sampled.reading import fetch

    roles = (_columns.USER, _columns.ITEM)
    table = open_table(path, "pairs", roles)
    given = {"user": columns.user_col, "item": columns.item_col}
    given = {role: name for role, name in given.items() if name in table.names}
    named = _columns.resolve(table.names, roles, given, table.name)
    got = fetch(table, named, {"user": "id", "item": "id"})
    user, item = (codes_of(to_ids(got[role], named[role], table)) for role in ("user", "item"))
    pairs = np.unique(user[0] * item[1].size + item[0])
    return user[1], np.bincount(pairs // item[1].size, minlength=user[1].size)
