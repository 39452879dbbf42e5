"""The audit of an offline evaluation: it finds and counts faults, and measures their effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Unpack

from podium.data.opened import NAMED
from podium.decide.audit import (
    checks_candidates,
    checks_run,
    checks_scores,
    checks_test,
    checks_time,
    checks_train,
)
from podium.decide.audit.context import read_context
from podium.decide.audit.finding import SEVERITIES, Audit, Finding
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.reading import read_tables
from podium.decide.audit.tables import Tables
from podium.decide.audit.vocabulary import respell
from podium.evaluation.from_runs import warn_of_unread
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures

OF_PARTS = (*checks_train.CHECKS, *checks_time.CHECKS, *checks_test.CHECKS)
OF_RUNS = (*checks_run.CHECKS, *checks_scores.CHECKS, *checks_candidates.CHECKS)


def audit(
    train: Any,
    test: Any,
    runs: Mapping[str, Any] | None = None,
    protocol: Protocol | Measures = "ndcg@10",
    *,
    candidates: str | None = None,
    n_negatives: int | None = None,
    timestamp: str | None = None,
    memory: int | str | None = None,
    **fields: Unpack[ProtocolFields],
) -> Audit:
    """Find and count the faults of an offline evaluation, and measure their effects.

    The effect of a fault is the mean of the measure with the fault and without it.

    Parameters
    ----------
    train : path, frame, mapping of columns, or sparse matrix
        The interactions on which models were trained: user, item, and timestamp if there is one.
    test : path, frame, mapping of columns, or sparse matrix
        The truth: user, item, relevance, and timestamp if there is one; see `podium.measure`.
    runs : mapping of str to path, frame or mapping of columns, optional
        The lists of models by name. Without them, only the two parts are audited, and effects are
        those on the list of the most popular items.
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
    min_relevance : float, optional
        The smallest relevance of a positive item, 1 by default.
    user, item, relevance, score, rank : str, optional
        The names of columns. `user` and `item` apply to all tables.
    **fields
        Other fields have no effect: an audit has conventions of its own, see Notes.

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
    stated = Protocol.of(protocol, **fields)
    read = {"measures", "min_relevance", *NAMED}
    unread = {name for name in stated.changed() if name not in read}
    warn_of_unread(stated, *sorted(unread), reader="audits")
    no_runs: dict[str, Any] = {}
    tables = read_tables(
        *(train, test, no_runs if runs is None else runs, stated),
        candidates=candidates,
        n_negatives=n_negatives,
        timestamp=timestamp,
        memory=memory,
    )
    tables, findings = respell(tables, Pricing)
    if tables.request.one_in > 1:
        findings.append(_of_some_users(tables))
    if checks_time.differ_in_unit(tables):
        findings.append(checks_time.time_units(tables))
        tables = tables.without_times()
    price = Pricing(tables)
    findings.extend(_findings(price))
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
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


def _of_some_users(tables: Tables) -> Finding:
    return Finding(
        check="some-users",
        severity="note",
        text=f"The tables need more memory than there is. The audit read the rows of one in "
        f"{tables.request.one_in} users, and all counts and effects are theirs.",
        remedy="To audit all users, pass more memory: --memory SIZE.",
        noun="users",
    )


def _findings(price: Pricing) -> Iterator[Finding]:
    """Yield what the checks find, in the order of checks and then of runs."""
    for check in OF_PARTS:
        finding = check(price)
        if finding is not None:
            yield finding
    for name in price.tables.runs:
        for of_run in OF_RUNS:
            finding = of_run(price, name)
            if finding is not None:
                yield replace(finding, run=name)
