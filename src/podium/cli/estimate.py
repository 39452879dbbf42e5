"""The command podium estimate: measures of the whole ranking from ranks among sampled items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli import _messages
from podium.cli._options import FORMATS, Format
from podium.cli._samples import SampleColumns, Samples
from podium.cli.compare import run_names

_DEFAULT = ("ndcg@10", "recall@10")
_LEVEL = 0.95


def estimate(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Table of the rank of each target (held-out item) among its sampled items: rank, "
            "and user if users have several targets. Or table of the scores of targets and sampled "
            "items: user, item, score, target. Pass several files to compare models on the same "
            "users with the first one.",
            metavar="RANKS|SCORES",
        ),
    ],
    samples: Samples,
    columns: SampleColumns,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="Measure that is determined by the rank of the target, such as ndcg@10. May be "
            f"repeated. Default: {', '.join(_DEFAULT)}.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="Method: auto (smooth), or another one such as mle or 'bv(gamma=0.1)'; naive is "
            "the measure of the sample itself.",
        ),
    ] = "auto",
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="Use the scores of a file that also has a column of ranks.",
        ),
    ] = False,
    ties: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Rank of a target among equal scores: worst, best, average or random. Default: "
            "worst.",
        ),
    ] = None,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds/--no-bounds",
            help="Also show the range of all values that the observed ranks allow, whatever the "
            "method.",
        ),
    ] = True,
    level: Annotated[
        float,
        typer.Option("--level", "--confidence", metavar="P", help="Level of intervals and bounds."),
    ] = _LEVEL,
    resamples: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of resamples of users, for methods whose standard error needs them. "
            "Default: 200.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of resamples and random ties.")] = 0,
    format: Format = "table",
) -> None:
    """Estimate measures of a ranking of all items from ranks among sampled items.

    Recall at 10 among 100 sampled items is not recall at 10 in the catalogue. This command
    estimates recall in the catalogue, with an interval and the range of values that the sampled
    ranks allow. Several models are compared with the first one: differences, their intervals,
    and the probability that their signs are right.
    """
    from podium import _check

    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    _check.open_fraction(level, "level")
    from podium import sampled
    from podium.cli import _estimates
    from podium.cli._samples import read_all, reader

    with _messages.naming_options():
        estimator = sampled.get(method)
        options: dict[str, Any] = {"estimator": estimator, "level": level, "seed": seed}
        options |= {"bounds": bounds, **({} if resamples is None else {"n_bootstrap": resamples})}
        names = measures or _DEFAULT
        all_ranks = read_all(files, reader(samples, columns, scores=scores, ties=ties, seed=seed))
        if resamples is not None:
            _estimates.refuse_resamples(estimator, all_ranks)
        if len(files) == 1:
            result = sampled.evaluate(all_ranks[0], names, **options).to_dict()
        else:
            all_ranks = sampled.comparable(all_ranks, list(map(str, files)), estimator, noun="file")
            models = dict(zip(run_names(files), all_ranks, strict=True))
            with _messages.progress("comparing") as show:
                comparison = sampled.compare_all(models, names, progress=show, **options)
            result = comparison.to_dict()
    given_options = _estimates.EstimateOptions(samples, ties, None if level == _LEVEL else level)
    if len(files) == 1:
        _estimates.show(result, format, given_options)
    else:
        _estimates.show_several(result, format, given_options, by_row=all_ranks[0].user is None)
