"""Agreement of a loss's minimiser on a space with the Bayes rankers of the top-k 0-1 loss."""

from __future__ import annotations

from dataclasses import dataclass

from podium.errors import ArgumentError
from podium.losses import Loss
from podium_studies.xia2009.consistency.minimum import Minimum, minimise
from podium_studies.xia2009.consistency.space import Head, Space


@dataclass(frozen=True, eq=False)
class Agreement:
    """The heads of a loss's minimiser and those of the Bayes rankers.

    Attributes
    ----------
    k : int
        The cutoff of the 0-1 loss.
    minimum : Minimum
        The minimum of the expected loss.
    heads : tuple of heads
        The possible heads after sorting by a minimiser. There are several if scores tie.
    bayes : tuple of heads
        The most probable heads.
    regret : float
        The top-k 0-1 risk of the worst of `heads` less the least possible risk.
    """

    k: int
    minimum: Minimum
    heads: tuple[Head, ...]
    bayes: tuple[Head, ...]
    regret: float

    @property
    def consistent(self) -> bool:
        """Whether every possible head of a minimiser is a head of a Bayes ranker."""
        return set(self.heads) <= set(self.bayes)

    @property
    def tied(self) -> bool:
        """Whether only some of the heads are heads of a Bayes ranker, so that ties decide."""
        return not self.consistent and bool(set(self.heads) & set(self.bayes))


def agreement(
    space: Space, loss: Loss | str, k: int, *, minimum: Minimum | None = None
) -> Agreement:
    """Compare the top k of a loss's minimiser with the Bayes rankers of the top-k 0-1 loss.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    loss : Loss or str
        A loss or its name.
    k : int
        The cutoff of the 0-1 loss. The surrogate's own cutoff is independent of it.
    minimum : Minimum, optional
        The result of `minimise` for this space and loss. By default, `minimise` is called.

    Returns
    -------
    Agreement

    Raises
    ------
    ArgumentError
        If the minimum has another number of objects, or `minimise` raises one.

    References
    ----------
    xia2009, section 4.1.

    Examples
    --------
    >>> from podium import losses
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> full = agreement(space, losses.get("listmle"), k=1)
    >>> full.consistent, full.heads, full.bayes, round(full.regret, 3)
    (False, ((1,),), ((0,),), 0.1)
    >>> agreement(space, losses.get("listmle@1"), k=1).consistent
    True
    """
    solution = minimise(space, loss) if minimum is None else minimum
    if solution.scores.size != space.n:
        raise ArgumentError(
            f"minimum must have {space.n} objects, as space has, got {solution.scores.size}. "
            "Pass the result of minimise for this space, or leave out minimum."
        )
    heads, bayes = solution.heads(k), space.bayes(k)
    least_probability = min(space.probability(head) for head in heads)
    return Agreement(
        k, solution, heads, bayes, max(0.0, space.probability(bayes[0]) - least_probability)
    )


def is_consistent_on(space: Space, loss: Loss | str, k: int) -> bool:
    """Return whether a loss's minimiser on a space has the top k of a Bayes ranker for all ties.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    loss : Loss or str
        A loss or its name.
    k : int
        The cutoff of the 0-1 loss.

    Returns
    -------
    bool

    Examples
    --------
    >>> from podium import losses
    >>> is_consistent_on(Space.plackett_luce([2.0, 0.0, 1.0]), losses.get("squared"), k=2)
    True
    """
    return agreement(space, loss, k).consistent
