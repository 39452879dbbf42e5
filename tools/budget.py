"""Print the lines of each room beside its budget; exit 1 if a total is over.

Code is counted without blank lines, docstrings and comment lines; tests are counted whole. The
budget lies in tools/budget.toml. A room may borrow from another one, a total may not.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Table = dict[str, dict[str, int]]


def main() -> int:
    """Print the table of each total; return 1 if one is over its budget, else 0."""
    budget: Table = tomllib.loads((ROOT / "tools/budget.toml").read_text(encoding="utf-8"))
    over = [
        total for total, counts in counted(ROOT).items() if not print_total(total, counts, budget)
    ]
    if over:
        print(f"Over budget: {', '.join(over)}. Take lines away, or raise tools/budget.toml in a")
        print("commit of its own that says what the lines buy.")
    return bool(over)


def counted(root: Path) -> dict[str, Counter[str]]:
    """Return the lines of each room, by total."""
    library = root / "src/podium"
    return {
        "library": Counter(
            {room: n for room, n in _rooms(library).items() if room != "testing.pairs"}
        ),
        "net": Counter({"testing.pairs": _rooms(library)["testing.pairs"]}),
        "studies": _rooms(root / "studies/src/podium_studies"),
        "tests": Counter({folder: _lines(root / folder) for folder in ("tests", "studies/tests")}),
        "docs": Counter({"pages": len(_pages(root / "docs"))}),
    }


def print_total(total: str, counts: Counter[str], budget: Table) -> bool:
    """Print the rooms of a total; return whether their sum is within the budget."""
    allowed = dict(budget.get(total, {}))
    limit = allowed.pop("total", 0)
    for room in sorted({*counts, *allowed}):
        _print(f"  {room}", allowed.get(room), counts[room])
    _print(total, limit, counts.total())
    return counts.total() <= limit


def _print(name: str, allowed: int | None, now: int) -> None:
    if allowed is None:
        print(f"{name:24} {'–':>8} {now:>8}")
    else:
        print(f"{name:24} {allowed:>8,} {now:>8,} {now - allowed:>+8,}")


def code_lines(source: str) -> int:
    """Return the number of lines that are neither blank nor docstrings nor comments."""
    in_docstrings = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())) as first, *_]:
                    in_docstrings.update(range(first.lineno, (first.end_lineno or 0) + 1))
                case _:
                    pass
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in in_docstrings
        for number, line in enumerate(source.splitlines(), 1)
    )


def _rooms(package: Path) -> Counter[str]:
    rooms = Counter[str]()
    for file in _files(package):
        rooms[_room(file.relative_to(package).parts)] += code_lines(
            file.read_text(encoding="utf-8")
        )
    return rooms


def _room(parts: tuple[str, ...]) -> str:
    if len(parts) == 1:
        return "ground"
    return "testing.pairs" if parts[:2] == ("testing", "pairs") else parts[0]


def _lines(folder: Path) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in _files(folder))


def _pages(folder: Path) -> list[Path]:
    return [page for page in folder.rglob("*.md") if "_generated" not in page.parts]


def _files(folder: Path) -> Iterable[Path]:
    return sorted(folder.rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main())
