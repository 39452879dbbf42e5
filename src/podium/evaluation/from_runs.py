"""The functions that measure runs against a truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from podium._fields import RULES_OF_GATE
from podium.errors import arg, warn
from podium.evaluation._hints import warn_of_open_ties
from podium.evaluation.alignment import align
from podium.evaluation.evaluation import Evaluation, KeptTables
from podium.evaluation.in_parts import Workload, measure_parts
from podium.evaluation.shown import check_tables, shown_values
from podium.evaluation.users import check_users, cluster_and_weight, divide
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures

if TYPE_CHECKING:
    from podium.data.opened import Tables
    from podium.data.storage import Storage


def measure(
    truth: Any,
    run: Any,
    protocol: Protocol | Measures = (),
    *,
    users: Any = None,
    catalogue: Any = None,
    items: Any = None,
    keep_lists: bool = False,
    storage: Storage | None = None,
    **fields: Unpack[ProtocolFields],
) -> Evaluation:
    """Measure a run against a truth: per user, as a mean with an interval, and by segment.

    Parameters
    ----------
    truth, run : path, frame, mapping, or sparse matrix
        The truth (user, item, relevance) and the run (user, item, score or rank); see
        `podium.data.ranking`. Mappings have columns, or the items of users: ``{user: [item, …]}``,
        best first, ``{user: {item: value}}``, and in a truth ``{user: {item, …}}``. A user with an
        empty list has the value 0, a user whom the run lacks is `missing`, and measures are
        undefined for a user without relevant items.
    protocol : str, Measure, several of them, or Protocol
        The measures, such as ["pap@10", "ndcg@10"], or a protocol.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that `by` names.
    catalogue : path, frame or mapping of columns, optional
        The past interactions of users and items, for coverage, gini, novelty and popularity.
    items : path, frame or mapping of columns, optional
        The table of items with their categories or features, for diversity.
    keep_lists : bool
        Whether the result keeps the tables, so that `write_report` can show lists of users and the
        measures at other cutoffs. Tables that are measured in parts stay on disk: the report reads
        them again, and shows the other cutoffs for at most 10,000 users.
    storage : Storage, optional
        The limit of memory, and the executor, for tables that are measured in parts.
    by : str or several
        The segments: "engagement", "n_pos", or columns of `users`.
    undefined, level, interval, bootstrap_seed
        The rule for undefined groups ("skip" by default), and the level, the method and the seed
        of the intervals, as in `evaluate`.
    like : {"trec_eval", "ir_measures", "sklearn", "haystack", ...}, optional
        The package whose conventions apply to users, lists and measures where no other is passed.
        The result lists them.
    **fields
        Conventions and column names, as in `podium.data.ranking`. With unjudged="bounds", the
        result also has the smallest and largest value over all judgements of unjudged items.

    Returns
    -------
    Evaluation
        The value of each user, the means with their intervals, and the segments.

    Raises
    ------
    ArgumentError
        If `podium.data.ranking` or `evaluate` raises, or unjudged="bounds" is passed with a measure
        that has no bounds (see `judgement_bounds`), or the package of `like` lacks a measure.
    DataError
        If spill files can't be written.

    Warns
    -----
    PodiumWarning
        If `podium.data.ranking` or `evaluate` warns, or if min_relevance is not passed and a
        measure treats relevances between 0 and 1 as not relevant, or if `items` lacks items shown,
        or neither `ties` nor the package of `like` defines the order of equal scores, and it
        changes 1 % of the lists or more, and a mean in its first four digits.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": [10, 11, 10]}
    >>> run = {"user": [1, 1, 2], "item": [11, 12, 12], "score": [0.9, 0.1, 0.5]}
    >>> measure(truth, run, ["hit_rate@1", "recall@2"]).means
    {'hit_rate@1': 0.5, 'recall@2': 0.25}
    >>> measure({"q1": {"a", "b"}, "q2": {"c"}}, {"q1": ["d", "a"], "q2": []}, "recall@2").means
    {'recall@2': 0.25}
    """
    stated = Protocol.of(protocol, **fields)
    warn_of_unread(stated, "weight", "cluster", *{*RULES_OF_GATE} & fields.keys())
    (tables,) = open_tables(stated, [(truth, {"": run})], users, catalogue, items)
    result = measure_runs(tables, stated, keep_lists=keep_lists, storage=storage)[""]
    return divide(result, stated.by, tables.users)


def open_tables(
    protocol: Protocol,
    splits: Sequence[tuple[Any, Mapping[str, Any]]],
    users: Any,
    catalogue: Any,
    items: Any,
    *,
    reads_clusters: bool = False,
) -> list[Tables]:
    """Open the tables of a call, one value per truth with its runs.

    Raises
    ------
    ArgumentError
        If the table of a measure or of a column is not passed, or nothing reads a table.
    """
    from podium.data.opened import Tables

    check_tables(protocol.required_measures(), catalogue, items)
    opened = Tables.open_splits(protocol, splits, users, catalogue, items)
    check_users(protocol, opened[0].users, reads_clusters=reads_clusters)
    return opened


def warn_of_unread(protocol: Protocol, *names: str, reader: str = "means") -> None:
    """Warn of stated fields that have no effect on what is computed."""
    unread = [str(arg[name]) for name in protocol.stated() if name in names]
    if unread:
        warn(f"Without effect on {reader}: {', '.join(unread)} of the protocol.")


def measure_runs(
    tables: Tables,
    protocol: Protocol,
    *,
    with_users: bool = False,
    keep_lists: bool = False,
    storage: Storage | None = None,
) -> dict[str, Evaluation]:
    """Measure runs on the users that all of them have; the truth is read once.

    Parameters
    ----------
    tables : Tables
    protocol : Protocol
    with_users : bool
        Whether to read the clusters and weights of users from their table, if there is one.
        Clusters determine the standard errors of measures that are not means over users.
    keep_lists, storage
        The parameters of `measure`.

    Raises
    ------
    ArgumentError
        If a measure has no interval of the method, or runs have no user in common.
    """
    from podium.data.buckets import in_parts, is_large
    from podium.data.storage import Storage

    storage = Storage() if storage is None else storage
    measures = protocol.required_measures()
    of_shown = [m for m in measures if m.metric.reads != "relevance"]
    tasks = protocol.tasks(m for m in measures if m.metric.reads == "relevance")
    of_lists = protocol.conventions(of_shown[0] if of_shown else None)
    depth = max((m.k or 1 for m in of_shown), default=None)
    if keep_lists and not is_large(tables, storage):
        tables = tables.in_memory()
    with in_parts(tables, storage) as parts:
        work = Workload(tasks, None if depth is None else (of_lists, depth))
        measured = measure_parts(parts, protocol, work)
    evaluations: Mapping[str, Evaluation] = {n: m.evaluation for n, m in measured.items()}
    if len(evaluations) > 1:
        evaluations = align(evaluations)
    warn_of_open_ties(protocol.package, evaluations)
    labels = next(iter(evaluations.values())).labels
    of_users: dict[str, Any] = {}
    if with_users and tables.users is not None:
        of_users = cluster_and_weight(tables.users, protocol, labels)
    shown_by_run = shown_values(
        {name: (m.top, m.items) for name, m in measured.items()},
        [protocol.measure(m) for m in of_shown],
        labels,
        clusters=of_users.get("cluster"),
        catalogue=tables.catalogue,
        items=tables.items,
    )
    used = {str(m): (m, task.conventions) for task in tasks for m in task.measures}
    results: dict[str, Evaluation] = {}
    for name, evaluation in evaluations.items():
        values = evaluation.values | shown_by_run.get(name, {})
        run_tables = KeptTables(tables.truth, tables.runs[name], used, of_lists, parts.whole)
        results[name] = replace(
            evaluation,
            values={str(m): values[str(m)] for m in measures},
            **of_users,
            origin=tables.origin,
            tables=run_tables if keep_lists else None,
        )
        if of_shown:
            results[name].refuse_undefined()
    return results
