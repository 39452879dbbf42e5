"""The command podium estimate: measures of the whole ranking from ranks among sampled items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium import _check
from podium.cli import _messages, _render, _reports
from podium.cli._messages import Sets
from podium.cli._options import FORMATS, MEASURE, Format
from podium.cli._reports import ReportFile
from podium.cli._samples import SampleColumns, Samples, read_all
from podium.cli.compare import run_names

if TYPE_CHECKING:
    from podium.report.renderer import Renderer

_DEFAULT = ("ndcg@10", "recall@10")
_LEVEL = 0.95


def estimate(
    *,
    files: Annotated[list[Path], typer.Argument()],
    measures: Annotated[list[str] | None, MEASURE] = None,
    method: Annotated[str, Sets("estimator")] = "auto",
    shared: bool = False,
    ties: str | None = None,
    bounds: bool = True,
    level: Annotated[float, typer.Option("--level", "--confidence")] = _LEVEL,
    seed: int = 0,
    format: Format = "table",
    report: ReportFile = None,
    samples: Samples,
    columns: SampleColumns,
) -> None:
    """Estimate measures of a ranking of all items from ranks among sampled items.

    With a column of strata, the sampled items are the top of a proxy's list and random others.

    Recall at 10 among 100 sampled items is not recall at 10 in the catalogue. This command
    estimates recall in the catalogue, with an interval and the range of values that the sampled
    ranks allow. Several models are compared with the first one: differences, their intervals,
    and the probability that their signs are right.

    Parameters
    ----------
    files : RANKS|SCORES
        Table of the rank of each target (held-out item) among its sampled items: rank, and user if
        users have several targets. Or table of the scores of targets and sampled items: user, item,
        score, target. If a table has ranks too, --column score=score selects its scores. Pass
        several files to compare models on the same users with the first one.
    measures : MEASURE
        Measure that is determined by the rank of the target, such as ndcg@10. May be repeated.
        Default: ndcg@10, recall@10.
    method : METHOD
        Method: auto (smooth), or another one such as mle or 'bv(gamma=0.1)'; naive is the measure
        of the sample itself.
    shared
        Measure whole rankings, with all targets of a user, which share the user's sampled items. By
        default, each target is measured as if it were the only one.
    ties : RULE
        Rank of a target among equal scores: worst, best or random. Default: worst.
    bounds
        Also show the range of all values that the observed ranks allow, whatever the method.
    level : P
        Level of intervals and bounds.
    seed : N
        Seed of resamples and random ties.
    """
    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    _check.open_fraction(level, "level")
    _reports.check(report)
    from podium import sampled
    from podium.report.estimates import SampledComparisonRenderer, SampledEvaluationRenderer

    options: dict[str, Any] = {"estimator": method, "level": level, "seed": seed, "bounds": bounds}
    names = measures or _DEFAULT
    reader = samples.reader(columns, names, shared=shared, ties=ties, seed=seed)
    models = read_all(files, reader)
    stated = _stated(samples, columns, ties, level)
    renderer: Renderer[Any]
    if len(files) == 1:
        renderer = SampledEvaluationRenderer(sampled.evaluate(models[0], names, **options), stated)
    else:
        by_name = dict(zip(run_names(files), models, strict=True))
        with _messages.progress("comparing") as show:
            compared = sampled.compare(by_name, names, progress=show, **options)
        renderer = SampledComparisonRenderer(compared, stated)
    read = (*files, samples.seen)
    _reports.write(renderer.result, report, read, seed=seed)
    _render.write_result(renderer, format)


def _stated(
    samples: Samples, columns: SampleColumns, ties: str | None, level: float
) -> dict[str, Any]:
    """Return the options that the conventions of a result do not contain."""
    names = ("items", "negatives", "drop_seen", "seen")
    values = {"column": columns.column, **{name: vars(samples)[name] for name in names}}
    values |= {"ties": ties, "level": None if level == _LEVEL else level}
    return {f"--{name.replace('_', '-')}": value for name, value in values.items()}
