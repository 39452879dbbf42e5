"""The conventions that can differ between two computations of a measure, with their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from podium.metrics import Measure
from podium.metrics.measures import choices
from podium.protocol import Conventions
from podium.types import PerGroup

Choice: TypeAlias = Mapping[str, Any]
"""A value of each convention, by its name."""

_MOST_GRADES = 5  # further thresholds are left out

MEANS: dict[str, tuple[Any, ...]] = {
    "missing": ("zero", "skip"),
    "undefined": ("skip", "zero", "one"),
    "pooled": (False, True),
}
"""The conventions of the mean over users, each with its values; the first is podium's default,
or, for missing, one that has a value."""

SEPARATED_BY = {
    "ties": "items with equal scores, of which some are relevant",
    "single_precision": "scores that only differ beyond single precision",
    "missing": "users that the run lacks",
    "undefined": "users for whom the measure is undefined",
    "pooled": "users with different numbers of positives",
    "unjudged": "items of the run that the truth lacks",
    "unretrieved": "relevant items that the lists lack",
    "score_above": "scores of 0 or below among the top ranks",
    "min_relevance": "several grades of relevance",
    "low_grades": "relevances below min_relevance",
    "gain": "relevances other than 0 and 1",
    "discount": "relevant items at ranks from 2",
    "ideal": "users with fewer than k relevant items",
    "norm": "users with fewer, and with more, than k positives",
    "clip": "users with fewer than k negatives",
}
"""The data under which the values of a convention give different results."""


@dataclass(frozen=True)
class Convention:
    """A convention with its possible values, of which the first is the default.

    Attributes
    ----------
    name : str
    values : tuple
    level : {"list", "metric", "mean"}
        Whether it changes the lists, the formula or the mean over users.
    """

    name: str
    values: tuple[Any, ...]
    level: Literal["list", "metric", "mean"]


def conventions(measure: Measure, grades: Sequence[float], given: Conventions) -> list[Convention]:
    """Return the conventions under which a measure can have different values.

    Parameters
    ----------
    measure : Measure
        Its own options are the defaults.
    grades : sequence of float
        The distinct relevances > 0 of the truth, increasing.
    given : Conventions
        The conventions of podium's value, which are the defaults.
    """
    of_lists = _of_lists(measure, grades, given)
    return [*of_lists, *_of_metric(measure), *_of_mean(measure, given)]


def _first(default: Any, *values: Any) -> tuple[Any, ...]:
    """Return values, the default first."""
    return (default, *(value for value in values if value != default))


def _of_lists(
    measure: Measure, grades: Sequence[float], given: Conventions
) -> Iterator[Convention]:
    metric = measure.metric
    has_average = metric.linear or metric.half_pairs
    ties = ("worst", "best", "id", *(["average"] if has_average else []))
    orders = (*ties, *(["threshold"] if metric.thresholds else []))
    yield Convention("ties", _first(given.ties, *orders), "list")
    yield Convention("single_precision", _first(given.single_precision, False, True), "list")
    unjudged = given.unjudged if given.unjudged == "skip" else "negative"
    yield Convention("unjudged", _first(unjudged, "negative", "skip"), "list")
    yield Convention("unretrieved", _first(given.unretrieved, "count", "drop"), "list")
    yield Convention("score_above", _first(given.score_above, None, 0.0), "list")
    min_relevance = given.min_relevance
    threshold = 1.0 if min_relevance is None else min_relevance
    others = [grade for grade in grades if grade != threshold][:_MOST_GRADES]
    yield Convention("min_relevance", (threshold, *others), "list")
    if metric.graded and min_relevance is not None:
        usual, other = (None, "keep") if given.low_grades == "zero" else ("keep", "zero")
        yield Convention("low_grades", (usual, other), "list")
    elif metric.graded and grades and grades[0] < threshold:
        yield Convention("low_grades", (None, "zero"), "list")


def _of_metric(measure: Measure) -> Iterator[Convention]:
    values_of_option = {**measure.metric.options, **dict(measure.options)}
    for name, default in values_of_option.items():
        values = (False, True) if isinstance(default, bool) else _choices(measure, name)
        if len(values) > 1:
            others = (value for value in values if value != default)
            yield Convention(name, (default, *others), "metric")


def _choices(measure: Measure, option: str) -> tuple[Any, ...]:
    is_text = isinstance(measure.metric.options[option], str)
    return choices(measure.metric, option) if is_text else ()


def _of_mean(measure: Measure, given: Conventions) -> Iterator[Convention]:
    defaults = {"missing": given.missing, "undefined": given.undefined}
    for name, values in MEANS.items():
        if name != "pooled" or measure.metric.weights is not None:
            default = defaults.get(name)
            ordered = _first(default, *values) if default in values else values
            yield Convention(name, ordered, "mean")


def separated_by(convention: str) -> str:
    """Return the data that show a convention; a metric of another package can have its own."""
    return SEPARATED_BY.get(convention, f"lists whose value depends on {convention}")


def combinations(axes: Sequence[Convention]) -> Iterator[dict[str, Any]]:
    """Return every combination of the values of conventions."""
    for values in product(*(axis.values for axis in axes)):
        yield dict(zip((axis.name for axis in axes), values, strict=True))


def with_options(measure: Measure, choice: Choice) -> Measure:
    """Return the measure with the options that a choice contains."""
    defaults = measure.metric.options
    values = {
        **dict(measure.options),
        **{name: choice[name] for name in defaults if name in choice},
    }
    changed = sorted((name, value) for name, value in values.items() if value != defaults[name])
    return Measure(measure.name, measure.k, tuple(changed))


class Sums(NamedTuple):
    """The sums from which the mean of values of users follows, under each rule.

    Attributes
    ----------
    total : float
        The sum of defined values.
    n_defined, n_undefined : int
    """

    total: float
    n_defined: int
    n_undefined: int

    @classmethod
    def of(cls, values: PerGroup) -> Sums:
        """Sum values, nan if undefined."""
        is_defined = ~np.isnan(values)
        n_defined = int(is_defined.sum())
        total = float(values[is_defined].sum())
        return cls(total, n_defined, values.size - n_defined)

    def mean(self, undefined: str) -> float:
        """Return the mean under a rule for undefined values; nan if nothing counts."""
        if undefined == "skip":
            return self.total / self.n_defined if self.n_defined else np.nan
        n_users = self.n_defined + self.n_undefined
        total = self.total + (self.n_undefined if undefined == "one" else 0.0)
        return total / n_users if n_users else np.nan


def pooled_mean(values: PerGroup, weights: PerGroup) -> float:
    """Return the sum of value x weight over the sum of weights of defined values."""
    is_defined = ~np.isnan(values)
    total = weights[is_defined].sum()
    return float((values[is_defined] * weights[is_defined]).sum() / total) if total else np.nan
