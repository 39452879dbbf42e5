"""Estimates of measures over the whole ranking, and differences between models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.evaluation.stats.intervals import t_interval, t_p_value, t_statistic
from podium.metrics import Measure
from podium.progress import or_silent
from podium.sampled.bounds import Bounds
from podium.sampled.distribution import read_measures
from podium.sampled.estimators import ErrorFrom, Estimator, get
from podium.sampled.fits import (
    EstimatorFit,
    Fit,
    IntervalOf,
    MeanOfUsers,
    Resampler,
    covering,
    distinct_warnings,
    limited,
)
from podium.sampled.ranks import Fact, Observation, SampledRanks, ScannedRanks
from podium.sampled.results import Difference, Estimate, SampledComparison, SampledEvaluation
from podium.sampled.scanning.measured import NAIVE, ScanFit
from podium.sampled.shared import SharedRanks
from podium.types import Progress

Observations: TypeAlias = SampledRanks | SharedRanks | ScannedRanks

N_BOOTSTRAP = 200
"""The number of bootstrap fits. It determines a standard error to about 5 %."""


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
    with parameters that all targets share; see `podium.sampled.scanning.measured`. Intervals
    are for the mean of a population of similar users. They include the variation between users, the
    chance of the draws, and the uncertainty of the shared parameters. If this last part is larger
    than the others, or if the lists have fewer than 1.5 k items, `prior_decides` is true, and the
    interval contains the bounds.
    Users have the same weight in the fit of the shared parameters, as in the mean. If users have
    several targets, these depend on each other, and the standard error comes from the sum of the
    effects of each user's targets.
    The bounds contain the exact mean of these users, whatever the distribution of unscored items.
    At the upper bound, no unscored item is above an open target. The lower bound follows from the
    random items, and may fail by the chance of the draws, with a probability of at most
    (1 - level) / 2; see `podium.sampled.scanning.measured`. Without random items, all unscored
    items are above open targets at the lower bound.

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
    request = _Request(measures, level, n_bootstrap, bounds, seed)
    fit = fit_of(ranks, estimator, "ranks")
    ranks.require(request.measures)
    with distinct_warnings():
        return request.evaluation(fit, request.means(fit))


def compare(
    models: Mapping[str, Observations],
    measures: str | Measure | Iterable[str | Measure],
    *,
    estimator: str | Estimator = "auto",
    level: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    bounds: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> SampledComparison:
    """Estimate measures of several models, and compare each with the first on the same users.

    Parameters
    ----------
    models : mapping of str to SampledRanks, SharedRanks or ScannedRanks
        Two or more observations of the same users, of one kind, by the name of the model. Users are
        matched by their labels if they have any, otherwise by row. The samples may differ in size,
        and need not share their items. Histories are read as in `evaluate`. Shared samples and
        scans must have the same targets, in any order; the proxies and budgets may differ.
    measures, estimator, level, n_bootstrap, bounds, seed
        The options of `evaluate`.
    progress : callable, optional
        A function that is called with (done, total, name) before each model.

    Returns
    -------
    SampledComparison

    Raises
    ------
    ArgumentError
        If there are fewer than two models, if users, their targets, their catalogues or their
        weights differ, or for a reason listed in `evaluate`.

    Notes
    -----
    Differences are paired: those of a model b from the first model a are b - a for each user.
    Users are resampled together for both models. Variation between users that affects both models
    therefore does not count as an error of the difference. For an estimator with its own standard
    errors (`Smooth`), the variances are the squares of these, and the covariance is computed from
    the influence of each user on both estimates, without new fits. The other part of the
    variances, which comes from the limited information in the samples, is treated as independent
    between the models, although similar models share some of it.
    The bounds of the difference follow from the bounds of each model at the level (1 + level) / 2.
    The interval of `Smooth` ends at the bounds, or without them at the measure's largest value.
    With one user there is no standard error, as in `evaluate`.
    If the bounds allow either sign, no estimator can determine from these ranks alone which model
    is better. A sign probability near 1 then rests on the assumptions of the estimator.
    With scans and strata, if `prior_decides` for one of the models, the interval of the difference
    contains all differences that the bounds of both models allow, and the probability of the sign
    is undefined (nan).

    Examples
    --------
    >>> a = SampledRanks([1, 2, 5, 9] * 20, 9, 100)
    >>> b = SampledRanks([1, 1, 4, 7] * 20, 9, 100)
    >>> found = compare({"a": a, "b": b}, "recall@20", estimator="bv(gamma=0.1)")
    >>> b_minus_a = found.summary("recall@20")
    >>> b_minus_a.difference > 0, b_minus_a.sign_probability > 0.99, b_minus_a.either_sign
    (True, True, True)
    """
    if not isinstance(models, Mapping) or len(models) < 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            "models must be a mapping of two or more names to samples, such as {'a': a, 'b': b}, "
            f"got {type(models).__name__}. Use evaluate for one model."
        )
    request, show = _Request(measures, level, n_bootstrap, bounds, seed), or_silent(progress)
    for name, ranks in models.items():
        fit_of(ranks, estimator, name)  # refuses other kinds before they are compared
    fits: dict[str, Fit] = {}
    for name, ranks in zip(models, _matched(models, get(estimator)), strict=True):
        fits[name] = fit_of(ranks, estimator, name)
        ranks.require(request.measures, name)
    evaluations: dict[str, SampledEvaluation] = {}
    differences: dict[str, dict[str, Difference]] = {}
    first, second, *_ = fits.values()
    first_means: list[MeanOfUsers] = []
    with distinct_warnings():
        for name, fit in fits.items():
            show(len(evaluations), len(fits), name)
            means = request.means(fit)
            first_means = first_means or means
            evaluations[name] = request.evaluation(fit, means)
            if fit is not first:
                differences[name] = request.differences((first, fit), [first_means, means])
    conventions = {
        name: request.conventions(fit, _leading((first, second if fit is first else fit)).source)
        for name, fit in fits.items()
    }
    return SampledComparison(evaluations, differences, conventions, first.observed.user is None)


def fit_of(ranks: Observations, estimator: str | Estimator, name: str) -> Fit:
    """Return the fit of an estimator to observations of any kind."""
    method = get(estimator)
    if not isinstance(ranks, Observation):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"{name} must be SampledRanks, SharedRanks or ScannedRanks, got {type(ranks).__name__}."
        )
    if isinstance(ranks.targets, SampledRanks):
        return EstimatorFit(method, ranks)
    kind, others = ("strata", "'auto' or 'naive'") if ranks.is_shared else ("scans", "'auto'")
    is_naive = method.name == NAIVE and ranks.is_shared
    if estimator != "auto" and not is_naive:
        raise ArgumentError(
            f"{method} cannot be used with {kind}, which have a method of their own. Use {others}."
        )
    return ScanFit(ranks, is_naive=is_naive)


@dataclass(frozen=True)
class _Request:
    """The checked options of an estimate."""

    constraints: ClassVar[_check.Constraints] = {
        "measures": lambda measures, _: read_measures(measures),
        "level": _check.open_fraction,
        "n_bootstrap": partial(_check.count, low=2),
        "seed": _check.seed,
    }

    measures: Any
    level: float
    n_bootstrap: int
    bounds: bool
    seed: int

    def __post_init__(self) -> None:
        vars(self).update(_check.parameters(self))

    def means(self, fit: Fit) -> list[MeanOfUsers]:
        """Return the means of one model."""
        return [fit.mean(measure, self.level, bounds=self.bounds) for measure in self.measures]

    def evaluation(self, fit: Fit, means: Sequence[MeanOfUsers]) -> SampledEvaluation:
        """Return the estimates of one model."""
        (means,) = self._with_resamples([fit], [means])
        about = (self.level, fit.n_users, fit.method, *fit.bias, fit.source)
        estimates: dict[str, Estimate] = {}
        for measure, of in zip(self.measures, means, strict=True):
            found = (of.mean, of.std_error, of.interval, *about, of.bounds, of.prior_decides)
            estimates[str(measure)] = Estimate(*found, fit.orders(measure))
        return SampledEvaluation(estimates, self.conventions(fit, fit.source))

    def differences(
        self, pair: tuple[Fit, Fit], means: Sequence[Sequence[MeanOfUsers]]
    ) -> dict[str, Difference]:
        """Compare two models, whose users are resampled together."""
        a, b = self._with_resamples(pair, means)
        return {
            str(measure): self._difference(pair, of_both, measure)
            for measure, *of_both in zip(self.measures, a, b, strict=True)
        }

    def conventions(self, fit: Fit, source: ErrorFrom) -> dict[str, Any]:
        """Return the method and the design of a model whose errors have a source."""
        n_bootstrap = self.n_bootstrap if source == "bootstrap" else None
        shared = {"shared": True} if fit.observed.is_shared else {}
        sizes = {"method": fit.method, "n_users": fit.n_users, **fit.design}
        return {**sizes, "n_bootstrap": n_bootstrap, "seed": self.seed, **shared}

    def _difference(
        self, pair: tuple[Fit, Fit], means: Sequence[MeanOfUsers], measure: Measure
    ) -> Difference:
        (a, b), level, limits, fit = means, self.level, None, _leading(pair)
        difference, (error, size) = b.mean - a.mean, fit.error_of_difference(a, b)
        sign_probability = 1.0 - t_p_value(t_statistic(difference, error), size) / 2
        prior_decides = a.prior_decides or b.prior_decides
        is_unknown = prior_decides and fit.omits_assumptions
        if self.bounds or is_unknown:  # with this confidence, the bounds of both models hold
            of_a, of_b = (of.bounds(measure, (1 + level) / 2) for of in pair)
            limits = Bounds(of_b.low - of_a.high, of_b.high - of_a.low)
        ends = fit.limits(limits, max(a.largest, b.largest))
        interval = limited(t_interval(difference, error, size, level), ends, difference)
        if is_unknown and limits is not None:
            interval, sign_probability = covering(interval, limits), np.nan
        biased, interval_of = zip(*(of.bias for of in pair), strict=True)
        kind: IntervalOf = "expectation" if "expectation" in interval_of else "exact"
        about = (level, fit.n_users, pair[1].method, any(biased), kind, fit.source)
        shown = limits if self.bounds else None
        found = (a.mean, b.mean, difference, error, interval, *about)
        return Difference(*found, sign_probability, shown, prior_decides)

    def _with_resamples(
        self, fits: Sequence[Any], means: Sequence[Sequence[MeanOfUsers]]
    ) -> Sequence[Sequence[MeanOfUsers]]:
        """Add the errors of resampled users, who are the same for all models, if needed."""
        if all(fit.source != "bootstrap" for fit in fits):
            return means
        n_users = fits[0].n_users
        drawn = np.full((self.n_bootstrap, len(fits), len(self.measures)), np.nan)
        if n_users > 1:  # one user gives no information about others
            resampler = Resampler([fit.targets for fit in fits])
            for number, fit in enumerate(fits):
                draws = resampler.draws(self.n_bootstrap, self.seed)
                drawn[:, number] = fit.resampled(self.measures, resampler.first, draws)
        return [
            [
                mean.with_resamples(of, self.level, n_users)
                for mean, of in zip(row, values.T, strict=True)
            ]
            for row, values in zip(means, drawn.transpose(1, 0, 2), strict=True)
        ]


def _leading(pair: tuple[Fit, Fit]) -> Fit:
    """Return the fit that a difference has its errors from: one of a sample, if there is one."""
    return pair[0] if pair[1].source == "users" else pair[1]


_ROUNDING = 1e-9  # of weights
_STRATA = (
    " If all tables have strata, their column must have one name: stratum, or that of "
    f"{arg['columns', 'stratum']}."
)
_SAME_USERS = "Models are compared on the same users"


def _matched(models: Mapping[str, Any], method: Estimator) -> list[Any]:
    """Return the observations of models that can be compared, with users' labels of one type.

    Parameters
    ----------
    models : mapping of str to SampledRanks, SharedRanks or ScannedRanks
        The observations by the name of the model.
    method : Estimator
        The method. If it reads histories, either all samples or none must have them.

    Returns
    -------
    list of SampledRanks, SharedRanks or ScannedRanks

    Raises
    ------
    ArgumentError
        If the kinds of observations differ, if one has users and another has none, if users differ,
        or if there are no users and the numbers of rows differ. If users have other weights, other
        targets or other catalogues. If the method reads histories and only some samples have them.
    """
    kinds: dict[str, list[str]] = {}
    for name, ranks in models.items():
        kinds.setdefault(_kind(ranks), []).append(name)
    if len(kinds) > 1:
        got = " and ".join(f"{kind} ({', '.join(names)})" for kind, names in kinds.items())
        raise ArgumentError(
            f"models must have samples of one kind, got {got}. Give all models the same candidates."
            f"{_STRATA if 'ScannedRanks' in kinds or 'SharedRanks with strata' in kinds else ''}"
        )
    samples = _of_same_users(models)
    if isinstance(samples[0], SampledRanks):
        without = [name for name, ranks in models.items() if ranks.history is None]
        if method.reads_history and 0 < len(without) < len(samples):
            raise ArgumentError(
                f"{', '.join(without)}: no column of users' history, but other models have one, "
                f"and {method.name} reads it. Add the column, or leave it out of all models."
            )
    first, *others = (ranks.facts() for ranks in samples)
    for name, other in zip(list(models)[1:], others, strict=True):
        names = f"{name} and {next(iter(models))}"
        for fact, expected in zip(other, first, strict=True):
            _require_same(fact, expected, names)
    return samples


def _kind(ranks: Any) -> str:
    has_strata = isinstance(ranks, SharedRanks) and ranks.has_strata
    return f"{type(ranks).__name__}{' with strata' * has_strata}"


def _of_same_users(models: Mapping[str, Any]) -> list[Any]:
    """Return samples whose users' labels have one type; raise unless their users are the same."""
    first, samples = next(iter(models)), list(models.values())
    without = [name for name, ranks in models.items() if ranks.user is None]
    if without and len(without) < len(samples):
        raise ArgumentError(
            f"{without[0]} has no column of users, but another model has one. {_SAME_USERS}. Add "
            "the column, or give its name."
        )
    for name in without:
        if models[name].n_rows != samples[0].n_rows:
            raise ArgumentError(
                f"{name} has {models[name].n_rows} ranks and {first} has {samples[0].n_rows}, "
                f"without a column of users. {_SAME_USERS}. Add a column of users."
            )
    if without:
        return samples
    samples = _with_labels(_with_labels(samples, "user"), "item")
    users = {name: np.unique(ranks.user) for name, ranks in zip(models, samples, strict=True)}
    for a, b in [pair for name in models for pair in ((first, name), (name, first))]:
        missing = users[a][~np.isin(users[a], users[b])]
        if missing.size:
            raise ArgumentError(
                f"{b} lacks {missing.size} of the {users[a].size} users of {a}, first "
                f"{_check.label(missing[0])}. {_SAME_USERS}. Keep the users that all models have."
            )
    return samples


def _with_labels(samples: Sequence[Any], name: str) -> list[Any]:
    """Return samples whose labels are strings if some are (7 becomes '7'), or none if some lack."""
    columns = [getattr(ranks, name) for ranks in samples]
    if any(column is None for column in columns):
        return [ranks.labelled(name, None) for ranks in samples]
    if len({column.dtype.kind in "iu" for column in columns}) == 1:
        return list(samples)
    pairs = zip(samples, columns, strict=True)
    return [ranks.labelled(name, column.astype(np.str_)) for ranks, column in pairs]


def _require_same(fact: Fact, expected: Fact, names: str) -> None:
    (what, values, users), wanted = fact, expected[1]
    is_float = values.dtype.kind == "f"
    is_other = ~np.isclose(values, wanted, _ROUNDING, 0.0) if is_float else values != wanted
    if is_other.any():
        row = int(np.argmax(is_other))
        raise ArgumentError(
            f"{names} must have the same {what} for each user, got {_check.label(values[row])} and "
            f"{_check.label(wanted[row])} for user {_check.label(users[row])}. Rank the same "
            "held-out items of the same catalogue by all models, with the same ids and weights."
        )
