"""The doors that read the tables a second time, each with the facts that it must agree with.

Each returns fewer facts than `brute` has: those that the door shows.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import podium
from podium.data import write_table
from podium.data.frames import as_frame
from podium.data.storage import Storage
from podium.evaluation import measure_part, merge
from podium.executors import Threads
from podium.report.details import curves, worst_served
from podium.testing.pairs import brute, doors, reread
from podium.testing.pairs.cases import Case, Tables
from podium.testing.pairs.figures import Facts
from podium.testing.pairs.formulas import parse
from podium.testing.pairs.lists import Draws, Refused

Reader = Callable[[Case, Draws], tuple[Callable[[], Facts], Callable[[], Facts]] | None]
"""A door: it returns the right facts and the door's, as functions; None if it lacks the options."""

_SAME = 1e-9
_FEWEST_DIGITS = 9


def explain(case: Case, draws: Draws) -> Any:
    """The value of a package, and the search for the value under other options."""
    if not reread.is_explained(case) or case["ties"] == "random":
        return None
    others = {*reread.EXPLAINED} - {"min_relevance"}
    if case["like"] and any(case[name] is not None for name in others):
        return None

    def ask() -> Facts:
        text, tables = (
            case.measures[0],
            (doors.truth_of(case.tables), doors.run_of(case.tables, "a")),
        )
        options = reread.options_of_explain(case)
        if case["like"]:
            [steps] = podium.explain(*tables, text, like=case["like"], **options).packages
            return {("explained", text, "a", ""): steps.end}
        [right] = reread.explained(case, draws).values()
        if math.isnan(right):
            return {("explained", text, "a", ""): right}
        value = f"{right:.{_FEWEST_DIGITS}f}"
        search: Any = podium.explain(*tables, text, value=value, **options).search
        fits = [match.value for match in search.matches if abs(match.value - right) <= _SAME]
        return {("explained", text, "a", ""): fits[0] if fits else search.nearest.value}

    return (lambda: reread.explained(_with_missing(case), draws)), ask


def _with_missing(case: Case) -> Case:
    """Return a case in which a package that refuses missing users counts them with 0."""
    refuses = case["like"] in ("ranx", "recbole")
    return reread.with_lists(case) if refuses else case


def audit(case: Case, draws: Draws) -> Any:
    """The effects of the faults that change users or the order of equal scores."""
    is_shown = parse(case.measures[0]).metric.reads != "relevance"
    if is_shown or case["like"] or case["low_grades"]:  # an audit has fixed rules
        return None
    text, tables = case.measures[0], case.tables
    right = reread.audited(case, draws) if _is_answered(lambda: reread.audited(case, draws)) else {}

    def ask() -> Facts:
        train = doors.columns(tables.past, "user", "item")
        truth, run = doors.truth_of(tables), {"a": doors.run_of(tables, "a")}
        least = case["min_relevance"]
        facts: Facts = {}
        for finding in podium.audit(train, truth, run, text, min_relevance=least).findings:
            for effect in (e for e in finding.effects if e.run == "a"):
                for which, value in (
                    ("with", effect.with_fault),
                    ("without", effect.without_fault),
                ):
                    facts[which, text, finding.check, ""] = value
        return {fact: value for fact, value in facts.items() if fact in right}

    return (lambda: right), ask


def _is_answered(ask: Callable[[], Facts]) -> bool:
    try:
        ask()
    except Refused:
        return False
    return True


def report(case: Case, draws: Draws) -> Any:
    """The lists of the worst-served users, and the means at all cutoffs of a report's curves."""

    def ask() -> Facts:
        result = podium.measure(
            doors.truth_of(case.tables),
            doors.run_of(case.tables, "a"),
            list(case.measures),
            keep_lists=True,
            **doors.keywords(case, "measure"),
        )
        everyone = {"": result}
        listed = _listed(case, worst_served(everyone, "", None))
        return {**listed, **dict(_curves(case, draws, curves(everyone, result.measures)))}

    return (lambda: reread.reported(case, draws)), ask


def _listed(case: Case, users: Any) -> Facts:
    facts: Facts = {}
    if not users:
        return facts
    raw = reread.scores_as_read(case, users["measure"])
    for user in users["users"]:
        name = user["user"]
        [(_, items)] = user["lists"].items()
        facts["listed", users["measure"], name, ""] = tuple(
            (raw[name][i["text"]], i["relevant"]) for i in items
        )
        facts["missed", users["measure"], name, ""] = user["n_missed"]
    return facts


def _curves(case: Case, draws: Draws, curves: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the points of curves that differ from the mean at this cutoff."""
    texts = {doors.without_cutoff(text): text for text in case.measures if parse(text).k}
    for name, curve in curves.items():
        text = texts[name]
        for k, mean in zip(curve["k"], curve["means"][""], strict=True):
            try:
                right = reread.curve_of(case, draws, text, k)
            except Refused:
                right = math.nan
            value = math.nan if mean is None else mean
            if not (value == right or abs(value - right) <= _SAME or right != right != value):
                yield ("curve", text, "a", f"k = {k}"), (value, right)


def parts(case: Case, draws: Draws) -> Any:
    """Measuring parts of the users, and joining them."""
    options = doors.keywords(case, "measure")
    rules = ("by", "level", "interval", "undefined", "like", "users")
    has_shown = any(parse(text).metric.reads != "relevance" for text in case.measures)
    if case["like"] or case["unjudged"] == "bounds" or has_shown or case["undefined"] == "error":
        return None
    if case["missing"] != "zero" and case.tables.is_order:
        return None
    conventions = {n: v for n, v in options.items() if n not in rules}
    right = lambda: _of_users(brute.measured(case.replace(options=_lists_only(case)), draws))  # noqa: E731
    lowest = min(relevance for *_, relevance in case.tables.truth)

    def ask() -> Facts:
        evaluations = [
            measure_part(
                as_frame(doors.truth_of(part), "polars"),
                _frame(part, case.tables),
                list(case.measures),
                lowest=lowest,
                lists_whole=lists_whole(case),
                **conventions,
            )
            for part in halves(case.tables)
        ]
        return _of_users(doors.of_evaluation(merge(evaluations), "a"))

    return right, ask


def _lists_only(case: Case) -> dict[str, Any]:
    rules = ("by", "level", "interval", "undefined")
    return {name: value for name, value in case.options.items() if name not in rules}


def _of_users(facts: Facts) -> Facts:
    return {fact: value for fact, value in facts.items() if fact[0] in ("value", "n_pos")}


def _frame(part: Tables, tables: Tables) -> Any:
    """Return the run of some users, with the types of the whole run."""
    users = {user for user, *_ in part.runs["a"]}
    rows = [i for i, (user, *_) in enumerate(tables.runs["a"]) if user in users]
    frame: Any = as_frame(doors.run_of(tables, "a"), "polars")
    return frame[rows]


def lists_whole(case: Case) -> bool:
    """Return whether each list of the run has exactly the items of the truth."""
    judged = case.tables.judged()
    run: dict[str, set[str]] = {}
    for user, item, _ in case.tables.runs["a"]:
        run.setdefault(str(user), set()).add(str(item))
    skips = case["unjudged"] == "skip"
    lists = [(items, {*judged[user]}) for user, items in run.items() if user in judged]
    least = case["min_relevance"] or 1.0
    names_negatives = min(r for *_, r in case.tables.truth) < least
    return names_negatives and all(
        truth <= items if skips else truth == items for items, truth in lists
    )


def halves(tables: Tables) -> list[Tables]:
    """Return the tables of every other user, twice."""
    users = [*dict.fromkeys(str(u) for u, *_ in tables.truth)]
    chosen = [set(users[::2]), set(users[1::2])] if len(users) > 1 else [set(users)]
    return [
        Tables(
            tuple(row for row in tables.truth if str(row[0]) in half),
            {n: tuple(r for r in rows if str(r[0]) in half) for n, rows in tables.runs.items()},
            tables.past,
            tables.kinds,
            tables.users,
            tables.scores,
        )
        for half in chosen
    ]


def files(case: Case, draws: Draws) -> Any:
    """Measuring parquet files in parts, by an executor."""

    def ask() -> Facts:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{name}.parquet" for name in ("truth", "a")]
            for path, table in zip(
                paths, (doors.truth_of(case.tables), doors.run_of(case.tables, "a")), strict=True
            ):
                write_table(table, path)
            return doors.measure_tables(
                case, paths[0], paths[1], storage=Storage(executor=Threads(1))
            )

    return (lambda: brute.measured(case, draws)), ask


READERS: Mapping[str, tuple[Reader, int]] = {
    "explain": (explain, 2),
    "audit": (audit, 2),
    "report": (report, 1),
    "parts": (parts, 3),
    "files": (files, 10),
}
"""The doors, and how many cases there are to one that goes through each of them."""
