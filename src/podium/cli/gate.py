"""The command podium gate, which decides whether a candidate may replace the base."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli import _reports
from podium.cli._options import OF_RESULT, WRITTEN, check_results, check_target, format_option
from podium.cli._protocol import Columns, Conventions, option
from podium.cli._reports import ReportFile
from podium.cli._spelling import Sets
from podium.cli._tables import LargeTables
from podium.cli.compare import run_names
from podium.cli.measure import Catalogue, Items, TruthTable

if TYPE_CHECKING:
    from podium.decide import Gate

FORMATS = ("table", "json", "markdown", "junit")
FAIL_ON = ("inferior", "cannot-tell", "non-inferior")
_PASS, _FAIL, _CANNOT_TELL = 0, 1, 3


def gate(
    truth: TruthTable,
    base: Annotated[
        Path,
        typer.Argument(
            help="Run of the current model: user, item, and score or rank.", metavar="BASE"
        ),
    ],
    candidate: Annotated[
        Path,
        typer.Argument(help="Run of the model that may replace it.", metavar="CANDIDATE"),
    ],
    conventions: Conventions,
    columns: Columns,
    large: LargeTables,
    measure: Annotated[
        list[str] | None,
        Sets("measures"),
        typer.Option(
            "--measure", "-m", metavar="MEASURE", help="The primary measure. Default: ndcg@10."
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Largest acceptable loss in the primary measure, in its units. Default: 0.",
        ),
    ] = None,
    guard: Annotated[
        list[str] | None,
        Sets("guards"),
        Sets("guard"),
        typer.Option(
            metavar="MEASURE:LIMIT",
            help="Another measure, and the difference that it must stay above, such as "
            "recall@50:-0.005 (stay below, if lower values are better). coverage, gini, novelty "
            "and popularity require --catalogue, diversity requires --items. May be repeated.",
        ),
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Table of users with the columns for --by, --cluster, --weight."
        ),
    ] = None,
    by: Annotated[list[str] | None, option("by")] = None,
    cluster: Annotated[str | None, option("cluster")] = None,
    weight: Annotated[str | None, option("weight")] = None,
    catalogue: Catalogue = None,
    items: Items = None,
    labels: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            metavar="FILE",
            help="File to write the user-item pairs to whose labels would settle the order of the "
            "runs, the most effective first. Requires --unjudged bounds.",
            rich_help_panel="Output",
        ),
    ] = None,
    sequential: Annotated[
        bool,
        typer.Option(
            "--sequential",
            help="Use the gate again as more users arrive. The probability of a false claim in any "
            "look is then at most that of a single look. Requires --state.",
            rich_help_panel="Repeated looks",
        ),
    ] = False,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of users at which the test ends. It makes the intervals shorter.",
            rich_help_panel="Repeated looks",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            metavar="FILE",
            help="File that keeps the users of all looks. The first look creates it.",
            rich_help_panel="Repeated looks",
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="VERDICT",
            help="Least severe verdict with a nonzero exit status: inferior, cannot-tell or "
            "non-inferior.",
            rich_help_panel="Output",
        ),
    ] = "cannot-tell",
    format: Annotated[str, OF_RESULT, format_option(FORMATS)] = "table",
    out: Annotated[
        list[Path] | None,
        WRITTEN,
        typer.Option(
            metavar="FILE",
            help="File to write the result to: .json, .md (for a pull request) or .xml (JUnit). "
            "May be repeated.",
            rich_help_panel="Output",
        ),
    ] = None,
    report: ReportFile = None,
) -> int:
    """Decide whether a candidate may replace the base: superior, non-inferior or inferior.

    The exit status is 0 (pass), 1 (fail), 2 (error) or 3 (cannot tell); see --fail-on.
    """
    check_results(fail_on, FAIL_ON, format, FORMATS, out or [])
    check_target(state, "--state", ("",))  # any suffix
    check_target(labels, "--labels")
    _reports.check(report)
    large.check()
    from podium import data, decide
    from podium.cli import _render
    from podium.report import gate as writers
    from podium.report.views import headed

    names = run_names([base, candidate])
    protocol = conventions.in_force(
        columns, ["ndcg@10"], measures=_one(measure), by=by, cluster=cluster, weight=weight
    )
    _check_labels(labels, protocol.unjudged)
    own = {
        "margin": margin,
        "guards": decide.read_guards(guard or []) or None,
        "sequential": sequential or None,
        "horizon": horizon,
    }
    with large.storage("deciding") as storage:
        result = decide.gate(
            truth,
            base,
            candidate,
            protocol,
            users=users,
            catalogue=catalogue,
            items=items,
            state=state,
            names=(names[0], names[1]),
            storage=storage,
            **_rules(conventions.file, own),
        )
    if labels is not None and result.labels_to_settle is not None:
        data.write_table(result.labels_to_settle, labels)
    read = (truth, base, candidate, users, catalogue, items)
    _reports.write(result, report, read, seed=protocol.bootstrap_seed)
    content = result.as_json()
    _render.write_result(
        content,
        format,
        out or [],
        view=lambda: headed(writers.view(content), result.origin.noun),
        markdown=partial(writers.to_markdown, content),
        junit=partial(writers.to_junit, content, fail_on=fail_on),
    )
    conventions.say(protocol)
    return _status(result, fail_on)


def _rules(file: Path | None, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules of the gate: the options, or else those of the file of the protocol."""
    from podium import _check
    from podium.protocol import toml

    rules = {} if file is None else toml.rules_of_gate(file)
    _check.known_parameters(f"[{toml.OF_GATE}] of {file}", [*own], rules)
    return rules | {name: value for name, value in own.items() if value is not None}


def _check_labels(labels: Path | None, unjudged: str | None) -> None:
    from podium.errors import ArgumentError

    if labels is not None and unjudged != "bounds":
        raise ArgumentError(
            "--labels requires --unjudged bounds, which finds the items to judge. Add it, or leave "
            "out --labels."
        )


def _one(measures: list[str] | None) -> list[str] | None:
    from podium.errors import ArgumentError

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
