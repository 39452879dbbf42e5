"""Each message says what is wrong, where, and what to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.test_sources import trees

ERRORS = {"ArgumentError", "DataError", "UnsettledError"}
# Their texts are reasons inside the message of another error: "… is not a valid model (reason)."
REASONS = {
    *("_arrays.py", "rankers/boosting/_base.py", "rankers/estimator.py", "rankers/model_io.py"),
    *("rankers/neural/_ranker.py", "recommenders/_files.py"),
}
HOLE = "{}"
# A requirement says what to do, such as "k must be …"; otherwise a further sentence does.
ADVICE = re.compile(
    r"\b(must|should|needs?|requires?|takes?|cannot|can't|not (known|a parameter|of the form))\b"
    r"|[.?] |, or |^Give |\{\}, got |\{\}[.?]?$"
)


def texts(argument: ast.expr) -> Iterator[str]:
    """Yield the texts of a message, with a hole for each value."""
    if isinstance(argument, ast.IfExp):
        yield from texts(argument.body)
        yield from texts(argument.orelse)
    elif isinstance(argument, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else HOLE for p in argument.values)
        yield "".join(map(str, parts)).strip()
    elif isinstance(argument, ast.Constant):
        yield str(argument.value).strip()


def messages() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each error that the library raises or makes."""
    for name, tree in trees().items():
        if name.startswith(("papers/", "testing/")) or name in REASONS:
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=kind), args=[first, *_]) if kind in ERRORS:
                    for text in texts(first):
                        yield f"{name}:{node.lineno}", text
                case _:
                    pass


def test_messages_say_what_where_and_what_to_do() -> None:
    found = list(messages())
    assert len(found) > 500
    wrong = [
        f"{place}: {text}"
        for place, text in found
        if not text.endswith((".", "?", HOLE)) or not ADVICE.search(text)
    ]
    assert wrong == []
