"""The doors of the law: each asks podium, and returns the same plain facts as `brute`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import podium
from podium.protocol import Protocol, ProtocolFields
from podium.testing.pairs.cases import Case, Tables
from podium.testing.pairs.claims import GUARD
from podium.testing.pairs.figures import Facts
from podium.testing.pairs.formulas import parse

COMMON = (
    *("ties", "min_relevance", "low_grades", "missing", "unjudged", "unretrieved"),
    *("single_precision", "score_above", "n_items", "undefined", "level", "like"),
)
"""The options of measure, compare and gate."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "measure": (*COMMON, "interval"),
    "compare": (*COMMON, "interval", "pairs"),
    "gate": (*COMMON, "margin", "cluster", "weight"),
}
"""The options that each door has, beside `by` and tables."""

OWN = {"interval", "pairs", "margin", "cluster", "weight"}
"""The options that only some doors have; the others ignore them in a case."""


def has(door: str, case: Case) -> bool:
    """Return whether a door has all options of a case that change what is measured."""
    known = parameters(getattr(podium, door))
    return all(name in known or name in OWN for name in case.options)


def parameters(function: Any) -> set[str]:
    """Return the names of the parameters of a function, with the conventions that it passes on."""
    names = inspect.signature(function).parameters
    return {*names, *(ProtocolFields.__annotations__ if "fields" in names else ())}


def without_cutoff(text: str) -> str:
    """Return the text of a measure without its cutoff."""
    return text.rpartition("@")[0]


def columns(rows: Sequence[tuple[Any, ...]], *names: str) -> dict[str, list[Any]]:
    """Return rows as a mapping of columns."""
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def truth_of(tables: Tables) -> dict[str, list[Any]]:
    """Return the truth as columns."""
    return columns(tables.truth, "user", "item", "relevance")


def run_of(tables: Tables, name: str) -> dict[str, list[Any]]:
    """Return a run as columns."""
    return columns(tables.runs[name], "user", "item", tables.scores)


def keywords(case: Case, door: str) -> dict[str, Any]:
    """Return the keyword arguments of a door: its options, and the tables that they need."""
    options = {name: case[name] for name in OPTIONS[door] if case[name] is not None}
    tables = case.tables
    by = case["by"] or ()
    if by:
        options["by"] = list(by)
    reads = {parse(text).metric.reads for text in case.measures}
    if "catalogue" in reads:
        options["catalogue"] = columns(tables.past, "user", "item")
    if "items" in reads:
        options["items"] = columns([*tables.kinds.items()], "item", "genre")
    if "country" in by or "cluster" in options or "weight" in options:
        rows = [(user, *row) for user, row in tables.users.items()]
        options["users"] = columns(rows, "user", "country", "person", "share")
    return options


def draws(case: Case) -> dict[str, list[str]]:
    """Return the order in which ties=random ranks the items of each user, all with one score.

    No document has a formula for it. It is read from dcg@1, dcg@2 … of distinct grades.
    """
    if case["ties"] != "random":
        return {}
    tables = case.tables
    run_items = {i for rows in tables.runs.values() for _, i, _ in rows}
    label = {str(i): i for i in run_items} | {str(i): i for _, i, _ in tables.truth}
    items = sorted(label)
    users = [*dict.fromkeys(user for user, *_ in tables.truth)]
    rows = [(u, label[i], float(n)) for u in users for n, i in enumerate(items, 1)]
    truth, run = columns(rows, "user", "item", "relevance"), columns(rows, "user", "item")
    measures = [f"dcg@{k}" for k in range(1, len(items) + 1)]
    result = podium.measure(truth, {**run, "score": [1.0] * len(rows)}, measures, ties="random")
    drawn: dict[str, list[str]] = {}
    for row, user in enumerate(result.labels.tolist()):
        sums = [0.0, *(float(result.values[m][row]) for m in measures)]
        gains = [(sums[k] - sums[k - 1]) * math.log2(k + 1) for k in range(1, len(sums))]
        drawn[str(user)] = [items[round(gain) - 1] for gain in gains]
    return drawn


def measure(case: Case, run: str = "a", **more: Any) -> Facts:
    """Return the facts of `podium.measure`."""
    return measure_tables(case, truth_of(case.tables), run_of(case.tables, run), run, **more)


def measure_tables(case: Case, truth: Any, table: Any, run: str = "a", **more: Any) -> Facts:
    """Return the facts of `podium.measure` of these tables, such as files."""
    measures, keys = as_protocol(case, keywords(case, "measure"))
    return of_evaluation(podium.measure(truth, table, measures, **keys, **more), run)


def as_protocol(case: Case, keys: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the measures or, in every other case, a protocol, and the other keywords."""
    measures = list(case.measures)
    if case.number % 2:
        return measures, keys
    of_protocol = {n: v for n, v in keys.items() if n in ProtocolFields.__annotations__}
    others = {n: v for n, v in keys.items() if n not in of_protocol}
    return Protocol.of(measures, **of_protocol), others


def of_evaluation(result: Any, run: str) -> Facts:
    """Return the facts of an evaluation."""
    facts = _evaluated(result, run)
    facts |= {
        ("n_pos", "", run, str(user)): int(n)
        for user, n in zip(result.labels.tolist(), result.n_pos.tolist(), strict=True)
    }
    for name in result.weights:
        pooled = result.pooled(name)
        facts["pooled", name, run, ""] = pooled.mean
        facts["pooled low", name, run, ""] = pooled.interval.low
        facts["pooled high", name, run, ""] = pooled.interval.high
    for name, ends in result.bounds.items():
        of_mean = result.bounds_of_mean(name)
        for end, column, mean in zip(("lowest", "highest"), ends, of_mean, strict=True):
            facts[f"{end} mean", name, run, ""] = mean
            facts |= {
                (f"{end} value", name, run, str(user)): value
                for user, value in zip(result.labels.tolist(), column.tolist(), strict=True)
            }
    return facts


def _evaluated(result: Any, run: str) -> Facts:
    """Return the values of users and the summaries of an evaluation."""
    facts: Facts = {}
    for name, column in result.per_group().items():
        for user, value in zip(result.labels.tolist(), column.tolist(), strict=True):
            facts["value", name, run, str(user)] = value
    for name in result.values:
        segments = result.segments if name in result.per_group() else ()
        for place, mask in [("", None), *((s.name, s.mask) for s in segments)]:
            facts |= _summary(
                result.summary(name, mask), name, run, place, result.protocol.interval
            )
    return facts


def _summary(summary: Any, name: str, run: str, place: str, interval: str) -> Facts:
    numbers = {
        "mean": summary.mean,
        "std_error": summary.std_error,
        "n_groups": summary.n_groups,
        "n_undefined": summary.n_undefined,
    }
    if interval != "bootstrap" or not parse(name).metric.is_mean:
        numbers |= {"low": summary.interval.low, "high": summary.interval.high}
    return {(quantity, name, run, place): number for quantity, number in numbers.items()}


def compare(case: Case) -> Facts:
    """Return the facts of `podium.compare`."""
    runs = ("a", "b", "c") if case["pairs"] == "all" else ("a", "b")
    measures, keys = as_protocol(case, keywords(case, "compare"))
    tables = {run: run_of(case.tables, run) for run in runs}
    result = podium.compare(truth_of(case.tables), tables, measures, **keys)
    return of_comparison(result)


def of_comparison(result: Any) -> Facts:
    """Return the facts of a comparison."""
    facts: Facts = {}
    for run, evaluation in result.evaluations.items():
        facts |= _evaluated(evaluation, run)
    for d in result.differences:
        test, is_mean = d.test, parse(d.measure).metric.is_mean
        numbers: dict[str, Any] = {
            "difference": test.difference,
            "std_error": test.std_error,
            "low": test.interval.low,
            "high": test.interval.high,
            "t_p_value": test.t_p_value,
            "relative": test.relative_difference,
            "detectable": test.detectable,
            "n_groups": test.n_groups,
            "n_undefined": test.n_undefined,
            "holm_p_value": d.holm_p_value,
        }
        if is_mean:
            numbers |= {
                "randomisation_p_value": test.randomisation_p_value,
                "effect": test.effect_size,
                "wins": test.wins,
                "losses": test.losses,
                "equal": test.equal,
            }
        numbers |= _unjudged(d.unjudged)
        pair = f"{d.run} - {d.baseline}"
        facts |= {(quantity, d.measure, pair, d.segment): v for quantity, v in numbers.items()}
    return facts


def _unjudged(reach: Any) -> dict[str, float]:
    return {} if reach is None else {"unjudged low": reach.low, "unjudged high": reach.high}


def gate(case: Case) -> Facts:
    """Return the facts of the claims of `podium.gate`."""
    first, *others = case.measures
    signs = {text: -1 if parse(text).metric.higher_is_better else 1 for text in others}
    result = podium.gate(
        truth_of(case.tables),
        run_of(case.tables, "a"),
        run_of(case.tables, "b"),
        first,
        guards={text: sign * GUARD for text, sign in signs.items()},
        **keywords(case, "gate"),
    )
    return of_gate(result)


def of_gate(result: Any) -> Facts:
    """Return the facts of a gate."""
    facts: Facts = {}
    for claim in result.claims:
        numbers = {
            name: getattr(claim, name)
            for name in (
                *("base", "candidate", "difference", "std_error", "level", "limit"),
                *("n_users", "n_undefined", "verdict"),
            )
        }
        numbers |= {"low": claim.interval.low, "high": claim.interval.high}
        numbers |= _unjudged(claim.unjudged)
        facts |= {(n, claim.measure, "claim", claim.segment): v for n, v in numbers.items()}
    return facts


DOORS: Mapping[str, Any] = {"measure": measure, "compare": compare, "gate": gate}
"""The doors that return all facts of `brute` of the same name."""
