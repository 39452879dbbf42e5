"""A case as a short program, and a smaller case that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from podium.testing.pairs import doors
from podium.testing.pairs.cases import Case, Tables


def snippet(case: Case, door: str) -> str:
    """Return a program that asks the door for the facts of a case."""
    name = door if door in ("compare", "gate", "explain", "audit") else "measure"
    keywords = doors.keywords(case, name if name in doors.OPTIONS else "measure")
    options = "".join(f", {option}={value!r}" for option, value in keywords.items())
    runs = {"compare": "{'a': a, 'b': b, 'c': c}" if case["pairs"] == "all" else "{'a': a, 'b': b}"}
    measures = case.measures[0] if name == "gate" or len(case.measures) == 1 else [*case.measures]
    listed = runs.get(name, "a, b" if name == "gate" else "a")
    rows = {n: doors.run_of(case.tables, n) for n in case.tables.runs}
    lines = [
        f"t = {doors.truth_of(case.tables)}",
        *(f"{n} = {table}" for n, table in rows.items() if n == "a" or name in ("compare", "gate")),
        f"podium.{name}(t, {listed}, {measures!r}{options})",
    ]
    return "\n".join(f"    {line}" for line in lines)


def shrunk(case: Case, fails: Callable[[Case], bool], most: int = 150) -> Case:
    """Return a case with fewer options, measures, users and rows that still fails."""
    left = most
    while True:
        for smaller in _smaller(case):
            left -= 1
            if left < 0:
                return case
            if fails(smaller):
                case = smaller
                break
        else:
            return case


def _smaller(case: Case) -> Iterator[Case]:
    for option in case.options:
        options = {name: value for name, value in case.options.items() if name != option}
        yield case.replace(options=options)
    if len(case.measures) > 1:
        for i in range(len(case.measures)):
            yield case.replace(measures=case.measures[:i] + case.measures[i + 1 :])
    for user in dict.fromkeys(str(user) for user, *_ in case.tables.truth):
        yield case.replace(tables=_without(case.tables, lambda row, u=user: str(row[0]) == u))
    yield case.replace(tables=_without(case.tables, lambda row: str(row[0]) in ("20", "u20")))
    for row in dict.fromkeys(
        (str(u), str(i)) for rows in case.tables.runs.values() for u, i, _ in rows
    ):
        yield case.replace(
            tables=_without(case.tables, lambda r, key=row: (str(r[0]), str(r[1])) == key)
        )


def _without(tables: Tables, drops: Callable[[tuple[Any, ...]], bool]) -> Tables:
    runs: Mapping[str, Any] = {
        name: tuple(row for row in rows if not drops(row)) for name, rows in tables.runs.items()
    }
    truth = tuple(row for row in tables.truth if not drops(row))
    return replace(tables, truth=truth or tables.truth, runs=runs)
