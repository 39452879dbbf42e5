"""LETOR's text format: svmlight lines with a qid, parsed in pieces of limited size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.columns import Kind
from podium.data.convert import Ids
from podium.data.files import BROKEN, File, broken
from podium.data.ids import codes_of
from podium.data.source import POLARS, Column, Source
from podium.errors import DataError
from podium.groups import Groups, row_offsets

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PIECE = 1 << 21  # bytes parsed at a time; larger pieces need more memory and are not faster
_COMMENT = re.compile(rb"#[^\n]*")
_TWO_COLONS = re.compile(rb"[^\s:]*:[^\s:]*:\S*")
_FIELD_ENDS = bytes.maketrans(b" \t\r", b"\n\n\n")
_DENSE = 0.25  # if at least this share of values is stored, a dense matrix needs less memory
_WIDEST = 1 << 24  # larger feature ids are treated as an error


class Piece(NamedTuple):
    """Some rows: labels, qids, features (as many as the highest id), and the name of the file."""

    labels: NDArray[np.float64]
    qids: NDArray[np.int64]
    features: csr_array
    name: str


@dataclass(frozen=True, eq=False)
class Rows:
    """Lines of svmlight files: labels, qids, and pieces with the features.

    Attributes
    ----------
    labels : float64, (n_rows,)
    qids : int64, (n_rows,)
    pieces : list of Piece
        The pieces. `matrix` removes each piece after use, so that features are never in memory
        twice.
    """

    labels: NDArray[np.float64]
    qids: NDArray[np.int64]
    pieces: list[Piece] = field(repr=False)

    @property
    def highest(self) -> int:
        """The highest feature id, from 1, until `matrix` is called; 0 without features."""
        return max(piece.features.shape[1] for piece in self.pieces)

    def matrix(self, width: int) -> NDArray[Any] | csr_array:
        """Return the features, dense unless less than a quarter is stored. It works only once."""
        from scipy import sparse

        parts: list[Any] = [piece.features for piece in self.pieces]
        self.pieces.clear()
        for part in parts:
            part.resize((part.shape[0], width))
        if sum(part.nnz for part in parts) < _DENSE * self.labels.size * width:
            return sparse.csr_array(sparse.vstack(parts, format="csr"))
        dense = np.zeros((self.labels.size, width), parts[0].dtype)
        last = self.labels.size
        while parts:
            part = parts.pop()
            part.toarray(out=dense[last - part.shape[0] : last])
            last -= part.shape[0]
        return dense


def open_svmlight(file: File) -> Source:
    """Open an svmlight file as a truth with qid, item (the position within the query) and label."""

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        rows = parse([file], features=False)
        columns = {"qid": rows.qids, "item": positions(rows.qids), "label": rows.labels}
        return {name: columns[name] for name in kinds}

    return Source(str(file), ("qid", "item", "label"), fetch)


def positions(qid: Ids) -> NDArray[np.int64]:
    """Return the position of each row among the rows of its qid, from 0."""
    groups = Groups.from_qid(codes_of(qid)[0])
    return groups.scatter(np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes))


def parse(files: Sequence[File], *, dtype: Any = np.float64, features: bool = True) -> Rows:
    """Read svmlight files, one after the other, as one table.

    Parameters
    ----------
    files : sequence of File
    dtype : float64 or float32
        The type of the features.
    features : bool
        Whether features are returned. With False, lines are still checked, but only labels, which
        may be negative, and qids are returned.

    Returns
    -------
    Rows
        The rows of all files.

    Raises
    ------
    DataError
        If a line is malformed (with the file and line), there are no lines, or a file or a query
        is given twice.
    """
    repeated = next((file for file in files if files.count(file) > 1), None)
    if repeated is not None:
        raise DataError(f"{repeated} is given twice. Leave one out.")
    pieces = [piece for file in files for piece in pieces_of(file, dtype, features=features)]
    if not sum(piece.labels.size for piece in pieces):
        raise DataError(f"{files[0]} has no rows. Pass a table with rows.")
    if len(files) > 1:
        _require_apart(pieces)
    return Rows(
        np.concatenate([piece.labels for piece in pieces]),
        np.concatenate([piece.qids for piece in pieces]),
        pieces,
    )


def _require_apart(pieces: Sequence[Piece]) -> None:
    """Raise if two files have a qid in common, as when each file is numbered from 1."""
    file_of_query: dict[int, str] = {}
    for piece in pieces:
        for qid in np.unique(piece.qids).tolist():
            if file_of_query.setdefault(qid, piece.name) != piece.name:
                raise DataError(
                    f"query {qid} is in {file_of_query[qid]} and in {piece.name}. In one table, "
                    "these lines would be one query. Use other query numbers in each file, or put "
                    "all lines of a query into one file."
                )


def pieces_of(file: File, dtype: Any = np.float64, *, features: bool = True) -> Iterator[Piece]:
    """Parse a file in pieces.

    Raises
    ------
    DataError
        If the iteration reaches a malformed line, or the end of a file that is cut short.
    """
    line = 1
    with file.reading() as stream:
        while lines := stream.readlines(_PIECE):
            yield _parse(b"".join(lines), str(file), line, dtype, features=features)
            line += len(lines)


def _parse(text: bytes, name: str, line: int, dtype: Any, *, features: bool) -> Piece:
    """Parse lines, of which the first has the number `line`."""
    from scipy.sparse import csr_array

    fields = _fields(_COMMENT.sub(b"", text), name, line)
    starts = np.flatnonzero(np.diff(fields["line"].to_numpy(), prepend=0))
    sizes = np.diff(starts, append=fields.height)
    position = np.arange(fields.height) - np.repeat(starts, sizes)
    is_label, is_qid = pl.lit(pl.Series(position == 0)), pl.lit(pl.Series(position == 1))
    fields = fields.with_columns(
        number=pl.when(is_label).then("name").otherwise("value").cast(pl.Float64, strict=False),
        qid=pl.col("value").cast(pl.Int64, strict=False),
        id=pl.col("name").cast(pl.Int32, strict=False),
    )
    field, value, number, qid, id = map(pl.col, ("name", "value", "number", "qid", "id"))
    has_next = pl.col("line").shift(-1) == pl.col("line")
    least = 0.0 if features else -np.inf  # a truth has its own rule for negative labels
    kind = pl.Float32 if dtype == np.float32 else pl.Float64
    is_right = (
        pl.when(is_label)
        .then(value.is_null() & number.is_finite() & (number >= least) & has_next)
        .when(is_qid)
        .then((field == "qid") & (qid >= 0) & (qid.cast(pl.String) == value))
        .otherwise(number.cast(kind).is_finite() & (id > id.shift().fill_null(0)) & (id <= _WIDEST))
    )
    wrong = fields.filter(~is_right.fill_null(False))
    if wrong.height:
        field_line, *texts = wrong.select("line", "name", "value").row(0)
        raise _malformed(":".join(text or "" for text in texts), name, field_line)
    stored = fields.filter(pl.Series(position > 1)) if features else fields[:0]
    values, ids = stored["number"].cast(kind).to_numpy(), stored["id"].to_numpy()
    offsets = row_offsets(sizes - 2 if features else 0 * sizes)
    shape = sizes.size, int(ids.max(initial=0))
    return Piece(
        fields["number"].to_numpy()[starts],
        fields["qid"].gather(starts + 1).to_numpy(),
        csr_array((values, ids - 1, offsets), shape=shape),
        name,
    )


def _fields(bare: bytes, name: str, line: int) -> pl.DataFrame:
    """Return the fields of lines without comments: "name:value" with the number of its line.

    Polars reads each field as a row. Before each line there is a row "#:".
    """
    POLARS.enter()
    try:
        fields = pl.read_csv(
            b"#:\n" + bare.replace(b"\n", b"\n#:\n").translate(_FIELD_ENDS),
            separator=":",
            has_header=False,
            quote_char=None,
            encoding="utf8-lossy",
            schema={"name": pl.String, "value": pl.String},
        )
    except BROKEN as error:
        if odd := _TWO_COLONS.search(bare):
            n_before = bare.count(b"\n", 0, odd.start())
            raise _malformed(odd[0].decode(errors="replace"), name, line + n_before) from None
        raise broken(name, error) from error
    is_start, has_text = pl.col("name") == "#", pl.any_horizontal(pl.all().is_not_null())
    fields = fields.with_columns(line=is_start.cum_sum() + line - 1)
    return fields.filter(has_text, pl.col("name").ne_missing("#"))


def _malformed(field: str, name: str, line: int) -> DataError:
    return DataError(
        f"{name}, line {line}: a line must be 'label qid:number id:value …', with a finite label "
        "(>= 0 to train), a qid from 0 to 9223372036854775807 without leading zeros, ids from 1 to "
        f"{_WIDEST} that increase, and finite values, got {field[:40]!r}."
    )
