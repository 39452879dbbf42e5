"""The passes of a fit: when to stop, and which factors to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from podium.catalogue.lists import measured
from podium.errors import ArgumentError, ConvergenceWarning, arg, warn
from podium.executors import Executor
from podium.metrics import Measure
from podium.recommenders._factors import with_bias
from podium.recommenders._pairs import Pairs
from podium.recommenders.factorization._descent import Descent, Factors, State
from podium.recommenders.factorization._settings import Settings
from podium.types import PerGroup, Progress


@dataclass(frozen=True, eq=False)
class Validation:
    """Held-out pairs, the pairs that are not ranked, the measure, and the patience in passes."""

    pairs: Pairs
    seen: Pairs
    measure: Measure
    patience: int | None


@dataclass(eq=False)
class History:
    """The record of the passes so far."""

    stop_reason: str = "n_epochs"
    costs: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])
    best: Factors | None = None  # the factors of the best pass, if there is an eval_set

    @property
    def n_done(self) -> int:
        """The number of complete passes."""
        return len(self.costs)

    @property
    def best_epoch(self) -> int:
        """The number of passes after which the factors to keep were taken."""
        return int(np.argmax(self.validation)) + 1 if self.validation else self.n_done

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the values of the passes by name, for `Factorization.history_`."""
        values = {"cost": self.costs, "validation": self.validation}
        return {name: np.array(passes) for name, passes in values.items() if passes}


def learned(
    pairs: Pairs,
    settings: Settings,
    executor: Executor,
    progress: Progress,
    *,
    start: tuple[State, History] | None = None,
    validation: Validation | None = None,
    after_pass: Callable[[State, History], None] | None = None,
) -> tuple[Factors, History]:
    """Make all passes, or those after `start`; return the factors of the scores, and the record.

    The factors are those of the last complete pass, or of the best one. `after_pass` is called
    after each pass, to save a checkpoint.
    """
    state, history = start or (State.draw(pairs, settings), History())
    descent = Descent(pairs, settings, executor, state)
    patience = None if validation is None else validation.patience
    try:
        for epoch in range(history.n_done, settings.n_epochs):
            if patience is not None and history.n_done - history.best_epoch >= patience:
                history.stop_reason = "patience"
                break
            cost = descent.epoch(epoch)
            if cost is None:
                _refuse_divergence(epoch, descent)
                history.stop_reason = "diverged"
                break
            history.costs.append(cost)
            note = f"cost {cost:.4f}" + _record_validation(history, descent, validation)
            if after_pass is not None:
                after_pass(descent.state, history)
            progress(epoch + 1, settings.n_epochs, note)
            if descent.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not history.n_done:
            raise
        history.stop_reason = "interrupted"
    finally:
        descent.close()
    factors = descent.state.factors if history.best is None else history.best
    return factors.scoring(cosine=settings.cosine), history


def report_end(history: History, rate: float) -> None:
    """Raise the interrupt that ended a fit, or warn that a pass diverged."""
    if history.stop_reason == "interrupted":
        raise KeyboardInterrupt
    if history.stop_reason == "diverged":
        warn(
            f"Factorization diverged in pass {history.n_done + 1}. The factors are those of the "
            f"pass before it. Try {arg.learning_rate(rate / 4)}.",
            ConvergenceWarning,
        )


def _record_validation(history: History, descent: Descent, validation: Validation | None) -> str:
    """Measure a pass and keep its factors if they are the best; return a note for the progress."""
    if validation is None:
        return ""
    factors = descent.state.factors.scoring(cosine=descent.settings.cosine)
    value = _measured(factors, validation)
    if not history.validation or value > max(history.validation):
        # An interrupt may come during the copy: nothing is recorded before it.
        best = descent.state.factors.copy()
        history.best = best
    history.validation.append(value)
    return f", {validation.measure} {abs(value):.4f}"


def _refuse_divergence(epoch: int, descent: Descent) -> None:
    if not epoch:
        rate = descent.settings.learning_rate
        raise ArgumentError(
            f"{arg.learning_rate(rate)} diverges in the first pass. Try {rate / 10:g}, or smaller "
            "weights."
        )


def _measured(factors: Factors, validation: Validation) -> float:
    """Return the mean of the measure, with a sign such that higher is better."""
    values = of_users(factors, validation)
    values = values[~np.isnan(values)]
    if not values.size:
        raise ArgumentError(
            f"{arg.eval_set} has no user for which {validation.measure} is defined. Add pairs to "
            f"it that the model has not seen, or choose another {arg.eval_metric}."
        )
    return float(values.mean())


def of_users(factors: Factors, validation: Validation) -> PerGroup:
    """Return the measure of each user with held-out pairs, with such a sign; nan if undefined."""
    users = np.flatnonzero(np.diff(validation.pairs.offsets))
    scores = with_bias(factors.users[users], factors.items, factors.bias)
    held_out, seen = validation.pairs.matrix()[users], validation.seen.matrix()[users]
    measure = validation.measure
    return measure.metric.sign * measured(scores, held_out, seen, measure)
