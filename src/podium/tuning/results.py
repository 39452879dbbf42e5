"""What a search found: every trial, the best one, and all of it as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium import data, losses
from podium.errors import ArgumentError
from podium.tuning.candidates import Params

Table = dict[str, list[Any]]


@dataclass(frozen=True)
class Trial:
    """One candidate, measured.

    Attributes
    ----------
    number : int
        Its place in the search, from 0.
    params : dict
    by_fold : tuple of float
        Mean of the measure over the users of each fold; nan where the fit failed.
    mean, std_error : float
        Over the users of all folds: their mean, and sd / sqrt(n_groups). nan after a failure.
    n_groups : int
        Users on whom the measure is defined, in all folds.
    seconds : float
        Spent on its fits, added up.
    iterations : tuple of int
        Steps behind the parameters that each fold kept; empty where the estimator has no count.
    stop_reasons : tuple of str
        Of each fold; empty where the estimator gives none.
    warning, error : str
        What its fits warned of, and why one failed; empty where nothing.
    """

    number: int
    params: Params
    by_fold: tuple[float, ...]
    mean: float
    std_error: float
    n_groups: int
    seconds: float
    iterations: tuple[int, ...] = ()
    stop_reasons: tuple[str, ...] = ()
    warning: str = ""
    error: str = ""


@dataclass(frozen=True)
class Search:
    """All trials of a search, and the best.

    Attributes
    ----------
    measure : str
        What the trials were measured by.
    trials : tuple of Trial
        In the order of the grid.
    best : Trial
        The first of those with the best mean.
    estimator : estimator or None
        Fitted with `best.params`; None where refit=False left several folds, or after an interrupt.
    """

    measure: str
    trials: tuple[Trial, ...]
    best: Trial
    estimator: Any = field(default=None, repr=False)

    @property
    def best_params(self) -> Params:
        """Parameters of the best trial."""
        return self.best.params

    @property
    def table(self) -> Table:
        """Columns by name, a row for each trial: a Polars or pandas frame takes it as it is.

        trial, chosen, a column for each parameter, mean, std_error, users, fold_0 …, seconds,
        iterations (their mean over folds), stop_reason, warning and error. Values that are no
        numbers, and columns of several kinds, are text; empty where a trial lacks a parameter.
        """
        names = list(dict.fromkeys(name for t in self.trials for name in t.params))
        columns: Table = {
            "trial": [t.number for t in self.trials],
            "chosen": [t is self.best for t in self.trials],
        }
        for name in names:
            # A parameter may be called as one of the columns here.
            key = name if name not in _OWN else f"param_{name}"
            columns[key] = _column([t.params.get(name) for t in self.trials])
        columns |= {
            "mean": [_or_none(t.mean) for t in self.trials],
            "std_error": [_or_none(t.std_error) for t in self.trials],
            "users": [t.n_groups for t in self.trials],
        }
        for f in range(max(len(t.by_fold) for t in self.trials)):
            columns[f"fold_{f}"] = [_or_none(t.by_fold[f]) for t in self.trials]
        return columns | {
            "seconds": [t.seconds for t in self.trials],
            "iterations": [_mean(t.iterations) for t in self.trials],
            "stop_reason": [", ".join(dict.fromkeys(t.stop_reasons)) for t in self.trials],
            "warning": [t.warning for t in self.trials],
            "error": [t.error for t in self.trials],
        }

    def save(self, path: str | Path) -> None:
        """Write `table` to a file by suffix: .parquet, .csv, .tsv, .arrow; text also .gz.

        Raises
        ------
        ArgumentError, DataError
            For another suffix, or a file that can't be written.
        """
        data.write_table(self.table, path)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search; `search` holds the trials that were done.

    Attributes
    ----------
    search : Search
    """

    def __init__(self, search: Search) -> None:
        super().__init__(f"{len(search.trials)} trials were done")
        self.search = search


_OWN = {
    *("trial", "chosen", "mean", "std_error", "users", "seconds", "iterations"),
    *("stop_reason", "warning", "error"),
}


def best_of(trials: Sequence[Trial], *, higher_is_better: bool) -> Trial:
    """Return the first trial of the best mean.

    Raises
    ------
    ArgumentError
        If all failed: how many, and why the first did.
    """
    done = [t for t in trials if not math.isnan(t.mean)]
    if not done:
        one = "The fit" if len(trials) == 1 else f"Each of the {len(trials)} candidates"
        raise ArgumentError(f"{one} failed; {trials[0].params or 'it'} because: {trials[0].error}")
    sign = 1.0 if higher_is_better else -1.0
    return max(done, key=lambda t: sign * t.mean)  # max keeps the first of equal ones


def _column(values: list[Any]) -> list[Any]:
    """Return values of one kind: numbers (or nothing), or text."""
    kinds: set[type[Any]] = {type(v) for v in values if v is not None}
    if kinds <= {int, float} or kinds == {bool}:
        return [float(v) if v is not None and float in kinds else v for v in values]
    return [None if v is None else _text(v) for v in values]


def _text(value: Any) -> str:
    """Return a value as text, a loss as `losses.get` reads it."""
    known = isinstance(value, losses.Loss) and losses.REGISTRY.get(value.name) is type(value)
    return losses.text(value) if known else str(value)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
