"""The options of podium train that say by which rows and among what parameters are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.cli._paths import WRITTEN

_VALIDATION, _SEARCH = "Validation", "Search"


@dataclass(frozen=True)
class Validation:
    """Which rows the iterate, and with --tune the parameters, are chosen by."""

    valid: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Rows that are never trained on.", rich_help_panel=_VALIDATION
        ),
    ] = None
    valid_share: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Or this share of DATA; the final model learns from all of it. With --tune, 0.2 "
            "unless told otherwise.",
            rich_help_panel=_VALIDATION,
        ),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="The share is of users, of each user's rows (both at random), the last by time, "
            "or the last of each user: users, rows, time or time-per-user.",
            rich_help_panel=_VALIDATION,
        ),
    ] = None
    time_col: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of times; no feature.", rich_help_panel=_VALIDATION
        ),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Or every user of DATA once, in N folds of users.",
            rich_help_panel=_VALIDATION,
        ),
    ] = None
    eval_metric: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="What these rows are measured by; without it pap@K, and ndcg@K for a loss that "
            "learns from grades.",
            rich_help_panel=_VALIDATION,
        ),
    ] = None

    @property
    def of_data(self) -> bool:
        """Whether rows of DATA itself are set aside."""
        return not (self.valid_share is None and self.split is None and self.folds is None)


@dataclass(frozen=True)
class Tuning:
    """Whether parameters are chosen, and how."""

    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Choose parameters by what is validated: the penalty, step lengths or leaves, "
            "and the k of the loss at 1, 3 and 10 times K (clipped).",
            rich_help_panel=_SEARCH,
        ),
    ] = False
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Instead, try these: l2=1e-4,1e-2 or loss=logistic,pap-ramp or, with --budget, "
            "l2='log(1e-6,1)'; may be repeated.",
            rich_help_panel=_SEARCH,
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(metavar="N", help="Try N at random instead of all.", rich_help_panel=_SEARCH),
    ] = None
    tune_table: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            metavar="FILE",
            help="Write everything tried, by suffix (.parquet, .csv, .tsv, .arrow).",
            rich_help_panel=_SEARCH,
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Fits at a time, 1 without it; -1: one a core.",
            rich_help_panel=_SEARCH,
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", help="Of splits, draws and random solvers.", rich_help_panel=_SEARCH
        ),
    ] = 0
