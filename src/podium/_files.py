"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Give a path beside `path`, whose file takes the place of `path` when the block succeeds.

    The file is on the disk before it is moved. Where anything fails, a full disk too, the file
    that was there stays, and nothing is left beside it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as beside:
    ...         n_letters = beside.write_text("whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    # The suffixes stay at the end, for writers that read the format off the name.
    beside = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
