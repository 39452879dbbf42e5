"""Passes of a fit: when to stop, and which factors to keep."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from podium.catalogue import rankings
from podium.errors import ArgumentError
from podium.evaluate.measuring import evaluate
from podium.factorization._descent import Descent, Factors
from podium.factorization._pairs import Pairs
from podium.factorization._shown import with_bias
from podium.metrics import Measure
from podium.types import Progress

_HIGHEST = 10.0  # mean cost of a pair, 1 for equal scores: beyond, the steps have gone wild


@dataclass(eq=False)
class History:
    """What became of a fit."""

    factors: Factors
    n_epochs: int = 0
    stop_reason: str = "n_epochs"
    costs: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])


def run(
    descent: Descent,
    judged: Pairs | None,
    measure: Measure,
    patience: int | None,
    progress: Progress,
) -> History:
    """Make the passes; return the factors of the last good one, or of the best one."""
    total = descent.settings.n_epochs
    history = History(descent.factors)
    validated: Factors | None = None
    best = -np.inf
    for epoch in range(total):
        try:
            cost = descent.epoch(epoch)
        except KeyboardInterrupt:
            if not epoch:
                raise
            descent.undo()
            history.stop_reason = "interrupted"
            break
        if not (cost < _HIGHEST and descent.factors.finite):
            _refuse_first(epoch, descent)
            descent.undo()
            history.stop_reason = "diverged"
            break
        history.costs.append(cost)
        note = f"cost {cost:.4f}"
        if judged is None:
            history.n_epochs = epoch + 1
        else:
            value = _validate(descent, judged, measure)
            history.validation.append(value)
            note += f", {measure} {abs(value):.4f}"
            if value > best:
                best, history.n_epochs = value, epoch + 1
                validated = descent.factors.copy()
        progress(epoch + 1, total, note)
        if judged is not None and patience and epoch + 1 - history.n_epochs >= patience:
            history.stop_reason = "patience"
            break
    history.factors = descent.factors if validated is None else validated
    return history


def _refuse_first(epoch: int, descent: Descent) -> None:
    if not epoch:
        rate = descent.settings.learning_rate
        raise ArgumentError(
            f"learning_rate={rate:g} diverges in the first pass. Try {rate / 10:g}, or smaller "
            "weights."
        )


def _validate(descent: Descent, judged: Pairs, measure: Measure) -> float:
    """Return the mean of the measure, signed so that higher is better."""
    factors = descent.factors
    blocks = rankings(
        with_bias(factors.users, factors.items, factors.bias),
        judged.matrix(),
        exclude=descent.pairs.matrix(),
        overlap="drop",
        depth=None if measure.k is None else 2 * measure.k,  # what pap@k needs at most
    )
    mean = evaluate(blocks, measure).means[str(measure)]
    if mean != mean:
        raise ArgumentError(
            f"eval_set has no user on whom {measure} is defined. Give it pairs that user_items "
            "does not hold, or choose another eval_measure."
        )
    return mean if measure.metric.higher_is_better else -mean
