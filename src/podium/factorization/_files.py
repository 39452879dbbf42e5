"""A factorization in one file: its arrays, and the rest as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from podium._arrays import Arrays, read_arrays, write_arrays

FORMAT = 1
"""Version of the file's layout; a file of another one is refused."""

_KIND = "podium_factorization"


def write(path: str | os.PathLike[str], arrays: Arrays, header: Mapping[str, Any]) -> None:
    """Write a model's file whole or not at all; see `write_arrays`."""
    write_arrays(path, _KIND, FORMAT, arrays, header)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a model's file; see `read_arrays`."""
    return read_arrays(path, _KIND, FORMAT, what="factorization")
