"""Projected subgradient descent, for any loss: on all groups, or on mini-batches of groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from podium.errors import ArgumentError, arg
from podium.rankers.batches import Batch, Batches
from podium.rankers.objective import Parameters
from podium.rankers.solvers._common import Run, StopReason


class Subgradient(Run):
    """Descend with steps learning_rate / sqrt(t + 1), t = 0, 1, ….

    The loss needs to be neither smooth nor convex. `settings.keep` selects the iterate that is
    returned; the paper returns the last, its reference implementation "best_loss". An iteration
    costs two products with the features, the second only with rows that have a gradient.

    References
    ----------
    hiranandani2020, algorithm 1.
    """

    def reason(self) -> StopReason:
        """Minimise and return the reason to stop."""
        parameters, reason = self.start, None
        while reason is None:
            point = self.objective.evaluate(parameters)
            reason = self.record(point, settles=True)
            with np.errstate(over="ignore", invalid="ignore"):  # the next objective shows overflow
                # Algorithm 1, without its projection: w <- w - eta / sqrt(t + 1) * subgradient.
                step = self.settings.learning_rate / np.sqrt(len(self.history.objectives))
                parameters = parameters - step * point.grad
        return reason


class Stochastic(Run):
    """Descend on mini-batches of `batch_size` groups, with each group once per pass.

    Update t, from 0, has length learning_rate / sqrt(t + 1). A pass is measured by the mean of its
    iterates. The solver returns one of these means, because they vary less than the iterates.
    Iteration 0 is the start, and iteration i > 0 the i-th pass.

    The order of groups depends only on `seed` and the number of the pass. A pass costs two products
    with the features for its updates and two to measure it.
    """

    def reason(self) -> StopReason:
        """Minimise and return the reason to stop."""
        objective, settings = self.objective, self.settings
        if objective.labels is None:
            raise ArgumentError(
                f"{arg.solver('stochastic')} needs an objective with labels, from which it "
                "prepares mini-batches. Pass labels=Labels(relevance, groups)."
            )
        batches = Batches.of(objective.loss, objective.target, objective.labels, settings.seed)
        self._parameters, self._n_updates = self.start, 0
        reason = self.record(objective.evaluate(self._parameters), settles=True)
        while reason is None:
            mean = self._epoch(batches.epoch(len(self.history.objectives), settings.batch_size))
            reason = self.record(objective.evaluate(mean), settles=True)
        return reason

    def _epoch(self, batches: Iterable[Batch]) -> Parameters:
        """Run one pass and return the mean of iterates that it is measured by."""
        sum_of_iterates, n_before = np.zeros_like(self._parameters), self._n_updates
        for batch in batches:
            self._update(batch)
            sum_of_iterates += self._parameters
        return sum_of_iterates / max(1, self._n_updates - n_before)

    def _update(self, batch: Batch) -> None:
        objective = self.objective
        rows = batch.rows if objective.rows is None else objective.rows[batch.rows]
        batch_objective = replace(objective, rows=rows, target=batch.target, scale=batch.scale)
        step = self.settings.learning_rate / np.sqrt(self._n_updates + 1)
        with np.errstate(over="ignore", invalid="ignore"):  # the pass's objective shows overflow
            grad = batch_objective.evaluate(self._parameters).grad
            self._parameters = self._parameters - step * grad
        self._n_updates += 1
