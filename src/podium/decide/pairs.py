"""The values of both runs for every user, with the columns that divide, join or weigh users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._grammar import read
from podium.errors import ArgumentError
from podium.evaluation import (
    BUILT_IN,
    SHOWN,
    Evaluation,
    Shown,
    align,
    divide,
    fill,
    measure,
    shown_per_user,
)
from podium.metrics import Measure, parse
from podium.types import Labels, Mask, PerGroup, Undefined


@dataclass(frozen=True)
class GateMeasure:
    """A measure of relevance, or the coverage or novelty of the k items shown."""

    text: str
    measure: Measure | None = None
    k: int = 0

    @classmethod
    def parse(cls, text: str | Measure) -> GateMeasure:
        """Parse a measure; ``coverage@k`` and ``novelty@k`` are known here too."""
        if isinstance(text, str) and text.partition("@")[0] in SHOWN:
            parts = read(text, "measure", "name@k")
            if parts.k is None or parts.params:
                raise ArgumentError(f"{text!r} needs a cutoff: write {parts.name}@10, for example.")
            return cls(f"{parts.name}@{parts.k}", None, parts.k)
        parsed = parse(text)
        return cls(str(parsed), parsed)

    @property
    def name(self) -> str:
        return self.text.partition("@")[0]

    @property
    def higher_is_better(self) -> bool:
        return self.measure is None or self.measure.metric.higher_is_better

    @property
    def width(self) -> float:
        """The largest difference between two users' values; infinite without bounds."""
        if self.measure is None:
            return np.inf
        low, high = self.measure.metric.bounds
        return high - low

    @property
    def is_mean(self) -> bool:
        """Whether the measure is a mean of values that depend on one user only."""
        return self.name != "coverage"


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
    """

    labels: Labels
    base: dict[str, PerGroup]
    candidate: dict[str, PerGroup]
    segments: dict[str, Labels] = field(default_factory=dict[str, Labels])
    cluster: Labels | None = None
    weight: PerGroup | None = None
    conventions: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def n_users(self) -> int:
        return self.labels.size

    def weights(self, measure: GateMeasure) -> PerGroup | None:
        """Return the weights of users; coverage has none, because it is not a mean over users."""
        return self.weight if measure.is_mean else None

    def means(self, measure: GateMeasure) -> tuple[float, float]:
        """Return the weighted means of base and candidate over users who have both values."""
        base, candidate = self.base[measure.text], self.candidate[measure.text]
        is_defined = ~np.isnan(base + candidate)
        weights = self.weights(measure)
        weights = None if weights is None else weights[is_defined]
        if not is_defined.any() or (weights is not None and not weights.any()):
            return np.nan, np.nan
        return (
            float(np.average(base[is_defined], weights=weights)),
            float(np.average(candidate[is_defined], weights=weights)),
        )

    def rows(self, index: NDArray[np.int64] | Mask | slice) -> Pairs:
        """Return some of the users."""
        return Pairs(
            self.labels[index],
            {name: values[index] for name, values in self.base.items()},
            {name: values[index] for name, values in self.candidate.items()},
            {name: names[index] for name, names in self.segments.items()},
            None if self.cluster is None else self.cluster[index],
            None if self.weight is None else self.weight[index],
            self.conventions,
        )


def read_pairs(
    truth: Any,
    base: Any,
    candidate: Any,
    measures: Sequence[GateMeasure],
    *,
    by: Sequence[str],
    users: Any,
    cluster: str | None,
    weight: str | None,
    catalogue: Any,
    undefined: Undefined,
    **options: Any,
) -> Pairs:
    """Measure both runs, and read the columns of users; see `gate`."""
    runs = {"base": base, "candidate": candidate}
    of_relevance = [m.measure for m in measures if m.measure is not None]
    evaluations = align(
        {
            name: measure(truth, run, of_relevance, undefined=undefined, **options)
            for name, run in runs.items()
        }
    )
    first = evaluations["base"]
    clusters = _column(users, "cluster", cluster, first.labels, options)
    shown_measures = [m for m in measures if m.measure is None]
    of_shown = _shown_values(shown_measures, runs, catalogue, first.labels, clusters, options)
    values = {
        name: {text: fill(v, undefined) for text, v in evaluation.values.items()} | of_shown[name]
        for name, evaluation in evaluations.items()
    }
    return Pairs(
        first.labels,
        values["base"],
        values["candidate"],
        _segments(first, by, users, options),
        clusters,
        _weights(users, weight, first.labels, options),
        dict(first.conventions),
    )


def _segments(
    evaluation: Evaluation, by: Sequence[str], users: Any, options: Mapping[str, Any]
) -> dict[str, Labels]:
    """Return the name of each user's segment, by division."""
    table = users if any(name not in BUILT_IN for name in by) else None
    divided = divide(evaluation, by, table, user=options.get("user"))
    names = {name: np.full(evaluation.n_groups, "", object) for name in by}
    for segment in divided.segments:
        names[segment.by][segment.mask] = segment.name or "unknown"  # "" is in no segment
    return {name: column.astype(np.str_) for name, column in names.items()}


def _column(
    users: Any, name: str, column: str | None, labels: Labels, options: Mapping[str, Any]
) -> Labels | None:
    if column is None:
        return None
    from podium import data

    if users is None:
        raise ArgumentError(f"{name} requires users, a table with the column {column}.")
    values = data.user_column(users, column, labels, user=options.get("user"))
    is_unknown = values == "unknown"
    if is_unknown.any():
        first = _check.label(labels[is_unknown.argmax()])
        raise ArgumentError(
            f"users has no {column} for {int(is_unknown.sum())} of {labels.size} users, first "
            f"{first}. {name} needs a value for each user."
        )
    return values


def _weights(
    users: Any, column: str | None, labels: Labels, options: Mapping[str, Any]
) -> PerGroup | None:
    texts = _column(users, "weight", column, labels, options)
    if texts is None:
        return None
    try:
        values = texts.astype(np.float64)
    except ValueError:
        raise ArgumentError(f"weight must be a column of numbers, but {column} has text.") from None
    weights = _check.weights(values, labels.size, labels, name="weight")
    if not weights.any():
        raise ArgumentError(f"weight must be positive for some user, but {column} is 0 for all.")
    return weights


def _shown_values(
    measures: Sequence[GateMeasure],
    runs: Mapping[str, Any],
    catalogue: Any,
    labels: Labels,
    clusters: Labels | None,
    options: Mapping[str, Any],
) -> dict[str, dict[str, PerGroup]]:
    """Return the values of coverage and novelty by run and measure."""
    if not measures:
        return {name: {} for name in runs}
    from podium import data

    if catalogue is None:
        names = ", ".join(m.text for m in measures)
        raise ArgumentError(
            f"{names} requires catalogue, a table of the past interactions of users and items."
        )
    past = data.read_interactions(catalogue, user=options.get("user"), item=options.get("item"))
    columns = {name: options.get(name) for name in ("user", "item", "score", "rank")}
    shown = {name: Shown.of(data.read_run(run, **columns), past) for name, run in runs.items()}
    n_past = min(one.n_items - len(one.outside) for one in shown.values())
    n_items = n_past + len(set[Any]().union(*(one.outside for one in shown.values())))
    return {
        name: {
            m.text: shown_per_user(one, m.name, m.k, labels, n_items, clusters) for m in measures
        }
        for name, one in shown.items()
    }
