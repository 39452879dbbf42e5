"""The limit of memory for tables, and what measures their parts."""

from __future__ import annotations

import os
import re
from pathlib import Path

from podium.errors import ArgumentError, arg
from podium.executors import Executor
from podium.executors.local import or_threads
from podium.progress import or_silent
from podium.types import Progress

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
_LEAST = 1 << 16
_UNLIMITED = 1 << 50  # a limit of a container above this is none
_UNKNOWN = 4 << 30  # the memory of a machine that does not state it


class Storage:
    """The limit of memory for tables, and the executor of their parts.

    Parquet and Arrow files that need more memory are measured in parts, with the same values. Rows
    that the files do not keep together by user go through spill files in the system's temporary
    folder, which the environment variable TMPDIR sets. They are always removed.

    Parameters
    ----------
    memory : int or str, optional
        The memory for tables, in bytes or as text, such as "4GiB". Default: half of what is
        available.
    executor : Executor, optional
        The executor of the parts, such as ``Ray("auto")`` on a cluster. All tables are then
        measured in parts. Its workers must see the files and the temporary folder.
    progress : callable, optional
        A function of (rows done, all rows, note); see `podium.progress`. It is called only for
        tables that are measured in parts.

    Raises
    ------
    ArgumentError
        If memory is not a size, or executor is not an executor.
    """

    def __init__(
        self,
        memory: int | str | None = None,
        *,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        is_stated = memory is not None
        self.memory = size_in_bytes(memory, "memory") if is_stated else available_memory() // 2
        self.executor, self.always_in_parts = or_threads(executor), executor is not None
        self.progress = or_silent(progress)


def size_in_bytes(size: int | str, name: str) -> int:
    """Return a size in bytes: a number, or a text such as "4GiB" or "500 MB".

    Raises
    ------
    ArgumentError
        If it is another text, or less than 64 KiB.

    Examples
    --------
    >>> size_in_bytes("4GiB", "memory") == 4 * 2**30, size_in_bytes("500 MB", "memory")
    (True, 500000000)
    """
    match = _SIZE.fullmatch(str(size).strip())
    n_bytes = 0
    if match and not isinstance(size, bool):
        base = 1024 if match[3] or not match[2] else 1000
        n_bytes = int(float(match[1]) * base ** " KMGT".index(match[2].upper() or " "))
    if n_bytes < _LEAST:
        raise ArgumentError(
            f"{arg[name]} must be a size of at least 64 KiB, such as '4GiB', got {size!r}."
        )
    return n_bytes


def available_memory() -> int:
    """Return the bytes that this process can use without swapping, also in a container."""
    limits = [_cgroup_room(), _memory_available()]
    return min([limit for limit in limits if limit], default=_UNKNOWN)


def _memory_available() -> int | None:
    text = _text("/proc/meminfo")
    match = re.search(r"MemAvailable:\s+(\d+) kB", text)
    if match:
        return int(match[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):  # on Windows, and where a name is unknown
        return None


def _cgroup_room() -> int | None:
    """Return the memory that a container has left."""
    limit, used = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    if not limit.isdecimal() or int(limit) > _UNLIMITED:
        return None
    return max(int(limit) - int(used or 0), _LEAST)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
