"""The search for rankers: candidates are fitted to rows with features and measured on others."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sklearn.base import clone

from podium.errors import ArgumentError, ConvergenceWarning, warn
from podium.metrics import Measure
from podium.rankers.estimator import Ranker
from podium.rankers.fitting import LimitWarning
from podium.ranking import Ranking
from podium.tuning import fitting
from podium.tuning.candidates import Params
from podium.tuning.folds import Fold, Rows
from podium.tuning.results import Trial
from podium.tuning.trials import Task
from podium.types import PerGroup, Progress


@dataclass(eq=False)
class OfRows(Task):
    """The folds on which each candidate is fitted and measured.

    Attributes
    ----------
    base : estimator or Pipeline
        The estimator whose parameters the candidates change.
    rows : Rows
        All rows of the search, to which the best candidate is fitted at last.
    keeps_fit : bool
        Whether there is no such fit.
    """

    base: Any
    measure: Measure
    rows: Rows
    folds: list[Fold]
    min_relevance: float | None
    keeps_fit: bool

    def __post_init__(self) -> None:
        self.n_folds = len(self.folds)
        self.keeps_best = self.keeps_fit and self.n_folds == 1

    def clock(self) -> float:
        return time.perf_counter()

    def fitted(self, params: Params, fold: int, progress: Progress) -> Any:
        """Return a model that is fitted to the training rows of a fold."""
        model, train = self._model(params), self.folds[fold].train
        eval_set, item = self.folds[fold].valid.cut(), train.items()
        return fitting.fit(model, *train.cut(), item=item, eval_set=eval_set, progress=progress)

    def values(self, model: Any, fold: int) -> PerGroup:
        """Return the measure of each user of the validation part."""
        X, y, qid = self.folds[fold].valid.cut()
        return self._measured(fitting.scores(model, X), y, qid)

    def course(self, model: Any, params: Params) -> tuple[int | None, str]:
        """Return the number of iterations behind a model, and why the fit stopped."""
        del params
        last = fitting.last_step(model)
        best = getattr(last, "best_iteration_", None)
        return None if best is None else int(best) + 1, str(getattr(last, "stop_reason_", ""))

    def check_measured(self) -> None:
        """Raise before the first fit if the measure is defined on no user of a fold."""
        for number, fold in enumerate(self.folds):
            y, qid = fold.valid.labels()
            if np.isnan(self._measured(np.zeros(len(y)), y, qid)).all():
                where = f" in fold {number}" if self.n_folds > 1 else ""
                raise ArgumentError(
                    f"{self.measure} is defined on no user of the rows set aside{where}. Set aside "
                    "more rows per user or more users, or choose another measure."
                )

    def final(self, best: Trial, kept: Any) -> Any:
        """Return the best candidate: as it was measured, or fitted to all rows.

        The fit to all rows has the median of the best numbers of iterations of the folds.
        """
        if self.keeps_fit:
            if best.warning and kept is not None:
                warn(best.warning, ConvergenceWarning)
            return kept
        model = self._model(best.params)
        last = fitting.last_step(model)
        length = math.ceil(median(best.iterations)) if best.iterations else None
        has_length = isinstance(last, Ranker) and last.length_parameter in last.get_params(
            deep=False
        )
        if not length or not has_length or not fitting.stops_early(model):
            return fitting.fit(model, *self.rows.cut(), item=self.rows.items())
        last.set_params(**{last.length_parameter: length})
        if last.get_params(deep=False).get("keep") == "best":  # there are no rows to choose by
            last.set_params(keep="last")
        with warnings.catch_warnings():
            # The refit is meant to end at max_iter.
            warnings.simplefilter("ignore", LimitWarning)
            return fitting.fit(model, *self.rows.cut(), item=self.rows.items())

    def _model(self, params: Params) -> Any:
        """Return an unfitted estimator with these parameters."""
        return fitting.set_params(clone(self.base), params)

    def _measured(self, scores: Any, y: Any, qid: Any) -> PerGroup:
        return self.measure(Ranking.from_scores(scores, y, qid, min_relevance=self.min_relevance))


def prepared(estimator: Any, measure: Measure, seed: int, *, one_group: bool) -> Any:
    """Return a copy of the estimator that stops early by the measure and draws from the seed."""
    base = clone(estimator)
    params = base.get_params(deep=True)
    changes: Params = {}
    if fitting.stops_early(base):
        changes[fitting.parameter(base, "eval_metric")] = measure.canonical
    if "one_group" in fitting.last_step(base).get_params(deep=False):
        changes[fitting.parameter(base, "one_group")] = one_group
    name = fitting.parameter(base, "random_state")
    if name in params and params[name] is None:
        changes[name] = seed
    return base.set_params(**changes)
