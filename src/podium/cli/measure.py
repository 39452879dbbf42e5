"""podium measure: one run against a truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._options import Columns, Output, Scoring

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.evaluation import Evaluation
    from podium.metrics import Measure


def measure(
    truth: Annotated[
        Path, typer.Argument(help="What is relevant: user, item, relevance.", metavar="TRUTH")
    ],
    run: Annotated[
        Path, typer.Argument(help="What was listed: user, item, score or rank.", metavar="RUN")
    ],
    scoring: Scoring,
    output: Output,
    columns: Columns,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEGMENTS",
            help="engagement (n_pos <= k against > k), n_pos (quarters), or a column of --users; "
            "may be repeated.",
        ),
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A table of users, with the columns that --by names."),
    ] = None,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled", help="Also the mean over pairs instead of users, where a measure has one."
        ),
    ] = False,
    catalogue: Annotated[
        Path | None,
        typer.Option(
            metavar="INTERACTIONS",
            help="Past user and item pairs; adds coverage@k and novelty@k of the run, "
            "k as in the measures.",
        ),
    ] = None,
) -> None:
    """Measure a run against a truth: means over users with intervals, by segment if asked.

    Files are parquet, CSV, TSV (also .gz), Arrow, or TREC run and qrels.
    """
    output.check()
    scoring.check()
    from podium import data, report
    from podium.cli import _render
    from podium.evaluation import coverage_and_novelty, divide
    from podium.metrics import parse_all

    measures = parse_all(scoring.names)
    _check_request(measures, by or [], users, pooled=pooled, catalogue=catalogue)
    judged, listed = read_truth(truth, columns), read_run(run, columns)
    evaluation = evaluate(judged, listed, measures, scoring)
    evaluation = divide(evaluation, by or [], users, user=columns.user_col)
    result = evaluation.to_dict(pooled=pooled)
    if catalogue is not None:
        past = data.read_interactions(catalogue, user=columns.user_col, item=columns.item_col)
        cutoffs = {m.k for m in measures if m.k is not None}
        result["run"] = coverage_and_novelty(listed, past, cutoffs, name=str(catalogue))
    if output.report is not None:
        report.write(report.evaluation_report(result), output.report)
    write_users({"": evaluation}, output.per_user)
    _render.evaluation(result, output.format)


def read_truth(path: Path, columns: Columns) -> Truth:
    """Read the truth, under the columns named."""
    from podium import data

    return data.read_truth(
        path, user=columns.user_col, item=columns.item_col, relevance=columns.relevance_col
    )


def read_run(path: Path, columns: Columns) -> Run:
    """Read a run, under the columns named."""
    from podium import data

    return data.read_run(
        path,
        user=columns.user_col,
        item=columns.item_col,
        score=columns.score_col,
        rank=columns.rank_col,
    )


def evaluate(truth: Truth, run: Run, measures: list[Measure], scoring: Scoring) -> Evaluation:
    """Measure what has been read; the conventions are all written down, defaults too."""
    from podium.evaluation import measure as measure_run

    return measure_run(truth, run, measures, **scoring.intervals(), **scoring.conventions())


def write_users(evaluations: dict[str, Evaluation], path: Path | None) -> None:
    """Write every user's values; with several runs, those of one after those of the other."""
    if path is None:
        return
    import numpy as np

    from podium import data

    several = len(evaluations) > 1
    tables = [
        {
            **({"run": np.full(e.n_groups, name)} if several else {}),
            "user": e.labels,
            "n_pos": e.n_pos,
            **e.values,
        }
        for name, e in evaluations.items()
    ]
    data.write_table(
        {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}, path
    )


def _check_request(
    measures: list[Measure],
    by: list[str],
    users: Path | None,
    *,
    pooled: bool,
    catalogue: Path | None,
) -> None:
    """Refuse options that do not go together, before any file is read."""
    from podium import _check
    from podium.errors import ArgumentError
    from podium.evaluation import BUILT_IN

    cutoffs = any(m.k is not None for m in measures)
    if pooled and all(m.metric.weights is None for m in measures):
        raise ArgumentError(
            f"--pooled: none of {', '.join(map(str, measures))} has a pooled form. "
            "Drop it, or add a measure that has one, as pap@10."
        )
    if catalogue is not None and not cutoffs:
        raise ArgumentError("--catalogue needs a measure with a cutoff, as ndcg@10.")
    if "engagement" in by and not cutoffs:
        raise ArgumentError("--by engagement needs a measure with a cutoff, as pap@10.")
    for name in by:
        if users is None and name not in BUILT_IN:
            raise ArgumentError(
                f"--by {name} needs --users, a table with that column."
                f"{_check.nearest(name, BUILT_IN)}"
            )
