"""Pickled pandas tables, read without pandas and without running anything that the file names.

A pickle names functions, which Python's reader calls. Here, each name becomes a class that only
stores the arguments and the state, and arrays are made from the stored bytes and lists.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import DataError

_KINDS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "O8", "O")


class _Call:
    """A call that a pickle asks for: its arguments, and the state that it sets afterwards."""

    args: tuple[Any, ...]
    state: Any = None

    def __new__(cls, *args: Any, **options: Any) -> _Call:
        call = super().__new__(cls)
        call.args = args
        return call

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def __call__(self, *args: Any) -> _Call:
        """Return the call of a partial function."""
        return self.args[0](*args)

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    """A reader for which every name is a new class of stored calls."""

    def find_class(self, module: str, name: str, /) -> Any:
        return type(name, (_Call,), {})


def read_pickled(stream: IO[bytes], name: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a pickled pandas DataFrame of numbers and texts.

    Parameters
    ----------
    stream : binary file
    name : str
        The name of the file in messages.

    Returns
    -------
    dict of str to (n_rows,)
        The columns.

    Raises
    ------
    DataError
        If the file is not a pickled DataFrame of plain columns.
    """
    try:
        return _columns(_Reader(io.BytesIO(stream.read())).load())
    except Exception as error:  # damaged pickles raise errors of many types
        raise DataError(
            f"{name} can't be read as a pickled table ({error}). Download it again, or save the "
            "DataFrame as .parquet."
        ) from None


def _columns(table: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a DataFrame by name."""
    state: Mapping[str, Any] = _called(table, "DataFrame").state
    manager = _called(state["_mgr"] if "_mgr" in state else state["_data"], "BlockManager")
    if manager.state is None:
        blocks, axes = manager.args
        parts = [_called(block, "_unpickle_block", "new_block").args[:2] for block in blocks]
    else:  # pandas < 1.3; the first three parts of the state were for pandas 0.13
        stored = manager.state[3]["0.14.1"]
        axes, parts = stored["axes"], [(b["values"], b["mgr_locs"]) for b in stored["blocks"]]
    columns: dict[int, NDArray[Any]] = {}
    for values, places in parts:
        is_slice = type(places).__name__ == "slice"
        positions = range(*places.args) if is_slice else _array(places).tolist()
        columns |= zip(positions, _array(values), strict=True)
    index_type, index = _called(axes[0], "_new_Index").args
    names = range(len(columns)) if index_type.__name__ == "RangeIndex" else _array(index["data"])
    return {str(label): columns[position] for position, label in enumerate(names)}


def _array(call: Any) -> NDArray[Any]:
    """Return an array of numbers from its bytes, or of texts from their list."""
    if type(call).__name__ == "_frombuffer":
        content, kind, shape, order = call.args
    else:
        _, shape, kind, is_fortran, content = _called(call, "_reconstruct").state
        order = "F" if is_fortran else "C"
    dtype = _dtype(kind)
    if dtype.kind != "O":
        return np.frombuffer(_bytes(content), dtype).reshape(shape, order=order)
    values: NDArray[Any] = np.empty(len(content), object)
    values[:] = [_value(value) for value in content]
    return values.reshape(shape, order=order)


def _dtype(call: Any) -> np.dtype[Any]:
    """Return the type of numbers or objects that a dtype call describes."""
    (kind, *_), state = _called(call, "dtype").args, call.state
    if kind not in _KINDS:
        raise ValueError("an array contains neither numbers nor texts")
    return np.dtype(kind).newbyteorder(">") if state and state[1] == ">" else np.dtype(kind)


def _value(value: Any) -> Any:
    """Return a text, or a number of Python or NumPy."""
    if isinstance(value, _Call):
        kind, content = _called(value, "scalar").args
        return np.frombuffer(_bytes(content), _dtype(kind))[0].item()
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"a column contains a {type(value).__name__}")
    return value


def _bytes(content: Any) -> bytes:
    """Return bytes, which old protocols store as Latin-1 text or as no arguments."""
    if isinstance(content, _Call):
        content = content.args[0] if content.args else b""
    return content.encode("latin-1") if isinstance(content, str) else content


def _called(value: Any, *names: str) -> Any:
    """Return a call after a check of the function's name."""
    if not isinstance(value, _Call) or type(value).__name__ not in names:
        raise ValueError(f"it has a {type(value).__name__} in place of a {names[0]}")
    return value
