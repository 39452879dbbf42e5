"""The pictures of a search by name, as `Search.plot` draws them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.evaluation.stats.intervals import t_interval
from podium.metrics import parse
from podium.report.pictures import Pictures, searched
from podium.tuning.fitting import last_step

if TYPE_CHECKING:
    from podium.tuning.results import Search, Trial

_LEVEL = 0.95


def of_search(search: Search) -> Pictures:
    """Return the trials, the best mean by parameter, and the training of the best model."""
    measure, trials = search.measure, _from_best(search)
    pictures = {"trials": searched.trials(measure, [*map(_row, trials)], _LEVEL)}
    for name, best in _best_by_parameter(trials).items():
        pictures[f"by {name}"] = searched.parameter(measure, name, best)
    for name, values in _history(search.estimator):
        pictures[f"training {name}"] = searched.training(name, values)
    return pictures


def is_number(value: Any) -> bool:
    """Return whether the value of a parameter is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _from_best(search: Search) -> list[Trial]:
    """Return the trials that were measured, the best first."""
    trials = [trial for trial in search.trials if not math.isnan(trial.mean)]
    sign = parse(search.measure).metric.sign
    return sorted(trials, key=lambda trial: -sign * trial.mean)


def _row(trial: Trial) -> dict[str, Any]:
    low, high = t_interval(trial.mean, trial.std_error, trial.n_groups, _LEVEL)
    params = ", ".join(f"{name}={value}" for name, value in trial.params.items())
    label = params or f"trial {trial.number}"
    return {"label": label, "value": trial.mean, "low": low, "high": high}


def _best_by_parameter(trials: Sequence[Trial]) -> dict[str, dict[float, float]]:
    """Return the best mean at each value of each parameter with several numbers."""
    best: dict[str, dict[float, float]] = {}
    for trial in trials:
        for name, value in trial.params.items():
            if is_number(value):
                best.setdefault(name, {}).setdefault(float(value), trial.mean)
    return {name: means for name, means in best.items() if len(means) > 1}


def _history(estimator: Any) -> Iterator[tuple[str, Sequence[float]]]:
    """Yield the values of a fitted model after each iteration, if it has several."""
    history: Mapping[str, Sequence[float]] = getattr(last_step(estimator), "history_", {})
    yield from ((name, values) for name, values in history.items() if len(values) > 1)
