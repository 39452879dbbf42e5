"""Estimates of measures over the whole ranking from sampled ranks, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from podium import _check
from podium._json import plain
from podium.errors import ArgumentError
from podium.evaluation.stats import Interval
from podium.metrics import ByMeasure, Measure
from podium.report import Report, Table, estimates
from podium.report.pictures import Pictures, chosen_measure, estimated
from podium.report.results import Result
from podium.report.views import Numbers, View
from podium.sampled._request import read_measures, read_resamples
from podium.sampled._uncertainty import (
    IntervalOf,
    Resampler,
    distinct_warnings,
    source_of_error,
)
from podium.sampled.bounds import Bounds
from podium.sampled.distribution import read_measure
from podium.sampled.estimators import ErrorFrom, Estimator, get
from podium.sampled.fits import Fit, MeanOfUsers, RanksFit
from podium.sampled.ranks import SampledRanks
from podium.sampled.scanning.measured import ScanFit
from podium.sampled.scanning.ranks import ScannedRanks
from podium.sampled.shared.means import SharedFit
from podium.sampled.shared.ranks import SharedRanks
from podium.sampled.shared.strata import NAIVE, STRATA, StrataFit

Observations: TypeAlias = SampledRanks | SharedRanks | ScannedRanks

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
    return source_of_error(get(estimator), ranks)


def evaluate(
    ranks: Observations,
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
    ranks : SampledRanks, SharedRanks or ScannedRanks
        The observations. All users have the same weight. Measures of `SharedRanks` are those of
        whole rankings, in which users have all their targets.
        Only `Smooth` uses histories, and only if they differ between users and not all items were
        drawn. The conventions of the result state whether they were used.
    measures : str, Measure, or several
        The measures to estimate. The target's rank must determine them; see
        `RankDistribution.expect`. For whole rankings, they must be sums over the targets of a user,
        as pap@k, recall, precision, ndcg, ap, rr and hit_rate are. For scans, they must have a
        cutoff of at most `ScannedRanks.k`.
    estimator : str or Estimator
        The method; see `get`. "auto" is the smooth density of log-ranks. Scans and strata have a
        method of their own, which is "auto"; strata also support "naive".
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

    Warns
    -----
    PodiumWarning
        If the list of a scan's proxy is hardly better than a random one: the mean share of listed
        items above open targets is less than twice that of random items.

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

    *Whole rankings.* The term of the i-th best target is a function of the number of other items
    above it. The distribution of this number is estimated for each i, by the estimator for single
    targets. Users count in proportion to the size of their terms, which depends on their number of
    targets. Methods that are means over users give each user the sum of the values of the targets.
    Positions with fewer than 100 targets are estimated together. The targets of a user depend on
    each other. Standard errors therefore come from users: from the sum of the effects of their
    targets (smooth), their values, or resamples of users. What samples leave uncertain about the
    first ranks is counted as if it were the same for all positions. The bounds are the sums of
    those of the positions, which hold together at the level.

    *Scans.* Settled targets have exact values. An open target counts with its expected value, given
    the listed and the drawn items above it. The number of unscored items above it is beta-binomial
    with parameters that all targets share; see `podium.sampled.scanning.open_targets`. Intervals
    are for the mean of a population of similar users. They include the variation between users, the
    chance of the draws, and the uncertainty of the shared parameters. If this last part is larger
    than the others, or if the lists have fewer than 1.5 k items, `prior_decides` is true, and the
    interval contains the bounds.
    Users have the same weight in the fit of the shared parameters, as in the mean. If users have
    several targets, these depend on each other, and the standard error comes from the sum of the
    effects of each user's targets.
    With an audit, the mean is corrected by the mean error of the values of audited targets, whose
    exact values are known. It is then unbiased, whatever the proxy and the distribution, except
    that a mean beyond the bounds is moved to the bound, which makes its error smaller. The error
    of the correction replaces that of the parameters. Its variance is a weighted mean of that of
    the audited targets and that of the fitted distribution, which counts as five targets: a small
    audit often has no target with an error, and its own variance would then be too small.
    The bounds contain the exact mean of these users, whatever the distribution of unscored items.
    At the upper bound, no unscored item is above an open target. The lower bound follows from the
    random items and the audit, and may fail by the chance of the draws, with a probability of at
    most (1 - level) / 2; see `podium.sampled.scanning.bounds`. Without random items and without an
    audit, all unscored items are above open targets at the lower bound.

    Examples
    --------
    >>> ranks = SampledRanks([1] * 30 + [2] * 10 + [5] * 5 + [9, 20, 40, 60, 80], 99, 1000)
    >>> found = evaluate(ranks, ["recall@10", "ndcg@10"], estimator="bv(gamma=0.1)").estimates
    >>> low, high = found["recall@10"].bounds
    >>> low < found["recall@10"].mean < high, found["recall@10"].interval_of
    (True, 'expectation')
    >>> scanned = ScannedRanks([10, 2] * 50, [20, 30] * 50, [0, 0] * 50, [0, 70] * 50, 1000, k=10)
    >>> recall = evaluate(scanned, "recall@10").estimates["recall@10"]
    >>> recall.bounds.low <= recall.mean <= recall.bounds.high <= 0.5
    True
    """
    fit, parsed = fit_of(ranks, estimator, "ranks"), read_measures(measures)
    fit.require(parsed)
    level = _check.open_fraction(level, "level")
    n_bootstrap, seed = read_resamples(n_bootstrap), _check.seed(seed)
    with distinct_warnings():
        means = [fit.mean(measure, level, bounds=bounds) for measure in parsed]
        return evaluation_of(fit, means, parsed, level, n_bootstrap, seed)


def fit_of(ranks: Observations, estimator: str | Estimator, name: str) -> Fit:
    """Return the fit of an estimator to observations of any kind."""
    method = get(estimator)
    if isinstance(ranks, SampledRanks):
        return RanksFit(method, ranks)
    if isinstance(ranks, SharedRanks) and not ranks.has_strata:
        return SharedFit(method, ranks)
    if not isinstance(ranks, SharedRanks | ScannedRanks):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"{name} must be SampledRanks, SharedRanks or ScannedRanks, got {type(ranks).__name__}."
        )
    if estimator == "auto":
        return ScanFit(ranks) if isinstance(ranks, ScannedRanks) else StrataFit(STRATA, ranks)
    if isinstance(ranks, SharedRanks) and method.name == NAIVE:
        return StrataFit(NAIVE, ranks)
    raise ArgumentError(
        f"{method} cannot be used with strata, which have a method of their own. Use 'auto' or "
        "'naive'."
        if isinstance(ranks, SharedRanks)
        else f"{method} cannot be used with scans, which have a method of their own. Use 'auto'."
    )


def evaluation_of(
    fit: Fit,
    means: Sequence[MeanOfUsers],
    measures: Sequence[Measure],
    level: float,
    n_bootstrap: int,
    seed: int,
) -> SampledEvaluation:
    """Return the estimates of one model from their means, before resamples."""
    (means,) = with_resamples([fit], [means], measures, level, n_bootstrap, seed)
    estimates = {
        str(measure): Estimate(
            mean.mean,
            mean.std_error,
            mean.interval,
            level,
            fit.n_users,
            fit.method,
            *fit.bias,
            fit.source,
            mean.bounds,
            mean.prior_decides,
            fit.orders(measure),
        )
        for measure, mean in zip(measures, means, strict=True)
    }
    n_used = n_bootstrap if fit.source == "bootstrap" else None
    return SampledEvaluation(estimates, fit.conventions(seed, n_used))


def with_resamples(
    fits: Sequence[Fit],
    means: Sequence[Sequence[MeanOfUsers]],
    measures: Sequence[Measure],
    level: float,
    n_bootstrap: int,
    seed: int,
) -> Sequence[Sequence[MeanOfUsers]]:
    """Add the errors of resampled users, who are the same for all models, if they are needed."""
    if all(fit.source != "bootstrap" for fit in fits):
        return means
    n_users = fits[0].n_users
    drawn = np.full((n_bootstrap, len(fits), len(measures)), np.nan)
    if n_users > 1:  # one user gives no information about others
        resampler = Resampler.of([fit.targets for fit in fits])
        for row, counts in enumerate(resampler.counts_of_kinds(n_bootstrap, seed)):
            for i, fit in enumerate(fits):
                drawn[row, i] = fit.resampled(measures, resampler, i, counts)
    return [
        [mean.with_resamples(drawn[:, i, m], level, n_users) for m, mean in enumerate(of_fit)]
        for i, of_fit in enumerate(means)
    ]
