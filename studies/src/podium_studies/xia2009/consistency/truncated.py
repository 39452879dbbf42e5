"""A modification of any loss on grades for the top k, as in the paper for listwise losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.groups import Groups
from podium.losses import Loss, as_loss, inputs
from podium.types import Keys, PerGroup, PerRow
from podium_studies import checks

_DECLARED = (
    *("name", "bounds", "convex", "smooth", "upper_bounds", "shift_invariant", "reads_groups"),
    *("reads_grades", "min_relevance", "head_cutoff", "draws", "redraws", "reweights"),
)


@dataclass(frozen=True, init=False)
class Truncated(Loss):
    """A loss on the grades of the k best rows of each group, with grade 0 for all other rows.

    The (k+1)-th largest relevance of a group is subtracted from the relevance of its rows, and
    negative differences become 0. The head therefore keeps its order, the rows below it are tied,
    and a loss on pairs has no pairs of them. This is the paper's modification of the truth scores
    (section 4.3), for losses without a cutoff.

    Parameters
    ----------
    loss : Loss or str
        A pairwise, pointwise or other loss in which equal grades are ties, or its name.
    k : int
        The number of rows that keep a grade. A group with at most k rows keeps its grades.

    Notes
    -----
    Rows that are tied with the (k+1)-th get 0 too, so that fewer than k rows may keep a grade.
    The declared properties of the loss (`convex`, `smooth`, `shift_invariant`) are valid for the
    truncated loss. A loss that draws the order of tied rows draws it for the truncated grades,
    with the same keys.

    References
    ----------
    xia2009, section 6, which announces pointwise and pairwise losses as future work.

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
        object.__setattr__(self, "k", checks.cutoff(k))
        for name in _DECLARED:
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
        """Return the loss's target of the truncated grades; `keys` is for losses that draw."""
        grades = self._grades(inputs.relevance_of(relevance, groups), groups)
        key_arguments: dict[str, Any] = {} if keys is None else {"keys": keys}
        return self.loss.prepare(grades, groups, weights=weights, rng=rng, **key_arguments)

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return the values of the loss, and the gradient of their mean by the scores."""
        return self.loss.value_and_grad(scores, target)

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return the positive second-order bound of the loss by row."""
        return self.loss.curvature(scores, target)

    def draw(self, groups: Groups, rng: np.random.Generator) -> Keys:
        """Return the keys that the loss draws."""
        return self.loss.draw(groups, rng)

    def hold(self, scores: PerRow, target: Any) -> Any:
        """Return the target with the weights of the loss at these scores."""
        return self.loss.hold(scores, target)

    def why_undefined(self, target: Any) -> str:
        """Return a message with the loss's requirement on groups."""
        return self.loss.why_undefined(target)

    def _grades(self, relevance: PerRow, groups: Groups) -> PerRow:
        """Return the excess of each row's relevance over the (k+1)-th largest of its group."""
        index = groups.index
        order = np.lexsort((-relevance, index))
        floor = np.zeros(groups.n_groups)
        is_longer = groups.sizes > self.k
        floor[is_longer] = relevance[order][groups.offsets[:-1][is_longer] + self.k]
        return np.maximum(relevance - floor[index], 0.0)
