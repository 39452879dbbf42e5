"""Runs as files or on stdout, written piece by piece and shown once they are whole."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from podium.data.appending import Append

_TREC = (".trec", ".trec.gz")
SUFFIXES = (
    *(".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".arrow", ".feather"),
    *_TREC,
)
"""Of a run's file."""

_TAG = "podium"


@contextmanager
def opened(out: Path | None) -> Generator[Append]:
    """Give a function that adds rows: columns of users, items and scores, best first.

    A user's rows come at once, and users one after another. Without a path they go to stdout as
    CSV.
    """
    from podium.data.appending import append_table

    if out is None:
        opening = _stdout()
    elif out.name.lower().endswith(_TREC):
        opening = _trec(out)
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


@contextmanager
def _trec(out: Path) -> Generator[Append]:
    """Write ``qid Q0 docid rank score tag``, ranks from 1."""
    from podium.data import atomic

    with atomic(out) as place, place.open("wb") as raw:
        packed = out.suffix.lower() == ".gz"
        # Without a name and a time in its header, equal runs give equal files.
        zipped = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else nullcontext(raw)
        with zipped as file:
            target = cast("IO[bytes]", file)
            yield lambda columns: (target.write(_trec_lines(columns, out)), None)[1]


def _trec_lines(columns: Mapping[str, Any], out: Path) -> bytes:
    import numpy as np

    users, items, scores = (np.asarray(column) for column in columns.values())
    for name, ids in zip(columns, (users, items), strict=False):
        _refuse_blanks(ids, name, out)
    first = np.append(True, users[1:] != users[:-1])[: users.size]
    starts = np.flatnonzero(first)
    ranks = np.arange(users.size) - np.repeat(starts, np.diff(starts, append=users.size)) + 1
    # The shortest text that reads back as the same number, of 32 bits or of 64.
    rows = zip(
        users.tolist(), items.tolist(), ranks.tolist(), scores.astype(np.str_).tolist(), strict=True
    )
    return "".join(f"{u} Q0 {i} {rank} {score} {_TAG}\n" for u, i, rank, score in rows).encode()


def _refuse_blanks(ids: Any, name: str, out: Path) -> None:
    from podium.errors import DataError

    if ids.dtype.kind not in "UO":
        return
    for text in dict.fromkeys(ids.tolist()):
        if len(str(text).split()) != 1:
            raise DataError(
                f"{out}: {name} {text!r} has a blank or no letter, and blanks divide the fields of "
                "a TREC run. Write .csv or .parquet."
            )
