"""LETOR's text form: svmlight lines with a qid, parsed in pieces of bounded size."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from podium.data import _letor_kernels
from podium.data._letor_rows import Piece, Rows, check_piece
from podium.data.archive import Member
from podium.data.convert import Ids
from podium.data.files import broken, open_bytes
from podium.data.ids import codes_of
from podium.data.source import Column, Kind, Source
from podium.errors import DataError
from podium.groups import Groups

_PIECE = 1 << 24  # bytes parsed at a time: enough to forget the per-piece cost
_LONGEST = 1 << 26  # bytes of a line: beyond it, a file is something else

_WHY = {
    _letor_kernels.NO_LABEL: "the line must begin with a number, the label",
    _letor_kernels.NO_QID: "qid: and an integer >= 0 must follow the label",
    _letor_kernels.NO_FEATURE: "a feature must be id:value, two numbers",
    _letor_kernels.NOT_RISING: "feature ids must rise within the line, from 1",
    _letor_kernels.LONG_QID: "a qid must have at most 18 digits",
    _letor_kernels.LONG_ID: "a feature id must have at most 9 digits",
}


def open_svmlight(path: Path) -> Source:
    """Open an svmlight file as a truth: qid, item (its row within the query) and label."""

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        rows = parse([plain(path)], features=False)
        columns = {"qid": rows.qids, "item": positions(rows.qids), "label": rows.labels}
        return {name: columns[name] for name in kinds}

    return Source(str(path), ("qid", "item", "label"), fetch)


def plain(path: Path) -> Member:
    """Return a file as a Member."""
    return Member(str(path), path.name, lambda: open_bytes(path))


def positions(qid: Ids) -> NDArray[np.int64]:
    """Return the place of each row among the rows of its qid, from 0."""
    groups = Groups.from_qid(codes_of(qid)[0])
    return groups.scatter(np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes))


def parse(files: Sequence[Member], *, dtype: Any = np.float64, features: bool = True) -> Rows:
    """Read svmlight files one after the other, as if they were one.

    Parameters
    ----------
    files : sequence of Member
    dtype : float64 or float32
        Of the features.
    features : bool
        Without them, lines are checked all the same, but only labels and qids are kept.

    Raises
    ------
    DataError
        If a line is malformed or longer than 64 MiB (file, line, what is wrong), there is none,
        or a query is in two files.

    Notes
    -----
    Cost: one pass over the bytes, compiled; memory for the stored values, with one or two bytes
    for the id of each.
    """
    pieces = [piece for file in files for piece in pieces_of(file, dtype, features=features)]
    if not sum(piece.labels.size for piece in pieces):
        raise DataError(f"{files[0].name} has no rows.")
    if len(files) > 1:
        _require_apart(pieces)
    return Rows.of(pieces)


def _require_apart(pieces: Sequence[Piece]) -> None:
    """Raise where two files have a qid in common: files are often numbered from 1 each."""
    home: dict[int, str] = {}
    for piece in pieces:
        for qid in np.unique(piece.qids).tolist():
            if home.setdefault(qid, piece.name) != piece.name:
                raise DataError(
                    f"query {qid} is in {home[qid]} and in {piece.name}, and would be one. Number "
                    "queries through all files, or put one query's lines into one file."
                )


def pieces_of(file: Member, dtype: Any = np.float64, *, features: bool = True) -> Iterator[Piece]:
    """Parse a file piece by piece.

    Raises
    ------
    DataError
        When the iteration comes to a malformed line, or to where the file is cut short.
    """
    line = 1
    try:
        with file.open() as stream:
            for text in _whole_lines(stream, file.name):
                piece = _parse(text, file.name, line, dtype)
                yield piece if features else piece.without_features()
                line += text.count(b"\n")
    except OSError as error:
        raise broken(file.name, error) from error


def _whole_lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the bytes in parts that end with a line; what a line has so far is copied again."""
    rest, line = b"", 1
    while piece := stream.read(_PIECE):
        piece = rest + piece
        cut = piece.rfind(b"\n") + 1
        rest = piece[cut:]
        line += piece.count(b"\n")
        if cut:
            yield piece[:cut]
        if len(rest) > _LONGEST:
            raise DataError(
                f"{name}, line {line}: a line must be at most {_LONGEST >> 20} MiB long. Check "
                "that the file is svmlight."
            )
    if rest:
        yield rest


def _parse(text: bytes, name: str, line: int, dtype: Any) -> Piece:
    n_lines, n_colons = text.count(b"\n") + 1, text.count(b":") + 1
    labels, (qids, lines, ends) = np.empty(n_lines), np.empty((3, n_lines), np.int64)
    indices, values = np.empty(n_colons, np.int32), np.empty(n_colons)
    hard, problem = np.empty((n_colons + n_lines, 3), np.int64), np.zeros(2, np.int64)
    n_rows, n_values, n_hard = _letor_kernels.parse_svmlight(
        np.frombuffer(text, np.uint8),
        _letor_kernels.Lines(labels, qids, lines, ends),
        _letor_kernels.Features(indices, values),
        hard,
        problem,
    )
    if problem[0]:
        raise _malformed(text, name, line, int(problem[0]), int(problem[1]))
    for place, first, last in hard[:n_hard].tolist():
        number = float(text[first:last])
        if place < 0:
            labels[-1 - place] = number
        else:
            values[place] = number
    lines += line
    # Copies, because the buffers were cut for the worst case.
    piece = Piece(
        labels[:n_rows].copy(),
        qids[:n_rows].copy(),
        lines[:n_rows].copy(),
        ends[:n_rows].copy(),
        _narrow(indices[:n_values]),
        _kept(values[:n_values], dtype),
        name,
    )
    check_piece(piece)
    return piece


def _narrow(indices: NDArray[np.int32]) -> NDArray[Any]:
    """Return ids in as many bytes as they need: those of a large file are most of its memory."""
    return _kept(indices, np.min_scalar_type(int(indices.max(initial=0))))


def _kept(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return a copy in pages of its own, infinite where its type has no such number.

    The heap would keep the pages of a piece that is done with, and a file take twice its memory.
    """
    n_bytes = values.size * np.dtype(dtype).itemsize
    copy = np.frombuffer(mmap.mmap(-1, n_bytes), dtype) if n_bytes else np.empty(0, dtype)
    with np.errstate(over="ignore"):
        copy[:] = values
    return copy


def _malformed(piece: bytes, name: str, line: int, kind: int, place: int) -> DataError:
    number = line + piece.count(b"\n", 0, place)
    fields = piece[place:].split(b"\n", 1)[0].split()
    came = fields[0].decode("utf-8", "replace")[:40] if fields else "the end of the line"
    return DataError(f"{name}, line {number}: {_WHY[kind]}, got {came!r}.")
