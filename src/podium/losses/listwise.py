"""The base of the listwise losses, the places of a list by grade, and ListMLE.

A ground-truth order contains the rows of a list by falling grade, with tied rows in some order.
Each row has a ground-truth score that depends on its grade and on its rank within its tie. The m
rows of one grade g have distinct scores in (g - delta / 2, g + delta / 2), in this order and with
mean g; delta is the least difference of two grades of the list. The row of rank r = 0, …,
m - 1 within its tie is at ``((m - 1) / 2 - r) / m`` of that interval, a number in (-1/2, 1/2).
"""

# Some declarations depend on a parameter and are therefore properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss, Out, Target, count_of, register
from podium.types import Counts, Keys, Mask, PerGroup, PerRow, RowIndex


class ListwiseLoss(GroupLoss):
    """The base class of the listwise losses."""

    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True


def several_grades(grades: PerRow, groups: Groups) -> Mask:
    """Return the mask of groups that have two rows of different grade."""
    ordered, index = groups.gather(grades), np.repeat(np.arange(groups.n_groups), groups.sizes)
    several = np.zeros(groups.n_groups, np.bool_)
    several[index[1:][(ordered[1:] != ordered[:-1]) & (index[1:] == index[:-1])]] = True
    return several


def heads(k: int | None, sizes: Counts) -> Counts:
    """Return the length of the head of each list: k, or the whole list if it is shorter."""
    return sizes if k is None else np.minimum(sizes, k)


@dataclass(frozen=True, eq=False)
class Places:
    """The places of all lists in their ground-truth order.

    Attributes
    ----------
    rows : int64, (n_rows,)
        The row at each place.
    index : int64, (n_rows,)
        The number of its group.
    grades : float64, (n_rows,)
        Its grade divided by the best grade of the list, which prevents overflow.
    best : float64, (n_groups,)
        The best grade of each list; 1 if it is 0.
    tie_position : float64, (n_rows,)
        The position within its tie, in (-1/2, 1/2), falling.
    tie : int64, (n_rows,)
        The number of its tie, counted over all lists.
    gap : float64, (n_groups,)
        The least difference of two grades of a list, divided by the best grade; 0 for a list with
        one grade.
    """

    rows: RowIndex
    index: RowIndex
    grades: PerRow
    best: PerGroup
    tie_position: PerRow
    tie: RowIndex
    gap: PerGroup

    @classmethod
    def of(cls, grades: PerRow, groups: Groups) -> Places:
        """Sort each list stably, and rank its rows within their ties."""
        rows = np.lexsort((-grades, groups.index))
        index = groups.index[rows]
        first_rows = groups.offsets[:-1][groups.sizes > 0]
        sorted_grades = grades[rows]
        best = np.ones(groups.n_groups)
        best[groups.sizes > 0] = sorted_grades[first_rows]
        best[best == 0.0] = 1.0
        relative_grades = sorted_grades / best[index]
        starts = np.ones(rows.size, np.bool_)
        same_list = index[1:] == index[:-1]
        starts[1:] = (sorted_grades[1:] != sorted_grades[:-1]) | ~same_list
        tie = np.cumsum(starts) - 1
        begins_lower_grade = starts[1:] & same_list
        gap = np.full(groups.n_groups, np.inf)
        # The division may make two grades equal.
        differences = np.maximum(relative_grades[:-1] - relative_grades[1:], inputs.TINY)
        np.minimum.at(gap, index[1:][begins_lower_grade], differences[begins_lower_grade])
        gap[np.isinf(gap)] = 0.0
        first = np.flatnonzero(starts)
        size = np.diff(np.append(first, starts.size))[tie]
        position = ((size - 1) / 2 - (np.arange(starts.size) - first[tie])) / size
        return cls(rows, index, relative_grades, best, position, tie, gap)

    def with_tail(self, values: PerRow, n_head: Counts) -> PerRow:
        """Return falling values, with those below the head replaced by their mean."""
        below = self._place() >= n_head[self.index]
        count = np.bincount(self.index[below], minlength=n_head.size)
        total = np.bincount(self.index[below], values[below], n_head.size)
        mean = total / np.maximum(count, 1)
        return np.where(below, mean[self.index], values)

    def averaged(self, values: PerRow) -> PerRow:
        """Return values replaced by the mean of their tie, which is the mean over all orders."""
        total = np.bincount(self.tie, values)
        return (total / np.bincount(self.tie))[self.tie] if values.size else values

    def sums(self, values: NDArray[np.float64]) -> PerGroup:
        """Return the sum of the values of each list."""
        return np.bincount(self.index, values, self.gap.size).astype(np.float64, copy=False)

    def _place(self) -> NDArray[np.int64]:
        """Return the number of each place within its list, from 0."""
        starts = np.searchsorted(self.index, np.arange(self.gap.size))
        return np.arange(self.index.size) - starts[self.index]


@dataclass(frozen=True, eq=False)
class ListMLETarget(Target):
    """The ground-truth orders of each list.

    Attributes
    ----------
    rows : int64, (n_orders, n_rows)
        The rows, group after group, for each order. Only the head of each list is in order.
    n_head : int64, (n_groups,)
        The number of places whose likelihood counts; 0 for a group that is left out.
    """

    rows: NDArray[np.int64]
    n_head: Counts


@register
@dataclass(frozen=True)
class ListMLE(ListwiseLoss):
    """Negative log-likelihood of the first k places of the ground-truth order.

    The value is ``sum_{i<=k} [log sum_{t>=i} exp(s_t) - s_i]`` over the places i of that order,
    from the best grade to the lowest. It is the negative log-likelihood under the Plackett-Luce
    model, which draws one row after another. With k, the loss is top-k ListMLE, which is consistent
    with the top-k 0-1 loss (xia2009). Without k it is ListMLE.

    Parameters
    ----------
    k : int, optional
        The number of places that are used, at least 1. With None, or a k larger than the list, it
        is the whole list.
    n_orders : int
        The number of drawn orders of rows of equal grade over which the loss is the mean.
    head : {"k", "relevant"}
        The places that are used. With "k", these are the first k places, also if their rows are not
        relevant (as in the paper). If a list has fewer than k relevant rows, the loss then learns a
        drawn order of irrelevant rows. With "relevant", places that hold a row below min_relevance
        are excluded.
    min_relevance : float
        The relevance from which a row is relevant, for head="relevant".

    Notes
    -----
    A group's value is the sum over its places, as in the paper. Groups with more places therefore
    have a larger weight. The loss is convex, smooth, unchanged by a shift of a group's scores, and
    accurate for all scores below 1e290. For example, a pair of rows in the correct order whose
    scores differ by 40 has the value log1p(exp(-40)). Groups with only one grade are left out. With
    head="relevant", groups without a relevant row are left out too. Without k and with labels 0 and
    1, the value is never below 1 - NDCG. With k, it bounds no metric of podium: it uses natural
    logarithms, so that a tied pair costs log 2, which is below 1. A value beyond the range of
    float64 is inf.

    Cost: one exponential per row and order. `prepare` is linear in the rows if at most 64
    places of a list are used, and sorts the lists if more are used.

    References
    ----------
    xia2009, section 4.3.1; xia2008.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = ListMLE(k=1)
    >>> target = loss.prepare(np.array([2.0, 0.0, 1.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.array([5.0, 5.0, 5.0]), target)
    >>> bool(np.isclose(values[0], np.log(3.0))), np.round(3 * grad).tolist()
    (True, [-2.0, 1.0, 1.0])
    """

    k: int | None = None
    n_orders: int = 1
    head: Literal["k", "relevant"] = "k"
    min_relevance: float = 1.0

    constraints: ClassVar[_check.Constraints] = {
        "n_orders": _check.cutoff,
        "head": partial(_check.choice, options=("k", "relevant")),
    }

    name: ClassVar[str] = "listmle"
    consistency: ClassVar[tuple[str, str] | None] = ("with k", "xia2009, theorem 7")
    head_cutoff: ClassVar[bool] = True
    draws: ClassVar[bool] = True

    @property
    def upper_bounds(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The metric of the bound: ndcg, but only without k."""
        return "ndcg" if self.k is None else None

    def draw(self, groups: Groups, rng: np.random.Generator) -> Keys:
        """Draw the keys that order rows of equal grade; the row with the largest key comes first.

        Parameters
        ----------
        groups : Groups
            The groups of the rows.
        rng : numpy.random.Generator
            The source of random numbers.

        Returns
        -------
        float64, (n_rows, n_orders)
            One column per order of a list. The keys are drawn group after group, by rising label,
            so that they do not depend on the order of groups in a file.
        """
        return groups.scatter(rng.random((groups.n_rows, self.n_orders)))

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
        keys: Keys | None = None,
    ) -> Any:
        """Return the target; see `Loss.prepare`.

        Among rows of equal grade, the one with the largest key comes first. `keys` are the result
        of `draw`; without them they are drawn with rng.

        Raises
        ------
        ArgumentError
            If the keys have another shape or are not finite, or for the reasons of
            `Loss.prepare`.
        """
        if keys is None:
            keys = self.draw(groups, np.random.default_rng(0) if rng is None else rng)
        keys = np.asarray(keys, dtype=np.float64)
        expected = (groups.n_rows, self.n_orders)
        if keys.shape != expected or not np.isfinite(keys).all():
            raise ArgumentError(
                f"keys must be finite numbers of shape {expected}, for (rows, orders), got the "
                f"shape {keys.shape}. Use the result of the loss's method draw."
            )
        return self._target(inputs.relevance_of(relevance, groups), groups, weights, keys)

    def _target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None, keys: Any = None
    ) -> ListMLETarget:
        from podium._kernels import read_only
        from podium.losses.listwise_kernels import order_heads

        n_head = self._heads(grades, groups)
        by_group, rows = inputs.rows_by_group(groups), np.empty(keys.T.shape, np.int64)
        order_heads(read_only(grades), read_only(keys.T), by_group, groups.offsets, n_head, rows)
        share = inputs.group_shares(weights, groups, self.name, n_head > 0)
        return ListMLETarget(groups, share, n_head > 0, rows, n_head)

    def _heads(self, grades: PerRow, groups: Groups) -> Counts:
        places = groups.sizes
        if self.head == "relevant":
            relevant = groups.index[grades >= self.min_relevance]
            places = np.bincount(relevant, minlength=groups.n_groups)
        return np.where(several_grades(grades, groups), heads(self.k, places), 0)

    def _needs(self) -> str:
        return super()._needs() + (", one of them relevant," if self.head == "relevant" else "")

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import top_likelihood

        groups, rows = target.groups, target.rows
        depth = np.minimum(target.n_head, np.maximum(groups.sizes - 1, 0))  # last place: certain
        scale = target.share / rows.shape[0]
        top_likelihood(scores, rows, groups.offsets, depth, scale, count_of(target), out)
