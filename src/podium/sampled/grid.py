"""A few ranks that stand for all: sums over a catalogue to rounding, whatever its size.

How likely an outcome is changes smoothly with the target's rank, by the square root of the sample
size: a polynomial in the rank. Cells of ranks that are even in arcsin(sqrt(rank / n_items)) see
changes of one speed everywhere, and in a cell a sum over its ranks is a Gauss rule for the
uniform distribution on whole numbers, exact for polynomials of degree 15.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NODES = 8  # of a cell: cells of as many ranks or fewer are taken rank by rank
_CELLS = 0.5  # by the number of standard deviations that a catalogue spans

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes and weights for sums over ranks.

    Attributes
    ----------
    edges : int64, (n_cells + 1,)
        Cell c holds the ranks edges[c] + 1 .. edges[c + 1].
    ranks : float64, (n_nodes,)
        The nodes, rising: whole ranks in short cells, places between ranks in long ones.
    weights : float64, (n_nodes,)
        What each node counts in a sum; 1 in short cells. They add to n_items.
    """

    edges: NDArray[np.int64]
    ranks: Floats
    weights: Floats

    @property
    def n_items(self) -> int:
        return int(self.edges[-1])

    @property
    def is_whole(self) -> bool:
        """Whether every rank is a node."""
        return self.ranks.size == self.n_items

    def cells_above(self, values: Floats, least: float) -> NDArray[np.bool_]:
        """Return which ranks lie in a cell with a value above the least: bool, (n_items,)."""
        sizes = np.diff(self.edges)
        starts = np.concatenate([[0], np.cumsum(np.minimum(sizes, _NODES))[:-1]])
        return np.repeat(np.maximum.reduceat(values, starts) > least, sizes)

    def spread(self, values: Floats) -> Floats:
        """Carry values at the nodes to all ranks, by the polynomial through each cell's nodes."""
        out = np.empty(self.n_items)
        place = 0
        for low, high in zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True):
            size = high - low
            taken = min(size, _NODES)
            here = values[place : place + taken]
            out[low:high] = here if size <= _NODES else _carry(size) @ here
            place += taken
        return out


def spaced(n_items: int, n_negatives: int, density: int) -> NDArray[np.int64]:
    """Return ranks that are even in arcsin(sqrt(rank / n_items)), the first and the last too.

    Parameters
    ----------
    n_items, n_negatives : int
    density : int
        Ranks in each standard deviation of a sampled rank.
    """
    n_ranks = int(np.ceil(np.pi * np.sqrt(n_negatives) * density)) + 1
    places = np.sin(np.linspace(0.0, np.pi / 2, n_ranks)) ** 2
    return np.unique(np.rint(1 + (n_items - 1) * places).astype(np.int64))


@functools.lru_cache(maxsize=8)
def grid(n_items: int, n_negatives: int, n_factors: int, margin: int = 0) -> Grid:
    """Lay out nodes for products of probabilities.

    Parameters
    ----------
    n_items, n_negatives : int
    n_factors : int
        How many probabilities are multiplied in what is to be summed.
    margin : int
        Ranks at either end that are taken one by one (those that a sample without replacement
        gives no chance to some outcome).
    """
    edges = cell_edges(n_items, n_negatives * n_factors, margin)
    nodes = [_gauss(size) for size in np.diff(edges).tolist()]
    middles = (edges[:-1] + edges[1:] + 1) / 2
    ranks = np.concatenate([x + middle for (x, _), middle in zip(nodes, middles, strict=True)])
    return Grid(edges, ranks, np.concatenate([w for _, w in nodes]))


def cell_edges(n_items: int, degree: int, margin: int) -> NDArray[np.int64]:
    """Cut 0 .. n_items into cells that are even in arcsin sqrt(rank / n_items).

    Parameters
    ----------
    n_items : int
    degree : int
        Of the polynomials that will be summed: the higher, the finer.
    margin : int
        As of `grid`.
    """
    if 2 * margin >= n_items:
        return np.append(np.arange(0, n_items, _NODES), n_items)
    n_cells = int(np.ceil(np.pi / 2 * np.sqrt(degree) * _CELLS)) + 1
    angles = np.linspace(0.0, np.pi / 2, n_cells + 1)
    edges = np.rint(n_items * np.sin(angles) ** 2).astype(np.int64)
    if margin:
        short = np.arange(0, min(margin, n_items), _NODES)
        inner = edges[(edges > margin) & (edges < n_items - margin)]
        ends = [margin, n_items - margin]
        edges = np.concatenate([short, inner, ends, n_items - short]).astype(np.int64)
    return np.unique(np.append(edges, [0, n_items]))


@functools.lru_cache(maxsize=4096)
def _gauss(size: int) -> tuple[Floats, Floats]:
    """Return the Gauss rule of the numbers -(size - 1) / 2 .. (size - 1) / 2, each counting 1.

    Nodes are the eigenvalues of the recurrence of the polynomials that are orthogonal on them.
    """
    if size <= _NODES:
        return np.arange(0.0, size) - (size - 1) / 2, np.ones(size)
    order = np.arange(1.0, _NODES)
    square = order**2 * (float(size) ** 2 - order**2) / (4.0 * (4.0 * order**2 - 1.0))
    matrix = np.diag(np.sqrt(square), 1)
    places, vectors = np.linalg.eigh(matrix + matrix.T)
    return places, size * vectors[0] ** 2


def _carry(size: int) -> Floats:
    """Return the matrix from values at a cell's nodes to values at its ranks, (size, nodes)."""
    nodes, _ = _gauss(size)
    gaps = nodes[:, None] - nodes + np.eye(_NODES)
    pull = 1.0 / (gaps / np.abs(gaps).max()).prod(axis=1)
    distance = (np.arange(size) - (size - 1) / 2)[:, None] - nodes
    hit: NDArray[np.bool_] = np.less(np.abs(distance), 1e-9 * size)
    terms = pull / np.where(hit, 1.0, distance)
    terms = np.where(hit.any(axis=1, keepdims=True), hit, terms)
    return terms / terms.sum(axis=1)[:, None]
