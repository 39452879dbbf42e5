"""The command podium plan: the number of items to sample, before any are sampled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium import _check
from podium.cli import _messages, _render
from podium.cli._messages import Sets
from podium.cli._options import FORMATS, Format
from podium.cli._samples import SampleColumns, Samples, is_given, read_all, read_numbers
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.sampled import Estimator

_EXPECTED = "Expected ranks"


def plan(
    *,
    users: Annotated[int, Sets("n_users")],
    error: float,
    measure: Annotated[str, typer.Option("--measure", "--metric", "-m")] = "ndcg@10",
    method: Annotated[str, Sets("estimator")] = "auto",
    pilot: Annotated[Path | None, typer.Option(rich_help_panel=_EXPECTED)] = None,
    expect: Annotated[float | None, typer.Option(rich_help_panel=_EXPECTED)] = None,
    sizes: str | None = None,
    repeats: Annotated[int | None, Sets("n_repeats")] = None,
    seed: int = 0,
    format: Format = "table",
    samples: Samples,
    columns: SampleColumns,
) -> None:
    """Compute how many items to sample for a given error, and the cost of ranking all items.

    The plan compares samples of a fixed size with samples that grow while the target ranks first.
    The expected ranks follow from a pilot. Without a pilot, the plan assumes three distributions of
    ranks with the same value of the measure. From a pilot with a column of strata, the plan is for
    the top of a proxy's list and random others.

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
        Method that podium estimate will use: auto (smooth), or another one such as mle or
        'bv(gamma=0.1)'.
    pilot : RANKS
        Table of the sampled ranks (RANKS) or scores (SCORES) of some users, as for podium estimate.
        Scores may have strata.
    expect : VALUE
        Expected value of the measure, without a pilot. Default: the value of a ranking with
        recall@k = sqrt(k / N).
    sizes : N,N,…
        Sizes of samples to compare; for growing samples, their last sizes. Default: from 25,
        doubled until the error X is reached.
    repeats : N
        Number of draws from the posterior of the pilot, and of simulations for methods that need
        them. Default: 16.
    seed : N
        Seed of draws and simulations.
    """
    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    from podium import sampled
    from podium.results import renderer_of

    options: dict[str, Any] = {"method": method, "expect": expect, "pilot": None}
    if pilot is None:
        _refuse_options_of_a_pilot(samples, columns)
    else:  # ranks, or the scan of strata
        (options["pilot"],) = read_all([pilot], samples.reader(columns, [measure], seed=seed))
    options |= {"replacement": not samples.no_replacement, "n_repeats": repeats, "seed": seed}
    options |= {"sizes": read_numbers(sizes, "--sizes", "50,100,200")}
    if repeats is not None and pilot is None:
        _refuse_repeats(sampled.get(method))
    with _messages.progress("planning") as show:
        result = sampled.plan(samples.items, users, measure, error, progress=show, **options)
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


def _refuse_repeats(method: Estimator) -> None:
    """Raise an ArgumentError if a plan without a pilot simulates nothing."""
    if method.error_from != "bootstrap":
        raise ArgumentError(
            "--repeats is for plans with a pilot and for methods whose error is simulated. There "
            f"is no pilot, and the error of {method.name} is computed. Leave it out."
        )
