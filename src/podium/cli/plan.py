"""podium plan: how many items to sample, before any are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli._options import FORMATS, Format
from podium.cli._samples import SampleColumns, Samples

_EXPECTED = "What ranks are expected"


def plan(
    samples: Samples,
    columns: SampleColumns,
    users: Annotated[
        int, typer.Option(metavar="M", help="Users whose held-out items will be ranked.")
    ],
    error: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="What the estimate may be off: root mean square error (standard error and bias "
            "together), in units of the measure.",
        ),
    ],
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            "--metric",
            "-m",
            metavar="MEASURE",
            help="That the target's rank determines.",
        ),
    ] = "ndcg@10",
    relative: Annotated[
        bool, typer.Option("--relative", help="The error is a share of the measure's value.")
    ] = False,
    ignore_bias: Annotated[
        bool,
        typer.Option("--ignore-bias", help="Hold the standard error alone to X, without bias."),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="That podium estimate will use: auto (smooth), or another as mle or "
            "'bv(gamma=0.1)'.",
        ),
    ] = "auto",
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="RANKS",
            help="Sampled ranks of some users, as podium estimate reads them.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    expect: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Without a pilot: the value of the measure that is expected. Else recall@k is "
            "taken to be the square root of k / N.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Sizes of samples to look at, the last ones if they grow; else from 25, doubled "
            "until X is reached.",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Draws from what a pilot leaves open, and simulations for methods that need "
            "them: 16 without this option.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of these.")] = 0,
    format: Format = "table",
) -> None:
    """Find how many items to sample for an error, and the cost of ranking all.

    For samples of a fixed size, and for samples that grow while the target
    comes first. Ranks are expected to be as those of a pilot; without one, of
    three shapes that have one value of the measure.
    """
    from podium import _check

    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    from podium import sampled
    from podium.cli import _plans
    from podium.cli._estimates import own_words
    from podium.cli._progress import progress
    from podium.cli._samples import read_numbers

    with own_words(_plans.as_options):
        options: dict[str, Any] = {} if repeats is None else {"n_repeats": repeats}
        options |= {"relative": relative, "ignore_bias": ignore_bias, "method": method}
        options |= {"replacement": not samples.no_replacement, "seed": seed, "expect": expect}
        options |= {"pilot": _plans.read_pilot(pilot, samples, columns, seed)}
        asked = None if sizes is None else read_numbers(sizes, "--sizes", "50,100,200")
        options |= {"sizes": asked}
        if repeats is not None and pilot is None:
            _plans.refuse_repeats(sampled.get(method))
        with progress("planning") as show:
            found = sampled.plan(samples.items, users, measure, error, progress=show, **options)
    _plans.show(found, format, assumed=expect is None)
