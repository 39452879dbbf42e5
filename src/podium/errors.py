"""The errors and warnings of podium.

::

    PodiumError
    ├── ArgumentError (also ValueError)      an argument is wrong: its name, its value, what to do
    │   ├── DataError                        a file or table is wrong: the file, where, what to do
    │   │   └── ScatteredQueriesError        the rows of a query are not adjacent in a stream
    │   └── UnsettledError                   a list is too short for the requested measure
    ├── MissingExtraError (also ImportError) an optional dependency is not installed
    ├── ForkError (also RuntimeError)        a forked process lacks the threads of its parent
    └── WorkerLost (also RuntimeError)       a worker of a cluster was lost, with its work
        └── NoWorkerError                    no worker started

    PodiumWarning (UserWarning)
    ├── ConvergenceWarning                   a solver stopped early, with the reason
    └── CostWarning                          a computation takes very long, with its size

Each message is a single line, whatever it quotes.
"""

import inspect
import os
import re
import warnings
from pathlib import Path

from podium._message import Message, Spelling, in_python

_HERE = f"{Path(__file__).parent}{os.sep}"
_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_LONGEST = 1500  # characters of a message; longer messages are cut in the middle
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


class _MessageError(Exception):
    """An exception whose message names parameters as data, by the marks of `podium._message`."""

    def __init__(self, message: str = "") -> None:
        self.message = Message(message)
        super().__init__(self.render())

    @property
    def template(self) -> str:
        """The message with the names of parameters in braces."""
        return self.message.template

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


class ScatteredQueriesError(DataError):
    """The rows of a query are not adjacent, as a stream requires. The message names the line."""


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


class CostWarning(PodiumWarning):
    """A computation takes very long. The message states its size and a cheaper alternative."""


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
