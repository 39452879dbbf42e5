"""Estimates of several measures, and their variation with users and with the drawn items."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias

import numpy as np

from podium import _check
from podium.errors import PodiumWarning, warn
from podium.metrics import Measure
from podium.sampled import _columns
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import all_rank_weights, read_measure
from podium.sampled.estimators import ErrorFrom, Estimator, LinearEstimator
from podium.sampled.ranks import SampledRanks

IntervalOf: TypeAlias = Literal["exact", "expectation"]


class Tally(SampledRanks):
    """Sampled ranks whose rows stand for any number of users, or for a fraction of a user.

    Histories are not kept, because estimators that read them are not fitted to resamples.
    Estimators treat a `Tally` like repeated rows, at the cost of the distinct rows.
    """

    def __init__(self, rows: SampledRanks, counts: Floats) -> None:
        kept_rows = np.flatnonzero(counts > 0)
        sizes = {"n_negatives": rows.n_negatives, "n_items": rows.n_items}
        kept_sizes = {
            name: size if isinstance(size, int) else size[kept_rows] for name, size in sizes.items()
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
    return _columns.about_mean(values, of_users)


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
