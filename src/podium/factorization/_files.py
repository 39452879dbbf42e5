"""A model in one file: arrays as safetensors, the rest as JSON in its header.

Reading such a file runs no code from it, whoever wrote it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from podium.errors import ArgumentError, DataError

FORMAT = 1
"""Version of the file's layout; a file of another one is refused."""

_KEY = "podium_factorization"  # of the JSON text in the header

Arrays = dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], arrays: Arrays, header: Mapping[str, Any]) -> None:
    """Write a file whole or not at all: a full disk leaves the one that was there.

    Arrays of strings become their UTF-8 bytes and where each begins.
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise ArgumentError(f"path {place} lies in a folder that does not exist. Create it first.")
    plain: Arrays = {}
    for name, array in arrays.items():
        plain |= _text(name, array) if array.dtype.kind == "U" else {name: array}
    text = json.dumps({"format": FORMAT, **header}, allow_nan=False)
    content = to_bytes(plain, metadata={_KEY: text})
    beside = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file that `write` wrote.

    Raises
    ------
    DataError
        If the file is missing, cut short, of another kind, or of another format; one sentence.
    """
    place = Path(path)
    if not place.is_file():
        raise DataError(f"{place} is not a file. Give the path of a model that podium saved.")
    try:
        with safe_open(place, framework="numpy") as file:
            text = (file.metadata() or {}).get(_KEY)
            arrays = {key: np.array(file.get_tensor(key)) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as wrong:
        raise DataError(
            f"{place} is cut short or no model file ({wrong}). Save the model again."
        ) from None
    header = _header(text)
    if header is None:
        raise DataError(f"{place} is a safetensors file, but holds no factorization of podium's.")
    if header.get("format") != FORMAT:
        raise DataError(
            f"{place} has model format {header.get('format')!r}, and this version of podium reads "
            f"{FORMAT}. Update podium, or save the model again."
        )
    return header, _with_text(arrays)


def _header(text: str | None) -> dict[str, Any] | None:
    try:
        header = json.loads(text or "")
    except ValueError:
        return None
    return cast("dict[str, Any]", header) if isinstance(header, dict) else None


def _text(name: str, array: NDArray[np.str_]) -> Arrays:
    words = [word.encode() for word in array.tolist()]
    ends = np.cumsum([len(word) for word in words], dtype=np.int64)
    return {
        f"{name}.utf8": np.frombuffer(b"".join(words), np.uint8),
        f"{name}.ends": ends,
    }


def _with_text(arrays: Arrays) -> Arrays:
    """Put bytes and ends together again."""
    result: Arrays = {}
    for name, array in arrays.items():
        if name.endswith(".utf8"):
            bare = name.removesuffix(".utf8")
            ends: list[int] = arrays[f"{bare}.ends"].tolist()
            starts = [0, *ends[:-1]]
            letters = array.tobytes()
            result[bare] = np.array(
                [letters[a:b].decode() for a, b in zip(starts, ends, strict=True)], dtype=np.str_
            )
        elif not name.endswith(".ends"):
            result[name] = array
    return result
