"""The results of a search: all trials, the best one, and a table of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium import data
from podium._json import plain
from podium._text import counted
from podium.results import Result
from podium.tuning.candidates import Params

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Trial:
    """The measurement of one candidate.

    Attributes
    ----------
    number : int
        The position of the candidate in the search, from 0. Two fits of one candidate, of which
        the second has more passes, have the same number.
    params : dict
    by_fold : tuple of float
        The mean of the measure over the users of each fold; nan if the fit failed.
    mean, std_error : float
        The mean over the users of all folds, and its standard error sd / sqrt(n_groups); nan if a
        fit failed.
    n_groups : int
        The number of users in all folds on whom the measure is defined.
    seconds : float
        The total time of the fits; for a recommender the processor time of the fit and of its
        measurement.
    iterations : tuple of int
        The number of iterations, or trees, of the kept model of each fold; empty if the estimator
        does not report it.
    stop_reasons : tuple of str
        The reason why the fit of each fold stopped; empty if the estimator reports none.
    warning, error : str
        The warnings of the fits, and the reason why one failed; empty if there is none.
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


@dataclass(frozen=True, repr=False)
class Search(Result):
    """All trials of `search`, and the best.

    Attributes
    ----------
    measure : str
        The measure of the trials.
    trials : tuple of Trial
        The trials, in the order of the grid, or of the fits of a recommender.
    best : Trial
        The first trial with the best mean.
    estimator : estimator or None
        The estimator fitted with `best.params`; None after an interrupt, or with refit=False if
        there are several folds or it is a recommender.
    rivals : dict of str to estimator
        With "auto" and an eval_set, the best ranker of each kind by its text, also the chosen one,
        fitted to the training rows, with coefficients of raw features. Otherwise empty.
    """

    measure: str
    trials: tuple[Trial, ...]
    best: Trial
    estimator: Any = field(default=None, repr=False)
    rivals: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def best_params(self) -> Params:
        """The parameters of the best trial."""
        return self.best.params

    @property
    def table(self) -> Columns:
        """The columns of the table by name, one row per trial, in a form for Polars and pandas.

        The columns are trial, chosen, one per parameter, mean, std_error, users, fold_0 …,
        seconds, iterations (the mean over folds), stop_reason, warning and error. Columns of
        values other than numbers or booleans, or of several types, are text; a trial without a
        parameter has None.
        """
        names = list(dict.fromkeys(name for trial in self.trials for name in trial.params))
        columns: Columns = {
            "trial": [trial.number for trial in self.trials],
            "chosen": [trial is self.best for trial in self.trials],
        }
        for name in names:
            columns[name] = _column([trial.params.get(name) for trial in self.trials])
        columns |= {
            "mean": [plain(trial.mean) for trial in self.trials],
            "std_error": [plain(trial.std_error) for trial in self.trials],
            "users": [trial.n_groups for trial in self.trials],
        }
        for fold in range(max(len(trial.by_fold) for trial in self.trials)):
            columns[f"fold_{fold}"] = [plain(trial.by_fold[fold]) for trial in self.trials]
        return columns | {
            "seconds": [trial.seconds for trial in self.trials],
            "iterations": [_mean(trial.iterations) for trial in self.trials],
            "stop_reason": [", ".join(dict.fromkeys(trial.stop_reasons)) for trial in self.trials],
            "warning": [trial.warning for trial in self.trials],
            "error": [trial.error for trial in self.trials],
        }

    def save(self, path: str | Path) -> None:
        """Write `table` to a file, by suffix: .parquet, .csv, .tsv, .arrow; text also .gz.

        Raises
        ------
        ArgumentError, DataError
            If the suffix is another one, or the file cannot be written.
        """
        data.write_table(self.table, path)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form: the measure, the number of the best trial, and all trials."""
        columns = self.table
        trials = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        return {
            "measure": self.measure,
            "best": self.trials.index(self.best),
            "trials": trials,
        }


class Interrupted(KeyboardInterrupt):
    """The error of Ctrl-C during a search; `search` holds the finished trials.

    Attributes
    ----------
    search : Search
    """

    def __init__(self, search: Search) -> None:
        super().__init__(
            f"the search was interrupted after {counted(len(search.trials), 'trials')}"
        )
        self.search = search


def _column(values: list[Any]) -> list[Any]:
    """Return values of one type: numbers (or None), or text."""
    kinds: set[type[Any]] = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds == {bool}:
        return [float(value) if value is not None and float in kinds else value for value in values]
    return [None if value is None else str(value) for value in values]


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
