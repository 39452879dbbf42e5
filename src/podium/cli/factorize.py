"""The command podium factorize: vectors of users and items from interactions."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from podium.cli._factorizing import HeldOut, Objective, PairColumns, Passes, Tuning, Work, make
from podium.cli._options import Sets, Written, gain_of
from podium.cli._recommending import Job, fit


def factorize(
    context: typer.Context,
    interactions: Annotated[
        Path,
        Sets("user_items"),
        typer.Argument(
            help="Table with one row per event: user, item and, optionally, a value (value, "
            "rating, …). The values of rows with the same pair are added.",
            metavar="INTERACTIONS",
        ),
    ],
    out: Annotated[
        Path,
        Written(beside=(".checkpoint", ".search")),
        typer.Option("--out", "-o", metavar="MODEL", help="File to write the model to."),
    ],
    objective: Objective,
    passes: Passes,
    held_out: HeldOut,
    tuning: Tuning,
    work: Work,
    columns: PairColumns,
) -> None:
    """Fit vectors of users and items to interactions, for podium recommend.

    This is the short form of podium train --model factorization, with an option per parameter.

    After Ctrl-C, MODEL contains the last complete pass, and --resume continues from there.
    """
    named = frozenset(field.name for group in (objective, passes) for field in fields(group))
    job = Job(
        context=context,
        interactions=interactions,
        out=out,
        reading={**columns.names_by_role(), **columns.of_file()},
        min_relevance=objective.min_relevance,
        gain=gain_of(objective.gain, objective.min_relevance),
        valid=held_out.valid,
        valid_share=tuning.valid_share,
        eval_metric=held_out.eval_metric,
        search=tuning,
        work=work,
        seed=passes.random_state,
        named=named - {"set"},
    )
    job.check()
    fit(make(objective, passes, held_out, tune=tuning.tune), job)
