"""The law of pairs: where two options meet, all doors refuse them or give the same numbers."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from podium.testing import pairs
from podium.testing.pairs import brute, doors, law, laws
from podium.testing.pairs.cases import Case
from podium.testing.pairs.known import KNOWN, Known
from podium.testing.pairs.snippet import snippet

SEED = 36
ROOM = Path(pairs.__file__).parent
WITH_LIBRARY = {"doors", "law", "laws", "readers", "snippet", "known"}


def failures(n_cases: int, first: int, step: int) -> list[str]:
    """Return the new faults in every step-th case, each with a program that shows it."""
    return [
        f"case {case.number}: {fault}\n{snippet(case, fault.door)}"
        for case in islice(law.cases(SEED, n_cases), first, None, step)
        for fault in (*law.new_faults(case), *laws.all_broken(case))[:1]
    ]


@pytest.mark.parametrize("part", range(6))
def test_doors_agree_with_brute_force_and_laws(part: int) -> None:
    assert not failures(300, part, 6)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_doors_agree_with_brute_force_and_laws_in_all_pairs(part: int) -> None:
    assert not failures(3000, part, 20)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_known_fault_is_still_there(known: Known) -> None:
    assert law.reproduced(known) is not None, "It is mended: take it out of KNOWN."


def test_most_cases_are_measured_and_all_kinds_occur() -> None:
    cases = [*law.cases(SEED, 300)]
    answers = [law.answer(lambda c=case: brute.measured(c, doors.draws(c))) for case in cases]
    assert sum(isinstance(a, dict) for a in answers) > 150
    assert {name for case in cases for name in case.options} >= {"ties", "like", "by", "unjudged"}


def test_wrong_number_of_a_door_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = doors.DOORS["measure"]

    def wrong(case: Case) -> dict[Any, Any]:
        return {f: v + 1e-6 if f[0] == "mean" else v for f, v in right(case).items()}

    monkeypatch.setattr(doors, "DOORS", {"measure": wrong})
    assert any(law.new_faults(case) for case in law.cases(SEED, 5))


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


COMMANDS: dict[str, tuple[str, ...]] = {"ties": (), "missing": (), "undefined": (), "unjudged": ()}


def is_plain(case: Case) -> bool:
    """Return whether the options of a case are those of the command line, and ids are integers."""
    return set(case.options) <= {*COMMANDS, "min_relevance", "level", "like", "interval"} and not (
        {"ids", "scores"} & set(case.data)
    )


def arguments(case: Case) -> list[str]:
    options = [(f"--{name.replace('_', '-')}", str(v)) for name, v in case.options.items()]
    return [part for option in options for part in option]


def reads_tables(case: Case) -> bool:
    return all(
        m.split("@")[0] not in {"coverage", "gini", "novelty", "popularity", "diversity"}
        for m in case.measures
    )


@pytest.mark.parametrize("part", range(2))
def test_command_line_gives_the_means_of_brute_force(
    part: int, podium: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = (c for c in law.cases(SEED + 1) if is_plain(c) and reads_tables(c))
    for case in islice(plain, part, 24, 2):
        right = law.answer(lambda c=case: brute.measured(c, doors.draws(c)))
        pl.DataFrame(doors.truth_of(case.tables)).write_csv("t.csv")
        pl.DataFrame(doors.run_of(case.tables, "a")).write_csv("a.csv")
        measures = [part for text in case.measures for part in ("-m", text)]
        given = [*measures, *arguments(case), "--format", "json"]
        done = podium("measure", "t.csv", "a.csv", *given)
        assert (done.status == 2) == isinstance(right, str), (case, done.err)
        if isinstance(right, str):
            continue
        found = json.loads(done.out)["measures"]
        for text in case.measures:
            mean = found[text]["mean"]
            value = float("nan") if mean is None else mean
            assert law.is_same("mean", right["mean", text, "a", ""], value), snippet(
                case, "measure"
            )
