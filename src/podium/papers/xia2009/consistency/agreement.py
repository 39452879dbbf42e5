"""Whether minimising a loss on a space finds a Bayes ranker by the top-k 0-1 loss."""

from __future__ import annotations

from dataclasses import dataclass

from podium.errors import ArgumentError
from podium.losses import Loss
from podium.papers.xia2009.consistency.minimum import Minimum, minimise
from podium.papers.xia2009.consistency.space import Head, Space


@dataclass(frozen=True, eq=False)
class Agreement:
    """The heads that a loss's minimiser shows, beside those of the Bayes rankers.

    Attributes
    ----------
    k : int
    minimum : Minimum
    heads : tuple of heads
        What sorting a minimiser may show; more than one where it leaves a tie.
    bayes : tuple of heads
        The most probable.
    regret : float
        Least possible top-k 0-1 risk subtracted from that of the worst of `heads`.
    """

    k: int
    minimum: Minimum
    heads: tuple[Head, ...]
    bayes: tuple[Head, ...]
    regret: float

    @property
    def consistent(self) -> bool:
        """Whether every head that a minimiser may show is a Bayes ranker's."""
        return set(self.heads) <= set(self.bayes)

    @property
    def tied(self) -> bool:
        """Whether it depends on how ties are broken: some of the heads are Bayes, others not."""
        return not self.consistent and bool(set(self.heads) & set(self.bayes))


def agreement(
    space: Space, loss: Loss | str, k: int, *, minimum: Minimum | None = None
) -> Agreement:
    """Compare the top k of a loss's minimiser with the Bayes rankers of the top-k 0-1 loss.

    Parameters
    ----------
    space : Space
    loss : Loss or str
    k : int
        Of the 0-1 loss; the loss's own k is its own affair.
    minimum : Minimum, optional
        From `minimise` of this space and loss, where it is known already.

    Raises
    ------
    ArgumentError
        For a minimum of another number of objects, or as `minimise` does.

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
    found = minimise(space, loss) if minimum is None else minimum
    if found.scores.size != space.n:
        raise ArgumentError(
            f"minimum must be of as many objects as space, {space.n}, got {found.scores.size}. "
            "Pass what minimise gave for this space, or leave it out."
        )
    heads, bayes = found.heads(k), space.bayes(k)
    worst = min(space.probability(head) for head in heads)
    return Agreement(k, found, heads, bayes, max(0.0, space.probability(bayes[0]) - worst))


def is_consistent_on(space: Space, loss: Loss | str, k: int) -> bool:
    """Whether the loss's minimiser on this space shows the top k of a Bayes ranker, ties or not.

    Examples
    --------
    >>> from podium import losses
    >>> is_consistent_on(Space.plackett_luce([2.0, 0.0, 1.0]), losses.get("squared"), k=2)
    True
    """
    return agreement(space, loss, k).consistent
