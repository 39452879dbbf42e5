"""podium.explain on wrong metrics: the rates of causes that are named, and of false ones."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit import wrong_metrics
from tests.unit.wrong_metrics import Data, Wrong

import podium
from podium.decide.explain.deviation import REGISTRY

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


def second_of(wrong: Wrong, data: Data, k: int) -> tuple[str, float]:
    """Return a second number of the same program, which reads lists and means in the same way."""
    name = SECOND.get(wrong.measure, "ndcg")
    right = {"recall": wrong_metrics.right_recall, "ndcg": wrong_metrics.right_ndcg}[name]
    is_common = wrong.mean in (wrong_metrics.of_all_users, wrong_metrics.of_answered)
    mean = wrong.mean if is_common else None
    other = Wrong("", "", right, "", mean, wrong.change, wrong.seen)
    return f"{name}@{k}", other.numbers(data, k)[0]


def outcome(search: Any, value: float | None) -> str:
    """Return "named", "false", "open" (not determined) or "none".

    The mean is compared with all its digits, unless the values of users were given: an answer has
    these by construction, and is false if their cause is not searched (value is None).
    """
    if not search.matches:
        return "none"
    if not search.is_determined:
        return "open"
    is_same = value is not None and abs(search.matches[0].value - value) <= 1e-9
    return "named" if is_same else "false"


def outcomes(every: Iterable[Wrong], shapes: Iterable[str]) -> Iterator[tuple[str, Wrong, str]]:
    """Yield the kind of question, the wrong metric, and what explain answers."""
    for shape in shapes:
        k = SHAPES[shape][-1]
        for wrong in every:
            data = wrong.change(data_of(shape))
            value, users = wrong.numbers(data, k)
            measure = f"{wrong.measure}@{k}"
            second, other = second_of(wrong, data, k)
            asked: dict[str, Any] = {
                "one number": {measure: f"{value:.4f}"},
                "two numbers": {measure: f"{value:.4f}", second: f"{other:.4f}"},
            }
            if wrong.mean is None:
                asked["values of users"] = {measure: {q: f"{v:.4f}" for q, v in users.items()}}
            for kind, numbers in asked.items():
                search: Any = podium.explain(*tables(data), value=numbers).search
                if kind == "values of users" and search.matches and wrong.causes:
                    value = search.matches[0].value
                yield kind, wrong, outcome(search, value)


def rates(every: Iterable[Wrong], shapes: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the share of searched causes that are named, and that of false ones among all."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, wrong, found in outcomes(every, shapes):
        counts[kind].update(["all", found] + ["searched", f"searched {found}"] * bool(wrong.causes))
    return {
        kind: {
            "named": n["searched named"] / max(n["searched"], 1),
            "false": n["false"] / n["all"],
            "cases": n["all"],
        }
        for kind, n in counts.items()
    }


# The least shares that are named, by the kind of question, and the most that are false.
# 2,000 users take as long as the other data together, and are left out of some sets.
SETS: dict[str, tuple[list[str], tuple[float, float, float], float]] = {
    "KNOWN": (["short", "few"], (0.9, 0.95, 0.95), 0.01),
    "LATER": (sorted({*SHAPES} - {"many"}), (0.9, 0.94, 0.95), 0.01),
    "FRESH": ([*SHAPES], (0.0, 0.0, 0.0), 0.04),
    "NEWEST": (["short", "few"], (0.9, 0.9, 0.95), 0.02),
    "LAST": (["short", "few"], (0.9, 0.9, 0.95), 0.04),
}


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
@pytest.mark.parametrize(
    ("name", "step", "slack"),  # three metrics give a share of one number in steps of a fifth
    [("KNOWN", 16, 0.1), *(pytest.param(name, 1, 0.0, marks=pytest.mark.long) for name in SETS)],
)
def test_causes_are_named_and_hardly_ever_false(name: str, step: int, slack: float) -> None:
    shapes, (of_one, *others), most_false = SETS[name]
    least = (of_one - slack, *others)
    shares = rates(getattr(wrong_metrics, name)[::step], shapes)
    sys.stdout.write(f"{name}: {shares}\n")
    assert sum((r["false"] - most_false) * r["cases"] for r in shares.values()) <= 0
    assert all(r["named"] >= share for r, share in zip(shares.values(), least, strict=True))


@pytest.mark.parametrize("name", SETS)
def test_expected_causes_exist(name: str) -> None:
    fields = {"norm", "undefined", "missing", "unretrieved", "unjudged", "discount", "gain"}
    known = {*REGISTRY, *fields, "pooled", "min_relevance"}
    assert {cause for w in getattr(wrong_metrics, name) for cause in w.causes.split()} <= known
