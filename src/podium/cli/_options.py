"""Options as dataclasses: shared options, their expansion for typer, and checks of files."""

from __future__ import annotations

import copy
import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import typer
from typer.models import ParameterInfo

from podium import _check
from podium._fields import FIELDS
from podium._files import Named, check_writable, is_plain_stream, is_stream, refuse_same
from podium.cli import _messages
from podium.cli._help import described
from podium.cli._messages import Sets, metadata, option_name, spelling
from podium.errors import ArgumentError

FORMATS = ("table", "json", "csv", "markdown", "latex")
_FORMAT_OF = {".json": "json", ".md": "markdown", ".xml": "junit"}
OWN_OPTIONS = {"random_state": "--seed", "eval_metric": "--eval-metric", "gain": "--gain"}
"""Options of parameters that --set and --grid refuse: other parts of a command read them too."""
TABLES = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".arrow", ".feather")


WRITTEN = object()
"""A mark in the annotation of an option whose file is written; all other paths are read."""

_USUAL = {
    **{name: field.default for name, field in FIELDS.items() if field.stage == "tables"},
    "value": "the weight of a pair: value, rating, relevance or label",
    "timestamp": "timestamp or time",
    "rating": "rating",
    "weight": "none, so that each event counts 1",
    "target": "above 0 for held-out items: target, is_target, relevance or label",
    "stratum": "listed or drawn: stratum",
    "history": "the number of the user's training items, if they could be drawn too: history, "
    "n_history or n_train",
}
"""The columns that tables may have, and the names by which they are found."""


@dataclass(frozen=True)
class ColumnNames:
    """The option --column: the names of columns that differ from the usual names.

    `roles` are the columns that the tables of a command may have.
    """

    panel: ClassVar[str] = "Column names"
    roles: ClassVar[tuple[str, ...]] = ("user", "item")

    column: list[str] | None = None

    @classmethod
    def annotation(cls) -> Any:
        """Return the annotation of --column."""
        usual = "; ".join(f"{role} ({_USUAL[role]})" for role in cls.roles)
        option = typer.Option(
            metavar="ROLE=NAME",
            help=f"Name of a column, such as user=uid. May be repeated. Default: {usual}.",
        )
        entries = (Sets(role, "NAME", is_entry=True) for role in cls.roles)
        return Annotated[(list[str] | None, *entries, option)]

    def names_by_role(self) -> dict[str, str]:
        """Return the given names, by role."""
        names = texts_by_name(self.column, "--column", "ROLE=NAME")
        return {_check.choice(r, "the ROLE of --column", self.roles): n for r, n in names.items()}

    def name_of(self, role: str) -> str | None:
        """Return the given name of a column, or None."""
        return self.names_by_role().get(role)

    def refuse(self, roles: Iterable[str], why: str) -> None:
        """Refuse names of columns that are not read."""
        for role in self.names_by_role().keys() & {*roles}:
            raise ArgumentError(f"--column {role}=NAME has no effect {why}. Leave it out.")


def format_option(formats: tuple[str, ...]) -> Any:
    """Return the option --format of a command with these formats."""
    return typer.Option(
        help=f"Format of the result on stdout: {', '.join(formats)}.",
        metavar="FORMAT",
        rich_help_panel="Output",
    )


MEASURE = typer.Option("--measure", "-m", rich_help_panel="Options")
OF_RESULT = Sets("result_format")  # the library's parameter format is that of a table
Format: TypeAlias = Annotated[str, OF_RESULT, format_option(FORMATS)]


class Common:
    """Parameters of several commands.

    Parameters
    ----------
    truth : TRUTH
        Truth, a table of relevant items: user, item, relevance.
    run : RUN
        Run, a table of ranked items: user, item, and score or rank.
    users : FILE
        Table of users with the columns for --by.
    catalogue : INTERACTIONS
        Table of past interactions, for coverage@k, gini@k, novelty@k and popularity@k: user, item.
    items : FILE
        Table of items with categories or features, for diversity@k: item, and a column of
        categories (a|b for several) or columns of features. In measure and compare, a column title
        has the titles for --report.
    report : FILE.html
        File to write an HTML report to. The report needs no network.
    """


@dataclass(frozen=True)
class EventFile:
    """Options of a file of events that has no column names, or another form.

    Parameters
    ----------
    columns : A,B,…
        Names of the columns of a text file without a header, such as user,item,rating,timestamp.
        The separator is detected: '::', tab, comma, semicolon, bar or blanks.
    format : FORMAT
        Format of the file, if neither its name nor its content determines it: parquet, csv, tsv,
        arrow, jsonl or lists (a user and the user's items in each line).
    """

    panel: ClassVar[str] = "Column names"

    columns: str | None = None
    format: str | None = None

    @property
    def names(self) -> list[str] | None:
        """The names of --columns."""
        return None if self.columns is None else self.columns.split(",")

    def of_file(self) -> dict[str, Any]:
        """Return the arguments of the reader of events that concern the file."""
        return {"format": self.format, "columns": self.names}


def check_paths(parameters: Iterable[inspect.Parameter], values: Mapping[str, Any]) -> None:
    """Refuse a command that would overwrite a file that it reads, before it does anything.

    Raises
    ------
    ArgumentError
        If a file to write is also read, or if two files to write are the same.
    """
    read: list[Named] = []
    written: list[Named] = []
    for parameter in parameters:
        files = written if WRITTEN in metadata(parameter) else read
        for path in _paths(values.get(parameter.name)):
            files.append(Named(option_name(parameter), path))
    refuse_same(read, written)


def _paths(value: Any) -> list[Path]:
    values = typing.cast("list[Any]", value if isinstance(value, list) else [value])
    return [item for item in values if isinstance(item, Path)]


def texts_by_name(texts: list[str] | None, option: str, form: str) -> dict[str, str]:
    """Divide the texts of an option, such as ``l2=0.1``, at their first equals sign.

    `option` and `form`, such as "NAME=VALUE", are their names in messages.

    Raises
    ------
    ArgumentError
        If a text has no name or no value, a name is repeated, or there is another option for it.
    """
    values: dict[str, str] = {}
    for text in texts or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value or name in values:
            raise ArgumentError(f"{option} must be {form}, each name once, got {text!r}.")
        if name in OWN_OPTIONS:
            raise ArgumentError(f"{option} does not accept {name!r}. Use {OWN_OPTIONS[name]}.")
        values[name] = value
    return values


def check_target(
    path: Path | None,
    option: str,
    suffixes: tuple[str, ...] = TABLES,
    *,
    or_folder: bool = False,
) -> None:
    """Refuse a path that could not be written; by default it must have the suffix of a table.

    If the table may be CSV, a device or a pipe needs no suffix. A folder must be a new one.
    """
    if path is None:
        return
    is_folder = or_folder and is_folder_target(path)
    is_csv = ".csv" in suffixes and is_plain_stream(path)
    if not (is_csv or is_folder or path.name.lower().endswith(suffixes)):
        raise ArgumentError(f"{option} must end in {_check.listed(suffixes)}, got {str(path)!r}.")
    if is_folder and path.exists():
        raise ArgumentError(f"{option} must be a new folder, but {path} exists.")
    if path.is_dir():
        raise ArgumentError(f"{option} must be a file, but {path} is a folder.")
    if not path.parent.is_dir():
        raise ArgumentError(f"{option} {path} can't be written: there is no folder {path.parent}.")
    try:
        check_writable(path)
    except OSError as error:
        raise ArgumentError(f"{option} {path} can't be written: {error.strerror}.") from None


def is_folder_target(path: Path | None) -> bool:
    """Return whether a path to write is that of a folder: it has no suffix and is no stream."""
    return path is not None and not path.suffix and not is_stream(path)


def check_results(
    fail_on: str,
    severities: tuple[str, ...],
    format: str,
    formats: tuple[str, ...],
    out: list[Path],
) -> None:
    """Refuse a wrong --fail-on, --format or --out of a decision, before anything is computed."""
    _check.choice(fail_on, "--fail-on", severities)
    _check.choice(format, "--format", formats)
    for path in out:
        check_target(path, "--out", tuple(s for s, f in _FORMAT_OF.items() if f in formats))


def format_of(path: Path) -> str:
    """Return the format of a file of results by its suffix.

    Examples
    --------
    >>> format_of(Path("gate.md"))
    'markdown'
    """
    name = path.name.lower()
    return next(format for suffix, format in _FORMAT_OF.items() if name.endswith(suffix))


def expand(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command in which each field of a dataclass parameter is an option.

    Section "Parameters" of the docstring gives the metavar and the help of an option: that of the
    command or of the dataclass, else that of `Common`. A field of the protocol needs none. In the
    help, the options of a dataclass are in the panel of its `panel` attribute, unless they have
    their own panel.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @functools.wraps(function)
    def command(**values: Any) -> Any:
        _messages.SPELLING.set(spelling(options))
        check_paths(options, values)
        option_groups: dict[str, object] = {
            name: cls(**{field.name: values.pop(field.name) for field in fields(cls)})
            for name, cls in groups.items()
        }
        return function(**values, **option_groups)

    texts = _COMMON | described(function)
    options = [
        option
        for name, parameter in parameters.items()
        for option in (_options(groups[name]) if name in groups else [_option(parameter, texts)])
    ]
    command.__signature__ = inspect.Signature(options)  # pyright: ignore[reportAttributeAccessIssue]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command


def _options(cls: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(cls, include_extras=True)
    if issubclass(cls, ColumnNames):
        hints["column"] = cls.annotation()
    texts = dict(_COMMON)
    for part in reversed(cls.__mro__):
        texts |= described(part)
    return [
        _option(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=hints[field.name],
            ),
            texts,
            cls.panel,
        )
        for field in fields(cls)
    ]


def _option(
    parameter: inspect.Parameter,
    texts: Mapping[str, tuple[str | None, str]],
    panel: str | None = None,
) -> inspect.Parameter:
    """Return a parameter with what its annotation leaves to the docstring: metavar and help."""
    kind, marks = parameter.annotation, list(metadata(parameter))
    infos = [mark for mark in marks if isinstance(mark, ParameterInfo)]
    parameter = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    if not infos and parameter.name not in texts:
        return parameter  # such as the context
    if infos:
        kind, info = typing.get_args(kind)[0], copy.copy(infos[0])  # commands share an alias
        marks.remove(infos[0])
    else:
        kind = typing.get_args(kind)[0] if marks else kind
        names = [option_name(parameter)] if parameter.default is False else []
        info = typer.Option(*names)
    metavar, text = texts.get(parameter.name, (None, None))
    info.metavar, info.help = info.metavar or metavar, info.help or text
    info.rich_help_panel = info.rich_help_panel or panel
    return parameter.replace(annotation=Annotated[(kind, *marks, info)])


_COMMON = {name: (field.metavar, field.help) for name, field in FIELDS.items()} | described(Common)
