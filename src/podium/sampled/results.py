"""The results of estimates: means with their uncertainty, and differences between models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

from podium import _check
from podium._json import plain
from podium.errors import ArgumentError
from podium.evaluation.stats import Interval
from podium.metrics import Measure
from podium.metrics.measures import ByMeasure
from podium.results import Result
from podium.sampled.bounds import Bounds
from podium.sampled.distribution import read_measure
from podium.sampled.estimators import ErrorFrom
from podium.sampled.fits import IntervalOf

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Estimate:
    """An estimate of a measure's mean over users, with its uncertainty.

    Attributes
    ----------
    mean, std_error : float
        The estimate and its standard error, in units of the measure. The standard error covers the
        choice of users and of drawn items together.
    interval : Interval
        The confidence interval of the quantity that `interval_of` names, with coverage `level`.
    level : float
    n_groups : int
        The number of users.
    method : str
        The estimator, as a text that `get` reads.
    biased : bool
        Whether the expectation of the estimator differs from the exact mean for any number of
        users.
    interval_of : {"exact", "expectation"}
        "exact" is the mean for a ranking of all items. "expectation" is the expectation of the
        estimate, which can be far from the exact mean. It is used for biased methods that do not
        estimate their bias.
    error_from : {"users", "bootstrap", "posterior"}
        "users" is the variance of users' values, if the estimate is their mean. "bootstrap" is
        the variance of fits to resampled users. "posterior" is the method's own standard error,
        which includes the uncertainty that a sample leaves.
    bounds : Bounds or None
        The smallest and the largest exact mean that the observed ranks allow; see
        `identification_bounds`, or `evaluate` for scans. The interval of the default estimator
        lies inside.
    prior_decides : bool
        Whether the estimate depends more on the method's prior than on the ranks, because the share
        of users in the first ranks is uncertain by a factor of 20 or more, given the ranks. The
        interval then contains all shares that are compatible with the ranks. `Smooth` sets it, and
        scans and strata do, by a rule of their own; see `evaluate`.
    order_assumed : bool
        Whether the measure depends on the order of the first n_items / n_negatives ranks, for
        any method. Samples hardly distinguish these ranks: a peak at rank 1 is assumed and not
        observed.
    """

    mean: float
    std_error: float
    interval: Interval
    level: float
    n_groups: int
    method: str
    biased: bool
    interval_of: IntervalOf
    error_from: ErrorFrom
    bounds: Bounds | None
    prior_decides: bool = False
    order_assumed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form: None for nan, a list for an interval."""
        # `Evaluation` has the same key. Here every target has a rank.
        return {**plain(asdict(self)), "n_undefined": 0}


@dataclass(frozen=True)
class Difference:
    """The difference of a measure between models b and a, on the same users.

    Attributes
    ----------
    a, b : float
        The estimates of the two models.
    difference, std_error : float
        The difference b - a and its standard error, in units of the measure.
    interval : Interval
        The confidence interval of the quantity that `interval_of` names, with coverage `level`.
    level : float
    n_groups : int
        The number of users.
    method : str
    biased : bool
    interval_of : {"exact", "expectation"}
    error_from : {"users", "bootstrap", "posterior"}
        The source of the standard error. This and the three attributes before are described in
        `Estimate`.
    sign_probability : float
        The probability that the sign of the difference is right, for the exact means or the
        expectations, according to `interval_of`. It is 0.5 for a difference of 0, and nan if there
        is no standard error. For scans and strata, it is also nan where `prior_decides`: their
        errors do not include the errors of the assumptions.
    bounds : Bounds or None
        The smallest and the largest difference of exact means that are compatible with the observed
        ranks. The interval of the default estimator lies inside these bounds.
    prior_decides : bool
        Whether the method's prior decides more than the ranks for at least one of the models; see
        `Estimate`. The interval of scans and strata then contains all differences that the ranks
        allow.
    """

    a: float
    b: float
    difference: float
    std_error: float
    interval: Interval
    level: float
    n_groups: int
    method: str
    biased: bool
    interval_of: IntervalOf
    error_from: ErrorFrom
    sign_probability: float
    bounds: Bounds | None
    prior_decides: bool = False

    @property
    def either_sign(self) -> bool | None:
        """Whether the observed ranks allow either model to be better; None without bounds."""
        return None if self.bounds is None else self.bounds.low < 0 < self.bounds.high

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form: None for nan, a list for an interval."""
        fields = {name: value for name, value in asdict(self).items() if name not in ("a", "b")}
        return {**plain(fields), "either_sign": self.either_sign}


def _entry(entries: Mapping[str, Entry], measure: str | Measure, what: str) -> Entry:
    """Return the entry of one measure, or raise with those that exist."""
    name = str(read_measure(measure))
    if name not in entries:
        raise ArgumentError(
            f"{name} was not {what}. The {what} measures are: {', '.join(entries)}."
        )
    return entries[name]


@dataclass(frozen=True, eq=False, repr=False)
class SampledEvaluation(Result):
    """Estimates of measures from the same sampled ranks.

    Attributes
    ----------
    estimates : dict of str to Estimate
        The estimates by the text of the measure.
    conventions : dict
        The method and the design of the samples.
    """

    estimates: dict[str, Estimate]
    conventions: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimates", ByMeasure(self.estimates))

    @property
    def measures(self) -> list[str]:
        """The measures as text, in the order in which they were passed."""
        return list(self.estimates)

    @property
    def means(self) -> dict[str, float]:
        """The estimate of each measure."""
        return ByMeasure({name: estimate.mean for name, estimate in self.estimates.items()})

    def summary(self, measure: str | Measure) -> Estimate:
        """Return the estimate of one measure."""
        return _entry(self.estimates, measure, "estimated")

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/estimate.json); nan becomes None."""
        return {
            "measures": {name: values.as_json() for name, values in self.estimates.items()},
            "conventions": dict(self.conventions),
        }


@dataclass(frozen=True, eq=False, repr=False)
class SampledComparison(Result):
    """Estimates of several models, and the difference of each from the first.

    Attributes
    ----------
    evaluations : dict of str to SampledEvaluation
        The estimates by the name of the model; the first is the baseline.
    differences : dict of str to dict of str to Difference
        The differences from the baseline by the name of the other model and the text of the
        measure.
    conventions : dict of str to dict
        The method and the design of the samples of each model.
    by_row : bool
        Whether the samples have no users, so that users are matched by row.
    """

    evaluations: dict[str, SampledEvaluation]
    differences: dict[str, dict[str, Difference]]
    conventions: dict[str, dict[str, Any]]
    by_row: bool = False

    _test: ClassVar[str] = "the intervals of comparison.differences"

    def __post_init__(self) -> None:
        by_name = {name: ByMeasure(values) for name, values in self.differences.items()}
        object.__setattr__(self, "differences", by_name)

    @property
    def baseline(self) -> str:
        """The name of the first model, with which the other models are compared."""
        return next(iter(self.evaluations))

    def summary(self, measure: str | Measure, model: str | None = None) -> Difference:
        """Return the difference of a model in one measure; by default, of the second model."""
        others = list(self.differences)
        name = others[0] if model is None else _check.choice(model, "model", others)
        return _entry(self.differences[name], measure, "compared")

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/estimate-comparison.json); nan becomes None."""
        return {
            "runs": list(self.evaluations),
            "baseline": self.baseline,
            "measures": {
                name: self._measure(name) for name in self.evaluations[self.baseline].estimates
            },
            "conventions": {name: dict(of_model) for name, of_model in self.conventions.items()},
        }

    def _measure(self, measure: str) -> dict[str, Any]:
        tests = {run: tests[measure].as_json() for run, tests in self.differences.items()}
        return {
            "higher_is_better": True,  # true of all measures that a rank determines
            "means": {run: e.estimates[measure].as_json() for run, e in self.evaluations.items()},
            "differences": [
                {"run": run, "baseline": self.baseline, **test} for run, test in tests.items()
            ],
        }
