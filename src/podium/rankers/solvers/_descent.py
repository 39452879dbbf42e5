"""Projected subgradient descent, for any loss: on all groups, or on mini-batches of groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from podium.errors import ArgumentError, arg
from podium.rankers.batches import Batch, Batches
from podium.rankers.objective import LinearObjective, Parameters
from podium.rankers.solvers._common import (
    Run,
    Settings,
    Solution,
    Validate,
    require,
    rising_mean,
)
from podium.types import Progress


def subgradient(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Descend with steps learning_rate / sqrt(t + 1), t = 0, 1, ….

    The loss needs to be neither smooth nor convex. `settings.keep` selects the iterate that is
    returned; the paper returns the last, its reference implementation "best_loss". An iteration
    costs two products with the features, the second only with rows that have a gradient.

    Raises
    ------
    ArgumentError
        If the loss draws anew in each pass.

    References
    ----------
    hiranandani2020, algorithm 1.
    """
    require(objective, "subgradient")
    run, reason = Run(objective, settings, validate, progress), None
    parameters = run.start
    while reason is None:
        point = objective.evaluate(parameters)
        reason = run.record(point, settles=True)
        with np.errstate(over="ignore", invalid="ignore"):  # the next objective shows overflow
            # Algorithm 1, without its projection: w <- w - eta / sqrt(t + 1) times the subgradient.
            step = settings.learning_rate / np.sqrt(len(run.history.objectives))
            parameters = parameters - step * point.grad
    return run.solution(reason, run.history.range_text(settings.tol))


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
    run = Run(objective, settings, validate, progress)
    updates = _Updates(objective, settings, run.start)
    if settings.keep == "average":  # of the means, the last is that of all iterates
        run.history.keep = "last"
    reason = run.record(objective.evaluate(updates.parameters), settles=True)
    while reason is None:
        mean = updates.epoch(len(run.history.objectives))
        reason = run.record(objective.evaluate(mean), settles=True)
    return run.solution(reason, run.history.range_text(settings.tol))


class _Updates:
    """The iterate and its means."""

    def __init__(
        self, objective: LinearObjective, settings: Settings, parameters: Parameters
    ) -> None:
        if objective.labels is None:
            raise ArgumentError(
                f"{arg.solver('stochastic')} needs an objective with labels, from which it "
                "prepares mini-batches. Pass labels=Labels(relevance, groups)."
            )
        self.batches = Batches.of(objective.loss, objective.target, objective.labels, settings.seed)
        self.objective, self.settings, self.parameters = objective, settings, parameters
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
            grad = batch_objective.evaluate(self.parameters).grad
            self.parameters = self.parameters - step * grad
        self.mean = rising_mean(self.mean, self.parameters, self.n_updates)
        self.n_updates += 1
