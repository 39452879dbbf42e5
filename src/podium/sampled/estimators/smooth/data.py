"""Observed ranks as input of the smooth estimator, and a test of fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from podium.sampled.design import Design, Floats, Ints
from podium.sampled.ranks import SampledRanks

_GROUPS = 8  # of users, by their number of own items
_LEAST_EXPECTED = 5.0  # users in a cell of the test of fit
_REJECTED = 1e-4  # the p-value below which the smooth family does not fit
_MOST_STEPS = 200  # of expectation maximisation if it does not fit; more would follow noise
_STEPS = 10  # between tests
_MOST_DESIGNS = 16  # with more designs, sizes of catalogues are rounded
_SIZE_STEP = 0.02  # the step of rounding in the log of a size
_ROUNDING = 1e-20  # smaller squared differences are rounding errors
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class RowIndex:
    """The cell in which each row is counted: its group of users and its column of outcomes.

    Attributes
    ----------
    groups : int64, (n,)
    sizes : float64, (n_groups,)
        The typical number of own items in each group, at least 1.
    columns : int64, (n,)
        The numbers of columns in the order of `Likelihood.chances`.
    n_columns : int
    """

    groups: Ints
    sizes: Floats
    columns: Ints
    n_columns: int

    @classmethod
    def of(cls, ranks: SampledRanks) -> RowIndex:
        """Group users by their histories, if they have any."""
        columns, n_columns = np.empty(ranks.n_rows, np.int64), 0
        for _, rows in ranks.design_rows:
            distinct, number = np.unique(ranks.outcomes[rows], return_inverse=True)
            columns[rows] = n_columns + number
            n_columns += distinct.size
        return cls(*_by_history(ranks), columns, n_columns)

    @property
    def has_groups(self) -> bool:
        """Whether histories divide users into groups; otherwise they change nothing."""
        return self.sizes.size > 1

    def without_groups(self) -> RowIndex:
        """Return the places with all users in one group."""
        return replace(self, groups=np.zeros_like(self.groups), sizes=np.ones(1))

    def counts(self, ranks: SampledRanks) -> Floats:
        """Return observations by group and outcome: (n_groups, n_columns); see `n_observed`."""
        shape = self.sizes.size, self.n_columns
        keys = self.groups * shape[1] + self.columns
        counts_by_key = np.bincount(keys, ranks.weights * n_observed(ranks), shape[0] * shape[1])
        return counts_by_key.astype(np.float64).reshape(shape)


def has_history(ranks: SampledRanks) -> bool:
    """Return whether users differ in the number of own items that the sample was drawn from."""
    return RowIndex.of(round_catalogues(ranks)).has_groups


def n_observed(ranks: SampledRanks) -> float:
    """Return the equivalent number of independent targets; the users, if each has one target.

    Uncorrelated targets of one user count separately, and equal ones count as one. The correlation
    of a user's log sampled ranks interpolates between these. Shares of users then vary like those
    of this number of single targets (Kish's effective sample size).
    """
    if ranks.user is None or ranks.n_rows == ranks.n_users:
        return ranks.n_effective
    separate_sum = float(ranks.weights @ ranks.weights)
    joint_sum = 1.0 / ranks.n_effective
    return 1.0 / (
        separate_sum + _correlation_within_users(ranks) * max(joint_sum - separate_sum, 0.0)
    )


def _correlation_within_users(ranks: SampledRanks) -> float:
    """Return the correlation of log sampled ranks within users, from 0 to 1; 1 if unknown.

    It is computed from the mean squares between and within users (analysis of variance).
    """
    logs = np.log(ranks.ranks / (ranks.n_negatives + 1.0))
    sizes = np.bincount(ranks.owner).astype(np.float64)
    n_rows, n_users = logs.size, sizes.size
    means = np.bincount(ranks.owner, logs) / sizes
    within = float(((logs - means[ranks.owner]) ** 2).sum()) / (n_rows - n_users)
    if n_users < 2 or within < _ROUNDING:
        return 1.0
    between = float(sizes @ (means - logs.mean()) ** 2) / (n_users - 1)
    typical_size = (n_rows - float(sizes @ sizes) / n_rows) / (n_users - 1)
    between_variance = max((between - within) / typical_size, 0.0)
    return between_variance / (between_variance + within)


def _by_history(ranks: SampledRanks) -> tuple[Ints, Floats]:
    """Group users with similar histories: each row's group, and the groups' typical sizes."""
    if ranks.history is None:
        return np.zeros(ranks.n_rows, np.int64), np.ones(1)
    sizes = np.maximum(ranks.history, 1).astype(np.float64)
    cuts = np.unique(np.quantile(sizes, np.arange(1, _GROUPS) / _GROUPS))
    _, groups = np.unique(np.searchsorted(cuts, sizes, side="right"), return_inverse=True)
    weights = np.bincount(groups, ranks.weights)
    mean_logs = np.bincount(groups, ranks.weights * np.log(sizes)) / weights
    return groups.astype(np.int64), np.exp(mean_logs)


def round_catalogues(ranks: SampledRanks) -> SampledRanks:
    """Round the sizes of users' catalogues to steps of 2 %, if there are many different ones.

    A probability depends on the rank's share of the catalogue, and thousands of designs would take
    seconds.
    """
    if isinstance(ranks.n_items, int) or len(ranks.designs) <= _MOST_DESIGNS:
        return ranks
    largest = ranks.most_items
    steps = np.rint(np.log(largest / ranks.n_items) / _SIZE_STEP)
    sizes = np.rint(largest * np.exp(-_SIZE_STEP * steps)).astype(np.int64)
    sizes = np.maximum(sizes, np.asarray(ranks.n_negatives) + 1)
    history = None if ranks.history is None else np.minimum(ranks.history, sizes - 1)
    return replace(ranks, n_items=sizes, history=history)


def em_until_fit(
    mass: Floats, tables: Mapping[Design, Floats], ranks: SampledRanks
) -> tuple[Floats, int]:
    """Make steps of expectation maximisation until a distribution fits the observed ranks.

    `tables` has the chances of all outcomes in each cell, if there is one design.
    """
    (design, users), *other_designs = ranks.designs
    if other_designs:
        return mass, 0
    users = users * (n_observed(ranks) / ranks.n_users)
    chances = tables[design]
    shares = users / users.sum()
    n_steps = 0
    while n_steps < _MOST_STEPS and not _fits(mass @ chances, users):
        for _ in range(_STEPS):
            mass = mass * (chances @ (shares / np.maximum(mass @ chances, _TINY)))
        n_steps += _STEPS
    return mass, n_steps


def _fits(outcome_chances: Floats, users: Floats) -> bool:
    """Test outcomes against their probabilities by chi-square, with rare neighbours merged."""
    expected = outcome_chances * users.sum()
    n_cells = max(int(expected.sum() / _LEAST_EXPECTED), 1)
    bin_number = np.minimum(np.cumsum(expected) / _LEAST_EXPECTED, n_cells - 1).astype(np.int64)
    _, cell = np.unique(bin_number, return_inverse=True)
    expected_counts, observed_counts = np.bincount(cell, expected), np.bincount(cell, users)
    statistic = float(
        ((observed_counts - expected_counts) ** 2 / np.maximum(expected_counts, _TINY)).sum()
    )
    return statistic <= float(chi2.isf(_REJECTED, max(expected_counts.size - 1, 1)))
