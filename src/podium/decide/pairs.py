"""The values of both runs of a gate, with one row per user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.evaluation import Evaluation
from podium.evaluation.open_ties import differs
from podium.evaluation.stats import ClusteredMean, clustered_mean, differences
from podium.metrics import Measure
from podium.types import Labels, Mask, PerGroup

Rows = NDArray[np.int64] | Mask | slice


@dataclass(frozen=True, eq=False)
class Paired:
    """The values of one measure for some users.

    Attributes
    ----------
    base, candidate : float64, (n_users,)
        The values that means are taken over; nan is left out.
    weight : float64, (n_users,), or None
    cluster : str (n_users,), or None
    measure : Measure
        If it is not a mean over users, it has its own value for each run.
    """

    base: PerGroup
    candidate: PerGroup
    weight: PerGroup | None
    cluster: Labels | None
    measure: Measure

    @property
    def differences(self) -> PerGroup:
        """The differences candidate - base, nan if one of the values is undefined."""
        return differences(self.base, self.candidate)

    @property
    def is_defined(self) -> Mask:
        """Whether a user has both values."""
        return ~(np.isnan(self.base) | np.isnan(self.candidate))

    def rows(self, rows: Rows) -> Paired:
        """Return some of the users."""
        weight = None if self.weight is None else self.weight[rows]
        cluster = None if self.cluster is None else self.cluster[rows]
        return Paired(self.base[rows], self.candidate[rows], weight, cluster, self.measure)

    def with_equal_clusters(self) -> Paired:
        """Return the users with weights that sum to 1 in each cluster, over defined values."""
        if self.cluster is None:
            return self
        codes = np.unique(self.cluster, return_inverse=True)[1]
        sizes = np.bincount(codes, self.is_defined)[codes]
        return replace(self, weight=self.is_defined / np.maximum(sizes, 1.0))

    def means(self) -> tuple[float, float]:
        """Return the weighted means of base and candidate over users who have both values."""
        if not self.measure.metric.is_mean:
            return float(np.mean(self.base)), float(np.mean(self.candidate))
        both = self.rows(self.is_defined)
        if not both.base.size or (both.weight is not None and not both.weight.any()):
            return np.nan, np.nan
        base, candidate = (
            float(np.average(values, weights=both.weight)) for values in (both.base, both.candidate)
        )
        return base, candidate

    def difference(self) -> ClusteredMean:
        """Return the weighted mean of the differences, with its error over clusters."""
        return clustered_mean(self.differences, self.weight, self.cluster)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The values of base and candidate for every user.

    Attributes
    ----------
    columns : dict of str to (n_users,)
        "labels", "base recall@5" and "candidate recall@5" by the canonical text of each measure,
        "segment country" with the name of each user's segment, and "cluster" and "weight" if there
        are any.
    """

    columns: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, base: Evaluation, candidate: Evaluation) -> Pairs:
        """Return the columns of two evaluations on the same users; the base has the segments."""
        segments = {s.by: np.full(base.n_groups, "", object) for s in base.segments}
        for segment in base.segments:
            segments[segment.by][segment.mask] = segment.name
        of_users = {"labels": base.labels, "cluster": base.cluster, "weight": base.weight}
        return cls(
            {name: column for name, column in of_users.items() if column is not None}
            | _values(base, candidate)
            | {f"segment {by}": names.astype(np.str_) for by, names in segments.items()}
        )

    def with_relevant_first(self, base: Evaluation, candidate: Evaluation) -> Pairs:
        """Return the same users, with the values of relevant items first among equal scores."""
        return Pairs(self.columns | _values(base, candidate, is_best=True))

    @property
    def labels(self) -> Labels:
        return self.columns["labels"]

    @property
    def n_users(self) -> int:
        return self.labels.size

    @property
    def cluster(self) -> Labels | None:
        return self.columns.get("cluster")

    @property
    def weight(self) -> PerGroup | None:
        return self.columns.get("weight")

    @property
    def segments(self) -> dict[str, Labels]:
        """The name of each user's segment, by division."""
        named = {name.partition(" "): column for name, column in self.columns.items()}
        return {by: column for (kind, _, by), column in named.items() if kind == "segment"}

    def rows(self, rows: Rows) -> Pairs:
        """Return some of the users."""
        return Pairs({name: column[rows] for name, column in self.columns.items()})

    def of_measure(self, measure: Measure, rows: Rows = slice(None)) -> Paired:
        """Return the values of a measure for some of the users."""
        base, candidate = (
            self.columns[f"{run} {measure.canonical}"] for run in ("base", "candidate")
        )
        weight = self.weight if measure.metric.is_mean else None
        return Paired(base, candidate, weight, self.cluster, measure).rows(rows)

    def n_changed(self, other: Pairs, measures: Sequence[Measure]) -> int:
        """Return the number of users who have another value in other pairs of the same users."""
        names = [f"{run} {m.canonical}" for m in measures for run in ("base", "candidate")]
        changes = [differs(self.columns[name], other.columns[name]) for name in names]
        return int(np.any(changes, axis=0).sum())

    def are_equal(self, measures: Sequence[Measure]) -> bool:
        """Return whether both runs have the same values for every user, up to rounding."""
        paired = map(self.of_measure, measures)
        return not any(differs(of.base, of.candidate).any() for of in paired)


def _values(
    base: Evaluation, candidate: Evaluation, *, is_best: bool = False
) -> dict[str, PerGroup]:
    """Return the values that means are taken over, by run and measure."""
    return {
        f"{run} {measure.canonical}": evaluation.filled(
            measure, evaluation.best.get(str(measure)) if is_best else None
        )
        for measure in base.protocol.measures
        for run, evaluation in (("base", base), ("candidate", candidate))
    }
