"""Cells in which neighbouring ranks are equally likely: a catalogue in about 300 numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import chi2

from podium.metrics import Measure
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import all_rank_weights
from podium.sampled.likelihood import Likelihood
from podium.sampled.ranks import SampledRanks

_SINGLE = 24  # ranks at each end that are separate cells
_RATIO = 0.07  # of a cell's size to its distance from the nearer end
_DEVIATIONS = 0.5  # standard deviations of the sampled rank that a cell may span
_STEP = 0.25  # standard deviations between the ranks that represent a cell
_LEAST_NODES = 4  # of these ranks per cell
_MOST_CELLS = 1024  # approximately; limits the cells for samples of nearly all items
_BLOCK = 2**20  # chances in memory at the same time: 8 MiB


@dataclass(frozen=True, eq=False)
class Cells:
    """Ranks 1 .. n_items in cells: cell c holds the ranks edges[c] + 1 .. edges[c + 1].

    Attributes
    ----------
    edges : int64, (n_cells + 1,)
    n_negatives : int
        The size of the samples, which distinguish ranks from about n_items / n_negatives.
    """

    edges: Ints
    n_negatives: int

    @classmethod
    def of(cls, n_items: int, n_negatives: int, ratio: float = 1.0) -> Cells:
        """Return cells that are narrow near the ends and where a sample distinguishes ranks.

        Parameters
        ----------
        n_items, n_negatives : int
        ratio : float
            The ratio of the sampled rank's standard deviation to that with replacement; see
            `deviation_ratio`.
        """
        middle_rank = (n_items + 1) // 2
        smallest_width = n_items / _MOST_CELLS
        edges = [0]
        while edges[-1] < middle_rank:
            last_edge = edges[-1]
            variance = max(last_edge, 1) * (n_items - last_edge) / n_negatives
            deviations = _DEVIATIONS * np.sqrt(variance)
            resolution = max(ratio * deviations, min(smallest_width, deviations))
            width = min(_RATIO * last_edge, resolution) if last_edge >= _SINGLE else 1
            edges.append(last_edge + max(1, int(width)))
        inner_edges = np.array(edges[:-1], dtype=np.int64)
        return cls(np.unique(np.concatenate([inner_edges, n_items - inner_edges])), n_negatives)

    @property
    def n_items(self) -> int:
        return int(self.edges[-1])

    @cached_property
    def sizes(self) -> Floats:
        return np.diff(self.edges).astype(np.float64)

    @cached_property
    def middles(self) -> Floats:
        return (self.edges[:-1] + self.edges[1:] + 1) / 2

    def outcomes(self, observed: Likelihood) -> tuple[Floats, Floats, Ints]:
        """Return the chances of the observed outcomes, and of the unobserved ones.

        Returns
        -------
        float64 (n_cells, n_seen), float64 (n_cells, n_unseen), int64 (n_seen + n_unseen,)
            The last array is the number of each column's design, for the observed columns and then
            the others. Unobserved neighbours with the same information about a rank are merged.
            They are needed because the expected information also depends on them, if there are
            many outcomes and few users.
        """
        seen_chances: list[Floats] = []
        unseen_chances: list[Floats] = []
        for design, outcomes in observed.parts:
            chances = self.table(design)
            seen_chances.append(chances[:, outcomes])
            others = np.setdiff1d(np.arange(design.n_outcomes), outcomes)
            first_columns = np.unique(_outcome_bins(design)[others], return_index=True)[1]
            merged = chances[:, others]
            unseen_chances.append(
                np.add.reduceat(merged, first_columns, axis=1) if others.size else merged
            )
        sizes = [block.shape[1] for block in (*seen_chances, *unseen_chances)]
        columns = np.repeat(np.tile(np.arange(len(seen_chances)), 2), sizes)
        return np.hstack(seen_chances), np.hstack(unseen_chances), columns

    def table(self, design: Design) -> Floats:
        """Return the mean chance of each outcome in each cell: (n_cells, n_outcomes).

        Two places with the mean and the variance of a cell's ranks represent all of them. Without
        replacement, chances exist only at whole ranks. If nearly all items are drawn, they differ
        between neighbours, and every rank is used.
        """
        if design.replacement:
            offset = np.sqrt((self.sizes**2 - 1.0) / 12.0)
            end_chances = (design.chances(self.middles + sign * offset) for sign in (-1, 1))
            return sum(end_chances, np.zeros(())) / 2
        ranks, counts = self._whole_ranks(design.n_negatives, deviation_ratio(design))
        stops: Ints = np.cumsum(counts)
        sums = np.empty((counts.size, design.n_outcomes))
        low, n_block_ranks = 0, _BLOCK // design.n_outcomes
        while low < counts.size:
            start = int(stops[low] - counts[low])
            high = max(low + 1, int(np.searchsorted(stops, start + n_block_ranks, side="right")))
            block = design.chances(ranks[start : stops[high - 1]])
            sums[low:high] = np.add.reduceat(block, stops[low:high] - counts[low:high] - start)
            low = high
        return sums / counts[:, None]

    def _whole_ranks(self, n_negatives: int, ratio: float) -> tuple[Floats, Ints]:
        """Return ranks that represent their cells, and the number of them in each cell.

        They are symmetric about the cell's middle, and include all ranks of a cell if samples
        distinguish these.
        """
        sizes, middles = np.diff(self.edges), self.middles
        deviations = np.sqrt(middles * (self.n_items + 1 - middles) / n_negatives)
        steps = np.maximum(np.floor(_STEP * ratio * deviations), 1.0)
        n_nodes = np.ceil(self.sizes / steps).astype(np.int64)
        counts = np.minimum(np.maximum(n_nodes, _LEAST_NODES), sizes)
        cell = np.repeat(np.arange(sizes.size), counts)
        position = np.arange(cell.size) - np.repeat(np.cumsum(counts) - counts, counts)
        distance_from_end = np.minimum(position, counts[cell] - 1 - position)  # for symmetry
        offset = ((2 * distance_from_end + 1) * sizes[cell]) // (2 * counts[cell])
        place = np.where(position == distance_from_end, offset, sizes[cell] - 1 - offset)
        return (self.edges[:-1][cell] + 1 + place).astype(np.float64), counts

    def weights(self, measure: Measure, power: int = 1) -> Floats:
        """Return the mean of a power of a measure's weights over each cell: (n_cells,)."""
        values = all_rank_weights(measure, self.n_items) ** power
        return np.add.reduceat(values, self.edges[:-1]) / self.sizes

    def spread(self, mass: Floats) -> Floats:
        """Divide each cell's mass equally among its ranks: float64, (n_items,)."""
        return np.repeat(mass / self.sizes, np.diff(self.edges))


def deviation_ratio(design: Design) -> float:
    """Return the ratio of a sampled rank's standard deviation to that with replacement."""
    if design.replacement:
        return 1.0
    return float(np.sqrt((design.n_items - design.n_negatives) / max(design.n_items - 1, 1)))


def _outcome_bins(design: Design) -> Ints:
    """Number outcomes so that neighbours within half a standard deviation have the same number."""
    position = np.arange(design.n_outcomes) / design.n_negatives
    angles = np.arcsin(np.sqrt(position)) * 2 * np.sqrt(design.n_negatives)  # deviation 1
    return (angles / _DEVIATIONS).astype(np.int64)


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
            distinct, number = np.unique(ranks.above[rows], return_inverse=True)
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


def em_until_fit(mass: Floats, cells: Cells, ranks: SampledRanks) -> tuple[Floats, int]:
    """Make steps of expectation maximisation until a distribution fits the observed ranks."""
    (design, users), *other_designs = ranks.designs
    if other_designs:
        return mass, 0
    users = users * (n_observed(ranks) / ranks.n_users)
    chances = cells.table(design)
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
    deviations = (observed_counts - expected_counts) ** 2 / np.maximum(expected_counts, _TINY)
    return float(deviations.sum()) <= float(chi2.isf(_REJECTED, max(expected_counts.size - 1, 1)))
