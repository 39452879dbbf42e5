"""The conventions that can differ between two computations of a measure, with their values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np

from podium.metrics import Measure
from podium.metrics.measures import choices
from podium.protocol import Conventions
from podium.protocol.conventions import is_excluded
from podium.ranking import relevance_rule
from podium.types import Counts, PerGroup

Choice: TypeAlias = Mapping[str, Any]
"""A value of each convention, by its name."""

_MOST_GRADES = 5  # further thresholds are left out

LISTS: dict[str, tuple[Any, ...]] = {
    "ties": ("worst", "best", "id", "average", "threshold"),
    "single_precision": (False, True),
    "unjudged": ("negative", "skip"),
    "unretrieved": ("count", "drop"),
    "score_above": (None, 0.0),
}
"""The conventions of lists with a few values, which do not depend on the data."""

MEANS: dict[str, tuple[Any, ...]] = {
    "missing": ("zero", "skip"),
    "undefined": ("skip", "zero", "one"),
    "pooled": (False, True),
}
"""The conventions of the mean over users."""

_OTHER_ODDS = 0.03

_NO_VALUE = ("error", "bounds")
"""The rules under which a list, or the mean, has no single value."""

_ODDS = tomllib.loads(files("podium.decide.explain").joinpath("grid.toml").read_text("utf-8"))


def conventions(
    measure: Measure, grades: Sequence[float], given: Conventions
) -> dict[str, tuple[Any, ...]]:
    """Return the possible values of each convention of a measure; the first is the default.

    Parameters
    ----------
    measure : Measure
        Its own options are the defaults.
    grades : sequence of float
        The distinct relevances > 0 of the truth, increasing.
    given : Conventions
        The conventions of podium's value, which are the defaults.
    """
    used = vars(given)
    axes = {name: _possible(name, values, measure, used) for name, values in LISTS.items()}
    threshold = used["min_relevance"]
    others = [grade for grade in grades if grade != (threshold or 1.0)][:_MOST_GRADES]
    axes["min_relevance"] = (threshold, *others)
    if measure.metric.graded and (threshold is not None or (grades and grades[0] < 1)):
        rule, (_, usual) = used["low_grades"], relevance_rule(threshold, None)
        other = "keep" if rule == "zero" else "zero"
        axes["low_grades"] = (None if rule == usual else rule, other)
    for name, default in {**measure.metric.options, **dict(measure.options)}.items():
        values: tuple[Any, ...] = ()
        if isinstance(default, bool):
            values = (False, True)
        elif isinstance(default, str):
            values = choices(measure.metric, name)
        if len(values) > 1:
            axes[name] = _first(default, values)
    of_mean = {n: v for n, v in MEANS.items() if n != "pooled" or measure.metric.weights}
    return axes | {n: _possible(n, values, measure, used) for n, values in of_mean.items()}


def _possible(
    name: str, values: tuple[Any, ...], measure: Measure, used: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return the values of a convention that the measure allows, that of yours first."""
    possible = [v for v in values if not is_excluded({name: v}, measure)]
    default = used.get(name, values[0])
    return _first(values[0] if default in _NO_VALUE else default, possible)


def _first(default: Any, values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values, the default first."""
    return (default, *(value for value in values if value != default))


def odds_of(convention: str, value: Any) -> float:
    """Return how often an implementation has a value, compared with the default."""
    odds = _ODDS.get(convention, {})
    return odds.get(str(value).lower(), odds.get("other", _OTHER_ODDS))


def with_options(measure: Measure, choice: Choice) -> Measure:
    """Return the measure with the options that a choice contains."""
    defaults = measure.metric.options
    values = {
        **dict(measure.options),
        **{name: choice[name] for name in defaults if name in choice},
    }
    changed = sorted((name, value) for name, value in values.items() if value != defaults[name])
    return Measure(measure.name, measure.k, tuple(changed))


def pooled_mean(values: PerGroup, weights: PerGroup | Counts) -> float:
    """Return the sum of value x weight over the sum of weights of defined values."""
    is_defined = ~np.isnan(values)
    total = weights[is_defined].sum()
    return float((values[is_defined] * weights[is_defined]).sum() / total) if total else np.nan
