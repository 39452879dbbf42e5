"""The portfolio of rankers, which learn from rows with features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from podium.progress import silent
from podium.rankers import REGISTRY
from podium.rankers.scaling import folded, scaled
from podium.rankers.validation import are_grades
from podium.registry import Models
from podium.tuning.of_rows import OfRows, Rows
from podium.tuning.portfolio import Candidate, Family, Portfolio
from podium.tuning.results import Trial
from podium.types import PerGroup

_PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_MILD = "l2=30,feature_share=0.5,learning_rate=0.1"

FAMILIES = (
    Family(tuple(f"logistic-regression(C={C:g})" for C in (0.001, 0.01, 0.1, 1, 10)), 3),
    Family(tuple(f"linear(loss=pap-logistic,l2={l2:g})" for l2 in _PENALTIES), 1),
    Family(tuple(f"linear(loss=robirank,l2={l2:g})" for l2 in _PENALTIES), 1),
    Family(tuple(f"lightgbm(loss=lambdarank,n_leaves={n},{_MILD})" for n in (7, 15, 31, 63)), 0),
)
"""The rankers that are tried, from the simplest to the most complicated."""


@dataclass(eq=False, kw_only=True)
class OfFeatures(Portfolio):
    """The portfolio of models that learn from rows with features.

    Attributes
    ----------
    rows : Rows
    task : (estimator) -> OfRows
        A function that returns the folds on which an estimator is fitted and measured.
    """

    registry: ClassVar[Models[Any]] = REGISTRY
    noise: ClassVar[float] = 1.0  # validation queries are often few

    rows: Rows
    task: Callable[[Any], OfRows]

    @property
    def families(self) -> tuple[Family, ...]:
        """The families of rankers; with grades, the loss that reads them comes first."""
        if not (self.measure.graded and are_grades(self.rows.y)):
            return FAMILIES
        return tuple(sorted(FAMILIES, key=lambda family: "robirank" not in family.settings[0]))

    def fitted(self, text: str) -> list[Any]:
        """Return the models of a text, one for each fold."""
        task = self._task(text)
        return [task.fitted({}, fold, silent) for fold in range(task.n_folds)]

    def values(self, model: list[Any]) -> PerGroup:
        """Return the measure of each user of all folds."""
        folds = enumerate(model)
        return np.concatenate([self._checked.values(fitted, fold) for fold, fitted in folds])

    def final(self, chosen: Candidate) -> Any:
        """Return the chosen ranker, fitted to all rows, with coefficients of raw features."""
        task, models = self._task(chosen.text), chosen.models[chosen.text]
        lengths = [task.course(model, {})[0] for model in models]
        iterations = tuple(length for length in lengths if length is not None)
        trial = Trial(0, {}, (), chosen.mean, 0.0, 0, 0.0, iterations=iterations)
        return folded(task.final(trial, models[0]))

    def rivals(self) -> dict[str, Any]:
        """Return the best ranker of each family, with coefficients of raw features."""
        models = {best.text: best.models[best.text] for best in self.best}
        return {text: folded(fitted[0]) for text, fitted in models.items() if len(fitted) == 1}

    @cached_property
    def _checked(self) -> OfRows:
        return self._task(self.families[0].settings[0])

    def _task(self, text: str) -> OfRows:
        return self.task(scaled(REGISTRY.parse(text), self.rows.X))
