"""The cross entropy of two Plackett-Luce laws over whole permutations, exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, inputs
from podium.types import Mask, PerGroup, PerRow, RowIndex

_LARGEST = 12  # rows of a group: 4,096 sets
_SMALL = 2.0**-6  # keeps sums over 12 places finite; a power of two loses no digit
_CELLS = 1_000_000  # groups × sets × rows in work at a time

Block = tuple[RowIndex, NDArray[np.float64], PerGroup]


@dataclass(frozen=True, eq=False)
class PermutationTarget:
    """What `PermutationCrossEntropy` needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    blocks : list of (rows, chances, entropy)
        Groups of one size and defined, together: their numbers' rows (m, size), the chance of
        each set of rows to be what is left to place under the grades (m, 2 ** size), and what
        the grades' own law is uncertain by, in natural logarithms (m,).
    defined : bool, (n_groups,)
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    """

    groups: Groups
    blocks: list[Block]
    defined: Mask
    share: PerGroup


@dataclass(frozen=True)
class PermutationCrossEntropy(Loss):
    """Divergence of the scores' Plackett-Luce law of permutations from the grades' law.

    ``sum_pi P(pi; grades) log(P(pi; grades) / P(pi; scores))``: ListNet before its top-1
    approximation, here for the theory of small lists.

    Parameters
    ----------
    scale : float
        What the grades are multiplied by to be the scores of their law, > 0; the products must
        be finite.

    Notes
    -----
    Not a sum over n! permutations: the log-likelihood of a permutation is a sum over the sets of
    rows that are left to place, so the expected one is a sum over all 2^n sets, weighted by the
    chance of each. Groups may have up to 12 rows; one with a single grade is left out.
    Values are rounded as sums of score differences are: in a group whose scores span 1e16, by
    about 1. One beyond the largest double is inf.
    Convex and smooth. `Truncated` gives the paper's top-k form.

    References
    ----------
    xia2009, equation 12; cao2007.

    Examples
    --------
    >>> loss = PermutationCrossEntropy()
    >>> target = loss.prepare(np.array([3.0, 1.0, 2.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.array([3.0, 1.0, 2.0]), target)
    >>> bool(abs(values[0]) < 1e-12), bool(np.abs(grad).max() < 1e-12)
    (True, True)
    """

    scale: float = 1.0

    name: ClassVar[str] = "permutation-cross-entropy"
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        value = _check.number(self.scale, "scale", low=0.0, strict=True)
        object.__setattr__(self, "scale", value)

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> PermutationTarget:
        """Find the chance of every set under the grades; nothing here is random.

        Raises
        ------
        ArgumentError
            For a group of more than 12 rows, lengths that differ, a negative relevance or weight,
            weights that vary within a group, or a scale that makes a grade infinite.
        """
        grades = self._scaled(inputs.relevance_of(relevance, groups))
        defined = _has_two_grades(grades, groups)
        per_group = inputs.group_weights(weights, groups, self.name)
        share = inputs.shares(per_group, defined)
        blocks = [_block(grades, rows) for rows in _rows_by_size(groups, defined)]
        return PermutationTarget(groups, blocks, defined, share)

    def _scaled(self, relevance: PerRow) -> PerRow:
        with np.errstate(over="ignore"):
            grades = self.scale * relevance
        if not np.isfinite(grades).all():
            raise ArgumentError(
                f"scale must leave the grades finite, got {self.scale:g} times "
                f"{relevance.max():g}. Take a smaller scale."
            )
        return grades

    def value_and_grad(self, scores: PerRow, target: PermutationTarget) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the gradient of their mean by each row's score."""
        values, grad, _ = self.value_grad_and_curvature(scores, target)
        return values, grad

    def curvature(self, scores: PerRow, target: PermutationTarget) -> PerRow:
        """Return the expected number of times that each row is up for a place, by its chance."""
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: PermutationTarget
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three from one pass."""
        checked = inputs.scores_of(scores, target.groups)
        n_defined = max(1, int(np.count_nonzero(target.defined)))
        values = np.full(target.groups.n_groups, np.nan)
        grad = np.zeros(checked.size)
        bound = np.full(checked.size, inputs.LEAST_CURVATURE / n_defined)
        for rows, chances, entropy in target.blocks:
            group = target.groups.index[rows[:, 0]]
            share = target.share[group]
            cost, expected = _expected(checked[rows], chances)
            values[group] = share * np.maximum(cost - entropy, 0.0)
            grad[rows] = (share / n_defined)[:, None] * (expected - 1.0)
            bound[rows] += (share / n_defined)[:, None] * expected
        return values, grad, bound

    def why_undefined(self, target: PermutationTarget) -> str:
        """Say what a group needs, and how many lack it."""
        lacking = int(np.count_nonzero(~target.defined))
        return f"{self.name} needs two different grades in a group, but {lacking} lack them."


@cache
def _members(n: int) -> Mask:
    """Return which objects each set has, (2 ** n, n); set number s has the bits of s."""
    number = np.arange(2**n, dtype=np.int64)[:, None]
    return np.equal(np.bitwise_and(np.right_shift(number, np.arange(n)), 1), 1)


def _expected(
    scores: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[PerGroup, NDArray[np.float64]]:
    """Return the expected -log likelihood of a permutation, and the sum of each row's chances."""
    logs, tops, expected = np.zeros(len(scores)), np.zeros(len(scores)), np.zeros_like(scores)
    step = max(1, _CELLS // (chances.shape[1] * scores.shape[1]))
    for at in range(0, len(scores), step):
        part = slice(at, at + step)
        top, log_sum, chosen = _softmaxes(scores[part])
        tops[part] = (chances[part] * (_SMALL * top)).sum(axis=1)
        logs[part] = (chances[part] * log_sum).sum(axis=1)
        expected[part] = np.einsum("ms,msi->mi", chances[part], chosen)
    with np.errstate(over="ignore"):  # infinite, as the cost is to a double
        return (tops - (_SMALL * scores).sum(axis=1)) / _SMALL + logs, expected


def _softmaxes(
    scores: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the best score in every set, log-sum-exp of what the others lack to it, and chances.

    The chances are each member's to come first, 0 for no member.
    """
    member = _members(scores.shape[1])
    top = np.where(member, scores[:, None, :], -np.inf).max(axis=2)
    top[:, 0] = 0.0  # nobody is in the empty set
    with np.errstate(over="ignore"):  # -inf is a chance of 0
        weights = np.exp(np.where(member, scores[:, None, :] - top[..., None], -np.inf))
    total = weights.sum(axis=2)
    total[:, 0] = 1.0
    return top, np.log(total), weights / total[..., None]


def _chances(chosen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance of each set to be left to place at some time, (m, 2 ** n)."""
    m, _, n = chosen.shape
    found = np.zeros((m, 2**n))
    found[:, -1] = 1.0
    for number in range(2**n - 1, 0, -1):
        for member in range(n):
            if number >> member & 1:
                found[:, number ^ (1 << member)] += found[:, number] * chosen[:, number, member]
    found[:, 0] = 0.0
    return found


def _block(grades: PerRow, rows: RowIndex) -> Block:
    chosen = _softmaxes(grades[rows])[2]
    chances = _chances(chosen)
    # Of each choice by itself: the cost of the grades, less their sum, would cancel at large ones.
    uncertain = -(chosen * np.log(np.where(chosen > 0.0, chosen, 1.0))).sum(axis=2)
    return rows, chances, (chances * uncertain).sum(axis=1)


def _has_two_grades(grades: PerRow, groups: Groups) -> Mask:
    low, high = np.full(groups.n_groups, np.inf), np.full(groups.n_groups, -np.inf)
    np.minimum.at(low, groups.index, grades)
    np.maximum.at(high, groups.index, grades)
    return high > low


def _rows_by_size(groups: Groups, defined: Mask) -> list[RowIndex]:
    """Return the rows of all defined groups of each size, (m, size)."""
    if defined.any() and groups.sizes[defined].max() > _LARGEST:
        largest = int(np.argmax(np.where(defined, groups.sizes, 0)))
        raise ArgumentError(
            f"permutation-cross-entropy takes groups of up to {_LARGEST} rows, got "
            f"{groups.sizes[largest]} in qid {_check.label(groups.labels[largest])}. "
            "Use listnet for longer lists."
        )
    order: RowIndex = np.arange(groups.n_rows) if groups.order is None else groups.order
    found: list[RowIndex] = []
    for size in np.unique(groups.sizes[defined]).tolist():
        first = groups.offsets[:-1][defined & (groups.sizes == size)]
        found.append(order[first[:, None] + np.arange(size)])
    return found
