"""The weighted sum of the scores of several recommenders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from podium import _check
from podium._arrays import Arrays
from podium.errors import ArgumentError, arg
from podium.recommenders import REGISTRY, _pairs
from podium.recommenders._base import Recommender
from podium.recommenders._pairs import Floats, Ints

_WEIGHTS = "seen_weights_"  # of each model, whose gains can differ
_TERM = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*\*\s*(\S.*)")


def terms(formula: str, name: str = "formula") -> list[tuple[float, Recommender]]:
    """Return the weights and the unfitted models of a formula, such as "0.2*ease + 0.8*item-knn".

    Raises
    ------
    ArgumentError
        If the text is not a sum of products of a weight > 0 and a model.
    """
    matches = [_TERM.fullmatch(term.strip()) for term in re.split(r"\s\+\s", str(formula))]
    products = [(float(match[1]), REGISTRY.parse(match[2])) for match in matches if match]
    if len(products) < len(matches) or any(weight <= 0 for weight, _ in products):
        raise ArgumentError(
            f"{arg[name]} must be a sum of weights > 0 times models, such as '0.2*ease(l2=500) + "
            f"0.8*popularity', got {formula!r}."
        )
    return products


def standardised(scores: Any) -> Any:
    """Return the scores of each user with mean 0 and standard deviation 1; constants become 0."""
    centred = np.asarray(scores, np.float64)
    centred = centred - centred.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.mean(centred**2, axis=1, keepdims=True))
    return np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)


def blended(weights: Sequence[float], models: Iterable[Any], users: Ints) -> Any:
    """Return the weighted sum of the standardised scores of some users, float64."""
    products = zip(weights, models, strict=True)
    parts = [weight * standardised(model._score(users)) for weight, model in products]
    return np.sum(parts, axis=0)


@dataclass(eq=False)
class Blend(Recommender):
    """The weighted sum of the scores of other models, which are standardised per user.

    The scores that a model gives to all items for one user are divided by their standard deviation
    after their mean is subtracted.

    Parameters
    ----------
    formula : str
        The sum of weights times models, such as "0.2*ease(l2=500) + 0.8*popularity". A model is
        written as in `get`.

    Attributes
    ----------
    models_, weights_ : list of Recommender, list of float
        The fitted models and their weights, in the order of the formula.

    Notes
    -----
    Cost: the sum of those of its models.

    Examples
    --------
    >>> from scipy import sparse
    >>> likes = sparse.csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    >>> Blend("0.9*ease(l2=1) + 0.1*popularity").fit(likes).recommend([3], k=1)[0]
    array([[1]])
    """

    default_space: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    constraints: ClassVar[_check.Constraints] = {"formula": terms}

    formula: str = "0.5*item-knn + 0.5*popularity"

    @classmethod
    def can_be_saved(cls) -> bool:
        """Return True: the file has the arrays of all models."""
        return True

    @property
    def needs_times(self) -> bool:
        """Whether the times of events have an effect on one of the models."""
        return any(model.needs_times for _, model in terms(self.formula))

    def fit(self, user_items: Any, *, seen: Any = None) -> Self:
        """Fit each model of the formula; see `Recommender.fit`."""
        products = _check.parameters(self)["formula"]
        pairs = _pairs.with_others(_pairs.read(user_items, "value", unit_scale=True), seen)
        self.weights_ = [weight for weight, _ in products]
        self.models_ = [model.fit(user_items, seen=seen) for _, model in products]
        self._hold_pairs(pairs)
        return self

    def _score(self, users: Ints) -> Floats:
        return blended(self.weights_, self.models_, users).astype(np.float32)

    def _fitted_values(self) -> dict[str, Any]:
        models = [model._fitted_values() for model in self.models_]
        return super()._fitted_values() | {"models": models}

    def _arrays(self) -> Arrays:
        return {
            f"{place}/{name}": array
            for place, model in enumerate(self.models_)
            for name, array in (model._arrays() | {_WEIGHTS: model.seen_weights_}).items()
        }

    def _restore(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        common = {name: array for name, array in arrays.items() if "/" not in name}
        products = terms(self.formula)
        self.weights_, self.models_ = [w for w, _ in products], [model for _, model in products]
        for place, (model, values) in enumerate(zip(self.models_, fitted["models"], strict=True)):
            of_model = {n: array for n, array in arrays.items() if n.startswith(f"{place}/")}
            model._restore(values, common | {n.split("/")[1]: of_model[n] for n in of_model})
        self.n_items_ = self.models_[0].n_items_
        super()._restore(fitted, common)
