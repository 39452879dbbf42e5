"""Trials: every candidate is fitted on every fold and measured; the best so far is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, MissingExtraError, PodiumError
from podium.evaluation import stats
from podium.metrics import Measure
from podium.ranking import Ranking
from podium.tuning import fitting
from podium.tuning.candidates import Params
from podium.tuning.folds import Fold
from podium.tuning.results import Interrupted, Search, Trial, best_of
from podium.tuning.running import Stop, as_finished, caught_warnings
from podium.types import PerGroup, Progress


@dataclass(frozen=True, eq=False)
class Run:
    """The candidates, folds and measure of a search."""

    base: Any
    measure: Measure
    min_relevance: float | None
    param_sets: list[Params]
    folds: list[Fold]
    keep: bool  # whether to keep the fitted estimator of the best, if there is one fold

    def model(self, params: Params) -> Any:
        """Return an unfitted estimator with these parameters."""
        return fitting.set_params(clone(self.base), params)


@dataclass
class Outcome:
    """The result of one candidate on one fold."""

    values: PerGroup = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    iterations: int | None = None
    stop_reason: str = ""
    warning: str = ""
    error: Exception | None = None
    estimator: Any = None


class Trials:
    """The trials of a search, collected in the order in which they finish."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.kept: Any = None
        self._kept_rank: tuple[float, int] | None = None
        self._outcomes: dict[int, dict[int, Outcome]] = {i: {} for i in range(len(run.param_sets))}
        self._done: dict[int, Trial] = {}

    @property
    def search(self) -> Search:
        """The finished trials, in order, and the best of them."""
        trials = tuple(self._done[i] for i in sorted(self._done))
        return Search(str(self.run.measure), trials, best_of(trials, self.run.measure.metric.sign))

    def collect(self, n_jobs: int, progress: Progress) -> None:
        """Run all fits; on Ctrl-C raise `Interrupted` if a trial has succeeded."""
        try:
            # BLAS runs in one thread: the order of additions depends on its thread count, and
            # parallel fits would each change that count.
            with caught_warnings() as take_warnings, one_blas_thread:
                tasks = list(_tasks(self.run, take_warnings))
                with closing(as_finished(tasks, n_jobs)) as outcomes:
                    self._add_all(outcomes, len(tasks), progress)
        except KeyboardInterrupt:
            if any(not trial.error for trial in self._done.values()):
                raise Interrupted(self.search) from None
            raise
        self._raise_if_all_failed()

    def _add_all(
        self, outcomes: Iterator[tuple[int, Outcome]], total: int, progress: Progress
    ) -> None:
        for n_before, (position, outcome) in enumerate(outcomes):
            self._add(*divmod(position, len(self.run.folds)), outcome)
            progress(n_before + 1, total, self._note())

    def _add(self, number: int, fold: int, outcome: Outcome) -> None:
        if isinstance(outcome.error, MissingExtraError):
            raise outcome.error  # every other candidate would raise it too
        outcomes = self._outcomes[number]
        outcomes[fold] = outcome
        if len(outcomes) < len(self.run.folds):
            return
        trial = _trial(number, self.run.param_sets[number], [outcomes[f] for f in sorted(outcomes)])
        self._done[number] = trial
        rank = (self.run.measure.metric.sign * trial.mean, -number)
        if not math.isnan(trial.mean) and (self._kept_rank is None or rank > self._kept_rank):
            self._kept_rank, self.kept = rank, outcome.estimator
        outcome.estimator = None  # other fitted models would only take memory

    def _note(self) -> str:
        measured = [trial for trial in self._done.values() if not math.isnan(trial.mean)]
        return f"best {self.run.measure} {self.search.best.mean:.4f}" if measured else ""

    def _raise_if_all_failed(self) -> None:
        if all(trial.error for trial in self._done.values()):
            first_error = next(
                outcome.error for outcome in self._outcomes[0].values() if outcome.error
            )
            if len(self._done) == 1 and isinstance(first_error, ArgumentError):
                raise first_error
            known = isinstance(first_error, PodiumError)
            reason = first_error.message.text if known else first_error
            raise ArgumentError(
                f"All {len(self._done)} candidates failed. The error of the first: {reason}"
            ) from first_error


def _tasks(run: Run, take_warnings: Callable[[], str]) -> Iterator[Callable[[Stop], Outcome]]:
    """Yield the fits candidate by candidate, so that an interrupt leaves finished candidates."""
    keep = run.keep and len(run.folds) == 1
    for params in run.param_sets:
        for fold in run.folds:
            yield partial(_fit, run, params, fold, take_warnings, keep)


def _fit(
    run: Run, params: Params, fold: Fold, take_warnings: Callable[[], str], keep: bool, stop: Stop
) -> Outcome:
    """Fit one candidate on one fold and measure it; a failure also gives an outcome."""
    outcome, start = Outcome(), time.perf_counter()
    try:
        model = run.model(params)
        X, y, qid = fold.valid.cut()
        train, item = fold.train.cut(), fold.train.items()
        fitting.fit(model, *train, item=item, eval_set=(X, y, qid), progress=stop.progress)
        ranking = Ranking.from_scores(
            fitting.scores(model, X), y, qid, min_relevance=run.min_relevance
        )
        values = run.measure(ranking)
        if np.isnan(values).all():
            raise ArgumentError(
                f"{run.measure} is defined on no user of the rows set aside. Set more rows aside."
            )
        outcome.values = values
        outcome.estimator = model if keep else None
        outcome.iterations, outcome.stop_reason = _n_iterations(model), _stop_reason(model)
    except Exception as error:  # any error of an estimator is a failure of this candidate only
        outcome.error = error
    outcome.warning, outcome.seconds = take_warnings(), time.perf_counter() - start
    return outcome


def _trial(number: int, params: Params, outcomes: Sequence[Outcome]) -> Trial:
    errors = [outcome.error for outcome in outcomes if outcome.error]
    values = np.concatenate([outcome.values for outcome in outcomes])
    summary = None if errors else stats.summarize(values)
    lengths = [outcome.iterations for outcome in outcomes if outcome.iterations is not None]
    return Trial(
        number,
        params,
        by_fold=tuple(
            float(np.nanmean(outcome.values)) if outcome.values.size else math.nan
            for outcome in outcomes
        ),
        mean=summary.mean if summary else math.nan,
        std_error=summary.std_error if summary else math.nan,
        n_groups=summary.n_groups if summary else 0,
        seconds=sum(outcome.seconds for outcome in outcomes),
        iterations=tuple(lengths),
        stop_reasons=tuple(outcome.stop_reason for outcome in outcomes if outcome.stop_reason),
        warning=" ".join(dict.fromkeys(outcome.warning for outcome in outcomes if outcome.warning)),
        error=f"{type(errors[0]).__name__}: {errors[0]}" if errors else "",
    )


def _n_iterations(model: Any) -> int | None:
    """Return the number of iterations behind the parameters that a fitted estimator kept."""
    best = getattr(fitting.last_step(model), "best_iteration_", None)
    return None if best is None else int(best) + 1


def _stop_reason(model: Any) -> str:
    return str(getattr(fitting.last_step(model), "stop_reason_", ""))
