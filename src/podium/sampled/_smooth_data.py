"""Observed ranks as the smooth estimator reads them, and whether a distribution fits them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from podium import _check
from podium.errors import ArgumentError
from podium.sampled._likelihood import Likelihood
from podium.sampled._smooth_cells import Cells
from podium.sampled.ranks import SampledRanks

Floats = NDArray[np.float64]

_GROUPS = 8  # of users, by their number of own items
_LEAST_EXPECTED = 5.0  # users in a cell of the test of fit
_REJECTED = 1e-4  # probability below which the smooth family does not fit
_MOST_STEPS = 200  # of expectation maximisation, where it does not: more would follow noise
_STEPS = 10  # between tests
_MOST_DESIGNS = 16  # beyond which sizes of catalogues are rounded
_ALIKE = 0.02  # in the log of a size
_TINY = 1e-300


def read_history(history: ArrayLike, n_rows: int) -> Floats:
    """Return each row's number of own items, at least 1."""
    sizes = _check.column(history, "history")
    if sizes.size != n_rows:
        raise ArgumentError(
            f"history must have one number for each of the {n_rows} ranks, got {sizes.size}."
        )
    if not (sizes >= 0).all():
        row = int(np.argmin(sizes >= 0))
        raise ArgumentError(f"history must be >= 0, got {sizes[row]:g} at row {row}.")
    return np.maximum(sizes, 1.0)


def by_history(sizes: Floats, weights: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Put users of alike histories together: each row's group, and the groups' typical sizes."""
    cuts = np.unique(np.quantile(sizes, np.arange(1, _GROUPS) / _GROUPS))
    _, groups = np.unique(np.searchsorted(cuts, sizes, side="right"), return_inverse=True)
    total = np.bincount(groups, weights)
    return groups.astype(np.int64), np.exp(np.bincount(groups, weights * np.log(sizes)) / total)


def few_designs(ranks: SampledRanks) -> SampledRanks:
    """Let users' catalogues of sizes within 1 % of each other pass for one size, if many differ.

    A chance depends on the rank's share of the catalogue; thousands of designs take seconds.
    """
    if isinstance(ranks.n_items, int) or len(ranks.designs) <= _MOST_DESIGNS:
        return ranks
    most = ranks.most_items
    steps = np.rint(np.log(most / ranks.n_items) / _ALIKE)
    sizes = np.rint(most * np.exp(-_ALIKE * steps)).astype(np.int64)
    return SampledRanks(
        ranks.ranks,
        ranks.n_negatives,
        np.maximum(sizes, np.asarray(ranks.n_negatives) + 1),
        replacement=ranks.replacement,
        user=ranks.user,
        stages=ranks.stages,
    )


def group_counts(ranks: SampledRanks, groups: NDArray[np.int64], n_groups: int) -> Floats:
    """Return users by group and observed outcome, in the order of `Likelihood.rows`."""
    parts: list[Floats] = []
    for _, rows in ranks.design_rows:
        seen, place = np.unique(ranks.outcomes[rows], return_inverse=True)
        flat = groups[rows] * seen.size + place
        users = np.bincount(flat, ranks.weights[rows] * ranks.n_users, n_groups * seen.size)
        parts.append(users.astype(np.float64).reshape(n_groups, seen.size))
    return np.concatenate(parts, axis=1)


def relax(mass: Floats, cells: Cells, ranks: SampledRanks) -> tuple[Floats, int]:
    """Make steps of expectation maximisation until a distribution fits the observed ranks."""
    (design, users), *others = ranks.designs
    if others:
        return mass, 0
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
