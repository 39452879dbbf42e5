"""Stochastic subgradient descent over mini-batches of whole groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from podium.errors import ArgumentError, arg
from podium.rankers.batches import Batch, Batches
from podium.rankers.objective import LinearObjective, Parameters
from podium.rankers.solvers._common import (
    History,
    Settings,
    Solution,
    Validate,
    projected,
    rising_mean,
    show,
    start_of,
)
from podium.rankers.solvers._subgradient import finish, reason_of
from podium.types import Progress


def stochastic(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Descend on mini-batches of `batch_size` groups, with each group once per pass.

    Update t, from 0, has length learning_rate / sqrt(t + 1). A pass is measured by the mean of its
    iterates, or with keep="average" by the mean of all iterates since the start, in which iterate
    t weighs t + 1. The solver returns one of these means, because they vary less than the
    iterates. Iteration 0 is the start, and iteration i > 0 the i-th pass.

    The order of groups depends only on `seed` and the number of the pass, as do the keys of a loss
    that breaks ties anew in each pass; all passes are measured with one such draw. A pass costs
    two products with the features for its updates and two to measure it.
    """
    run = _Updates(objective, settings)
    history = History("last" if settings.keep == "average" else settings.keep)
    history.add(objective.evaluate(run.parameters), validate)
    reason = reason_of(history, settings)
    while reason is None:
        show(progress, history, settings, done=False)
        history.add(objective.evaluate(run.epoch(len(history.objectives))), validate)
        reason = reason_of(history, settings)
    show(progress, history, settings, done=True)
    return finish(objective, history, reason, settings)


class _Updates:
    """The iterate and its means."""

    def __init__(self, objective: LinearObjective, settings: Settings) -> None:
        if objective.labels is None:
            raise ArgumentError(
                f"{arg.solver('stochastic')} needs an objective with labels, from which it "
                "prepares mini-batches. Pass labels=Labels(relevance, groups)."
            )
        self.batches = Batches.of(objective.loss, objective.target, objective.labels, settings.seed)
        self.objective, self.settings = objective, settings
        self.parameters = projected(start_of(objective, settings), objective, settings.radius)
        self.n_updates = 0
        self.mean: Parameters | None = None

    def epoch(self, number: int) -> Parameters:
        """Run one pass and return the mean of iterates that it is measured by."""
        sum_of_iterates, n_before = np.zeros_like(self.parameters), self.n_updates
        for batch in self.batches.epoch(number, self.settings.batch_size):
            self._update(batch)
            sum_of_iterates += self.parameters
        if self.settings.keep == "average" and self.mean is not None:
            return self.mean
        return sum_of_iterates / max(1, self.n_updates - n_before)

    def _update(self, batch: Batch) -> None:
        objective = self.objective
        rows = batch.rows if objective.rows is None else objective.rows[batch.rows]
        batch_objective = replace(objective, rows=rows, target=batch.target, scale=batch.scale)
        step = self.settings.learning_rate / np.sqrt(self.n_updates + 1)
        with np.errstate(over="ignore", invalid="ignore"):  # the pass's objective shows overflow
            parameters = self.parameters - step * batch_objective.evaluate(self.parameters).grad
        self.parameters = projected(parameters, batch_objective, self.settings.radius)
        self.mean = rising_mean(self.mean, self.parameters, self.n_updates)
        self.n_updates += 1
