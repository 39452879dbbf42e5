"""The shared base of the papers' rankers: the checked data of `fit`, and the rows to measure on."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from podium.errors import arg
from podium.losses.pap import PApLoss, PApTarget
from podium.metrics import Measure
from podium.metrics.measures import parse_relevance
from podium.rankers import fitting, inputs
from podium.rankers.estimator import FitData, Ranker
from podium.rankers.objective import Parameters, times
from podium.rankers.validation import validator
from podium.types import Mask, PerRow, Progress
from podium_studies import checks


@dataclass(frozen=True, eq=False)
class Task:
    """The checked training data of a ranker and the rows on which its scores are measured.

    Attributes
    ----------
    rows : Rows
        The training rows: features (float64 or CSR), relevance and groups.
    weights : float64, (n_rows,), or None
    valid : Rows or None
        The rows of the eval_set.
    measure : Measure
    min_relevance : float
        The smallest relevance of a positive.
    """

    rows: inputs.Rows
    weights: PerRow | None
    valid: inputs.Rows | None
    measure: Measure
    min_relevance: float

    @property
    def positive(self) -> Mask:
        """The positives of the training rows: bool, (n_rows,)."""
        return self.rows.relevance >= self.min_relevance

    @property
    def measured(self) -> inputs.Rows:
        """The rows that are measured: those of the eval_set, or else the training rows."""
        return self.rows if self.valid is None else self.valid

    @cached_property
    def evaluate(self) -> Callable[[PerRow], float]:
        """The function from scores to the mean measure of `measured`; higher is better."""
        where = "" if self.valid is None else f" of {arg.eval_set}"
        low = self.min_relevance
        return validator(self.measure, self.measured, min_relevance=low, where=where)

    def evaluate_coef(self, coef: Parameters) -> float:
        """Return the mean measure of the scores of these coefficients."""
        return self.evaluate(times(self.measured.features, coef))

    def target(self, loss: PApLoss) -> PApTarget:
        """Return the target of a loss, or raise if no group can be trained on."""
        rows = self.rows
        target = loss.prepare(rows.relevance, rows.groups, weights=self.weights)
        fitting.require_trainable(loss, target, rows.groups)
        return target


class Baseline(Ranker):
    """Abstract base of the papers' rankers; a subclass learns in `_learn_task`."""

    min_relevance: float

    def _loss_reader(self, loss: Any) -> str:
        del loss
        return self._reader(type(self).__name__)

    def _learn(self, data: FitData, progress: Progress) -> None:
        measure, low = parse_relevance(self._measure()), self.min_relevance_in_use()
        self._learn_task(Task(data.rows, data.rows.weights, data.valid, measure, low), progress)

    @abc.abstractmethod
    def _learn_task(self, task: Task, progress: Progress) -> None:
        """Keep the learned attributes."""

    def min_relevance_in_use(self) -> float:
        """Return the smallest relevance of a positive: the parameter `min_relevance`."""
        return checks.positive(self.min_relevance, "min_relevance")
