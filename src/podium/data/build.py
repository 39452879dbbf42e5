"""Building a Ranking from a truth and a run: a join by columns, one group at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from podium import _check
from podium._ties import TIES, TIES_OF_LISTS
from podium.data.columns import threshold
from podium.data.join import (
    MISSING,
    UNJUDGED,
    UNRETRIEVED,
    Join,
    Missing,
    Rows,
    Unjudged,
    Unretrieved,
    Whole,
    refuse_tied,
)
from podium.data.runs import Run, Truth, read_run, read_truth
from podium.data.sample_signs import SampleSigns
from podium.data.tables import with_shared_names
from podium.errors import ArgumentError, DataError, arg
from podium.groups import Groups
from podium.ranking import Ranking, relevance_rule
from podium.types import LowGrades, PerRow, Ties


class RankingOptions(TypedDict, total=False):
    """The keyword arguments of `ranking`, for functions that pass them on."""

    ties: Ties
    min_relevance: float | None
    low_grades: LowGrades | None
    missing: Missing
    unjudged: Unjudged
    unretrieved: Unretrieved
    single_precision: bool
    score_above: float | None
    n_items: int | None
    seed: int
    user: str | None
    item: str | None
    relevance: str | None
    score: str | None
    rank: str | None
    mark_judged: bool


def ranking(
    truth: Any,
    run: Any,
    *,
    ties: Ties = "worst",
    min_relevance: float | None = None,
    low_grades: LowGrades | None = None,
    missing: Missing = "error",
    unjudged: Unjudged = "negative",
    unretrieved: Unretrieved = "count",
    single_precision: bool = False,
    score_above: float | None = None,
    n_items: int | None = None,
    seed: int = 0,
    user: str | None = None,
    item: str | None = None,
    relevance: str | None = None,
    score: str | None = None,
    rank: str | None = None,
    mark_judged: bool = False,
) -> Ranking:
    """Rank the items that a run lists for each user of the truth, with the truth's relevances.

    The groups are the truth's users in increasing order. Users who are only in the run are left
    out.

    Parameters
    ----------
    truth, run : path, frame, mapping or tuple of arrays, sparse matrix; or Truth, Run
        The tables, see `read_truth` and `read_run`. Ids are integers or strings. If they are
        integers in one table only, both are compared as strings.
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
    seed : int
        The seed of ties="random". The order of equal scores depends only on seed, user and item.
    user, item, relevance, score, rank : str, optional
        The names of columns without a usual name. user and item apply to each table that has such
        a column; the other table is read by its usual names.
    mark_judged : bool
        Whether to mark the judged items, for bpref and judged@k. `podium.measure` does so if a
        measure needs it.

    Returns
    -------
    Ranking
        The lists of the truth's users.

    Raises
    ------
    ArgumentError
        If an option is unknown, users are missing with missing="error", items are not judged with
        unjudged="error", unjudged="bounds" is combined with unretrieved="drop", score_above or
        ties="threshold", the order of equal scores depends on judgements, n_items is combined with
        unretrieved="drop" or less than the items of a user, or relevances are ratings and
        min_relevance is missing.
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
    rules = ListRules.checked(
        ties=ties,
        min_relevance=min_relevance,
        low_grades=low_grades,
        missing=missing,
        unjudged=unjudged,
        unretrieved=unretrieved,
        single_precision=single_precision,
        score_above=score_above,
        n_items=n_items,
        seed=seed,
        mark_judged=mark_judged,
    )
    pair = with_shared_names({"user": user, "item": item}, (truth, run))
    judged = read_truth(truth, **pair, relevance=relevance)
    listed = rules.prepared(read_run(run, **pair, score=score, rank=rank))
    positive = rules.threshold(judged)
    join = rules.joined(judged, listed)
    n_run_items = join.check(judged, listed, rules.missing).n_right
    result = rules.ranked(join, judged, listed, positive)
    SampleSigns.of(result).warn(n_run_items, listed.name)
    return result


def ranking_of_some(
    truth: Truth, run: Run, whole: Whole, **options: Unpack[RankingOptions]
) -> Ranking:
    """Rank the lists of some users of two tables.

    The checks of whole tables (users and items in common) are left to the caller.

    Parameters
    ----------
    truth, run : Truth, Run
        All rows of these users. The run may have no rows.
    whole : Whole
        Facts of the whole tables.
    **options
        Conventions, as in `ranking`; names of columns have no effect.

    Returns
    -------
    Ranking
        The lists that `ranking` gives for these users.

    Raises
    ------
    ArgumentError
        If missing="error" and the run lacks one of these users.
    """
    rules = ListRules.of(options)
    listed = rules.prepared(run, has_rows=False)
    join = rules.joined(truth, listed)
    if rules.missing == "error":
        join.refuse_absent(listed.name)
    return rules.ranked(join, truth, listed, rules.threshold(truth), whole)


class ListRules(NamedTuple):
    """The conventions of a ranking, checked."""

    ties: Ties = "worst"
    min_relevance: float | None = None
    low_grades: LowGrades | None = None
    missing: Missing = "error"
    unjudged: Unjudged = "negative"
    unretrieved: Unretrieved = "count"
    single_precision: bool = False
    score_above: float | None = None
    n_items: int | None = None
    seed: int = 0
    mark_judged: bool = False

    @classmethod
    def of(cls, options: RankingOptions) -> ListRules:
        """Return the checked conventions among options, without the names of columns."""
        return cls.checked(**{n: value for n, value in options.items() if n in cls._fields})

    @classmethod
    def checked(cls, **options: Any) -> ListRules:
        rules = cls(**options)
        _check.choice(rules.ties, "ties", TIES_OF_LISTS)
        _check.choice(rules.missing, "missing", MISSING)
        _check.choice(rules.unjudged, "unjudged", UNJUDGED)
        total = _check.cutoff(rules.n_items, name="n_items", required=False)
        _check.choice(rules.unretrieved, "unretrieved", UNRETRIEVED)
        _check.flag(rules.single_precision, "single_precision")
        least = rules.score_above
        if least is not None:
            least = _check.number(least, "score_above", low=-np.inf)
        if rules.unjudged == "bounds" and (rules.unretrieved == "drop" or least is not None):
            raise ArgumentError(
                f"{arg.unjudged('bounds')} can't be combined with {arg.unretrieved('drop')} or "
                f"{arg.score_above}, because a judgement would also change which items count. "
                "Leave one of them out."
            )
        if total is not None and rules.unretrieved == "drop":
            raise ArgumentError(
                f"{arg.n_items(total)} can't be combined with {arg.unretrieved('drop')}, which "
                "makes each list whole. Leave one of them out."
            )
        if rules.unjudged == "bounds":
            _check.choice(rules.ties, "ties with unjudged='bounds'", TIES)
        _, low = relevance_rule(rules.min_relevance, rules.low_grades)
        least = least_score(least, single_precision=rules.single_precision)
        return rules._replace(n_items=total, score_above=least, low_grades=low)

    def threshold(self, truth: Truth) -> float:
        """Return the smallest relevance of a positive item of a truth."""
        return threshold(truth.name, self.min_relevance, ratings=truth.is_rating)

    def prepared(self, run: Run, *, has_rows: bool = True) -> Run:
        """Return the run in the precision of these rules, or raise if it lacks scores.

        Rows of some users of a table have no numbers.
        """
        if self.single_precision:
            run = in_single_precision(run, has_rows=has_rows)
        if self.score_above is not None:
            refuse_order(run)
        return run

    def joined(self, truth: Truth, run: Run) -> Join:
        """Match the users and the items of a truth and a run."""
        return Join.of(truth, run, self.missing, ids_ordered=self.ties == "id")

    def ranked(
        self, join: Join, truth: Truth, run: Run, positive: float, whole: Whole | None = None
    ) -> Ranking:
        """Rank the rows of a join."""
        return self.of_rows(join, self.rows(join, truth, run, positive, whole), positive)

    def rows(
        self,
        join: Join,
        truth: Truth,
        run: Run,
        positive: float,
        whole: Whole | None = None,
        *,
        with_items: bool = False,
    ) -> Rows:
        """Return the rows of a join that these conventions keep."""
        rows = join.look_up(
            truth,
            run,
            positive,
            self.unjudged,
            with_items=with_items or self.ties in ("id", "random"),
            mark_judged=self.mark_judged,
            whole=whole,
        )
        if self.unjudged == "bounds":
            refuse_tied(rows, join.labels, self.ties)
        if self.unretrieved == "drop":
            rows = rows.listed_only((join.run_group < 0) & (self.missing == "zero"))
        if self.score_above is not None:
            rows = rows.above(self.score_above)
        return rows

    def of_rows(self, join: Join, rows: Rows, positive: float) -> Ranking:
        """Rank the rows that `rows` returned."""
        total = self.n_items
        ranking = Ranking.from_grouped(
            Groups(join.labels, rows.offsets),
            rows.score,
            rows.relevance,
            ideal=rows.ideal,
            n_items=rows.n_whole if total is None else join.check_total(rows.n_distinct, total),
            min_relevance=positive,
            low_grades=self.low_grades,
            ties=self.ties,
            item=join.tie_items(rows.item, self.ties),
            absent=join.run_group < 0 if self.missing == "zero" else None,
            judged=rows.judged,
            n_judged=rows.n_judged,
            seed=self.seed,
        )
        return ranking if rows.of_truth is None else replace(ranking, of_truth=rows.of_truth)


def least_score(score_above: float | None, *, single_precision: bool) -> float | None:
    """Return score_above in the precision in which scores are compared."""
    if score_above is None or not single_precision:
        return score_above
    return float(to_single(np.array([score_above]))[0])


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
