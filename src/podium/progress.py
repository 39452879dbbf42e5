"""Progress: what long work calls as it goes, so that whoever started it can show it.

A callback takes (done, total, note) and returns nothing. Work calls it from the thread that was
asked to do the work, never more than once a step, and last with done == total where it ended
as planned. Drawing belongs to the caller: the terminal's bar lives in the command line.

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
    """Return the callback, or `silent` where there is none."""
    if progress is not None and not callable(progress):
        raise ArgumentError(
            f"progress must be a function of (done, total, note), got {progress!r}."
        )
    return silent if progress is None else progress
