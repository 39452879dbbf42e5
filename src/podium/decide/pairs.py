"""The values of both runs for every user, with the columns that divide, join or weigh users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.evaluation import BUILT_IN, Evaluation, divide, fill
from podium.evaluation.from_runs import measure_runs
from podium.evaluation.open_ties import differs
from podium.evaluation.stats import weighted_mean
from podium.metrics import Measure
from podium.protocol import Protocol
from podium.types import Labels, Mask, PerGroup

if TYPE_CHECKING:
    from podium.data.columns import Columns
    from podium.data.storage import Storage


@dataclass(frozen=True, eq=False)
class Pairs:
    """The values of base and candidate for every user.

    Attributes
    ----------
    labels : (n_users,)
    base, candidate : dict of str to float64 (n_users,)
        The values by measure; nan if undefined.
    segments : dict of str to str (n_users,)
        The segment of each user, by the name of the division.
    cluster : str (n_users,), or None
    weight : float64, (n_users,), or None
    conventions : dict
    best : Pairs or None
        The same with relevant items first among equal scores; None if no value depends on their
        order, or if it was chosen.
    user_column : str
        The name of the truth's column of users.
    """

    labels: Labels
    base: dict[str, PerGroup]
    candidate: dict[str, PerGroup]
    segments: dict[str, Labels] = field(default_factory=dict[str, Labels])
    cluster: Labels | None = None
    weight: PerGroup | None = None
    conventions: dict[str, Any] = field(default_factory=dict[str, Any])
    best: Pairs | None = None
    user_column: str = "user"

    @property
    def n_users(self) -> int:
        return self.labels.size

    @property
    def n_tied(self) -> int:
        """The number of users for whom a value depends on the order of equal scores."""
        if self.best is None:
            return 0
        changes = [
            differs(values, first[name])
            for last, first in ((self.base, self.best.base), (self.candidate, self.best.candidate))
            for name, values in last.items()
        ]
        return int(np.any(changes, axis=0).sum())

    def are_equal(self) -> bool:
        """Return whether both runs have the same values for every user, up to rounding."""
        return not any(
            differs(values, self.candidate[name]).any() for name, values in self.base.items()
        )

    def weights(self, measure: Measure) -> PerGroup | None:
        """Return the weights of users; None if the measure is not a mean over users."""
        return self.weight if measure.metric.is_mean else None

    def with_equal_clusters(self, measure: Measure) -> Pairs:
        """Return the users with weights that sum to 1 in each cluster, over defined values."""
        if self.cluster is None:
            return self
        is_defined = self._is_defined(measure)
        codes = np.unique(self.cluster, return_inverse=True)[1]
        sizes = np.bincount(codes, is_defined)[codes]
        return replace(self, weight=is_defined / np.maximum(sizes, 1.0))

    def means(self, measure: Measure) -> tuple[float, float]:
        """Return the weighted means of base and candidate over users who have both values.

        A measure that is not a mean over users has its own value for each run.
        """
        base, candidate = self.base[str(measure)], self.candidate[str(measure)]
        if not measure.metric.is_mean:
            return float(np.mean(base)), float(np.mean(candidate))
        is_defined = self._is_defined(measure)
        weights = self.weights(measure)
        weights = None if weights is None else weights[is_defined]
        if not is_defined.any() or (weights is not None and not weights.any()):
            return np.nan, np.nan
        return (
            weighted_mean(base[is_defined], weights),
            weighted_mean(candidate[is_defined], weights),
        )

    def _is_defined(self, measure: Measure) -> Mask:
        """Return the users who have both values."""
        name = str(measure)
        return ~(np.isnan(self.base[name]) | np.isnan(self.candidate[name]))

    def columns(self) -> dict[str, Any]:
        """Return all arrays by name: "base ndcg@10", "segment country", "cluster" and so on."""
        plain = {"labels": self.labels, "cluster": self.cluster, "weight": self.weight}
        named = {"base": self.base, "candidate": self.candidate, "segment": self.segments}
        return {name: column for name, column in plain.items() if column is not None} | {
            f"{kind} {name}": column
            for kind, columns in named.items()
            for name, column in columns.items()
        }

    def with_columns(self, columns: Mapping[str, Any]) -> Pairs:
        """Return the users of other arrays with the same names, without `best`."""

        def of(kind: str, names: Iterable[str]) -> dict[str, Any]:
            return {name: columns[f"{kind} {name}"] for name in names}

        return Pairs(
            columns["labels"],
            of("base", self.base),
            of("candidate", self.candidate),
            of("segment", self.segments),
            columns.get("cluster"),
            columns.get("weight"),
            self.conventions,
        )

    def rows(self, index: NDArray[np.int64] | Mask | slice) -> Pairs:
        """Return some of the users."""
        return self.with_columns({name: c[index] for name, c in self.columns().items()})


def read_pairs(
    truth: Any,
    base: Any,
    candidate: Any,
    *,
    protocol: Protocol,
    columns: Columns,
    users: Any,
    catalogue: Any,
    items: Any,
    storage: Storage,
) -> Pairs:
    """Measure both runs, and read the columns of users; see `gate`."""

    def clusters_of(labels: Labels) -> Labels | None:
        return _column(users, "cluster", protocol.cluster, labels, columns.user)

    stated: dict[str, Any] = {}
    measured = protocol
    if protocol.unjudged == "bounds":
        # Claims have bounds of differences (podium.decide.unjudged). Those of runs are not used.
        stated, measured = {"unjudged": "bounds"}, protocol.replace(unjudged="negative")
    evaluations = measure_runs(
        *(truth, {"base": base, "candidate": candidate}, measured, columns),
        catalogue=catalogue,
        items=items,
        clusters=clusters_of,
        storage=storage,
    )
    first = evaluations["base"]
    values = {
        name: {m: evaluation.filled(m) for m in evaluation.measures}
        for name, evaluation in evaluations.items()
    }
    pairs = Pairs(
        first.labels,
        values["base"],
        values["candidate"],
        _segments(first, protocol.by, users, columns.user),
        clusters_of(first.labels),
        _weights(users, protocol.weight, first.labels, columns.user),
        {**first.conventions, **stated},
        user_column=first.origin.user,
    )
    best = {
        name: {
            m: fill(evaluation.best.get(m, v), evaluation.undefined_rule(m))
            for m, v in evaluation.values.items()
        }
        for name, evaluation in evaluations.items()
    }
    pairs = replace(pairs, best=replace(pairs, base=best["base"], candidate=best["candidate"]))
    return pairs if pairs.n_tied else replace(pairs, best=None)


def _segments(
    evaluation: Evaluation, by: Sequence[str], users: Any, user: str | None
) -> dict[str, Labels]:
    """Return the name of each user's segment, by division."""
    table = users if any(name not in BUILT_IN for name in by) else None
    divided = divide(evaluation, by, table, user=user)
    names = {name: np.full(evaluation.n_groups, "", object) for name in by}
    for segment in divided.segments:
        names[segment.by][segment.mask] = segment.name
    return {name: column.astype(np.str_) for name, column in names.items()}


def _column(
    users: Any, name: str, column: str | None, labels: Labels, user: str | None
) -> Labels | None:
    if column is None:
        return None
    from podium.data.users import user_values

    if users is None:
        raise ArgumentError(f"{arg[name]} requires {arg.users}, a table with the column {column}.")
    values = user_values(users, column, labels, user=user)
    is_unknown = values == ""
    if is_unknown.any():
        first = _check.label(labels[is_unknown.argmax()])
        raise ArgumentError(
            f"{arg.users} has no {column} for {int(is_unknown.sum())} of {labels.size} users, "
            f"first {first}. {arg[name]} needs a value for each user."
        )
    return values


def _weights(users: Any, column: str | None, labels: Labels, user: str | None) -> PerGroup | None:
    texts = _column(users, "weight", column, labels, user)
    if texts is None:
        return None
    try:
        weights = texts.astype(np.float64)
    except ValueError:
        raise ArgumentError(
            f"{arg.weight} must be a column of numbers, but {column} has text."
        ) from None
    is_wrong = ~np.isfinite(weights) | (weights < 0)
    if is_wrong.any():
        first = is_wrong.argmax()
        raise ArgumentError(
            f"{arg.weight} must be >= 0 and finite for each user, but {column} is not for "
            f"{int(is_wrong.sum())} of {labels.size} users, first {_check.label(labels[first])} "
            f"({texts[first]})."
        )
    return weights
