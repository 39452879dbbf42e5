"""The law of pairs: where two options meet, all doors refuse them or give the same numbers."""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import podium
from podium import Protocol
from podium._fields import FIELDS
from podium.protocol import EXCLUSIONS, NO_EFFECT
from podium.report.conventions import as_option
from podium.testing import pairs
from podium.testing.pairs import brute, cases, claims, doors, law, laws
from podium.testing.pairs.cases import Case
from podium.testing.pairs.formulas import parse
from podium.testing.pairs.refused import REFUSED
from podium.testing.pairs.snippet import snippet

SEED = 36
ROOM = Path(pairs.__file__).parent
WITH_LIBRARY = {"doors", "law", "laws", "readers", "snippet"}


def failures(n_cases: int, first: int, step: int) -> list[str]:
    """Return the faults in every step-th case, each with a program that shows it.

    The laws need as long as the doors together, so half of the cases are tested for them.
    """
    cases = law.cases(SEED, n_cases, first=first, step=step)
    return [
        f"case {case.number}: {fault}\n{snippet(case, fault.door)}"
        for number, case in enumerate(cases)
        for fault in islice(chain(law.faults(case), laws.all_broken(case) if number % 2 else ()), 1)
    ]


@pytest.mark.parametrize("part", range(6))
def test_doors_agree_with_brute_force_and_laws(part: int) -> None:
    assert not failures(300, part, 6)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_doors_agree_with_brute_force_and_laws_in_all_pairs(part: int) -> None:
    assert not failures(5000, part, 20)


def test_most_cases_are_measured_and_all_kinds_occur() -> None:
    cases = [*law.cases(SEED, 300)]
    answers = [law.answer(lambda c=case: brute.measured(c, doors.draws(c))) for case in cases]
    assert sum(isinstance(a, dict) for a in answers) > 150
    assert {name for case in cases for name in case.options} >= {"ties", "like", "by", "unjudged"}


def test_refused_pairs_of_fields_are_those_of_the_protocol() -> None:
    def of_fields(pairs: Iterable[Sequence[str]]) -> set[frozenset[str]]:
        names = (frozenset(pair[:2]) for pair in pairs)
        return {p for p in names if {fact.partition("=")[0] for fact in p} <= FIELDS.keys()}

    assert of_fields(EXCLUSIONS) == of_fields(REFUSED)


@pytest.mark.parametrize("first", [pair.first for pair in NO_EFFECT])
def test_field_without_effect_changes_nothing(first: str) -> None:
    changed: Any = {first: "keep" if first == "low_grades" else 1}
    tables = cases.tables_of(random.Random(1), grades="graded", scores="tied", lists="whole")
    one, other = (
        podium.measure(doors.truth_of(tables), doors.run_of(tables, "a"), protocol).as_json()
        for given in ({}, changed)
        for protocol in [Protocol.of(["recall@2", "rr"], min_relevance=2, ties="best", **given)]
    )
    assert one["measures"] == other["measures"]


def test_wrong_number_of_a_door_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = doors.DOORS["measure"]

    def wrong(case: Case) -> dict[Any, Any]:
        return {f: v + 1e-6 if f[0] == "mean" else v for f, v in right(case).items()}

    monkeypatch.setattr(doors, "DOORS", {"measure": wrong})
    assert any([*law.faults(case)] for case in law.cases(SEED, 5))


def test_brute_force_shares_no_code_with_the_library() -> None:
    for path in ROOM.glob("*.py"):
        names = {
            node.module or ""
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
        }
        of_library = {n for n in names if n.startswith("podium")} - {"podium.testing.pairs"}
        is_apart = all(name.startswith("podium.testing.pairs.") for name in of_library)
        assert is_apart or path.stem in WITH_LIBRARY, path.name


TABLES = ("users", "catalogue", "items")


def is_plain(case: Case) -> bool:
    """Return whether files hold the tables of a case as they are: integers, and no large scores."""
    return not {"ids", "scores"} & set(case.data)


def arguments(case: Case, command: str) -> list[str]:
    """Write the tables of a case; return the arguments of a command that measures them."""
    keys = doors.keywords(case, command)
    for name in TABLES:
        if name in keys:
            pl.DataFrame(keys[name]).write_csv(f"{name}.csv")
            keys[name] = f"{name}.csv"
    by = [part for segments in keys.pop("by", ()) for part in ("--by", segments)]
    options = [word for name, value in keys.items() for word in as_option(name, value)]
    measures = [part for text in case.measures for part in ("-m", text)]
    if command == "gate":
        first, *guards = case.measures
        signs = {m: "" if parse(m).metric.higher_is_better is False else "-" for m in guards}
        limits = [("--guard", f"{m}:{signs[m]}{claims.GUARD}") for m in guards]
        measures = ["-m", first, *(part for guard in limits for part in guard)]
    runs = {"measure": ["a"], "compare": ["a", "b", "c"], "gate": ["a", "b"]}[command]
    if command == "compare" and case["pairs"] != "all":
        runs = ["a", "b"]
    files = ["t.csv", *(f"{run}.csv" for run in runs)]
    return [command, *files, *measures, *by, *options]


def means_of(command: str, found: dict[str, Any]) -> dict[tuple[str, ...], float | None]:
    """Return the facts of the JSON that a command prints."""
    if command == "measure":
        return {("mean", m, "a", ""): v["mean"] for m, v in found["measures"].items()}
    if command == "gate":
        return {
            (what, claim["measure"], "claim", claim["segment"]): claim[what]
            for claim in found["claims"]
            for what in ("difference", "verdict")
        }
    return {
        ("difference", m, f"{d['run']} - {d['baseline']}", ""): d["difference"]
        for m, of_measure in found["measures"].items()
        for d in of_measure["differences"]
    }


RIGHT: dict[str, Callable[..., Any]] = {
    "measure": brute.measured,
    "compare": brute.compared,
    "gate": claims.gated,
}


@pytest.mark.parametrize("command", RIGHT)
def test_command_line_gives_the_numbers_of_brute_force(
    command: str, podium: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = (c for c in law.cases(SEED + 1) if is_plain(c) and doors.has(command, c))
    for case in islice(plain, 24):
        right = law.answer(lambda c=case: RIGHT[command](c, doors.draws(c)))
        pl.DataFrame(doors.truth_of(case.tables)).write_csv("t.csv")
        for run in "abc":
            pl.DataFrame(doors.run_of(case.tables, run)).write_csv(f"{run}.csv")
        done = podium(*arguments(case, command), "--format", "json")
        assert (done.status == 2) == isinstance(right, str), (case, right, done.err)
        if isinstance(right, str):
            continue
        for fact, value in means_of(command, json.loads(done.out)).items():
            number = float("nan") if value is None else value
            assert law.is_same(fact[0], right[fact], number), (fact, snippet(case, command))
