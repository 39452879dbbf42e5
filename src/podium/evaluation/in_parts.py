"""Runs measured part after part; tables in memory are the case of one part.

A part is all rows of some users. Each value of a measure depends on one user. The values of all
parts, in the order of users, are therefore those of whole tables, bit for bit. What depends on
whole tables (ids in common, missing users, hints) is collected from the parts and checked at the
end. `measure_part` measures a part that a cluster has divided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from podium import _check
from podium.errors import ArgumentError, arg
from podium.evaluation._hints import Relevances
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import Values, evaluate_ranking, finished
from podium.evaluation.unjudged import judgement_bounds
from podium.metrics import Measure
from podium.protocol import Conventions, Protocol, ProtocolFields
from podium.protocol.conventions import Task
from podium.protocol.protocol import Measures

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.data.buckets import Buckets, Parts
    from podium.data.convert import Ids
    from podium.data.join import PartIds
    from podium.data.lists import Listed, Whole
    from podium.data.opened import Tables
    from podium.data.storage import Storage


class Workload(NamedTuple):
    """What is computed of each run: tasks, and the conventions and depth of the items shown."""

    tasks: Sequence[Task]
    top: tuple[Conventions, int] | None = None


class OfRun(NamedTuple):
    """The results of a run for the users of a part.

    Attributes
    ----------
    values : list of Values
        The values by task.
    top : Listed or None
        The items shown, if measures of them are computed.
    items : ids or None
        All items of the run, if measures of the items shown are computed of all users.
    ids : PartIds or None
        The ids of both tables, if these are some users of larger ones.
    """

    values: list[Values]
    top: Listed | None
    items: Ids | None
    ids: PartIds | None


def measured_run(truth: Truth, run: Run, work: Workload, facts: Whole | None) -> OfRun:
    """Measure a run for all users, or for some users of tables whose facts are given."""
    from podium.data.lists import Lists, Whole

    values: list[Values] = []
    top, ids = None, None
    for task in work.tasks:
        measures, conventions = task
        lists = Lists.of(truth, run, conventions, facts, measures=measures)
        result = evaluate_ranking(lists.ranking, measures, open_ties=conventions.open_ties)
        if lists.grades is not None:  # judgements are left open
            bounds = {str(m): judgement_bounds(lists.ranking, m, lists.grades) for m in measures}
            result = replace(result, bounds=bounds)
        relevances = Relevances.of(lists.ranking, by_default=lists.has_default_threshold)
        of_some = None if facts is None else lists.of_some()
        ids = lists.part_ids() if facts is not None and ids is None else ids
        values.append(Values(result, relevances, of_some))
    if work.top is None:
        return OfRun(values, None, None, ids)
    conventions, depth = work.top  # the tables were checked before
    top = Lists.of(truth, run, conventions, Whole(), with_items=True).top(depth)
    return OfRun(values, top, run.item if facts is None else None, ids)


class Measured(NamedTuple):
    """The evaluation of a run, the items that it shows, and all its items."""

    evaluation: Evaluation
    top: Listed | None
    items: Ids | None


def measure_parts(parts: Parts, protocol: Protocol, work: Workload) -> dict[str, Measured]:
    """Measure all runs in all parts, as `podium.measure` does with whole tables.

    Raises
    ------
    ArgumentError, DataError
        If measuring whole tables raises. Rows that contradict each other are then named by user
        and item only.
    """
    results: dict[str, list[OfRun]] = {}
    ids: dict[str, PartIds] = {}
    for part in parts.map(_measured, work, parts.whole):
        for name, of_part in part.items():
            if of_part.ids is not None:
                ids[name] = ids[name] + of_part.ids if name in ids else of_part.ids
            results.setdefault(name, []).append(of_part._replace(ids=None))
    if parts.whole is not None:
        _complete_absent(parts, work, results)
    return {
        name: _joined(of_parts, ids.get(name), protocol, work) for name, of_parts in results.items()
    }


def _measured(
    truth: Truth, runs: Mapping[str, Any], work: Workload, facts: Whole | None
) -> dict[str, OfRun]:
    from podium.data.runs import read_run

    return {name: measured_run(truth, read_run(run), work, facts) for name, run in runs.items()}


def _complete_absent(parts: Buckets, work: Workload, results: Mapping[str, list[OfRun]]) -> None:
    """Measure parts again in which absent lists were taken for whole, though others are not.

    Only the lists of all parts show whether an absent list would contain exactly the truth's items.
    """
    for number, task in enumerate(work.tasks):
        wrong: list[tuple[str, int]] = []
        for name, of_parts in results.items():
            of_users: list[Any] = [of_part.values[number].of_some for of_part in of_parts]
            if any(some.first_short is not None for some in of_users):
                wrong += [(name, i) for i, some in enumerate(of_users) if some.has_whole_absent]
        buckets = sorted({i for _, i in wrong})
        shared: Any = Workload([task]), replace(parts.whole, lists_whole=False)
        remeasured = dict(zip(buckets, parts.map(_measured, *shared, buckets=buckets), strict=True))
        for name, i in wrong:
            results[name][i].values[number] = remeasured[i][name].values[0]


def _joined(
    of_parts: list[OfRun], ids: PartIds | None, protocol: Protocol, work: Workload
) -> Measured:
    """Join the results of a run, and check what depends on whole tables."""
    from podium.data.lists import Listed, check_some

    tasks: list[Evaluation] = []
    for task in work.tasks:
        values = [of_part.values.pop(0) for of_part in of_parts]
        if ids is not None:
            check_some([v.of_some for v in values], ids)
        tasks.append(finished(values, task.measures, protocol))
    columns: Any = {
        kind: {name: column for task in tasks for name, column in vars(task)[kind].items()}
        for kind in ("values", "best", "weights")
    }
    tops = [of_part.top for of_part in of_parts if of_part.top is not None]
    top = Listed.joined(tops) if tops else None
    items = of_parts[0].items if ids is None else ids.items[1]
    return Measured(replace(tasks[0], **columns), top, items)


def measure_part(
    truth: Any,
    run: Any,
    protocol: Protocol | Measures,
    *,
    lowest: float,
    lists_whole: bool | None = None,
    **fields: Unpack[ProtocolFields],
) -> Evaluation:
    """Measure a run for some users of larger tables, with the values that `measure` gives them.

    What `measure` checks and warns of in whole tables is left to the caller, such as tables without
    an item in common.

    Parameters
    ----------
    truth, run : frame
        All rows of these users. A frame can be without rows.
    protocol : str, Measure, several of them, or Protocol
        The measures of relevance, such as ["pap@10", "ndcg@10"], or a protocol.
    lowest : float
        The smallest relevance of the whole truth; 1 if it has no column of relevances. If it is
        below min_relevance, lists with exactly the truth's items of their users are whole lists.
    lists_whole : bool, optional
        Whether all lists of the whole run are whole lists. It is required with missing="zero" and
        such a `lowest`, unless n_items is passed: for a user without a list, measures can then be
        undefined.
    **fields
        Conventions and column names, as in `podium.data.ranking`, except unjudged="bounds".

    Returns
    -------
    Evaluation
        The values of these users. `merge` joins those of all parts.

    Raises
    ------
    ArgumentError
        If `podium.data.ranking` raises, lowest or lists_whole is wrong, lists_whole is missing, or
        unjudged is "bounds".
    DataError
        If a table is wrong.

    Examples
    --------
    >>> import polars as pl
    >>> truth = pl.DataFrame({"user": [1, 2], "item": [10, 10]})
    >>> run = pl.DataFrame({"user": [2], "item": [10], "score": [0.9]})
    >>> measure_part(truth, run, "rr", lowest=1, missing="zero").values["rr"].tolist()
    [0.0, 1.0]
    """
    from podium.data.lists import Whole
    from podium.data.opened import Tables
    from podium.data.runs import read_run, read_truth

    stated = Protocol.of(protocol, **fields)
    if stated.has_bounds:
        raise ArgumentError(
            f"{arg.unjudged('bounds')} requires the whole truth, because a judgement can be each "
            "of its relevances. Use podium.measure."
        )
    stated.required_measures()
    task = stated.task()
    tables = Tables.open(stated, truth, {"": run})
    judged = read_truth(_can_be_empty(tables.truth))
    listed = read_run(_can_be_empty(tables.runs[""]))
    facts = Whole.stated(judged, task.conventions, lowest, lists_whole)
    of_run: Any = measured_run(judged, listed, Workload([task]), facts)
    (values,) = of_run.values
    if values.of_some.all_users:
        of_run.ids.refuse_absent()
    if facts.lists_whole and values.of_some.first_short is not None:
        raise ArgumentError(
            f"{arg.lists_whole(True)} requires lists with exactly the truth's items, but that of "
            f"user {_check.label(values.of_some.first_short)} has others. Pass False."
        )
    result = replace(values.evaluation, origin=judged.origin, protocol=stated)
    result.refuse_undefined()
    return result


def _can_be_empty(table: Any) -> Any:
    from podium.data.source import Source

    return replace(table, can_be_empty=True) if isinstance(table, Source) else table


def read_same_lists(tables: Tables, protocol: Protocol, storage: Storage) -> bool:
    """Return whether the runs "base" and "candidate" have the same lists for all users.

    The lists have the same items in the same order, with the same ties, to the depth that the
    measures read and under their conventions. Tables that are not in memory are read again.

    Parameters
    ----------
    tables : Tables
    protocol : Protocol
    storage : Storage
        The limit of memory.
    """
    from podium.data.buckets import in_parts

    depths = [(_depth(task), task.conventions) for task in protocol.tasks(protocol.measures)]
    with in_parts(tables, storage) as parts:
        return all(parts.map(_has_same_lists, depths))


def _has_same_lists(
    truth: Truth, runs: Mapping[str, Any], depths: Sequence[tuple[int | None, Conventions]]
) -> bool:
    from podium.data.lists import same_lists
    from podium.data.runs import read_run

    two = read_run(runs["base"]), read_run(runs["candidate"])
    return all(same_lists(truth, two, conventions, depth) for depth, conventions in depths)


def _depth(task: Task) -> int | None:
    """Return the number of items that determine the values of a list; None for the whole list."""
    depths = [_depth_of(measure) for measure in task.measures]
    return None if None in depths else max(filter(None, depths), default=0)


def _depth_of(measure: Measure) -> int | None:
    if measure.k is None:
        return None
    if not measure.metric.half_pairs:
        return measure.k
    # Among 2k - 1 items, there are k negatives or all positives that pap@k reads.
    return 2 * measure.k - 1 if measure.name == "pap" else None
