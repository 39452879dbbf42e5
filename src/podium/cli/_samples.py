"""Options of estimate and plan that describe samples and columns; and reading their files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import typer

from podium.cli import _messages
from podium.cli._options import ColumnNames
from podium.errors import ArgumentError, PodiumWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.sampled import CandidatePairs, SampledRanks, SampleReader


@dataclass(frozen=True)
class Samples:
    """Options that describe how the items were sampled that each target was ranked among."""

    panel: ClassVar[str] = "How items were sampled"

    items: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Items that were drawn from, the target among them: the whole catalogue.",
        ),
    ]
    negatives: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Items drawn beside the target; or a column n_negatives of RANKS. "
            "Scores are counted.",
        ),
    ] = None
    no_replacement: Annotated[
        bool, typer.Option("--no-replacement", help="No item was drawn twice.")
    ] = False
    mixed: Annotated[
        bool,
        typer.Option("--mixed", help="Users have samples of different sizes, and were meant to."),
    ] = False
    negatives_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Each target's items, as neural collaborative filtering's files have them: "
            "(user,item), and numbers with tabs between them. SCORES then needs no target, or is "
            "a MODEL of podium factorize.",
        ),
    ] = None
    drop_own: Annotated[
        bool,
        typer.Option(
            "--drop-own",
            help="Drop a candidate that is its line's own target; an error without this.",
        ),
    ] = False
    seen: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS",
            help="Users' items that were never drawn for them (user, item): a user's catalogue "
            "has as many items fewer than N. Candidates among them are an error.",
        ),
    ] = None
    drop_seen: Annotated[
        bool,
        typer.Option(
            "--drop-seen",
            help="Drop candidates that are in --seen: what is left is a sample of the others.",
        ),
    ] = False
    stages: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Sizes of samples that grew while the target came first, as 100,200,400; "
            "RANKS then has n_negatives.",
        ),
    ] = None


@dataclass(frozen=True)
class SampleColumns(ColumnNames):
    """The names of columns that differ from the default names."""

    user_col: Annotated[
        str | None,
        typer.Option(
            help="Else user, user_id, qid, query_id or q_id; ranks need none.", metavar="NAME"
        ),
    ] = None
    item_col: Annotated[
        str | None, typer.Option(help="In scores; else item, item_id or doc_id.", metavar="NAME")
    ] = None
    score_col: Annotated[
        str | None, typer.Option(help="In scores; else score or prediction.", metavar="NAME")
    ] = None
    target_col: Annotated[
        str | None,
        typer.Option(
            help="In scores, above 0 for held-out items; else target, is_target, relevance or "
            "label.",
            metavar="NAME",
        ),
    ] = None
    rank_col: Annotated[
        str | None,
        typer.Option(help="In ranks, best is 1; else rank or sampled_rank.", metavar="NAME"),
    ] = None
    history_col: Annotated[
        str | None,
        typer.Option(
            help="How many items the user has had before, where they could be drawn too: read by "
            "smooth (auto); else history, n_history or n_train.",
            metavar="NAME",
        ),
    ] = None


def reader(
    samples: Samples,
    columns: SampleColumns,
    *,
    scores: bool = False,
    ties: str | None = None,
    seed: int = 0,
) -> SampleReader:
    """Return a reader of files with these options."""
    from podium import sampled

    return sampled.SampleReader(
        n_items=samples.items,
        n_negatives=samples.negatives,
        replacement=not samples.no_replacement,
        stages=_stages(samples.stages),
        mixed=samples.mixed,
        negatives=samples.negatives_file,
        own_target="drop" if samples.drop_own else "error",
        seen=samples.seen,
        seen_candidates="drop" if samples.drop_seen else "error",
        kind="scores" if scores else None,
        ties=cast("Any", ties),
        seed=seed,
        columns=columns.given(),
    )


def read_all(paths: Sequence[Path], reader: SampleReader) -> list[SampledRanks]:
    """Read files of ranks or scores; models rank the candidates of --negatives-file."""
    if reader.negatives is not None and reader.candidates.lacks_repeats:
        _messages.say(
            f"{reader.negatives}: no line has an item twice; pass --no-replacement if none could."
        )
    return [_read(path, reader) for path in paths]


def _read(path: Path, reader: SampleReader) -> SampledRanks:
    from podium._arrays import holds_arrays

    if not holds_arrays(path):
        return reader.read(path)
    if reader.negatives is None:
        raise ArgumentError(
            f"{path} is a model, which needs --negatives-file. To rank all items with it: "
            "podium recommend, then podium measure."
        )
    return reader.rank(*_of_model(path, reader.pairs, reader.n_items))


def _stages(text: str | None) -> list[int] | None:
    return None if text is None else read_numbers(text, "--stages", "100,200,400")


def read_numbers(text: str, option: str, example: str) -> list[int]:
    """Return comma-separated numbers."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ArgumentError(f"{option} must be numbers with commas, as {example}, got {text!r}.")
    return [int(word) for word in words]


def _of_model(
    path: Path, listed: CandidatePairs, n_items: int
) -> tuple[CandidatePairs, NDArray[Any]]:
    """Score the candidates of the users that a model has, and print what it does not have.

    `n_items` is the size of the catalogue that the candidates were drawn from.
    """
    from podium.recommenders import Factorization, score_candidates

    model, file = Factorization.load(path), listed.file
    pairs = (listed.user, listed.item, listed.target)
    scored = score_candidates(model, *pairs, model_name=str(path), source=str(file))
    (n_users, n_known), (n_listed, n_scored) = (
        scored.n_users,
        scored.n_items,
    )
    if n_known < n_users:
        _messages.say(
            f"{file}: {n_users - n_known} of {n_users} users left out, whom {path} does not know."
        )
    if n_scored < n_listed:
        _messages.say(
            f"{file}: {path} does not know {n_listed - n_scored} of {n_listed} items; they rank "
            "below those it knows."
        )
    if model.n_items_ > n_items:
        warnings.warn(
            f"{path} knows {model.n_items_} items, and --items says that candidates were drawn "
            f"from {n_items}: it may be another catalogue's.",
            PodiumWarning,
            stacklevel=2,
        )
    rows = listed.keep(scored.rows)
    if scored.n_learned:
        _messages.say(
            f"{path} has learned from {scored.n_learned} of the {int(rows.target.sum())} targets: "
            "they are not held out, and its measures come out too high."
        )
    return rows, scored.scores
