"""The search for recommenders: candidates are measured on held-out pairs of the same users."""

from __future__ import annotations

import math
import os
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from podium import __version__, _check
from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, MissingExtraError, arg, warn
from podium.evaluation import stats
from podium.executors import Executor, Threads
from podium.metrics import Measure, parse_relevance
from podium.progress import or_silent
from podium.recommenders import Recommender
from podium.tuning import pairs
from podium.tuning.candidates import Grid, Params, checked_parts, drawn
from podium.tuning.defaults import default_space
from podium.tuning.halving import Fit, Halving, shares_of_passes
from podium.tuning.pairs import Parts
from podium.tuning.results import Interrupted, Search, Trial, best_of
from podium.tuning.resuming import FitFile
from podium.tuning.running import caught_warnings
from podium.types import Progress

_PASSES = "n_epochs"  # the parameter of recommenders that are learned in passes
_GAIN = "gain"  # the parameter that sets the weights of pairs
_N_TRIALS, _N_TRIALS_OF_ONE_RUNG = 15, 10  # by default; both cost about ten complete fits


def search_recommender(
    recommender: Recommender,
    user_items: Any,
    *,
    space: Grid | None = None,
    eval_set: Any = None,
    seen: Any = None,
    valid: float = 0.1,
    measure: str | Measure = "ndcg@10",
    budget: float | None = None,
    n_trials: int | None = None,
    refit: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    executor: Executor | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Search:
    """Select parameters of a recommender by a measure on held-out pairs, and fit the best.

    The first candidate has the parameters of `recommender`. The others are drawn from the space. If
    the recommender has the parameter `n_epochs`, and it is at least 9, all candidates get a
    complete fit with a third of these passes. The best third of the candidates, and the first one,
    get a fit with all passes. All items without a training pair of the user are ranked.

    Parameters
    ----------
    recommender : Recommender
        Any model of `podium.recommenders`. It is not changed. Parameters that are not in the space
        keep their values.
    user_items : scipy.sparse matrix, (n_users, n_items), or table
        The pairs to learn from; see `Recommender.fit`.
    space : mapping of name to values, or a sequence of such; optional
        The values to draw from: lists, or a `Uniform`, `LogUniform` or `Integers`. The default is
        `default_space(recommender)`. Numbers from distributions are rounded to three digits. The
        `gain` is not searched if all weights are 1, or (with a warning) if a table has rows with
        value 0, because these are pairs only with gain="one".
    eval_set : as user_items, optional
        The validation pairs, of users and items of user_items. No candidate learns from them.
    seen : as user_items, optional
        Further pairs that no candidate learns from, such as low ratings. They are not ranked.
    valid : float
        The share of each user's pairs that are drawn for validation if there is no eval_set.
        Each user keeps at least one pair.
    measure : str or Measure
        The measure whose mean over users with validation pairs is compared.
    budget : float, optional
        The processor time of all fits and measurements, in seconds. The time of all threads of the
        process counts. With an executor other than `Threads`, it is the elapsed time. The last fit,
        to all pairs, is not included.
    n_trials : int, optional
        The number of candidates. Without a budget, the default is 15, or 10 for a recommender
        without passes. With a budget, it is at most this number, by default at most 1000.
    refit : bool
        Whether to fit the best candidate to all pairs of user_items. Otherwise, `estimator` of the
        result is None.
    checkpoint : path, optional
        A file that is replaced atomically after each fit by one with all finished fits. If all
        candidates fail, it is removed.
    resume : bool
        Whether to continue after the finished fits of the checkpoint. The result is that of an
        uninterrupted search. A larger budget or n_trials continues a finished search. Without a
        file, the search starts anew with a warning.
    executor : Executor, optional
        The executor of each fit, for a recommender that learns in passes (`makes_passes`).
    seed : int
        The seed of the candidates and of the validation pairs.
    progress : callable, optional
        A function, called as ``progress(done, total, note)`` after each fit: the number of fits, or
        the seconds of a budget.

    Returns
    -------
    Search
        `trials` has one entry per fit, in the order of the fits; those of one candidate have its
        number. `seconds` is processor time. `estimator` is the recommender with the best parameters
        fitted to all of user_items, with the pairs that were drawn for validation.

    Raises
    ------
    ArgumentError
        If the recommender lacks a parameter, an argument is invalid, or every candidate failed. If
        only some fail, the table has their reasons.
    DataError
        If the checkpoint is damaged or belongs to another search.
    MissingExtraError
        If the recommender belongs to a library that is not installed.
    Interrupted
        If Ctrl-C ends the search after a fit has succeeded: a KeyboardInterrupt that holds the
        finished fits.

    Notes
    -----
    With `n_trials` alone, the result is the same for any number of threads, like that of a fit.
    With a budget, the number of candidates depends on the speed of the machine, and so does the
    result. The budget is planned with the times of the fits so far, and the last fit can exceed it.

    The best trial is the one with the best mean, whatever its number of passes. Its mean is too
    optimistic as an estimate for new pairs.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from podium.recommenders import ItemKNN
    >>> rng = np.random.default_rng(0)
    >>> likes = csr_array(rng.random((60, 20)) < np.linspace(0.1, 0.6, 20))
    >>> result = search_recommender(ItemKNN(), likes.astype(float), space={"k": [1, 5, 19]})
    >>> len(result.trials), result.estimator.k == result.best_params["k"]
    (4, True)
    """
    _check.flag(refit, "refit")
    parts = pairs.divided(
        user_items, eval_set, seen, valid, _check.seed(seed), every_row=recommender.every_row
    )
    run = _Run.of(recommender, parts, parse_relevance(measure), executor)
    space_parts = _searched(_checked_space(recommender, space), parts)
    pairs.check_measured(parts, run.measure)
    file = FitFile(checkpoint, run.identity(space_parts, seed))
    if _check.flag(resume, "resume"):
        file.read()
    halving = run.halving(file, *_limits(run, budget, n_trials))
    draws = drawn(space_parts, run.first(space_parts), seed)
    try:
        run.collect(halving, draws, or_silent(progress))
        if all(fit.trial.error for fit in halving.fits):
            file.remove()
        result = run.search(halving)
        return replace(result, estimator=run.refit(result, user_items, seen)) if refit else result
    except KeyboardInterrupt:
        if any(not fit.trial.error for fit in halving.fits):
            raise Interrupted(run.search(halving)) from None
        raise


@dataclass(frozen=True, eq=False)
class _Run:
    """What all fits of a search share.

    The `base` has the parameters that are not searched. Values that follow from the data depend on
    the other parameters, so that each fit derives them. Only the first candidate, `suited`, has
    them, and the number of passes, of which halving takes shares.
    """

    base: Recommender
    suited: Recommender
    parts: Parts
    measure: Measure
    executor: Executor | None

    @classmethod
    def of(
        cls, recommender: Recommender, parts: Parts, measure: Measure, executor: Executor | None
    ) -> _Run:
        suited, base = recommender.for_data(parts.train), clone(recommender)
        if _PASSES in base.get_params(deep=False):
            base.set_params(**{_PASSES: suited.get_params(deep=False)[_PASSES]})
        return cls(base, suited, parts, measure, executor)

    @property
    def n_passes(self) -> int | None:
        """The number of passes of a complete fit, or None for a model without passes."""
        return self.base.get_params(deep=False).get(_PASSES)

    def identity(self, space: list[Params], seed: int) -> dict[str, str]:
        """Return texts that identify the search; see `FitFile`."""
        params = self.base.get_params(deep=False)
        return {
            "podium": __version__,
            "pairs": self.parts.digest(),
            "recommender": f"{type(self.base).__name__} {sorted(params.items())}",
            "space": repr(space),
            "measure": str(self.measure),
            "seed": str(seed),
        }

    def first(self, space: list[Params]) -> Params:
        """Return the parameters of the first candidate."""
        params = self.suited.get_params(deep=False)
        names = dict.fromkeys(name for part in space for name in part)
        if self.n_passes is not None:
            names[_PASSES] = None
        return {name: params[name] for name in names}

    def halving(self, file: FitFile, budget: float | None, n_trials: int | None) -> Halving:
        """Return the search with its limits; fits of the file are not made again."""
        shares = shares_of_passes(self.n_passes)

        def fit(number: int, params: Params, rung: int) -> Fit:
            shortened = self._with_passes(params, shares[rung])
            fit = file.get(number, rung, params, shortened)
            if fit is None:
                trial, fit_seconds = self._measured(number, shortened)
                fit = Fit(number, rung, params, trial, fit_seconds)
                file.add(fit)
            return fit

        sign = self.measure.metric.sign
        return Halving(fit, shares, n_trials=n_trials, budget=budget, sign=sign)

    def collect(self, halving: Halving, draws: Any, progress: Progress) -> None:
        """Run all fits."""

        def note() -> str:
            finished = [fit.trial for fit in halving.fits if not fit.trial.error]
            return f"best {self.measure} {self._best(finished).mean:.4f}" if finished else ""

        # BLAS runs in one thread: the order of additions depends on its thread count.
        with one_blas_thread:
            if halving.is_timed:
                self._warm_up()
            halving.run(draws, progress, note)

    def search(self, halving: Halving) -> Search:
        """Return the finished trials and the best of them."""
        trials = tuple(fit.trial for fit in halving.fits)
        return Search(str(self.measure), trials, self._best(trials))

    def refit(self, result: Search, user_items: Any, seen: Any) -> Recommender:
        """Return the best candidate, fitted to all pairs."""
        return self._fitted(result.best_params, user_items, seen)

    def _best(self, trials: Any) -> Trial:
        return best_of(trials, self.measure.metric.sign)

    def _fitted(self, params: Params, user_items: Any, seen: Any) -> Recommender:
        model = clone(self.base).set_params(**params)
        options = {"executor": self.executor} if model.makes_passes else {}
        return model.fit(user_items, seen=seen, **options)

    def _warm_up(self) -> None:
        """Fit few pairs, so that the first time includes no compilation of kernels."""
        params = {} if self.n_passes is None else {_PASSES: 1}
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            self._fitted(params, pairs.few(self.parts.train), None)

    def _with_passes(self, params: Params, share: float) -> Params:
        if _PASSES not in params:
            return params
        return {**params, _PASSES: max(1, round(params[_PASSES] * share))}

    def _measured(self, number: int, params: Params) -> tuple[Trial, float]:
        """Fit and measure a candidate; return the trial and the seconds of its fit."""
        values, error, start = np.empty(0), "", self._clock()
        fitted, stop_reason = start, ""
        with caught_warnings() as take_warnings:
            try:
                model = self._fitted(params, self.parts.train, self.parts.seen)
                fitted, stop_reason = self._clock(), model.stop_reason_
                values = pairs.measured(model, self.parts, self.measure)
            except MissingExtraError:
                raise  # every other candidate would raise it too
            except Exception as failure:  # any other error is a failure of this candidate only
                error = f"{type(failure).__name__}: {failure}"
            warning = take_warnings()
        seconds = self._clock() - start
        summary = stats.summarize(values) if values.size else None
        trial = Trial(
            number,
            params,
            by_fold=(summary.mean if summary else math.nan,),
            mean=summary.mean if summary else math.nan,
            std_error=summary.std_error if summary else math.nan,
            n_groups=summary.n_groups if summary else 0,
            seconds=seconds,
            iterations=(params[_PASSES],) if _PASSES in params else (),
            stop_reasons=(stop_reason,) if stop_reason else (),
            warning=warning,
            error=error,
        )
        return trial, fitted - start

    def _clock(self) -> float:
        """Return the processor time of this process, or the time if other processes do the work."""
        is_local = self.executor is None or isinstance(self.executor, Threads)
        return time.process_time() if is_local else time.perf_counter()


def _checked_space(recommender: Recommender, space: Grid | None) -> list[Params]:
    parts = checked_parts(default_space(recommender) if space is None else space, "space")
    known_names = sorted(recommender.get_params(deep=False))
    for name in dict.fromkeys(name for part in parts for name in part):
        if name not in known_names:
            raise ArgumentError(
                f"{arg['space', name]} is not a parameter of {type(recommender).__name__}."
                f"{_check.nearest(name, known_names)} The parameters are "
                f"{_check.listed(known_names)}."
            )
    return parts


def _searched(space: list[Params], parts: Parts) -> list[Params]:
    """Return the space without the gain if it has no effect, or would change which rows count."""
    if not any(_GAIN in part for part in space):
        return space
    if parts.has_zeros:
        warn(
            f"{arg.gain} is not searched, because some rows have the value 0, and they are pairs "
            f"with {arg.gain('one')} only. Leave these rows out to search it."
        )
    elif (parts.train.data != 1.0).any():
        return space
    return [{name: part[name] for name in part if name != _GAIN} for part in space]


def _limits(
    run: _Run, budget: float | None, n_trials: int | None
) -> tuple[float | None, int | None]:
    """Return the budget and the number of candidates."""
    if budget is not None:
        budget = _check.positive(budget, "budget")
        return budget, _check.cutoff(n_trials, name="n_trials", required=False)
    has_rungs = len(shares_of_passes(run.n_passes)) > 1
    default = _N_TRIALS if has_rungs else _N_TRIALS_OF_ONE_RUNG
    return None, default if n_trials is None else _check.cutoff(n_trials, name="n_trials")
