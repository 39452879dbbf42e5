"""The functions that measure runs against a truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from podium.errors import ArgumentError
from podium.evaluation import _hints
from podium.evaluation.alignment import align
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import evaluate_parsed, refuse_undefined
from podium.evaluation.segments import BUILT_IN
from podium.evaluation.shown import RUN_COLUMNS, check_tables, shown_values
from podium.evaluation.stats import IntervalMethod
from podium.evaluation.unjudged import check_supported, judgement_bounds
from podium.metrics import Measure, parse_all
from podium.types import Labels, Undefined

if TYPE_CHECKING:
    from podium.data import RankingOptions, Truth


def measure(
    truth: Any,
    run: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    by: str | Sequence[str] = (),
    users: Any = None,
    catalogue: Any = None,
    items: Any = None,
    undefined: Undefined = "skip",
    level: float = 0.95,
    interval: IntervalMethod = "t",
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
        The rule for undefined groups, and the level and the method of the intervals, as in
        `evaluate`.
    **options
        Conventions and column names, as in `podium.data.ranking`. With unjudged="bounds", the
        result also has the smallest and largest value over all judgements of unjudged items.

    Raises
    ------
    ArgumentError
        If `podium.data.ranking` or `evaluate` raises, or unjudged="bounds" is passed with a measure
        that has no bounds (see `judgement_bounds`).

    Warns
    -----
    PodiumWarning
        If `podium.data.ranking` or `evaluate` warns, or if min_relevance is not passed and a
        measure treats relevances between 0 and 1 as not relevant, or if `items` lacks items shown.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": [10, 11, 10]}
    >>> run = {"user": [1, 1, 2], "item": [11, 12, 12], "score": [0.9, 0.1, 0.5]}
    >>> measure(truth, run, ["hit_rate@1", "recall@2"]).means
    {'hit_rate@1': 0.5, 'recall@2': 0.25}
    """
    result = measure_runs(
        truth,
        {"": run},
        parse_all(measures),
        catalogue=catalogue,
        items=items,
        undefined=undefined,
        level=level,
        interval=interval,
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
    undefined: Undefined = "skip",
    level: float = 0.95,
    interval: IntervalMethod = "t",
    **options: Unpack[RankingOptions],
) -> dict[str, Evaluation]:
    """Measure runs on the users that all of them have; the truth is read once.

    Parameters
    ----------
    truth : path, frame, mapping of columns, or sparse matrix
    runs : mapping of name to run
    measures : sequence of Measure
    catalogue, items, undefined, level, interval
        As in `measure`.
    clusters : callable, optional
        ``clusters(labels)`` returns the cluster of each user. It determines the standard errors of
        measures that are not means over users.
    **options
        Conventions and column names, as in `podium.data.ranking`.

    Raises
    ------
    ArgumentError
        If the table of a measure is not passed, no measure reads a table, or runs have no user in
        common.
    """
    from podium import data

    of_relevance = [m for m in measures if m.metric.reads == "relevance"]
    of_shown = [m for m in measures if m.metric.reads != "relevance"]
    check_tables(of_shown, catalogue, items)
    judged = data.read_truth(
        truth,
        user=options.get("user"),
        item=options.get("item"),
        relevance=options.get("relevance"),
    )
    if of_shown:  # the lists are read twice
        names = {name: options.get(name) for name in RUN_COLUMNS}
        runs = {name: data.read_run(run, **names) for name, run in runs.items()}
    evaluations: Mapping[str, Evaluation] = {
        name: _measure_relevance(
            judged,
            run,
            of_relevance,
            undefined=undefined,
            level=level,
            interval=interval,
            **options,
        )
        for name, run in runs.items()
    }
    if len(runs) > 1:
        evaluations = align(evaluations)
    labels = next(iter(evaluations.values())).labels
    shown = shown_values(
        runs,
        of_shown,
        labels,
        clusters=None if clusters is None else clusters(labels),
        catalogue=catalogue,
        items=items,
        columns=options,
    )
    if undefined == "error":
        for values in shown.values():
            refuse_undefined(values, labels)
    return {
        name: replace(
            evaluation, values={str(m): (evaluation.values | shown[name])[str(m)] for m in measures}
        )
        for name, evaluation in evaluations.items()
    }


def _measure_relevance(
    truth: Truth,
    run: Any,
    measures: list[Measure],
    *,
    undefined: Undefined,
    level: float,
    interval: IntervalMethod,
    **options: Unpack[RankingOptions],
) -> Evaluation:
    """Measure one run by measures of relevance; there may be none."""
    from podium import data

    has_bounds = options.get("unjudged") == "bounds"
    if has_bounds:
        check_supported(measures)
    if any(m.metric.judgements for m in measures):
        options["mark_judged"] = True
    ranking = data.ranking(truth, run, **options)
    if options.get("min_relevance") is None:
        _hints.warn_of_fractions(ranking, measures)
    result = evaluate_parsed(
        ranking,
        measures,
        undefined=undefined,
        level=level,
        interval=interval,
        seed=options.get("seed", 0),
    )
    conventions = {
        "missing": options.get("missing", "error"),
        "unjudged": options.get("unjudged", "negative"),
        "n_items": options.get("n_items"),
    }
    grades = np.unique(truth.relevance)
    bounds = {str(m): judgement_bounds(ranking, m, grades) for m in measures if has_bounds}
    return replace(result, conventions={**result.conventions, **conventions}, bounds=bounds)


def divide(
    evaluation: Evaluation, by: Sequence[str], users: Any = None, *, user: str | None = None
) -> Evaluation:
    """Add segments: built-in ones by name, all others by a column of `users`.

    Parameters
    ----------
    evaluation : Evaluation
    by : sequence of str
        The segments: "engagement", "n_pos", or columns of `users`.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that `by` names.
    user : str, optional
        The name of the user column, if it is not a usual one.

    Raises
    ------
    ArgumentError
        If `users` is passed and `by` names none of its columns.
    """
    from podium import data

    if isinstance(by, str) or not isinstance(by, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"by must be a sequence of names of segments, got {by!r}.")
    if users is not None and all(name in BUILT_IN for name in by):
        raise ArgumentError(
            "users has no effect, because by names none of its columns. Add a column of users to "
            "by, or leave out users."
        )
    labels = evaluation.labels if evaluation.users is None else evaluation.users
    for name in by:
        has_no_column = users is None or name in BUILT_IN
        key = None if has_no_column else data.user_column(users, name, labels, user=user)
        evaluation = evaluation.segmented(name, key)
    return evaluation
