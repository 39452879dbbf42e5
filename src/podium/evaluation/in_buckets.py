"""Runs measured bucket by bucket, for tables larger than memory.

Each value of a measure depends on one user. The values of all buckets, in the order of users, are
therefore those of whole tables, bit for bit. What depends on whole tables (ids in common, missing
users, hints) is collected from the buckets and checked at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from podium.evaluation.alignment import merge
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import Relevances, evaluate_lists, finished
from podium.evaluation.shown import top_of
from podium.protocol import Conventions, Protocol
from podium.protocol.conventions import Task

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.data.bucket_rows import BucketRows
    from podium.data.buckets import Buckets
    from podium.data.convert import Ids
    from podium.data.lists import Listed, Whole
    from podium.data.sample_signs import SampleSigns

_NO_IDS = np.empty(0, np.int64)


class Measured(NamedTuple):
    """The values of runs, and what they show.

    Attributes
    ----------
    by_task : list of dict of str to Evaluation
        The evaluations of each task by run.
    tops : mapping of str to Listed
        The items that each run shows; empty unless they were asked for.
    items : mapping of str to ids
        All items of each run.
    """

    by_task: list[dict[str, Evaluation]]
    tops: Mapping[str, Listed]
    items: Mapping[str, Ids]


@dataclass(frozen=True)
class _Job:
    """A task for each bucket of a run."""

    task: Task
    run: str


@dataclass(frozen=True)
class _Part:
    """The values of a bucket, and what the checks of whole tables need."""

    evaluation: Evaluation
    relevances: Relevances
    signs: SampleSigns
    lists_whole: bool
    has_absent: bool


@dataclass(frozen=True)
class _Bucket:
    """The results of a bucket: a part per job, the items shown by run, and its ids.

    `users` has the distinct users of each table if a user could be in several buckets.
    """

    parts: list[_Part]
    tops: dict[str, Listed]
    common: dict[str, _CommonUsers]
    users: list[Ids]
    items: list[Ids]
    n_rows: int


@dataclass(frozen=True)
class _CommonUsers:
    """The number of users of both truth and run, and the users of one of them only."""

    n_both: int
    truth_only: Ids
    run_only: Ids

    @classmethod
    def of(cls, truth: Ids, run: Ids) -> _CommonUsers:
        from podium.data.ids import share
        from podium.data.overlap import common_ids

        shared = share(truth, run)
        common = common_ids(shared)
        return cls(common.both.size, shared.ids(common.left), shared.ids(common.right))


def measure_buckets(
    buckets: Buckets,
    protocol: Protocol,
    todo: Sequence[Task],
    *,
    shown: tuple[Conventions, int] | None,
) -> Measured:
    """Measure all runs by measures of relevance, as `measure` does with whole tables.

    Parameters
    ----------
    buckets : Buckets
    protocol : Protocol
    todo : sequence of Task
    shown : (Conventions, int), optional
        The conventions and the length of the lists of items shown to return. Default: none.

    Raises
    ------
    ArgumentError, DataError
        If measuring whole tables raises. Rows that contradict each other are then named by user
        and item only.
    """
    from podium.data.lists import Listed

    jobs = [[_Job(task, run) for run in buckets.runs] for task in todo]
    work = _Work(buckets, [job for of_runs in jobs for job in of_runs], shown)
    work.measure()
    evaluations = [{job.run: work.finished(job, protocol) for job in of_runs} for of_runs in jobs]
    tops = {name: Listed.joined(parts) for name, parts in work.tops.items() if parts}
    return Measured(evaluations, tops, dict(zip(buckets.runs, work.items[1:], strict=True)))


@dataclass(frozen=True)
class _Plan:
    """What is computed of each bucket."""

    rows: BucketRows
    facts: Whole
    jobs: list[_Job]
    shown: tuple[Conventions, int] | None
    with_users: bool

    def measured(self, bucket: int) -> _Bucket:
        """Return the results of a bucket."""
        from podium.data.ids import both_written, distinct_ids

        truth, runs = self.rows.read(bucket)
        tables = [truth, *runs.values()]
        whole = ["user" in side.whole for side in self.rows.sides]
        parts: list[_Part] = []
        tops: dict[str, Listed] = {}
        if truth is not None:
            parts = [self.part(truth, runs[job.run], self.facts, job) for job in self.jobs]
        if truth is not None and self.shown is not None:
            tops = {name: top_of(truth, run, *self.shown) for name, run in runs.items()}
        ids: list[tuple[Ids, Ids]] = [
            (_NO_IDS, _NO_IDS) if table is None else (table.user, table.item) for table in tables
        ]
        of_truth, *of_runs = [distinct_ids(users) for users, _ in ids]
        return _Bucket(
            parts,
            tops,
            {
                n: _CommonUsers.of(*both_written((of_truth, users), (whole[0], of_run)))
                for n, users, of_run in zip(runs, of_runs, whole[1:], strict=True)
            },
            [of_truth, *of_runs] if self.with_users else [],
            [distinct_ids(items) for _, items in ids],
            sum(len(users) for users, _ in ids),
        )

    def part(self, truth: Truth, run: Run, facts: Whole, job: _Job) -> _Part:
        from podium.data.lists import Lists
        from podium.data.sample_signs import SampleSigns

        # The whole tables are checked at the end.
        conventions, measures = job.task.conventions.with_absent(), job.task.measures
        lists = Lists.of(truth, run, conventions, facts, measures=measures)
        ranking = lists.ranking
        nobody = np.zeros(ranking.n_groups, np.bool_)
        is_absent = nobody if ranking.absent is None else ranking.absent
        return _Part(
            evaluate_lists(lists, job.task),
            Relevances.of(ranking),
            SampleSigns.of(ranking),
            bool((ranking.n_items[~is_absent] >= 0).all()),
            bool(is_absent.any()),
        )


class _Work:
    """The jobs of all buckets, and their results."""

    def __init__(
        self, buckets: Buckets, jobs: list[_Job], shown: tuple[Conventions, int] | None
    ) -> None:
        self._buckets, self._jobs = buckets, jobs
        is_grouped = buckets.storage.grouped
        self._plan = _Plan(buckets.rows, buckets.whole, jobs, shown, is_grouped)
        self._sides = [buckets.truth, *buckets.runs.values()]
        self._common: dict[str, list[_CommonUsers]] = {name: [] for name in buckets.runs}
        self._users: list[list[Ids]] = [[] for _ in self._sides]
        self.items: list[Ids] = [_NO_IDS for _ in self._sides]
        self._parts: list[dict[int, _Part]] = [{} for _ in jobs]
        self.tops: dict[str, list[Listed]] = {name: [] for name in buckets.runs}

    def measure(self) -> None:
        """Measure all buckets, several at a time."""
        from podium.data.ids import distinct_ids, joined_ids

        storage = self._buckets.storage
        n_done = self._buckets.n_spilled
        n_rows = n_done + self._buckets.n_rows
        storage.progress(n_done, n_rows, "measuring")
        results = storage.executor.map(_measured, range(self._buckets.n_buckets), self._plan)
        for bucket, result in enumerate(results):
            for parts, part in zip(self._parts, result.parts, strict=False):
                parts[bucket] = part
            for name, top in result.tops.items():
                self.tops[name].append(top)
            for name, common in result.common.items():
                self._common[name].append(common)
            for users, of_side in zip(result.users, self._users, strict=False):
                of_side.append(users)
            self.items = [
                distinct_ids(joined_ids([seen, items]))
                for seen, items in zip(self.items, result.items, strict=True)
            ]
            n_done += result.n_rows
            storage.progress(n_done, n_rows, "measuring")
        if storage.grouped:
            self._buckets.refuse_scattered(self._users)
        self._complete_absent()

    def _complete_absent(self) -> None:
        """Measure buckets again in which absent lists were taken for whole, though others are not.

        Only the lists of all buckets show whether an absent list would contain exactly the truth's
        items.
        """
        for job, parts in zip(self._jobs, self._parts, strict=True):
            if all(part.lists_whole for part in parts.values()):
                continue
            wrong = [b for b, part in parts.items() if part.has_absent and part.lists_whole]
            corrected = self._buckets.storage.executor.map(_measured_again, wrong, self._plan, job)
            parts.update(zip(wrong, corrected, strict=True))

    def finished(self, job: _Job, protocol: Protocol) -> Evaluation:
        """Check the whole tables as `podium.data.ranking` does, and join the parts of a job."""
        from podium.data.sample_signs import SampleSigns

        parts = list(self._parts[self._jobs.index(job)].values())
        n_items = self._check(job)
        SampleSigns.joined(part.signs for part in parts).warn(
            n_items, self._buckets.runs[job.run].name
        )
        relevances = Relevances.joined(part.relevances for part in parts)
        del parts  # so that the parts of each bucket are freed when they are merged
        of_job = self._parts[self._jobs.index(job)]
        merged = merge(of_job.pop(bucket).evaluation for bucket in sorted(of_job))
        return finished(merged, relevances, job.task, protocol)

    def _check(self, job: _Job) -> int:
        """Check the ids of the whole tables, and return the number of items of the run."""
        from podium.data.ids import both_written, joined_ids, share, strings
        from podium.data.join import missing_users
        from podium.data.overlap import Side, check_common, common_ids, report_common

        number = list(self._buckets.runs).index(job.run) + 1
        truth, run = self._sides[0], self._sides[number]
        parts = self._common[job.run]
        n_both = sum(part.n_both for part in parts)
        left = joined_ids([part.truth_only for part in parts])
        right = joined_ids([part.run_only for part in parts])
        if self._buckets.rows.is_text:
            left, right = strings(left), strings(right)

        def sides(of_truth: Ids, of_run: Ids) -> tuple[Side, Side]:
            return (
                Side("the truth", truth.name, of_truth, has_rows=False),
                Side("the run", run.name, of_run, has_rows=False),
            )

        users = share(left, right)
        report_common(users, common_ids(users), "user", *sides(left, right), n_more=n_both)
        if job.task.conventions.missing == "error" and len(left):
            first = users.label(users.left.min())
            raise missing_users(run.name, len(left), n_both + len(left), first)
        of_items, whole = (self.items[0], self.items[number]), (truth.whole, run.whole)
        items = both_written(of_items, ("item" in whole[0], "item" in whole[1]))
        return check_common(share(*items), "item", *sides(*items)).n_right


def _measured(bucket: int, plan: _Plan) -> _Bucket:
    return plan.measured(bucket)


def _measured_again(bucket: int, plan: _Plan, job: _Job) -> _Part:
    """Return the values of a bucket where absent lists are not whole."""
    truth, runs = plan.rows.read(bucket)
    facts = replace(plan.facts, lists_whole=False)
    return plan.part(truth, runs[job.run], facts, job)  # pyright: ignore[reportArgumentType]
