"""What podium raises and warns about.

::

    PodiumError
    ├── ArgumentError (also ValueError)      an argument is wrong: its name, what came, what to do
    │   ├── DataError                        a file or table is wrong: the file, where, what to do
    │   │   └── ScatteredQueriesError        a stream of rows meets a query again
    │   └── UnsettledError                   a list is too short for the measure that was asked for
    ├── MissingExtraError (also ImportError) an optional dependency is not installed
    ├── ForkError (also RuntimeError)        a forked process lacks the threads of its parent
    └── WorkerLost (also RuntimeError)       a worker of a cluster has gone, and its work with it
        └── NoWorkerError                    none began to take the work

    PodiumWarning (UserWarning)
    ├── ConvergenceWarning                   a solver stopped early: it quotes the reason
    └── CostWarning                          what was asked for takes very long: it says how much

A message is one line, whatever it quotes.
"""

import re

_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_LONGEST = 1500  # letters of a message; what is quoted in the middle of a longer one is cut
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


class PodiumError(Exception):
    """Root of all errors that podium raises on purpose."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(one_line(each) if isinstance(each, str) else each for each in args))


class ArgumentError(PodiumError, ValueError):
    """An argument is wrong: the text names it, says what came, and what to do."""


class DataError(ArgumentError):
    """A file or table is wrong: the text names the file, the line or column, and what to do."""


class ScatteredQueriesError(DataError):
    """A query's rows do not lie together, which a stream needs: the text names the line."""


class UnsettledError(ArgumentError):
    """Lists are too short for a measure: the text says how many, and how long they must be."""


class MissingExtraError(PodiumError, ImportError):
    """An optional dependency is missing: the text gives the command that installs it."""


class ForkError(PodiumError, RuntimeError):
    """A process was forked after a library had begun threads, and would wait for them for ever."""


class WorkerLost(PodiumError, RuntimeError):  # noqa: N818 (nothing was done wrong)
    """A worker has gone, and what it held with it; nothing else is wrong."""


class NoWorkerError(WorkerLost):
    """No worker of a cluster began: the text says why, if any of them said so."""


class PodiumWarning(UserWarning):
    """Root of all warnings that podium gives on purpose."""


class ConvergenceWarning(PodiumWarning):
    """A solver stopped before it converged: the text quotes the reason and what to change."""


class CostWarning(PodiumWarning):
    """What was asked for takes very long: the text gives the number, and what takes less."""


def one_line(text: str) -> str:
    r"""Return text on one line: what a message quotes may be long, or move the cursor.

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
