"""The command podium audit, which finds the faults of an offline evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from podium.cli import _render, _reports
from podium.cli._messages import Sets
from podium.cli._options import MEASURE, OF_RESULT, WRITTEN, check_results, format_option
from podium.cli._protocol import Columns, Given
from podium.cli._reports import ReportFile
from podium.cli.compare import run_names
from podium.errors import ArgumentError

FORMATS = ("table", "json", "markdown")
FAIL_ON = ("error", "warning", "never")
_SOUND, _FAULTY = 0, 1


@dataclass(frozen=True)
class AuditColumns(Columns):
    """The names of columns that differ from the usual names; both parts may have times."""

    roles: ClassVar[tuple[str, ...]] = (*Columns.roles, "timestamp")


def audit(
    *,
    train: Annotated[Path | None, typer.Argument()] = None,
    test: Annotated[Path | None, typer.Argument()] = None,
    runs: Annotated[list[Path] | None, typer.Argument()] = None,
    no_train: Annotated[bool, typer.Option("--no-train")] = False,
    published: str | None = None,
    measure: Annotated[str | None, Sets("measures"), MEASURE] = None,
    candidates: str | None = None,
    memory: Annotated[str | None, typer.Option(rich_help_panel="Large tables")] = None,
    fail_on: Annotated[str, typer.Option(rich_help_panel="Output")] = "error",
    format: Annotated[str, OF_RESULT, format_option(FORMATS)] = "table",
    out: Annotated[list[Path] | None, WRITTEN, typer.Option(rich_help_panel="Output")] = None,
    report: ReportFile = None,
    given: Given,
    columns: AuditColumns,
) -> int:
    """Find and count the faults of an offline evaluation, and show their effects.

    Faults include leaks between the parts, ids in two spellings, lists that are too short or tied,
    and samples that were not drawn as stated. For each fault, the measure is shown with the fault
    and without it. The exit status is 1 if there is an error (see --fail-on), and 2 if an option or
    a file is wrong.

    Parameters
    ----------
    train : TRAIN
        Training part, a table of interactions: user, item, and timestamp if there is one.
    test : TEST
        Test part, a table of relevant items: user, item, relevance, and timestamp if there is one.
    runs : RUN…
        Runs, tables of ranked items: user, item, and score or rank.
    no_train
        There is no training part, as in search: podium audit --no-train TRUTH RUN…
    published : N,HITS,BASELINE
        Instead of tables, the numbers of a published result: n=500,hits=41,baseline=35.
    measure : MEASURE
        Measure on which the effects of faults are shown. Default: ndcg@10.
    candidates : HOW
        How the items of the lists were sampled, if they are samples: uniform or other.
    memory : SIZE
        Memory for tables, such as 4GiB. If parquet and Arrow tables need more, some users are
        audited. Default: half of the available memory.
    fail_on : SEVERITY
        Least severe finding with exit status 1: error, warning or never.
    out : FILE
        File to write the result to: .json or .md. May be repeated.
    """
    check_results(fail_on, FAIL_ON, format, FORMATS, out or [])
    _reports.check(report)
    from podium import decide
    from podium.report.audit import AuditRenderer

    part, truth, lists = train, test, runs or []
    if no_train:
        part, truth, lists = None, train, [*filter(None, (test,)), *lists]
    elif published is None and test is None:
        raise ArgumentError(
            "TRAIN and TEST are missing. Pass both, or use --no-train TRUTH RUN… without TRAIN."
        )
    names = run_names(lists)
    protocol = given.in_force(columns, ["ndcg@10"], measures=measure and [measure])
    result = decide.audit(
        part,
        truth,
        dict(zip(names, lists, strict=True)),
        protocol,
        candidates=candidates,
        timestamp=columns.name_of("timestamp"),
        memory=memory,
        published=published,
    )
    _reports.write(result, report, [*filter(None, (train, test, *(runs or [])))])
    renderer = AuditRenderer(result)
    _render.write_result(renderer, format, out or [])
    given.say(protocol)
    return _FAULTY if result.fails(fail_on) else _SOUND
