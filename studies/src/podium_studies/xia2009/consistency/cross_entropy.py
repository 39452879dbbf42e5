"""The exact cross entropy of two Plackett-Luce distributions over whole permutations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import Out, Target, count_of
from podium.losses.listwise import ListwiseLoss, several_grades
from podium.types import Mask, PerGroup, PerRow, RowIndex
from podium_studies import checks

_LARGEST = 12  # largest number of rows in a group, with 4,096 sets
_SMALL = 2.0**-6  # keeps sums over 12 places finite; a power of two is exact
_CELLS = 1_000_000  # groups × sets × rows that are processed at a time

Block = tuple[RowIndex, NDArray[np.float64], PerGroup]


@dataclass(frozen=True, eq=False)
class PermutationTarget(Target):
    """The labels as prepared for `PermutationCrossEntropy`.

    Attributes
    ----------
    blocks : list of (rows, chances, entropy)
        One block per size of the defined groups, with m groups each: the rows (m, size), the
        probability under the grades that each set of rows remains to be placed at some point
        (m, 2 ** size), and the entropy of the grades' distribution in nats (m,).
    """

    blocks: list[Block]


@dataclass(frozen=True)
class PermutationCrossEntropy(ListwiseLoss):
    """The divergence of the Plackett-Luce distribution of scores from that of grades.

    The value is ``sum_pi P(pi; grades) log(P(pi; grades) / P(pi; scores))``. This is ListNet
    without the top-1 approximation, for the theory of small lists.

    Parameters
    ----------
    scale : float
        The factor by which grades are multiplied, > 0. The products are the scores of the grades'
        distribution and must be finite.

    Notes
    -----
    The loss is convex and smooth. `Truncated` gives the top-k form of the paper.

    The sum is not computed over n! permutations. The log-likelihood of a permutation is a sum
    over the sets of rows that remain to be placed. Its expectation is therefore a sum over all
    2^n sets, weighted by their probabilities. Groups may have up to 12 rows. A group with a
    single grade is left out.

    Values have the rounding error of sums of score differences, which is about 1 in a group whose
    scores span 1e16. A value beyond the range of float64 is inf.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checks.positive(self.scale, "scale"))

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> PermutationTarget:
        with np.errstate(over="ignore"):
            scaled = self.scale * grades
        if not np.isfinite(scaled).all():
            raise ArgumentError(
                f"scale times the largest relevance must be finite, got {self.scale:g} times "
                f"{grades.max():g}. Use a smaller scale."
            )
        defined = several_grades(scaled, groups)
        share = inputs.group_shares(weights, groups, self.name, defined)
        blocks = [_block(scaled, rows) for rows in _rows_by_size(groups, defined)]
        return PermutationTarget(groups, share, defined, blocks)

    def _run(self, scores: PerRow, target: PermutationTarget, out: Out) -> None:
        values, grad, bound = out
        n_defined = count_of(target)
        for rows, chances, entropy in target.blocks:
            group = target.groups.index[rows[:, 0]]
            share = target.share[group]
            cost, expected = _expected(scores[rows], chances)
            values[group] = share * np.maximum(cost - entropy, 0.0)
            grad[rows] = (share / n_defined)[:, None] * (expected - 1.0)
            if bound.size:
                bound[rows] = (share / n_defined)[:, None] * expected


@cache
def _members(n: int) -> Mask:
    """Return the objects of each set, (2 ** n, n). The bits of s are the objects of set s."""
    number = np.arange(2**n, dtype=np.int64)[:, None]
    return np.equal(np.bitwise_and(np.right_shift(number, np.arange(n)), 1), 1)


def _expected(
    scores: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[PerGroup, NDArray[np.float64]]:
    """Return the expected -log likelihood of a permutation, and each row's summed probability."""
    logs, tops, expected = np.zeros(len(scores)), np.zeros(len(scores)), np.zeros_like(scores)
    step = max(1, _CELLS // (chances.shape[1] * scores.shape[1]))
    for start in range(0, len(scores), step):
        block = slice(start, start + step)
        top, log_sum, chosen = _softmaxes(scores[block])
        tops[block] = (chances[block] * (_SMALL * top)).sum(axis=1)
        logs[block] = (chances[block] * log_sum).sum(axis=1)
        expected[block] = np.einsum("ms,msi->mi", chances[block], chosen)
    with np.errstate(over="ignore"):  # a cost beyond the range of float64 is inf
        return (tops - (_SMALL * scores).sum(axis=1)) / _SMALL + logs, expected


def _softmaxes(
    scores: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the best score of every set, the log-sum-exp less it, and the softmax.

    The softmax is the probability of each member to come first, and 0 for other objects.
    """
    member = _members(scores.shape[1])
    top = np.where(member, scores[:, None, :], -np.inf).max(axis=2)
    top[:, 0] = 0.0  # the empty set has no best score
    with np.errstate(over="ignore"):  # -inf is a probability of 0
        weights = np.exp(np.where(member, scores[:, None, :] - top[..., None], -np.inf))
    total = weights.sum(axis=2)
    total[:, 0] = 1.0
    return top, np.log(total), weights / total[..., None]


def _chances(chosen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that each set remains to be placed at some point, (m, 2 ** n)."""
    m, _, n = chosen.shape
    probabilities = np.zeros((m, 2**n))
    probabilities[:, -1] = 1.0
    for number in range(2**n - 1, 0, -1):
        for member in range(n):
            if number >> member & 1:
                probabilities[:, number ^ (1 << member)] += (
                    probabilities[:, number] * chosen[:, number, member]
                )
    probabilities[:, 0] = 0.0
    return probabilities


def _block(grades: PerRow, rows: RowIndex) -> Block:
    chosen = _softmaxes(grades[rows])[2]
    chances = _chances(chosen)
    # Sum the entropy of each choice, because the cost of large grades would cancel.
    choice_entropy = -(chosen * np.log(np.where(chosen > 0.0, chosen, 1.0))).sum(axis=2)
    return rows, chances, (chances * choice_entropy).sum(axis=1)


def _rows_by_size(groups: Groups, defined: Mask) -> list[RowIndex]:
    """Return the rows of all defined groups of each size, (m, size)."""
    if defined.any() and groups.sizes[defined].max() > _LARGEST:
        largest = int(np.argmax(np.where(defined, groups.sizes, 0)))
        raise ArgumentError(
            f"permutation-cross-entropy supports groups of up to {_LARGEST} rows, got "
            f"{groups.sizes[largest]} in qid {groups.labels.tolist()[largest]!r}. "
            "Use listnet for longer lists."
        )
    order = inputs.rows_by_group(groups)
    rows_by_size: list[RowIndex] = []
    for size in np.unique(groups.sizes[defined]).tolist():
        first_positions = groups.offsets[:-1][defined & (groups.sizes == size)]
        rows_by_size.append(order[first_positions[:, None] + np.arange(size)])
    return rows_by_size
