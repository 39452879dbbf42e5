"""Sums over the ranks of a catalogue, from all ranks or from a few nodes with weights.

The probability of an outcome is a polynomial in the target's rank. It changes smoothly, at a rate
that grows with the square root of the sample size. Nodes lie in cells that are evenly spaced in
arcsin(sqrt(rank / n_items)), so that the probabilities change about equally fast in all cells. In
a cell, a sum over its ranks is a Gauss rule for the uniform distribution on integers, which is
exact for polynomials of degree 15.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.sampled.design import Design, Floats, Ints, log_choices

_NODES = 8  # per cell; cells with this number of ranks or fewer are summed rank by rank
_CELLS = 0.5  # the number of cells per standard deviation that a catalogue spans

_BLOCK = 2**14  # ranks, so that the data of a step stay in the processor's cache
_LARGEST_SAMPLE = (
    800  # in larger samples, the smallest chances and the counts of orders are no doubles
)


@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes and weights for sums over ranks.

    Attributes
    ----------
    edges : int64, (n_cells + 1,)
        Cell c holds the ranks edges[c] + 1 .. edges[c + 1].
    ranks : float64, (n_nodes,)
        The nodes in increasing order: whole ranks in short cells, places between ranks in long
        ones.
    weights : float64, (n_nodes,)
        The weight of each node in a sum; 1 in short cells. They sum to n_items.
    """

    edges: Ints
    ranks: Floats
    weights: Floats

    @property
    def n_items(self) -> int:
        return int(self.edges[-1])

    @property
    def has_all_ranks(self) -> bool:
        """Whether each rank is a node."""
        return self.ranks.size == self.n_items

    def cells_above(self, values: Floats, threshold: float) -> NDArray[np.bool_]:
        """Return whether each rank lies in a cell with a value above a threshold: (n_items,)."""
        sizes = np.diff(self.edges)
        first_nodes = np.concatenate([[0], np.cumsum(np.minimum(sizes, _NODES))[:-1]])
        return np.repeat(np.maximum.reduceat(values, first_nodes) > threshold, sizes)

    def interpolate(self, values: Floats) -> Floats:
        """Interpolate values at the nodes to all ranks, by a polynomial through each cell's nodes.

        Returns
        -------
        float64, (n_items,)
        """
        rank_values = np.empty(self.n_items)
        first_node = 0
        for low, high in zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True):
            size = high - low
            n_nodes = min(size, _NODES)
            node_values = values[first_node : first_node + n_nodes]
            rank_values[low:high] = (
                node_values if size <= _NODES else _interpolation_matrix(size) @ node_values
            )
            first_node += n_nodes
        return rank_values


def spaced_ranks(n_items: int, n_negatives: int, density: int) -> Ints:
    """Return ranks evenly spaced in arcsin(sqrt(rank / n_items)), with the first and the last.

    Parameters
    ----------
    n_items, n_negatives : int
    density : int
        The number of ranks per standard deviation of a sampled rank.

    Returns
    -------
    int64, (n_ranks,)
    """
    n_ranks = int(np.ceil(np.pi * np.sqrt(n_negatives) * density)) + 1
    places = np.sin(np.linspace(0.0, np.pi / 2, n_ranks)) ** 2
    return np.unique(np.rint(1 + (n_items - 1) * places).astype(np.int64))


@functools.lru_cache(maxsize=8)
def grid(n_items: int, n_negatives: int, n_factors: int, margin: int = 0) -> Grid:
    """Return nodes for sums of products of probabilities.

    Parameters
    ----------
    n_items, n_negatives : int
    n_factors : int
        The number of probabilities that are multiplied in the terms of the sum.
    margin : int
        The number of ranks at each end that are nodes one by one. Without replacement, some
        outcomes have no chance at these ranks.

    Returns
    -------
    Grid
    """
    edges = cell_edges(n_items, n_negatives * n_factors, margin)
    rules = [_gauss(size) for size in np.diff(edges).tolist()]
    middles = (edges[:-1] + edges[1:] + 1) / 2
    ranks = np.concatenate([x + middle for (x, _), middle in zip(rules, middles, strict=True)])
    return Grid(edges, ranks, np.concatenate([w for _, w in rules]))


def cell_edges(n_items: int, degree: int, margin: int) -> Ints:
    """Divide 0 .. n_items into cells evenly spaced in arcsin(sqrt(rank / n_items)).

    Parameters
    ----------
    n_items : int
    degree : int
        The degree of the polynomials to be summed. A higher degree gives smaller cells.
    margin : int
        The number of single ranks at each end, as in `grid`.

    Returns
    -------
    int64, (n_cells + 1,)
        The edges in increasing order, from 0 to n_items.
    """
    if 2 * margin >= n_items:
        return np.append(np.arange(0, n_items, _NODES), n_items)
    n_cells = int(np.ceil(np.pi / 2 * np.sqrt(degree) * _CELLS)) + 1
    angles = np.linspace(0.0, np.pi / 2, n_cells + 1)
    edges = np.rint(n_items * np.sin(angles) ** 2).astype(np.int64)
    if margin:
        short_edges = np.arange(0, min(margin, n_items), _NODES)
        inner_edges = edges[(edges > margin) & (edges < n_items - margin)]
        inner_limits = [margin, n_items - margin]
        edges = np.concatenate(
            [short_edges, inner_edges, inner_limits, n_items - short_edges]
        ).astype(np.int64)
    return np.unique(np.append(edges, [0, n_items]))


@functools.lru_cache(maxsize=4096)
def _gauss(size: int) -> tuple[Floats, Floats]:
    """Return the Gauss rule of the numbers -(size - 1) / 2 .. (size - 1) / 2, each of weight 1.

    The nodes are the eigenvalues of the recurrence matrix of the polynomials that are orthogonal
    on these numbers.
    """
    if size <= _NODES:
        return np.arange(0.0, size) - (size - 1) / 2, np.ones(size)
    order = np.arange(1.0, _NODES)
    square = order**2 * (float(size) ** 2 - order**2) / (4.0 * (4.0 * order**2 - 1.0))
    matrix = np.diag(np.sqrt(square), 1)
    places, vectors = np.linalg.eigh(matrix + matrix.T)
    return places, size * vectors[0] ** 2


def _interpolation_matrix(size: int) -> Floats:
    """Return the matrix from values at a cell's nodes to values at its ranks, (size, nodes)."""
    nodes, _ = _gauss(size)
    differences = nodes[:, None] - nodes + np.eye(_NODES)
    barycentric_weights = 1.0 / (differences / np.abs(differences).max()).prod(axis=1)
    distances = (np.arange(size) - (size - 1) / 2)[:, None] - nodes
    is_node: NDArray[np.bool_] = np.less(np.abs(distances), 1e-9 * size)
    terms = barycentric_weights / np.where(is_node, 1.0, distances)
    terms = np.where(is_node.any(axis=1, keepdims=True), is_node, terms)
    return terms / terms.sum(axis=1)[:, None]


def expected(design: Design, values: Floats) -> Floats:
    """Return, for each rank, the sum over outcomes of value times probability.

    Parameters
    ----------
    design : Design
    values : float64, (n_outcomes,)

    Returns
    -------
    float64, (n_items,)

    Notes
    -----
    The sum is a polynomial in the odds, evaluated from the end at which the odds are at most 1.
    It takes 2 operations per rank and outcome (5 without replacement) and no table of
    probabilities. Samples that are a large part of the catalogue use blocks of probabilities
    instead and take about 20 times as long.
    """
    if not needs_no_table(design):
        return np.concatenate([chances @ values for _, chances in design.blocks()])
    worse = np.arange(design.n_items - 1, -1, -1.0)
    return expected_at(worse[::-1], worse, values, replacement=design.replacement)


def needs_no_table(design: Design) -> bool:
    """Return whether `expected` works without a table of probabilities."""
    size, n = design.n_negatives, design.n_items
    return size <= _LARGEST_SAMPLE and (design.replacement or 8 * size <= n)


def expected_at(better: Floats, worse: Floats, values: Floats, *, replacement: bool) -> Floats:
    """Return the sum over outcomes of value times probability, at ranks or between ranks.

    The sum is a polynomial in the ratio of the smaller side to the larger one.

    Parameters
    ----------
    better, worse : float64, (n,)
        The numbers of items before and after the target; catalogues may differ in size.
    values : float64, (n_outcomes,)
    replacement : bool

    Returns
    -------
    float64, (n,)
    """
    terms = values * np.exp(log_choices(values.size - 1, np.arange(values.size)))
    sum_rule = _powers if replacement else _factorials
    totals, mostly_worse = np.empty(better.size), worse > better
    for start in range(0, better.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        for selected, flip in ((mostly_worse[part], 1), (~mostly_worse[part], -1)):
            larger, smaller = (worse[part][selected], better[part][selected])[::flip]
            totals[part][selected] = sum_rule(smaller, larger, terms[::flip])
    return totals


def normalised(logs: Floats) -> Floats:
    """Return the numbers with these logarithms, divided by their sum along the last axis."""
    values = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return values / values.sum(axis=-1, keepdims=True)


def _powers(smaller: Floats, larger: Floats, terms: Floats) -> Floats:
    """Return the sum of terms[j] few**j many**(size - j) / (few + many)**size, few <= many."""
    odds = smaller / larger
    total = np.full(smaller.size, terms[-1])
    for term in terms[-2::-1].tolist():
        total *= odds
        total += term
    return total * np.exp((terms.size - 1) * -np.log1p(odds))


def _factorials(smaller: Floats, larger: Floats, terms: Floats) -> Floats:
    """Return the same sum with falling factorials in place of powers."""
    size = terms.size - 1
    chance = np.ones(smaller.size)
    for i in range(size):
        chance *= (larger - i) / (smaller + larger - i)
    total = terms[0] * chance
    for j, term in enumerate(terms[1:].tolist()):
        chance *= smaller - j
        chance /= larger - size + j + 1
        total += term * chance
    return total


def peaks(values: Floats) -> Ints:
    """Return the places of values above the one before, and not below the next."""
    above_previous = np.concatenate([[True], values[1:] > values[:-1]])
    not_below_next = np.concatenate([values[:-1] >= values[1:], [True]])
    return np.flatnonzero(above_previous & not_below_next)
