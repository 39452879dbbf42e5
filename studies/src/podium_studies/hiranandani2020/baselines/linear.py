"""The shared base of the baselines: linear scores, their measure and the checked data of `fit`."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from podium.losses.pap import PApLoss, PApTarget
from podium.metrics import Measure, parse_relevance
from podium.progress import or_silent
from podium.rankers import fitting, inputs
from podium.rankers.estimator import LinearScores
from podium.rankers.objective import Parameters, times
from podium.rankers.validation import validator
from podium.types import Mask, PerRow, Progress
from podium_studies import checks


@dataclass(frozen=True, eq=False)
class Task:
    """The checked training data of a baseline and the rows on which linear scores are measured.

    Attributes
    ----------
    rows : Rows
        The training rows: features (float64 or CSR), relevance and groups.
    positive : bool, (n_rows,)
    weights : float64, (n_rows,), or None
    measured : Rows
        The rows of the eval_set; without one, `rows`.
    evaluate : callable
        A function from scores to the mean measure of `measured`; higher is better.
    """

    rows: inputs.Rows
    positive: Mask
    weights: PerRow | None
    measured: inputs.Rows
    evaluate: Callable[[PerRow], float]

    def evaluate_coef(self, coef: Parameters) -> float:
        """Return the mean measure of the scores of these coefficients."""
        return self.evaluate(times(self.measured.features, coef))

    def target(self, loss: PApLoss) -> PApTarget:
        """Return the target of a loss, or raise if no group can be trained on."""
        rows = self.rows
        target = loss.prepare(rows.relevance, rows.groups, weights=self.weights)
        fitting.require_trainable(loss, target, rows.groups)
        return target


@dataclass(eq=False, repr=False)
class LinearBaseline(LinearScores):
    """Abstract base of the baselines that score ``X @ coef_``; a subclass learns in `_learn`."""

    k: int = 10
    _: KW_ONLY
    eval_metric: str | Measure | None = None
    clip: bool = False
    min_relevance: float = 1.0
    one_group: bool = False

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
        measure, low = parse_relevance(self._measure()), self.min_relevance_in_use()
        reader = self._reader(type(self).__name__)
        rows = inputs.rows_of(self._features(X, reset=True), y, qid, group, reader=reader)
        self._keep_kind(rows.relevance)
        weights = inputs.row_weights(sample_weight, rows.groups)
        if eval_set is None:
            measured = rows
            evaluate = validator(measure, rows.relevance, rows.groups, weights, min_relevance=low)
        else:
            measured = self._eval_rows(eval_set)
            evaluate = self._validator(measured)
        task = Task(rows, rows.relevance >= low, weights, measured, evaluate)
        self.coef_, self.intercept_ = self._learn(task, or_silent(progress)), 0.0
        return self

    @abc.abstractmethod
    def _learn(self, task: Task, progress: Progress) -> Parameters:
        """Return the coefficients, and keep the other learned attributes."""

    def _measure(self) -> str | Measure:
        """Return the measure: `eval_metric` if given, else pap at the baseline's k."""
        clip = "(clip=true)" if self.clip else ""
        return self.eval_metric or f"pap{clip}@{checks.cutoff(self.k)}"

    def min_relevance_in_use(self) -> float:
        """Return the smallest relevance of a positive: the parameter `min_relevance`."""
        return checks.positive(self.min_relevance, "min_relevance")
