"""Runs as files or on stdout, written piece by piece and shown once they are whole."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.data.appending import Append

_TREC = (".trec", ".trec.gz")
SUFFIXES = (
    *(".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".arrow", ".feather"),
    *_TREC,
)
"""Of a run's file."""


@contextmanager
def opened(out: Path | None) -> Generator[Append]:
    """Give a function that adds rows: columns of users, items and scores, best first.

    A user's rows come at once, and users one after another. Without a path they go to stdout as
    CSV.
    """
    from podium.data.appending import append_table
    from podium.data.trec import append_trec

    if out is None:
        opening = _stdout()
    elif out.name.lower().endswith(_TREC):
        opening = append_trec(out)
    else:
        opening = append_table(out)
    with opening as append:
        yield append


@contextmanager
def _stdout() -> Generator[Append]:
    """Print nothing before the block has succeeded."""
    from podium.data.appending import text_appender

    with tempfile.TemporaryFile() as file:
        yield text_appender(file)
        file.seek(0)
        with open(file.fileno(), encoding="utf-8", newline="", closefd=False) as text:
            shutil.copyfileobj(text, sys.stdout)
