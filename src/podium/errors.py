"""What podium raises and warns about.

::

    PodiumError
    ├── ArgumentError (also ValueError)      an argument is wrong: its name, what came, what to do
    │   ├── DataError                        a file or table is wrong: the file, where, what to do
    │   │   └── ScatteredQueriesError        a stream of rows meets a query again
    │   └── UnsettledError                   a list is too short for the measure that was asked for
    ├── MissingExtraError (also ImportError) an optional dependency is not installed
    └── WorkerLost (also RuntimeError)       a worker of a cluster has gone, and its work with it

    PodiumWarning (UserWarning)
    └── ConvergenceWarning                   a solver stopped early: it quotes the reason
"""


class PodiumError(Exception):
    """Root of all errors that podium raises on purpose."""


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


class WorkerLost(PodiumError, RuntimeError):  # noqa: N818 (nothing was done wrong)
    """A worker has gone, and what it held with it; nothing else is wrong."""


class PodiumWarning(UserWarning):
    """Root of all warnings that podium gives on purpose."""


class ConvergenceWarning(PodiumWarning):
    """A solver stopped before it converged: the text quotes the reason and what to change."""
