"""Messages on stderr, one line each, in terms of the command line; and progress."""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from typer.exceptions import TyperException

from podium import errors
from podium.errors import PodiumError

if TYPE_CHECKING:
    from podium.types import Progress

_SUFFIXES = ".parquet, .csv, .tsv, .arrow, .trec or .svmlight"

# Options whose name differs from the argument's. The others replace _ by a hyphen.
_RENAMED = {
    "user": "--user-col",
    "item": "--item-col",
    "score": "--score-col",
    "rank": "--rank-col",
    "relevance": "--relevance-col",
    "k": "-k",
    "eval_set": "--valid",
    "valid": "--valid-share",
    "n_folds": "--folds",
    "n_trials": "--budget",
    "n_jobs": "--jobs",
    "time": "--time-col",
    "n_factors": "--factors",
    "n_negatives": "--negatives-per-pair",
    "n_epochs": "--epochs",
    "n_blocks": "--blocks",
}
_ARGUMENTS = (
    *(
        "min_relevance",
        "low_grades",
        "missing",
        "unjudged",
        "undefined",
        "ties",
        "n_items",
        "level",
        "seed",
    ),
    *("unretrieved", "single_precision", "score_above"),
    *("interval", "like", "memory"),
    *("features", "ignore", "by", "users", "loss", "clip", "l2", "learning_rate", "max_iter"),
    *("tol", "patience", "eval_metric", "solver", "start", "split", "catalogue"),
    *("data", "repeats", "jobs", "fresh", "margin", "guard", "sequential", "horizon"),
)
_OPTIONS = {**{name: f"--{name.replace('_', '-')}" for name in _ARGUMENTS}, **_RENAMED}

# Matches name='a', 'b' or 'c'; the value may be missing, such as in "pass user=".
_GIVEN = re.compile(
    rf"(?<![\w'@(,])({'|'.join(_OPTIONS)})="
    r"(?:('[^']*')((?:, '[^']*')*(?: or '[^']*')?)|([-\w]+(?:\.\d+)?|))"
)
_SUBJECT = re.compile(rf"^(?:{'|'.join(_OPTIONS)})(?= must be\b)(?!.* in '[^']*@)")
# Names that are not English words. A name in quotes or in a path is the user's, and is skipped.
_BARE = re.compile(
    r"(?<![\w./'\"=,-])"
    r"(?:an? )?(?P<name>min_relevance|score_above|n_items|learning_rate|max_iter|eval_metric"
    r"|eval_set|n_trials"
    r"|n_factors|n_negatives|n_epochs|n_blocks|tol|l2)"
    r"(?![\w/'\"-]|\.\w)"
)
_FORMAT_CHOICE = re.compile(r"\bPass format= as [^.]*")
_FORMAT = re.compile(r"\bpass format=")
_WIDTH = re.compile(r"\bbut n_features is (\d+)")
_ELSEWHERE = {
    re.compile(r"\buser_items\b"): "INTERACTIONS",
    re.compile(r"\bwithout resume\b"): "without --resume",
    re.compile(r"^address\b"): "--ray",
    re.compile(r"\bLeave out executor\b"): "Leave out --ray",
    re.compile(r"(?<= )\(loss=(?=')"): "(--loss ",
    re.compile(r"\buse rankers\.LightGBMRanker\b"): "use --model lightgbm",
    re.compile(r"\bwith value=(?=[.,])"): "with --value-col",
    re.compile(r": gain='exp2' takes"): ": --gain exp2 takes",
    re.compile(r"\bPass gain='value' or 'one'"): "Pass --gain value or one",
    re.compile(r"^allow and deny leave\b"): "--allow and --deny leave",
    re.compile(r"^(cluster|weight|horizon|state)(?= requires (?:users|sequential)\b)"): r"--\1",
    re.compile(
        r"\brequires (users|state|catalogue|items)(?=, (?:a table|the file)\b)"
    ): r"requires --\1",
    re.compile(r"^(catalogue|items)(?= has no effect\b)"): r"--\1",
    re.compile(
        r"Use it in podium\.measure, podium\.compare or podium\.gate, with (?:catalogue|items)="
    ): "Use it in podium measure, podium compare or podium gate",
    re.compile(r"\bPass a horizon\b"): "Pass --horizon",
    re.compile(r"\bpass columns= of read_interactions"): "name them with --columns",
    re.compile(r"\bcolumns(?= (?:must (?:name|be left)|has \d+ names)\b)"): "--columns",
    re.compile(r"\bLeave columns= out\b"): "Leave --columns out",
    re.compile(r"^guard names\b"): "--guard names",
    re.compile(r"^measure and guards name\b"): "--measure and --guard name",
}
_WITH_COLUMNS = ("split", "train", "factorize")
_OF_GRID = re.compile(r"\bgrid\['(?:loss__)?(\w+)'\]")
_NONE = re.compile(r" or None(?: \(the whole list\))?(?=,)")
_TWICE = re.compile(r"(-\S+ \S+) \(\1\)")

_OF_ESTIMATE = {
    "n_items": "--items",
    "n_negatives": "--negatives",
    "n_bootstrap": "--resamples",
    "estimator": "--method",
    "Pass replacement=True": "Leave out --no-replacement",
    "replacement=False": "--no-replacement",
    "measures": "-m",
    "stages": "--stages",
    "stages=": "--stages",
    "target=": "--target-col",
    "ties=": "--ties",
    "kind=": "--scores",
    "mixed=True": "--mixed",
    "own_target='drop'": "--drop-own",
    "negatives=": "--negatives-file",
    "seen_candidates='drop'": "--drop-seen",
    "seen=": "--seen",
}
_GIVEN_TO_ESTIMATE = "|".join(name for name in _OF_ESTIMATE if "=" in name)
_ESTIMATE_NAMES = re.compile(
    r"(?<![\w./'\"=-])(?:(?P<bare>n_items|n_negatives|n_bootstrap|stages)(?![\w/'\"=-]|\.\w)"
    r"|(?P<first>^(?:estimator|measures(?= names)))\b"
    rf"|(?P<given>{_GIVEN_TO_ESTIMATE}))"
)
_COLUMN = re.compile(r"\bcolumns\['(\w+)'\]")
_OF_PLAN = {"n_users": "--users", "n_repeats": "--repeats"}
_PLAN_NAMES = re.compile(rf"(?<![\w./'\"=-])({'|'.join(_OF_PLAN)})(?![\w/'\"-]|\.\w)")
_OF_GATE = {
    re.compile(r"^measure and guards\b(?= name)"): "--measure and --guard",
    re.compile(r"^(guard|horizon|margin|measure|weight)\b(?= (?:must|names)\b)"): r"--\1",
    re.compile(r"\bsequential=True\b"): "--sequential",
    re.compile(r"^(cluster|horizon|state|users|weight)\b(?= (?:has|requires)\b)"): r"--\1",
    re.compile(r"^(state)\b(?= .+ (?:is a folder|is in a folder|was begun)\b)"): r"--\1",
    re.compile(r"(?<=requires )(state|users)\b(?=, )"): r"--\1",
    re.compile(r"(?<=\bPass )(horizon|users)\b(?= to|,| too)"): r"--\1",
    re.compile(r"\. (cluster|weight)\b(?= needs a value)"): r". --\1",
    re.compile(r"(?<=, because )by, cluster and weight\b(?= name)"): "--by, --cluster and --weight",
}
_OF_SPLIT = {
    re.compile(
        r"^(test|valid|at|valid_at|seed|least|group|by)\b(?= (?:must|has|and|exclude))"
    ): None,
    re.compile(r"\b(by|least|at|valid_at|test)=(?:'([^']*)'|(\d+))?"): None,
    re.compile(r"\btimestamp="): "--time-col",
    re.compile(r"(?<=Change )test and valid\b"): "--test and --valid",
    re.compile(r"(?<= )valid_at(?=,| )"): "--valid-at",
    re.compile(r"^the part (?=.* is the same file)"): "--out ",
    re.compile(r"\bthe table (?=.*which is read)"): "EVENTS ",
    re.compile(r"\btest \+ valid must\b"): "--test + --valid must",
    re.compile(r" for group\."): " for --group-col.",
    re.compile(r"\band (at|valid_at)(?= exclude\b)"): r"and --\1",
    re.compile(r"\bformat must\b"): "--format must",
}
_PLAN_FIRST = re.compile(r"^(error|expect|pilot|sizes)\b(?= (?:must|is)\b)")

_PAUSE = 0.05  # seconds between two updates, because a solver's step may take microseconds


def say(text: str) -> None:
    """Write one line to stderr."""
    print(f"podium: {errors.one_line(text)}", file=sys.stderr)


def one_line(error: Exception) -> str:
    """Return the text of an error on one line, with options in place of the library's arguments."""
    if isinstance(error, OSError) and error.strerror:
        prefix = f"{error.filename}: " if error.filename else ""
        return f"{prefix}{error.strerror}."
    return as_options(errors.one_line(str(error) or type(error).__name__))


def warning(text: str) -> str:
    """Return a warning on one line, with options in place of the library's arguments."""
    return as_options(errors.one_line(text).removeprefix("LinearRanker "))


def of_command(text: str, command: str) -> str:
    """Return a message without the options that a command lacks.

    Examples
    --------
    >>> of_command("Insert a line, or name them with --columns.", "measure")
    'Insert a line.'
    """
    return text if command in _WITH_COLUMNS else text.replace(", or name them with --columns", "")


def usage(error: TyperException) -> str:
    """Return the error in the arguments, and the command that lists the right ones."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "podium"
    message = errors.one_line(error.format_message())
    full_stop = "" if message.endswith((".", "?")) else "."
    return f"{message}{full_stop} See '{command} --help'."


def as_options(text: str) -> str:
    """Replace the library's arguments by options, such as ``missing='zero'`` by ``--missing zero``.

    Examples
    --------
    >>> as_options("Pass missing='zero' or n_items=100.")
    'Pass --missing zero or --n-items 100.'
    >>> as_options("tol must be a number >= 0, got -1. Raise max_iter, or pass clip=True.")
    '--tol must be a number >= 0, got -1. Raise --max-iter, or pass --clip.'
    """
    text = _FORMAT_CHOICE.sub(f"Give the file one of the suffixes {_SUFFIXES}", text)
    text = _FORMAT.sub(f"give it the suffix of its format ({_SUFFIXES})", text)
    text = _WIDTH.sub(r"but the model has \1", text)
    for name, replacement in _ELSEWHERE.items():
        text = name.sub(replacement, text)
    text = _OF_GRID.sub(r"--grid \1", text)
    text = _SUBJECT.sub(lambda match: _OPTIONS[match.group()], _GIVEN.sub(_option, text))
    text = _BARE.sub(lambda match: _OPTIONS[match["name"]], text)
    return _TWICE.sub(r"\1", _NONE.sub("", text))


def _option(match: re.Match[str]) -> str:
    name, first, more, bare = match.groups()
    value = f"{first}{more}".replace("'", "") if first else bare
    return _OPTIONS[name] if value in ("", "True") else f"{_OPTIONS[name]} {value}"


def of_estimate(text: str) -> str:
    """Replace the library's arguments by options of `podium estimate`.

    Examples
    --------
    >>> of_estimate("n_negatives must be below n_items, got 9 of 9 items.")
    '--negatives must be below --items, got 9 of 9 items.'
    """
    text = _ESTIMATE_NAMES.sub(lambda match: _OF_ESTIMATE[match.group()], text)
    return _COLUMN.sub(r"--\1-col", text)


def of_plan(text: str) -> str:
    """Replace the library's arguments by options of `podium plan`.

    Examples
    --------
    >>> of_plan("error must be a number > 0, got 0. n_users is 5 of n_items.")
    '--error must be a number > 0, got 0. --users is 5 of --items.'
    """
    text = _PLAN_FIRST.sub(lambda match: f"--{match[1]}", of_estimate(text))
    return _PLAN_NAMES.sub(lambda match: _OF_PLAN[match[1]], text)


def of_gate(text: str) -> str:
    """Replace the library's arguments by options of `podium gate`.

    Examples
    --------
    >>> of_gate("users has no effect, because by, cluster and weight name none of its columns.")
    '--users has no effect, because --by, --cluster and --weight name none of its columns.'
    """
    for name, option in _OF_GATE.items():
        text = name.sub(option, text)
    return text


def of_split(text: str) -> str:
    """Replace the library's arguments by options of `podium split`.

    Examples
    --------
    >>> of_split("seed has no effect with by='time'. Leave it out.")
    '--seed has no effect with --by time. Leave it out.'
    """
    for name, option in _OF_SPLIT.items():
        text = name.sub(_split_option if option is None else option, text)
    return text.replace("--group has", "--group-col has")


def _split_option(match: re.Match[str]) -> str:
    name, *values = match.groups()
    value = next((text for text in values if text is not None), "")
    return f"--{name.replace('_', '-')} {value}".rstrip()


@contextmanager
def naming_options(rewrite: Callable[[str], str] = of_estimate) -> Generator[None]:
    """Rewrite errors and warnings of the block with the options of a command."""
    show = warnings.showwarning

    def show_rewritten(message: Warning | str, category: type[Warning], *place: Any) -> None:
        show(rewrite(str(message)), category, *place)

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_rewritten
            yield
    except PodiumError as error:
        raise type(error)(rewrite(str(error))) from error


@contextmanager
def progress(title: str, unit: str = "") -> Generator[Progress]:
    """Yield a progress callback that draws a bar on a terminal and does nothing in a pipe.

    With a unit, such as "rows", the bar shows how many are done per second, and the time left. The
    bar disappears when the block ends, also after an error.
    """
    if not sys.stderr.isatty():
        from podium.progress import silent

        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = [
        TextColumn(title),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %") if unit else MofNCompleteColumn(),
        TextColumn("{task.description}"),
        *([TimeRemainingColumn()] if unit else []),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        last_update, start = 0.0, time.monotonic()

        def show(done: int, total: int, note: str) -> None:
            nonlocal last_update
            now = time.monotonic()
            if unit and now > start:
                note = f"{note}, {done / (now - start) / 1e6:.1f} million {unit}/s"
            if now - last_update >= _PAUSE or done == total:
                last_update = now
                bar.update(task, completed=done, total=total, description=note)

        yield show
