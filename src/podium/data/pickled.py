"""Tables that pandas pickled, read without letting the file run code of its own."""

from __future__ import annotations

import pickle
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import DataError

# All that a pickled frame of plain columns calls; a pickle may name any function there is.
_ALLOWED = {
    ("_codecs", "encode"),
    ("builtins", "slice"),
    ("__builtin__", "slice"),
    ("functools", "partial"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy.core.numeric", "_frombuffer"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("pandas._libs.internals", "_unpickle_block"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.indexes.base", "Index"),
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.indexes.range", "RangeIndex"),
    ("pandas.core.internals.blocks", "new_block"),
    ("pandas.core.internals.managers", "BlockManager"),
}
_MOVED = {
    ("pandas.core.indexes.numeric", name): ("pandas.core.indexes.base", "Index")
    for name in ("Int64Index", "UInt64Index", "Float64Index")
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        place = _MOVED.get((module, name), (module, name))
        if place not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no plain table does")
        return super().find_class(*place)


def read_pickled(stream: IO[bytes], name: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a pickled pandas DataFrame of numbers and texts.

    A pickle can call any function that it names. Only the few that rebuild a plain table are
    called here; anything else is refused.

    Parameters
    ----------
    stream : binary file
    name : str
        How messages call it.

    Raises
    ------
    MissingExtraError
        Without pandas.
    DataError
        If it is no pickled DataFrame, or names anything else.
    """
    pandas = _check.extra("pandas", "pandas", f"Reading {name}")
    try:
        frame = _Unpickler(stream).load()
    except Exception as error:  # a broken pickle may raise anything, MemoryError among them
        why = str(error).rstrip(".") or type(error).__name__
        raise DataError(
            f"{name} can't be read as a pickled table: {why}. Get it again, or save the table "
            "as .parquet where it was made."
        ) from error
    if not isinstance(frame, pandas.DataFrame):
        raise DataError(f"{name} holds a {type(frame).__name__}, not a table of pandas.")
    return {str(column): np.asarray(frame[column]) for column in frame.columns}
