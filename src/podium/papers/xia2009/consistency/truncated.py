"""Any loss on grades, modified for the top k as the paper modifies listwise ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import Loss, as_loss, inputs
from podium.losses.base import DECLARED
from podium.types import Keys, PerGroup, PerRow


@dataclass(frozen=True, init=False)
class Truncated(Loss):
    """A loss that is told the grades of the k best rows of a group, and 0 of all others.

    A row's relevance becomes what it exceeds the group's (k+1)-th largest relevance by, if it
    does. So the head keeps its order, the rows below it are one tie, and a loss that reads pairs
    has none among them: the paper's modification of the truth scores (section 4.3), for losses
    that have no k of their own.

    Parameters
    ----------
    loss : Loss or str
        A pairwise, pointwise or other loss that takes ties as ties, or its name.
    k : int
        Rows that keep a grade; a group with no more rows than that keeps its grades.

    Notes
    -----
    Rows tied with the (k+1)-th get 0 as well, so fewer than k may keep a grade. What the loss
    declares of itself (`convex`, `smooth`, `shift_invariant`) holds of this one too. A loss that
    puts tied rows in a drawn order does so with the truncated grades, from the same keys.

    References
    ----------
    xia2009, section 6: pointwise and pairwise losses are its announced future work.

    Examples
    --------
    >>> from podium import losses
    >>> loss = Truncated(losses.get("squared"), k=1)
    >>> target = loss.prepare(np.array([1.0, 3.0, 2.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.array([0.0, 1.0, 0.0]), target)
    >>> values.tolist(), grad.tolist()
    ([0.0], [0.0, 0.0, 0.0])
    """

    loss: Loss
    k: int

    def __init__(self, loss: Loss | str, k: int) -> None:
        object.__setattr__(self, "loss", as_loss(loss))
        object.__setattr__(self, "k", _check.cutoff(k))
        for name in DECLARED:
            object.__setattr__(self, name, getattr(self.loss, name))

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
        keys: Keys | None = None,
    ) -> Any:
        """Truncate the relevances and prepare the loss with them; keys are for one that draws."""
        grades = self._grades(inputs.relevance_of(relevance, groups), groups)
        given: dict[str, Any] = {} if keys is None else {"keys": keys}
        return self.loss.prepare(grades, groups, weights=weights, rng=rng, **given)

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return the loss's values, and the gradient of their mean by each row's score."""
        return self.loss.value_and_grad(scores, target)

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return the loss's positive second-order bound by row."""
        return self.loss.curvature(scores, target)

    def draw(self, groups: Groups, rng: np.random.Generator) -> Keys:
        """Return the keys that the loss draws."""
        return self.loss.draw(groups, rng)

    def why_undefined(self, target: Any) -> str:
        """Say what the loss requires of a group."""
        return self.loss.why_undefined(target)

    def _grades(self, relevance: PerRow, groups: Groups) -> PerRow:
        """Return what each row exceeds its group's (k+1)-th largest relevance by."""
        index = groups.index
        order = np.lexsort((-relevance, index))
        floor = np.zeros(groups.n_groups)
        long = groups.sizes > self.k
        floor[long] = relevance[order][groups.offsets[:-1][long] + self.k]
        return np.maximum(relevance - floor[index], 0.0)
