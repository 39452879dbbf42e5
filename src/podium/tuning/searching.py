"""The search: every candidate on every fold, and the best of them once more on all rows."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium import _check
from podium.errors import ArgumentError, ConvergenceWarning
from podium.metrics import Measure, parse
from podium.progress import or_silent
from podium.ranking import Ranking
from podium.tuning import fitting, folds
from podium.tuning.candidates import Grid, Params, candidates
from podium.tuning.defaults import default_grid
from podium.tuning.folds import Fold, Rows
from podium.tuning.results import Search, Trial
from podium.tuning.trials import Run, Trials
from podium.types import Progress

_LENGTHS = ("max_iter", "n_trees", "n_rounds")  # parameters that say how many steps a fit takes


def search(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    item: ArrayLike | None = None,
    grid: Grid | None = None,
    n_trials: int | None = None,
    measure: str | Measure = "pap@10",
    min_relevance: float = 1.0,
    eval_set: tuple[Any, ...] | None = None,
    n_folds: int | None = None,
    split: str = "users",
    valid: float = 0.2,
    time: ArrayLike | None = None,
    refit: bool = True,
    n_jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    one_group: bool = False,
) -> Search:
    """Choose parameters by a measure on rows that are set aside, and fit with the best.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Any of scikit-learn's form; `fit` gets qid, and podium's also the rows set aside as
        eval_set, to stop early by the same measure. A pipeline's steps are fitted on the rows to
        learn from alone, and the rows set aside go through them.
    X, y, qid : (n_rows, n_features), (n_rows,), (n_rows,)
        As for `LinearRanker.fit`.
    item : (n_rows,), optional
        For an estimator whose `fit` takes it, as `LightGBMRanker`: of the rows to learn from.
    grid : mapping of name to values, or a sequence of such; optional
        Values are a list, or one of `Uniform`, `LogUniform` and `Integers`. "loss__k" is the k of
        the loss. Parameters of a pipeline's last step need no prefix.
        `default_grid(estimator)` without it.
    n_trials : int, optional
        Try this many at random instead of the whole grid; distributions need it.
    measure : str or Measure
        For example "pap@10"; the mean over users is compared. It replaces the estimator's own
        `eval_metric`.
    min_relevance : float
        Relevance from which a row set aside is positive.
    eval_set : (X, y) or (X, y, qid), optional
        Measure on these rows; they are never trained on.
    n_folds : int, optional
        Measure every user once, in this many folds of users.
    split : {"users", "rows", "time", "time-per-user"}
        Otherwise, set aside: a share of users, or of the rows of each user, at random; the last
        rows of all (`time` decides), or the last of each user.
    valid : float
        That share, between 0 and 1.
    time : (n_rows,), optional
        Numbers, or dates and times, for the last two splits.
    refit : bool
        Fit the best once more on all rows of X, for as many iterations as were best on the rows
        set aside (the median over folds). Without it, the estimator is the one that was fitted
        beside the rows set aside. An eval_set leaves it fitted on all of X, and nothing to refit.
    n_jobs : int
        Fits at a time, in threads; -1 is one per core. The result is the same for any number.
    seed : int
        Of draws and splits, and of an estimator whose random_state is None.
    progress : callable, optional
        Called as ``progress(done, total, note)`` after each fit, from the calling thread.
    one_group : bool
        Take all rows as one group where no qid arrives, instead of refusing; so does an estimator
        with one_group=True.

    Returns
    -------
    Search

    Raises
    ------
    ArgumentError
        For a parameter that the estimator lacks, a bad grid or split, or if every candidate
        failed. One that fails is kept in the table with its reason. If qid is missing, of X or
        of the eval_set, unless all rows are one group.
    Interrupted
        On Ctrl-C, a KeyboardInterrupt that holds the trials which were done.

    Notes
    -----
    Candidates are compared on the same rows. Of equal ones the first wins, in the order of the
    grid, whose last name varies fastest. `Trial.std_error` is that of a mean over users; the
    difference of two candidates on the same users is known better than that.

    Cost: n_candidates × n_folds fits; with folds or a split, n_jobs copies of X.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.rankers import LinearRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    >>> y = X[:, 0] > 0.8
    >>> found = search(LinearRanker(), X, y, qid, grid={"l2": [10.0, 0.001]}, measure="ap")
    >>> len(found.trials), found.best.mean > 0.9, found.estimator.coef_.argmax()
    (2, True, np.int64(0))
    """
    fitting.check(estimator)
    parsed, seed = parse(measure), _check.seed(seed)
    one_group = _one_group(estimator, one_group)
    reader = "" if one_group else str(parsed)
    _check.grouped(qid, reader, request="set_fit_request")
    wanted = plan(estimator, grid, n_trials, seed)
    base = _prepared(estimator, parsed, seed, one_group=one_group)
    rows = Rows(X, np.asarray(y), _array(qid), _array(item))
    if item is not None:
        _check.equal_length(y=rows.y, item=rows.item)
    run = Run(
        base,
        parsed,
        _check.number(min_relevance, "min_relevance", low=0.0, strict=True),
        wanted,
        _folds(rows, eval_set, n_folds, split, valid, time, seed, reader),
        keep=eval_set is not None or not _check.flag(refit, "refit"),
    )
    if eval_set is None:
        _check_measured(run)
    trials = Trials(run)
    trials.collect(_workers(n_jobs), or_silent(progress))
    found = replace(trials.search, estimator=trials.kept)
    if not run.keep:
        return replace(found, estimator=_refit(run, found.best, rows))
    if found.best.warning and trials.kept is not None:
        warnings.warn(found.best.warning, ConvergenceWarning, stacklevel=2)
    return found


def plan(
    estimator: Any, grid: Grid | None = None, n_trials: int | None = None, seed: int = 0
) -> list[Params]:
    """Return the parameters that `search` would try, in order.

    Raises
    ------
    ArgumentError
        For a parameter that the estimator lacks, or a bad grid.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> plan(LinearRanker(), {"l2": [0.1, 0.01], "tol": [0.0]})
    [{'l2': 0.1, 'tol': 0.0}, {'l2': 0.01, 'tol': 0.0}]
    """
    limit = None if n_trials is None else _check.cutoff(n_trials, name="n_trials")
    wanted = candidates(default_grid(estimator) if grid is None else grid, limit, seed)
    last = fitting.last_step(estimator)
    own = sorted(last.get_params(deep=False))
    for name in fitting.unknown(estimator, dict.fromkeys(n for params in wanted for n in params)):
        raise ArgumentError(
            f"grid[{name!r}] is no parameter of {type(last).__name__}."
            f"{_check.nearest(name, own)} It takes {_check.listed(own)}."
        )
    return wanted


def _refit(run: Run, best: Trial, rows: Rows) -> Any:
    """Fit the best on all rows, for as long as the rows set aside said."""
    model = run.model(best.params)
    length = math.ceil(median(best.iterations)) if best.iterations else None
    known = model.get_params(deep=True)
    names = {name: fitting.parameter(model, name) for name in (*_LENGTHS, "keep")}
    limits = [names[name] for name in _LENGTHS if names[name] in known]
    if not length or not limits or not fitting.stops_early(model):
        return fitting.fit(model, *rows.cut(), item=rows.items())
    model.set_params(**{limits[0]: length})
    if known.get(names["keep"]) == "best":  # of what was seen there, and nothing is seen here
        model.set_params(**{names["keep"]: "last"})
    with warnings.catch_warnings():
        # Ending at max_iter is what was asked for.
        warnings.filterwarnings("ignore", ".*stopped at max_iter", ConvergenceWarning)
        return fitting.fit(model, *rows.cut(), item=rows.items())


def _one_group(estimator: Any, asked: bool) -> bool:
    """Return whether rows without qid are one group: by the call or by the estimator."""
    own = fitting.last_step(estimator).get_params(deep=False).get("one_group", False)
    return _check.flag(asked, "one_group") or bool(own)


def _prepared(estimator: Any, measure: Measure, seed: int, *, one_group: bool) -> Any:
    """Return a copy that stops early by the measure and draws from the seed."""
    base = clone(estimator)
    known = base.get_params(deep=True)
    changes: Params = {}
    if fitting.stops_early(base):
        changes[fitting.parameter(base, "eval_metric")] = str(measure)
    if "one_group" in fitting.last_step(base).get_params(deep=False):
        changes[fitting.parameter(base, "one_group")] = one_group
    name = fitting.parameter(base, "random_state")
    if name in known and known[name] is None:
        changes[name] = seed
    return base.set_params(**changes)


def _folds(
    rows: Rows,
    eval_set: Any,
    n_folds: int | None,
    split: str,
    valid: float,
    time: Any,
    seed: int,
    reader: str,
) -> list[Fold]:
    if eval_set is not None and n_folds is not None:
        raise ArgumentError("eval_set and n_folds were both given. Pass one of them.")
    if (eval_set is not None or n_folds is not None) and time is not None:
        raise ArgumentError("time is for split='time' and 'time-per-user' only. Leave it out.")
    if eval_set is not None:
        return folds.of_eval_set(rows, eval_set, reader)
    if n_folds is not None:
        return folds.of_users(rows, n_folds, seed)
    return folds.of_split(rows, split, valid, time, seed)


def _check_measured(run: Run) -> None:
    """Raise, before anything is fitted, where no user set aside has a value of the measure."""
    for number, fold in enumerate(run.folds):
        y, qid = fold.valid.labels()
        ranking = Ranking.from_scores(np.zeros(len(y)), y, qid, min_relevance=run.min_relevance)
        if np.isnan(run.measure(ranking)).all():
            where = f" in fold {number}" if len(run.folds) > 1 else ""
            raise ArgumentError(
                f"{run.measure} is defined on no user of the rows set aside{where}. Set more rows "
                "of a user aside, or more users, or choose another measure."
            )


def _array(labels: Any) -> Any:
    return None if labels is None else np.asarray(labels)


def _workers(n_jobs: int) -> int:
    if n_jobs == -1:
        here = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if here else os.cpu_count() or 1
    return _check.cutoff(n_jobs, name="n_jobs")
