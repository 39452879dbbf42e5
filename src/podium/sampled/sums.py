"""Sums over the ranks of a catalogue: over all of them, or over a few that stand for all.

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
from scipy.special import gammaln

from podium.sampled.design import Design, Floats, Ints

_NODES = 8  # of a cell: cells of as many ranks or fewer are taken rank by rank
_CELLS = 0.5  # by the number of standard deviations that a catalogue spans

_BLOCK = 2**14  # ranks: what a step reads and writes stays in the processor's cache
_LONGEST = 800  # sample whose smallest chances, and whose counts of orders, are still doubles


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

    edges: Ints
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


def spaced(n_items: int, n_negatives: int, density: int) -> Ints:
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


def cell_edges(n_items: int, degree: int, margin: int) -> Ints:
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


def expected(design: Design, values: Floats) -> Floats:
    """Return the sum over outcomes of value times probability, for every rank.

    Parameters
    ----------
    design : Design
    values : float64, (n_outcomes,)

    Returns
    -------
    float64, (n_items,)

    Notes
    -----
    A polynomial in the odds of being beaten, summed from the end where the odds are at most 1:
    2 operations a rank and outcome (5 without replacement) and no table of probabilities.
    Designs that grow, and samples that are a large part of the catalogue, go by blocks of
    probabilities instead, some 20 times slower.
    """
    n, size = design.n_items, design.n_negatives
    out = np.empty(n)
    if not is_swept(design):
        for places, chances in design.blocks():
            out[places] = chances @ values
        return out
    ways = np.exp(_log_ways(size))
    ahead = np.arange(n - 1, -1, -1.0)  # items worse than the target
    half = n // 2
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        middle = min(max(half, start), stop)
        for low, high, flip in ((start, middle, 1), (middle, stop, -1)):
            if low < high:
                worse = ahead[low:high]
                many, few = (worse, n - 1 - worse)[::flip]
                sums = _powers if design.replacement else _factorials
                out[low:high] = sums(few, many, (values * ways)[::flip])
    return out


def is_swept(design: Design) -> bool:
    """Whether sums are taken without a table of probabilities."""
    size, n = design.n_negatives, design.n_items
    return not design.grows and size <= _LONGEST and (design.replacement or 8 * size <= n)


def at_places(better: Floats, worse: Floats, values: Floats, *, replacement: bool) -> Floats:
    """Return the sum over outcomes of value times probability at ranks, or places between them.

    Parameters
    ----------
    better, worse : float64, (n,)
        Items before and after the target, of a catalogue of any size each.
    values : float64, (n_outcomes,)
    replacement : bool
    """
    terms = values * np.exp(_log_ways(values.size - 1))
    sums = _powers if replacement else _factorials
    out = np.empty(better.size)
    for start in range(0, better.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        ahead = worse[part] >= better[part]
        for some, flip in ((ahead, 1), (~ahead, -1)):
            many, few = (worse[part][some], better[part][some])[::flip]
            out[part][some] = sums(few, many, terms[::flip])
    return out


def _log_ways(size: int) -> Floats:
    above = np.arange(size + 1)
    return gammaln(size + 1) - gammaln(above + 1) - gammaln(size - above + 1)


def _powers(few: Floats, many: Floats, terms: Floats) -> Floats:
    """Return the sum of terms[j] few**j many**(size - j) / (few + many)**size, few <= many."""
    odds = few / many
    total = np.full(few.size, terms[-1])
    for term in terms[-2::-1].tolist():
        total *= odds
        total += term
    return total * np.exp((terms.size - 1) * -np.log1p(odds))


def _factorials(few: Floats, many: Floats, terms: Floats) -> Floats:
    """Return the same with falling factorials in place of powers."""
    size = terms.size - 1
    chance = np.ones(few.size)
    for i in range(size):
        chance *= (many - i) / (few + many - i)
    total = terms[0] * chance
    for j, term in enumerate(terms[1:].tolist()):
        chance *= few - j
        chance /= many - size + j + 1
        total += term * chance
    return total
