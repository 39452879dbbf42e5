"""The search for parameters of a ranker or recommender."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
from podium.tuning.fit_file import FitFile
from podium.tuning.of_events import OfEvents, divided
from podium.tuning.of_features import OfFeatures
from podium.tuning.of_pairs import OfPairs, check_measured, divided_by_time, divided_pairs
from podium.tuning.of_rows import OfRows, Rows, check_parts, divided_rows, prepared
from podium.tuning.results import Search
from podium.tuning.trials import Task, Trials
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
        all finished fits. There is no file before a fit succeeds.
    resume : bool
        Whether to continue after the finished fits of the checkpoint. The result is that of an
        uninterrupted search. A larger budget or n_trials continues a finished search. Without a
        file, the search starts anew with a warning.
    seed : int
        The seed of draws and splits, and of an estimator whose random_state is None.
    progress : callable, optional
        A function, called as ``progress(done, total, note)`` after each fit, from the calling
        thread: the number of fits, or the seconds of a budget.
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
        for this estimator, or every candidate failed. If only some candidates fail, the table has
        their reasons. If the qid of X or of the eval_set is missing, unless the estimator has
        one_group=True.
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
    check_parts(eval_set=eval_set, n_folds=n_folds, split=split, valid=valid)
    is_choice = isinstance(estimator, str)
    if is_choice:
        _check.choice(estimator, "estimator", [portfolio.NAME])
    asked = _Asked(
        *(estimator, X, y, qid, item, seen, grid),
        _check.cutoff(n_trials, "n_trials", required=False),
        None if budget is None else _check.positive(budget, "budget"),
        *(measure, min_relevance, eval_set, n_folds, split, valid, time),
        _check.flag(refit, "refit"),
        *(n_jobs, executor, checkpoint, _check.flag(resume, "resume")),
        _check.seed(seed),
        or_silent(progress),
        _check.flag(exclude_seen, "exclude_seen"),
    )
    is_of_pairs = y is None if is_choice else isinstance(estimator, Recommender)
    if is_choice:
        asked.refuse(_OF_A_SEARCH, "tries a list of models one after the other")
    if not (is_choice and is_of_pairs):
        asked.refuse(["exclude_seen"], "is no choice of a recommender")
    if is_of_pairs:
        asked.refuse(_OF_ROWS, "learns from pairs")
        return asked.choice_of_pairs() if is_choice else asked.search_of_pairs()
    asked.refuse(_OF_PAIRS, "learns from rows with features")
    if is_choice:
        return asked.choice_of_rows()
    asked.refuse(["budget"], "learns from rows with features")
    return asked.search_of_rows()


_OF_PAIRS = ("seen", "executor", "checkpoint", "resume")
_OF_ROWS = ("y", "qid", "item", "min_relevance", "time", "n_folds", "n_jobs")
_OF_A_SEARCH = ("grid", "n_trials", "checkpoint", "resume", "executor", "n_jobs")
_UNUSED: dict[str, Any] = {"resume": False, "n_jobs": 1, "exclude_seen": True}
"""The values of arguments that are not None and have no effect."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """The arguments of `search`."""

    estimator: Any
    X: Any
    y: Any
    qid: Any
    item: Any
    seen: Any
    grid: Grid | None
    n_trials: int | None
    budget: float | None
    measure: str | Measure | None
    min_relevance: float | None
    eval_set: Any
    n_folds: int | None
    split: str | None
    valid: float | None
    time: Any
    refit: bool
    n_jobs: int
    executor: Executor | None
    checkpoint: str | os.PathLike[str] | None
    resume: bool
    seed: int
    report: Progress
    exclude_seen: bool

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Refuse arguments that have no effect with the estimator; `why` says something of it."""
        estimator = self.estimator
        noun = repr(estimator) if isinstance(estimator, str) else type(estimator).__name__
        for name in names:
            value = getattr(self, name)
            if value is not None and not (name in _UNUSED and value == _UNUSED[name]):
                raise ArgumentError(
                    f"{arg[name]} has no effect with {noun}, which {why}. Leave it out."
                )

    def measured_by(self, default: str) -> Measure:
        """Return the measure."""
        return parse_relevance(default if self.measure is None else self.measure)

    @property
    def limits(self) -> tuple[float, Progress]:
        """The budget of a choice, and what reports its progress."""
        return self.budget or portfolio.BUDGET, self.report

    @property
    def share(self) -> float:
        """The share of the pairs for validation."""
        return 0.1 if self.valid is None else self.valid

    def choice_of_pairs(self) -> Search:
        """Choose among recommenders."""
        measure = self.measured_by("ndcg@10")
        source = self.X, self.eval_set, self.seen
        parts = divided(*source, self.share, self.seed, self.split)
        check_measured(parts, measure)
        tables = {"parts": parts, "user_items": self.X, "seen": self.seen}
        events = OfEvents(measure, *self.limits, **tables, excludes=self.exclude_seen)
        return events.search(refit=self.refit)

    def search_of_pairs(self) -> Search:
        """Search the parameters of a recommender."""
        measure = self.measured_by("ndcg@10")
        source = self.X, self.eval_set, self.seen
        if self.split is not None:
            source = divided_by_time(self.X, self.seen, self.share, self.split)
        every_row = self.estimator.every_row
        parts = divided_pairs(*source, self.share, self.seed, every_row=every_row)
        tables = parts, self.X, self.seen
        task = OfPairs(self.estimator, measure, *tables, self.executor, self.refit)
        space = task.searched(checked_grid(self.estimator, self.grid))
        check_measured(parts, measure)
        file = FitFile(self.checkpoint, task.identity(space, self.seed))
        if self.resume:
            file.read()
        draws = drawn(space, task.first(space), self.seed)
        n_trials = self.n_trials or task.n_trials(timed=self.budget is not None)
        return self._tried(task, list(islice(draws, n_trials)), file)

    def choice_of_rows(self) -> Search:
        """Choose among rankers."""
        task = self._tasks()
        first = task(LogisticRanker())
        first.check_measured()
        features = OfFeatures(first.measure, *self.limits, rows=first.rows, task=task)
        return features.search(refit=self.refit)

    def search_of_rows(self) -> Search:
        """Search the parameters of a ranker, or of another estimator."""
        fitting.check(self.estimator)
        parameters = fitting.last_step(self.estimator).get_params(deep=False)
        is_one = bool(parameters.get("one_group", False))
        task = self._tasks(one_group=is_one)(self.estimator)
        task.check_measured()
        param_sets = plan(self.estimator, self.grid, self.n_trials, self.seed)
        return self._tried(task, param_sets, FitFile(None, {}))

    def _tasks(self, *, one_group: bool = False) -> Callable[[Any], OfRows]:
        """Return the task of an estimator of rows; all have the same folds."""
        measure = self.measured_by("pap@10")
        reader = "" if one_group else str(measure)
        _check.grouped(self.qid, reader, request="set_fit_request")
        least = self.min_relevance
        low = None if least is None else _check.positive(least, "min_relevance")
        rows = Rows(self.X, self.y, self.qid, self.item).checked()
        folds = divided_rows(
            rows,
            eval_set=self.eval_set,
            n_folds=self.n_folds,
            split=self.split,
            share=0.2 if self.valid is None else self.valid,
            times=self.time,
            seed=self.seed,
            reader=reader,
        )
        is_final = self.eval_set is not None or not self.refit

        def of_estimator(model: Any) -> OfRows:
            base = prepared(model, measure, self.seed)
            return OfRows(base, measure, rows, folds, low, is_final)

        return of_estimator

    def _tried(self, task: Task, param_sets: list[Params], file: FitFile) -> Search:
        jobs = n_processors() if self.n_jobs == -1 else _check.cutoff(self.n_jobs, name="n_jobs")
        trials = Trials(task, file, budget=self.budget, n_jobs=jobs, report=self.report)
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
