"""Trials: candidates are fitted, measured and compared; the best of short fits get complete ones.

A task says how a model is fitted and measured. The candidates climb at most two rungs. On the first
one, each candidate gets a complete fit with a share of its passes; on the second one, the best
third gets a fit with all passes. No decision is made before a rung is complete, so that the number
of jobs changes nothing. With a time budget, the number of candidates follows from the times of the
fits so far. Recorded fits that are run again give the same decisions, because nothing else is read.

A third rung, with a ninth of the passes, would make the first fits cheaper. However, fits with few
passes favour long steps and small penalties. On MovieLens-100K, the rank correlation of 27
candidates with their fits of 30 passes was .06 for 3 passes, and .25 for 10.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, MissingExtraError
from podium.evaluation import stats
from podium.metrics import Measure
from podium.tuning.candidates import Params
from podium.tuning.fit_file import Fit, FitFile
from podium.tuning.parallel import as_finished, caught_warnings
from podium.tuning.results import Interrupted, Search, Trial
from podium.types import PerGroup, Progress

FACTOR = 3  # one in so many candidates goes on to the next rung


class Task(abc.ABC):
    """How the candidates of a search are fitted and measured."""

    measure: Measure
    n_folds: int = 1
    n_rungs: int = 1
    keeps_best: bool = False
    """Whether the fitted model of the best candidate is kept."""

    @abc.abstractmethod
    def fitted(self, params: Params, fold: int, progress: Progress) -> Any:
        """Return a model with these parameters, fitted to the training part of a fold."""

    @abc.abstractmethod
    def values(self, model: Any, fold: int) -> PerGroup:
        """Return the measure of each user of the validation part of a fold."""

    @abc.abstractmethod
    def course(self, model: Any, params: Params) -> tuple[int | None, str]:
        """Return the number of iterations behind a fitted model, and why the fit stopped."""

    @abc.abstractmethod
    def clock(self) -> float:
        """Return the seconds that have been spent."""

    @abc.abstractmethod
    def final(self, best: Trial, measured_model: Any) -> Any:
        """Return a model with the parameters of the best trial: the measured one, or a new fit."""

    def on_rung(self, params: Params, rung: int) -> Params:
        """Return the parameters with the number of passes of a rung."""
        del rung
        return params


@dataclass
class Outcome:
    """The result of one candidate on one fold."""

    values: PerGroup = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    fit_seconds: float = 0.0
    iterations: int | None = None
    stop_reason: str = ""
    warning: str = ""
    error: Exception | None = None
    model: Any = None


class Trials:
    """The fits of a search, in the order of the candidates on each rung.

    Parameters
    ----------
    task : Task
    file : FitFile
        The file of finished fits, which are not made again.
    budget : float, optional
        The seconds that all fits may take.
    n_jobs : int
        The number of fits at a time, without a budget.
    report : callable
        A function that is called after each fit, from the calling thread.
    """

    def __init__(
        self, task: Task, file: FitFile, *, budget: float | None, n_jobs: int, report: Progress
    ) -> None:
        self._kept: Any = None
        self._task, self._file = task, file
        self._budget, self._n_jobs, self._report = budget, n_jobs, report
        self._fits: dict[tuple[int, int], Fit] = {}  # by rung and place on it
        self._first_error: Exception | None = None
        self._n_done = self._n_total = 0

    @property
    def fits(self) -> list[Fit]:
        """The finished fits."""
        return [self._fits[place] for place in sorted(self._fits)]

    def search(self) -> Search:
        """Return the finished trials and the best of them.

        Raises
        ------
        ArgumentError
            If all trials failed.
        """
        trials = tuple(fit.trial for fit in self.fits)
        measured = [trial for trial in trials if not trial.error]
        if measured:
            return Search(str(self._task.measure), trials, max(measured, key=self._value))
        error = self._first_error
        if isinstance(error, ArgumentError) and len(trials) == 1:
            raise error
        subject = "The fit" if len(trials) == 1 else "Each candidate, the first one"
        params = trials[0].params or "as given"
        raise ArgumentError(
            f"{subject} with parameters {params}, failed: {trials[0].error}"
        ) from error

    def run(self, candidates: Sequence[Params]) -> Search:
        """Run all fits and the last one; on Ctrl-C raise `Interrupted` if a trial has succeeded."""
        try:
            # BLAS runs in one thread: the order of additions depends on its thread count, and
            # parallel fits would each change that count.
            with caught_warnings() as self._take_warnings, one_blas_thread:
                self._climb(candidates)
            result = self.search()
            return replace(result, estimator=self._task.final(result.best, self._kept))
        except KeyboardInterrupt:
            if any(not fit.trial.error for fit in self.fits):
                raise Interrupted(self.search()) from None
            raise

    def _climb(self, candidates: Sequence[Params]) -> None:
        """Run the fits of all rungs. The first candidate also gets that of the last rung."""
        has_second = self._task.n_rungs > 1
        n_fits = len(candidates) + has_second * _n_kept(len(candidates))
        self._n_total = n_fits * self._task.n_folds
        self._run(0, list(enumerate(candidates)))
        if has_second:
            chosen, others = self._divided(_n_kept(len(self._fits)))
            chosen[1:] = sorted(chosen[1:], key=lambda fit: fit.candidate != 0)
            # The rest of a time budget is used for the next best.
            queue = chosen if self._budget is None else [*chosen, *others]
            self._run(1, [(fit.candidate, fit.params) for fit in queue])
        if self._budget is not None or self._n_done < self._n_total:
            self._show(is_complete=True)

    def _run(self, rung: int, queue: list[tuple[int, Params]]) -> None:
        """Run the fits of a rung; with a budget, those for which there is time."""
        entries = [(place, number, params) for place, (number, params) in enumerate(queue)]
        if self._budget is None:
            self._collect(rung, entries)
            return
        for entry in entries:
            spent = sum(fit.trial.seconds for fit in self._fits.values())
            seconds = self._longer(self._fits[0, entry[1]]) if rung else self._to_finish()
            if spent + seconds <= self._budget:
                self._collect(rung, [entry])

    def _collect(self, rung: int, entries: list[tuple[int, int, Params]]) -> None:
        """Fit candidates, each given by its place on the rung, its number and its parameters."""
        n_folds, left = self._task.n_folds, list[tuple[int, int, Params]]()
        for place, number, params in entries:
            fit = self._file.get(number, rung, params, self._task.on_rung(params, rung))
            if fit is None:
                left.append((place, number, params))
            else:
                self._add(rung, place, fit)
        tasks: list[Callable[[Progress], Outcome]] = [
            partial(
                _measured, self._task, self._task.on_rung(params, rung), fold, self._take_warnings
            )
            for _, _, params in left
            for fold in range(n_folds)
        ]
        outcomes: dict[int, dict[int, Outcome]] = {}
        with closing(as_finished(tasks, self._n_jobs)) as finished:
            for position, outcome in finished:
                entry, fold = divmod(position, n_folds)
                of_candidate = outcomes.setdefault(entry, {})
                of_candidate[fold] = outcome
                if len(of_candidate) < n_folds:
                    self._show()
                    continue
                place, number, params = left[entry]
                by_fold = [of_candidate[f] for f in range(n_folds)]
                trial = _trial(number, self._task.on_rung(params, rung), by_fold)
                fit = Fit(number, rung, params, trial, sum(o.fit_seconds for o in by_fold))
                self._file.add(fit)
                self._add(rung, place, fit, outcome)
                del outcomes[entry]  # other fitted models would only take memory

    def _add(self, rung: int, place: int, fit: Fit, outcome: Outcome | None = None) -> None:
        if outcome is not None and fit.candidate == 0:
            self._first_error = outcome.error
        self._fits[rung, place] = fit
        if outcome is not None and not fit.trial.error and self.search().best is fit.trial:
            self._kept = outcome.model
        self._show()

    def _show(self, *, is_complete: bool = False) -> None:
        """Report the number of fits, or the seconds of a budget, and the best measure."""
        self._n_done += not is_complete
        done, total = self._n_done, self._n_total
        if self._budget is not None:
            total = math.ceil(self._budget)
            done = int(sum(fit.trial.seconds for fit in self._fits.values()))
        measured = any(not fit.trial.error for fit in self._fits.values())
        best = f"best {self._task.measure} {self.search().best.mean:.4f}" if measured else ""
        self._report(total if is_complete else min(done, total), total, best)

    def _value(self, trial: Trial) -> float:
        """Return the mean of a trial, with the sign that greater is better."""
        return self._task.measure.metric.sign * trial.mean

    def _divided(self, n: int) -> tuple[list[Fit], list[Fit]]:
        """Return the best n fits and the first candidate, and the others, each best first."""
        measured = [
            fit for (rung, _), fit in self._fits.items() if not rung and not fit.trial.error
        ]
        ranked = sorted(measured, key=lambda fit: (-self._value(fit.trial), fit.candidate))
        chosen = [fit for place, fit in enumerate(ranked) if place < n or fit.candidate == 0]
        return chosen, [fit for fit in ranked if fit not in chosen]

    def _to_finish(self) -> float:
        """Return the estimated seconds of one more candidate and of the second rung after it."""
        if not self._fits:
            return 0.0
        seconds = median(fit.trial.seconds for fit in self._fits.values())
        if self._task.n_rungs > 1:
            chosen, _ = self._divided(_n_kept(len(self._fits) + 1))
            seconds += sum(self._longer(fit) for fit in chosen)
        return seconds

    def _longer(self, fit: Fit) -> float:
        """Return the estimated seconds of a candidate's fit with all passes."""
        return FACTOR * fit.fit_seconds + fit.trial.seconds - fit.fit_seconds


def _n_kept(n_candidates: int) -> int:
    return math.ceil(n_candidates / FACTOR)


def _measured(
    task: Task, params: Params, fold: int, take_warnings: Callable[[], str], progress: Progress
) -> Outcome:
    """Fit one candidate on one fold and measure it; a failure also gives an outcome."""
    outcome, start = Outcome(), task.clock()
    try:
        model = task.fitted(params, fold, progress)
        outcome.fit_seconds = task.clock() - start
        values = task.values(model, fold)
        outcome.iterations, outcome.stop_reason = task.course(model, params)
        outcome.values, outcome.model = values, model if task.keeps_best else None
    except MissingExtraError:
        raise  # every other candidate would raise it too
    except Exception as error:  # any other error is a failure of this candidate only
        outcome.error = error
    outcome.warning, outcome.seconds = take_warnings(), task.clock() - start
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
