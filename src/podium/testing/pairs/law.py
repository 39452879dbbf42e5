"""The law: each door refuses what the documents refuse, and otherwise gives their numbers."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from podium.errors import PodiumError
from podium.testing.pairs import brute, claims, doors
from podium.testing.pairs.cases import Case, case_of, rows
from podium.testing.pairs.figures import Facts
from podium.testing.pairs.lists import Refused
from podium.testing.pairs.readers import READERS
from podium.testing.pairs.snippet import shrunk

OF_USERS = 1e-12
OF_MEANS = 1e-9
_N_MORE = ((0, 1, 2), (1, 2), (0, 1), *((0,),) * 6)
"""The numbers of further measures in each attempt: refused data and measures are drawn again."""
_RIGHT: Mapping[str, Callable[..., Facts]] = {
    "measure": brute.measured,
    "compare": brute.compared,
    "gate": claims.gated,
}


def cases(
    seed: int, n_cases: int | None = None, *, first: int = 0, step: int = 1
) -> Iterator[Case]:
    """Yield cases of the combinations of a seed; most of those that can be measured are.

    They are every step-th of the first n_cases, from `first` on.
    """
    for number, row in itertools.islice(enumerate(rows(seed)), first, n_cases, step):
        drawn = (case_of(row, f"{seed}/{i}", number, more) for i, more in enumerate(_N_MORE))
        yield next((case for case in drawn if _is_measured(case)), case_of(row, seed, number))


def _is_measured(case: Case) -> bool:
    order = {user: _any_order(case) for user in case.tables.judged()}
    return not isinstance(answer(lambda: brute.measured(case, order)), str)


def _any_order(case: Case) -> list[str]:
    return sorted({str(i) for run in case.tables.runs.values() for _, i, _ in run})


@dataclass(frozen=True)
class Fault:
    """A door that does not follow the law."""

    case: Case
    door: str
    fact: tuple[str, ...]
    right: Any
    actual: Any

    def __str__(self) -> str:
        return f"{self.door}: {' '.join(self.fact)} is {self.actual!r}, right is {self.right!r}"


def faults(case: Case, only: str | None = None) -> Iterator[Fault]:
    """Yield the faults of each door in a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = doors.draws(case)
        for name, door in doors.DOORS.items():
            if only in (None, name) and doors.has(name, case):
                right = answer(lambda r=_RIGHT[name]: r(case, drawn))
                yield from differences(case, name, right, answer(lambda d=door: d(case)))
        for name, (reader, every) in READERS.items():
            if only == name or (only is None and case.number % every == 0):
                yield from _of_reader(case, name, reader(case, drawn))


def _of_reader(case: Case, door: str, asks: Any) -> Iterator[Fault]:
    """Yield the faults of a door that shows only some facts; the others are left out."""
    if asks is None:
        return
    right, actual = map(answer, asks)
    if isinstance(right, dict) and isinstance(actual, dict):
        right = {fact: value for fact, value in right.items() if fact in actual}
    yield from differences(case, door, right, actual)


def answer(ask: Callable[[], Facts]) -> Facts | str:
    """Return the facts, or the reason of a refusal."""
    try:
        return ask()
    except (Refused, PodiumError) as refusal:
        return str(refusal)


def differences(case: Case, door: str, right: Facts | str, actual: Facts | str) -> Iterator[Fault]:
    """Yield what differs."""
    if isinstance(right, str) or isinstance(actual, str):
        if not (isinstance(right, str) and isinstance(actual, str)):
            yield Fault(case, door, ("refusal",), _brief(right), _brief(actual))
        return
    for fact in dict.fromkeys((*right, *actual)):
        if not is_same(fact[0], right.get(fact, "none"), actual.get(fact, "none")):
            yield Fault(case, door, fact, right.get(fact, "none"), actual.get(fact, "none"))


def _brief(result: Facts | str) -> str:
    return result if isinstance(result, str) else "not refused"


def is_same(what: str, right: Any, actual: Any) -> bool:
    """Return whether two facts are equal, up to rounding."""
    if isinstance(right, str | tuple) or isinstance(actual, str | tuple):
        return right == actual
    if what in ("randomisation_p_value", "holm_p_value") and math.isinf(right):
        return True  # drawn
    if math.isnan(right) or math.isnan(actual):
        return math.isnan(right) and math.isnan(actual)
    tolerance = OF_USERS if what.endswith("value") and not what.endswith("p_value") else OF_MEANS
    return right == actual or abs(right - actual) <= tolerance * max(1.0, abs(right))


def smallest(fault: Fault) -> Fault:
    """Return the same kind of fault in a smaller case."""

    def same(case: Case) -> Fault | None:
        try:
            others = faults(case, fault.door)
            return next((other for other in others if other.fact[0] == fault.fact[0]), None)
        except Exception:  # a smaller case can be no case, such as a run without rows
            return None

    case = shrunk(fault.case, lambda smaller: same(smaller) is not None)
    return same(case) or fault
