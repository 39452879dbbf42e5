"""The command podium gate, which decides whether a candidate may replace the base."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from podium.cli import _render, _reports
from podium.cli._messages import Sets
from podium.cli._options import (
    MEASURE,
    OF_RESULT,
    WRITTEN,
    check_results,
    check_target,
    format_option,
)
from podium.cli._protocol import Columns, Conventions
from podium.cli._reports import ReportFile
from podium.cli._tables import LargeTables, check_labels
from podium.cli.compare import run_names
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.decide import Gate

FORMATS = ("table", "json", "markdown", "junit")
FAIL_ON = ("inferior", "cannot-tell", "non-inferior")
_PASS, _FAIL, _CANNOT_TELL = 0, 1, 3


@dataclass(frozen=True)
class Looks:
    """Options of repeated looks.

    Parameters
    ----------
    sequential
        Use the gate again as more users arrive. The probability of a false claim in any look is
        then at most that of a single look. --state implies it, and is required.
        --no-sequential uses the gate once, whatever a file states.
    state : FILE
        File that keeps the users of all looks. The first look creates it.
    """

    panel: ClassVar[str] = "Repeated looks"

    sequential: Annotated[bool | None, typer.Option("--sequential/--no-sequential")] = None
    horizon: int | None = None
    state: Annotated[Path | None, WRITTEN] = None


def gate(
    *,
    truth: Annotated[Path, typer.Argument()],
    base: Annotated[Path, typer.Argument()],
    candidate: Annotated[Path, typer.Argument()],
    measure: Annotated[list[str] | None, Sets("measures"), MEASURE] = None,
    margin: float | None = None,
    guard: Annotated[list[str] | None, Sets("guards")] = None,
    at_least: list[str] | None = None,
    train: Path | None = None,
    users: Path | None = None,
    by: list[str] | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    catalogue: Path | None = None,
    items: Path | None = None,
    labels: Annotated[Path | None, WRITTEN, typer.Option(rich_help_panel="Output")] = None,
    looks: Looks,
    fail_on: Annotated[str, typer.Option(rich_help_panel="Output")] = "cannot-tell",
    format: Annotated[str, OF_RESULT, format_option(FORMATS)] = "table",
    out: Annotated[list[Path] | None, WRITTEN, typer.Option(rich_help_panel="Output")] = None,
    report: ReportFile = None,
    conventions: Conventions,
    columns: Columns,
    large: LargeTables,
) -> int:
    """Decide whether a candidate may replace the base: superior, non-inferior or inferior.

    The exit status is 0 (pass), 1 (fail), 2 (error) or 3 (cannot tell); see --fail-on.

    Parameters
    ----------
    base : BASE
        Run of the current model: user, item, and score or rank.
    candidate : CANDIDATE
        Run of the model that may replace it.
    measure : MEASURE
        The primary measure. Default: ndcg@10.
    guard : MEASURE:LIMIT
        Another measure, and the difference that it must stay above, such as recall@50:-0.005 (stay
        below, if lower values are better). coverage, gini, novelty and popularity require
        --catalogue, diversity requires --items. May be repeated.
    train : FILE
        Training part. The gate checks it as podium audit does, and passes no candidate if there is
        an error. It also measures lists of popular, of recent and of the user's own items, which it
        does too if podium split --by time wrote TRUTH.
    users : FILE
        Table of users with the columns for --by, --cluster, --weight.
    labels : FILE
        File to write the user-item pairs to whose labels would settle the order of the runs, the
        most effective first. Requires --unjudged bounds.
    fail_on : VERDICT
        Least severe verdict with a nonzero exit status: inferior, cannot-tell or non-inferior.
    out : FILE
        File to write the result to: .json, .md (for a pull request) or .xml (JUnit). May be
        repeated.
    """
    check_results(fail_on, FAIL_ON, format, FORMATS, out or [])
    check_target(looks.state, "--state", ("",))  # any suffix
    _reports.check(report)
    from podium import data, decide
    from podium.report.gate import GateRenderer

    names = run_names([base, candidate])
    protocol = conventions.in_force(
        *(columns, ["ndcg@10"]),
        measures=_one(measure),
        by=by,
        cluster=cluster,
        weight=weight,
        margin=margin,
        guards=guard,
        at_least=at_least,
        sequential=looks.sequential,
        horizon=looks.horizon,
    )
    if looks.sequential is False and looks.horizon is None:
        protocol = protocol.replace(horizon=None)  # that of the file is one of repeated looks
    check_labels(labels, protocol)
    with large.storage("deciding") as storage:
        result = decide.gate(
            truth,
            base,
            candidate,
            protocol,
            users=users,
            catalogue=catalogue,
            items=items,
            state=looks.state,
            names=(names[0], names[1]),
            storage=storage,
            train=train,
        )
    if labels is not None and result.labels_to_settle is not None:
        data.write_table(result.labels_to_settle, labels)
    read = (truth, base, candidate, users, catalogue, items, train)
    _reports.write(result, report, read, seed=protocol.bootstrap_seed)
    renderer = GateRenderer(result)
    junit = partial(renderer.to_junit, fail_on=fail_on)
    _render.write_result(renderer, format, out or [], junit=junit)
    conventions.say(protocol, truth)
    return _status(result, fail_on)


def _one(measures: list[str] | None) -> list[str] | None:
    if measures is not None and len(measures) > 1:
        raise ArgumentError(
            f"--measure names one primary measure, got {', '.join(measures)}. Give the others as "
            "--guard, such as --guard recall@50:-0.005."
        )
    return measures


def _status(result: Gate, fail_on: str) -> int:
    if result.decision == "fail":
        return _FAIL
    if result.decision == "cannot tell":
        return _PASS if fail_on == "inferior" else _CANNOT_TELL
    return _FAIL if fail_on == "non-inferior" and result.verdict != "superior" else _PASS
