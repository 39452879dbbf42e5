"""Options that several commands share, as dataclasses whose fields typer shows one by one."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli._paths import WRITTEN, check_paths

if TYPE_CHECKING:
    from podium.data import RankingOptions

DEFAULT_MEASURES = ("pap@10", "ndcg@10", "precision@10", "recall@10")
FORMATS = ("table", "json", "csv", "markdown", "latex")

_COLUMNS = "Columns that don't have their usual name"
_CONVENTIONS = "Conventions"
_OUTPUT = "Output"


@dataclass(frozen=True)
class Output:
    """In what form the result is printed, and what else is written."""

    format: Annotated[
        str,
        typer.Option(
            help=f"On stdout: {', '.join(FORMATS)}.", metavar="FORMAT", rich_help_panel=_OUTPUT
        ),
    ] = "table"
    report: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            help="Also write a report: one HTML file that needs no network.",
            metavar="FILE.html",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    per_user: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            help="Also write every user's values, by suffix (.parquet, .csv, .tsv, .arrow).",
            metavar="FILE",
            rich_help_panel=_OUTPUT,
        ),
    ] = None

    def check(self) -> None:
        """Refuse what could not be printed or written, before anything is computed."""
        from podium import _check

        _check.choice(self.format, "--format", FORMATS)
        check_target(self.report, "--report", (".html", ".htm"))
        check_target(self.per_user, "--per-user")


@dataclass(frozen=True)
class Columns:
    """Names of columns, where they are not the usual ones."""

    user_col: Annotated[
        str | None,
        typer.Option(
            help="In all tables; else user, user_id, qid, query_id or q_id.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None
    item_col: Annotated[
        str | None,
        typer.Option(
            help="In all tables; else item, item_id or doc_id.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None
    score_col: Annotated[
        str | None,
        typer.Option(
            help="In a run; else score or prediction.", metavar="NAME", rich_help_panel=_COLUMNS
        ),
    ] = None
    rank_col: Annotated[
        str | None,
        typer.Option(
            help="In a run, best is 1; else rank.", metavar="NAME", rich_help_panel=_COLUMNS
        ),
    ] = None
    relevance_col: Annotated[
        str | None,
        typer.Option(
            help="In the truth; else relevance, rating or label.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None


@dataclass(frozen=True)
class Scoring:
    """What is measured, and under which conventions."""

    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="As ndcg@10 or ap(norm=min)@10; may be repeated. "
            f"Without it: {', '.join(DEFAULT_MEASURES)}.",
        ),
    ] = None
    min_relevance: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Relevance from which an item is positive: 1, but a column named rating needs it.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = None
    ties: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Order of equal scores: worst, best, average, id or random.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = "worst"
    undefined: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="What a user counts where a measure is undefined: skip, zero, one or error.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = "skip"
    missing: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Users whom the run lacks: error, zero (the worst value) or skip.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = "error"
    unjudged: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Items of the run that the truth lacks: negative, skip or error.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = "negative"
    n_items: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Items that each user could have been shown.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = None
    level: Annotated[
        float,
        typer.Option(metavar="P", help="Coverage of the intervals.", rich_help_panel=_CONVENTIONS),
    ] = 0.95
    bootstrap: Annotated[
        bool,
        typer.Option(
            "--bootstrap",
            help="Bootstrap the intervals of means (BCa) instead of taking t.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = False
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Of random ties, the bootstrap and the randomisation test.",
            rich_help_panel=_CONVENTIONS,
        ),
    ] = 0

    def check(self) -> None:
        """Refuse what only some measures would look at, before anything is computed."""
        from podium import _check

        _check.seed(self.seed)
        _check.open_fraction(self.level, "level")

    @property
    def names(self) -> list[str]:
        """The measures asked for, or the usual ones."""
        return list(self.measures or DEFAULT_MEASURES)

    def conventions(self) -> RankingOptions:
        """Return the keyword arguments of `podium.data.ranking` that are no column names."""
        options: dict[str, Any] = {
            "ties": self.ties,
            "missing": self.missing,
            "unjudged": self.unjudged,
            "min_relevance": self.min_relevance,
            "seed": self.seed,
        }
        if self.n_items is not None:
            options["n_items"] = self.n_items
        return typing.cast("RankingOptions", options)

    def intervals(self) -> dict[str, Any]:
        """Return the keyword arguments of `podium.measure` about undefined users and intervals."""
        return {
            "undefined": self.undefined,
            "level": self.level,
            "interval": "bootstrap" if self.bootstrap else "t",
        }


def check_target(path: Path | None, option: str, suffixes: tuple[str, ...] | None = None) -> None:
    """Refuse a file that could not be written; by default it must be a table's.

    Where a table may be CSV, a device or a pipe needs no suffix.
    """
    if path is None:
        return
    from podium import _check
    from podium._files import check_writable, is_plain_stream
    from podium.errors import ArgumentError

    suffixes = suffixes or (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".arrow", ".feather")
    is_csv = ".csv" in suffixes and is_plain_stream(path)
    if not is_csv and not path.name.lower().endswith(suffixes):
        raise ArgumentError(f"{option} must end in {_check.listed(suffixes)}, got {str(path)!r}.")
    if path.is_dir():
        raise ArgumentError(f"{option} must be a file, but {path} is a folder.")
    if not path.parent.is_dir():
        raise ArgumentError(f"{option} {path} can't be written: there is no folder {path.parent}.")
    try:
        check_writable(path)
    except OSError as error:
        raise ArgumentError(f"{option} {path} can't be written: {error.strerror}.") from None


def expand(function: Callable[..., None]) -> Callable[..., None]:
    """Let typer see each field of a dataclass parameter as an option of its own."""
    own = inspect.signature(function, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)
    }

    @functools.wraps(function)
    def command(**given: Any) -> None:
        check_paths(shown, given)
        made: dict[str, object] = {
            name: cls(**{f.name: given.pop(f.name) for f in _fields(cls)})
            for name, cls in groups.items()
        }
        function(**given, **made)

    shown = [p for name, p in own.items() if name not in groups]
    shown += [p for cls in groups.values() for p in _parameters(cls)]
    command.__signature__ = inspect.Signature(shown)  # pyright: ignore[reportAttributeAccessIssue]
    command.__annotations__ = {p.name: p.annotation for p in shown}
    return command


def _fields(cls: Any) -> tuple[Field[Any], ...]:
    return fields(cls)


def _parameters(cls: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=hints[f.name],
        )
        for f in _fields(cls)
    ]
