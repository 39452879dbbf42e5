"""The command podium compare: runs on one truth, each compared with the first."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from podium.cli.measure import Columns, Output, Scoring, evaluate, read_run, read_truth


def compare(
    truth: Annotated[
        Path,
        typer.Argument(
            help="Truth, a table of relevant items: user, item, relevance.", metavar="TRUTH"
        ),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Two or more runs, tables of ranked items: user, item, and score or rank. The "
            "first run is the baseline.",
            metavar="RUN_A RUN_B…",
        ),
    ],
    scoring: Scoring,
    output: Output,
    columns: Columns,
) -> None:
    """Compare runs with the first one on the same users: differences, intervals, paired tests.

    Runs are named after their files. The p values are of the paired t test and of the paired
    randomisation test, before and after Holm's correction for all tests of the comparison.
    """
    output.check()
    scoring.check()
    from podium import data, report
    from podium.cli import _render
    from podium.errors import ArgumentError
    from podium.evaluation import compare_evaluations, per_user
    from podium.metrics import parse_all

    if len(runs) < 2:
        raise ArgumentError(
            "RUN_A RUN_B… must be at least two runs, got 1. For one run, use podium measure."
        )
    measures = parse_all(scoring.names)
    truth_data = read_truth(truth, columns)
    comparison = compare_evaluations(
        {
            name: evaluate(truth_data, read_run(path, columns), measures, scoring)
            for name, path in zip(run_names(runs), runs, strict=True)
        }
    )
    result = comparison.to_dict()
    if output.report is not None:
        report.write(report.comparison_report(result), output.report)
    if output.per_user is not None:
        data.write_table(per_user(comparison.evaluations), output.per_user)
    _render.comparison(result, output.format)


def run_names(paths: list[Path]) -> list[str]:
    """Return names of runs: the stem of the file, with the folder or a number if stems are equal.

    Examples
    --------
    >>> run_names([Path("a/als.csv.gz"), Path("b/als.parquet"), Path("pop.csv")])
    ['a/als', 'b/als', 'pop']
    """
    stems = [_stem(path) for path in paths]
    stem_counts = Counter(stems)
    names = [
        f"{path.absolute().parent.name}/{stem}" if stem_counts[stem] > 1 else stem
        for path, stem in zip(paths, stems, strict=True)
    ]
    return [
        f"{name}#{names[:i].count(name) + 1}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]


def _stem(path: Path) -> str:
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem
