"""Facts that a decision must state: what a measure can't separate, and what was not compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from podium._numbers import measured
from podium.data.opened import Tables
from podium.data.storage import Storage
from podium.decide.audit.audit import checked
from podium.decide.audit.checks_scores import no_difference
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.reading import read_tables
from podium.decide.finding import Facts, finding
from podium.decide.pairs import Pairs
from podium.errors import PodiumError, PodiumWarning
from podium.evaluation.alignment import align
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.finding import Finding
from podium.evaluation.from_runs import measure_runs
from podium.evaluation.open_ties import differs
from podium.metrics import Measure, parse
from podium.protocol import Protocol

_FEW_SHORT = 0.01  # share of lists; a few users have fewer candidates
_JUDGED = 0.8  # share of the items at the top; with fewer, unjudged items decide
_DIGITS = 9  # in which sums of the same numbers in another order are equal
_SAME = 0.95  # share of users with equal values from which a list was compared as a run


def of_pairs(
    names: tuple[str, str], pairs: Pairs, measures: Iterable[Measure]
) -> Iterator[Finding]:
    """Yield the measures that can't separate two runs."""
    both = {m: pairs.of_measure(m) for m in measures if m.metric.is_mean}
    return no_difference(names, {m: (of.base, of.candidate) for m, of in both.items()})


def of_segments(pairs: Pairs) -> Iterator[Finding]:
    """Yield the divisions of users that have one segment."""
    for by, column in pairs.segments.items():
        if (column == column[0]).all():
            segment = column[0] or "none"
            yield finding("whole-segment", pairs.n_users, by=by, segment=segment)


def of_runs(
    evaluations: Mapping[str, Evaluation], tables: Tables | None, storage: Storage
) -> Iterator[Finding]:
    """Yield short lists and, if the tables are given, small judged shares."""
    first = next(iter(evaluations.values()))
    measures = [parse(name) for name in first.per_group()]
    yield from _short_lists(evaluations, measures)
    if tables is not None:
        yield from _unjudged_items(evaluations, measures, tables, storage)


def _short_lists(
    evaluations: Mapping[str, Evaluation], measures: list[Measure]
) -> Iterator[Finding]:
    """Yield the runs that have lists with fewer items than the largest cutoff."""
    longest = max(measures, key=lambda measure: measure.k or 0, default=None)
    if longest is None or longest.k is None:
        return
    texts, n_short, n_lists = list[str](), 0, 0
    for name, evaluation in evaluations.items():
        sizes = np.empty(0, np.int64) if evaluation.n_listed is None else evaluation.n_listed
        short, n = sizes[(sizes > 0) & (sizes < longest.k)], int((sizes != 0).sum())
        if short.size > _FEW_SHORT * n:
            texts.append(f"{short.size:,} of {n:,} of {name} (the shortest has {short.min()})")
            n_short, n_lists = n_short + short.size, n_lists + n
    if texts:
        of = (n_short, n_lists)
        facts: Facts = {"measure": longest, "k": longest.k}
        yield finding("short-lists", of, kind="several", lists=", ".join(texts), **facts)


def _unjudged_items(
    evaluations: Mapping[str, Evaluation],
    measures: list[Measure],
    tables: Tables,
    storage: Storage,
) -> Iterator[Finding]:
    """Yield the shares of judged items, if one is small and the truth judges negatives too."""
    first = next(iter(evaluations.values()))
    rules, rejected = first.conventions, first.n_rejected
    is_open = rules.get("unjudged") == "negative" and rules.get("unretrieved") != "drop"
    if not measures or not is_open or rejected is None or not (rejected > 0).any():
        return  # if the truth judges no item as not relevant, nothing is known
    judged = parse(f"judged@{measures[0].k or 10}")
    how = Protocol.of(
        judged, missing="skip", ties="worst", min_relevance=rules.get("min_relevance")
    )
    of_judged = measure_runs(tables, how, storage=storage)
    means = [evaluation.means[str(judged)] for evaluation in of_judged.values()]
    shares = dict(zip(evaluations, means, strict=True))
    least = min(shares, key=lambda name: round(shares[name], _DIGITS))
    if shares[least] < _JUDGED:
        texts = (f"{100 * share:.0f} % of {name}" for name, share in shares.items())
        of = round((1 - shares[least]) * first.n_groups), first.n_groups
        facts: Facts = {"shares": ", ".join(texts), "k": judged.k, "run": least}
        yield finding("unjudged-items", of, kind="several", **facts)


def of_training(
    train: Any,
    truth: Any,
    runs: Mapping[str, Any],
    evaluations: Mapping[str, Evaluation],
    memory: int | None,
) -> Iterator[Finding]:
    """Yield the errors of an audit, and the values of lists without a model.

    Parameters
    ----------
    train : table or None
        The training rows. With None, those of a split by time that wrote the truth, if there is
        one; nothing is then audited.
    truth : table
    runs : dict of str to table
    evaluations : dict of str to Evaluation
        The evaluations of these runs; their first measure is the one that is audited.
    memory : int or None
        The memory for tables. With None, they need more than there is, so that only given training
        rows are read, those of some users.
    """
    from podium.data.splitting import earlier_parts

    known = train
    if train is None and memory is not None and isinstance(truth, str | Path):
        known = earlier_parts(truth)
    if known is None:
        return
    protocol = next(iter(evaluations.values())).protocol
    protocol = protocol.replace(
        measures=protocol.required_measures()[:1], unjudged="negative", missing="skip"
    )
    how: dict[str, Any] = dict.fromkeys(("candidates", "timestamp"))
    how |= {"runs": {} if train is None else runs, "protocol": protocol, "memory": memory}
    tables = read_tables(known, truth, **how)
    findings, price = ([], Pricing(tables)) if train is None else checked(tables)
    yield from (f for f in findings if f.severity == "error" or f.check == "no-times")
    yield from _not_compared(price, truth, protocol, evaluations)


def _not_compared(
    price: Pricing, truth: Any, protocol: Protocol, evaluations: Mapping[str, Evaluation]
) -> Iterator[Finding]:
    """Yield the values of the lists without a model that are none of the runs."""
    tables = price.tables
    runs = {
        name: {"user": tables.users[p.user], "item": tables.items[p.item], "score": p.values}
        for name, p in price.baselines.items()
    }
    measure, *_ = protocol.required_measures()
    lists = dict[str, Evaluation]()
    with suppress(PodiumError), warnings.catch_warnings():  # such as no item in common
        warnings.simplefilter("ignore", PodiumWarning)
        lists = measure_runs(Tables.open(protocol, truth, runs), protocol)
    rules = {"protocol": protocol, "segments": ()}
    only = {
        name: replace(e, values={str(measure): e.values[str(measure)]}, best={}, **rules)
        for name, e in evaluations.items()
    }
    both = align(only | lists)
    values = {name: evaluation.filled(measure) for name, evaluation in both.items()}
    means = {name: evaluation.means[str(measure)] for name, evaluation in both.items()}
    others = [
        name
        for name in lists
        if all(differs(values[name], values[run]).mean() > 1 - _SAME for run in evaluations)
    ]
    if not others:
        return

    def rank(name: str) -> float:
        return round(measure.metric.sign * means[name], _DIGITS)

    in_order = sorted(others, key=rank, reverse=True)
    run, texts = max(evaluations, key=rank), [f"{n} has {measured(means[n])}" for n in in_order]
    facts: Facts = {"kind": "better" if rank(in_order[0]) >= rank(run) else "", "run": run}
    facts |= {"which": "It was" if len(texts) == 1 else "They were", "measure": measure}
    of = len(texts), len(lists)
    yield finding("not-compared", of, mean=means[run], lists=" and ".join(texts), **facts)
