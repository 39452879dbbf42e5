"""Estimates of measures over the whole ranking from sampled ranks, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from podium import _check
from podium._json import plain
from podium.errors import ArgumentError
from podium.evaluation.stats import Interval
from podium.metrics import ByMeasure, Measure
from podium.report import Report, Table, estimates
from podium.report.pictures import Pictures, chosen_measure, estimated
from podium.report.results import Result
from podium.report.views import Numbers, View
from podium.sampled import _uncertainty
from podium.sampled._request import (
    EVALUATE,
    conventions,
    read_request,
    read_resamples,
    require_kind,
)
from podium.sampled._uncertainty import IntervalOf
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.distribution import depends_on_order, read_measure
from podium.sampled.estimators import ErrorFrom, Estimator, get
from podium.sampled.ranks import SampledRanks

N_BOOTSTRAP = 200
"""The number of bootstrap fits. It determines a standard error to about 5 %."""


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
        `identification_bounds`, or `evaluate_scan` for scans. The interval of the default estimator
        lies inside.
    prior_decides : bool
        Whether the estimate depends more on the method's prior than on the ranks, because the share
        of users in the first ranks is uncertain by a factor of 20 or more, given the ranks. The
        interval then contains all shares that are compatible with the ranks. `Smooth` sets it, and
        scans and strata do, by a rule of their own; see `evaluate_scan`.
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
        name = str(read_measure(measure))
        if name not in self.estimates:
            raise ArgumentError(
                f"{name} was not estimated. The estimated measures are: {', '.join(self.measures)}."
            )
        return self.estimates[name]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/estimate.json); nan becomes None."""
        return {
            "measures": {name: values.as_json() for name, values in self.estimates.items()},
            "conventions": dict(self.conventions),
        }

    def _report(self, titles: Any) -> Report:
        return estimates.estimate_page(self.as_json())

    def _pictures(self, measure: Any) -> Pictures:
        result = self.as_json()
        name = chosen_measure(result["measures"], measure)
        only = "" if measure is None else name
        means = {name: {"": estimate} for name, estimate in result["measures"].items()}
        return {
            "estimates": estimated.estimates(result, only),
            **estimated.cutoffs(means, only),
        }

    def _view(self) -> View:
        return estimates.estimate_view(self.as_json())

    def _table(self) -> Table:
        return estimates.estimate_table(self.as_json())

    def _numbers(self) -> Numbers:
        return estimates.estimate_numbers(self.as_json())


def error_from(estimator: str | Estimator, ranks: SampledRanks) -> ErrorFrom:
    """Return the source of an estimate's standard error, as in `Estimate.error_from`."""
    return _uncertainty.source_of_error(get(estimator), ranks)


def evaluate(
    ranks: SampledRanks,
    measures: str | Measure | Iterable[str | Measure],
    *,
    estimator: str | Estimator = "auto",
    level: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    bounds: bool = True,
    seed: int = 0,
) -> SampledEvaluation:
    """Estimate measures for the ranking of all items, with standard errors, intervals and bounds.

    Parameters
    ----------
    ranks : SampledRanks
        The observed ranks. All users have the same weight. Only `Smooth` uses histories, and only
        if they differ between users and not all items were drawn. The conventions of the result
        state whether they were used.
    measures : str, Measure, or several
        The measures to estimate. The target's rank must determine them; see
        `RankDistribution.expect`.
    estimator : str or Estimator
        The method; see `get`. "auto" is the smooth density of log-ranks.
    level : float
        The coverage of intervals and bounds, between 0 and 1.
    n_bootstrap : int
        The number of fits to resampled users, at least 2. It is used for methods without another
        formula for their standard error.
    bounds : bool
        Whether to compute bounds: the range of all values that the ranks allow. They take
        up to a second per measure, and some seconds for samples of thousands of items.
    seed : int
        The seed of the bootstrap.

    Returns
    -------
    SampledEvaluation

    Raises
    ------
    ArgumentError
        If the estimator or a measure is unknown, if a measure needs more than ranks or is
        undefined in this catalogue, or if the estimator does not support the design. If users'
        catalogues differ in size, and the method cannot estimate the measure then; see
        `RankDistribution.expect`.

    Notes
    -----
    Users are treated as a sample from a population of similar users, and the drawn items as one
    of many possible draws. The variance of a mean of users' values, and the variance over
    resampled users, include both.
    `Smooth` has its own standard errors, which also include the uncertainty about the exact
    ranks. A mean outside the bounds with confidence 0.95 is moved to the nearest bound, with
    every `level` and with ``bounds=False`` too. Its intervals are for the exact mean. They contain
    the mean, and their other values lie inside the bounds at the level. If the ranks hold almost
    no information about the top, `prior_decides` is true, and bounds are computed even with
    ``bounds=False``. They are also computed if the distribution of the fit is not known to be
    within them, as for samples or catalogues of several sizes.
    The intervals of the other methods are for the expectation of the estimate, and their bias is
    not included. `interval_of` is "exact" or "expectation" accordingly. If all items were drawn,
    the ranks are exact, and the intervals are those of `podium.evaluation`. Bootstrap intervals are
    symmetric in the logarithm of the estimate if the estimate is positive and no resampled estimate
    is negative. In 120 simulations of recall@10 with MLE (MovieLens 1M, 1,500 users, 99 negatives),
    94 % of them contain the expectation, against 91 % of symmetric intervals. With one user, the
    standard error and the interval are undefined (nan) for every method, because one user gives no
    information about others. `Smooth.posterior` has the standard error and the interval of that one
    user.

    Examples
    --------
    >>> ranks = SampledRanks([1] * 30 + [2] * 10 + [5] * 5 + [9, 20, 40, 60, 80], 99, 1000)
    >>> found = evaluate(ranks, ["recall@10", "ndcg@10"], estimator="bv(gamma=0.1)").estimates
    >>> low, high = found["recall@10"].bounds
    >>> low < found["recall@10"].mean < high, found["recall@10"].interval_of
    (True, 'expectation')
    """
    require_kind(ranks, SampledRanks, "ranks", EVALUATE)
    method, parsed = read_request(estimator, measures, (ranks,))
    level = _check.open_fraction(level, "level")
    n_bootstrap, seed = read_resamples(n_bootstrap), _check.seed(seed)
    with _uncertainty.distinct_warnings():
        all_bounds = [
            identification_bounds(ranks, measure, confidence=level) if bounds else None
            for measure in parsed
        ]
        summaries, source = _uncertainty.means_and_errors(
            method, ranks, parsed, level, n_bootstrap, seed, all_bounds
        )
    shared_fields = (
        level,
        ranks.n_users,
        str(method),
        *_uncertainty.interval_kind(method, ranks),
        source,
    )
    n_indistinguishable = min(design.n_items // design.n_negatives for design, _ in ranks.designs)
    return SampledEvaluation(
        {
            str(measure): Estimate(
                *summary[:3],
                *shared_fields,
                measure_bounds,
                summary.prior_decides,
                depends_on_order(measure, ranks.most_items, n_indistinguishable),
            )
            for measure, summary, measure_bounds in zip(parsed, summaries, all_bounds, strict=True)
        },
        conventions(method, ranks, seed, n_bootstrap if source == "bootstrap" else None),
    )
