"""The command podium plan: the number of items to sample, before any are sampled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from podium import _check
from podium.cli import _messages, _render
from podium.cli._messages import Sets
from podium.cli._options import FORMATS, Format
from podium.cli._samples import SampleColumns, Samples, is_given
from podium.errors import ArgumentError


def plan(
    *,
    users: Annotated[int, Sets("n_users")],
    error: float,
    measure: Annotated[str, typer.Option("--measure", "--metric", "-m")] = "ndcg@10",
    method: Annotated[str, Sets("estimator")] = "auto",
    pilot: Path | None = None,
    seed: int = 0,
    format: Format = "table",
    samples: Samples,
    columns: SampleColumns,
) -> None:
    """Compute how many items to sample for a given error, and the cost of ranking all items.

    The expected ranks follow from a pilot. Without a pilot, the plan assumes three distributions of
    ranks for which recall@k is the square root of k / N.

    Parameters
    ----------
    users : M
        Number of users whose held-out items will be ranked.
    error : X
        Largest acceptable error of the estimate: the root mean square error, which combines
        standard error and bias, in units of the measure.
    measure : MEASURE
        Measure that is determined by the rank of the target.
    method : METHOD
        Method that podium estimate will use: auto (smooth), or a mean over users such as
        'bv(gamma=0.1)'.
    pilot : RANKS
        Table of the sampled ranks (RANKS) or scores (SCORES) of some users, as for podium estimate.
    seed : N
        Seed of the draws from the pilot's posterior.
    """
    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    from podium import sampled
    from podium.results import renderer_of

    known: Any = None
    if pilot is None:
        _refuse_options_of_a_pilot(samples, columns)
    else:
        known = samples.reader(columns, [measure], seed=seed).read(pilot)
    options: dict[str, Any] = {
        "method": method,
        "replacement": not samples.no_replacement,
        "seed": seed,
    }
    with _messages.progress("planning") as show:
        result = sampled.plan(
            samples.items, users, measure, error, pilot=known, progress=show, **options
        )
    _render.write_result(renderer_of(result), format)


def _refuse_options_of_a_pilot(samples: Samples, columns: SampleColumns) -> None:
    """Raise an ArgumentError if options describe a pilot and there is none."""
    options = {**vars(samples), **vars(columns)}
    for name, value in options.items():
        if name not in ("items", "no_replacement") and is_given(value):
            raise ArgumentError(
                f"--{name.replace('_', '-')} is an option of the pilot, and there is none. Pass "
                "--pilot RANKS, or leave it out."
            )
