"""The files of the library, parsed once for all tests of their sources."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src" / "podium"


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the tree of each file by its path in the library."""
    return {
        file.relative_to(SRC).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(SRC.rglob("*.py"))
    }
