"""The functions that measure runs against a truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from podium import presets
from podium.evaluation.alignment import align
from podium.evaluation.conventions import Task, conventions_of, joined, ranking_options, tasks
from podium.evaluation.details import KeptTables
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import evaluate_parsed, refuse_undefined
from podium.evaluation.in_buckets import measure_buckets
from podium.evaluation.open_ties import warn_of_open_ties
from podium.evaluation.segments import divide
from podium.evaluation.shown import check_tables, read_tables, shown_values
from podium.evaluation.stats import IntervalMethod
from podium.evaluation.unjudged import judgement_bounds
from podium.metrics import Measure, parse_all
from podium.types import Labels, Progress, Undefined

if TYPE_CHECKING:
    from podium.data import RankingOptions, Truth
    from podium.data.convert import Ids
    from podium.data.frames import Origin
    from podium.data.join import Whole
    from podium.data.sides import Side
    from podium.data.storage import Storage
    from podium.executors import Executor


def measure(
    truth: Any,
    run: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    by: str | Sequence[str] = (),
    users: Any = None,
    catalogue: Any = None,
    items: Any = None,
    undefined: Undefined | None = None,
    level: float = 0.95,
    interval: IntervalMethod = "t",
    like: str | None = None,
    keep_lists: bool = False,
    memory: int | str | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    grouped: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
    **options: Unpack[RankingOptions],
) -> Evaluation:
    """Measure a run against a truth: per user, as a mean with an interval, and by segment.

    Parameters
    ----------
    truth, run : path, frame, mapping of columns, or sparse matrix
        The truth (user, item, relevance) and the run (user, item, score or rank); see
        `podium.data.ranking`.
    measures : str, Measure, or several
        The measures, such as ["pap@10", "ndcg@10"].
    by : str or several
        The segments: "engagement", "n_pos", or columns of `users`.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that `by` names.
    catalogue : path, frame or mapping of columns, optional
        The past interactions of users and items, for coverage, gini, novelty and popularity.
    items : path, frame or mapping of columns, optional
        The table of items with their categories or features, for diversity.
    undefined, level, interval
        The rule for undefined groups ("skip" by default), and the level and the method of the
        intervals, as in `evaluate`.
    like : {"trec_eval", "ir_measures", "sklearn", "ranx", "rectools", "recbole", "torchmetrics"}, \
optional
        The package whose conventions apply to users, lists and measures. The result lists them.
    keep_lists : bool
        Whether the result keeps the tables, so that `write_report` can show lists of users and the
        measures at other cutoffs. Tables that are measured in parts stay on disk: the report reads
        them again, and shows the other cutoffs for at most 10,000 users.
    memory : int or str, optional
        The memory for tables, in bytes or as text, such as "4GiB". Default: half of what is
        available. Parquet and Arrow files that need more are measured in parts, with the same
        values.
    spill_dir : path, optional
        The folder of spill files. They contain the rows that the files do not keep together by
        user, and are always removed. Default: the system's temporary folder.
    grouped : bool
        Whether truth and run are folders whose i-th files contain the same users. Tables that need
        more than `memory` are then measured file by file, without spill files.
    executor : Executor, optional
        The executor of the parts, such as ``Ray("auto")`` on a cluster. All tables are then
        measured in parts. Its workers must see the files and `spill_dir`.
    progress : callable, optional
        A function of (rows done, all rows, note); see `podium.progress`. It is called only for
        tables that are measured in parts.
    **options
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
        that has no bounds (see `judgement_bounds`), or the package of `like` lacks a measure or
        sets a convention that is passed too, or memory is not a size.
    DataError
        If spill files can't be written, or grouped files do not contain the same users.

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
    """
    from podium.data.storage import Storage
    from podium.data.tables import with_shared_names

    options = with_shared_names(options, (truth, run, users, catalogue, items))
    result = measure_runs(
        truth,
        {"": run},
        parse_all(measures),
        catalogue=catalogue,
        items=items,
        undefined=undefined,
        level=level,
        interval=interval,
        like=like,
        keep_lists=keep_lists,
        storage=Storage.of(memory, spill_dir, grouped, executor, progress),
        **options,
    )[""]
    return divide(result, [by] if isinstance(by, str) else by, users, user=options.get("user"))


def measure_runs(
    truth: Any,
    runs: Mapping[str, Any],
    measures: Sequence[Measure],
    *,
    catalogue: Any = None,
    items: Any = None,
    clusters: Callable[[Labels], Labels | None] | None = None,
    undefined: Undefined | None = None,
    level: float = 0.95,
    interval: IntervalMethod = "t",
    like: str | None = None,
    keep_lists: bool = False,
    storage: Storage | None = None,
    **options: Unpack[RankingOptions],
) -> dict[str, Evaluation]:
    """Measure runs on the users that all of them have; the truth is read once.

    Parameters
    ----------
    truth : path, frame, mapping of columns, or sparse matrix
    runs : mapping of name to run
    measures : sequence of Measure
    catalogue, items, undefined, level, interval, like, keep_lists
        The parameters of `measure`.
    clusters : callable, optional
        ``clusters(labels)`` returns the cluster of each user. It determines the standard errors of
        measures that are not means over users.
    storage : Storage, optional
        The limits of memory and disk.
    **options
        Conventions and column names, as in `podium.data.ranking`.

    Raises
    ------
    ArgumentError
        If the table of a measure is not passed, no measure reads a table, a measure has no interval
        of the method, or runs have no user in common.
    """
    from podium.data.storage import Storage
    from podium.data.tables import with_shared_names

    of_relevance = [m for m in measures if m.metric.reads == "relevance"]
    of_shown = [m for m in measures if m.metric.reads != "relevance"]
    check_tables(of_shown, catalogue, items)
    options = with_shared_names(options, (truth, *runs.values(), catalogue, items))
    if like is not None:
        of_shown = [presets.get(like).measure(m) for m in of_shown]
    todo = tasks(
        of_relevance, options, undefined=undefined, level=level, interval=interval, like=like
    )
    todo[0].rules.check(measures)
    measured = _measured(
        truth,
        runs,
        todo,
        of_shown,
        like=like,
        keep_lists=keep_lists,
        storage=Storage.of() if storage is None else storage,
        options=options,
    )
    evaluations: Mapping[str, Evaluation] = {
        name: joined(like, [(t, e[name]) for t, e in zip(todo, measured.by_task, strict=True)])
        for name in runs
    }
    if len(runs) > 1:
        evaluations = align(evaluations)
    warn_of_open_ties(like, evaluations)
    labels = next(iter(evaluations.values())).labels
    values_of_shown = shown_values(
        measured.runs,
        of_shown,
        labels,
        clusters=None if clusters is None else clusters(labels),
        catalogue=catalogue,
        items=items,
        columns=options,
        items_of_runs=measured.items,
        truth=measured.truth if measured.sides is None else None,
        conventions=todo[0].options,
    )
    if undefined == "error":
        for values in values_of_shown.values():
            refuse_undefined(values, labels)
    used = {str(m): (m, ranking_options([m], task.options)) for task in todo for m in task.measures}
    return {
        name: replace(
            evaluation,
            values={str(m): (evaluation.values | values_of_shown[name])[str(m)] for m in measures},
            origin=measured.origin,
            tables=measured.tables(name, used, todo[0].options) if keep_lists else None,
        )
        for name, evaluation in evaluations.items()
    }


class _Measured(NamedTuple):
    """The evaluations of runs by task, the tables that further measures read, and all tables.

    `sides` has the truth and the runs that were measured in parts, and `facts` of them; `truth`
    and `lists` are then as they were passed.
    """

    by_task: list[dict[str, Evaluation]]
    runs: Mapping[str, Any]
    items: dict[str, Ids]
    origin: Origin
    truth: Any
    lists: Mapping[str, Any]
    sides: tuple[Side, dict[str, Side]] | None = None
    facts: Whole | None = None

    def tables(
        self, name: str, used: dict[str, tuple[Measure, dict[str, Any]]], shown: dict[str, Any]
    ) -> KeptTables:
        """Return the tables of a run, for lists and curves."""
        sides = None if self.sides is None else (self.sides[0], self.sides[1][name])
        return KeptTables(self.truth, self.lists[name], used, shown, sides, self.facts)


def _measured(
    truth: Any,
    runs: Mapping[str, Any],
    todo: Sequence[Task],
    of_shown: Sequence[Measure],
    *,
    like: str | None,
    keep_lists: bool,
    storage: Storage,
    options: Mapping[str, Any],
) -> _Measured:
    """Measure all runs by measures of relevance, in memory or in parts."""
    from podium.data.buckets import in_buckets

    with in_buckets(truth, runs, options, storage) as buckets:
        if buckets is not None:
            depth = max((m.k or 1 for m in of_shown), default=None)
            result = measure_buckets(buckets, todo, depth=depth)
            return _Measured(
                result.evaluations,
                result.best or runs,
                result.items,
                buckets.origin.completed(runs.values()),
                truth,
                runs,
                (buckets.truth, buckets.runs),
                buckets.whole,
            )
    is_read_again = bool(of_shown) or keep_lists or like is not None
    judged, read = read_tables(truth, runs if is_read_again else {}, options)
    origin = judged.origin.completed(runs.values())
    runs = read or runs
    by_task = [
        {name: _measure_relevance(judged, run, task) for name, run in runs.items()} for task in todo
    ]
    return _Measured(by_task, runs, {}, origin, judged, runs)


def _measure_relevance(truth: Truth, run: Any, task: Task) -> Evaluation:
    """Measure one run by measures of relevance; there may be none."""
    from podium import data

    options = ranking_options(task.measures, task.options)
    ranking = data.ranking(truth, run, **options)
    result = evaluate_parsed(
        *(ranking, task.measures, task.rules),
        open_ties=task.open_ties,
        default_relevance=options.get("min_relevance") is None,
    )
    if options.get("unjudged") == "bounds":
        grades = np.unique(truth.relevance)
        bounds = {str(m): judgement_bounds(ranking, m, grades) for m in task.measures}
        result = replace(result, bounds=bounds)
    return replace(result, conventions={**result.conventions, **conventions_of(options)})
