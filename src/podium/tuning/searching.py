"""The search: every candidate is fitted on every fold, and the best is refitted on all rows."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium import _check
from podium._one_thread import n_processors
from podium.errors import ArgumentError, ConvergenceWarning, arg, warn
from podium.metrics import Measure, parse_relevance
from podium.progress import or_silent
from podium.rankers.estimator import Ranker
from podium.rankers.fitting import LimitWarning
from podium.ranking import Ranking
from podium.tuning import fitting, folds
from podium.tuning.candidates import Grid, Params, candidates
from podium.tuning.defaults import default_grid
from podium.tuning.folds import Fold, Rows
from podium.tuning.results import Search, Trial
from podium.tuning.trials import Run, Trials
from podium.types import Progress


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
    min_relevance: float | None = None,
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
    """Select parameters by a measure on validation rows, and refit the best candidate on all rows.

    Parameters
    ----------
    estimator : estimator or Pipeline
        An estimator with scikit-learn's interface, whose `fit` accepts qid. Estimators of podium
        also get the validation rows as eval_set, and stop early by the same measure, but with their
        own min_relevance. The steps of a pipeline are fitted on the training rows alone, and also
        transform the validation rows.
    X, y, qid : (n_rows, n_features), (n_rows,), (n_rows,)
        The rows, as for `LinearRanker.fit`.
    item : (n_rows,), optional
        The item of each row, for an estimator whose `fit` accepts it, such as `LightGBMRanker`.
        Each fit gets the items of its training rows, unless the loss of its candidate does not
        pool labels over items.
    grid : mapping of name to values, or a sequence of such; optional
        The values to try: lists, or a `Uniform`, `LogUniform` or `Integers`. "loss__k" is the k
        of the loss. Parameters of a pipeline's last step need no prefix. The default is
        `default_grid(estimator)`.
    n_trials : int, optional
        The number of candidates to draw at random instead of the whole grid. It is required if the
        grid has distributions.
    measure : str or Measure
        The measure whose mean over users is compared, such as "pap@10". It replaces the
        estimator's own `eval_metric`.
    min_relevance : float
        The smallest relevance of a positive among the validation rows.
    eval_set : (X, y) or (X, y, qid), optional
        The validation rows; no estimator is trained on them.
    n_folds : int, optional
        The number of folds of users. Every user is used for validation once.
    split : {"users", "rows", "time", "time-per-user"}
        The validation rows if there are neither eval_set nor n_folds: those of users drawn at
        random, rows of each user drawn at random, the last of all rows by `time`, or the last rows
        of each user by `time`.
    valid : float
        The share of rows or users for validation, between 0 and 1.
    time : (n_rows,), optional
        The numbers, or dates and times, for the last two splits.
    refit : bool
        Whether to fit the best candidate once more on all rows of X, with the number of iterations
        that was best on the validation rows (the median over folds). Otherwise `estimator` of the
        result is the one that was measured. With an eval_set, that one is already fitted on all of
        X, and there is no refit.
    n_jobs : int
        The number of fits at a time, in threads; -1 is one per core. It does not change the
        result.
    seed : int
        The seed of draws and splits, and of an estimator whose random_state is None.
    progress : callable, optional
        A function called as ``progress(done, total, note)`` after each fit, from the calling
        thread.
    one_group : bool
        Whether to treat all rows as one group if there is no qid; otherwise that is an error. An
        estimator with one_group=True has the same effect.

    Returns
    -------
    Search

    Raises
    ------
    ArgumentError
        If the estimator lacks a parameter, the grid or split is invalid, every candidate failed,
        or the qid of X or of the eval_set is missing and the rows are not one group. If only some
        candidates fail, the table has their reasons.
    Interrupted
        If Ctrl-C ends the search after a trial has succeeded: a KeyboardInterrupt that holds the
        finished trials.

    Notes
    -----
    Candidates are compared on the same rows. If several have the same mean, the first in the order
    of the grid is selected. In this order, the last name varies fastest. `Trial.std_error` is that
    of a mean over users. The difference of two candidates on the same users usually has a smaller
    standard error.

    Cost: n_candidates × n_folds fits; with folds or a split, n_jobs copies of X.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.rankers import LinearRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    >>> y = X[:, 0] > 0.8
    >>> result = search(LinearRanker(), X, y, qid, grid={"l2": [10.0, 0.001]}, measure="ap")
    >>> len(result.trials), result.best.mean > 0.9, result.estimator.coef_.argmax()
    (2, True, np.int64(0))
    """
    fitting.check(estimator)
    parsed, seed = parse_relevance(measure), _check.seed(seed)
    one_group = _one_group(estimator, one_group)
    reader = "" if one_group else str(parsed)
    _check.grouped(qid, reader, request="set_fit_request")
    param_sets = plan(estimator, grid, n_trials, seed)
    base = _prepared(estimator, parsed, seed, one_group=one_group)
    features: Any = _check.on_host(X)
    features = features if hasattr(features, "shape") else np.asarray(features)
    if _check.is_sparse(features):
        features = features.tocsr()  # not every sparse format has rows
    rows = Rows(features, np.asarray(_check.on_host(y)), _array(qid), _array(item))
    _refuse_lengths(rows)
    run = Run(
        base,
        parsed,
        None if min_relevance is None else _check.positive(min_relevance, "min_relevance"),
        param_sets,
        _folds(rows, eval_set, n_folds, split, valid, time, seed, reader),
        keep=eval_set is not None or not _check.flag(refit, "refit"),
    )
    if eval_set is None:
        _check_measured(run)
    trials = Trials(run)
    trials.collect(_workers(n_jobs), or_silent(progress))
    result = replace(trials.search, estimator=trials.kept)
    if not run.keep:
        return replace(result, estimator=_refit(run, result.best, rows))
    if result.best.warning and trials.kept is not None:
        warn(result.best.warning, ConvergenceWarning)
    return result


def _refuse_lengths(rows: Rows) -> None:
    """Raise if y, qid or item have another number of rows than X."""
    columns = {"y": rows.y, "qid": rows.qid, "item": rows.item}
    _check.equal_length(**{name: c for name, c in columns.items() if c is not None})
    if rows.X.shape[0] != rows.y.shape[0]:
        raise ArgumentError(
            f"X must have one row for each value of y ({rows.y.shape[0]}), got {rows.X.shape[0]}."
        )


def plan(
    estimator: Any, grid: Grid | None = None, n_trials: int | None = None, seed: int = 0
) -> list[Params]:
    """Return the parameters that `search` would try, in order.

    Raises
    ------
    ArgumentError
        If the estimator lacks a parameter, or the grid is invalid.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> plan(LinearRanker(), {"l2": [0.1, 0.01], "tol": [0.0]})
    [{'l2': 0.1, 'tol': 0.0}, {'l2': 0.01, 'tol': 0.0}]
    """
    limit = None if n_trials is None else _check.cutoff(n_trials, name="n_trials")
    param_sets = candidates(default_grid(estimator) if grid is None else grid, limit, seed)
    last_step = fitting.last_step(estimator)
    known_names = sorted(last_step.get_params(deep=False))
    for name in fitting.unknown_names(
        estimator, dict.fromkeys(n for params in param_sets for n in params)
    ):
        raise ArgumentError(
            f"{arg['grid', name]} is not a parameter of {type(last_step).__name__}."
            f"{_check.nearest(name, known_names)} The parameters are {_check.listed(known_names)}."
        )
    return param_sets


def _refit(run: Run, best: Trial, rows: Rows) -> Any:
    """Fit the best candidate on all rows, for the best number of iterations on the folds."""
    model = run.model(best.params)
    last = fitting.last_step(model)
    length = math.ceil(median(best.iterations)) if best.iterations else None
    has_length = isinstance(last, Ranker) and last.length_parameter in last.get_params(deep=False)
    if not length or not has_length or not fitting.stops_early(model):
        return fitting.fit(model, *rows.cut(), item=rows.items())
    last.set_params(**{last.length_parameter: length})
    if last.get_params(deep=False).get("keep") == "best":  # there are no rows to choose by
        last.set_params(keep="last")
    with warnings.catch_warnings():
        # The refit is meant to end at max_iter.
        warnings.simplefilter("ignore", LimitWarning)
        return fitting.fit(model, *rows.cut(), item=rows.items())


def _one_group(estimator: Any, one_group: bool) -> bool:
    """Return whether rows without qid are one group, by the argument or by the estimator."""
    estimator_flag = fitting.last_step(estimator).get_params(deep=False).get("one_group", False)
    return _check.flag(one_group, "one_group") or bool(estimator_flag)


def _prepared(estimator: Any, measure: Measure, seed: int, *, one_group: bool) -> Any:
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
        raise ArgumentError(f"{arg.eval_set} and {arg.n_folds} were both given. Pass one of them.")
    if (eval_set is not None or n_folds is not None) and time is not None:
        raise ArgumentError(
            f"{arg.time} requires {arg.split('time', 'time-per-user')}. Leave it out."
        )
    if eval_set is not None:
        return folds.of_eval_set(rows, eval_set, reader)
    if n_folds is not None:
        return folds.of_users(rows, n_folds, seed)
    return folds.of_split(rows, split, valid, time, seed)


def _check_measured(run: Run) -> None:
    """Raise before the first fit if the measure is defined on no user of the rows set aside."""
    for number, fold in enumerate(run.folds):
        y, qid = fold.valid.labels()
        ranking = Ranking.from_scores(np.zeros(len(y)), y, qid, min_relevance=run.min_relevance)
        if np.isnan(run.measure(ranking)).all():
            where = f" in fold {number}" if len(run.folds) > 1 else ""
            raise ArgumentError(
                f"{run.measure} is defined on no user of the rows set aside{where}. Set aside more "
                "rows per user or more users, or choose another measure."
            )


def _array(labels: Any) -> Any:
    return None if labels is None else np.asarray(_check.on_host(labels))


def _workers(n_jobs: int) -> int:
    if n_jobs == -1:
        return n_processors()
    return _check.cutoff(n_jobs, name="n_jobs")
