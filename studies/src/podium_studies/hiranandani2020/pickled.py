"""Tables that pandas pickled, read without running or constructing anything that the file names."""

from __future__ import annotations

import math
from typing import IO, Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from podium.errors import DataError
from podium_studies.hiranandani2020.pickle_reader import Call, Name, PickleError, read_pickle

# The names in a pickled frame of plain columns. A pickle could name any other function.
_NUMPY = {
    (f"numpy.{core}.{module}", name)
    for core in ("core", "_core")
    for module, name in (
        ("multiarray", "_reconstruct"),
        ("multiarray", "scalar"),
        ("numeric", "_frombuffer"),
    )
}
_INDEXES = {
    ("pandas.core.indexes.base", "Index"),
    ("pandas.core.indexes.range", "RangeIndex"),
    *(("pandas.core.indexes.numeric", f"{kind}Index") for kind in ("Int64", "UInt64", "Float64")),
}
_ALLOWED = {
    *_NUMPY,
    *_INDEXES,
    ("_codecs", "encode"),
    ("__builtin__", "bytes"),
    ("builtins", "slice"),
    ("__builtin__", "slice"),
    ("functools", "partial"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("pandas._libs.internals", "_unpickle_block"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.internals.blocks", "new_block"),
    ("pandas.core.internals.managers", "BlockManager"),
}
_KINDS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "O8", "O")
_PLAIN = (str, int, float, bool, type(None))  # the types of values in a column of objects
_MOST = 2**31  # rows
_MOST_COLUMNS = 2**16  # an empty table can declare any number of columns in a few bytes


def read_pickled(stream: IO[bytes], name: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a pickled pandas DataFrame of numbers and texts.

    A pickle can call any function that it names. This function calls none of them: it makes arrays
    from the bytes and lists of the file after it has checked their sizes.

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
        table = _columns(read_pickle(stream.read(), _ALLOWED))
    except PickleError as error:
        raise DataError(
            f"{name} can't be read as a pickled table: {error}. Download it again, or save the "
            "DataFrame as .parquet."
        ) from None
    return table


def _columns(table: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a DataFrame by name."""
    if not _is_call(table, "DataFrame"):
        raise PickleError(f"it contains a {_kind(table)}, not a pandas DataFrame")
    state = _mapping(table.state)
    manager = state.get("_mgr", state.get("_data"))
    if not _is_call(manager, "BlockManager"):
        raise PickleError("its table has no blocks of columns")
    axes, blocks = _parts(manager)
    columns: dict[int, NDArray[Any]] = {}
    for values, positions in blocks:
        columns |= _block(values, positions)
        if len(columns) > _MOST_COLUMNS:
            raise PickleError(f"it declares more than {_MOST_COLUMNS} columns")
    names = _labels(axes, len(columns))
    if sorted(columns) != list(range(len(names))):
        raise PickleError("its blocks do not match its column names")
    if len({column.size for column in columns.values()}) > 1:
        raise PickleError("its columns differ in length")
    return {name: columns[position] for position, name in enumerate(names)}


def _parts(manager: Call) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return the axes, and the values and positions of each block."""
    if manager.state is None:
        blocks, axes = _tuple(manager.args, 2)
        calls = [block for block in blocks if _is_call(block, "_unpickle_block", "new_block")]
        return axes, [_tuple(block.args[:2], 2) for block in calls]
    # pandas < 1.3; the first three parts of the state were for pandas 0.13.
    stored = _mapping(_mapping(_tuple(manager.state, 4)[3]).get("0.14.1"))
    parts = [_mapping(block) for block in _list(stored.get("blocks"))]
    return stored.get("axes"), [(part.get("values"), part.get("mgr_locs")) for part in parts]


def _block(values: Any, places: Any) -> dict[int, NDArray[Any]]:
    """Return the columns of a block by position."""
    block = _array(values)
    positions = _slice(places) if _is_call(places, "slice") else _numbered(places)
    if block.ndim != 2 or len(block) != len(positions):
        raise PickleError(f"a block of {len(positions)} columns has the shape {block.shape}")
    if len(positions) > _MOST_COLUMNS:
        raise PickleError(f"it declares {len(positions)} columns")
    return dict(zip(positions, block, strict=True))


def _slice(places: Call) -> range:
    ends = _tuple(places.args, 3)
    if not all(type(end) is int and abs(end) < _MOST for end in ends) or not ends[2]:
        raise PickleError("the column positions of a block are not a slice")
    return range(*ends)


def _numbered(places: Any) -> list[int]:
    """Return the column positions of a block that are not a slice."""
    numbers = _array(places)
    if numbers.ndim != 1 or numbers.dtype.kind != "i":
        raise PickleError("the column positions of a block are not integers")
    return numbers.tolist()


def _labels(axes: Any, n_columns: int) -> list[str]:
    """Return the names of the columns."""
    index = _list(axes)[0] if _list(axes) else None
    if not _is_call(index, "_new_Index"):
        raise PickleError("its columns have no names")
    index_type, stored = _tuple(index.args, 2)
    if isinstance(index_type, Name) and index_type.name == "RangeIndex":
        return [str(position) for position in range(n_columns)]
    return [str(label) for label in _array(_mapping(stored).get("data")).reshape(-1).tolist()]


def _array(call: Any) -> NDArray[Any]:
    """Return an array of numbers from its bytes, or of texts from their list."""
    if _is_call(call, "_frombuffer"):
        content, kind, shape, order = _tuple(call.args, 4)
    elif _is_call(call, "_reconstruct"):
        _, shape, kind, is_fortran, content = _tuple(call.state, 5)
        order = "F" if is_fortran else "C"
    else:
        raise PickleError(f"it has a {_kind(call)} in place of an array")
    dtype, sizes = _dtype(kind), _tuple(shape)
    if not all(type(size) is int and 0 <= size < _MOST for size in sizes) or len(sizes) > 2:
        raise PickleError("an array has an invalid shape")
    flat = _objects(content) if dtype.kind == "O" else _numbers(content, dtype)
    if flat.size != math.prod(sizes):
        raise PickleError(f"an array of shape {sizes} has {flat.size} values")
    return flat.reshape(sizes, order="F" if order == "F" else "C")


def _dtype(call: Any) -> np.dtype[Any]:
    """Return the type of numbers or objects that a dtype call describes."""
    kind = call.args[0] if _is_call(call, "dtype") and call.args else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise PickleError("an array contains neither numbers nor texts")
    state = _tuple(call.state) if call.state is not None else ()
    swapped = len(state) > 1 and state[1] == ">"
    return np.dtype(kind).newbyteorder(">") if swapped else np.dtype(kind)


def _numbers(content: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    raw = _bytes(content)
    if dtype.kind == "O" or len(raw) % dtype.itemsize:
        raise PickleError(f"{len(raw)} bytes do not form an array of {dtype}")
    return np.frombuffer(raw, dtype)


def _objects(content: Any) -> NDArray[Any]:
    """Return an array of objects from a list; bytes would be interpreted as addresses."""
    objects = [_scalar(value) if isinstance(value, Call) else value for value in _list(content)]
    bad_types = {type(value).__name__ for value in objects if not isinstance(value, _PLAIN)}
    bad_types |= {
        "number of over 64 bits" for value in objects if type(value) is int and abs(value) >> 64
    }
    if bad_types:
        raise PickleError(f"a column contains a {min(bad_types)}, which podium does not read")
    values = np.empty(len(objects), object)
    values[:] = objects
    return values


def _scalar(call: Call) -> Any:
    """Return a NumPy scalar as a Python number."""
    if call.function.name != "scalar":
        raise PickleError(f"a column contains a {_kind(call)}, which podium does not read")
    kind, content = _tuple(call.args, 2)
    numbers = _numbers(content, _dtype(kind))
    if numbers.size != 1:
        raise PickleError("a number of a column has no value")
    return numbers[0].item()


def _bytes(content: Any) -> bytes | bytearray:
    """Return bytes, which old protocols store as Latin-1 text."""
    if _is_call(content, "encode") and content.args:
        content = content.args[0]
    elif _is_call(content, "bytes"):
        content = b""
    try:
        raw = content.encode("latin-1") if isinstance(content, str) else content
    except UnicodeEncodeError:
        raw = None
    if not isinstance(raw, bytes | bytearray):
        raise PickleError("an array has no bytes")
    return raw


def _is_call(value: Any, *names: str) -> TypeGuard[Call]:
    return isinstance(value, Call) and value.function.name in names


def _kind(value: Any) -> str:
    return value.function.name if isinstance(value, Call) else type(value).__name__


def _tuple(value: Any, length: int | None = None) -> tuple[Any, ...]:
    items = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
    if length is not None and len(items) != length:
        raise PickleError("its table does not have the form that pandas writes")
    return items


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _mapping(value: Any) -> dict[Any, Any]:
    return cast("dict[Any, Any]", value) if isinstance(value, dict) else {}
