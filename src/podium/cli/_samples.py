"""Sampled ranks of a file, by the options that say how items were sampled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from podium.sampled import SampledRanks

_COLUMNS = "Columns that don't have their usual name"
_SAMPLES = "How items were sampled"


@dataclass(frozen=True)
class Samples:
    """How the items were drawn that each target was ranked among."""

    items: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Items that were drawn from, the target among them: the whole catalogue.",
            rich_help_panel=_SAMPLES,
        ),
    ]
    negatives: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Items drawn beside the target; or a column n_negatives of RANKS. "
            "Scores are counted.",
            rich_help_panel=_SAMPLES,
        ),
    ] = None
    no_replacement: Annotated[
        bool,
        typer.Option("--no-replacement", help="No item was drawn twice.", rich_help_panel=_SAMPLES),
    ] = False
    mixed: Annotated[
        bool,
        typer.Option(
            "--mixed",
            help="Users have samples of different sizes, and were meant to.",
            rich_help_panel=_SAMPLES,
        ),
    ] = False
    stages: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Sizes of samples that grew while the target came first, as 100,200,400; "
            "RANKS then has n_negatives.",
            rich_help_panel=_SAMPLES,
        ),
    ] = None


@dataclass(frozen=True)
class SampleColumns:
    """Names of columns, where they are not the usual ones."""

    user_col: Annotated[
        str | None,
        typer.Option(
            help="Else user, user_id, qid, query_id or q_id; ranks need none.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None
    item_col: Annotated[
        str | None,
        typer.Option(
            help="In scores; else item, item_id or doc_id.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None
    score_col: Annotated[
        str | None,
        typer.Option(
            help="In scores; else score or prediction.", metavar="NAME", rich_help_panel=_COLUMNS
        ),
    ] = None
    target_col: Annotated[
        str | None,
        typer.Option(
            help="In scores, above 0 for held-out items; else target, is_target, relevance or "
            "label.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None
    rank_col: Annotated[
        str | None,
        typer.Option(
            help="In ranks, best is 1; else rank or sampled_rank.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None

    def of(self, *roles: str) -> dict[str, str]:
        """Return the names that were given for these roles, and refuse those of others."""
        from podium.errors import ArgumentError

        given = {name.removesuffix("_col"): value for name, value in vars(self).items() if value}
        for role in given.keys() - set(roles):
            raise ArgumentError(
                f"--{role}-col names a column of {'ranks' if role == 'rank' else 'scores'}, "
                "and the file is read as the other. See --scores."
            )
        return given


def read(
    path: Path,
    samples: Samples,
    columns: SampleColumns,
    *,
    scores: bool,
    ties: str | None,
    seed: int,
) -> SampledRanks:
    """Read ranks, or scores where that is what the file has."""
    from podium.errors import ArgumentError

    if scores or (columns.rank_col is None and _has_scores_only(path)):
        return _ranked(path, samples, columns, ties or "worst", seed)
    if ties is not None:
        raise ArgumentError(f"--ties is for scores, and {path} has ranks.")
    return _ranks(path, samples, columns)


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
    from podium.errors import DataError

    found = sampled.read_ranks(
        path,
        n_items=samples.items,
        n_negatives=samples.negatives,
        replacement=not samples.no_replacement,
        stages=_stages(samples.stages),
        columns=columns.of("user", "rank"),
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
    from podium.errors import ArgumentError, DataError

    if samples.stages is not None:
        raise ArgumentError("--stages is for ranks: scores don't tell when a sample grew.")
    found = sampled.read_candidate_scores(
        path,
        n_items=samples.items,
        replacement=not samples.no_replacement,
        ties=ties,
        mixed=samples.mixed,
        seed=seed,
        columns=columns.of("user", "item", "score", "target"),
    )
    if samples.negatives is not None and np.any(found.n_negatives != samples.negatives):
        raise DataError(
            f"{path}: users have {np.min(found.n_negatives)} candidates, --negatives says "
            f"{samples.negatives}. Leave it out, or check that no rows were lost."
        )
    return found


def _stages(text: str | None) -> list[int] | None:
    from podium.errors import ArgumentError

    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ArgumentError(f"--stages must be numbers with commas, as 100,200,400, got {text!r}.")
    return [int(word) for word in words]
