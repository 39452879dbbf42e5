"""An evaluation: every measure of every group, and its reductions over groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium._json import plain
from podium.data.frames import NO_FRAMES, Origin, as_frame
from podium.errors import ArgumentError, arg
from podium.evaluation import stats
from podium.evaluation.open_ties import OpenTies, differs
from podium.evaluation.segments import BUILT_IN, Segment, by_engagement, by_quantile, by_value
from podium.evaluation.stats import Summary
from podium.evaluation.stats.intervals import defined, mean
from podium.metrics import Measure, parse
from podium.metrics.measures import ByMeasure
from podium.protocol import Conventions, Protocol
from podium.protocol.protocol import NO_PROTOCOL, OF_TABLES
from podium.results import Result
from podium.types import Counts, Labels, Mask, PerGroup, Undefined

if TYPE_CHECKING:
    from podium.data import Truth
    from podium.data.lists import Lists, Whole


_SAMPLED_USERS = 10_000
"""The users of curves if the tables are on disk, at equal distances in the order of ids."""


@dataclass(frozen=True, eq=False)
class KeptTables:
    """The tables of an evaluation, which `keep_lists=True` keeps.

    Attributes
    ----------
    truth : Truth
        The table as it was passed to `measure` if it was measured in parts.
    run : Run
        The same.
    measured : dict of str to (Measure, Conventions)
        Each measure of relevance as it was computed, with the options that a package fixes, and
        its conventions; by the text of the measure.
    of_shown : Conventions
        The conventions of measures of the items shown.
    facts : Whole, optional
        The facts of whole tables that were measured in parts, and can be read again.
    """

    truth: Any
    run: Any
    measured: dict[str, tuple[Measure, Conventions]]
    of_shown: Conventions
    facts: Whole | None = None

    def conventions_of(self, measure: str) -> Conventions:
        """Return the conventions of the lists that a measure read."""
        return self.measured[measure][1] if measure in self.measured else self.of_shown

    def truth_of(self, labels: Labels) -> Truth:
        """Return a truth with all rows of these users."""
        from podium.data.buckets import rows_of_users

        return self.truth if self.facts is None else rows_of_users(self.truth, labels)

    def sampled(self, labels: Labels) -> Labels:
        """Return the users whose lists give a curve: all of them, or some of tables on disk."""
        return labels if self.facts is None else labels[:: labels.size // _SAMPLED_USERS + 1]

    def lists(self, truth: Truth, labels: Labels) -> Callable[..., Lists]:
        """Return a function from conventions to the lists of users.

        `truth` is that of these users, from `truth_of`. Tables in memory have further users.
        """
        from podium.data.buckets import rows_of_users
        from podium.data.columns import RUN
        from podium.data.lists import Lists, Whole

        run = self.run if self.facts is None else rows_of_users(self.run, labels, RUN)
        facts = self.facts or Whole(float(truth.relevance.min()))
        return partial(Lists.of, truth, run, whole=facts)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """The values of every measure for every group, with their means, segments and tables.

    Attributes
    ----------
    labels : (n_groups,)
        The group labels, in ascending order.
    n_pos : int64, (n_groups,)
        The number of positives of each group that count.
    values : dict of str to float64 (n_groups,)
        The values by measure; nan if undefined. A key can be any text of the measure, such as
        "ap@5" or, with an alias, "map@5". For coverage and gini, which are not means over groups,
        they are values whose mean is the measure (`podium.metrics.shown`).
    weights : dict of str to float64 (n_groups,)
        The weights of groups in `pooled`, for measures that have a pooled form.
    segments : tuple of Segment
    bounds : dict of str to (float64 (n_groups,), float64 (n_groups,))
        The smallest and largest values by measure over all judgements of unjudged items; empty
        unless unjudged="bounds".
    best : dict of str to float64 (n_groups,)
        The values by measure with relevant items first among equal scores; empty unless neither the
        caller nor the package of `like` chose an order of equal scores.
    n_pos_of_truth : int64, (n_groups,), or None
        The number of positives of each group in the truth, which is the same for all runs. It
        differs from `n_pos` with unretrieved="drop", and divides the groups in segments. None means
        `n_pos`.
    n_listed, n_rejected : int64, (n_groups,), or None
        The number of items of each list, -1 for a list that has all items of its group; and of the
        items that the truth judges with relevance 0.
    cluster, weight : str and float64, (n_groups,), optional
        The cluster and the weight of each user, which only `podium.gate` reads.
    users, splits : (n_groups,), optional
        The user and the split of each group, if groups are users in several splits, such as
        "split1/u7". Intervals then include the variation of both, and
        `interval` cannot be "bootstrap".
    origin : Origin
        The kind of frame that the truth or the run was, and the name of its column of users.
    tables : KeptTables or None
        The tables that the values came from, for the lists and curves of a report. None unless
        `keep_lists` was passed to `measure` or `compare`.
    protocol : Protocol
        The protocol of the values, the treatment of undefined groups in means, and the intervals.
    of_rankings : bool
        Whether the values are those of rankings, of which other conventions of lists than ties,
        min_relevance and low_grades are not known.
    """

    labels: Labels
    n_pos: Counts
    values: dict[str, PerGroup]
    weights: dict[str, PerGroup] = field(default_factory=dict[str, PerGroup])
    segments: tuple[Segment, ...] = ()
    bounds: dict[str, tuple[PerGroup, PerGroup]] = field(
        default_factory=dict[str, tuple[PerGroup, PerGroup]]
    )
    best: dict[str, PerGroup] = field(default_factory=dict[str, PerGroup])
    n_pos_of_truth: Counts | None = None
    n_listed: Counts | None = None
    n_rejected: Counts | None = None
    cluster: Labels | None = None
    weight: PerGroup | None = None
    users: Labels | None = None
    splits: Labels | None = None
    origin: Origin = NO_FRAMES
    tables: KeptTables | None = None
    protocol: Protocol = NO_PROTOCOL
    of_rankings: bool = False

    def __post_init__(self) -> None:
        for name in ("values", "bounds", "best", "weights"):
            object.__setattr__(self, name, ByMeasure(vars(self)[name]))

    @property
    def n_groups(self) -> int:
        """The number of groups: users or queries."""
        return self.labels.size

    @property
    def n_positives(self) -> Counts:
        """The number of positives of each group in the truth."""
        return self.n_pos if self.n_pos_of_truth is None else self.n_pos_of_truth

    @property
    def conventions(self) -> dict[str, Any]:
        """The conventions of the values, such as ties, min_relevance and missing."""
        rules = self.protocol.in_force()
        unknown = OF_TABLES if self.of_rankings else ()
        return {name: value for name, value in rules.items() if name not in unknown}

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self.protocol.level

    @property
    def measures(self) -> list[str]:
        """The measures as text, in the order in which they were passed."""
        return list(self.values)

    @property
    def means(self) -> dict[str, float]:
        """The mean of each measure over groups, with undefined groups as in `undefined`."""
        return ByMeasure({name: self.summary(name).mean for name in self.values})

    def undefined_rule(self, measure: str | Measure) -> Undefined:
        """Return the treatment of groups for which a measure is undefined."""
        return self.protocol.conventions(parse(measure)).undefined

    def filled(self, measure: str | Measure, values: PerGroup | None = None) -> PerGroup:
        """Return the values that the mean of a measure is taken over, or `values` in their place.

        Undefined groups have the value of their rule, or are nan, if the mean leaves them out.
        """
        values = self.values[str(measure)] if values is None else values
        return fill(values, self.undefined_rule(measure))

    def refuse_undefined(self) -> None:
        """Raise if a value is undefined whose rule is "error"."""
        for name, column in self.values.items():
            bad = np.flatnonzero(np.isnan(column))
            if bad.size and self.undefined_rule(name) == "error":
                raise ArgumentError(
                    f"{name} is undefined for {bad.size} of {self.n_groups} groups, first group "
                    f"{_check.label(self.labels[bad[0]])}. Pass "
                    f"{arg.undefined('skip', 'zero', 'one')}."
                )

    def summary(self, measure: str | Measure, mask: Mask | None = None) -> Summary:
        """Return the mean, standard error and interval of a measure over all groups or a mask.

        Raises
        ------
        ArgumentError
            If the measure was not evaluated, or it is not a mean over groups and there is a mask.
        """
        values = self._lookup(self.values, measure)
        metric = parse(measure).metric
        if mask is not None and not metric.is_mean:
            raise ArgumentError(
                f"{parse(measure)} is not a mean over groups, so it can't be computed for some of "
                "them. Measure the run of these groups alone."
            )
        selected = values if mask is None else values[mask]
        n_undefined = int(np.isnan(selected).sum())
        result = stats.summarize(
            self.filled(measure, selected),
            level=self.level,
            method=self.protocol.interval if metric.is_mean else "t",
            seed=self.protocol.bootstrap_seed,
            bounds=metric.bounds,
            **self.levels(mask),
        )
        return replace(result, n_undefined=n_undefined)

    def levels(self, mask: Mask | None = None) -> dict[str, Any]:
        """Return the users and the splits of all groups or a mask, for the errors of means."""
        rows: Any = slice(None) if mask is None else mask
        columns = {"users": self.users, "splits": self.splits}
        return {name: None if c is None else c[rows] for name, c in columns.items()}

    def bounds_of_mean(
        self, measure: str | Measure, mask: Mask | None = None
    ) -> tuple[float, float]:
        """Return the smallest and largest mean of a measure over all judgements of unjudged items.

        Raises
        ------
        ArgumentError
            If the measure was not evaluated with unjudged="bounds".
        """
        name = str(parse(measure))
        if name not in self.bounds:
            raise ArgumentError(f"{name} has no bounds. Measure it with {arg.unjudged('bounds')}.")
        rows = slice(None) if mask is None else mask
        low, high = (self.filled(name, ends[rows]) for ends in self.bounds[name])
        is_defined = ~np.isnan(low)
        if not is_defined.any():
            return np.nan, np.nan
        return float(low[is_defined].mean()), float(high[is_defined].mean())

    def pooled(self, measure: str | Measure) -> Summary:
        """Return the sum of value x weight over the sum of weights.

        The pooled pap is the share of correct pairs among all pairs. The weight of a group is its
        number of pairs (or positives, or ranks); undefined groups do not count. The interval is
        always a t interval, whatever `interval` is. With `users` and `splits`, it includes the
        variation of both.

        Raises
        ------
        ArgumentError
            If the measure has no pooled form.
        """
        values = self._lookup(self.values, measure)
        name = str(parse(measure))
        if name not in self.weights:
            raise ArgumentError(
                f"{name} has no pooled form. Evaluated measures that have one: "
                f"{', '.join(self.weights) or 'none'}."
            )
        rules = {"level": self.level, "bounds": parse(measure).metric.bounds}
        return stats.pooled(values, self.weights[name], **rules, **self.levels())

    def segmented(self, by: str, key: ArrayLike | None = None) -> Evaluation:
        """Return the same evaluation with additional segments.

        Parameters
        ----------
        by : str
            The division: "engagement" (n_pos <= k against n_pos > k, with the cutoff k of pap, or
            else of the first measure that has one), "n_pos" (quarters of the groups by n_pos), or
            the name of `key`. n_pos is the number of positives in the truth.
        key : (n_groups,), optional
            A value per group, in the order of `labels`; each distinct value is a segment.
        """
        if key is not None:
            new_segments = by_value(by, _check.array(key, "by"), self.n_groups)
        elif by == "engagement":
            new_segments = by_engagement(self.n_positives, self._cutoff())
        elif by == "n_pos":
            new_segments = by_quantile(self.n_positives)
        else:
            raise ArgumentError(
                f"{arg.by} must be 'engagement', 'n_pos' or a column of users, got "
                f"{by!r}.{_check.nearest(by, BUILT_IN)} Pass {arg.users} to use one of its columns."
            )
        return replace(self, segments=self.segments + new_segments)

    def per_user(self) -> Any:
        """Return a frame with one row per group: its user, n_pos and every measure.

        The column of users has its name in the truth, and the frame is one of pandas, pyarrow or
        Polars, as for `to_frame`. Users of several splits have a column split. Measures that are
        not means over groups, such as coverage@10, are left out.
        """
        return user_frame({"": self})

    def open_ties(self, mask: Mask | None = None) -> Iterator[tuple[str, OpenTies]]:
        """Yield the measures whose mean depends on the order of equal scores, with the effect.

        Means over few such lists are left out, and those that the order changes too little to be
        seen. `mask` selects the groups; by default, all count.
        """
        rows: Any = slice(None) if mask is None else mask
        for name, best in self.best.items():
            if best is self.values[name]:  # no list has ties
                continue
            last, first = self.values[name][rows], best[rows]
            changed = int(differs(last, first).sum())
            if changed:
                means = [mean(defined(self.filled(name, v))[0]) for v in (last, first)]
                effect = OpenTies(changed, last.size, *means)
                if effect.matters:
                    yield name, effect

    def per_group(self) -> dict[str, PerGroup]:
        """Return the values of the measures that are means over groups."""
        return {n: values for n, values in self.values.items() if parse(n).metric.is_mean}

    def as_json(self, *, pooled: bool = False) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/evaluation.json); nan becomes None."""
        return {
            "measures": self._measures(None, pooled=pooled),
            "segments": [s.as_json(self._measures(s.mask)) for s in self.segments],
            "conventions": self.conventions,
            "protocol": self.protocol.as_json(),
        }

    def _measures(self, mask: Mask | None, *, pooled: bool = False) -> dict[str, Any]:
        names = self.values if mask is None else self.per_group()
        result = {name: plain(vars(self.summary(name, mask))) for name in names}
        for name in self.bounds:
            low, high = self.bounds_of_mean(name, mask)
            result[name]["unjudged"] = {"low": plain(low), "high": plain(high)}
        for name, effect in self.open_ties(mask):
            result[name]["ties"] = plain(vars(effect))
        if pooled:
            for name in self.weights:
                result[name]["pooled"] = plain(vars(self.pooled(name)))
        return result

    def _cutoff(self) -> int:
        # pap@k, if present, comes first: at n_pos = k it turns from precision to partial AUC.
        measures = sorted(map(parse, self.values), key=lambda measure: measure.name != "pap")
        cutoff = next((m.k for m in measures if m.k is not None), None)
        if cutoff is None:
            raise ArgumentError(
                f"{arg.by('engagement')} needs a measure with a cutoff, such as pap@10. Add one."
            )
        return cutoff

    def _lookup(self, table: Mapping[str, PerGroup], measure: str | Measure) -> PerGroup:
        name = str(parse(measure))
        if name not in table:
            raise ArgumentError(
                f"{name} was not evaluated. Evaluated measures: {', '.join(table) or 'none'}."
            )
        return table[name]


def per_user_columns(evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return columns with one row per group: its label as user, n_pos and every measure.

    The rows of several evaluations follow each other, with their names in a column run. Users of
    several splits have the name of their split in a column split. Measures that are not means over
    groups are left out. Measures with bounds have two more columns, "<measure> low" and "<measure>
    high".
    """
    several = len(evaluations) > 1
    tables = [
        {
            **({"run": np.full(evaluation.n_groups, name)} if several else {}),
            **({} if evaluation.splits is None else {"split": evaluation.splits}),
            "user": evaluation.labels if evaluation.users is None else evaluation.users,
            "n_pos": evaluation.n_pos,
            **evaluation.per_group(),
            **{
                f"{measure} {end}": values
                for measure, ends in evaluation.bounds.items()
                for end, values in zip(("low", "high"), ends, strict=True)
            },
        }
        for name, evaluation in evaluations.items()
    ]
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def user_frame(evaluations: Mapping[str, Evaluation]) -> Any:
    """Return `per_user_columns` as a frame, with the name of the column of users in the truth."""
    columns = per_user_columns(evaluations)
    origin = next(iter(evaluations.values())).origin
    name = "user" if origin.user in columns else origin.user
    return as_frame({name if c == "user" else c: v for c, v in columns.items()}, origin.kind)


def fill(values: PerGroup, undefined: Undefined) -> PerGroup:
    """Return the values that a mean is taken over, under the policy for undefined groups."""
    if undefined in ("skip", "error"):
        return values
    return np.where(np.isnan(values), 1.0 if undefined == "one" else 0.0, values)
