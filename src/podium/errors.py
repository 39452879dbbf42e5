"""The errors and warnings of podium.

::

    PodiumError
    ├── ArgumentError (also ValueError)      an argument is wrong: its name, its value, what to do
    │   ├── DataError                        a file or table is wrong: the file, where, what to do
    │   └── UnsettledError                   a list is too short for the requested measure
    ├── MissingExtraError (also ImportError) an optional dependency is not installed
    ├── ForkError (also RuntimeError)        a forked process lacks the threads of its parent
    └── WorkerLost (also RuntimeError)       a worker of a cluster was lost, with its work
        └── NoWorkerError                    no worker started

    PodiumWarning (UserWarning)
    └── ConvergenceWarning                   a solver stopped early, with the reason

Each message is a single line, whatever it quotes. It marks the parameters that it names, because
each surface has its own names for them: Python shows ``missing='zero'``, the command line
``--missing zero``::

    raise ArgumentError(f"{arg.users} is empty. Leave it out, or pass {arg.missing('skip')}.")

A mark is a name and its values between control characters, which `Message` reads again.
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

_HERE = f"{Path(__file__).parent}{os.sep}"
_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_LONGEST = 1500  # characters of a message; longer messages are cut in the middle
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_START, _NEXT, _END = "\x02", "\x1f", "\x03"
_HINT, _HINT_END = "\x0e", "\x0f"


@dataclass(frozen=True)
class Parameter:
    """A parameter in a message: named alone (None), with values, or () to be passed with any value.

    In Python, texts are quoted.
    """

    name: str
    values: tuple[str, ...] | None = None

    def __call__(self, *values: object) -> Parameter:
        """Return the parameter with these values; with none, as one that the caller can pass."""
        return Parameter(self.name, tuple(map(_literal, values)))

    def __str__(self) -> str:
        """Return the mark."""
        return f"{_START}{_NEXT.join((self.name, *self._listed()))}{_END}"

    def _listed(self) -> tuple[str, ...]:
        return () if self.values is None else (self.values or ("",))

    @classmethod
    def marked(cls, mark: str) -> Parameter:
        """Return the parameter of a mark without its first and last character."""
        name, *values = mark.split(_NEXT)
        return cls(name, tuple(filter(None, values)) if values else None)

    def plain_values(self) -> list[str]:
        """Return the values without quotes."""
        return [text.strip("'\"") for text in self.values or ()]


def _literal(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


class _Parameters:
    """The parameters by name, as attributes, or as items if the name is in a variable.

    ``arg["grid", name]`` is an entry of a parameter.
    """

    def __getattr__(self, name: str) -> Parameter:
        if name.startswith("_"):
            raise AttributeError(name)  # such as __wrapped__, for which inspect looks
        return Parameter(name)

    def __getitem__(self, name: str | tuple[str, object]) -> Parameter:
        return Parameter(name if isinstance(name, str) else f"{name[0]}[{name[1]!r}]")


arg = _Parameters()
"""The parameters of the library for messages: ``{arg.missing}``, ``{arg.missing('zero')}``."""

Spelling: TypeAlias = Callable[[Parameter], str | None]
"""How a surface shows a parameter; None if it has no name for it."""


def hint(text: str) -> str:
    """Mark a part that is left out where a surface lacks a parameter in it.

    A part that names no parameter is for Python alone.
    """
    return f"{_HINT}{text}{_HINT_END}"


def in_python(parameter: Parameter) -> str:
    """Return a parameter as Python shows it.

    Examples
    --------
    >>> in_python(arg.missing("zero", "skip")), in_python(arg.format()), in_python(arg.k)
    ("missing='zero' or 'skip'", 'format=', 'k')
    """
    if parameter.values is None:
        return parameter.name
    return f"{parameter.name}={alternatives(parameter.values)}"


def alternatives(texts: tuple[str, ...] | list[str]) -> str:
    """Return "a, b or c"."""
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


@dataclass(frozen=True)
class Message:
    """A sentence that names parameters.

    Examples
    --------
    >>> message = Message(f"2 users are missing. Pass {arg.missing('zero')}.")
    >>> message.render()
    "2 users are missing. Pass missing='zero'."
    >>> message.parameters
    ('missing',)
    """

    text: str
    """The text with its marks."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, each once."""
        parameters = [part for part in _parts(self.text) if isinstance(part, Parameter)]
        return tuple(dict.fromkeys(parameter.name for parameter in parameters))

    def render(self, spelling: Spelling = in_python) -> str:
        """Return the text with the names of a surface; a name that it lacks is Python's."""
        texts: list[str] = []
        for place, piece in enumerate(self.text.split(_HINT)):
            inner, end, rest = piece.partition(_HINT_END) if place else ("", "", piece)
            if end and _is_shown(inner, spelling):
                texts.append(inner)
            texts.append(rest if end or not place else piece)
        return "".join(
            part if isinstance(part, str) else spelling(part) or in_python(part)
            for part in _parts("".join(texts))
        )


def _is_shown(text: str, spelling: Spelling) -> bool:
    parameters = [part for part in _parts(text) if isinstance(part, Parameter)]
    if not parameters:
        return spelling is in_python
    return all(spelling(parameter) is not None for parameter in parameters)


def _parts(text: str) -> Iterator[str | Parameter]:
    """Yield the pieces of a text; a mark that does not end is text."""
    first, *others = text.split(_START)
    yield first
    for piece in others:
        mark, end, rest = piece.partition(_END)
        yield Parameter.marked(mark) if end else mark
        yield rest


class _MessageError(Exception):
    """An exception whose message names parameters as data, by their marks."""

    def __init__(self, message: str = "") -> None:
        self.message = Message(message)
        super().__init__(self.render())

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters in the message."""
        return self.message.parameters

    def render(self, spelling: Spelling = in_python) -> str:
        """Return the message on one line, with the names of parameters on another surface."""
        return one_line(self.message.render(spelling))


class PodiumError(_MessageError):
    """Base class of all errors that podium raises deliberately."""


class ArgumentError(PodiumError, ValueError):
    """An argument is wrong. The message names it, quotes its value and says what to do."""


class DataError(ArgumentError):
    """A file or table is wrong. The message names the file, the line or column, and what to do."""


class UnsettledError(ArgumentError):
    """Lists are too short for a measure. The message states how many, and the required length."""


class MissingExtraError(PodiumError, ImportError):
    """An optional dependency is missing. The message contains the command that installs it."""


class ForkError(PodiumError, RuntimeError):
    """A process was forked after a library had started threads, and would wait for them forever."""


class WorkerLost(PodiumError, RuntimeError):  # noqa: N818 (the caller made no error)
    """A worker of a cluster and everything that it held were lost. The caller made no error."""


class NoWorkerError(WorkerLost):
    """No worker of a cluster started. The message contains the reason if a worker reported one."""


class PodiumWarning(_MessageError, UserWarning):  # noqa: N818 (a warning is no error)
    """Base class of all warnings that podium gives deliberately."""


class ConvergenceWarning(PodiumWarning):
    """A solver stopped before it converged. The message states the reason and what to change."""


def warn(message: str, kind: type[PodiumWarning] = PodiumWarning) -> None:
    """Give a warning at the line that called podium, however deep the call is."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(kind(message), stacklevel=level)


def one_line(text: str) -> str:
    r"""Return a text as one line of bounded length, without control characters.

    Quoted text can be long or contain characters that move the cursor.

    Examples
    --------
    >>> one_line("a file of\n  two lines")
    'a file of two lines'
    >>> len(one_line("x" * 70000))
    1500
    """
    line = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", _BREAKS.sub(" ", text.strip()))
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 + 3 :]}"
