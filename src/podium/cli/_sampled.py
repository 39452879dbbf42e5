"""Sampled ranks of files: of ranks, of scores, or of candidates that another file lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from podium.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.cli._negatives import Listed
    from podium.cli._samples import SampleColumns, Samples
    from podium.sampled import SampledRanks, Seen

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
        if samples.drop_seen and samples.seen is None:
            raise ArgumentError("--drop-seen needs --seen.")
        try:
            return self._read(path)
        except ArgumentError as error:
            named = [str(file) for file in (path, samples.negatives_file, samples.seen) if file]
            if str(error).startswith(("--", *named)) or str(path) in str(error):
                raise
            raise type(error)(f"{path}: {error}") from error

    def _read(self, path: Path) -> SampledRanks:
        from podium.cli._model_scores import is_model

        samples, columns = self.samples, self.columns
        if samples.negatives_file is not None:
            return self._ranked_among(path)
        if samples.drop_own:
            raise ArgumentError("--drop-own needs --negatives-file.")
        if is_model(path):
            raise ArgumentError(
                f"{path} is a model, which needs --negatives-file. To rank all items with it: "
                "podium recommend, then podium measure."
            )
        if self.scores or (columns.rank_col is None and _has_scores_only(path)):
            return self._scored(path)
        if self.ties is not None:
            raise ArgumentError(f"--ties is for scores, and {path} has ranks.")
        return self._ranks(path)

    @cached_property
    def _listed(self) -> Listed:
        from podium.cli import _negatives

        samples = self.samples
        return _negatives.read_listed(
            cast("Path", samples.negatives_file),  # asked for where there is one
            samples.items,
            replacement=not samples.no_replacement,
            drop_own=samples.drop_own,
            check=partial(_check_sizes, samples),
            **self._seen,
        )

    def _ranked_among(self, path: Path) -> SampledRanks:
        """Rank the targets of --negatives-file by the scores of a table or a model."""
        from podium.cli import _model_scores, _negatives

        samples = self.samples
        if samples.stages is not None:
            raise ArgumentError("--stages is for ranks: --negatives-file has samples of one size.")
        why = "targets are those of --negatives-file: only user, item and score are read"
        named, listed = self.columns.of("user", "item", "score", why=why), self._listed
        if _model_scores.is_model(path):
            listed, scores = _model_scores.of_model(path, listed, samples.items)
        else:
            scores = _negatives.of_table(path, listed, named)
        options: dict[str, Any] = {"ties": self.ties or "worst", "seed": self.seed}
        options["replacement"] = not samples.no_replacement
        return listed.ranks(scores, samples.items, **options)

    def _ranks(self, path: Path) -> SampledRanks:
        """Read ranks; sizes that differ have to be said to be such."""
        import numpy as np

        from podium import sampled

        samples, columns = self.samples, self.columns
        if samples.drop_seen:
            raise ArgumentError(
                f"--drop-seen is for candidates, and {path} has ranks: they don't show which items "
                "were drawn."
            )
        if samples.seen is not None and columns.item_col is not None:
            _require(samples.seen, columns.item_col, "--item-col")
        found = sampled.read_ranks(
            path,
            n_items=samples.items,
            n_negatives=samples.negatives,
            replacement=not samples.no_replacement,
            stages=_stages(samples.stages),
            columns=columns.of("user", "rank", "history", why=_AS_RANKS, also=_of_seen(samples)),
            seen=self._seen["seen"],
        )
        if np.ndim(found.n_negatives) and not (samples.mixed or samples.stages):
            raise DataError(
                f"{path}: samples have different sizes, from {np.min(found.n_negatives)} to "
                f"{np.max(found.n_negatives)} items beside the target. Pass --mixed if they were "
                "drawn so, or --stages if they grew."
            )
        return found

    def _scored(self, path: Path) -> SampledRanks:
        """Rank targets by scores; the number of candidates must be the given one, if any."""
        import numpy as np

        from podium import sampled

        samples = self.samples
        if samples.stages is not None:
            raise ArgumentError("--stages is for ranks: scores don't show when a sample grew.")
        found = sampled.read_candidate_scores(
            path,
            n_items=samples.items,
            replacement=not samples.no_replacement,
            ties=cast("Any", self.ties or "worst"),
            mixed=samples.mixed,
            seed=self.seed,
            columns=self.columns.of("user", "item", "score", "target", "history", why=_AS_SCORES),
            **self._seen,
        )
        if samples.negatives is not None and np.any(found.n_negatives != samples.negatives):
            raise DataError(
                f"{path}: users have {np.min(found.n_negatives)} candidates, --negatives says "
                f"{samples.negatives}. Leave it out, or check that no rows were lost."
            )
        return found

    @cached_property
    def _seen(self) -> dict[str, Any]:
        """Return what the library takes of --seen and --drop-seen."""
        samples = self.samples
        found = None if samples.seen is None else _read_seen(samples.seen, self.columns)
        return {"seen": found, "seen_candidates": "drop" if samples.drop_seen else "error"}


def _has_scores_only(path: Path) -> bool:
    """Whether a table has no rank, but what may be a score."""
    from podium.data.tables import open_table
    from podium.sampled.reading.ranks import RANK
    from podium.sampled.reading.scores import SCORE

    names = [name.strip().lower() for name in open_table(path, "ranks", ()).names]
    return not any(n in RANK.usual for n in names) and any(n in SCORE.usual for n in names)


def _stages(text: str | None) -> list[int] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ArgumentError(f"--stages must be numbers with commas, as 100,200,400, got {text!r}.")
    return [int(word) for word in words]


def _check_sizes(samples: Samples, file: Path, sizes: NDArray[Any]) -> None:
    """Refuse lines of different lengths, or of another length than was said."""
    least, most = int(sizes.min()), int(sizes.max())
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


def _read_seen(path: Path, columns: SampleColumns) -> Seen:
    """Read pairs by the columns that were named, where they are those of this table."""
    from podium import sampled
    from podium.data.tables import open_table

    names = open_table(path, "pairs", ()).names
    given = {"user": columns.user_col, "item": columns.item_col}
    named = {role: name for role, name in given.items() if name and name in names}
    return sampled.read_seen(path, columns=named)
