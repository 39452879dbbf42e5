"""The shared base of the baselines: linear scores, their measure and the checked data of `fit`."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import ArgumentError
from podium.metrics import Measure, parse_relevance
from podium.progress import or_silent
from podium.rankers import inputs
from podium.rankers.estimator import LinearScores
from podium.rankers.objective import times
from podium.rankers.validation import validator
from podium.types import Mask, PerRow, Progress
from podium_studies import checks

Coefficients = NDArray[np.float64]  # (n_features,)


@dataclass(frozen=True, eq=False)
class Task:
    """The checked training data of a baseline and the rows on which linear scores are measured.

    Attributes
    ----------
    rows : Rows
        The training rows: features (float64 or CSR), relevance and groups.
    positive : bool, (n_rows,)
    weights : float64, (n_rows,), or None
    eval_rows : Rows, optional
        The rows of the eval_set; None without one.
    evaluate : callable
        A function from scores to the mean measure of `eval_rows`, or without them of `rows`; higher
        is better.
    """

    rows: inputs.Rows
    positive: Mask
    weights: PerRow | None
    eval_rows: inputs.Rows | None
    evaluate: Callable[[PerRow], float]

    @property
    def eval_features(self) -> Any:
        """The features of the rows on which scores are measured."""
        return (self.rows if self.eval_rows is None else self.eval_rows).features

    def evaluate_coef(self, coef: Coefficients) -> float:
        """Return the mean measure of the scores of these coefficients."""
        return self.evaluate(times(self.eval_features, coef))


class LinearBaseline(LinearScores):
    """Abstract base of the baselines that score ``X @ coef_ + intercept_``.

    A subclass has the parameters `eval_metric` and `min_relevance` and learns in `_learn`.
    """

    k: int = 10
    clip: bool = False
    eval_metric: str | Measure | None
    min_relevance: float

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the coefficients; the parameters are those of `LinearRanker.fit`.

        Raises
        ------
        ArgumentError
            If a parameter is out of range, data are missing or not finite, lengths differ,
            relevance or weights are negative, groups are missing,
            or no model can be trained on the rows.
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # attributes of an earlier fit
        parse_relevance(self._measure())
        min_relevance = self.min_relevance_in_use()
        reader = self._reader(type(self).__name__)
        rows = inputs.rows_of(self._features(X, reset=True), y, qid, group, reader=reader)
        self._keep_kind(rows.relevance)
        weights = inputs.row_weights(sample_weight, rows.groups)
        if eval_set is None:
            labels, measure = (rows.relevance, rows.groups, weights), self._measure()
            eval_rows, evaluate = None, validator(measure, *labels, min_relevance=min_relevance)
        else:
            eval_rows = self._eval_rows(eval_set)
            evaluate = self._validator(eval_rows)
        positive = rows.relevance >= min_relevance
        self._learn(Task(rows, positive, weights, eval_rows, evaluate), or_silent(progress))
        return self

    @abc.abstractmethod
    def _learn(self, task: Task, progress: Progress) -> None: ...

    def _measure(self) -> str | Measure:
        """Return the measure: `eval_metric` if given, else pap at the baseline's k."""
        if self.eval_metric is not None:
            return self.eval_metric
        given: Any = self.clip
        if not isinstance(given, bool):
            raise ArgumentError(f"clip must be True or False, got {given!r}.")
        clip = "(clip=true)" if given else ""
        return f"pap{clip}@{checks.cutoff(self.k)}"

    def min_relevance_in_use(self) -> float:
        """Return the smallest relevance of a positive: the parameter `min_relevance`."""
        return checks.positive(self.min_relevance, "min_relevance")

    def _copy_learned(self, ranker: Any) -> None:
        """Copy the learned attributes of another estimator."""
        for name, value in cast("dict[str, Any]", ranker.__dict__).items():
            if name.endswith("_"):
                setattr(self, name, value)
