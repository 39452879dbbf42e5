"""Arrays and their description in one file: safetensors, with JSON in its header.

Reading such a file does not run code from it. The digest in the header detects damage. It does
not detect deliberate changes, because anyone can compute it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from podium._files import replacing
from podium.errors import ArgumentError, DataError, arg

Arrays: TypeAlias = dict[str, NDArray[Any]]

ArraySpecs: TypeAlias = "Mapping[str, tuple[tuple[int, ...], type[np.number[Any]]]]"

_DIGEST = re.compile(r'(.*), "digest": "([0-9a-f]{32})"}', re.DOTALL)
_TEXT, _ENDS = ".utf8", ".ends"  # suffixes of an array of strings: its bytes, the end of each


def write_arrays(
    path: str | os.PathLike[str],
    kind: str,
    format: int,
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
) -> None:
    """Write a file completely or not at all; on an error, an existing file remains.

    Parameters
    ----------
    path : path
        A path in an existing folder.
    kind : str
        The kind of the contents, such as "podium_gate". Only a reader of this kind accepts the
        file.
    format : int
        The version of `arrays` and `header`. Only a reader of this version accepts the file.
    arrays : mapping of str to array
        Arrays of numbers, of any shape, or of strings, with one axis. C-ordered arrays are not
        copied.
    header : mapping
        Other contents that JSON can represent.

    Raises
    ------
    ArgumentError
        If path is a folder, or its folder does not exist.
    OSError
        If the file cannot be written.
    """
    target = Path(path)
    check_target(target)
    stored: Arrays = {}
    for name, array in arrays.items():
        stored |= _encoded(name, array) if array.dtype.kind == "U" else {name: _ordered(array)}
    text = json.dumps({"format": format, **header}, allow_nan=False)
    text = with_digest(text, stored)
    with replacing(target) as beside:
        _save(stored, beside, {kind: text})


def check_target(target: Path, name: str = "path") -> None:
    """Raise if a path can't be that of a new file."""
    if target.is_dir():
        raise ArgumentError(f"{arg[name]} {target} is a folder. Give the path of a file.")
    if not target.parent.is_dir():
        raise ArgumentError(
            f"{arg[name]} {target} is in a folder that does not exist. Create the folder."
        )


def read_arrays(
    path: str | os.PathLike[str], kind: str, format: int, *, noun: str = "model"
) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file that `write_arrays` wrote.

    Parameters
    ----------
    path : path
    kind, format
        The kind and the version of the contents.
    noun : str
        The name of such a file in messages.

    Returns
    -------
    header : dict
        The header with its "format" and its "digest".
    arrays : dict of arrays
        Copies in memory.

    Raises
    ------
    DataError
        If the file is missing, cut short, damaged, of another kind or of another format.
    """
    place = Path(path)
    kinds, arrays = _opened(place, noun)
    header = _header(kinds.get(kind))
    if header is None:
        others = [other for other in kinds if other.startswith("podium_") and other != kind]
        contents = (
            f", only a {others[0].removeprefix('podium_').replace('_', ' ')}" if others else ""
        )
        raise DataError(
            f"{place} is a safetensors file, but contains no {noun} saved by "
            f"podium{contents}. Pass another file."
        )
    if header.get("format") != format:
        raise DataError(
            f"{place} has {noun} format {header.get('format')!r}, but this version of podium reads "
            f"{format}. Update podium, or save the {noun} again."
        )
    if not matches_digest(kinds[kind], arrays):
        raise DataError(
            f"{place} is damaged: its digest is missing or does not match its content. Save the "
            f"{noun} again."
        )
    try:
        return header, _with_strings(arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{place} has strings that can't be read ({error}). Save the {noun} again."
        ) from None


def check_arrays(arrays: Mapping[str, Any], expected: ArraySpecs) -> None:
    """Raise unless all arrays exist, have the given shapes and types, and are finite.

    Raises
    ------
    ArgumentError
        If an array is missing or wrong. The message names the first one.
    """
    for name, (shape, kind) in expected.items():
        if not isinstance(arrays.get(name), np.ndarray):
            raise ArgumentError(f"{name} is missing or not an array")
        array: NDArray[Any] = arrays[name]
        if array.shape != shape:
            raise ArgumentError(f"{name} has shape {array.shape}, not {shape}")
        if array.dtype != kind:
            raise ArgumentError(f"{name} has type {array.dtype}, not {np.dtype(kind)}")
        if not np.isfinite(array).all():
            raise ArgumentError(f"{name} is not finite")


def with_digest(text: str, arrays: Arrays) -> str:
    """Return a JSON object with a digest of itself and the arrays as its last entry."""
    return f'{text[:-1]}, "digest": "{_digest(text, arrays)}"}}'


def matches_digest(text: str, arrays: Arrays) -> bool:
    """Return whether text and arrays match the digest that `with_digest` added."""
    signed = _DIGEST.fullmatch(text)
    return signed is not None and _digest(f"{signed[1]}}}", arrays) == signed[2]


def _digest(text: str, arrays: Arrays) -> str:
    digest = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = _ordered(arrays[name])
        # safetensors always writes the low byte first.
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(array.data)
    return digest.hexdigest()


def _opened(place: Path, noun: str) -> tuple[dict[str, str], Arrays]:
    """Return the JSON texts by kind, and all arrays."""
    if not place.is_file():
        raise DataError(f"{place} is not a file. Give the path of a {noun} that podium saved.")
    try:
        with safe_open(place, framework="numpy") as file:
            kinds = dict(file.metadata() or {})
            return kinds, {key: np.array(file.get_tensor(key)) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(
            f"{place} is truncated or not a {noun} file ({error}). Pass the path of a "
            f"{noun} that podium saved, or save it again."
        ) from None
    except (AttributeError, TypeError) as error:
        raise DataError(
            f"{place} has numbers of a type that podium does not save ({error}). Save the {noun} "
            "again."
        ) from None


def _header(text: str | None) -> dict[str, Any] | None:
    try:
        header = json.loads(text or "")
    except (RecursionError, ValueError):
        return None
    return cast("dict[str, Any]", header) if isinstance(header, dict) else None


def _save(arrays: Arrays, place: Path, metadata: Mapping[str, str]) -> None:
    """Write arrays without a copy of all bytes in memory."""
    try:
        save_file(arrays, place, metadata=metadata)
    except SafetensorError as error:
        failed = re.search(r"I/O error: (.+) \(os error (\d+)\)", str(error))
        if failed is None:
            raise
        raise OSError(int(failed[2]), failed[1], str(place)) from None


def _ordered(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in C order, because safetensors writes the bytes in memory order."""
    return np.asarray(array, order="C")


def _encoded(name: str, array: NDArray[np.str_]) -> Arrays:
    """Return strings as their concatenated UTF-8 bytes and the end of each string."""
    words = [word.encode() for word in array.tolist()]
    ends = np.cumsum([len(word) for word in words], dtype=np.int64)
    return {
        f"{name}{_TEXT}": np.frombuffer(b"".join(words), np.uint8),
        f"{name}{_ENDS}": ends,
    }


def _with_strings(arrays: Arrays) -> Arrays:
    """Replace each pair of bytes and ends by its array of strings."""
    texts = {name.removesuffix(_TEXT) for name in arrays if name.endswith(_TEXT)}
    strings = {
        name: _decoded(arrays[f"{name}{_TEXT}"].tobytes(), arrays[f"{name}{_ENDS}"].tolist())
        for name in texts
    }
    parts = {f"{name}{end}" for name in texts for end in (_TEXT, _ENDS)}
    return {**{name: array for name, array in arrays.items() if name not in parts}, **strings}


def _decoded(letters: bytes, ends: list[int]) -> NDArray[np.str_]:
    return np.array([letters[a:b].decode() for a, b in pairwise([0, *ends])], np.str_)
