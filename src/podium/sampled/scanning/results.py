"""Estimates of measures from scans, with their uncertainty, and comparisons of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from podium.sampled.design import Floats
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
    fit = OpenTargets.fit(ranks)
    estimates = {str(m): _estimate(fit, ranks, m, level) for m in parsed}
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
    fits = {name: OpenTargets.fit(ranks) for name, ranks in models.items()}
    evaluations = {
        name: SampledEvaluation(
            {str(m): _estimate(fits[name], ranks, m, level) for m in parsed}, _conventions(ranks)
        )
        for name, ranks in models.items()
    }
    first = fits[baseline], models[baseline], evaluations[baseline]
    comparisons = {
        name: _comparison(first, (fits[name], models[name], evaluations[name]), parsed, level)
        for name in others
    }
    return SampledComparisons(evaluations, comparisons)


Model = tuple[OpenTargets, ScannedRanks, SampledEvaluation]


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


def _estimate(fit: OpenTargets, ranks: ScannedRanks, measure: Measure, level: float) -> Estimate:
    weights = _weights(ranks, measure)
    values = ranks.means_of_users(fit.values(ranks, weights))
    mean, n_users = float(values.mean()), values.size
    by_users, by_fit = std_error(values) ** 2, _variance_of_fit(fit, ranks, weights)
    error, prior_decides = float(np.sqrt(by_users + by_fit)), bool(by_fit > by_users)
    bounds, most = _bounds(ranks, weights), float(weights.max(initial=0.0))
    low, high = inside(t_interval(mean, error, n_users, level), (0.0, most))
    if prior_decides:
        low, high = min(low, bounds.low), max(high, bounds.high)
    is_exact = not ranks.is_open.any()
    return Estimate(
        mean,
        error,
        Interval(low, high),
        level,
        n_users,
        f"scan(k={ranks.k})",
        not is_exact,
        "exact",
        "users" if is_exact else "posterior",
        bounds,
        prior_decides,
    )


def _comparison(a: Model, b: Model, measures: list[Measure], level: float) -> SampledComparison:
    differences = {str(m): _difference(a, b, m, level) for m in measures}
    return SampledComparison(differences, {"a": _conventions(a[1]), "b": _conventions(b[1])})


def _difference(a: Model, b: Model, measure: Measure, level: float) -> Difference:
    pair = [(fit, ranks, _weights(ranks, measure)) for fit, ranks, _ in (a, b)]
    values_a, values_b = (
        ranks.means_of_users(fit.values(ranks, weights)) for fit, ranks, weights in pair
    )
    variance = std_error(values_b - values_a) ** 2 + sum(_variance_of_fit(*part) for part in pair)
    error, n_users = float(np.sqrt(variance)), values_a.size
    most = max(float(weights.max(initial=0.0)) for _, _, weights in pair)
    estimate_a, estimate_b = (evaluation.summary(measure) for _, _, evaluation in (a, b))
    difference = estimate_b.mean - estimate_a.mean
    bounds_a, bounds_b = (_bounds(ranks, weights) for _, ranks, weights in pair)
    return Difference(
        estimate_a.mean,
        estimate_b.mean,
        difference,
        error,
        inside(t_interval(difference, error, n_users, level), (-most, most)),
        level,
        n_users,
        estimate_b.method,
        estimate_a.biased or estimate_b.biased,
        "exact",
        "posterior",
        1.0 - t_p_value(t_statistic(difference, error), n_users) / 2,
        Bounds(bounds_b.low - bounds_a.high, bounds_b.high - bounds_a.low),
        estimate_a.prior_decides or estimate_b.prior_decides,
    )


def _weights(ranks: ScannedRanks, measure: Measure) -> Floats:
    return rank_weights(measure, int(ranks.n_items.max()))[: ranks.k]


def _variance_of_fit(fit: OpenTargets, ranks: ScannedRanks, weights: Floats) -> float:
    gradient = fit.gradient(ranks, weights)
    return float(gradient @ fit.covariance @ gradient)


def _bounds(ranks: ScannedRanks, weights: Floats) -> Bounds:
    """Return the means of users if all unscored items are above the targets, or none."""
    padded = np.append(weights, 0.0)
    low, high = (
        float(ranks.means_of_users(padded[np.minimum(above, weights.size)]).mean())
        for above in (ranks.above + ranks.n_rest, ranks.above)
    )
    return Bounds(low, high)


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
