"""Damaged files in publishers' formats: zip archives, text and pickled tables."""

from __future__ import annotations

import functools
import io
import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.fuzz import tables
from tests.fuzz.case import Case, Corpus
from tests.fuzz.damage import ODD_TEXTS, spoil

from podium import data, sampled
from podium.data.pickled import read_pickled


def archives(rng: random.Random, corpus: Corpus) -> Case:
    """Return a call that reads a published archive or file, with damage inside or outside."""
    name, content, read = rng.choice((_movielens, _letor, _ratings, _svmlight))(rng)
    del corpus
    if rng.random() < 0.7:
        member = rng.choice(list(content))
        content[member] = spoil(content[member], rng)
    if name.endswith(".zip"):
        packed = _zip(content, rng)
        files = {name: spoil(packed, rng) if rng.random() < 0.6 else packed}
    else:
        files = {name: next(iter(content.values()))}
    return Case(files=files, call=lambda: read(name))


_Made = tuple[str, dict[str, bytes], Callable[[str], Any]]


def _movielens(rng: random.Random) -> _Made:
    rows = [(rng.randrange(9), rng.randrange(9), rng.randint(1, 5), 8 * 10**8) for _ in range(20)]
    member, separator = rng.choice((("ml-100k/u.data", "\t"), ("ml-1m/ratings.dat", "::")))
    text = "".join(separator.join(map(str, row)) + "\n" for row in rows)
    return "ml.zip", {member: text.encode(), "README": b"hello"}, data.movielens


def _ratings(rng: random.Random) -> _Made:
    rows = [f"{rng.randrange(9)},{rng.randrange(9)},3.5,900000000\n" for _ in range(20)]
    text = "userId,movieId,rating,timestamp\n" + "".join(rows)
    name = rng.choice(("ratings.csv", "ml.zip"))
    return name, {"ml-latest-small/ratings.csv": text.encode()}, data.movielens


def _letor(rng: random.Random) -> _Made:
    rows = tables.write(tables.rows_to_learn(rng), "svmlight")
    content = {f"Fold1/{part}.txt": rows for part in ("train", "vali", "test")}
    return "letor.zip", content, data.letor


def _svmlight(rng: random.Random) -> _Made:
    rows = tables.write(tables.rows_to_learn(rng), "svmlight")

    def stream(name: str) -> None:
        for _ in data.stream_features(name, rows=10):
            pass

    read = rng.choice((data.read_features, stream, _negatives))
    return "rows.svmlight", {"rows": rows}, read


def _negatives(name: str) -> Any:
    return sampled.read_negatives(name, n_items=100)


def _zip(content: dict[str, bytes], rng: random.Random) -> bytes:
    out = io.BytesIO()
    methods = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    with zipfile.ZipFile(out, "w", rng.choice(methods)) as archive:
        for name, member in content.items():
            archive.writestr(zipfile.ZipInfo(name), member, compress_type=rng.choice(methods))
    packed = bytearray(out.getvalue())
    draw = rng.random()
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = packed.find(sign)
        if position >= 0 and draw < 0.1:
            packed[position + offset] |= 1  # encrypted
        elif position >= 0 and draw < 0.2:
            packed[position + offset + 2] = rng.choice((1, 6, 9, 99))  # unsupported methods
    return bytes(packed)


def pickles(rng: random.Random, corpus: Corpus) -> Case:
    """Return a call that reads a damaged pickled table, or a pickle with odd allowed calls."""
    del corpus
    content = _crafted(rng) if rng.random() < 0.5 else _pickled(rng)
    if rng.random() < 0.7:
        content = spoil(content, rng)

    def read() -> None:
        with Path("table.pkl").open("rb") as stream:
            read_pickled(stream, "table.pkl")

    return Case(files={"table.pkl": content}, call=read)


def _pickled(rng: random.Random) -> bytes:
    n = rng.choice((1, 3, 20))
    frame = pd.DataFrame({
        "u_id": range(n), "label": [1.0] * n, "name": [rng.choice(ODD_TEXTS[:20])] * n,
    })  # fmt: skip
    value: Any = rng.choice((frame, frame, frame, frame["label"], frame.to_numpy(), [1], frame.T))
    return pickle.dumps(value, rng.randint(0, 5))


class _Calls:
    """An object that is pickled as a function call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call


def _crafted(rng: random.Random) -> bytes:
    """Return a pickle that builds arrays and frames from unusual arguments."""
    functions = (
        np.ndarray, np.dtype, functools.partial, slice, pd.DataFrame, pd.Index,
        np._core.multiarray.scalar, np._core.multiarray._reconstruct, np._core.numeric._frombuffer,
    )  # fmt: skip

    def argument(depth: int) -> Any:
        simple = (
            *(b"A" * 8, b"\x00" * 64, (1, 1), (2**40,), (0,), (-1,), 1, -1, 2**63, "O", "f8", None),
            *("U4", "V8", [("a", "O")], np.dtype("O"), np.dtype("f8"), np.dtype([("a", "O")])),
            *(np.zeros(3), ["a"], {"x": [1, 2]}, np.array(["x", None], object), True),
        )
        return _Calls(*call(depth - 1)) if depth and rng.random() < 0.4 else rng.choice(simple)

    def call(depth: int) -> list[Any]:
        function = rng.choice(functions)
        return [function, *(argument(depth) for _ in range(rng.choice((1, 2, 3, 3, 4))))]

    root = _Calls(*call(3))
    try:
        return pickle.dumps(root, rng.randint(2, 5))
    except Exception:  # an object that cannot be pickled needs no test
        return pickle.dumps([1])
