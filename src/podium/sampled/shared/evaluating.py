"""Estimates of measures of whole rankings from shared samples, and comparisons of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats.intervals import t_interval
from podium.metrics import Measure
from podium.sampled import _uncertainty
from podium.sampled._request import (
    EVALUATE,
    read_measures,
    read_resamples,
    require_kind,
    require_several,
)
from podium.sampled._targets import same_targets
from podium.sampled.comparing import SampledComparison, SampledComparisons
from podium.sampled.difference import (
    Difference,
    bounds_of_difference,
    covering,
    limited,
    probability_of_sign,
)
from podium.sampled.distribution import RANK_AUC, require_defined
from podium.sampled.estimators import Estimator, get
from podium.sampled.evaluating import N_BOOTSTRAP, Estimate, SampledEvaluation
from podium.sampled.shared.means import Fits, SharedMean, standard_error
from podium.sampled.shared.ranks import SharedRanks
from podium.sampled.shared.strata import NAIVE, STRATA, StrataFits


def evaluate_shared(
    shared: SharedRanks,
    measures: str | Measure | Iterable[str | Measure],
    *,
    estimator: str | Estimator = "auto",
    level: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    bounds: bool = True,
    seed: int = 0,
) -> SampledEvaluation:
    """Estimate measures of whole rankings, in which users have all their targets.

    Parameters
    ----------
    shared : SharedRanks
        The observations.
    measures : str, Measure, or several
        The measures to estimate. They must be sums over the targets of a user, as pap@k, recall,
        precision, ndcg, ap, rr and hit_rate are.
    estimator, level, n_bootstrap, bounds, seed
        The options of `evaluate`.

    Returns
    -------
    SampledEvaluation

    Raises
    ------
    ArgumentError
        If a measure is not a sum over targets, or for a reason listed in `evaluate`.

    Notes
    -----
    The term of the i-th best target is a function of the number of other items above it. The
    distribution of this number is estimated for each i, by the estimator for single targets. Users
    count in proportion to the size of their terms, which depends on their number of targets.
    Methods that are means over users give each user the sum of the values of the targets.
    Positions with fewer than 100 targets are estimated together.

    The targets of a user depend on each other. Standard errors therefore come from users: from the
    sum of the effects of their targets (smooth), their values, or resamples of users. What samples
    leave uncertain about the first ranks is counted as if it were the same for all positions.
    The bounds are the sums of those of the positions, which hold together at the level.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> above = rng.geometric(0.1, 600).clip(max=50) - 1
    >>> shared = SharedRanks(above, 99, 1000, user=np.arange(600) // 3)
    >>> found = evaluate_shared(shared, ["pap@10", "recall@20"], bounds=False).means
    >>> 0 < found["pap@10"] < found["recall@20"] < 1
    True
    """
    require_kind(shared, SharedRanks, "shared", EVALUATE)
    parsed = _read([shared], measures)
    level, n_bootstrap = _check.open_fraction(level, "level"), read_resamples(n_bootstrap)
    seed = _check.seed(seed)
    with _uncertainty.distinct_warnings():
        fits = _fits(estimator, shared)
        means = [fits.mean(measure, level, bounds=bounds) for measure in parsed]
        (result,) = _with_resamples([fits], [means], parsed, n_bootstrap, seed)
    return _evaluation(fits, parsed, result, level, n_bootstrap, seed)


def compare_shared(
    models: Mapping[str, SharedRanks],
    measures: str | Measure | Iterable[str | Measure],
    *,
    estimator: str | Estimator = "auto",
    level: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    bounds: bool = True,
    seed: int = 0,
) -> SampledComparisons:
    """Estimate measures of whole rankings of several models, and compare each with the first.

    Parameters
    ----------
    models : mapping of str to SharedRanks
        Two or more models with the same users, by name.
    measures, estimator, level, n_bootstrap, bounds, seed
        The parameters of `evaluate_shared`.

    Returns
    -------
    SampledComparisons

    Raises
    ------
    ArgumentError
        If there are fewer than two models, if users or their numbers of targets or items differ, or
        for a reason listed in `evaluate_shared`.

    Notes
    -----
    Differences are paired by user, as in `compare`. With strata, `prior_decides` has the same
    effect as in `compare_scans`.
    """
    require_several(models, SharedRanks, "evaluate_shared")
    parsed = _read(list(models.values()), measures)
    level, n_bootstrap = _check.open_fraction(level, "level"), read_resamples(n_bootstrap)
    seed = _check.seed(seed)
    models = _refuse_other_targets(models)
    fits = {name: _fits(estimator, shared) for name, shared in models.items()}
    with _uncertainty.distinct_warnings():
        means = {
            name: [of.mean(m, level, bounds=bounds) for m in parsed] for name, of in fits.items()
        }
        resampled = {
            name: _with_resamples([of], [means[name]], parsed, n_bootstrap, seed)[0]
            for name, of in fits.items()
        }
        baseline, *others = models
        evaluations = {
            name: _evaluation(of, parsed, resampled[name], level, n_bootstrap, seed)
            for name, of in fits.items()
        }
        differences: dict[str, dict[str, Difference]] = {}
        for name in others:
            pair = fits[baseline], fits[name]
            of_pair = _with_resamples(
                pair, [means[baseline], means[name]], parsed, n_bootstrap, seed
            )
            differences[name] = {
                str(measure): _difference(pair, (a, b), measure, level, bounds=bounds)
                for measure, a, b in zip(parsed, *of_pair, strict=True)
            }
    comparisons = {
        name: SampledComparison(
            differences[name],
            {"a": evaluations[baseline].conventions, "b": evaluations[name].conventions},
        )
        for name in others
    }
    return SampledComparisons(evaluations, comparisons)


def _read(
    samples: Sequence[SharedRanks], measures: str | Measure | Iterable[str | Measure]
) -> list[Measure]:
    parsed = read_measures(measures)
    for measure in parsed:
        if measure.name == RANK_AUC:
            raise ArgumentError(
                f"{RANK_AUC} is defined for users with one target only. Use auc or pauc@k."
            )
        if measure.k is None and any(shared.has_strata for shared in samples):
            raise ArgumentError(
                f"{measure} has no cutoff, and strata show the top of lists only. Add a cutoff, "
                f"such as {measure}@10."
            )
    for shared in samples:
        require_defined(parsed, int(shared.n_candidates.min()))
    return parsed


def _fits(estimator: str | Estimator, shared: SharedRanks) -> Fits | StrataFits:
    method = get(estimator)
    if not shared.has_strata:
        method.check(shared.targets)
        return Fits(method, shared)
    if estimator == "auto":
        return StrataFits(STRATA, shared)
    if method.name == NAIVE:
        return StrataFits(NAIVE, shared)
    raise ArgumentError(
        f"{method} cannot be used with strata, which have a method of their own. Use 'auto' or "
        "'naive'."
    )


def _with_resamples(
    fits: Sequence[Fits | StrataFits],
    means: list[list[SharedMean]],
    measures: Sequence[Measure],
    n_bootstrap: int,
    seed: int,
) -> list[list[SharedMean]]:
    """Add the estimates of resampled users, who are the same for all models, if they are needed."""
    if all(of.source != "bootstrap" for of in fits):
        return means
    n_users = fits[0].shared.n_users
    if n_users < 2:
        nothing = np.full(n_bootstrap, np.nan)
        return [[replace(mean, resampled=nothing) for mean in row] for row in means]
    resampler = _uncertainty.Resampler.of([of.shared.targets for of in fits])
    drawn = [resampler.spread(counts) for counts in resampler.counts_of_kinds(n_bootstrap, seed)]
    return [
        [
            replace(mean, resampled=column)
            for mean, column in zip(
                row, np.array([of.resampled(measures, users) for users in drawn]).T, strict=True
            )
        ]
        for of, row in zip(fits, means, strict=True)
    ]


def _evaluation(
    fits: Fits | StrataFits,
    measures: Sequence[Measure],
    means: Sequence[SharedMean],
    level: float,
    n_bootstrap: int,
    seed: int,
) -> SampledEvaluation:
    n_users = fits.shared.n_users
    estimates = {
        str(measure): Estimate(
            mean.mean,
            mean.std_error,
            mean.interval_at(level, n_users),
            level,
            n_users,
            str(fits.method),
            fits.is_biased,
            fits.interval_of,
            fits.source,
            mean.bounds,
            mean.prior_decides,
            fits.orders(measure),
        )
        for measure, mean in zip(measures, means, strict=True)
    }
    n_used = n_bootstrap if fits.source == "bootstrap" else None
    return SampledEvaluation(estimates, fits.conventions(seed, n_used))


def _difference(
    pair: tuple[Fits | StrataFits, Fits | StrataFits],
    means: tuple[SharedMean, SharedMean],
    measure: Measure,
    level: float,
    *,
    bounds: bool,
) -> Difference:
    fits = pair[0] if pair[1].shared.is_exact else pair[1]  # errors are those of a sample
    a, b = means
    n_users = fits.shared.n_users
    error = float(np.hypot(standard_error(b.variation - a.variation), np.hypot(a.other, b.other)))
    difference = b.mean - a.mean
    interval = t_interval(difference, error, n_users, level)
    sign_probability = probability_of_sign(difference, error, n_users)
    prior_decides = a.prior_decides or b.prior_decides
    errors_lack_prior = prior_decides and isinstance(fits, StrataFits)
    limits = None
    if bounds or errors_lack_prior:
        confidence = (1 + level) / 2  # so that the bounds of both models hold
        limits = bounds_of_difference(*(of.bounds(measure, confidence) for of in pair))
        if fits.source == "posterior":
            interval = limited(interval, limits, difference)
        if errors_lack_prior:
            interval, sign_probability = covering(interval, limits), np.nan
    return Difference(
        a.mean,
        b.mean,
        difference,
        error,
        interval,
        level,
        n_users,
        str(fits.method),
        fits.is_biased,
        fits.interval_of,
        fits.source,
        sign_probability,
        limits if bounds else None,
        prior_decides,
    )


def _refuse_other_targets(models: Mapping[str, SharedRanks]) -> dict[str, SharedRanks]:
    """Return models whose users' labels have one type; raise if their targets differ."""
    names = list(models)
    if len({shared.has_strata for shared in models.values()}) > 1:
        raise ArgumentError(
            "models must all have strata, or none of them, because the methods differ. Give all "
            "models the same candidates."
        )
    return dict(zip(names, same_targets(list(models.values()), names), strict=True))
