"""Metamorphic laws: how the facts of a door change if the tables of a case do."""

from __future__ import annotations

import random
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from podium.data.frames import as_frame
from podium.testing.pairs import doors
from podium.testing.pairs.cases import Case, Rows, Tables
from podium.testing.pairs.figures import Facts
from podium.testing.pairs.formulas import parse
from podium.testing.pairs.law import Fault, answer, is_same

Fact: TypeAlias = tuple[str, ...]

_BY_SET = ("precision", "recall", "f1", "hit_rate", "coverage", "gini", "novelty", "popularity")
_BY_SET_OF_PAIRS = ("diversity", "judged")
_MEANS = ("mean", "pooled", "lowest mean", "highest mean", "unjudged low", "unjudged high")
_OF_CLAIMS = ("base", "candidate", "difference")
_FORMATS = ("csv", "parquet", "jsonl")


@dataclass(frozen=True)
class Law:
    """What happens to the facts of doors if the tables change.

    Attributes
    ----------
    name : str
    change : callable
        ``change(case, rng)`` returns the other case; None if the law says nothing of this one.
    doors : tuple of str
    facts : tuple of str
        The facts of which the law speaks; empty for all.
    same_bits : bool
        Whether facts are equal to the last bit, instead of up to rounding.
    rename : callable
        ``rename(text)`` returns the user of the first case, given that of the other one.
    """

    name: str
    change: Callable[[Case, random.Random], Case | None]
    doors: tuple[str, ...] = ("measure", "compare", "gate")
    facts: tuple[str, ...] = ()
    same_bits: bool = False
    rename: Callable[[str], str] = str


def broken(case: Case, law: Law) -> Iterator[Fault]:
    """Yield the facts of a case that break a law."""
    other = law.change(case, random.Random(case.number))
    if other is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for door in law.doors:
            if doors.has(door, case):
                ask = doors.DOORS[door]
                before, after = (answer(lambda c=c, a=ask: a(c)) for c in (case, other))
                yield from _differences(case, law, door, before, after)


def _differences(
    case: Case, law: Law, door: str, before: Facts | str, after: Facts | str
) -> Iterator[Fault]:
    name = f"{door}, {law.name}"
    if isinstance(before, str) or isinstance(after, str):
        if isinstance(before, str) != isinstance(after, str):
            yield Fault(case, name, ("refusal",), str(before)[:90], str(after)[:90])
        return
    renamed: Facts = {(*fact[:-1], law.rename(fact[-1])): value for fact, value in after.items()}
    for fact, value in before.items():
        if law.facts and fact[0] not in law.facts:
            continue
        value_after = renamed.get(fact, "none")
        is_equal = value == value_after or value != value != value_after != value_after
        if not (is_equal if law.same_bits else is_same(fact[0], value, value_after)):
            yield Fault(case, name, fact, value, value_after)


def _shuffled(case: Case, rng: random.Random) -> Case:
    """Return the same tables with their rows in another order."""
    tables = case.tables
    runs = {name: _drawn(rows, rng) for name, rows in tables.runs.items()}
    other = replace(
        tables, truth=_drawn(tables.truth, rng), runs=runs, past=_drawn(tables.past, rng)
    )
    return case.replace(tables=other)


def _drawn(rows: Rows, rng: random.Random) -> Rows:
    return tuple(rng.sample(rows, len(rows)))


def _mapped(
    tables: Tables, user: Callable[[Any], Any], score: Callable[[Any], Any] = lambda s: s
) -> Tables:
    """Return tables with other ids of users, or other scores."""
    return replace(
        tables,
        truth=tuple((user(u), *rest) for u, *rest in tables.truth),
        runs={
            name: tuple((user(u), i, score(s)) for u, i, s in rows)
            for name, rows in tables.runs.items()
        },
        users={user(u): row for u, row in tables.users.items()},
    )


def _later(user: Any) -> Any:
    """Return an id that is ordered like the first one; all have one or two digits."""
    if isinstance(user, int) or user.isdecimal():
        return type(user)(int(user) + 100)
    return f"{user}0"


def _renamed(case: Case, _: random.Random) -> Case | None:
    if case["ties"] == "random":  # the order depends on ids
        return None
    return case.replace(tables=_mapped(case.tables, _later))


def _first_name(user: str) -> str:
    """Return the first id of a user of `_renamed`; places are no ids."""
    if user.startswith("u"):
        return user.removesuffix("0")
    return str(int(user) - 100) if user.isdecimal() and int(user) > 100 else user


def _reversed(case: Case, _: random.Random) -> Case | None:
    """Return users in another order of their ids."""
    if case["ties"] == "random" or any(isinstance(u, str) for u, *_ in case.tables.truth):
        return None
    if any(isinstance(u, str) for rows in case.tables.runs.values() for u, *_ in rows):
        return None
    return case.replace(tables=_mapped(case.tables, lambda user: 1000 - user))


def _first_of_reversed(user: str) -> str:
    return str(1000 - int(user)) if user.isdecimal() else user


def _twice(case: Case, _: random.Random) -> Case | None:
    if case["ties"] == "random":
        return None
    return case.replace(tables=_with_copies(case.tables, lambda _: 2))


def _with_copies(tables: Tables, n_copies: Callable[[str], int]) -> Tables:
    """Return tables in which each user of the truth is there several times."""

    def copies(user: Any) -> list[Any]:
        first = user if isinstance(user, str) else int(user)
        n = n_copies(str(user))
        more = [f"{user}x{i}" if isinstance(first, str) else first + 100 * i for i in range(1, n)]
        return [user, *more]

    if any(isinstance(u, str) and u.isdecimal() for r in tables.runs.values() for u, *_ in r):
        tables = _mapped(tables, int)
    return replace(
        tables,
        truth=tuple((c, *rest) for u, *rest in tables.truth for c in copies(u)),
        runs={
            name: tuple((c, *rest) for u, *rest in rows for c in copies(u))
            for name, rows in tables.runs.items()
        },
        users={c: row for u, row in tables.users.items() for c in copies(u)},
    )


def _repeated(case: Case, _: random.Random) -> Case | None:
    """Return users that are there as often as their weight says, each with weight 1."""
    if case["weight"] is None or case["ties"] == "random" or "n_pos" in (case["by"] or ()):
        return None
    weights = {str(user): row[2] for user, row in case.tables.users.items()}
    if not all(weights.get(user) for user in case.tables.judged()) or case["cluster"]:
        return None
    tables = _with_copies(case.tables, lambda user: int(2 * weights.get(user, 0.5)))
    options = {name: value for name, value in case.options.items() if name != "weight"}
    return case.replace(tables=tables, options=options)


def _doubled(case: Case, _: random.Random) -> Case | None:
    """Return scores, and the score that is not retrieved, times two."""
    if case.tables.is_order or (case["like"] == "torchmetrics"):
        return None
    options = dict(case.options)
    if case["score_above"] is not None:
        options["score_above"] = 2 * case["score_above"]
    doubled = _mapped(case.tables, lambda user: user, lambda score: 2 * score)
    return case.replace(tables=doubled, options=options)


def _without_others(case: Case, _: random.Random) -> Case | None:
    """Return runs without the users whom the truth lacks; the catalogue has their items."""
    if any(parse(text).metric.reads != "relevance" for text in case.measures):
        return None
    judged = case.tables.judged()
    runs = {
        name: tuple(row for row in rows if str(row[0]) in judged)
        for name, rows in case.tables.runs.items()
    }
    return case.replace(tables=replace(case.tables, runs=runs))


LAWS: tuple[Law, ...] = (
    Law("rows in another order", _shuffled, same_bits=True),
    Law("users renamed in the same order", _renamed, same_bits=True, rename=_first_name),
    Law("users renamed in another order", _reversed, rename=_first_of_reversed),
    Law("all users twice", _twice, facts=("value", *_MEANS, *_OF_CLAIMS)),
    Law("weights are repeated users", _repeated, ("gate",), (*_OF_CLAIMS, *_MEANS)),
    Law("scores times two", _doubled, same_bits=True),
    Law("without users whom the truth lacks", _without_others, same_bits=True),
)
"""The laws of tables that change."""


def against_itself(case: Case) -> Iterator[Fault]:
    """Yield where a run differs from itself."""
    tables = case.tables
    yield from _equal(case, {**tables.runs, "b": tables.runs["a"], "c": tables.runs["a"]})


def of_the_same_sets(case: Case) -> Iterator[Fault]:
    """Yield where two orders of the same top items differ in measures of which items are there."""
    names = (*_BY_SET, *_BY_SET_OF_PAIRS)
    measures = tuple(m for m in case.measures if m.startswith(names) and "@" in m)
    if not measures or case["ties"] == "average":
        return
    rng = random.Random(case.number)
    top = min(parse(text).k or 0 for text in measures)
    scores = _distinct(case.tables.runs["a"], rng)
    other = _permuted(scores, top, rng)
    at_top = tuple(f"{m.rpartition('@')[0]}@{top}" for m in measures)
    runs = {**case.tables.runs, "a": scores, "b": other, "c": other}
    distinct = replace(case.tables, scores="score")
    removed = ("score_above", "single_precision", "unjudged")  # they change the top items
    options = {name: value for name, value in case.options.items() if name not in removed}
    case = case.replace(measures=(*dict.fromkeys(at_top),), options=options, tables=distinct)
    yield from _equal(case, runs)


def _distinct(rows: Rows, rng: random.Random) -> Rows:
    scores = rng.sample(range(1, len(rows) + 1), len(rows))
    return tuple((u, i, float(s)) for (u, i, _), s in zip(rows, scores, strict=True))


def _permuted(rows: Rows, top: int, rng: random.Random) -> Rows:
    """Return rows in which the first items of each list are in another order."""
    lists: dict[Any, list[tuple[Any, Any, float]]] = {}
    for row in sorted(rows, key=lambda row: -row[2]):
        lists.setdefault(row[0], []).append(row)
    result: list[tuple[Any, Any, float]] = []
    for user_rows in lists.values():
        scores = rng.sample([s for *_, s in user_rows[:top]], len(user_rows[:top]))
        result += [(u, i, s) for (u, i, _), s in zip(user_rows[:top], scores, strict=True)]
        result += user_rows[top:]
    return tuple(result)


_OF_EQUALS: Mapping[str, Any] = {
    "difference": 0.0,
    "std_error": 0.0,
    "wins": 0,
    "losses": 0,
    "t_p_value": 1.0,
    "randomisation_p_value": 1.0,
    "effect": 0.0,
}


def _equal(case: Case, runs: Mapping[str, Rows]) -> Iterator[Fault]:
    """Yield the tests of equal runs that do not say so."""
    case = case.replace(tables=replace(case.tables, runs=runs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = answer(lambda: doors.compare(case))
    if isinstance(facts, str):
        return
    for fact, value in facts.items():
        if " - " in fact[2] and fact[0] in _OF_EQUALS and not _is_missing(value, facts, fact):
            right = _OF_EQUALS[fact[0]]
            if value != right:
                yield Fault(case, "compare, equal runs", fact, right, value)


def _is_missing(value: Any, facts: Facts, fact: Fact) -> bool:
    """Return whether a test has too few users."""
    return bool(value != value) and facts["n_groups", *fact[1:]] < 2


def in_files(case: Case, kinds: Sequence[str] = _FORMATS) -> Iterator[Fault]:
    """Yield the facts that differ if the tables are files of a format."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        before = answer(lambda: doors.measure(case))
        for kind in kinds:
            paths = [_written(Path(folder), case, name, kind) for name in ("truth", "a")]
            after = answer(lambda p=paths: doors.measure_tables(case, p[0], p[1]))
            law = Law(f"tables as {kind}", lambda case, _: case, same_bits=True)
            yield from _differences(case, law, "measure", before, after)


def _written(folder: Path, case: Case, name: str, kind: str) -> Path:
    """Write the truth or a run, and return the path."""
    columns = doors.truth_of(case.tables) if name == "truth" else doors.run_of(case.tables, name)
    path = folder / f"{name}.{kind}"
    frame: Any = as_frame(columns, "polars")
    write = {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}
    with suppress(FileExistsError):
        write[kind](path)
    return path


def all_broken(case: Case) -> Iterator[Fault]:
    """Yield what breaks a law in a case; two of the laws of tables are tried."""
    for i in (0, 1 + case.number % (len(LAWS) - 1)):
        yield from broken(case, LAWS[i])
    yield from against_itself(case)
    yield from of_the_same_sets(case)
    if case.number % 5 == 0:
        yield from in_files(case, (_FORMATS[case.number // 5 % 3],))
