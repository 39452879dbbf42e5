"""The options of podium estimate that say how items were sampled, and what columns are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

_COLUMNS = "Columns that don't have their usual name"
_SAMPLES = "How items were sampled"
_HAVE = {
    "target": "scores with targets",
    "rank": "ranks",
    "history": "ranks or of scores with targets",
}


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
    negatives_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Each target's items, as neural collaborative filtering's files have them: "
            "(user,item), and numbers with tabs between them. SCORES then needs no target, or is "
            "a MODEL of podium factorize.",
            rich_help_panel=_SAMPLES,
        ),
    ] = None
    drop_own: Annotated[
        bool,
        typer.Option(
            "--drop-own",
            help="Drop a candidate that is its line's own target; an error without this.",
            rich_help_panel=_SAMPLES,
        ),
    ] = False
    seen: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS",
            help="Users' items that were never drawn for them (user, item): a user's catalogue "
            "has as many items fewer than N. Candidates among them are an error.",
            rich_help_panel=_SAMPLES,
        ),
    ] = None
    drop_seen: Annotated[
        bool,
        typer.Option(
            "--drop-seen",
            help="Drop candidates that are in --seen: what is left is a sample of the others.",
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
    history_col: Annotated[
        str | None,
        typer.Option(
            help="How many items the user has had before, where they could be drawn too: read by "
            "smooth (auto); else history, n_history or n_train.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None

    def of(self, *roles: str, why: str, also: tuple[str, ...] = ()) -> dict[str, str]:
        """Return the names that were given for these roles, and refuse those of others.

        `why` tells how the file is read, so that it has none; roles in `also` are another table's.
        """
        from podium.errors import ArgumentError

        given = {name.removesuffix("_col"): value for name, value in vars(self).items() if value}
        for role in given.keys() - {*roles, *also}:
            raise ArgumentError(
                f"--{role}-col names a column of {_HAVE.get(role, 'scores')}, and {why}."
            )
        return {role: name for role, name in given.items() if role in roles}
