"""The losses of the study of top-k consistency, in their original and their top-k form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import losses
from podium.groups import Groups
from podium.losses import Loss
from podium.types import PerGroup, PerRow
from podium_studies.xia2009.consistency import Truncated
from podium_studies.xia2009.luce import ListNetLuce

NAMES = {
    "listmle": "ListMLE",
    "listnet": "ListNet",
    "rankcosine": "RankCosine",
    "permutation-cross-entropy": "full cross entropy",
    "listnet-luce": "Luce cross entropy of the top k",
    "softmax": "softmax of grades",
    "squared": "squared",
    "logistic": "logistic: in the top k or not",
    "pairwise-logistic": "pairwise logistic",
    "pairwise-exponential": "pairwise exponential",
    "pairwise-hinge": "pairwise hinge",
    "lambdarank": "LambdaRank",
    "approx-ndcg": "ApproxNDCG",
    "sl": "SL@K",
    "gentle": "counter-example",
}
"""The names of the losses on the page."""

_OWN_CUTOFF = ("listmle", "listnet", "rankcosine")
_OF_A_METRIC = ("lambdarank", "approx-ndcg", "sl")  # their k is the cutoff of a metric
_ALL = 8  # at least the number of objects


def make_loss(name: str, form: str, k: int) -> Loss | Truncated:
    """Return a loss in a form, "original" or "top-k" with this k."""
    is_top = form == "top-k"
    if name == "listnet-luce":  # the top-k form of Cao et al., which keeps all grades
        return ListNetLuce(k=k)
    if name == "gentle":
        return Gentle()
    if is_top and name in _OWN_CUTOFF:
        return losses.get(name, k=k)
    if name == "permutation-cross-entropy":  # of all places, less the entropy of the grades
        loss: Loss = ListNetLuce(k=_ALL)
    else:
        loss = losses.get(name, k=k) if name in _OF_A_METRIC else losses.get(name)
    return Truncated(loss, k) if is_top else loss


@dataclass(frozen=True)
class Gentle(Loss):
    """A loss on three objects that meets the conditions of proposition 10 and is consistent.

    The loss is the top-1 likelihood loss plus ``share * h(d)``. d is the score of the object at
    place 2 less the score of the object at place 3, and ``h(d) = |d|^3 / (1 + d^2)`` for d < 0,
    or else 0. h decreases strictly if the two objects are in the wrong order, and its slope is 0
    if they tie.

    Parameters
    ----------
    share : float
        The weight of h.
    """

    share: float = 0.1

    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> NDArray[np.int64]:
        """Return the object at each place, (n_groups, 3), for consecutive groups of three rows."""
        return np.argsort(-relevance.reshape(-1, 3), axis=1)

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return the value of each group, and the gradient of their mean."""
        by_group = scores.reshape(-1, 3)
        exponentials = np.exp(by_group - by_group.max(axis=1, keepdims=True))
        probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
        first, second, third = target.T
        rows = np.arange(len(by_group))
        d = np.minimum(by_group[rows, second] - by_group[rows, third], 0.0)
        values = -np.log(probabilities[rows, first]) - self.share * d**3 / (1.0 + d**2)
        slope = -self.share * d**2 * (3.0 + d**2) / (1.0 + d**2) ** 2
        grad = probabilities.copy()
        grad[rows, first] -= 1.0
        grad[rows, second] += slope
        grad[rows, third] -= slope
        return values, grad.ravel() / len(by_group)

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a bound on the second derivatives: 1/4 for the softmax, and at most 3 for h."""
        return np.full(scores.size, (0.25 + 3.0 * self.share) / len(target))
