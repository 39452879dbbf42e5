"""The audit of an offline evaluation: it finds and counts faults, and measures their effects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Unpack, cast

import numpy as np

from podium import _check
from podium._json import plain
from podium.data.columns import USER
from podium.data.frames import NO_FRAMES, Origin
from podium.data.ids import distinct
from podium.data.opened import NAMED
from podium.decide.audit import (
    checks_candidates,
    checks_run,
    checks_scores,
    checks_train,
    checks_truth,
)
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.reading import read_tables
from podium.decide.audit.tables import Tables
from podium.decide.audit.vocabulary import respell
from podium.decide.finding import Facts, finding
from podium.errors import ArgumentError, arg
from podium.evaluation.finding import SEVERITIES, Finding, Severity
from podium.evaluation.from_runs import warn_of_unread
from podium.evaluation.stats import summarize
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures
from podium.results import Result


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """The findings of an audit, and values that put the measure into context.

    Attributes
    ----------
    findings : tuple of Finding
        Errors first, then warnings, then notes.
    context : dict of str to number
        Sizes of the tables, and the values of each run, of a popularity list and of a random list.
    measure : str
    conventions : dict
        The threshold of positives, and how candidates were drawn according to the caller.
    origin : Origin
        The kind of frames that came in.
    """

    findings: tuple[Finding, ...]
    context: dict[str, Any] = field(default_factory=dict[str, Any])
    measure: str = "ndcg@10"
    conventions: dict[str, Any] = field(default_factory=dict[str, Any])
    origin: Origin = NO_FRAMES

    _test: ClassVar[str] = "audit.fails('error'), which is True if there is an error, or findings"

    def of(self, severity: Severity) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    @property
    def worst(self) -> Severity | None:
        """The highest severity of the findings; None without findings."""
        return self.findings[0].severity if self.findings else None

    def fails(self, fail_on: str) -> bool:
        """Return whether a finding is at least as severe as `fail_on`; with "never", False."""
        levels = {"never": (), "warning": ("error", "warning")}.get(fail_on, ("error",))
        return self.worst in levels

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/audit.json); nan becomes None."""
        return {
            "measure": self.measure,
            "counts": {severity: len(self.of(severity)) for severity in SEVERITIES},
            "findings": [finding.as_json() for finding in self.findings],
            "context": plain(self.context),
            "conventions": dict(self.conventions),
        }


OF_TEST = (*checks_truth.OF_TEST, *checks_scores.OF_TEST, *checks_truth.OF_TEST_AND_RUNS)
OF_RUNS = (
    *(*checks_run.CHECKS, *checks_scores.CHECKS),
    *(*checks_scores.OF_VALUES, *checks_truth.CHECKS),
)
OF_RUNS_AND_TRAIN = (*checks_run.OF_TRAIN, *checks_scores.OF_TRAIN, *checks_candidates.CHECKS)


def audit(
    train: Any = None,
    test: Any = None,
    runs: Any = None,
    protocol: Protocol | Measures = "ndcg@10",
    *,
    candidates: str | None = None,
    timestamp: str | None = None,
    memory: int | str | None = None,
    published: Any = None,
    **fields: Unpack[ProtocolFields],
) -> Audit:
    """Find and count the faults of an offline evaluation, and measure their effects.

    The effect of a fault is the mean of the measure with the fault and without it.

    Parameters
    ----------
    train : path, frame, mapping of columns, or sparse matrix
        The interactions on which models were trained: user, item, and timestamp if there is one.
        With None, the checks are made that need no training rows.
    test : path, frame, mapping of columns, or sparse matrix
        The truth: user, item, relevance, and timestamp if there is one; see `podium.measure`.
    runs : mapping of str to path, frame or mapping of columns, optional
        The lists of models by name, or those of one model. Without them, only the two parts are
        audited, and effects are those on the list of the most popular items.
    protocol : str, Measure or Protocol
        The measure on which effects are computed: the first one of a protocol.
    candidates : {"uniform", "other"}, optional
        How the items of the lists were sampled, if the lists are samples.
    timestamp : str, optional
        The name of the column of times, if it is not a usual one.
    memory : int or str, optional
        The memory for tables, in bytes or as text, such as "4GiB". Default: half of what is
        available. If parquet and Arrow files need more, the rows of some users are audited, chosen
        by a hash of their id; a note says how many.
    published : str or mapping, optional
        The numbers of a published result instead of tables: the number of queries, and those with a
        hit of the result and of a baseline, such as "n=500,hits=41,baseline=35".
    min_relevance : float, optional
        The smallest relevance of a positive item, 1 by default.
    user, item, relevance, score, rank : str, optional
        The names of columns. `user` and `item` apply to all tables.
    **fields
        Other fields have no effect: an audit has fixed conventions, see Notes.

    Returns
    -------
    Audit

    Raises
    ------
    ArgumentError
        If an option is wrong, or the times of one part are dates and those of the other numbers.
    DataError
        If a file is wrong.

    Notes
    -----
    Values: users that a run lacks have the worst value, repeated pairs count once, and equal scores
    are ordered with positives last, unless a finding states otherwise.
    Ids in two spellings are found first. All other checks use one spelling.
    Cost: a sort of the training pairs, and one measurement per run for each finding.

    References
    ----------
    ji2020; ji2023; krichene2020.

    Examples
    --------
    >>> train = {"user": [1, 1, 2, 2], "item": [5, 6, 5, 7], "timestamp": [1, 2, 3, 9]}
    >>> test = {"user": [1, 2], "item": [7, 6], "timestamp": [6, 7]}
    >>> [finding.check for finding in audit(train, test).of("error")]
    ['future-of-user']
    """
    if (test is None) == (published is None):
        raise ArgumentError(
            f"Exactly one of {arg.test} and {arg.published} must be passed, because an audit reads "
            "tables or published numbers."
        )
    if published is not None:
        return read_published(published)
    stated = Protocol.of(protocol, **fields)
    read = {"measures", "min_relevance", *NAMED}
    unread = {name for name in stated.changed() if name not in read}
    warn_of_unread(stated, *sorted(unread), reader="audits")
    tables = read_tables(
        *(train, test, _by_name(runs), stated),
        candidates=candidates,
        timestamp=timestamp,
        memory=memory,
    )
    findings, price = checked(tables)
    request, context = tables.request, read_context(price)
    conventions = {"min_relevance": request.threshold, "candidates": candidates}
    return Audit(tuple(findings), context, str(request.measure), conventions, tables.origin)


def _by_name(runs: Any) -> Any:
    """Return runs by name; one run, such as a mapping of columns or of queries, is named "run"."""
    if runs is None or isinstance(runs, list):
        return cast("Any", {} if runs is None else runs)
    is_one = not isinstance(runs, Mapping) or any(
        name in USER.usual or isinstance(run, list | set) or _has_scores(run)
        for name, run in cast("Mapping[Any, Any]", runs).items()
    )
    return {"run": cast("Any", runs)} if is_one else cast("Any", runs)


def _has_scores(run: Any) -> bool:
    """Return whether a value is the list of a query, ``{item: score}``, and not a run."""
    if not isinstance(run, Mapping):
        return False
    return any(isinstance(score, Real) for score in cast("Mapping[Any, Any]", run).values())


def checked(tables: Tables) -> tuple[list[Finding], Pricing]:
    """Return the findings of all checks, errors first, and the values that effects came from."""
    tables, findings = respell(tables)
    if tables.request.one_in > 1:
        findings.append(finding("some-users", 0, one_in=tables.request.one_in))
    other_units = checks_train.time_units(tables)
    if other_units is not None:
        findings.append(other_units)
        tables = tables.without_times()
    price, of_parts, of_runs = Pricing(tables), OF_TEST, OF_RUNS
    if tables.train.n_rows:
        of_parts, of_runs = (*checks_train.CHECKS, *OF_TEST), (*OF_RUNS, *OF_RUNS_AND_TRAIN)
    findings += filter(None, [check(price) for check in of_parts])
    findings += filter(None, [check(price, run) for run in tables.runs for check in of_runs])
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return findings, price


PER_USER = "positives per user"
"""The name of this number in the context."""


def read_context(price: Pricing) -> dict[str, Any]:
    """Return the sizes of the tables, and the values of runs, popularity and random lists."""
    tables = price.tables
    n_positives = tables.positives.n_rows
    n_users = distinct(tables.positives.user).size
    lists = {name: price.base[name] for name in tables.runs} | price.baseline_values
    lists["a random list"] = price.random
    values = {f"value of {name}": price.summary(values).mean for name, values in lists.items()}
    of_train = {
        "events of TRAIN": tables.train.n_rows,
        "users of TRAIN": int(tables.in_train[0].sum()),
        "items of TRAIN": int(tables.in_train[1].sum()),
    }
    return {
        **(of_train if tables.train.n_rows else {}),
        "users of TEST with positives": n_users,
        "positives of TEST": n_positives,
        PER_USER: n_positives / n_users if n_users else float("nan"),
        **values,
    }


_FORM = "n=500,hits=41,baseline=35"
_CONVENTIONS = {"min_relevance": 1.0, "candidates": None}
_SIZE = 0.05  # of the test


def read_published(published: Any) -> Audit:
    """Audit a published share of hits against that of a baseline on the same queries.

    Parameters
    ----------
    published : str or mapping
        The number of queries n, and those with a hit of the result and of the baseline, such as
        "n=500,hits=41,baseline=35".

    Notes
    -----
    The exact sign test needs the queries in which only one of both has a hit. Their difference is
    known, and their number lies between this difference and the smallest of all hits and 2n - all
    hits. The p values of both ends are shown.

    References
    ----------
    mcnemar1947.
    """
    n, hits, baseline = _numbers(published)
    gain = hits - baseline
    most = min(hits + baseline, 2 * n - hits - baseline)
    low, high = (_sign_test(m, gain) for m in (abs(gain), most))
    rates = {
        name: summarize(np.arange(n) < m, method="wilson", bounds=(0, 1))
        for name, m in (("result", hits), ("baseline", baseline))
    }
    texts = [
        f"{name} {100 * s.mean:.1f} % [{100 * s.interval.low:.1f}, {100 * s.interval.high:.1f}]"
        for name, s in rates.items()
    ]
    kind = "never" if low > _SIZE else "always" if high <= _SIZE else ""
    facts: Facts = {"shares": ", ".join(texts), "low": low, "high": high}
    difference = finding("published-difference", (abs(gain), n), kind=kind, **facts)
    values = {f"value of {name}": s.mean for name, s in rates.items()}
    p_values = {"smallest p value": low, "largest p value": high}
    return Audit((difference,), {"queries": n, **values, **p_values}, "hit_rate", _CONVENTIONS)


def _sign_test(n: int, gain: int) -> float:
    """Return the two-sided p value of n queries that differ, by `gain` more in one direction."""
    start = math.lgamma(n + 1) - n * math.log(2)
    least = range((n - abs(gain)) // 2 + 1)
    tail = sum(math.exp(start - math.lgamma(k + 1) - math.lgamma(n - k + 1)) for k in least)
    return min(1.0, 2 * tail)


def _numbers(published: Any) -> tuple[int, int, int]:
    """Return n, hits and baseline, or raise."""
    numbers: Any = published
    if isinstance(published, str):
        pairs = (part.partition("=") for part in published.split(","))
        numbers = {name.strip(): int(v) if v.strip().isdigit() else v for name, _, v in pairs}
    if not isinstance(numbers, Mapping) or {*numbers} != {"n", "hits", "baseline"}:
        raise ArgumentError(
            f"{arg.published} must be numbers such as {_FORM!r}, got {published!r}."
        )
    n = _check.cutoff(numbers["n"], name="n")
    hits, baseline = (
        int(_check.number(numbers[name], name, low=0, high=n)) for name in ("hits", "baseline")
    )
    return n, hits, baseline
