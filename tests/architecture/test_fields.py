"""Which modules read each field of a protocol."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.architecture.test_sources import trees

from podium._fields import FIELDS

VALUES = ("Protocol", "Conventions", "Task")
# The modules that declare, parse and print fields read all of them.
DECLARING = ("_fields.py", "protocol/", "cli/", "testing/")
READERS = {
    "measures": "decide/explain/table.py decide/pairs.py decide/rules.py "
    "evaluation/from_rankings.py evaluation/in_parts.py evaluation/unjudged.py",
    "min_relevance": "data/lists.py decide/audit/reading.py",
    **dict.fromkeys(
        ("low_grades", "ties", "missing", "unjudged", "unretrieved", "single_precision"),
        "data/lists.py",
    ),
    **dict.fromkeys(("score_above", "n_items", "ties_seed"), "data/lists.py"),
    "undefined": "evaluation/evaluation.py",
    "by": "decide/gate.py decide/rules.py decide/several_runs.py evaluation/from_runs.py "
    "evaluation/users.py",
    "weight": "decide/rules.py evaluation/users.py",
    "cluster": "decide/gate.py evaluation/users.py",
    "level": "decide/claiming.py evaluation/evaluation.py",
    "interval": "decide/several_runs.py evaluation/evaluation.py",
    "bootstrap_seed": "evaluation/comparison.py evaluation/evaluation.py",
    "n_permutations": "evaluation/comparison.py",
    **dict.fromkeys(("margin", "guards", "at_least", "sequential", "horizon"), "decide/rules.py"),
}
"""The modules of each field. A line should become shorter; a new module needs a reason."""


def test_each_field_is_read_where_the_table_says() -> None:
    readers: dict[str, set[str]] = defaultdict(set)
    for module, tree in trees().items():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and not module.startswith(DECLARING):
                for field in _read(function):
                    readers[field].add(module)
    assert {*READERS, "like"} == {name for name, f in FIELDS.items() if f.stage != "tables"}
    assert {field: " ".join(sorted(modules)) for field, modules in readers.items()} == READERS


def _read(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the fields that a function reads from a Protocol or Conventions."""
    arguments = (*function.args.args, *function.args.kwonlyargs)
    values = {a.arg for a in arguments if a.annotation and ast.unparse(a.annotation) in VALUES}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_value(node.value, values):
            values |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in READERS
            and _is_value(node.value, values)
        ):
            yield node.attr


def _is_value(node: ast.expr, values: set[str]) -> bool:
    """Return whether an expression is a Protocol, a Conventions or a Task, by its form."""
    if isinstance(node, ast.Name):
        return node.id in values
    if isinstance(node, ast.Attribute):
        return node.attr in ("protocol", "conventions")
    if not isinstance(node, ast.Call):
        return False
    made = ast.unparse(node.func)
    if made in (*VALUES, "Protocol.of", "Protocol.read", "Protocol.like"):
        return True
    if made == "replace":
        return _is_value(node.args[0], values)
    makers = (".conventions", ".replace", ".task")
    return made.endswith(makers) and _is_value(node.func.value, values)  # type: ignore[attr-defined]
