"""The command podium measure: one run measured on a truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli import _render, _reports
from podium.cli._protocol import Columns, Scoring
from podium.cli._tables import LargeTables, Output
from podium.errors import ArgumentError

DEFAULT_MEASURES = ("pap@10", "ndcg@10", "precision@10", "recall@10")

if TYPE_CHECKING:
    from podium.metrics import Measure


def measure(
    *,
    truth: Annotated[Path, typer.Argument()],
    run: Annotated[Path, typer.Argument()],
    users: Path | None = None,
    pooled: bool = False,
    catalogue: Path | None = None,
    items: Path | None = None,
    scoring: Scoring,
    output: Output,
    columns: Columns,
    large: LargeTables,
) -> None:
    """Measure a run against a truth: means over users with intervals, optionally by segment.

    Files are parquet, CSV, TSV or JSON lines (also .gz), Arrow, TREC run and qrels, or svmlight
    with qid. A folder of parquet or Arrow files is one table.

    Parameters
    ----------
    pooled
        Also show the mean over pairs (or positives, or ranks) instead of users, for measures that
        have one.
    """
    output.check()
    from podium.evaluation import measure as measure_run
    from podium.evaluation.evaluation import per_user_columns
    from podium.report.evaluations import EvaluationRenderer

    protocol = scoring.in_force(columns, DEFAULT_MEASURES)
    _check_pooled(protocol.measures, pooled=pooled)
    page = output.report
    categories, titles = _reports.divided_items(items, protocol, page)
    with large.storage("measuring") as storage:
        evaluation = measure_run(
            truth,
            run,
            protocol,
            users=users,
            catalogue=catalogue,
            items=categories,
            keep_lists=page is not None,
            storage=storage,
        )
    files = (truth, run, users, catalogue, items)
    _reports.write(
        evaluation, page, files, title=run.stem, titles=titles, seed=protocol.bootstrap_seed
    )
    output.write_per_user(per_user_columns({"": evaluation}))
    renderer = EvaluationRenderer(evaluation, evaluation.as_json(pooled=pooled))
    _render.write_result(renderer, output.format)
    scoring.say(protocol, truth)


def _check_pooled(measures: Sequence[Measure], *, pooled: bool) -> None:
    """Refuse --pooled if no measure has a pooled form, before any file is read."""
    if pooled and all(measure.metric.weights is None for measure in measures):
        raise ArgumentError(
            f"--pooled: none of {', '.join(map(str, measures))} has a pooled form. "
            "Drop it, or add a measure that has one, such as pap@10."
        )
