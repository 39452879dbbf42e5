"""The conventions of lists, complete, with what excludes each other and what has no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.ranking import relevance_rule
from podium.types import LowGrades, Missing, Ties, Undefined, Unjudged, Unretrieved


class Pair(NamedTuple):
    """Two facts that may hold together in a protocol, and what follows.

    A fact is a field with a value, such as "unretrieved=drop", a field with any value, or a kind of
    measure of `KINDS`.
    """

    first: str
    second: str
    reason: str


_WITH_RANGES = "only precision, recall, rr and ndcg have bounds"
EXCLUSIONS = (
    Pair("unjudged=bounds", "unretrieved=drop", "a judgement would change which items count"),
    Pair("unjudged=bounds", "score_above", "a judgement would change which items count"),
    Pair("unjudged=bounds", "ties=threshold", "the order of ties would depend on judgements"),
    Pair("unjudged=bounds", "like", "packages have one value for each list"),
    Pair("unjudged=bounds", "a measure without ranges", _WITH_RANGES),
    Pair("n_items", "unretrieved=drop", "each list is whole already"),
    Pair("ties=average", "a measure without a mean over ties", "only sums over ranks have one"),
    Pair("ties=threshold", "a measure without thresholds", "only ap has a value per threshold"),
    Pair("interval=wilson", "a measure without bounds", "the interval of a share needs bounds"),
)
"""The pairs that a protocol refuses."""

NO_EFFECT = (
    Pair("ties_seed", "no ties=random", "no order is drawn"),
    Pair("bootstrap_seed", "no interval=bootstrap", "a mean and its interval draw nothing"),
    Pair("low_grades", "a measure without grades", "a grade only divides relevant items"),
)
"""The pairs in which the first one changes no value and no interval of a mean."""

WITH_RANGES = ("precision", "recall", "rr", "ndcg")
"""The metrics whose range over judgements is known."""

_WITHOUT_RANGES = {("norm", "list"), ("ideal", "full")}


def has_range(measure: Measure) -> bool:
    """Return whether the range of a measure over judgements is known."""
    return measure.name in WITH_RANGES and not _WITHOUT_RANGES & {*measure.options}


def _of_lists(holds: Callable[[Measure], bool]) -> Callable[[Measure], bool]:
    """Return a condition that no measure of the items shown fulfils."""
    return lambda measure: measure.metric.reads == "relevance" and holds(measure)


KINDS: Mapping[str, Callable[[Measure], bool]] = {
    "a measure without bounds": lambda m: not np.isfinite(m.metric.bounds).all(),
    "a measure without ranges": _of_lists(lambda m: not has_range(m)),
    "a measure without a mean over ties": _of_lists(
        lambda m: not (m.metric.linear or m.metric.half_pairs)
    ),
    "a measure without thresholds": _of_lists(lambda m: not m.metric.thresholds),
    "a measure without grades": _of_lists(lambda m: not m.graded),
}
"""The kinds of measures in `EXCLUSIONS` and `NO_EFFECT`."""


@dataclass(frozen=True)
class Conventions:
    """What decides the lists of users and the values of groups, with nothing left open.

    Attributes
    ----------
    ties, min_relevance, low_grades, missing, unjudged, unretrieved, single_precision, score_above
        The fields of `Protocol`. min_relevance is None if it is not stated: 1, except for ratings.
    n_items, ties_seed, undefined
        The same.
    open_ties : bool
        Whether nobody chose the order of equal scores.
    """

    ties: Ties = "worst"
    min_relevance: float | None = None
    low_grades: LowGrades = "keep"
    missing: Missing = "error"
    unjudged: Unjudged = "negative"
    unretrieved: Unretrieved = "count"
    single_precision: bool = False
    score_above: float | None = None
    n_items: int | None = None
    ties_seed: int = 0
    undefined: Undefined = "skip"
    open_ties: bool = False

    def __post_init__(self) -> None:
        refuse_excluded(vars(self))

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> Conventions:
        """Return the conventions, given those that are stated."""
        _, low = relevance_rule(stated.get("min_relevance"), stated.get("low_grades"))
        chosen: dict[str, Any] = {**stated, "low_grades": low, "open_ties": "ties" not in stated}
        return cls(**chosen)

    @property
    def threshold(self) -> float:
        """The lowest relevance of a positive item."""
        return 1.0 if self.min_relevance is None else self.min_relevance

    @property
    def least_score(self) -> float | None:
        """Return score_above in the precision in which scores are compared."""
        if self.score_above is None or not self.single_precision:
            return self.score_above
        return float(np.float32(self.score_above))

    def by_name(self) -> dict[str, Any]:
        """Return the conventions by name, without those that have no effect."""
        rules = {**vars(self), "min_relevance": self.threshold}
        del rules["open_ties"]
        if self.ties != "random":
            del rules["ties_seed"]
        return rules


class Task(NamedTuple):
    """Measures, as a package computes them, that are computed from the same lists."""

    measures: list[Measure]
    conventions: Conventions


def refuse_excluded(values: Mapping[str, Any], measures: Sequence[Measure] = ()) -> None:
    """Raise if two of the values, or a value and a measure, exclude each other."""
    for (first, second, reason), wrong in _excluded(values, measures):
        other = ", ".join(wrong) or _spelled(second, values)
        raise ArgumentError(
            f"{_spelled(first, values)} can't be combined with {other}, because {reason}. Leave "
            "one of them out."
        )


def is_excluded(values: Mapping[str, Any], measure: Measure) -> bool:
    """Return whether two of the values, or a value and a measure, exclude each other."""
    return any(_excluded(values, [measure]))


def _excluded(
    values: Mapping[str, Any], measures: Sequence[Measure]
) -> Iterator[tuple[Pair, list[str]]]:
    """Yield the pairs of `EXCLUSIONS` that hold, with the measures of the second one."""
    for pair in EXCLUSIONS:
        if _holds(pair.first, values):
            kind = KINDS.get(pair.second)
            wrong = [str(m) for m in measures if kind is not None and kind(m)]
            if wrong or _holds(pair.second, values):
                yield pair, wrong


def _holds(fact: str, values: Mapping[str, Any]) -> bool:
    name, _, value = fact.partition("=")
    stated = values.get(name)
    return stated is not None and (not value or str(stated) == value)


def _spelled(fact: str, values: Mapping[str, Any]) -> str:
    name, _, value = fact.partition("=")
    return str(arg[name](values[name]) if value else arg[name])
