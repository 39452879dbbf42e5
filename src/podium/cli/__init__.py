"""The command line: each command parses its options, calls the library, and prints the result.

Only the result goes to stdout; messages and progress go to stderr. The exit status is 0 on
success, 2 if an argument or a file is wrong (one line describes the error), and 130 after an
interrupt. `podium gate` also has the statuses 1 (fail) and 3 (cannot tell), `podium audit` the
status 1 (a fault), and `podium explain` the status 1 (no conventions give the value).
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException

from podium import __version__
from podium.cli import _messages, _reports
from podium.cli._help import shorten, summary
from podium.cli._options import expand
from podium.cli.audit import audit
from podium.cli.compare import compare
from podium.cli.demo import demo
from podium.cli.estimate import estimate
from podium.cli.explain import explain
from podium.cli.gate import gate
from podium.cli.measure import measure
from podium.cli.plan import plan
from podium.cli.protocol import protocol
from podium.cli.rank import rank
from podium.cli.recommend import recommend
from podium.cli.reproduce import reproduce
from podium.cli.split import split
from podium.cli.train import train
from podium.errors import PodiumError, PodiumWarning

__all__ = ["app", "main"]

_WRONG, _BROKEN_PIPE, _INTERRUPTED = 2, 1, 130


class _Command(TyperCommand):
    """A command whose help shows no type for flags, which take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, including --help."""
        return _untyped(super().get_params(ctx))


class _Group(TyperGroup):
    """The group of all commands, with the options of the program itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, including --help."""
        return _untyped(super().get_params(ctx))


def _untyped(params: list[Any]) -> list[Any]:
    for parameter in params:
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = ""
    return params


app = typer.Typer(
    name="podium",
    cls=_Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = {
    "Prepare": (split,),
    "Evaluate": (measure, compare, protocol),
    "Decide": (gate, audit, explain),
    "Train": (train, rank),
    "Recommend": (recommend,),
    "Estimate from sampled candidates": (estimate, plan),
    "Reproduce": (demo, reproduce),
}
"""The commands by job."""

for job, commands in COMMANDS.items():
    for command in commands:
        app.command(cls=_Command, help=summary(command), rich_help_panel=job)(expand(command))


@app.callback(invoke_without_command=True)
def podium(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Measure the top of ranked lists, and train models for it."""
    del debug  # main reads it, before the arguments are parsed
    if version:
        typer.echo(f"podium {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments without the program name; those of the process by default.

    Raises
    ------
    SystemExit
        If the command ends, in every case; its code is the exit status.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    sys.exit(_run([word for word in arguments if word != "--debug"], debug=debug))


def _run(argv: Sequence[str], *, debug: bool) -> int:
    """Return the exit status; each error becomes one line."""
    try:
        with _plain_warnings():
            status = _call(argv)
        sys.stdout.flush()  # flush here, where a closed pipe is still handled
    except TyperException as error:
        return _fail(_messages.usage(error))
    except BrokenPipeError:
        return _reader_gone()
    except (PodiumError, OSError, MemoryError) as error:
        if debug:
            traceback.print_exc()
        return _fail(_messages.one_line(error))
    except KeyboardInterrupt:
        status = _INTERRUPTED
    if status == _INTERRUPTED:
        _messages.say("interrupted.")
    return status


def _call(argv: Sequence[str]) -> int:
    """Run a command; typer converts an interrupt and --help into a status."""
    _reports.ARGUMENTS.set(list(argv))
    words = ["--help" if word == "--help-all" else word for word in argv]
    group = _group(is_short="--help-all" not in argv)
    result = group.main(words, prog_name="podium", standalone_mode=False)
    return result if isinstance(result, int) else 0


@functools.cache
def _group(*, is_short: bool) -> Any:
    """Return all commands, with the help of most uses or of every option."""
    group: Any = typer.main.get_command(app)
    if is_short:
        for name, command in group.commands.items():
            shorten(name, command)
    return group


def _fail(message: str) -> int:
    _messages.say(f"error: {message}")
    return _WRONG


def _reader_gone() -> int:
    """Redirect stdout to null, so that the flush at the interpreter's exit raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BROKEN_PIPE


@contextmanager
def _plain_warnings() -> Generator[None]:
    """Show podium's own warnings as one line each, and each text only once."""
    shown_texts: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: object) -> None:
        if isinstance(message, PodiumWarning):
            text = _messages.one_line(message)
            if text not in shown_texts:
                _messages.say(f"warning: {text}")
            shown_texts.add(text)
        else:
            default_show(message, category, *place)  # pyright: ignore[reportArgumentType]

    with warnings.catch_warnings():
        warnings.simplefilter("always", PodiumWarning)
        default_show, warnings.showwarning = warnings.showwarning, show
        yield
