"""Fits of one method to the observations of one model, in the form that all estimates are made of.

`evaluate` and `compare` read nothing else of samples. `EstimatorFit` fits a registered estimator to
ranks among drawn items, and `ScanFit` in `scanning.measured` fits what scans leave open. Both take
any `Observation`, and fit its parts: whole rankings have several, single targets are one.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from podium import _check
from podium.errors import PodiumWarning, warn
from podium.evaluation import stats
from podium.evaluation.stats import Interval
from podium.evaluation.stats.intervals import inside, std_error, t_interval
from podium.metrics import Measure
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import RankDistribution, depends_on_order, rank_weights
from podium.sampled.estimators import ErrorFrom, Estimator, LinearEstimator
from podium.sampled.estimators.naive import Naive
from podium.sampled.estimators.smooth import SmoothFit
from podium.sampled.estimators.smooth.cells import has_history
from podium.sampled.ranks import Observation, Part, SampledRanks, columns_at
from podium.types import Mask

IntervalOf: TypeAlias = Literal["exact", "expectation"]


class Tally(SampledRanks):
    """Sampled ranks whose rows stand for any number of users, or for a fraction of a user.

    Histories are not kept, because estimators that read them are not fitted to resamples.
    Estimators treat a `Tally` like repeated rows, at the cost of the distinct rows. By default,
    `n_users` is the sum of the counts.
    """

    def __init__(self, rows: SampledRanks, counts: Floats, n_users: float | None = None) -> None:
        kept_rows = np.flatnonzero(counts > 0)
        names = ("ranks", "n_negatives", "n_items", "replacement")
        total = round(float(counts.sum() if n_users is None else n_users))
        totals = {"user": None, "history": None, "_total": total}
        weights = counts[kept_rows] / counts.sum()
        # A subset of checked rows needs no new checks.
        self.__dict__.update(columns_at(rows, names, kept_rows), weights=weights, **totals)

    @property
    def n_users(self) -> int:
        return int(self.__dict__["_total"])


class Resampler:
    """The users of one or several samples; users with the same observations form one kind.

    Parameters
    ----------
    samples : sequence of SampledRanks
        The samples, which have the same users. These are matched by `SampledRanks.owner`.

    Attributes
    ----------
    counts : int64, (n_kinds,)
        The number of users of each kind.
    first : int64, (n_kinds,)
        The first user of each kind. The order of kinds depends on the observations, and not on
        labels.
    """

    def __init__(self, samples: Sequence[SampledRanks]) -> None:
        kinds_of_users = list(zip(*map(_observations, samples), strict=True))
        kind_number = {kind: i for i, kind in enumerate(sorted(set(kinds_of_users)))}
        kinds = np.array([kind_number[kind] for kind in kinds_of_users])
        self.counts, self.first = np.bincount(kinds), np.unique(kinds, return_index=True)[1]

    def draws(self, n: int, seed: int) -> Iterator[Ints]:
        """Yield how often the users of each kind are drawn in n resamples: int64, (n_kinds,)."""
        rng, n_users = np.random.default_rng([_check.seed(seed), *b"users"]), self.counts.sum()
        for _ in range(n):
            yield rng.multinomial(n_users, self.counts / n_users)


def _observations(ranks: SampledRanks) -> list[bytes]:
    """Return the rows of each user as bytes, which sort by the values in the rows."""
    columns = (ranks.ranks, ranks.n_negatives, ranks.n_items, ranks.row_weights)
    columns = [np.zeros(1) if column is None else np.asarray(column) for column in columns]
    table = np.column_stack([np.broadcast_to(column, ranks.n_rows) for column in columns])
    row_kind = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((row_kind, ranks.owner))
    ends = 8 * np.cumsum(np.bincount(ranks.owner))
    text = row_kind[order].astype(">i8").tobytes()
    return [text[a:b] for a, b in pairwise([0, *ends.tolist()])]


@contextmanager
def distinct_warnings() -> Generator[None]:
    """Emit each distinct warning of podium once, even if several fits raise it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    shown_texts: set[str] = set()
    for warning in caught:
        shown = warning.message
        if not isinstance(shown, PodiumWarning):
            warnings.warn_explicit(shown, warning.category, warning.filename, warning.lineno)
        elif shown.message.text not in shown_texts:
            warn(shown.message.text, type(shown))
            shown_texts.add(shown.message.text)


_NOWHERE = Interval(np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class MeanOfUsers:
    """An estimate of one measure of one model.

    Attributes
    ----------
    mean, std_error : float
    effects : float64, (n_users,)
        The effect of each user on the mean, times n_users, whose covariance gives the error from
        the choice of users. From resamples: their means, times the root of their number.
    interval : Interval
        The interval at the level; nan for means that need resamples.
    other : float
        The variance of the mean that the effects do not contain.
    prior_decides : bool
    bounds : Bounds or None
        The bounds at the level of the interval.
    largest : float
        The largest possible mean.
    """

    mean: float
    std_error: float
    effects: Floats
    interval: Interval = _NOWHERE
    other: float = 0.0
    prior_decides: bool = False
    bounds: Bounds | None = None
    largest: float = np.inf

    @classmethod
    def of(cls, mean: float, effects: Floats, other: float = 0.0, **rest: Any) -> MeanOfUsers:
        """Return a mean whose error is that of the effects and another standard error."""
        error = float(np.hypot(std_error(effects), other))
        return cls(mean, error, effects, other=other**2, **rest)

    def with_resamples(self, means: Floats, level: float, n_users: int) -> MeanOfUsers:
        """Return the mean with the error of resampled means; nan with one user.

        The interval is symmetric in the log of a positive estimate. Estimates of rare events vary
        more if they are larger, so that intervals symmetric about the mean are too low.
        """
        error = float(np.std(means, ddof=1))
        interval = t_interval(self.mean, error, n_users, level)
        if self.mean > 0 and (means >= 0).all():
            low, high = t_interval(0.0, error / self.mean, n_users, level)
            with np.errstate(over="ignore"):  # the end is limited to the largest value
                low, high = self.mean * float(np.exp(low)), self.mean * float(np.exp(high))
            interval = Interval(low, min(high, self.largest))
        effects = means * means.size**0.5
        return replace(self, std_error=error, interval=interval, effects=effects, other=0.0)


def limited(interval: Interval, bounds: tuple[float, float], value: float) -> Interval:
    """Return the interval, cut off at the bounds, but not at the value that it is for."""
    low, high = inside(interval, bounds)
    return Interval(min(low, value), max(high, value))


def covering(interval: Interval, bounds: Bounds) -> Interval:
    """Return the interval, extended to the bounds."""
    return Interval(min(interval.low, bounds.low), max(interval.high, bounds.high))


class Fit(ABC):
    """A method and the observations of one model.

    Attributes
    ----------
    observed : Observation
    method : str
        The method, as a text.
    source : {"users", "bootstrap", "posterior"}
        Where the standard error comes from.
    bias : tuple of bool and str
        Whether the method is biased here, and the quantity that intervals are for.
    design : dict
        The sizes and other conventions of the sample as JSON values; sizes that differ as
        [low, high].
    n_users : int
    omits_assumptions : bool
        Whether standard errors omit the errors of the method's assumptions, so that where the prior
        decides, intervals cover the bounds, and the sign of a difference is unknown.
    """

    omits_assumptions: ClassVar[bool] = False

    def __init__(
        self, observed: Observation, method: str, source: ErrorFrom, bias: tuple[bool, IntervalOf]
    ) -> None:
        self.observed, self.method = observed, method
        self.source: ErrorFrom = source
        self.bias: tuple[bool, IntervalOf] = bias
        self.n_users = int(observed.n_users)
        self.design: dict[str, Any] = {
            **{name: _extent(size) for name, size in observed.sizes.items()},
            "replacement": observed.replacement,
            "history": None,
        }

    @abstractmethod
    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""

    @abstractmethod
    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure, with bounds at the level or without bounds."""

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks, which samples hardly show, is assumed."""
        return False

    def error_of_difference(self, a: MeanOfUsers, b: MeanOfUsers) -> tuple[float, float]:
        """Return the standard error of a difference, and the number of users for its interval."""
        others = np.hypot(np.sqrt(a.other), np.sqrt(b.other))
        return float(np.hypot(std_error(b.effects - a.effects), others)), self.n_users

    def limits(self, bounds: Bounds | None, largest: float) -> tuple[float, float]:
        """Return where intervals of differences end: at their bounds, or the largest value."""
        if self.source != "posterior":
            return -np.inf, np.inf
        return bounds or (-largest, largest)


def _extent(size: int | Ints) -> int | list[int]:
    """Return a size, or the smallest and the largest one."""
    low, high = int(np.min(size)), int(np.max(size))
    return low if low == high else [low, high]


_PRIOR_SHARE = 0.5  # of an estimate from parts whose prior decides


class EstimatorFit(Fit):
    """A registered estimator, fitted to the parts of measures; equal parts are fitted once.

    Attributes
    ----------
    estimator : Estimator
    targets : SampledRanks
        The ranks of single targets, for resamples.
    linear : LinearEstimator or None
        The method as a mean over users, if it has such a form.
    """

    def __init__(self, estimator: Estimator, observed: Observation) -> None:
        # If all items were drawn, a consistent method gives the exact measure.
        is_exact = estimator.consistent and observed.is_exact
        source = estimator.error_from
        is_short = not is_exact and source != "posterior"
        bias: tuple[bool, IntervalOf] = not is_exact, "expectation" if is_short else "exact"
        super().__init__(observed, str(estimator), "users" if is_exact else source, bias)
        self.estimator, self.targets = estimator, cast("SampledRanks", observed.targets)
        self.linear = estimator if isinstance(estimator, LinearEstimator) else None
        if is_exact:  # the measure of the sample
            self.linear = Naive()
        self._fits: dict[Hashable, SmoothFit | RankDistribution] = {}
        if self.targets.history is not None:
            is_read = estimator.reads_history and not observed.is_exact
            is_read = is_read and has_history(self.targets)
            self.design["history"] = "read" if is_read else "not read"

    def user_values(self, linear: LinearEstimator, measure: Measure) -> Floats:
        """Return each user's value by an estimator that is a mean over users: (n_users,)."""
        targets, values = self.targets, np.zeros(self.targets.n_rows)
        for part in self.observed.parts(measure):
            for shape in part.shapes:
                sizes = np.zeros(targets.n_rows)
                sizes[shape.rows] = shape.sizes
                for design, rows in targets.design_rows:
                    members = rows[sizes[rows] > 0]
                    if members.size:
                        of_outcomes = linear.values(design, shape.measure)
                        values[members] = of_outcomes[targets.above[members]] * sizes[members]
        sums = np.bincount(self.observed.owner, values, self.n_users).astype(np.float64)
        return self.observed.about_mean(sums)

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks is assumed; see `Fit.orders`."""
        n_first = min(design.n_items // design.n_negatives for design, _ in self.targets.designs)
        return depends_on_order(measure, self.targets.most_items, n_first)

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        parts = self.observed.parts(measure)
        return _summed(self._bounds(parts, confidence), self._shares(parts))

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        parts = self.observed.parts(measure)
        shares = self._shares(parts)
        limits = self._bounds(parts, level) if bounds else [None] * len(parts)
        total = _summed(limits, shares) if bounds else None
        most_items = self.targets.most_items
        highest = [float(rank_weights(part.measure, most_items).max()) for part in parts]
        ends: dict[str, Any] = {"bounds": total, "largest": float(shares @ highest)}
        if self.linear is not None:
            values = self.user_values(self.linear, measure)
            summary = stats.summarize(values, level=level)
            return MeanOfUsers.of(summary.mean, values, interval=summary.interval, **ends)
        if self.source != "posterior":
            means = [self._estimate(part.ranks, part, self._fits) for part in parts]
            return MeanOfUsers.of(float(shares @ means), np.empty(0), **ends)
        return self._summed_means(
            [
                self._part_mean(*of_part, level)
                for of_part in zip(parts, shares.tolist(), limits, strict=True)
            ],
            ends,
        )

    def resampled(
        self, measures: Sequence[Measure], first: Ints, draws: Iterable[Ints]
    ) -> list[list[float]]:
        """Estimate measures from each draw of users, of whom the first of each kind stands for all.

        Parameters
        ----------
        first : int64, (n_kinds,)
            See `Resampler`.
        draws : iterable of int64, (n_kinds,)
            The number of users of each kind.
        """
        counts, means = np.zeros(self.n_users), list[list[float]]()
        is_first = np.isin(np.arange(self.n_users), first)
        for drawn in draws:
            counts[first] = drawn
            known: dict[Hashable, Any] = {}
            means.append([self._resampled(m, counts, is_first, known) for m in measures])
        return means

    def _resampled(
        self, measure: Measure, counts: Floats, is_first: Mask, known: dict[Hashable, Any]
    ) -> float:
        """Estimate a measure if users are drawn some times, as marked ones stand for the others."""
        total = 0.0
        for part in self.observed.parts(measure):
            owner = self.observed.owner[part.rows]
            kept = is_first[owner]
            owners, sizes = owner[kept], part.sizes[kept]
            if share := float(sizes @ counts[owners]):
                rows = Tally(part.ranks, kept.astype(np.float64))
                n_users = counts[np.unique(owners)].sum()
                tally = Tally(rows, sizes * counts[owners], n_users)
                total += share * self._estimate(tally, part, known)
        return total / self.n_users

    def _shares(self, parts: Sequence[Part]) -> Floats:
        """Return the factor of each part's mean in the measure."""
        return np.array([part.sizes.sum() for part in parts]) / self.n_users

    def _estimate(self, ranks: SampledRanks, part: Part, known: dict[Hashable, Any]) -> float:
        """Return the mean of a part, from a distribution that is fitted once if there is one."""
        if not self.estimator.gives_distribution:
            return self.estimator.estimate(ranks, part.measure)
        if part.key not in known:
            known[part.key] = self.estimator.fit(ranks)
        return known[part.key].expect(part.measure)

    def _bounds(self, parts: Sequence[Part], level: float) -> list[Bounds]:
        """Return bounds of each part's mean that all hold with the probability `level`."""
        confidence = level if len(parts) < 2 else 1.0 - (1.0 - level) / len(parts)
        return [
            identification_bounds(part.ranks, part.measure, confidence=confidence) for part in parts
        ]

    def _part_mean(
        self, part: Part, share: float, bounds: Bounds | None, level: float
    ) -> MeanOfUsers:
        """Return the part of the targets in the mean of a measure, by a posterior."""
        if part.key not in self._fits:
            self._fits[part.key] = self.estimator.posterior(part.ranks)
        fit, effects = cast("SmoothFit", self._fits[part.key]), np.zeros(self.n_users)
        if fit.states:
            of_rows = fit.influences(part.measure) * fit.ranks.weights * fit.ranks.n_users
            np.add.at(effects, self.observed.owner[part.rows], share * self.n_users * of_rows)
        error = share * fit.std_error(part.measure)
        low, high = fit.interval(part.measure, level=level, bounds=bounds)
        return MeanOfUsers(
            share * fit.expect(part.measure),
            error,
            effects,
            Interval(share * low, share * high),
            max(error**2 - std_error(effects) ** 2, 0.0),
            prior_decides=fit.prior_decides(part.measure),
        )

    def _summed_means(self, means: Sequence[MeanOfUsers], ends: dict[str, Any]) -> MeanOfUsers:
        """Sum the means of parts.

        Effects of a user on several parts are added. The other errors, from the shape that samples
        leave uncertain, are added as if they were the same in all parts. The interval has the form
        of the sum of the parts' intervals, and is narrower by the ratio of the standard error to
        the sum of theirs.
        """
        if len(means) == 1 and self.n_users > 1:
            return replace(means[0], **ends)
        mean = sum(part.mean for part in means)
        effects = np.sum([part.effects for part in means], axis=0)
        other = sum(float(np.sqrt(part.other)) for part in means)
        deciding = [part.mean for part in means if part.prior_decides]
        prior_decides = bool(deciding) and sum(deciding) >= _PRIOR_SHARE * mean
        result = MeanOfUsers.of(mean, effects, other, prior_decides=prior_decides, **ends)
        errors = sum(
            float(np.hypot(std_error(part.effects), np.sqrt(part.other))) for part in means
        )
        if not errors > 0:
            return result
        ratio = result.std_error / errors
        low, high = (sum(ends) for ends in zip(*(part.interval for part in means), strict=True))
        interval = Interval(mean - ratio * (mean - low), mean + ratio * (high - mean))
        if result.bounds is not None:
            interval = limited(interval, result.bounds, mean)
        return replace(result, interval=interval)


def _summed(limits: Sequence[Any], shares: Floats) -> Bounds:
    low, high = (float(shares @ ends) for ends in np.array(limits).reshape(-1, 2).T)
    return Bounds(low, high)
