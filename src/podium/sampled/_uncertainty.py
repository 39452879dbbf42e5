"""Estimates of several measures at once, and how they vary with users and with what was drawn."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from podium import _check
from podium.errors import PodiumWarning
from podium.evaluation import stats
from podium.evaluation.stats import Interval
from podium.evaluation.stats.intervals import t_interval
from podium.metrics import Measure
from podium.sampled.bounds import Bounds
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import all_rank_weights, rank_weights, read_measure
from podium.sampled.estimators import Estimator, LinearEstimator
from podium.sampled.estimators.smooth import Smooth, SmoothFit
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks

ErrorFrom: TypeAlias = Literal["users", "bootstrap", "posterior"]
IntervalOf: TypeAlias = Literal["exact", "expectation"]


class Tally(SampledRanks):
    """Sampled ranks whose rows stand for any number of users, or for a part of one.

    The users' histories are not told apart: who reads these is not fitted to resamples.
    Estimators read it as they read rows that are repeated, at the cost of the distinct rows.
    """

    def __init__(self, rows: SampledRanks, counts: Floats) -> None:
        kept = np.flatnonzero(counts > 0)
        sizes = {"n_negatives": rows.n_negatives, "n_items": rows.n_items}
        cut = {name: size if isinstance(size, int) else size[kept] for name, size in sizes.items()}
        design = {"replacement": rows.replacement, "stages": rows.stages}
        users = {"user": None, "history": None, "_total": round(float(counts.sum()))}
        weights = counts[kept] / counts.sum()
        # What was checked of the rows holds of some of them.
        self.__dict__.update(ranks=rows.ranks[kept], weights=weights, **cut, **design, **users)

    @property
    def n_users(self) -> int:
        return int(self.__dict__["_total"])


@dataclass(frozen=True, eq=False)
class _Part:
    """One sample's distinct rows, and what a user of each kind adds to them."""

    cells: SampledRanks
    kind: Ints
    cell: Ints
    weight: Floats

    def tally(self, users: Ints) -> Tally:
        """Return the rows of so many users of each kind."""
        added = users[self.kind] * self.weight
        counts = np.bincount(self.cell, added, self.cells.n_rows)
        return Tally(self.cells, counts.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Resampler:
    """Users of one or several samples, those who observed the same counted together.

    Attributes
    ----------
    counts : int64, (n_kinds,)
        Users of each kind.
    """

    counts: Ints
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, samples: Sequence[SampledRanks]) -> Resampler:
        """Gather the users of samples that have the same users.

        Parameters
        ----------
        samples : sequence of SampledRanks
            Users are matched by `SampledRanks.owner`.
        """
        found = [_cells(each) for each in samples]
        observed = list(
            zip(
                *(_by_user(each, cell) for each, (_, cell) in zip(samples, found, strict=True)),
                strict=True,
            )
        )
        place = {kind: i for i, kind in enumerate(sorted(set(observed)))}
        kinds = np.array([place[each] for each in observed])
        first = np.unique(kinds, return_index=True)[1]
        parts: list[_Part] = []
        for each, (cells, cell) in zip(samples, found, strict=True):
            rows = np.flatnonzero(np.isin(each.owner, first))  # of one user of each kind
            # In an order that labels do not change, since sums of fractions depend on it.
            rows = rows[np.lexsort((cell[rows], kinds[each.owner[rows]]))]
            weight = each.weights[rows] * each.n_users
            parts.append(_Part(cells, kinds[each.owner[rows]], cell[rows], weight))
        return cls(np.bincount(kinds), tuple(parts))

    def draw(self, n: int, seed: int) -> Iterator[tuple[Tally, ...]]:
        """Yield n times as many users as there are, drawn with replacement, sample by sample."""
        rng = np.random.default_rng([_check.seed(seed), *b"users"])
        total = int(self.counts.sum())
        for _ in range(n):
            users = rng.multinomial(total, self.counts / total)
            yield tuple(part.tally(users) for part in self.parts)


def _by_user(ranks: SampledRanks, cell: Ints) -> list[bytes]:
    """Return what each user observed, as text that sorts as the cells do."""
    order = np.lexsort((cell, ranks.owner))
    text = cell[order].astype(">i8").tobytes()
    ends = 8 * np.cumsum(np.bincount(ranks.owner))
    return [text[a:b] for a, b in pairwise([0, *ends.tolist()])]


def _cells(ranks: SampledRanks) -> tuple[SampledRanks, Ints]:
    """Return the distinct rows, and which of them each row is."""
    sizes, items = (
        np.broadcast_to(np.asarray(size), ranks.n_rows)
        for size in (ranks.n_negatives, ranks.n_items)
    )
    rows, place = np.unique(
        np.column_stack([ranks.ranks, sizes, items]), axis=0, return_inverse=True
    )
    cells = SampledRanks(
        rows[:, 0],
        rows[:, 1] if isinstance(ranks.n_negatives, np.ndarray) else ranks.n_negatives,
        rows[:, 2] if isinstance(ranks.n_items, np.ndarray) else ranks.n_items,
        replacement=ranks.replacement,
        stages=ranks.stages or None,
    )
    return cells, place.reshape(-1).astype(np.int64)


class Found(NamedTuple):
    """One measure's mean and how sure it is; the rest of an `Estimate` is the same for all.

    Attributes
    ----------
    mean, std_error : float
    interval : Interval
    prior_decides : bool
        Whether the method's prior decides more than the sample, as it says itself.
    """

    mean: float
    std_error: float
    interval: Interval
    prior_decides: bool = False


class _Exact(LinearEstimator):
    """What a consistent estimator is where all items were drawn: the measure of the rank."""

    def values(self, design: Design, measure: str | Measure) -> Floats:
        return all_rank_weights(read_measure(measure), design.n_items)


def linear_form(estimator: Estimator, ranks: SampledRanks) -> LinearEstimator | None:
    """Return the estimator as a mean of a value of each outcome, if that is what it is here."""
    if estimator.consistent and is_exact(ranks):
        return _Exact()
    return estimator if isinstance(estimator, LinearEstimator) else None


def is_exact(ranks: SampledRanks) -> bool:
    """Whether all items were drawn, so that sampled ranks are ranks among all items."""
    return likelihood(ranks).is_exact


def user_values(estimator: LinearEstimator, ranks: SampledRanks, measure: Measure) -> Floats:
    """Return each user's value, whose mean is the estimate: float64, (n_users,)."""
    rows = np.empty(ranks.n_rows)
    for design, mine in ranks.design_rows:
        rows[mine] = estimator.values(design, measure)[ranks.outcomes[mine]]
    shares = rows * ranks.weights * ranks.n_users
    return np.bincount(ranks.owner, shares, ranks.n_users).astype(np.float64)


def estimates(
    estimator: Estimator, ranks: SampledRanks, measures: Sequence[str | Measure]
) -> Floats:
    """Estimate all measures, from one fit where the method gives a distribution."""
    if isinstance(estimator, LinearEstimator) or not estimator.gives_distribution:
        return np.array([estimator.estimate(ranks, each) for each in measures])
    found = estimator.fit(ranks)
    return np.array([found.expect(each) for each in measures])


def resampled(
    estimator: Estimator,
    samples: Sequence[SampledRanks],
    measures: Sequence[Measure],
    n_bootstrap: int,
    seed: int,
) -> Floats:
    """Estimate from users drawn again: float64, (n_bootstrap, n_samples, n_measures).

    Samples are of the same users, who are drawn together; nan with one user, who tells nothing
    of others.
    """
    if samples[0].n_users < 2:
        return np.full((n_bootstrap, len(samples), len(measures)), np.nan)
    drawn = Resampler.of(samples).draw(n_bootstrap, seed)
    return np.array([[estimates(estimator, one, measures) for one in each] for each in drawn])


def errors(
    method: Estimator,
    ranks: SampledRanks,
    measures: Sequence[Measure],
    level: float,
    n_bootstrap: int,
    seed: int,
    limits: Sequence[Bounds | None],
) -> tuple[list[Found], ErrorFrom]:
    """Return each measure's mean, standard error and interval, and where the error is from.

    With one user, who tells nothing of others, errors and intervals are nan. `limits` are the
    identification bounds, at which intervals of the exact mean end.
    """
    linear = linear_form(method, ranks)
    if linear is not None:
        each = (user_values(linear, ranks, one) for one in measures)
        sums = [stats.summarize(values, level=level) for values in each]
        return [Found(s.mean, s.std_error, s.interval) for s in sums], "users"
    if isinstance(method, Smooth):
        fit = method.posterior(ranks)
        pairs = zip(measures, limits, strict=True)
        return [_by_posterior(fit, each, level, limit) for each, limit in pairs], "posterior"
    means = estimates(method, ranks, measures)
    drawn = resampled(method, (ranks,), measures, n_bootstrap, seed)[:, 0]
    return [
        _by_bootstrap(
            mean, drawn[:, i], float(rank_weights(m, ranks.most_items).max()), level, ranks.n_users
        )
        for i, (mean, m) in enumerate(zip(means.tolist(), measures, strict=True))
    ], "bootstrap"


def _by_posterior(fit: SmoothFit, measure: Measure, level: float, limit: Bounds | None) -> Found:
    """Return mean, standard error and interval as the smooth fit knows them."""
    mean = fit.expect(measure)
    if limit is not None:
        mean = min(max(mean, limit.low), limit.high)
    if fit.ranks.n_users < 2:
        return Found(mean, np.nan, Interval(np.nan, np.nan), fit.prior_decides(measure))
    interval = Interval(*fit.interval(measure, level=level, bounds=limit))
    return Found(mean, fit.std_error(measure), interval, fit.prior_decides(measure))


def _by_bootstrap(mean: float, drawn: Floats, most: float, level: float, n_users: int) -> Found:
    """Return mean, standard error and interval: of a positive estimate, one of its logarithm.

    Estimates of rare events vary more where they come out larger, so that intervals symmetric
    about the mean end too low.
    """
    error = float(np.std(drawn, ddof=1))
    if not (mean > 0 and (drawn >= 0).all()):
        return Found(mean, error, t_interval(mean, error, n_users, level))
    low, high = t_interval(0.0, error / mean, n_users, level)
    with np.errstate(over="ignore"):  # no more than the most that a measure can be
        ends = mean * float(np.exp(low)), min(mean * float(np.exp(high)), most)
    return Found(mean, error, Interval(*ends))


def covariances(
    method: Estimator,
    samples: Sequence[SampledRanks],
    measures: Sequence[Measure],
    n_bootstrap: int,
    seed: int,
) -> Floats:
    """Return covariances of samples' estimates over users drawn again, measure by measure.

    float64, (n_measures, n_samples, n_samples); nan with one user.
    """
    n = len(samples)
    drawn = resampled(method, samples, measures, n_bootstrap, seed)
    return np.array([np.cov(drawn[:, :, i].T).reshape(n, n) for i in range(len(measures))])


def interval_kind(method: Estimator, samples: Sequence[SampledRanks]) -> tuple[bool, IntervalOf]:
    """Return whether the method is biased here, and what its interval is for."""
    exact = method.consistent and all(is_exact(ranks) for ranks in samples)
    biased = method.biased and not exact
    return biased, "expectation" if biased and not isinstance(method, Smooth) else "exact"


@contextmanager
def said_once() -> Generator[None]:
    """Give each different warning of podium's once, however many fits say it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    seen: set[str] = set()
    for each in caught:
        text = str(each.message)
        if text not in seen or not issubclass(each.category, PodiumWarning):
            warnings.warn(text, each.category, stacklevel=4)
        seen.add(text)
