"""podium.explain on wrong metrics: the rates of causes that are named, and of false ones."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from tests.unit import wrong_metrics
from tests.unit.wrong_metrics import Data, Wrong

import podium
from podium.errors import ArgumentError, DataError

SHAPES = {
    "grades": (200, (20, 20), (0.55, 0.25, 0.15, 0.05), 5),
    "binary": (200, (20, 20), (0.8, 0.2), 5),
    "short": (200, (0, 9), (0.5, 0.3, 0.2), 10),
    "many": (2000, (20, 20), (0.7, 0.2, 0.1), 10),
    "few": (30, (8, 15), (0.6, 0.25, 0.15), 5),
}
"""Queries, lengths of lists, probabilities of grades, and k."""

SECOND = {"ndcg": "recall", "recall": "ndcg", "ap": "recall", "rr": "recall"}


def data_of(shape: str) -> Data:
    n_queries, (least, most), shares, _ = SHAPES[shape]
    rng = np.random.default_rng(sorted(SHAPES).index(shape))
    runs: dict[str, Any] = {}
    grades: dict[str, dict[str, float]] = {}
    for q in range(n_queries):
        pool = rng.permutation(40)
        liking = rng.choice(len(shares), 40, p=shares) * (rng.random() > 0.05)
        listed = pool[: rng.integers(least, most + 1)]
        score = 0.7 * liking[listed] + rng.standard_normal(listed.size)
        rows = [(f"d{i}", float(s)) for i, s in zip(listed, score, strict=True)]
        if rows:
            runs[f"q{q}"] = rows
        judged = [int(i) for i in range(40) if liking[i] > 0 or rng.random() < 0.5]
        grades[f"q{q}"] = {f"d{i}": float(liking[i]) for i in judged[:25]}
    return Data(runs, grades)


def tables(data: Data) -> tuple[Any, Any]:
    judged = [(q, i, g) for q, x in data.grades.items() for i, g in x.items()]
    listed = [(q, i, s) for q, x in data.runs.items() for i, s in x]
    truth = dict(zip(("user", "item", "relevance"), zip(*judged, strict=True), strict=True))
    run = dict(zip(("user", "item", "score"), zip(*listed, strict=True), strict=True))
    return {n: list(c) for n, c in truth.items()}, {n: list(c) for n, c in run.items()}


def partner(wrong: Wrong, every: list[Wrong], data: Data, k: int) -> tuple[str, float]:
    """Return a second number of the same wrong program: what reads its lists in the same way."""
    right = {
        "recall": wrong_metrics.right_recall,
        "ndcg": wrong_metrics.right_ndcg,
    }[SECOND.get(wrong.measure, "ndcg")]
    other = Wrong("", "", right, (), None, wrong.change, wrong.seen)
    if wrong.mean in (wrong_metrics.of_all_users, wrong_metrics.of_answered):
        other.mean = wrong.mean
    return SECOND.get(wrong.measure, "ndcg"), other.numbers(data, k)[0]


def outcome(wrong: Wrong, search: Any, value: float) -> str:
    """Return "named", "false", "open" (not determined) or "none"."""
    if not search.matches or not search.is_determined:
        return "open" if search.matches else "none"
    words = {str(w) for c in search.matches[0].changes for pair in c.items() for w in pair}
    words |= {word.partition(" of ")[0] for word in words}
    is_equal = abs(search.matches[0].value - value) <= 1e-9
    if not is_equal or (wrong.causes and not words & set(wrong.causes)):
        return "false" if not is_equal else "equal"
    return "named"


def outcomes(every: list[Wrong], shapes: list[str]) -> Iterator[tuple[str, str, str, str]]:
    for shape in shapes:
        k = SHAPES[shape][-1]
        for wrong in every:
            data = wrong.change(data_of(shape))
            value, users = wrong.numbers(data, k)
            measure = f"{wrong.measure}@{k}"
            second, other = partner(wrong, every, data, k)
            asked: dict[str, Any] = {
                "one": {measure: f"{value:.4f}"},
                "two": {measure: f"{value:.4f}", f"{second}@{k}": f"{other:.4f}"},
            }
            if wrong.mean is None:
                asked["users"] = {measure: {q: f"{v:.4f}" for q, v in users.items()}}
            for kind, numbers in asked.items():
                search: Any = podium.explain(*tables(data), value=numbers).search
                yield shape, kind, wrong.name, outcome(wrong, search, value)


def rates(every: list[Wrong], shapes: list[str]) -> dict[str, dict[str, float]]:
    counts: dict[str, Counter[str]] = {}
    for shape, kind, name, found in outcomes(every, shapes):
        counts.setdefault(kind, Counter())[found] += 1
        if found != "named":
            print(shape, kind, name, found)
    return {kind: {n: c / sum(x.values()) for n, c in x.items()} for kind, x in counts.items()}


if __name__ == "__main__":
    import sys

    warnings.simplefilter("ignore")
    every = getattr(wrong_metrics, sys.argv[1])
    for kind, found in rates(every, sys.argv[2:] or list(SHAPES)).items():
        print(kind, {name: round(share, 3) for name, share in found.items()})
