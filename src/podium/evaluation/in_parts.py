"""Runs measured part after part; tables in memory are the case of one part.

A part is all rows of some users. Each value of a measure depends on one user. The values of all
parts, in the order of users, are therefore those of whole tables, bit for bit. What depends on
whole tables (ids in common, missing users, hints) is collected from the parts and checked at the
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.evaluation._hints import Relevances
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import Values, evaluate_ranking, finished
from podium.evaluation.unjudged import judgement_bounds
from podium.protocol import Conventions, Protocol
from podium.protocol.conventions import Task

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.data.buckets import Buckets, Parts
    from podium.data.convert import Ids
    from podium.data.lists import Listed, Whole
    from podium.data.overlap import PartIds


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
        parts.refuse_scattered(_users(results, ids))
        _complete_absent(parts, work, results)
    return {
        name: _joined(of_parts, ids.get(name), protocol, work) for name, of_parts in results.items()
    }


def _measured(
    truth: Truth, runs: Mapping[str, Any], work: Workload, facts: Whole | None
) -> dict[str, OfRun]:
    from podium.data.runs import read_run

    return {name: measured_run(truth, read_run(run), work, facts) for name, run in runs.items()}


def _users(results: Mapping[str, list[OfRun]], ids: Mapping[str, PartIds]) -> Iterator[list[Ids]]:
    """Yield the users of the truth or a run in each part."""
    for number, of_runs in enumerate(zip(*results.values(), strict=True)):
        users: list[Ids] = []
        for of_run, of_ids in zip(of_runs, ids.values(), strict=True):
            labels = of_run.values[0].evaluation.labels
            users += [labels, *(of_table[number] for of_table in of_ids.users)]
        yield users


def _complete_absent(parts: Buckets, work: Workload, results: Mapping[str, list[OfRun]]) -> None:
    """Measure parts again in which absent lists were taken for whole, though others are not.

    Only the lists of all parts show whether an absent list would contain exactly the truth's items.
    """
    for number, task in enumerate(work.tasks):
        wrong: list[tuple[str, int]] = []
        for name, of_parts in results.items():
            every: list[Any] = [of_part.values[number].of_some for of_part in of_parts]
            if any(some.first_short is not None for some in every):
                wrong += [(name, i) for i, some in enumerate(every) if some.has_whole_absent]
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
