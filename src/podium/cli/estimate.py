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
            help="Each target's rank among its sampled items: rank, and user if there are several "
            "targets a user. Or scores of targets and sampled items. Several files are models on "
            "the same users, compared with the first.",
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
            help="That the target's rank determines, as ndcg@10; may be repeated. "
            f"Without it: {', '.join(_DEFAULT)}.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="auto (smooth), or another as mle or 'bv(gamma=0.1)'; naive is the measure of "
            "the sample itself.",
        ),
    ] = "auto",
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="The file is a scorer's: user, item, score, target. So is one without ranks.",
        ),
    ] = False,
    ties: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="A target among equal scores: worst (without this option), best, average or "
            "random.",
        ),
    ] = None,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds/--no-bounds",
            help="Also all values that the observed ranks allow, whatever the method.",
        ),
    ] = True,
    level: Annotated[
        float,
        typer.Option("--level", "--confidence", metavar="P", help="Of intervals and bounds."),
    ] = _LEVEL,
    resamples: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Fits to users drawn again, for methods that need them to know their error.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of users drawn again and of ties.")] = 0,
    format: Format = "table",
) -> None:
    """Estimate measures of ranking all items from ranks among sampled ones.

    Recall at 10 among 100 sampled items is no recall at 10 of the catalogue:
    this is, with its interval, and the values that the sample leaves possible.
    Several models are compared with the first: differences, their intervals,
    and how likely it is that their signs are right.
    """
    from podium import _check

    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    _check.open_fraction(level, "level")
    from podium import sampled
    from podium.cli import _estimates
    from podium.cli._samples import read_all, reader

    with _messages.own_words():
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
    given_options = _estimates.Given(samples, ties, None if level == _LEVEL else level)
    if len(files) == 1:
        _estimates.show(result, format, given_options)
    else:
        _estimates.show_several(result, format, given_options, by_row=all_ranks[0].user is None)
