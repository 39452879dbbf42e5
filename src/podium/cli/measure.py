"""The command podium measure: one run measured on a truth."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import typer

from podium.cli import _reports
from podium.cli._options import ColumnNames, texts_by_name
from podium.cli._spelling import Sets
from podium.cli._tables import LargeTables, Output

DEFAULT_MEASURES = ("pap@10", "ndcg@10", "precision@10", "recall@10")

TruthTable: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="Truth, a table of relevant items: user, item, relevance.", metavar="TRUTH"
    ),
]
RunTable: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="Run, a table of ranked items: user, item, and score or rank.", metavar="RUN"
    ),
]
UsersTable: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Table of users with the columns for --by."),
]
Catalogue: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="INTERACTIONS",
        help="Table of past interactions, for coverage@k, gini@k, novelty@k and popularity@k: "
        "user, item.",
    ),
]
Items: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of items with categories or features, for diversity@k: item, and a column "
        "of categories (a|b for several) or columns of features. In measure and compare, a column "
        "title has the titles for --report.",
    ),
]

if TYPE_CHECKING:
    from podium.data import RankingOptions
    from podium.metrics import Measure


@dataclass(frozen=True)
class Columns(ColumnNames):
    """The names of columns that differ from the usual names, in each table that has them."""

    roles: ClassVar[tuple[str, ...]] = ("user", "item", "score", "rank", "relevance")


def _flag(text: str) -> bool:
    from podium import _check

    return _check.choice(text, "single_precision", ("true", "false")) == "true"


def _score(text: str) -> float:
    from podium import _check

    return _check.number(text, "score_above", low=-math.inf)


_FURTHER: Mapping[str, Callable[[str], Any]] = {
    "unretrieved": str,
    "single_precision": _flag,
    "score_above": _score,
}
"""The conventions without an option of their own, and how --set reads them."""

_ENTRIES = tuple(Sets(name, is_entry=True) for name in _FURTHER)


@dataclass(frozen=True)
class Conventions:
    """Options of the conventions of measures and intervals."""

    panel: ClassVar[str] = "Conventions"

    min_relevance: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Lowest relevance of a positive item. Default: 1. Required if the column "
            "is named rating.",
        ),
    ] = None
    low_grades: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Rule for relevances below --min-relevance in graded measures such as ndcg: zero "
            "(the default if --min-relevance is given) or keep.",
        ),
    ] = None
    ties: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Rule for items with equal scores: worst (the default), best, average, id, random "
            "or threshold.",
        ),
    ] = None
    undefined: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Rule for users for whom a measure is undefined: skip (the default), zero, one "
            "or error.",
        ),
    ] = None
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Rule for users that the run lacks: error (the default), zero (the worst value) "
            "or skip.",
        ),
    ] = None
    unjudged: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Rule for items of the run that the truth lacks: negative (the default), skip, "
            "error or bounds (the range over all their judgements).",
        ),
    ] = None
    further: Annotated[
        list[str] | None,
        *_ENTRIES,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A convention that packages have: unretrieved=drop (relevant items that a list "
            "lacks do not count), single_precision=true (nearly equal scores are ties) or "
            "score_above=X (items with this score or less are not retrieved). May be repeated.",
        ),
    ] = None
    n_items: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of items that could have been shown to each user."),
    ] = None
    like: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE",
            help="Package whose conventions apply: trec_eval, ir_measures, sklearn, ranx, "
            "rectools, recbole or torchmetrics.",
        ),
    ] = None
    level: Annotated[float, typer.Option(metavar="P", help="Level of the intervals.")] = 0.95
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Seed of random ties. In measure and compare, also of the bootstrap and of the "
            "randomisation test.",
        ),
    ] = 0

    def check(self) -> None:
        """Refuse invalid values that not every measure would use, before anything is computed."""
        from podium import _check

        _check.seed(self.seed)
        _check.open_fraction(self.level, "level")

    def conventions(self) -> RankingOptions:
        """Return the keyword arguments of `podium.data.ranking` other than column names."""
        options: dict[str, Any] = {
            "ties": self.ties,
            "missing": self.missing,
            "unjudged": self.unjudged,
            "min_relevance": self.min_relevance,
            "low_grades": self.low_grades,
            "n_items": self.n_items,
            **self._further(),
        }
        passed = {name: value for name, value in options.items() if value is not None}
        return typing.cast("RankingOptions", {**passed, "seed": self.seed})

    def _further(self) -> dict[str, Any]:
        from podium import _check

        texts = texts_by_name(self.further, "--set", "NAME=VALUE")
        for name in texts:
            _check.choice(name, "the NAME of --set", [*_FURTHER])
        return {name: _FURTHER[name](text) for name, text in texts.items()}


@dataclass(frozen=True)
class Scoring(Conventions):
    """Options of the measures and conventions."""

    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="Measure, such as ndcg@10 or ap(norm=min)@10. May be repeated. "
            f"Default: {', '.join(DEFAULT_MEASURES)}.",
            rich_help_panel="Options",
        ),
    ] = None
    interval: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="Method of the intervals of means: t, wilson (for measures with bounds; stays "
            "inside them) or bootstrap (BCa).",
        ),
    ] = "t"

    @property
    def names(self) -> list[str]:
        """The given measures, or the default ones."""
        return list(self.measures or DEFAULT_MEASURES)

    def keywords(self, columns: Columns) -> dict[str, Any]:
        """Return the keyword arguments of `podium.measure` on conventions, intervals, columns."""
        return {
            "undefined": self.undefined,
            "level": self.level,
            "interval": self.interval,
            "like": self.like,
            **self.conventions(),
            **columns.names_by_role(),
        }


def measure(
    truth: TruthTable,
    run: RunTable,
    scoring: Scoring,
    output: Output,
    columns: Columns,
    large: LargeTables,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEGMENTS",
            help="Segments of users: engagement (users with at most k positives and users with "
            "more), n_pos (quarters of users by number of positives), or a column of --users. "
            "May be repeated.",
        ),
    ] = None,
    users: UsersTable = None,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled",
            help="Also show the mean over pairs (or positives, or ranks) instead of users, for "
            "measures that have one.",
        ),
    ] = False,
    catalogue: Catalogue = None,
    items: Items = None,
) -> None:
    """Measure a run against a truth: means over users with intervals, optionally by segment.

    Files are parquet, CSV, TSV or JSON lines (also .gz), Arrow, TREC run and qrels, or svmlight
    with qid. A folder of parquet or Arrow files is one table.
    """
    output.check()
    scoring.check()
    large.check()
    from podium.cli import _messages, _render
    from podium.evaluation import measure as measure_run
    from podium.evaluation import per_user_columns
    from podium.metrics import parse_all
    from podium.report import measured
    from podium.report.measured import evaluation_table
    from podium.report.views import headed

    measures = parse_all(scoring.names)
    _check_pooled(measures, pooled=pooled)
    check_segments(measures, by or [], users)
    page = output.report
    categories, titles = _reports.divided_items(items, measures, page, columns.name_of("item"))
    with large.limits() as limits, _messages.progress("measuring", unit="rows") as show:
        evaluation = measure_run(
            truth,
            run,
            measures,
            by=by or [],
            users=users,
            catalogue=catalogue,
            items=categories,
            keep_lists=page is not None,
            progress=show,
            **limits,
            **scoring.keywords(columns),
        )
    result = evaluation.as_json(pooled=pooled)
    files = (truth, run, users, catalogue, items)
    _reports.write(evaluation, page, files, title=run.stem, titles=titles, seed=scoring.seed)
    output.write_per_user(per_user_columns({"": evaluation}))
    view = headed(measured.evaluation_view(result), evaluation.origin.noun)
    _render.print_result(result, output.format, view=view, flat=evaluation_table(result))


def check_segments(measures: list[Measure], by: list[str], users: Path | None) -> None:
    """Refuse segments without what they need, before any file is read."""
    from podium import _check
    from podium.errors import ArgumentError
    from podium.evaluation import BUILT_IN

    if "engagement" in by and all(measure.k is None for measure in measures):
        raise ArgumentError("--by engagement needs a measure with a cutoff, such as pap@10.")
    for name in by:
        if users is None and name not in BUILT_IN:
            raise ArgumentError(
                f"--by {name} needs --users, a table with this column."
                f"{_check.nearest(name, BUILT_IN)}"
            )


def _check_pooled(measures: list[Measure], *, pooled: bool) -> None:
    """Refuse --pooled if no measure has a pooled form, before any file is read."""
    from podium.errors import ArgumentError

    if pooled and all(measure.metric.weights is None for measure in measures):
        raise ArgumentError(
            f"--pooled: none of {', '.join(map(str, measures))} has a pooled form. "
            "Drop it, or add a measure that has one, such as pap@10."
        )
