"""The likelihood of the ground-truth order's head: ListMLE, and its top-k form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import Out, register
from podium.losses.listwise import TIES, DrawnLoss, GradeTies, head_first, heads, several_grades
from podium.types import Counts, Keys, Mask, PerGroup, PerRow

_N_ORDERS = 16  # drawn for ties="averaged"
_HEADS = ("k", "relevant")


@dataclass(frozen=True, eq=False)
class ListMLETarget:
    """The orders of each list, and how much of its head is by chance.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_orders, n_rows)
        Rows group after group, for each order; of a list only the head is in order.
    n_head : int64, (n_groups,)
        Places whose likelihood counts; 0 for a group that is left out.
    n_drawn : int64, (n_groups,)
        Places of the head that hold a row below min_relevance only because it was drawn from
        rows of its grade.
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    """

    groups: Groups
    rows: NDArray[np.int64]
    n_head: Counts
    n_drawn: Counts
    share: PerGroup

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        return self.n_head > 0


@register
@dataclass(frozen=True)
class ListMLE(DrawnLoss):
    """Negative log-likelihood of the first k places of the ground-truth order.

    ``sum_{i<=k} [log sum_{t>=i} exp(s_t) - s_i]`` over places i of that order: the Plackett-Luce
    model's, which draws one row after another. With k it is top-k ListMLE, consistent with the
    top-k 0-1 loss; without, ListMLE.

    Parameters
    ----------
    k : int, optional
        Places that count, at least 1; None, and any k beyond the list, is the whole list.
    ties : {"fixed", "redrawn", "averaged"}
        As in `DrawnLoss`; the mean is over n_orders drawn orders.
    n_orders : int, optional
        Of ties="averaged"; 16 without it.
    head : {"k", "relevant"}
        "k": the first k places, relevant or not (the paper's). "relevant": no place that holds a
        row below min_relevance. With fewer relevant rows than k the former teaches an order of
        irrelevant rows that was drawn; the target's `n_drawn` says of how many.
    min_relevance : float
        Relevance from which a row is relevant, for head="relevant" and `n_drawn`.

    Notes
    -----
    A group's value is the sum over its places, the paper's likelihood: long heads weigh more.
    Convex, smooth, unchanged by a shift of a group's scores, and exact at any finite score: an
    ordered pair with a gap of 40 has value log1p(exp(-40)). A group is left out that has one
    grade, or, with head="relevant", no relevant row. In natural logarithms it bounds no metric
    of podium: a tie costs log 2 < 1.
    A value beyond the range of float64 is inf.
    Cost: one exponential per row and order. Preparing is linear in the rows for heads of up to 64
    places, and sorts the lists for longer ones.

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
    ties: GradeTies = "fixed"
    n_orders: int | None = None
    head: Literal["k", "relevant"] = "k"
    min_relevance: float = 1.0

    name: ClassVar[str] = "listmle"
    head_cutoff: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check.cutoff(self.k, required=False))
        _check.choice(self.ties, "ties", TIES)
        _check.choice(self.head, "head", _HEADS)
        self._check_min_relevance()
        if self.n_orders is not None:
            object.__setattr__(self, "n_orders", _check.cutoff(self.n_orders, name="n_orders"))
            if self.ties != "averaged":
                raise ArgumentError(
                    f"n_orders is of averaged ties, got {self.n_orders} with {self.ties!r} ones. "
                    "Leave it out, or average."
                )

    def remark(self, relevance: PerRow, groups: Groups) -> str:
        """Say in how many queries the head orders rows that are not relevant, as they were drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from podium.groups import Groups
        >>> ListMLE(k=2).remark(np.array([1.0, 0.0, 0.0]), Groups.single(3))[:46]
        'listmle, top 2: in 1 of 1 queries places go to'
        """
        target = self.prepare(relevance, groups)
        n_queries, n_drawn = np.count_nonzero(target.defined), np.count_nonzero(target.n_drawn)
        if not n_drawn:
            return ""
        head = "whole lists" if self.k is None else f"top {self.k}"
        drawn = f"averaged over {self._n_orders} drawn orders"
        return (
            f"{self.name}, {head}: in {n_drawn} of {n_queries} queries places go to rows of "
            f"relevance < {self.min_relevance:g}, "
            f"{drawn if self.ties == 'averaged' else 'in a drawn order'} "
            f"(loss='{replace(self, head='relevant')}' leaves them out)"
        )

    @property
    def _n_orders(self) -> int:
        return (self.n_orders or _N_ORDERS) if self.ties == "averaged" else 1

    def _drawn_target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None, keys: Keys
    ) -> ListMLETarget:
        from podium.losses.listwise_kernels import count_drawn

        n_head = self._heads(grades, groups)
        rows = head_first(grades, keys, groups, n_head)
        n_drawn = np.zeros(groups.n_groups, np.int64)
        count_drawn(grades, rows[0], groups.offsets, n_head, self.min_relevance, n_drawn)
        share = inputs.group_shares(weights, groups, self.name, n_head > 0)
        return ListMLETarget(groups, rows, n_head, n_drawn, share)

    def _heads(self, grades: PerRow, groups: Groups) -> Counts:
        places = groups.sizes
        if self.head == "relevant":
            relevant = groups.index[grades >= self.min_relevance]
            places = np.bincount(relevant, minlength=groups.n_groups)
        return np.where(several_grades(grades, groups), heads(self.k, places), 0)

    def _lack(self) -> str:
        return "one grade only" + (" or no relevant row" if self.head == "relevant" else "")

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import top_likelihood

        groups, rows = target.groups, target.rows
        depth = np.minimum(target.n_head, np.maximum(groups.sizes - 1, 0))  # the last is certain
        scale = target.share / rows.shape[0]
        top_likelihood(scores, rows, groups.offsets, depth, scale, out)
