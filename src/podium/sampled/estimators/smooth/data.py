"""Observed ranks as the smooth estimator reads them, and whether a distribution fits them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from podium.sampled.design import Floats, Ints
from podium.sampled.estimators.smooth.cells import Cells
from podium.sampled.likelihood import Likelihood
from podium.sampled.ranks import SampledRanks

_GROUPS = 8  # of users, by their number of own items
_LEAST_EXPECTED = 5.0  # users in a cell of the test of fit
_REJECTED = 1e-4  # probability below which the smooth family does not fit
_MOST_STEPS = 200  # of expectation maximisation, where it does not: more would follow noise
_STEPS = 10  # between tests
_MOST_DESIGNS = 16  # beyond which sizes of catalogues are rounded
_ALIKE = 0.02  # in the log of a size
_SAME = 1e-20  # of squared differences that are rounding
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Places:
    """Where each row is counted: its group of users, and its column of observed outcomes.

    Attributes
    ----------
    groups : int64, (n,)
    sizes : float64, (n_groups,)
        Typical number of own items in each group, 1 or more.
    columns : int64, (n,)
        In the order of `Likelihood.rows`.
    n_columns : int
    """

    groups: Ints
    sizes: Floats
    columns: Ints
    n_columns: int

    @classmethod
    def of(cls, ranks: SampledRanks) -> Places:
        """Group users by their histories, where they have some."""
        columns, n_columns = np.empty(ranks.n_rows, np.int64), 0
        for _, rows in ranks.design_rows:
            seen, place = np.unique(ranks.outcomes[rows], return_inverse=True)
            columns[rows] = n_columns + place
            n_columns += seen.size
        return cls(*_by_history(ranks), columns, n_columns)

    @property
    def told(self) -> bool:
        """Whether histories tell groups of users apart: else they change nothing."""
        return self.sizes.size > 1

    def plain(self) -> Places:
        """Return the places with all users in one group."""
        return replace(self, groups=np.zeros_like(self.groups), sizes=np.ones(1))

    def counts(self, ranks: SampledRanks) -> Floats:
        """Return observations by group and outcome: (n_groups, n_columns); see `n_observed`."""
        shape = self.sizes.size, self.n_columns
        flat = self.groups * shape[1] + self.columns
        seen = np.bincount(flat, ranks.weights * n_observed(ranks), shape[0] * shape[1])
        return seen.astype(np.float64).reshape(shape)


def has_history(ranks: SampledRanks) -> bool:
    """Whether users can be told apart by how many own items the sample was drawn from."""
    return Places.of(few_designs(ranks)).told


def n_observed(ranks: SampledRanks) -> float:
    """Return how many independent targets know as much as these: the users, if each has one.

    Targets of one user that have nothing in common count one by one, those that are alike as
    one: between these the correlation of a user's log sampled ranks decides. Shares of users
    then vary as those of so many single targets (Kish's effective number).
    """
    if ranks.user is None or ranks.n_rows == ranks.n_users:
        return float(ranks.n_users)
    alone = float(ranks.weights @ ranks.weights)
    together = 1.0 / ranks.n_users
    return 1.0 / (alone + _alike(ranks) * max(together - alone, 0.0))


def _alike(ranks: SampledRanks) -> float:
    """Return the correlation of log sampled ranks within users, from 0 to 1; 1 if unknown.

    From the mean squares between and within users (analysis of variance).
    """
    scores = np.log(ranks.ranks / (ranks.n_negatives + 1.0))
    sizes = np.bincount(ranks.owner).astype(np.float64)
    n_rows, n_users = scores.size, sizes.size
    means = np.bincount(ranks.owner, scores) / sizes
    within = float(((scores - means[ranks.owner]) ** 2).sum()) / (n_rows - n_users)
    if n_users < 2 or within < _SAME:
        return 1.0
    between = float(sizes @ (means - scores.mean()) ** 2) / (n_users - 1)
    typical = (n_rows - float(sizes @ sizes) / n_rows) / (n_users - 1)
    shared = max((between - within) / typical, 0.0)
    return shared / (shared + within)


def _by_history(ranks: SampledRanks) -> tuple[Ints, Floats]:
    """Put users of alike histories together: each row's group, and the groups' typical sizes."""
    if ranks.history is None:
        return np.zeros(ranks.n_rows, np.int64), np.ones(1)
    sizes = np.maximum(ranks.history, 1).astype(np.float64)
    cuts = np.unique(np.quantile(sizes, np.arange(1, _GROUPS) / _GROUPS))
    _, groups = np.unique(np.searchsorted(cuts, sizes, side="right"), return_inverse=True)
    total = np.bincount(groups, ranks.weights)
    logs = np.bincount(groups, ranks.weights * np.log(sizes)) / total
    return groups.astype(np.int64), np.exp(logs)


def few_designs(ranks: SampledRanks) -> SampledRanks:
    """Let users' catalogues of sizes within 1 % of each other pass for one size, if many differ.

    A chance depends on the rank's share of the catalogue; thousands of designs take seconds.
    """
    if isinstance(ranks.n_items, int) or len(ranks.designs) <= _MOST_DESIGNS:
        return ranks
    most = ranks.most_items
    steps = np.rint(np.log(most / ranks.n_items) / _ALIKE)
    sizes = np.rint(most * np.exp(-_ALIKE * steps)).astype(np.int64)
    sizes = np.maximum(sizes, np.asarray(ranks.n_negatives) + 1)
    history = None if ranks.history is None else np.minimum(ranks.history, sizes - 1)
    return replace(ranks, n_items=sizes, history=history)


def relax(mass: Floats, cells: Cells, ranks: SampledRanks) -> tuple[Floats, int]:
    """Make steps of expectation maximisation until a distribution fits the observed ranks."""
    (design, users), *others = ranks.designs
    if others:
        return mass, 0
    users = users * (n_observed(ranks) / ranks.n_users)
    everything = np.arange(design.n_outcomes)
    chances = cells.chances(Likelihood(((design, everything),), users, design.n_items))
    shares = users / users.sum()
    n_steps = 0
    while n_steps < _MOST_STEPS and not _fits(mass @ chances, users):
        for _ in range(_STEPS):
            mass = mass * (chances @ (shares / np.maximum(mass @ chances, _TINY)))
        n_steps += _STEPS
    return mass, n_steps


def _fits(mixed: Floats, users: Floats) -> bool:
    """Test outcomes against their chances by chi-square, neighbours that few expect together."""
    expected = mixed * users.sum()
    n_cells = max(int(expected.sum() / _LEAST_EXPECTED), 1)
    place = np.minimum(np.cumsum(expected) / _LEAST_EXPECTED, n_cells - 1).astype(np.int64)
    _, cell = np.unique(place, return_inverse=True)
    wanted, got = np.bincount(cell, expected), np.bincount(cell, users)
    statistic = float(((got - wanted) ** 2 / np.maximum(wanted, _TINY)).sum())
    return statistic <= float(chi2.isf(_REJECTED, max(wanted.size - 1, 1)))
