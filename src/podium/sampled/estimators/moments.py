"""Sums over all ranks of a catalogue for the least-squares estimators, computed in blocks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from podium.errors import ArgumentError
from podium.sampled.design import Design, Floats
from podium.sampled.sums import expected, grid

_MOST_BYTES = 2**27  # of the cache: 1,600 designs of 100 negatives, or one of 4,000
_CELLS = 2**20  # the numbers in a block of probabilities
_FACTORS = 8  # a grid for 8 factors instead of 2 gives errors of 1e-13 instead of 1e-9
_MIN_EIGENVALUE = 1e-13  # eigenvalues below this share of the largest are rounding errors


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over ranks of the outcomes' probabilities A(R, r), with the weight D(R) of each rank.

    See equation 12 of jin2021, whose matrix includes the root of D.

    Attributes
    ----------
    gram : float64, (n_outcomes, n_outcomes)
        ``A' D A``.
    total : float64, (n_outcomes,)
        ``A' D 1``: the probability of each outcome.
    """

    gram: Floats
    total: Floats


_CACHE: OrderedDict[Design, Moments] = OrderedDict()


def moments(design: Design, prior: Floats | None) -> Moments:
    """Return the sums under a prior distribution of ranks; by default the uniform one."""
    if prior is None:
        return _uniform(design)
    return _sums(design, ((prior[part], block) for part, block in design.blocks()))


def _uniform(design: Design) -> Moments:
    """Return the sums under the uniform prior, from a cache of the designs used last.

    If each user has a separate catalogue, there are a thousand designs or more, and every estimate
    needs all of them.
    """
    if design in _CACHE:
        _CACHE.move_to_end(design)
        return _CACHE[design]
    sums = _sums(design, _on_nodes(design))
    _CACHE[design] = sums
    while len(_CACHE) > 1 and sum(cached.gram.nbytes for cached in _CACHE.values()) > _MOST_BYTES:
        _CACHE.popitem(last=False)
    return sums


def _on_nodes(design: Design) -> Iterator[tuple[Floats, Floats]]:
    """Yield the weights and the probabilities of the nodes that represent all ranks.

    A product of two probabilities is a smooth function of the rank, so that its sum over all ranks
    follows from its values at a few nodes.
    """
    margin = 0 if design.replacement else design.n_negatives
    nodes = grid(design.n_items, design.n_negatives, _FACTORS, margin)
    step = max(1, _CELLS // design.n_outcomes)
    for start in range(0, nodes.ranks.size, step):
        part = slice(start, start + step)
        yield nodes.weights[part] / design.n_items, design.probabilities(nodes.ranks[part])


def _sums(design: Design, blocks: Iterable[tuple[Floats, Floats]]) -> Moments:
    gram, total = np.zeros((design.n_outcomes, design.n_outcomes)), np.zeros(design.n_outcomes)
    for weights, block in blocks:
        weighted = block * weights[:, None]
        gram += weighted.T @ block
        total += weighted.sum(axis=0)
    return Moments(gram, total)


def project(design: Design, values: Floats, prior: Floats | None) -> Floats:
    """Return ``A' D b`` for the values b of the first ranks; b is 0 for other ranks."""
    products = np.zeros(design.n_outcomes)
    for part, block in design.blocks(values.size):
        rank_weights = 1.0 / design.n_items if prior is None else prior[part]
        products += (values[part] * rank_weights) @ block
    return products


def spread(design: Design, values: Floats, prior: Floats | None) -> Floats:
    """Return ``D A v`` for a value of each outcome: float64, (n_items,)."""
    sums = expected(design, values)
    return sums / design.n_items if prior is None else sums * prior


def solve(matrix: Floats, right_side: Floats) -> Floats:
    """Solve a system with a positive semi-definite matrix, scaled to a diagonal of ones.

    Unknowns with a diagonal of 0 belong to impossible outcomes and become 0.
    """
    root_diagonal = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.divide(1.0, root_diagonal, out=np.zeros_like(root_diagonal), where=root_diagonal > 0)
    scaled = matrix * scale[:, None] * scale
    scaled[root_diagonal == 0, root_diagonal == 0] = 1.0
    try:
        return cho_solve(cho_factor(scaled), right_side * scale) * scale
    except np.linalg.LinAlgError:
        # The matrix is numerically singular. The solution of least length has no component in the
        # directions of the smallest eigenvalues.
        values, vectors = eigh(scaled)
        is_kept = values > _MIN_EIGENVALUE * values[-1]
        basis = vectors[:, is_kept]
        return basis @ ((basis.T @ (right_side * scale)) / values[is_kept]) * scale


def refuse_impossible(counts: Floats, total: Floats, name: str) -> None:
    """Raise if an outcome was observed that has no chance under a prior."""
    is_impossible = (counts > 0) & ~(total > 0)
    if is_impossible.any():
        outcome = int(np.argmax(is_impossible))
        raise ArgumentError(
            f"{name} needs a prior that gives each observed outcome a probability above 0, got 0 "
            f"for outcome {outcome} (sampled rank {outcome + 1} in a sample of fixed size). Use "
            "mle, or another prior that is above 0 for every rank."
        )
