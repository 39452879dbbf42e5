"""Estimates of measures from scans, with their uncertainty, and comparisons of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats.intervals import inside, t_interval
from podium.metrics import Measure
from podium.sampled._request import (
    EVALUATE,
    extent,
    read_measures,
    require_kind,
    require_several,
)
from podium.sampled._targets import same_targets
from podium.sampled.comparing import SampledComparison, SampledComparisons
from podium.sampled.difference import (
    Difference,
    bounds_of_difference,
    covering,
    probability_of_sign,
)
from podium.sampled.distribution import RANK_AUC, require_defined
from podium.sampled.evaluating import Estimate, SampledEvaluation
from podium.sampled.scanning.measured import MeasuredScan, combined, measure_scan, spread
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

    Warns
    -----
    PodiumWarning
        If the proxy's list is hardly better than a random one: the mean share of listed items above
        open targets is less than twice that of random items.

    Notes
    -----
    Settled targets have exact values. An open target counts with its expected value, given the
    listed and the drawn items above it. The number of unscored items above it is beta-binomial with
    parameters that all targets share; see `podium.sampled.scanning.open_targets`. Intervals are for
    the mean of a population of similar users. They include the variation between users, the chance
    of the draws, and the uncertainty of the shared parameters. If this last part is larger than the
    others, or if the lists have fewer than 1.5 k items, `prior_decides` is true, and the interval
    contains the bounds.
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
    >>> ranks = ScannedRanks([10, 2] * 50, [20, 30] * 50, [0, 0] * 50, [0, 70] * 50, 1000, k=10)
    >>> recall = evaluate_scan(ranks, "recall@10").estimates["recall@10"]
    >>> recall.bounds.low <= recall.mean <= recall.bounds.high <= 0.5
    True
    """
    require_kind(ranks, ScannedRanks, "ranks", EVALUATE)
    parsed, level = _read(measures, (ranks,)), _check.open_fraction(level, "level")
    ranks.warn_of_random_list()
    return _evaluation(ranks, measure_scan(ranks, parsed, level), level)


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
        Two or more scans of the same targets in any order, by the name of the model. The proxies
        and budgets may differ.
    measures, level
        The parameters of `evaluate_scan`.

    Returns
    -------
    SampledComparisons

    Raises
    ------
    ArgumentError
        If there are fewer than two models, if the targets or catalogues differ, or for a reason
        listed in `evaluate_scan`.

    Notes
    -----
    Differences are paired by user. If `prior_decides` for one of the models, the interval of the
    difference contains all differences that the bounds of both models allow, and the probability
    of the sign is undefined (nan).
    """
    require_several(models, ScannedRanks, "evaluate_scan")
    parsed = _read(measures, tuple(models.values()))
    level = _check.open_fraction(level, "level")
    names = list(models)
    models = dict(zip(names, same_targets(list(models.values()), names), strict=True))
    baseline, *others = names
    for name, ranks in models.items():
        ranks.warn_of_random_list(name)
    measured = {name: measure_scan(ranks, parsed, level) for name, ranks in models.items()}
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


def _read(
    measures: str | Measure | Iterable[str | Measure], scans: tuple[ScannedRanks, ...]
) -> list[Measure]:
    parsed = read_measures(measures)
    k = min(ranks.k for ranks in scans)
    for measure in parsed:
        if measure.k is None and measure.name != RANK_AUC:
            raise ArgumentError(
                f"{measure} cannot be estimated from a scan, which shows the top of lists only. "
                "Use a measure with a cutoff, such as recall@10."
            )
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
    error, size = combined((spread(scan.effects), scan.other))
    interval = inside(t_interval(scan.mean, error, size, level), (0.0, scan.largest))
    if scan.prior_decides:
        interval = covering(interval, scan.bounds)
    return Estimate(
        scan.mean,
        error,
        interval,
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
    error, size = combined((spread(b.effects - a.effects), a.other, b.other))
    difference, n_users = b.mean - a.mean, a.values.size
    is_biased, largest = a.is_biased or b.is_biased, max(a.largest, b.largest)
    prior_decides = a.prior_decides or b.prior_decides
    interval = inside(t_interval(difference, error, size, level), (-largest, largest))
    sign_probability = probability_of_sign(difference, error, size)
    bounds = bounds_of_difference(a.bounds, b.bounds)
    if prior_decides:
        interval, sign_probability = covering(interval, bounds), np.nan
    return Difference(
        a.mean,
        b.mean,
        difference,
        error,
        interval,
        level,
        n_users,
        _method(b.k),
        is_biased,
        "exact",
        "posterior" if is_biased else "users",
        sign_probability,
        bounds,
        prior_decides,
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
