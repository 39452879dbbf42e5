"""Sums over all ranks of a catalogue that the least-squares estimators need, in blocks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from podium.errors import ArgumentError
from podium.sampled.design import Design, Floats
from podium.sampled.sums import expected, grid

_MOST_BYTES = 2**27  # of what is kept: 1,600 designs of 100 negatives, 1 of 4,000
_CELLS = 2**20  # of a block of probabilities
_FACTORS = 8  # as if so many probabilities were multiplied, not 2: errors of 1e-13, not 1e-9
_RANK = 1e-13  # eigenvalues below this share of the largest are rounding


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over ranks, with the weight D(R) of each, of the outcomes' probabilities A(R, r).

    Equation 12 of jin2021, whose matrix has the root of D in it.

    Attributes
    ----------
    gram : float64, (n_outcomes, n_outcomes)
        ``A' D A``.
    total : float64, (n_outcomes,)
        ``A' D 1``: how likely each outcome is.
    """

    gram: Floats
    total: Floats


_KEPT: OrderedDict[Design, Moments] = OrderedDict()


def moments(design: Design, prior: Floats | None) -> Moments:
    """Return the sums under a prior distribution of ranks, the uniform one without it."""
    if prior is None:
        return _uniform(design)
    return _sums(design, ((prior[part], block) for part, block in design.blocks()))


def _uniform(design: Design) -> Moments:
    """Return the sums under the uniform prior, from memory where they are of the last designs.

    Where users have catalogues of their own there are a thousand designs or more, all of which
    every estimate needs.
    """
    if design in _KEPT:
        _KEPT.move_to_end(design)
        return _KEPT[design]
    found = _sums(design, _on_nodes(design))
    _KEPT[design] = found
    while len(_KEPT) > 1 and sum(each.gram.nbytes for each in _KEPT.values()) > _MOST_BYTES:
        _KEPT.popitem(last=False)
    return found


def _on_nodes(design: Design) -> Iterator[tuple[Floats, Floats]]:
    """Yield the weights and probabilities of the few ranks that stand for all.

    A product of two probabilities is a smooth function of the rank: its sum over all ranks
    follows from its values at few.
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
    """Return ``A' D b`` for the values b of the first ranks, 0 for all others."""
    found = np.zeros(design.n_outcomes)
    for part, block in design.blocks(values.size):
        share = 1.0 / design.n_items if prior is None else prior[part]
        found += (values[part] * share) @ block
    return found


def spread(design: Design, values: Floats, prior: Floats | None) -> Floats:
    """Return ``D A v`` for a value of each outcome: float64, (n_items,)."""
    found = expected(design, values)
    return found / design.n_items if prior is None else found * prior


def solve(matrix: Floats, right: Floats) -> Floats:
    """Solve a system with a positive semi-definite matrix, scaled to a diagonal of ones.

    Unknowns without a diagonal are outcomes that cannot come; they get 0.
    """
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    scaled = matrix * scale[:, None] * scale
    scaled[size == 0, size == 0] = 1.0
    try:
        return cho_solve(cho_factor(scaled), right * scale) * scale
    except np.linalg.LinAlgError:
        # Singular to rounding: the solution of least length, without the directions of no weight.
        values, vectors = eigh(scaled)
        kept = values > _RANK * values[-1]
        basis = vectors[:, kept]
        return basis @ ((basis.T @ (right * scale)) / values[kept]) * scale


def refuse_impossible(counts: Floats, total: Floats, name: str) -> None:
    """Raise where an outcome was observed that a prior gives no chance."""
    missed = (counts > 0) & ~(total > 0)
    if missed.any():
        outcome = int(np.argmax(missed))
        raise ArgumentError(
            f"{name} needs a prior that allows every observed outcome, got one under which "
            f"outcome {outcome} (sampled rank {outcome + 1} in a sample of fixed size) has no "
            "chance. Take mle, or another prior with a chance for every rank."
        )
