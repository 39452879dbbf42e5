"""The origin of a report: the command, the versions, the time, and the files with their hashes."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from podium.report._types import File, Provenance

_EPOCH = "SOURCE_DATE_EPOCH"
"""The variable with the time of reproducible builds, in seconds since 1970."""


def provenance(
    files: Iterable[str | os.PathLike[str]] = (), *, command: str = "", seed: int | None = None
) -> Provenance:
    """Return the origin of a report. Its time is SOURCE_DATE_EPOCH if that is set, otherwise now.

    Parameters
    ----------
    files : iterable of path
        The files that were read.
    command : str
        The command.
    seed : int, optional
        The seed of random numbers.

    Returns
    -------
    dict
        A `podium.report.Provenance`.

    Raises
    ------
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> provenance(command="podium demo")["facts"]["command"]
    'podium demo'
    """
    from podium import __version__

    facts = {
        "command": command or None,
        "seed": seed,
        "podium": __version__,
        "Python": platform.python_version(),
        "time": f"{_now():%Y-%m-%d %H:%M} UTC",
    }
    return {
        "facts": {name: value for name, value in facts.items() if value is not None},
        "files": [_file(Path(file)) for file in files],
    }


def _now() -> datetime:
    seconds = os.environ.get(_EPOCH, "")
    return datetime.fromtimestamp(int(seconds), UTC) if seconds.isdecimal() else datetime.now(UTC)


def _file(path: Path) -> File:
    if not path.is_file():  # a folder or a pipe
        return {"name": str(path), "size": None, "sha256": None}
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"name": str(path), "size": path.stat().st_size, "sha256": digest}
