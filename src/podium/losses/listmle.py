"""ListMLE and top-k ListMLE: the likelihood of the head of the ground-truth order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import Out, Target, count_of, register
from podium.losses.listwise import DrawnLoss, GradeTies, head_first, heads, several_grades
from podium.types import Counts, Keys, PerRow

_N_ORDERS = 16  # the number of drawn orders with ties="averaged"


@dataclass(frozen=True, eq=False)
class ListMLETarget(Target):
    """The ground-truth orders of each list, and how much of its head is in a drawn order.

    Attributes
    ----------
    rows : int64, (n_orders, n_rows)
        The rows, group after group, for each order. Only the head of each list is in order.
    n_head : int64, (n_groups,)
        The number of places whose likelihood counts; 0 for a group that is left out.
    n_drawn : int64, (n_groups,)
        The number of places of the head that hold a row below min_relevance only because it was
        drawn from the rows of its grade.
    """

    rows: NDArray[np.int64]
    n_head: Counts
    n_drawn: Counts


@register
@dataclass(frozen=True)
class ListMLE(DrawnLoss):
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
    ties : {"fixed", "redrawn", "averaged"}
        The order of rows of equal grade: drawn once, drawn in each epoch, or the mean over
        n_orders drawn orders.
    n_orders : int, optional
        The number of orders with ties="averaged"; the default is 16.
    head : {"k", "relevant"}
        The places that are used. With "k", these are the first k places, also if their rows are not
        relevant (as in the paper). If a list has fewer than k relevant rows, the loss then learns a
        drawn order of irrelevant rows; `n_drawn` of the target is their number. With "relevant",
        places that hold a row below min_relevance are excluded.
    min_relevance : float
        The relevance from which a row is relevant, for head="relevant" and `n_drawn`.

    Notes
    -----
    A group's value is the sum over its places, as in the paper. Groups with more places therefore
    have a larger weight. The loss is convex, smooth, unchanged by a shift of a group's scores, and
    accurate at any finite score. For example, a pair of rows in the correct order whose scores
    differ by 40 has the value log1p(exp(-40)). Groups with only one grade are left out. With
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
    ties: GradeTies = "fixed"
    n_orders: int | None = None
    head: Literal["k", "relevant"] = "k"
    min_relevance: float = 1.0

    constraints: ClassVar[_check.Constraints] = {
        "n_orders": _check.cutoff,
        "head": partial(_check.choice, options=("k", "relevant")),
    }

    name: ClassVar[str] = "listmle"
    consistency: ClassVar[tuple[str, str] | None] = ("with k", "xia2009, theorem 7")
    head_cutoff: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_orders is not None and self.ties != "averaged":
            raise ArgumentError(
                f"n_orders requires listmle(ties=averaged), got {self.n_orders} with "
                f"{self.ties!r} ties. Leave n_orders out, or average the ties."
            )

    @property
    def upper_bounds(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The metric of the bound: ndcg, but only without k."""
        return "ndcg" if self.k is None else None

    def remark(self, relevance: PerRow, groups: Groups) -> str:
        """Return a message on how many queries have irrelevant rows in a drawn order, or "".

        Examples
        --------
        >>> import numpy as np
        >>> from podium.groups import Groups
        >>> ListMLE(k=2).remark(np.array([1.0, 0.0, 0.0]), Groups.single(3))[:46]
        'listmle, top 2: in 1 of 1 queries, some places'
        """
        target = self.prepare(relevance, groups)
        n_queries, n_drawn = np.count_nonzero(target.defined), np.count_nonzero(target.n_drawn)
        if not n_drawn:
            return ""
        head = "whole lists" if self.k is None else f"top {self.k}"
        averaged_orders = f"averaged over {self._n_orders} random orders"
        return (
            f"{self.name}, {head}: in {n_drawn} of {n_queries} queries, some places hold rows of "
            f"relevance < {self.min_relevance:g}, "
            f"{averaged_orders if self.ties == 'averaged' else 'in a random order'} "
            f"({replace(self, head='relevant')} leaves these places out)"
        )

    @property
    def _n_orders(self) -> int:
        return (self.n_orders or _N_ORDERS) if self.ties == "averaged" else 1

    def _drawn_target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None, keys: Keys
    ) -> ListMLETarget:
        from podium._kernels import read_only
        from podium.losses.listwise_kernels import count_drawn

        n_head = self._heads(grades, groups)
        rows = head_first(grades, keys, groups, n_head)
        n_drawn = np.zeros(groups.n_groups, np.int64)
        count_drawn(read_only(grades), rows[0], groups.offsets, n_head, self.min_relevance, n_drawn)
        share = inputs.group_shares(weights, groups, self.name, n_head > 0)
        return ListMLETarget(groups, share, n_head > 0, rows, n_head, n_drawn)

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
