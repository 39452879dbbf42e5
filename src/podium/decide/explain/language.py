"""Small lists for an implementation in any language, and what its values say about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium._files import replacing
from podium.decide.explain.explanation import explain
from podium.decide.explain.numbers import read_values
from podium.decide.explain.search import Search
from podium.errors import DataError

N_LISTS = 200
MEASURES = ("ndcg@5", "recall@5", "precision@5", "ap@5", "rr@5", "hit_rate@5", "f1@5")


def lists() -> list[dict[str, Any]]:
    """Return lists with ids, scores in any order, and grades of judged items by id.

    Some are short or empty, have equal scores, repeat an item, or have no relevant item.
    """
    rng = np.random.default_rng(40)
    all_lists: list[dict[str, Any]] = []
    for number in range(N_LISTS):
        pool = rng.permutation(12)
        listed = pool[: 0 if number % 25 == 24 else rng.integers(1, 11)]
        if number % 10 == 9 and listed.size:
            listed = np.append(listed, listed[0])
        score = rng.permutation(np.linspace(0.95, 0.05, max(listed.size, 1)))[: listed.size]
        if number % 8 == 7:
            score = np.ceil(score * 3) / 3
        grades = rng.choice([0, 1, 2, 3], 12, p=(0.45, 0.3, 0.15, 0.1)) * (number % 20 != 19)
        judged = np.sort(rng.permutation(12)[: rng.integers(6, 12)])
        all_lists.append(
            {
                "id": str(number + 1),
                "items": [f"d{item}" for item in listed],
                "scores": np.round(score, 4).tolist(),
                "judgements": {f"d{item}": int(grades[item]) for item in judged},
            }
        )
    return all_lists


def write(path: Path) -> None:
    """Write the lists as JSON, with the measures to compute."""
    text = json.dumps({"measures": MEASURES, "lists": lists()}, indent=1)
    with replacing(path) as beside:
        beside.write_text(f"{text}\n", encoding="utf-8")


@dataclass(frozen=True)
class Check:
    """What the values of a measure say of some lists.

    Attributes
    ----------
    measure : str
    lists : str
        The kind of the lists, one of `KINDS`, beside plain ones.
    n_lists : int
    search : Search
    """

    measure: str
    lists: str
    n_lists: int
    search: Search

    @property
    def is_right(self) -> bool:
        """Whether the values are podium's under its own conventions."""
        return bool(self.search.matches) and not self.search.matches[0].changes[0]


def checks(path: Path) -> Iterator[Check]:
    """Explain the values of each measure, and of each kind of lists, in a file.

    Raises
    ------
    DataError
        If the file can't be read, names no measure, or has no values of these lists.
    """
    all_lists = lists()
    for measure, values in read_values(path).items():
        numbers: dict[str, Any] = dict(values) if isinstance(values, Mapping) else {}
        if not numbers.keys() & {part["id"] for part in all_lists}:
            raise DataError(
                f"{path} has no value of {measure} for a list of --lists. Write the values by the "
                'id of the list, such as {"1": 0.63}.'
            )
        for kind in reversed(KINDS):
            of_kind = [part for part in all_lists if _kind(part) in ("plain", kind)]
            some = [part for part in of_kind if part["id"] in numbers]
            values_of_some = {part["id"]: numbers[part["id"]] for part in some}
            if not some:
                continue
            search = explain(*_tables(some), value={measure: values_of_some}).search
            if search is not None:
                yield Check(measure, kind, len(some), search)


def _kind(made: Mapping[str, Any]) -> str:
    """Return the first kind of `KINDS` that a list belongs to."""
    return next(kind for kind, is_of_kind in KINDS.items() if is_of_kind(made))


KINDS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "empty": lambda made: not made["items"],
    "nothing relevant": lambda made: not any(made["judgements"].values()),
    "repeated items": lambda made: len(set(made["items"])) < len(made["items"]),
    "equal scores": lambda made: len(set(made["scores"])) < len(made["scores"]),
    "plain": lambda made: True,
}
"""The kinds of lists. Each is explained together with the plain lists."""


def _tables(some: Sequence[Mapping[str, Any]]) -> tuple[Any, Any]:
    """Return the truth and the run of lists."""
    judged = [(e["id"], i, g) for e in some for i, g in e["judgements"].items()]
    rows = [(e["id"], i, s) for e in some for i, s in zip(e["items"], e["scores"], strict=True)]
    return _columns(judged, "relevance"), _columns(rows, "score")


def _columns(rows: Sequence[tuple[Any, ...]], value: str) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(("user", "item", value))}
