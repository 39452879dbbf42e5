"""Building a Ranking from a truth and a run: a join by columns, one group at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from podium.data.columns import threshold
from podium.data.join import Join, Rows, Whole, refuse_tied
from podium.data.opened import Tables
from podium.data.runs import Run, Truth
from podium.data.sample_signs import SampleSigns
from podium.errors import ArgumentError, DataError, arg
from podium.groups import Groups
from podium.metrics import Measure
from podium.protocol import Conventions, Protocol, ProtocolFields
from podium.protocol.protocol import Measures
from podium.ranking import Ranking
from podium.types import PerRow


def ranking(
    truth: Any, run: Any, protocol: Protocol | Measures = (), **fields: Unpack[ProtocolFields]
) -> Ranking:
    """Rank the items that a run lists for each user of the truth, with the truth's relevances.

    The groups are the truth's users in increasing order. Users who are only in the run are left
    out.

    Parameters
    ----------
    truth, run : path, frame, mapping or tuple of arrays, sparse matrix; or Truth, Run
        The tables, see `read_truth` and `read_run`. Ids are integers or strings. If they are
        integers in one table only, both are compared as strings.
    protocol : Protocol, or the measures, optional
        A protocol whose fields apply, or the measures that read the ranking: those that read which
        items are judged, such as bpref, need them marked.
    ties : {"worst", "best", "average", "id", "random", "threshold"}
        The order of equal scores, see `Ranking.from_scores`.
    min_relevance : float, optional
        The smallest relevance of a positive item, 1 by default. It is required if the relevance
        comes from a column named rating, because otherwise every rating would be positive.
    low_grades : {"zero", "keep"}, optional
        The treatment of relevances below min_relevance, see `Ranking.from_scores`: "zero" if
        min_relevance is passed, else "keep".
    missing : {"error", "zero", "skip"}
        The treatment of users of the truth who are not in the run: raise an error, give them the
        worst possible value, or leave them out.
    unjudged : {"negative", "skip", "error", "bounds"}
        The treatment of items of the run that the truth does not contain for the user: relevance 0,
        remove them from the list, or raise an error. "bounds" gives them relevance 0 and marks
        them in `Ranking.judged`, so that `podium.evaluation.judgement_bounds` can compute the range
        over all their judgements.
    unretrieved : {"count", "drop"}
        The treatment of relevant items that the user's list lacks: they count as relevant, or not
        at all, as in packages that see only the listed items. With "drop", each list is whole.
    single_precision : bool
        Whether to compare scores in single precision, as trec_eval does, so that nearly equal
        scores are ties.
    score_above : float, optional
        Items with this score or less are not retrieved: they are removed from the list, but still
        count as relevant. torchmetrics does so with 0.
    n_items : int, optional
        The number of items that each user could have been shown. By default, a list is known to be
        whole only if the truth contains negatives and the run lists exactly the truth's items.
    ties_seed : int
        The seed of ties="random". The order of equal scores depends only on it, user and item.
    like : str, optional
        The package whose conventions apply, see `podium.measure`.
    user, item, relevance, score, rank : str, optional
        The names of columns without a usual name. user and item apply to each table that has such
        a column; the other table is read by its usual names.

    Returns
    -------
    Ranking
        The lists of the truth's users.

    Raises
    ------
    ArgumentError
        If a field is wrong, two of them exclude each other (see `podium.Protocol`), users are
        missing with missing="error", items are not judged with unjudged="error", the order of equal
        scores depends on judgements with unjudged="bounds", n_items is less than the items of a
        user, relevances are ratings and min_relevance is missing, or the package of `like` has
        other conventions for another of the measures.
    DataError
        If a file or table is wrong (see `read_run`), a (user, item) pair occurs twice, the tables
        have no user or no item in common, or a score is too large for single_precision.

    Warns
    -----
    PodiumWarning
        If the tables have few ids in common, some ids are the same number in two spellings, or the
        lists look like sampled candidates.

    Notes
    -----
    A list that unjudged="skip" empties is kept as an empty list. Rows in messages are counted from
    0.
    Cost: one pass over both tables if their rows are grouped by user, else a counting sort before
    it. String ids are hashed first.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": ["a", "b", "a"]}
    >>> run = {"user": [1, 1, 2], "item": ["a", "c", "c"], "score": [0.9, 0.8, 0.7]}
    >>> r = ranking(truth, run)
    >>> r.groups.labels.tolist(), r.relevance.tolist(), r.n_pos.tolist()
    ([1, 2], [1.0, 0.0, 0.0], [2, 1])
    """
    stated = Protocol.of(protocol, **fields)
    measures, conventions = stated.task()
    judged, runs = Tables.open(stated, truth, {"": run}).read()
    return ranked(judged, runs[""], conventions, mark_judged=reads_judged(measures))


def ranked(
    truth: Truth, run: Run, conventions: Conventions, *, mark_judged: bool = False
) -> Ranking:
    """Rank the lists of whole tables, as `ranking` does."""
    listed = prepared(run, conventions)
    positive = threshold_of(truth, conventions)
    join = joined(truth, listed, conventions)
    n_run_items = join.check(truth, listed, conventions.missing).n_right
    rows = rows_of(join, truth, listed, conventions, mark_judged=mark_judged)
    result = ranking_of_rows(join, rows, positive, conventions)
    SampleSigns.of(result).warn(n_run_items, listed.name)
    return result


def reads_judged(measures: Iterable[Measure]) -> bool:
    """Return whether a measure reads which items are judged."""
    return any(measure.metric.judgements for measure in measures)


def ranking_of_some(
    truth: Truth,
    run: Run,
    whole: Whole,
    conventions: Conventions,
    *,
    mark_judged: bool = False,
) -> Ranking:
    """Rank the lists of some users of two tables.

    The checks of whole tables (users and items in common) are left to the caller.

    Parameters
    ----------
    truth, run : Truth, Run
        All rows of these users. The run may have no rows.
    whole : Whole
        Facts of the whole tables.
    conventions : Conventions
    mark_judged : bool
        Whether to mark the judged items.

    Returns
    -------
    Ranking
        The lists that `ranking` gives for these users.

    Raises
    ------
    ArgumentError
        If missing="error" and the run lacks one of these users.
    """
    listed = prepared(run, conventions, has_rows=False)
    join = joined(truth, listed, conventions)
    if conventions.missing == "error":
        join.refuse_absent(listed.name)
    rows = rows_of(join, truth, listed, conventions, whole, mark_judged=mark_judged)
    return ranking_of_rows(join, rows, threshold_of(truth, conventions), conventions)


def threshold_of(truth: Truth, conventions: Conventions) -> float:
    """Return the smallest relevance of a positive item of a truth."""
    return threshold(truth.name, conventions.min_relevance, ratings=truth.is_rating)


def prepared(run: Run, conventions: Conventions, *, has_rows: bool = True) -> Run:
    """Return the run in the precision of the conventions, or raise if it lacks scores.

    Rows of some users of a table have no numbers.
    """
    if conventions.single_precision:
        run = in_single_precision(run, has_rows=has_rows)
    if conventions.score_above is not None:
        refuse_order(run)
    return run


def joined(truth: Truth, run: Run, conventions: Conventions) -> Join:
    """Match the users and the items of a truth and a run."""
    return Join.of(truth, run, conventions.missing, ids_ordered=conventions.ties == "id")


def rows_of(
    join: Join,
    truth: Truth,
    run: Run,
    conventions: Conventions,
    whole: Whole | None = None,
    *,
    with_items: bool = False,
    mark_judged: bool = False,
) -> Rows:
    """Return the rows of a join that the conventions keep."""
    rows = join.look_up(
        truth,
        run,
        threshold_of(truth, conventions),
        conventions.unjudged,
        with_items=with_items or conventions.ties in ("id", "random"),
        mark_judged=mark_judged,
        whole=whole,
    )
    if conventions.unjudged == "bounds":
        refuse_tied(rows, join.labels, conventions.ties)
    if conventions.unretrieved == "drop":
        rows = rows.listed_only((join.run_group < 0) & (conventions.missing == "zero"))
    if conventions.least_score is not None:
        rows = rows.above(conventions.least_score)
    return rows


def ranking_of_rows(join: Join, rows: Rows, positive: float, conventions: Conventions) -> Ranking:
    """Rank the rows that `rows_of` returned."""
    total, ties = conventions.n_items, conventions.ties
    ranking = Ranking.from_grouped(
        Groups(join.labels, rows.offsets),
        rows.score,
        rows.relevance,
        ideal=rows.ideal,
        n_items=rows.n_whole if total is None else join.check_total(rows.n_distinct, total),
        min_relevance=positive,
        low_grades=conventions.low_grades,
        ties=ties,
        item=join.tie_items(rows.item, ties),
        absent=join.run_group < 0 if conventions.missing == "zero" else None,
        judged=rows.judged,
        n_judged=rows.n_judged,
        seed=conventions.ties_seed,
    )
    return ranking if rows.of_truth is None else replace(ranking, of_truth=rows.of_truth)


def refuse_order(run: Run) -> None:
    """Raise if a run has an order of items, but no scores, where score_above is passed."""
    if run.is_order:
        raise ArgumentError(
            f"{arg.score_above} requires scores, but {run.name} has ranks, or integers beyond 2 ** "
            f"53. Pass a run with scores, or leave {arg.score_above} out."
        )


def in_single_precision(run: Run, *, has_rows: bool = True) -> Run:
    """Return a run with its scores in single precision; ranks remain.

    Errors give row numbers if `has_rows`: if the run is a whole table.

    Raises
    ------
    DataError
        If a score is too large.
    """
    if run.is_order:
        return run
    scores = to_single(run.score)
    wrong_rows = np.flatnonzero(np.isinf(scores))
    if wrong_rows.size:
        raise DataError(
            f"{run.name}: {arg.single_precision(True)} requires scores up to 3.4e38, got "
            f"{run.score[wrong_rows[0]]:g}{f' at row {wrong_rows[0]}' if has_rows else ''}. Scale "
            "the scores."
        )
    return replace(run, score=scores)


def to_single(scores: PerRow) -> PerRow:
    """Return scores rounded to single precision; those beyond 3.4e38 become infinite."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)
