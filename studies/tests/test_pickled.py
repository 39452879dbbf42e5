"""Pickled tables: every form that pandas wrote, and files that break a process that trusts them.

The hostile ones are read in a process of its own, which must end well.
"""

from __future__ import annotations

import io
import pickle
import random
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import DataError
from podium_studies.hiranandani2020.pickled import read_pickled

pandas = pytest.importorskip("pandas")


def _frame() -> Any:
    return pandas.DataFrame(
        {
            "user": [3, 1, 2],
            "paper": ["a", None, "é"],
            "share": [0.5, np.nan, 1e300],
            "flag": [True, False, True],
            "mixed": [1, "x", np.float64(2.5)],
            7: np.array([1, 2, 3], np.int8),
        }
    )


def _read(content: bytes) -> dict[str, Any]:
    return read_pickled(io.BytesIO(content), "t.pkl")


def _assert_same(found: dict[str, Any], frame: Any) -> None:
    assert list(found) == [str(name) for name in frame.columns]
    for name in frame.columns:
        expected = frame[name].to_numpy()
        assert found[str(name)].dtype == expected.dtype
        assert pandas.Series(found[str(name)]).equals(pandas.Series(expected))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.iloc[:0],
        lambda frame: frame.iloc[[2, 0]],
        lambda frame: frame[["share", "user"]].T.T,
        lambda frame: frame[["share", "user"]].to_numpy().astype(">f8"),
        lambda frame: frame.assign(more=frame["share"] * 2)[["more", "user", "share"]],
    ],
    ids=["whole", "empty", "rows", "fortran", "plain", "order"],
)
def test_what_pandas_writes_is_read(protocol: int, change: Any) -> None:
    frame = pandas.DataFrame(change(_frame()))
    _assert_same(_read(pickle.dumps(frame, protocol=protocol)), frame)


class _Made:
    """Something that is pickled as the call, arguments and state that are given."""

    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


def _table(manager: Any, key: str = "_mgr") -> bytes:
    state = {key: manager, "_typ": "dataframe"}
    return pickle.dumps(_Made(pandas.DataFrame, (), state), protocol=4)


def test_tables_of_pandas_before_1_3_are_read() -> None:
    frame = _frame()
    axes = [frame.columns, frame.index]
    blocks = [{"values": b.values, "mgr_locs": b.mgr_locs.indexer} for b in frame._mgr.blocks]
    state = (axes, [], [], {"0.14.1": {"axes": axes, "blocks": blocks}})
    old = _Made(type(frame._mgr), (), state)
    _assert_same(_read(_table(old, "_data")), frame)


def test_tables_of_pandas_1_3_are_read() -> None:
    from pandas.core.internals import blocks, managers

    frame = _frame()
    make = partial(blocks.new_block, ndim=2)
    made = tuple(_Made(make, (b.values, b.mgr_locs.indexer)) for b in frame._mgr.blocks)
    manager = _Made(managers.BlockManager, (made, [frame.columns, frame.index]))
    _assert_same(_read(_table(manager)), frame)


def test_tables_of_other_columns_are_refused() -> None:
    frame = pandas.DataFrame({"t": pandas.to_datetime(["2020-01-01"])})
    with pytest.raises(DataError, match="which plain tables do not"):
        _read(pickle.dumps(frame))
    with pytest.raises(DataError, match="a column contains a list, which podium does not read"):
        _read(pickle.dumps(pandas.DataFrame({"t": [[1]]})))


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _raw(content: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(content)) + content


def _dtype(kind: str, state: bytes = b"") -> bytes:
    return _name("numpy", "dtype") + _text(kind) + b"\x89\x88\x87R" + state


_ONE = b"K\x01K\x01\x86"  # the shape (1, 1)
_POINTER = b"A" * 8
_FIELDS = (  # a state that makes a dtype of fields, the first one an object
    b"(K\x03" + _text("|") + b"N" + _text("f") + b"\x85}" + _text("f") + _dtype("O8")
    + b"K\x00\x86sK\x08K\x01K\x10tb"
)  # fmt: skip


def _frombuffer(content: bytes, dtype: bytes, shape: bytes = _ONE) -> bytes:
    call = _name("numpy.core.numeric", "_frombuffer")
    return call + b"(" + content + dtype + shape + _text("C") + b"tR"


def _reconstruct(content: bytes, dtype: bytes, shape: bytes = _ONE) -> bytes:
    call = _name("numpy.core.multiarray", "_reconstruct") + _name("numpy", "ndarray")
    made = call + b"K\x00\x85" + _raw(b"b") + b"\x87R"
    return made + b"(K\x01" + shape + dtype + b"\x89" + content + b"tb"


def _scalar(dtype: bytes) -> bytes:
    return _name("numpy.core.multiarray", "scalar") + dtype + _raw(_POINTER) + b"\x86R"


def _hostile(values: bytes, places: bytes = b"") -> bytes:
    """Return a table of one column whose block is what is given."""
    places = places or _name("builtins", "slice") + b"K\x00K\x01K\x01\x87R"
    block = _name("pandas._libs.internals", "_unpickle_block") + values + places + b"K\x02\x87R"
    index = _name("pandas.core.indexes.base", "_new_Index")
    index += _name("pandas.core.indexes.base", "Index") + b"}" + _text("data")
    index += _reconstruct(b"]" + _text("a") + b"a", _dtype("O8"), b"K\x01\x85") + b"s\x86R"
    manager = _name("pandas.core.internals.managers", "BlockManager")
    manager += block + b"\x85](" + index + index + b"e\x86R"
    frame = _name("pandas.core.frame", "DataFrame") + b")\x81}" + _text("_mgr") + manager + b"sb"
    return b"\x80\x04" + frame + b"."


_BIG = b"\x8a\x08" + struct.pack("<q", 2**62)
HOSTILE = {
    "an array of objects from bytes": _hostile(
        _name("numpy", "ndarray") + _ONE + _dtype("O8") + _raw(_POINTER) + b"\x87R"
    ),
    "a buffer of objects": _hostile(_frombuffer(_raw(_POINTER), _dtype("O8"))),
    "a state of objects from bytes": _hostile(_reconstruct(_raw(_POINTER), _dtype("O8"))),
    "a state of objects from text": _hostile(_reconstruct(_text("A" * 8), _dtype("O"))),
    "a scalar of objects": _hostile(
        _reconstruct(b"]" + _scalar(_dtype("O8")) + b"a", _dtype("O8"))
    ),
    "a buffer of fields": _hostile(_frombuffer(_raw(_POINTER), _dtype("V8", _FIELDS))),
    "a state of fields": _hostile(_reconstruct(_raw(_POINTER), _dtype("V8", _FIELDS))),
    "numbers with a state of fields": _hostile(_scalar(_dtype("f8", _FIELDS))),
    "numbers that are too few": _hostile(_frombuffer(_raw(b""), _dtype("f8"))),
    "numbers of part of a value": _hostile(_frombuffer(_raw(b"abc"), _dtype("f8"))),
    "a shape beyond memory": _hostile(_frombuffer(_raw(b""), _dtype("f8"), _BIG + b"K\x00\x86")),
    "a negative shape": _hostile(
        _frombuffer(_raw(b""), _dtype("f8"), b"J\xff\xff\xff\xffK\x00\x86")
    ),
    "columns beyond memory": _hostile(
        _frombuffer(_raw(_POINTER), _dtype("f8")),
        _name("builtins", "slice") + b"K\x00J\xff\xff\xff\x7fK\x01\x87R",
    ),
    "columns without rows beyond memory": _hostile(
        _frombuffer(_raw(b""), _dtype("f8"), b"J\xff\xff\xff\x7fK\x00\x86"),
        _name("builtins", "slice") + b"K\x00J\xff\xff\xff\x7fK\x01\x87R",
    ),
    "a step of nothing": _hostile(
        _frombuffer(_raw(_POINTER), _dtype("f8")),
        _name("builtins", "slice") + b"K\x00K\x01K\x00\x87R",
    ),
    "a state for a list": b"\x80\x04]}b.",
    "a state for a class": b"\x80\x04" + _name("numpy", "ndarray") + b"}b.",
    "a call of a list": b"\x80\x04])R.",
    "a call of what a call made": b"\x80\x04" + _name("builtins", "slice") + b")R)R.",
    "a deep tuple as a key": b"\x80\x04})" + b"\x85" * 10**6 + b"Ns.",
    "a deep list": b"\x80\x04" + b"]" * 10**6 + b"a" * (10**6 - 1) + b".",
    "a deep chain of calls": b"\x80\x04)" + b"\x85" * 10 + b".",
    "itself": b"\x80\x04]q\x00h\x00a.",
    "a place in the memo beyond memory": b"\x80\x04Nr\xff\xff\xff\x7f.",
    "bytes beyond memory": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"a.",
    "an extension": b"\x80\x04\x82\x01.",
    "a persistent id": b"\x80\x04Px\n.",
    "a class of instances": b"\x80\x04(ios\nsystem\n.",
    "an end before the beginning": b"\x80\x04.",
    "no mark": b"\x80\x04t.",
    "a name of several lines": b"\x80\x04" + _text("os\nx") + _text("system") + b"\x93.",
}

_PROGRAM = """
import io, pickle, resource, sys
from podium_studies.hiranandani2020.pickled import read_pickled
from podium.errors import DataError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name, content in pickle.load(sys.stdin.buffer).items():
    print(name, end=": ", flush=True)
    try:
        read_pickled(io.BytesIO(content), "t.pkl")
    except DataError as error:
        print(repr(str(error)), flush=True)
    else:
        print("READ", flush=True)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("grown:", (after - before) >> 10)
"""


@pytest.mark.long
def test_hostile_files_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=pickle.dumps(HOSTILE),
        capture_output=True,
        check=False,
    )
    said = done.stdout.decode().splitlines()
    assert done.returncode == 0, (said, done.stderr.decode())
    assert len(said) == len(HOSTILE) + 1, said  # one line each
    assert not [line for line in said if line.endswith("READ")]
    assert int(said[-1].removeprefix("grown: ")) < 512  # MiB


def test_the_harmless_neighbours_of_hostile_files_are_read() -> None:
    """The files above are refused for what is wrong in them, not for their form."""
    one = np.array([1.5])
    for values in (
        _frombuffer(_raw(one.tobytes()), _dtype("f8")),
        _reconstruct(_raw(one.tobytes()), _dtype("f8")),
        _reconstruct(b"]G" + struct.pack(">d", 1.5) + b"a", _dtype("O8")),
        _reconstruct(
            b"]" + _scalar(_dtype("f8")).replace(_POINTER, one.tobytes()) + b"a", _dtype("O8")
        ),
    ):
        assert _read(_hostile(values))["a"].tolist() == [1.5]


def _outcome(content: bytes) -> str:
    try:
        _read(content)
    except DataError as error:
        return str(error)
    return "read"


@pytest.mark.long
def test_damaged_tables_are_read_or_refused() -> None:
    rng = random.Random(0)
    whole = [pickle.dumps(_frame(), protocol=protocol) for protocol in (2, 4, 5)]
    outcomes = [_outcome(_damaged(rng.choice(whole), rng)) for _ in range(3000)]
    assert {outcome == "read" for outcome in outcomes} == {True, False}
    assert not [outcome for outcome in outcomes if "\n" in outcome]


def _damaged(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(changed))
        changed[place : place + rng.randrange(2)] = rng.choice(
            (bytes([rng.randrange(256)]), b")", b"R", b"b", b"N", b"(", b"t", b"")
        )
    return bytes(changed)


def test_a_truncated_table_is_refused(tmp_path: Path) -> None:
    content = pickle.dumps(_frame())
    for stop in range(0, len(content), 7):
        with pytest.raises(DataError, match="can't be read as a pickled table"):
            _read(content[:stop])
