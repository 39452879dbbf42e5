"""Estimates of measures from scans, with their uncertainty, and comparisons of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats import Interval
from podium.evaluation.stats.intervals import inside, std_error, t_interval, t_p_value, t_statistic
from podium.metrics import Measure
from podium.sampled._request import extent, read_measures, require_defined, require_several
from podium.sampled.bounds import Bounds
from podium.sampled.comparing import SampledComparison, SampledComparisons
from podium.sampled.design import Floats
from podium.sampled.difference import Difference
from podium.sampled.distribution import RANK_AUC, rank_weights
from podium.sampled.evaluating import Estimate, SampledEvaluation
from podium.sampled.scanning.bounds import scan_bounds
from podium.sampled.scanning.open_targets import OpenTargets
from podium.sampled.scanning.ranks import ScannedRanks


def evaluate_scan(
    ranks: ScannedRanks,
    measures: str | Measure | Iterable[str | Measure],
    *,
    level: float = 0.95,
) -> SampledEvaluation:
    """Estimate measures for the ranking of all items from a scan.

    Parameters
    ----------
    ranks : ScannedRanks
        The result of `scan`.
    measures : str, Measure, or several
        The measures to estimate, with a cutoff of at most `ranks.k`. The target's rank must
        determine them.
    level : float
        The coverage of intervals, between 0 and 1.

    Returns
    -------
    SampledEvaluation

    Raises
    ------
    ArgumentError
        If a measure has no cutoff or one above `ranks.k`, if the rank of the target does not
        determine it, or if it is undefined in this catalogue.

    Notes
    -----
    Settled targets have exact values. An open target counts with its expected value, given the
    listed and the drawn items above it. The number of unscored items above it is beta-binomial with
    parameters that all targets share; see `podium.sampled.scanning.open_targets`. Intervals are for
    the mean of a population of similar users. They include the variation between users, the chance
    of the draws, and the uncertainty of the shared parameters. If this last part is larger than the
    others, `prior_decides` is true, and the interval contains the bounds.
    With an audit, the mean is corrected by the mean error of the values of audited targets, whose
    exact values are known. It is then unbiased, whatever the proxy and the distribution. The error
    of the correction replaces that of the parameters.
    The bounds contain the exact mean of these users, whatever the distribution of unscored items.
    At the upper bound, no unscored item is above an open target. The lower bound follows from the
    random items and the audit, and may fail by the chance of the draws, with a probability of at
    most (1 - level) / 2; see `podium.sampled.scanning.bounds`. Without random items and without an
    audit, all unscored items are above open targets at the lower bound.

    Examples
    --------
    >>> ranks = ScannedRanks([10, 2] * 50, [20, 30] * 50, [0, 0] * 50, [0, 70] * 50, 1000, k=10)
    >>> recall = evaluate_scan(ranks, "recall@10").estimates["recall@10"]
    >>> recall.bounds.low <= recall.mean <= recall.bounds.high <= 0.5
    True
    """
    parsed, level = _read(measures, (ranks,)), _check.open_fraction(level, "level")
    return _evaluation(ranks, _measured_all(ranks, parsed, level), level)


def compare_scans(
    models: Mapping[str, ScannedRanks],
    measures: str | Measure | Iterable[str | Measure],
    *,
    level: float = 0.95,
) -> SampledComparisons:
    """Estimate measures of several models from scans, and compare each model with the first.

    Parameters
    ----------
    models : mapping of str to ScannedRanks
        Two or more scans of the same targets, by the name of the model. The proxies and budgets may
        differ.
    measures, level
        The parameters of `evaluate_scan`.

    Returns
    -------
    SampledComparisons

    Raises
    ------
    ArgumentError
        If there are fewer than two models, if the users or catalogues differ, or for a reason
        listed in `evaluate_scan`.
    """
    require_several(models, "evaluate_scan")
    parsed = _read(measures, tuple(models.values()))
    level = _check.open_fraction(level, "level")
    baseline, *others = models
    for name in others:
        _refuse_other_targets(models[baseline], models[name], (baseline, name))
    measured = {name: _measured_all(ranks, parsed, level) for name, ranks in models.items()}
    evaluations = {
        name: _evaluation(ranks, measured[name], level) for name, ranks in models.items()
    }
    conventions = {name: dict(e.conventions) for name, e in evaluations.items()}
    comparisons = {
        name: SampledComparison(
            {m: _difference(a, measured[name][m], level) for m, a in measured[baseline].items()},
            {"a": conventions[baseline], "b": conventions[name]},
        )
        for name in others
    }
    return SampledComparisons(evaluations, comparisons)


@dataclass(frozen=True, eq=False)
class MeasuredScan:
    """A measure of a scan: values of users, and the part of the error that they do not show.

    Attributes
    ----------
    k : int
        The largest cutoff of the scan.
    values : float64, (n_users,)
        The expected value of each user.
    correction, other_variance : float
        The correction of their mean by an audit, and its variance. Without an audit, the correction
        is 0, and the variance is that of the fit.
    bounds : Bounds
        The smallest and the largest mean that the scored items allow.
    largest : float
        The largest value of a user.
    is_audited, is_settled : bool
        Whether there is an audit, and whether no target is open.
    """

    k: int
    values: Floats
    correction: float
    other_variance: float
    bounds: Bounds
    largest: float
    is_audited: bool
    is_settled: bool

    @property
    def mean(self) -> float:
        """The corrected mean, inside the bounds."""
        mean = float(self.values.mean()) + self.correction
        return min(max(mean, self.bounds.low), self.bounds.high)

    @property
    def is_biased(self) -> bool:
        """Whether the mean depends on the distribution of unscored items."""
        return not (self.is_audited or self.is_settled)

    @property
    def prior_decides(self) -> bool:
        """Whether the error of the fit is the larger part."""
        return not self.is_audited and self.other_variance > std_error(self.values) ** 2


def _measured_all(
    ranks: ScannedRanks, measures: Iterable[Measure], level: float
) -> dict[str, MeasuredScan]:
    """Fit the distribution of unscored items once, and measure by it."""
    fit = OpenTargets.fit(ranks)
    return {str(measure): _measured(measure, ranks, fit, level) for measure in measures}


def _measured(
    measure: Measure, ranks: ScannedRanks, fit: OpenTargets, level: float
) -> MeasuredScan:
    weights = rank_weights(measure, int(ranks.n_items.max()))[: ranks.k]
    values = fit.values(ranks, weights)
    is_audited = bool(ranks.is_audited.any())
    if is_audited:
        correction, variance = _correction(ranks, weights, values)
    else:
        gradient = fit.gradient(ranks, weights)
        correction, variance = 0.0, float(gradient @ fit.covariance @ gradient)
    return MeasuredScan(
        ranks.k,
        ranks.means_of_users(values),
        correction,
        variance,
        scan_bounds(ranks, weights, fit, (1.0 + level) / 2),  # so that those of two models hold
        float(weights.max(initial=0.0)),
        is_audited,
        not ranks.is_open.any(),
    )


def _correction(ranks: ScannedRanks, weights: Floats, values: Floats) -> tuple[float, float]:
    """Return the mean error of the values of audited targets, and its variance."""
    audited, n_open = np.flatnonzero(ranks.is_audited), int(ranks.is_open.sum())
    exact = np.append(weights, 0.0)[np.minimum(ranks.above_all[audited], weights.size)]
    errors = n_open * ranks.shares_of_users[audited] * (exact - values[audited])
    if audited.size == n_open:
        return float(errors.mean()), 0.0
    variance = float(errors.var(ddof=1)) / audited.size * (1 - audited.size / n_open)
    return float(errors.mean()), variance


def _read(
    measures: str | Measure | Iterable[str | Measure], scans: tuple[ScannedRanks, ...]
) -> list[Measure]:
    parsed = read_measures(measures)
    k = min(ranks.k for ranks in scans)
    for measure in parsed:
        if measure.k is None or measure.k > k or measure.name == RANK_AUC:
            raise ArgumentError(
                f"{measure} cannot be estimated from a scan to k = {k}, which settles targets with "
                f"{k} items above them. Use a measure with a cutoff of at most {k}, or scan with a "
                "larger k."
            )
    require_defined(parsed, min(int(ranks.n_items.min()) for ranks in scans))
    return parsed


def _evaluation(
    ranks: ScannedRanks, measured: Mapping[str, MeasuredScan], level: float
) -> SampledEvaluation:
    estimates = {name: _estimate(scan, level) for name, scan in measured.items()}
    return SampledEvaluation(estimates, _conventions(ranks))


def _estimate(scan: MeasuredScan, level: float) -> Estimate:
    error = float(np.sqrt(std_error(scan.values) ** 2 + scan.other_variance))
    low, high = inside(t_interval(scan.mean, error, scan.values.size, level), (0.0, scan.largest))
    if scan.prior_decides:
        low, high = min(low, scan.bounds.low), max(high, scan.bounds.high)
    return Estimate(
        scan.mean,
        error,
        Interval(low, high),
        level,
        scan.values.size,
        _method(scan.k),
        scan.is_biased,
        "exact",
        "posterior" if scan.is_biased else "users",
        scan.bounds,
        scan.prior_decides,
    )


def _difference(a: MeasuredScan, b: MeasuredScan, level: float) -> Difference:
    variance = std_error(b.values - a.values) ** 2 + a.other_variance + b.other_variance
    difference, error, n_users = b.mean - a.mean, float(np.sqrt(variance)), a.values.size
    is_biased, largest = a.is_biased or b.is_biased, max(a.largest, b.largest)
    return Difference(
        a.mean,
        b.mean,
        difference,
        error,
        inside(t_interval(difference, error, n_users, level), (-largest, largest)),
        level,
        n_users,
        _method(b.k),
        is_biased,
        "exact",
        "posterior" if is_biased else "users",
        1.0 - t_p_value(t_statistic(difference, error), n_users) / 2,
        Bounds(b.bounds.low - a.bounds.high, b.bounds.high - a.bounds.low),
        a.prior_decides or b.prior_decides,
    )


def _method(k: int) -> str:
    return f"scan(k={k})"


def _conventions(ranks: ScannedRanks) -> dict[str, Any]:
    """Return the method and the design as JSON values, in the form of a sampled evaluation."""
    return {
        "method": _method(ranks.k),
        "n_users": ranks.n_users,
        "n_items": extent(ranks.n_items),
        "n_negatives": extent(ranks.n_scored),
        "replacement": False,
        "stages": None,
        "history": None,
        "n_bootstrap": None,
        "seed": 0,
    }


def _refuse_other_targets(a: ScannedRanks, b: ScannedRanks, names: tuple[str, str]) -> None:
    if a.user.size != b.user.size or (a.user != b.user).any() or (a.n_items != b.n_items).any():
        raise ArgumentError(
            f"{names[0]} and {names[1]} must be scans of the same targets, with the same users and "
            "numbers of items in the same order. Scan both with the same targets and exclude."
        )
