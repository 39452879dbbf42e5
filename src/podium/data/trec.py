"""TREC runs (qid Q0 docid rank score tag) and qrels (qid iteration docid relevance).

Document ids are text even where they look like integers: trec_eval orders ties by their text,
so that "9" comes after "10".
"""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.delimited import explain_lines
from podium.data.files import BROKEN, first_line, read_bytes, unreadable
from podium.data.source import POLARS, Column, Kind, Source
from podium.data.write import atomic
from podium.errors import DataError

RUN = ("qid", "q0", "docid", "rank", "score", "tag")
QRELS = ("qid", "iteration", "docid", "relevance")

_TAG = "podium"  # of the runs that are written

# What podium's roles find in them; rank and tag are there, but score counts.
_SHOWN = {"docid": "doc_id", "q0": "", "iteration": "", "tag": ""}


def open_trec(path: Path) -> Source:
    """Open a run or qrels, told apart by their 6 or 4 columns; blanks or tabs between them."""
    width = len(first_line(path).split())
    if width not in (4, 6):
        raise DataError(f"{path}, line 1: a TREC run has 6 columns and qrels have 4, got {width}.")
    columns = RUN if width == 6 else QRELS
    shown = {_SHOWN.get(name, name): name for name in columns if _SHOWN.get(name, name)}

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        frame = _read(path, columns, {shown[name]: kind for name, kind in kinds.items()})
        return {name: frame[shown[name]] for name in kinds}

    return Source(str(path), tuple(shown), fetch, lambda row: _line_of(path, row), text_ids=True)


def _read(path: Path, columns: tuple[str, ...], kinds: Mapping[str, Kind]) -> pl.DataFrame:
    POLARS.enter()
    numbers = {name for name, kind in kinds.items() if kind == "number"}
    types = {name: pl.Float64 if name in numbers else pl.String for name in columns}

    def read(content: bytes) -> pl.DataFrame:
        plain = _single_blanks(content)
        return pl.read_csv(plain, separator=" ", has_header=False, quote_char=None, schema=types)

    content = read_bytes(path)
    try:
        frame = read(content)
    except BROKEN as error:
        explain_lines(content, str(path), read, None, columns, numbers)
        raise unreadable(path, "TREC", error) from error
    # A short line leaves nulls behind; a well-formed file has none at all.
    if any(frame[name].null_count() for name in columns):
        explain_lines(content, str(path), read, None, columns, numbers)
    return frame


def _line_of(path: Path, row: int) -> int:
    """Return the line of a row; blank lines are no rows."""
    lines = enumerate(read_bytes(path).split(b"\n"), start=1)
    full = (number for number, line in lines if line.strip())
    return next(itertools.islice(full, row, None), row + 1)


def _single_blanks(content: bytes) -> bytes:
    """Put one blank between fields and none at the ends of lines."""
    if b"\t" in content or b"\r" in content:
        content = content.translate(bytes.maketrans(b"\t\r", b"  "))
    if b"  " in content or b" \n" in content or b"\n " in content or b"\n\n" in content:
        content = re.sub(rb" *\n[ \n]*", b"\n", re.sub(rb" {2,}", b" ", content))
    return content.strip(b" \n") + b"\n"


@contextmanager
def append_trec(path: Path) -> Generator[Callable[[Mapping[str, Any]], None]]:
    """Give a function that adds rows to a run, ``qid Q0 docid rank score tag``, ranks from 1.

    It is called with columns of users, items and scores, best first. A user's rows come at once,
    and users one after another.
    """
    with atomic(path) as place, place.open("wb") as raw:
        packed = path.suffix.lower() == ".gz"
        # Without a name and a time in its header, equal runs give equal files.
        zipped = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else nullcontext(raw)
        with zipped as file:
            target = cast("IO[bytes]", file)
            yield lambda columns: (target.write(_run_lines(columns, path)), None)[1]


def _run_lines(columns: Mapping[str, Any], path: Path) -> bytes:
    users, items, scores = (np.asarray(column) for column in columns.values())
    for name, ids in zip(columns, (users, items), strict=False):
        _refuse_blanks(ids, name, path)
    first = np.append(True, users[1:] != users[:-1])[: users.size]
    starts = np.flatnonzero(first)
    ranks = np.arange(users.size) - np.repeat(starts, np.diff(starts, append=users.size)) + 1
    # The shortest text that reads back as the same number, of 32 bits or of 64.
    texts = scores.astype(np.str_).tolist()
    rows = zip(users.tolist(), items.tolist(), ranks.tolist(), texts, strict=True)
    return "".join(f"{u} Q0 {i} {rank} {score} {_TAG}\n" for u, i, rank, score in rows).encode()


def _refuse_blanks(ids: NDArray[Any], name: str, path: Path) -> None:
    if ids.dtype.kind not in "UO":
        return
    for text in dict.fromkeys(ids.tolist()):
        if len(str(text).split()) != 1:
            raise DataError(
                f"{path}: {name} {text!r} has a blank or no letter, and blanks divide the fields "
                "of a TREC run. Write .csv or .parquet."
            )
