"""Progress callbacks: long computations call them, and the caller can show the progress.

A callback takes (done, total, note) and returns nothing. It is called in the thread that started
the computation, at most once per step. If the computation ends as planned, the last call has
done == total. A callback can draw the progress. The progress bar in the terminal is a callback of
the command line.

Examples
--------
>>> def dots(done, total, note):
...     print(f"{done}/{total} {note}")
>>> report = or_silent(dots)
>>> report(1, 2, "objective 0.7")
1/2 objective 0.7
"""

from __future__ import annotations

from podium.errors import ArgumentError
from podium.types import Progress


def silent(done: int, total: int, note: str) -> None:
    """Show nothing."""


def or_silent(progress: Progress | None) -> Progress:
    """Return the callback, or `silent` if it is None."""
    if progress is not None and not callable(progress):
        raise ArgumentError(
            f"progress must be a function of (done, total, note), got {progress!r}."
        )
    return silent if progress is None else progress
