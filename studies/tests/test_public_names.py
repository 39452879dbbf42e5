"""The studies use public names of podium only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

STUDIES = Path(__file__).resolve().parents[1]
FILES = sorted([*(STUDIES / "src").rglob("*.py"), *(STUDIES / "tools").rglob("*.py")])


def private(source: str) -> list[str]:
    """Return the imported modules and names of podium that begin with an underscore."""
    return [name for name in _imported(ast.parse(source)) if _is_private(name)]


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_private(name: str) -> bool:
    package, *parts = name.split(".")
    return package == "podium" and any(part.startswith("_") and part[:2] != "__" for part in parts)


def test_studies_import_public_names_only() -> None:
    assert {path.name: found for path in FILES if (found := private(path.read_text("utf-8")))} == {}
