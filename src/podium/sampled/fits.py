"""Fits of one method to the observations of one model, in the form that all estimates are made of.

`evaluate` and `compare` read nothing else of samples. Each kind of observations has a fit:
`RanksFit` here, `SharedFit`, `StrataFit` and `ScanFit` in the packages of their observations.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from podium import _check
from podium.errors import PodiumWarning, warn
from podium.evaluation import stats
from podium.evaluation.stats import Interval
from podium.evaluation.stats.intervals import inside, t_interval
from podium.metrics import Measure
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import (
    RankDistribution,
    all_rank_weights,
    depends_on_order,
    rank_weights,
    read_measure,
    require_defined,
)
from podium.sampled.estimators import ErrorFrom, Estimator, LinearEstimator
from podium.sampled.estimators.smooth import SmoothFit
from podium.sampled.estimators.smooth.cells import has_history
from podium.sampled.matching import extent
from podium.sampled.ranks import SampledRanks, about_mean, size_at

IntervalOf: TypeAlias = Literal["exact", "expectation"]


class Tally(SampledRanks):
    """Sampled ranks whose rows stand for any number of users, or for a fraction of a user.

    Histories are not kept, because estimators that read them are not fitted to resamples.
    Estimators treat a `Tally` like repeated rows, at the cost of the distinct rows.
    """

    def __init__(self, rows: SampledRanks, counts: Floats) -> None:
        kept_rows = np.flatnonzero(counts > 0)
        kept_sizes = {
            "n_negatives": size_at(rows.n_negatives, kept_rows),
            "n_items": size_at(rows.n_items, kept_rows),
        }
        design = {"replacement": rows.replacement, "stages": rows.stages}
        totals = {"user": None, "history": None, "_total": round(float(counts.sum()))}
        weights = counts[kept_rows] / counts.sum()
        # A subset of checked rows needs no new checks.
        self.__dict__.update(
            ranks=rows.ranks[kept_rows], weights=weights, **kept_sizes, **design, **totals
        )

    @property
    def n_users(self) -> int:
        return int(self.__dict__["_total"])


@dataclass(frozen=True, eq=False)
class _Part:
    """One sample's distinct rows, and the contribution of a user of each kind to them."""

    cells: SampledRanks
    kind: Ints
    cell: Ints
    weight: Floats

    def tally(self, users: Ints) -> Tally:
        """Return the rows of the given number of users of each kind."""
        added_users = users[self.kind] * self.weight
        counts = np.bincount(self.cell, added_users, self.cells.n_rows)
        return Tally(self.cells, counts.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Resampler:
    """The users of one or several samples; users with the same observations form one kind.

    Attributes
    ----------
    counts : int64, (n_kinds,)
        The number of users of each kind.
    kinds : int64, (n_users,)
        The kind of each user.
    """

    counts: Ints
    kinds: Ints
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, samples: Sequence[SampledRanks]) -> Resampler:
        """Group the users of samples that have the same users.

        Parameters
        ----------
        samples : sequence of SampledRanks
            The samples. Their users are matched by `SampledRanks.owner`.
        """
        cells_of_samples = [_cells(ranks) for ranks in samples]
        kinds_of_users = list(
            zip(
                *(
                    _by_user(ranks, cell)
                    for ranks, (_, cell) in zip(samples, cells_of_samples, strict=True)
                ),
                strict=True,
            )
        )
        kind_number = {kind: i for i, kind in enumerate(sorted(set(kinds_of_users)))}
        kind_of_user = np.array([kind_number[kind] for kind in kinds_of_users])
        first_of_kind = np.unique(kind_of_user, return_index=True)[1]
        parts: list[_Part] = []
        for ranks, (cells, cell) in zip(samples, cells_of_samples, strict=True):
            # The rows of one user of each kind, in an order that is independent of labels, because
            # sums of fractions depend on the order.
            rows = np.flatnonzero(np.isin(ranks.owner, first_of_kind))
            rows = rows[np.lexsort((cell[rows], kind_of_user[ranks.owner[rows]]))]
            weight = ranks.weights[rows] * ranks.n_users
            parts.append(_Part(cells, kind_of_user[ranks.owner[rows]], cell[rows], weight))
        return cls(np.bincount(kind_of_user), kind_of_user, tuple(parts))

    def counts_of_kinds(self, n: int, seed: int) -> Iterator[Ints]:
        """Yield the number of users of each kind in n resamples: int64, (n_kinds,)."""
        rng = np.random.default_rng([_check.seed(seed), *b"users"])
        n_users = int(self.counts.sum())
        for _ in range(n):
            yield rng.multinomial(n_users, self.counts / n_users)

    def spread(self, users: Ints) -> Floats:
        """Divide the users of each kind equally among those of the sample: float64, (n_users,)."""
        return (users / self.counts)[self.kinds]


def _by_user(ranks: SampledRanks, cell: Ints) -> list[bytes]:
    """Return the observations of each user as bytes that sort like the cells."""
    order = np.lexsort((cell, ranks.owner))
    text_of_rows = cell[order].astype(">i8").tobytes()
    text_ends = 8 * np.cumsum(np.bincount(ranks.owner))
    return [text_of_rows[a:b] for a, b in pairwise([0, *text_ends.tolist()])]


def _cells(ranks: SampledRanks) -> tuple[SampledRanks, Ints]:
    """Return the distinct rows, and the number of the distinct row that equals each row."""
    sizes, catalogue_sizes = (
        np.broadcast_to(np.asarray(size), ranks.n_rows)
        for size in (ranks.n_negatives, ranks.n_items)
    )
    weights = np.zeros(ranks.n_rows) if ranks.row_weights is None else ranks.row_weights
    _, first_rows, cell_of_row = np.unique(
        np.column_stack([ranks.ranks, sizes, catalogue_sizes, weights]),
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    rows = np.column_stack([ranks.ranks, sizes, catalogue_sizes])[first_rows]
    cells = SampledRanks(
        rows[:, 0],
        rows[:, 1] if isinstance(ranks.n_negatives, np.ndarray) else ranks.n_negatives,
        rows[:, 2] if isinstance(ranks.n_items, np.ndarray) else ranks.n_items,
        replacement=ranks.replacement,
        stages=ranks.stages or None,
    )
    return cells, cell_of_row.reshape(-1).astype(np.int64)


class ExactMeasure(LinearEstimator):
    """The measure of the rank, which is the consistent estimator if all items were drawn."""

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the value of each rank; see `LinearEstimator.values`."""
        return all_rank_weights(read_measure(measure), design.n_items)


class Observed(Protocol):
    """Sampled ranks of any kind."""

    @property
    def is_exact(self) -> bool:
        """Whether all items were drawn, so that the ranks are ranks among all items."""
        ...


def linear_form(method: Estimator, ranks: Observed) -> LinearEstimator | None:
    """Return the method as a mean of users' values, or None if it has no such form here."""
    if method.consistent and ranks.is_exact:
        return ExactMeasure()
    return method if isinstance(method, LinearEstimator) else None


def source_of_error(method: Estimator, ranks: Observed) -> ErrorFrom:
    """Return the source of the standard error: the users if the ranks are exact."""
    return "users" if method.consistent and ranks.is_exact else method.error_from


def interval_kind(method: Estimator, *samples: Observed) -> tuple[bool, IntervalOf]:
    """Return whether the method is biased here, and the quantity that its interval is for."""
    is_biased = method.biased and not (
        method.consistent and all(ranks.is_exact for ranks in samples)
    )
    is_short = is_biased and method.error_from != "posterior"
    return is_biased, "expectation" if is_short else "exact"


def user_values(estimator: LinearEstimator, ranks: SampledRanks, measure: Measure) -> Floats:
    """Return each user's value: float64, (n_users,).

    Their mean is the estimate, and their variance gives its error.
    """
    row_values = np.empty(ranks.n_rows)
    for design, rows in ranks.design_rows:
        row_values[rows] = estimator.values(design, measure)[ranks.outcomes[rows]]
    shares = ranks.weights * ranks.n_users
    values = np.bincount(ranks.owner, row_values * shares, ranks.n_users).astype(np.float64)
    if ranks.row_weights is None:
        return values
    of_users = np.bincount(ranks.owner, shares, ranks.n_users).astype(np.float64)
    return about_mean(values, of_users)


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


NOWHERE = Interval(np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class MeanOfUsers:
    """An estimate of one measure of one model.

    Attributes
    ----------
    mean, std_error : float
    interval : Interval
        The interval at the level; nan for means that need resamples.
    effects : float64, (n_users,)
        The effect of each user on the mean, times n_users, whose covariance gives the error from
        the choice of users. From resamples: their means, times the root of their number.
    other, freedom : float
        The variance of the mean that the effects do not contain, and its degrees of freedom.
    prior_decides : bool
    bounds : Bounds or None
        The bounds at the level of the interval.
    largest : float
        The largest possible mean.
    """

    mean: float
    std_error: float
    interval: Interval
    effects: Floats
    other: float = 0.0
    freedom: float = np.inf
    prior_decides: bool = False
    bounds: Bounds | None = None
    largest: float = np.inf

    @classmethod
    def of(
        cls,
        mean: float,
        effects: Floats,
        other: float = 0.0,
        *,
        interval: Interval = NOWHERE,
        prior_decides: bool = False,
        bounds: Bounds | None = None,
        largest: float = np.inf,
    ) -> MeanOfUsers:
        """Return a mean whose error is that of the effects and another standard error."""
        error = float(np.hypot(standard_error(effects), other))
        rest = (other**2, np.inf, prior_decides, bounds, largest)
        return cls(mean, error, interval, effects, *rest)

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


def standard_error(effects: Floats) -> float:
    """Return the standard error of a mean of users' values; nan with one user."""
    return stats.summarize(effects).std_error


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
    observed : SampledRanks, SharedRanks or ScannedRanks
    omits_assumptions : bool
        Whether standard errors omit the errors of the method's assumptions, so that where the prior
        decides, intervals cover the bounds, and the sign of a difference is unknown.
    is_shared : bool
        Whether whole rankings are measured.
    """

    omits_assumptions: ClassVar[bool] = False
    is_shared: ClassVar[bool] = False

    observed: Any

    @property
    def n_users(self) -> int:
        """The number of users."""
        return self.observed.n_users

    @property
    @abstractmethod
    def method(self) -> str:
        """The method, as a text."""

    @property
    @abstractmethod
    def source(self) -> ErrorFrom:
        """Where the standard error comes from."""

    @property
    @abstractmethod
    def bias(self) -> tuple[bool, IntervalOf]:
        """Whether the method is biased here, and the quantity that intervals are for."""

    @property
    @abstractmethod
    def design(self) -> dict[str, Any]:
        """The sizes and other conventions of the sample as JSON values; see `design_of`."""

    @abstractmethod
    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; warn of a named model with a bad sample."""

    @abstractmethod
    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""

    @abstractmethod
    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure, with bounds at the level or without bounds."""

    def resampled(
        self, measures: Sequence[Measure], resampler: Resampler, number: int, counts: Ints
    ) -> Sequence[float] | Floats:
        """Estimate measures from resampled users; `number` is that of the sample."""
        raise NotImplementedError

    @property
    def targets(self) -> SampledRanks:
        """The ranks of single targets, for resamples."""
        raise NotImplementedError

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks, which samples hardly show, is assumed."""
        return False

    def conventions(self, seed: int, n_bootstrap: int | None) -> dict[str, Any]:
        """Return the method and the design as JSON values; sizes that differ as [low, high]."""
        method = {"method": self.method, "n_users": self.n_users}
        shared = {"shared": True} if self.is_shared else {}
        return {**method, **self.design, "n_bootstrap": n_bootstrap, "seed": seed, **shared}

    def error_of_difference(self, a: MeanOfUsers, b: MeanOfUsers) -> tuple[float, float]:
        """Return the standard error of a difference, and the number of users for its interval."""
        others = np.hypot(np.sqrt(a.other), np.sqrt(b.other))
        return float(np.hypot(standard_error(b.effects - a.effects), others)), self.n_users

    def limits(self, bounds: Bounds | None, largest: float) -> tuple[float, float]:
        """Return where intervals of differences end: at their bounds, or the largest value."""
        if self.source != "posterior":
            return -np.inf, np.inf
        return bounds or (-largest, largest)


def design_of(
    n_items: int | Ints,
    n_negatives: int | Ints,
    *,
    replacement: bool = False,
    stages: tuple[int, ...] = (),
    history: str | None = None,
    n_listed: Ints | None = None,
) -> dict[str, Any]:
    """Return the design of a sample as JSON values."""
    sizes = {"n_items": extent(n_items), "n_negatives": extent(n_negatives)}
    listed = {} if n_listed is None else {"n_listed": extent(n_listed)}
    drawing = {"replacement": replacement, "stages": list(stages) or None, "history": history}
    return {**sizes, **listed, **drawing}


class EstimatorFit(Fit):
    """A fit of a registered estimator."""

    estimator: Estimator

    @property
    def method(self) -> str:
        return str(self.estimator)

    @property
    def source(self) -> ErrorFrom:
        return source_of_error(self.estimator, self.observed)

    @property
    def bias(self) -> tuple[bool, IntervalOf]:
        return interval_kind(self.estimator, self.observed)


@dataclass(frozen=True, eq=False)
class RanksFit(EstimatorFit):
    """An estimator and the ranks of single targets."""

    estimator: Estimator
    observed: SampledRanks

    @property
    def targets(self) -> SampledRanks:
        return self.observed

    @property
    def design(self) -> dict[str, Any]:
        ranks, history = self.observed, None
        if ranks.history is not None:
            is_read = self.estimator.reads_history and not ranks.is_exact and has_history(ranks)
            history = "read" if is_read else "not read"
        drawing: dict[str, Any] = {"replacement": ranks.replacement, "stages": ranks.stages}
        return design_of(ranks.n_items, ranks.n_negatives, **drawing, history=history)

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        self.estimator.check(self.observed)
        require_defined(measures, self.observed.fewest_items)

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        return identification_bounds(self.observed, measure, confidence=confidence)

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks is assumed; see `Fit.orders`."""
        n_first = min(design.n_items // design.n_negatives for design, _ in self.observed.designs)
        return depends_on_order(measure, self.observed.most_items, n_first)

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        limits = self.bounds(measure, level) if bounds else None
        largest = float(rank_weights(measure, self.observed.most_items).max())
        ends: dict[str, Any] = {"bounds": limits, "largest": largest}
        linear = linear_form(self.estimator, self.observed)
        if linear is not None:
            values = user_values(linear, self.observed, measure)
            summary = stats.summarize(values, level=level)
            return MeanOfUsers.of(summary.mean, values, interval=summary.interval, **ends)
        if self.source != "posterior":
            mean = estimated(self.estimator, self.observed, self._distribution, measure)
            return MeanOfUsers.of(mean, np.empty(0), **ends)
        fit, n_users = self._posterior, self.n_users
        prior_decides = fit.prior_decides(measure)
        if n_users < 2:
            nothing = np.zeros(n_users)
            return MeanOfUsers.of(fit.expect(measure), nothing, prior_decides=prior_decides, **ends)
        effects = fit.user_effects(measure) * n_users if fit.states else np.zeros(n_users)
        error = fit.std_error(measure)
        other = max(error**2 - standard_error(effects) ** 2, 0.0)
        interval = Interval(*fit.interval(measure, level=level, bounds=limits))
        own = {"other": other, "prior_decides": prior_decides}
        return MeanOfUsers(fit.expect(measure), error, interval, effects, **own, **ends)

    def resampled(
        self, measures: Sequence[Measure], resampler: Resampler, number: int, counts: Ints
    ) -> Floats:
        """Estimate measures from resampled users; see `Fit.resampled`."""
        tally = resampler.parts[number].tally(counts)
        known = self.estimator.fit(tally) if self.estimator.gives_distribution else None
        return np.array([estimated(self.estimator, tally, known, m) for m in measures])

    @cached_property
    def _posterior(self) -> SmoothFit:
        return self.estimator.posterior(self.observed)

    @cached_property
    def _distribution(self) -> RankDistribution | None:
        return self.estimator.fit(self.observed) if self.estimator.gives_distribution else None


def estimated(
    estimator: Estimator, ranks: SampledRanks, known: RankDistribution | None, measure: Measure
) -> float:
    """Return an estimate from a distribution, or without one if the method gives none."""
    return estimator.estimate(ranks, measure) if known is None else known.expect(measure)
