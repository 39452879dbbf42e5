"""The audit of an offline evaluation: it finds and counts faults, and measures their effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Unpack, cast

from podium.data.columns import USER
from podium.data.opened import NAMED
from podium.decide.audit import (
    checks_candidates,
    checks_run,
    checks_scores,
    checks_test,
    checks_time,
    checks_train,
    checks_truth,
    checks_values,
)
from podium.decide.audit.context import read_context
from podium.decide.audit.finding import Audit
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.published import read_published
from podium.decide.audit.reading import read_tables
from podium.decide.audit.tables import Tables
from podium.decide.audit.vocabulary import respell
from podium.decide.finding import finding
from podium.errors import ArgumentError, arg
from podium.evaluation.finding import SEVERITIES, Finding
from podium.evaluation.from_runs import warn_of_unread
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures

OF_TRAIN = (*checks_train.CHECKS, *checks_time.CHECKS)
OF_TEST = (*checks_test.CHECKS, *checks_values.OF_TEST, *checks_truth.OF_TEST)
OF_RUNS = (
    *(*checks_run.CHECKS, *checks_scores.CHECKS),
    *(*checks_values.CHECKS, *checks_truth.CHECKS),
)
OF_RUNS_AND_TRAIN = (*checks_run.OF_TRAIN, *checks_scores.OF_TRAIN, *checks_candidates.CHECKS)


def audit(
    train: Any = None,
    test: Any = None,
    runs: Any = None,
    protocol: Protocol | Measures = "ndcg@10",
    *,
    candidates: str | None = None,
    n_negatives: int | None = None,
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
    candidates : {"uniform"}, optional
        How the items of the lists were sampled, if the lists are samples.
    n_negatives : int, optional
        The number of sampled items in addition to the targets, if the lists are samples.
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
        n_negatives=n_negatives,
        timestamp=timestamp,
        memory=memory,
    )
    findings, price = checked(tables)
    return Audit(
        tuple(findings),
        read_context(price),
        str(tables.request.measure),
        {
            "min_relevance": tables.request.threshold,
            "candidates": candidates,
            "n_negatives": n_negatives,
        },
        tables.origin,
    )


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
    tables, findings = respell(tables, Pricing)
    if tables.request.one_in > 1:
        findings.append(_of_some_users(tables))
    if checks_time.differ_in_unit(tables):
        findings.append(checks_time.time_units(tables))
        tables = tables.without_times()
    price = Pricing(tables)
    findings.extend(_findings(price))
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return findings, price


def _of_some_users(tables: Tables) -> Finding:
    return finding("some-users", 0, one_in=tables.request.one_in)


def _findings(price: Pricing) -> Iterator[Finding]:
    """Yield what the checks find, in the order of checks and then of runs."""
    has_train = price.tables.train.n_rows > 0
    of_parts = (*OF_TRAIN, *OF_TEST) if has_train else OF_TEST
    of_runs = (*OF_RUNS, *OF_RUNS_AND_TRAIN) if has_train else OF_RUNS
    findings = [check(price) for check in of_parts]
    findings += [check(price, name) for name in price.tables.runs for check in of_runs]
    yield from filter(None, findings)
