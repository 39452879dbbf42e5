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
from podium.metrics import Measure, listed_measures
from podium.sampled._request import extent
from podium.sampled.bounds import Bounds
from podium.sampled.comparing import SampledComparison, SampledComparisons
from podium.sampled.design import Floats, Ints
from podium.sampled.difference import Difference
from podium.sampled.distribution import RANK_AUC, rank_weights, read_measure
from podium.sampled.evaluating import Estimate, SampledEvaluation
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
    The bounds always contain the exact mean of these users. At one bound, all unscored items are
    above the open targets, and at the other bound, none are.

    Examples
    --------
    >>> ranks = ScannedRanks([10, 2] * 50, [20, 30] * 50, [0, 0] * 50, [0, 70] * 50, 1000, k=10)
    >>> recall = evaluate_scan(ranks, "recall@10").estimates["recall@10"]
    >>> recall.bounds.low <= recall.mean <= recall.bounds.high <= 0.5
    True
    """
    parsed, level = _read(measures, (ranks,)), _check.open_fraction(level, "level")
    model = ScannedModel.of(ranks)
    estimates = {str(m): _estimate(model, m, level) for m in parsed}
    return SampledEvaluation(estimates, _conventions(ranks))


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
    if len(models) < 2:
        raise ArgumentError(
            f"models must be at least two, got {len(models)}. Use evaluate_scan for one model."
        )
    parsed = _read(measures, tuple(models.values()))
    level = _check.open_fraction(level, "level")
    baseline, *others = models
    for name in others:
        _refuse_other_targets(models[baseline], models[name], (baseline, name))
    scanned = {name: ScannedModel.of(ranks) for name, ranks in models.items()}
    evaluations = {
        name: SampledEvaluation(
            {str(m): _estimate(model, m, level) for m in parsed}, _conventions(model.ranks)
        )
        for name, model in scanned.items()
    }
    comparisons = {
        name: _comparison(scanned[baseline], scanned[name], parsed, level) for name in others
    }
    return SampledComparisons(evaluations, comparisons)


@dataclass(frozen=True, eq=False)
class ScannedModel:
    """A scan with the distribution of unscored items that was fitted to it."""

    ranks: ScannedRanks
    fit: OpenTargets

    @classmethod
    def of(cls, ranks: ScannedRanks) -> ScannedModel:
        """Fit the distribution."""
        return cls(ranks, OpenTargets.fit(ranks))

    def weights(self, measure: Measure) -> Floats:
        """Return the value of a target at each rank: float64, (at most k,)."""
        return rank_weights(measure, int(self.ranks.n_items.max()))[: self.ranks.k]

    def user_values(self, measure: Measure) -> Floats:
        """Return the expected value of each user, without the correction: float64, (n_users,)."""
        return self.ranks.means_of_users(self.fit.values(self.ranks, self.weights(measure)))

    def correction(self, measure: Measure) -> tuple[float, float]:
        """Return the correction of the mean by an audit, and the variance that users do not show.

        Without an audit, the correction is 0, and the variance is that of the fit.
        """
        ranks, weights = self.ranks, self.weights(measure)
        if not ranks.is_audited.any():
            gradient = self.fit.gradient(ranks, weights)
            return 0.0, float(gradient @ self.fit.covariance @ gradient)
        audited, n_open = np.flatnonzero(ranks.is_audited), int(ranks.is_open.sum())
        exact = np.append(weights, 0.0)[np.minimum(ranks.above_all[audited], weights.size)]
        errors = exact - self.fit.values(ranks, weights)[audited]
        errors = n_open * ranks.shares_of_users[audited] * errors
        if audited.size == n_open:
            return float(errors.mean()), 0.0
        variance = float(errors.var(ddof=1)) / audited.size * (1 - audited.size / n_open)
        return float(errors.mean()), variance

    def bounds(self, measure: Measure) -> Bounds:
        """Return the means of users if all unscored items are above the targets, or none."""
        ranks, padded = self.ranks, np.append(self.weights(measure), 0.0)

        def mean(above: Ints) -> float:
            known = np.where(ranks.is_audited, ranks.above_all, above)
            return float(ranks.means_of_users(padded[np.minimum(known, padded.size - 1)]).mean())

        return Bounds(mean(ranks.above + ranks.n_rest), mean(ranks.above))


def _read(
    measures: str | Measure | Iterable[str | Measure], scans: tuple[ScannedRanks, ...]
) -> list[Measure]:
    parsed = [read_measure(measure) for measure in listed_measures(measures)]
    if not parsed:
        raise ArgumentError("measures must name at least one measure, such as ['ndcg@10'].")
    k = min(ranks.k for ranks in scans)
    smallest = min(int(ranks.n_items.min()) for ranks in scans)
    for measure in parsed:
        if measure.k is None or measure.k > k or measure.name == RANK_AUC:
            raise ArgumentError(
                f"{measure} cannot be estimated from a scan to k = {k}, which settles targets with "
                f"{k} items above them. Use a measure with a cutoff of at most {k}, or scan with a "
                "larger k."
            )
        if np.isnan(rank_weights(measure, smallest)).any():
            raise ArgumentError(
                f"{measure} is undefined in a catalogue of {smallest} items. Lower its cutoff."
            )
    return parsed


def _estimate(model: ScannedModel, measure: Measure, level: float) -> Estimate:
    ranks, values = model.ranks, model.user_values(measure)
    correction, other_variance = model.correction(measure)
    bounds, most = model.bounds(measure), float(model.weights(measure).max(initial=0.0))
    mean = min(max(float(values.mean()) + correction, bounds.low), bounds.high)
    user_variance, is_audited = std_error(values) ** 2, bool(ranks.is_audited.any())
    error = float(np.sqrt(user_variance + other_variance))
    prior_decides = bool(other_variance > user_variance and not is_audited)
    low, high = inside(t_interval(mean, error, values.size, level), (0.0, most))
    if prior_decides:
        low, high = min(low, bounds.low), max(high, bounds.high)
    is_unbiased = is_audited or not ranks.is_open.any()
    return Estimate(
        mean,
        error,
        Interval(low, high),
        level,
        values.size,
        f"scan(k={ranks.k})",
        not is_unbiased,
        "exact",
        "users" if is_unbiased else "posterior",
        bounds,
        prior_decides,
    )


def _comparison(
    a: ScannedModel, b: ScannedModel, measures: list[Measure], level: float
) -> SampledComparison:
    differences = {str(m): _difference(a, b, m, level) for m in measures}
    return SampledComparison(differences, {"a": _conventions(a.ranks), "b": _conventions(b.ranks)})


def _difference(a: ScannedModel, b: ScannedModel, measure: Measure, level: float) -> Difference:
    values = b.user_values(measure) - a.user_values(measure)
    variance = std_error(values) ** 2 + a.correction(measure)[1] + b.correction(measure)[1]
    error, n_users = float(np.sqrt(variance)), values.size
    most = max(float(model.weights(measure).max(initial=0.0)) for model in (a, b))
    estimate_a, estimate_b = (_estimate(model, measure, level) for model in (a, b))
    difference = estimate_b.mean - estimate_a.mean
    bounds_a, bounds_b = a.bounds(measure), b.bounds(measure)
    is_biased = estimate_a.biased or estimate_b.biased
    return Difference(
        estimate_a.mean,
        estimate_b.mean,
        difference,
        error,
        inside(t_interval(difference, error, n_users, level), (-most, most)),
        level,
        n_users,
        estimate_b.method,
        is_biased,
        "exact",
        "posterior" if is_biased else "users",
        1.0 - t_p_value(t_statistic(difference, error), n_users) / 2,
        Bounds(bounds_b.low - bounds_a.high, bounds_b.high - bounds_a.low),
        estimate_a.prior_decides or estimate_b.prior_decides,
    )


def _conventions(ranks: ScannedRanks) -> dict[str, Any]:
    """Return the method and the design as JSON values, in the form of a sampled evaluation."""
    return {
        "method": f"scan(k={ranks.k})",
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
