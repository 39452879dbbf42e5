"""The search for parameters of a ranker or recommender."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

from numpy.typing import ArrayLike

from podium import _check
from podium._one_thread import n_processors
from podium.errors import ArgumentError, arg
from podium.executors import Executor
from podium.metrics import Measure
from podium.metrics.measures import parse_relevance
from podium.progress import or_silent
from podium.rankers import LogisticRanker
from podium.recommenders import Recommender
from podium.tuning import fitting, portfolio
from podium.tuning.candidates import Grid, Params, candidates, checked_grid, drawn
from podium.tuning.of_events import OfEvents, divided
from podium.tuning.of_features import OfFeatures
from podium.tuning.of_pairs import OfPairs, check_measured, divided_by_time, divided_pairs
from podium.tuning.of_rows import OfRows, Rows, check_parts, divided_rows, prepared
from podium.tuning.results import Search
from podium.tuning.trials import FitFile, Task, Trials
from podium.types import Progress


def search(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    *,
    item: ArrayLike | None = None,
    seen: Any = None,
    grid: Grid | None = None,
    n_trials: int | None = None,
    budget: float | None = None,
    measure: str | Measure | None = None,
    min_relevance: float | None = None,
    eval_set: Any = None,
    n_folds: int | None = None,
    split: str | None = None,
    valid: float | None = None,
    time: ArrayLike | None = None,
    refit: bool = True,
    n_jobs: int = 1,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    one_group: bool = False,
    exclude_seen: bool = True,
) -> Search:
    """Select parameters by a measure on validation data, and fit the best candidate to all data.

    For a ranker, or another estimator that learns from rows with features, the candidates are the
    whole grid or n_trials of it. For a recommender, the first candidate has the parameters of
    `estimator`, and the others are drawn from the grid. If a recommender has the parameter
    `n_epochs`, and it is at least 9, all candidates get a complete fit with a third of these
    passes. The best third of the candidates, and the first one, get a fit with all passes.

    Parameters
    ----------
    estimator : estimator, Pipeline, Recommender or "auto"
        An estimator with scikit-learn's interface, whose `fit` accepts qid, or a model of
        `podium.recommenders`. It is not changed. Estimators of podium also get the validation rows
        as eval_set, and stop early by the same measure, but with their own min_relevance. The steps
        of a pipeline are fitted on the training rows alone, and also transform the validation rows.
        "auto" tries several kinds of models and chooses one: recommenders and their blends for
        pairs, and rankers for rows with a y. The parameter "model" of a trial is its text.
    X : (n_rows, n_features); for a recommender (n_users, n_items), or table
        The features, as for `LinearRanker.fit`, or the pairs, as for `Recommender.fit`.
    y, qid : (n_rows,), (n_rows,)
        The relevance and groups of the rows. They are not for a recommender.
    item : (n_rows,), optional
        The item of each row, for an estimator whose `fit` accepts it, such as `LightGBMRanker`.
        Each fit gets the items of its training rows, unless the loss of its candidate does not
        pool labels over items. It is not for a recommender.
    seen : as X, optional
        Further pairs that no candidate of a recommender learns from, such as low ratings. They are
        not ranked.
    grid : mapping of name to values, or a sequence of such; optional
        The values to try: lists, or a `Uniform`, `LogUniform` or `Integers`. "loss__k" is the k
        of the loss. Parameters of a pipeline's last step need no prefix. The default is
        `default_grid(estimator)`. For a recommender, numbers from distributions are rounded to
        three digits. Its `gain` is not searched if all weights are 1, or (with a warning) if a
        table has rows with value 0, because these are pairs only with gain="one".
    n_trials : int, optional
        The number of candidates. For rows, it is the number to draw at random instead of the whole
        grid, and required if the grid has distributions. For a recommender, the default is 15, or
        10 without passes. With a budget, it is at most this number, by default at most 1000.
    budget : float, optional
        The processor time of all fits and measurements of a recommender, in seconds. The time of
        all threads of the process counts. With an executor other than `Threads`, it is the elapsed
        time. The last fit, to all pairs, is not included. With "auto", it is included, and the
        default is 300.
    measure : str or Measure, optional
        The measure whose mean over users is compared. It replaces the estimator's own
        `eval_metric`. The default is "pap@10", or "ndcg@10" for a recommender.
    min_relevance : float, optional
        The smallest relevance of a positive among the validation rows.
    eval_set : (X, y), (X, y, qid) or, for a recommender, as X; optional
        The validation rows or pairs; no candidate learns from them.
    n_folds : int, optional
        The number of folds of users. Every user is used for validation once.
    split : {"users", "rows", "time", "time-per-user"}, optional
        The validation rows if there are neither eval_set nor n_folds: those of users drawn at
        random (the default), rows of each user drawn at random, the last of all rows by `time`, or
        the last rows of each user by `time`. A recommender accepts "time", the last of all events,
        if X is a table with times; a `half_life` requires it or an eval_set.
    valid : float, optional
        The share of rows or users for validation, between 0 and 1, by default 0.2. For a
        recommender, it is the share of each user's pairs, by default 0.1; each user keeps one.
    time : (n_rows,), optional
        The numbers, or dates and times, for the last two splits.
    refit : bool
        Whether to fit the best candidate once more on all of X. A ranker then makes the number of
        iterations that was best on the validation rows (the median over folds). Otherwise
        `estimator` of the result is the ranker that was measured, and None for a recommender. With
        an eval_set, a ranker that was measured is already fitted on all of X.
    n_jobs : int
        The number of fits of a ranker at a time, in threads; -1 is one per core. It does not change
        the result.
    executor : Executor, optional
        The executor of each fit, for a recommender that learns in passes (`makes_passes`).
    checkpoint : path, optional
        A file for a search of a recommender. It is replaced atomically after each fit by one with
        all finished fits. If all candidates fail, it is removed.
    resume : bool
        Whether to continue after the finished fits of the checkpoint. The result is that of an
        uninterrupted search. A larger budget or n_trials continues a finished search. Without a
        file, the search starts anew with a warning.
    seed : int
        The seed of draws and splits, and of an estimator whose random_state is None.
    progress : callable, optional
        A function, called as ``progress(done, total, note)`` after each fit, from the calling
        thread: the number of fits, or the seconds of a budget.
    one_group : bool
        Whether to treat all rows as one group if there is no qid; otherwise that is an error. An
        estimator with one_group=True has the same effect.
    exclude_seen : bool
        Whether "auto" leaves the items with which a user has a pair out of the lists.

    Returns
    -------
    Search
        `trials` has one entry per candidate, in order. For a recommender, it has one per fit; those
        of one candidate have its number, and `seconds` is processor time.

    Raises
    ------
    ArgumentError
        If the estimator lacks a parameter, the grid, split or another argument is invalid or not
        for this estimator, every candidate failed, or the qid of X or of the eval_set is missing
        and the rows are not one group. If only some candidates fail, the table has their reasons.
    DataError
        If the checkpoint is damaged or belongs to another search.
    MissingExtraError
        If the estimator belongs to a library that is not installed.
    Interrupted
        If Ctrl-C ends the search after a fit has succeeded: a KeyboardInterrupt that holds the
        finished trials.

    Notes
    -----
    Candidates are compared on the same rows or pairs. If several have the same mean, the first is
    selected; in the order of a grid, the last name varies fastest. `Trial.std_error` is that of a
    mean over users. The difference of two candidates on the same users usually has a smaller
    standard error. The mean of the best is too optimistic as an estimate for new data.

    The same seed gives the same trials for any number of jobs and threads, and after a resume. With
    a budget, the number of candidates depends on the speed of the machine, and so does the result.
    The budget is planned with the times of the fits so far, and the last fit can exceed it.

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

    >>> from scipy.sparse import csr_array
    >>> from podium.recommenders import ItemKNN
    >>> likes = csr_array(rng.random((60, 20)) < np.linspace(0.1, 0.6, 20))
    >>> result = search(ItemKNN(), likes.astype(float), grid={"k": [1, 5, 19]})
    >>> len(result.trials), result.estimator.k == result.best_params["k"]
    (4, True)
    """
    if isinstance(y, str):
        raise ArgumentError(
            f"{arg.y} must be the relevance of each row, got the text {y!r}. Pass a measure as "
            f"{arg.measure(y)}."
        )
    options = {"seen": seen, "executor": executor, "checkpoint": checkpoint}
    of_pairs = options | {"resume": resume or None}
    options = {"y": y, "qid": qid, "item": item, "min_relevance": min_relevance, "time": time}
    of_rows = options | {"n_folds": n_folds, "one_group": one_group or None}
    seed, refit = _check.seed(seed), _check.flag(refit, "refit")
    check_parts(eval_set=eval_set, n_folds=n_folds, split=split, valid=valid)
    if n_trials is not None:
        n_trials = _check.cutoff(n_trials, name="n_trials")
    fits_at_once = None if n_jobs == 1 else n_jobs
    excludes = _check.flag(exclude_seen, "exclude_seen")
    is_choice = isinstance(estimator, str)
    if is_choice:
        _check.choice(estimator, "estimator", [portfolio.NAME])
        of_others = {"grid": grid, "n_trials": n_trials, "checkpoint": checkpoint}
        of_others |= {"resume": resume or None, "executor": executor, "n_jobs": fits_at_once}
        _refuse(estimator, of_others, "tries a list of models one after the other")
    if not is_choice or y is not None:
        of_choice = {"exclude_seen": None if excludes else False}
        _refuse(estimator, of_choice, "is no choice of a recommender")
    if budget is not None:
        budget = _check.positive(budget, "budget")
    limits = budget or portfolio.BUDGET, or_silent(progress)
    task: Task
    if isinstance(estimator, Recommender) or (is_choice and y is None):
        _refuse(estimator, of_rows | {"n_jobs": fits_at_once}, "learns from pairs")
        parsed = parse_relevance("ndcg@10" if measure is None else measure)
        share = 0.1 if valid is None else valid
        source = X, eval_set, seen
        if is_choice:
            parts = divided(*source, share, seed, split)
            check_measured(parts, parsed)
            events = OfEvents(
                *(parsed, *limits), parts=parts, user_items=X, seen=seen, excludes=excludes
            )
            return events.search(refit=refit)
        if split is not None:
            source = divided_by_time(X, seen, share, split)
        parts = divided_pairs(*source, share, seed, every_row=estimator.every_row)
        task = OfPairs(estimator, parsed, parts, X, seen, executor, refit)
        space = task.searched(checked_grid(estimator, grid))
        check_measured(parts, parsed)
        file = FitFile(checkpoint, task.identity(space, seed))
        if _check.flag(resume, "resume"):
            file.read()
        draws = drawn(space, task.first(space), seed)
        param_sets = list(islice(draws, n_trials or task.n_trials(timed=budget is not None)))
    else:
        of_pairs |= {"budget": None if is_choice else budget}
        _refuse(estimator, of_pairs, "learns from rows with features")
        parsed = parse_relevance("pap@10" if measure is None else measure)
        one_group = _check.flag(one_group, "one_group")
        if not is_choice:
            fitting.check(estimator)
            parameters = fitting.last_step(estimator).get_params(deep=False)
            one_group = one_group or bool(parameters.get("one_group", False))
        reader = "" if one_group else str(parsed)
        _check.grouped(qid, reader, request="set_fit_request")
        low = None if min_relevance is None else _check.positive(min_relevance, "min_relevance")
        rows = Rows(X, y, qid, item).checked()
        folds = divided_rows(
            rows,
            eval_set=eval_set,
            n_folds=n_folds,
            split=split,
            share=0.2 if valid is None else valid,
            times=time,
            seed=seed,
            reader=reader,
        )

        def of_estimator(model: Any) -> OfRows:
            base = prepared(model, parsed, seed, one_group=one_group)
            return OfRows(base, parsed, rows, folds, low, eval_set is not None or not refit)

        task = of_estimator(LogisticRanker() if is_choice else estimator)
        task.check_measured()
        if is_choice:
            features = OfFeatures(parsed, *limits, rows=rows, task=of_estimator)
            return features.search(refit=refit)
        param_sets, file = plan(estimator, grid, n_trials, seed), FitFile(None, {})
    trials = Trials(task, file, budget=budget, n_jobs=_workers(n_jobs), report=or_silent(progress))
    return trials.run(param_sets)


def plan(
    estimator: Any, grid: Grid | None = None, n_trials: int | None = None, seed: int = 0
) -> list[Params]:
    """Return the parameters that `search` would try for an estimator of rows, in order.

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
    limit = _check.cutoff(n_trials, "n_trials", required=False)
    return candidates(checked_grid(estimator, grid), limit, seed)


def _refuse(estimator: Any, options: dict[str, Any], why: str) -> None:
    """Refuse arguments that have no effect with an estimator; `why` says something about it."""
    noun = repr(estimator) if isinstance(estimator, str) else type(estimator).__name__
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(
                f"{arg[name]} has no effect with {noun}, which {why}. Leave it out."
            )


def _workers(n_jobs: int) -> int:
    if n_jobs == -1:
        return n_processors()
    return _check.cutoff(n_jobs, name="n_jobs")
