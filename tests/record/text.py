"""A part of the record as text, with arrays as a digest and a few numbers, and its differences."""

from __future__ import annotations

import difflib
import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from tests.record.names import PodiumError

Part: TypeAlias = dict[str, list[str]]
"""The lines of entries by title."""

FOLDER = Path(__file__).resolve().parent
_DIGEST = re.compile(r"#[0-9a-f]{16}(?: \d+ bytes)?")  # a file's numbers change its length
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w.])", re.IGNORECASE)
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
_SHOWN = 3


def collect(entries: Iterator[tuple[str, list[str]]]) -> Part:
    """Return the entries by title; raise ValueError if a title is repeated."""
    part: Part = {}
    for title, lines in entries:
        if title in part:
            raise ValueError(f"two entries are called {title!r}")
        part[title] = [row for line in lines for row in line.split("\n")]
    return part


def read(name: str, folder: Path = FOLDER) -> Part:
    """Return the recorded part; {} if there is none."""
    file = folder / f"{name}.txt"
    part: Part = {}
    lines: list[str] = []
    for row in file.read_text("utf-8").split("\n")[:-1] if file.exists() else ():
        if row.startswith("== "):
            lines = part.setdefault(row.removeprefix("== "), [])
        else:
            lines.append(row.removeprefix("  "))
    return part


def write(name: str, part: Mapping[str, list[str]], folder: Path = FOLDER) -> None:
    rows: list[str] = []
    for title, lines in part.items():
        rows += [f"== {title}", *(f"  {line}" if line else "" for line in lines)]
    (folder / f"{name}.txt").write_text("\n".join(rows) + "\n", "utf-8")


def differences(
    old: Mapping[str, list[str]], new: Mapping[str, list[str]], *, close: bool = False
) -> list[str]:
    """Return the lines that differ, below the titles of their entries.

    Parameters
    ----------
    old, new : mapping of str to list of str
    close : bool
        Whether to ignore digests and relative differences of numbers up to 1e-6, for comparisons
        between types of processors.
    """
    rows: list[str] = []
    for title in dict.fromkeys([*old, *new]):
        before, after = old.get(title), new.get(title)
        if before is None or after is None:
            rows.append(f"== {title}: {'not recorded' if before is None else 'gone'}")
        elif before != after and not (close and _all_close(before, after)):
            diff_lines = difflib.unified_diff(before, after, "recorded", "now", lineterm="", n=1)
            rows += [f"== {title}", *list(diff_lines)[2:]]
    return rows


def _all_close(before: list[str], after: list[str]) -> bool:
    return len(before) == len(after) and all(map(_is_close, before, after))


def _is_close(a: str, b: str) -> bool:
    """Return whether two lines are equal except digests and the last digits of numbers."""
    a, b = (_DIGEST.sub("#", line) for line in (a, b))
    if a == b:
        return True
    same_words = _NUMBER.sub("0", a).split() == _NUMBER.sub("0", b).split()
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=False)
    return same_words and all(_agree(float(x), float(y)) for x, y in pairs)


def _agree(x: float, y: float) -> bool:
    both_nan = math.isnan(x) and math.isnan(y)
    return both_nan or math.isclose(x, y, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def numbers(text: str) -> list[str]:
    """Return the numbers of each line that has any."""
    rows = (" ".join(_NUMBER.findall(line)) for line in text.splitlines())
    return [row for row in rows if row]


def digest(data: bytes) -> str:
    return "#" + hashlib.sha256(data).hexdigest()[:16]


def bits(name: str, value: Any) -> str:
    """Return a line for an array: digest, type, shape, first numbers and mean absolute value."""
    if sparse.issparse(value):
        value = value.toarray()
    array = np.ascontiguousarray(value)
    if array.dtype.kind not in "fiub":
        return f"{name}: {digest(repr(array.tolist()).encode())} {array.ravel()[:_SHOWN].tolist()}"
    numbers = " ".join(f"{x:.8g}" for x in array.ravel()[:_SHOWN].tolist())
    finite = np.abs(array[np.isfinite(array)].astype(float))
    mean = float(finite.mean()) if finite.size else math.nan
    shape = "×".join(map(str, array.shape)) or "one"
    description = f"{digest(array.tobytes())} {array.dtype} {shape}"
    return f"{name}: {description}: {numbers}; mean absolute {mean:.8g}"


def attempt(lines: Callable[[], list[str]], label: str = "") -> list[str]:
    """Return the lines, or the class of podium's error if it raises one, prefixed by the label."""
    try:
        rows = lines()
    except PodiumError as error:
        rows = [type(error).__name__]
    return [f"{label} {row}" for row in rows] if label else rows
