"""SVM-pAUC: the structural support vector machine for the partial area under the ROC curve."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ConvergenceWarning
from podium.losses import PAUCHinge
from podium.metrics import Measure
from podium.rankers import fitting
from podium.rankers.baseline import LinearBaseline
from podium.rankers.objective import LinearObjective, dot
from podium.rankers.solvers import History, Settings, Solution, StopReason, Validate
from podium.rankers.solvers.planes import Model, Planes
from podium.types import Progress

_CAPACITY = 200  # planes at most; idle ones are merged into their mean


class SVMpAUC(LinearBaseline):
    """SVM-pAUC, tight: maximises pAUC over the k best negatives of each group.

    Minimises ``||coef||^2 / 2 + C * slack`` by cutting planes, where the one slack is at least
    the mean over groups of the most violated ordering: its errors between all positives and the
    k best negatives, less the margins that it loses, as a share of those pairs.

    Parameters
    ----------
    k : int
        Negatives of a group that count, and the cutoff of the measure.
    C : float
        Weight of the slack, > 0.
    tol : float
        Converged once the most violated ordering exceeds the slack by at most this.
    max_iter : int
        Cutting planes at most.
    patience : int, optional
        With an eval_set: stop after this many planes without a better value.
    eval_metric : str or Measure, optional
        What an eval_set is measured by and what `score` returns; pap at k without one.
    clip : bool
        Use the negatives there are in a group with fewer than k, instead of leaving it out.
    min_relevance : float
        Relevance from which a row is a positive.
    one_group : bool
        Take all rows as one group where no qid arrives, instead of refusing.

    Attributes
    ----------
    coef_ : float64, (n_features,)
        Of the last iterate, or with an eval_set of the best.
    intercept_ : float
        0: the loss reads differences of scores.
    objective_ : float
        ``||coef||^2 / (2 C) + slack`` with all orderings.
    gap_ : float
        How far `objective_` can be above its minimum.
    best_iteration_, n_iter_ : int
        Iteration, from 0, that was kept; iterations run.
    stop_reason_ : {"converged", "patience", "max_iter", "stalled", "diverged"}
    history_ : dict of float64, (n_iter_,)
        "objective", and with an eval_set "validation".
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The sum of the most violated ordering is a plain sum of hinges, `podium.losses.PAUCHinge`.
    It needs the extra ``podium[qp]``. What the paper compares with under this name is
    subgradient descent on the same sum. Where classes overlap much, the minimum is at zero and
    the kept coefficients are short; an eval_set then chooses among those on the way.

    References
    ----------
    narasimhan2017.
    joachims2009, algorithm 3.
    hiranandani2020, section 7.3.2.

    Examples
    --------
    >>> from podium.papers.hiranandani2020.baselines import SVMpAUC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> ranker = SVMpAUC(k=1, C=100.0, one_group=True).fit(X, y)  # the closest pair is 1 apart
    >>> ranker.coef_.round(3), ranker.score(X, y)
    (array([1.]), 1.0)
    """

    def __init__(
        self,
        k: int = 10,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 500,
        patience: int | None = None,
        eval_metric: str | Measure | None = None,
        clip: bool = False,
        min_relevance: float = 1.0,
        one_group: bool = False,
    ) -> None:
        self.k = k
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.patience = patience
        self.eval_metric = eval_metric
        self.clip = clip
        self.min_relevance = min_relevance
        self.one_group = one_group

    def _learn(self, X: Any, y: Any, qid: Any, data: dict[str, Any], progress: Progress) -> None:
        settings = self._settings()
        loss = PAUCHinge(self.k, clip=self.clip, min_relevance=self.min_relevance)
        task = self._task(X, y, qid, data)
        rows = task.rows
        target = loss.prepare(rows.relevance, rows.groups, weights=task.weights)
        l2 = 1.0 / _check.number(self.C, "C", low=0.0, strict=True)
        objective = LinearObjective(rows.features, loss, target, l2)
        fitting.require_trainable(loss, target, rows.groups)
        validate = None if data["eval_set"] is None else task.judge_coef
        solution = cutting_plane(objective, settings, validate, progress)
        self._keep(solution)
        trouble = fitting.trouble(solution, settings, "bundle")
        if trouble:
            warnings.warn(f"SVMpAUC {trouble}", ConvergenceWarning, stacklevel=3)

    def _settings(self) -> Settings:
        patience = self.patience
        return Settings(
            learning_rate=1.0,  # the planes set the steps
            max_iter=_check.cutoff(self.max_iter, name="max_iter"),
            tol=_check.number(self.tol, "tol", low=0.0),
            patience=None if patience is None else _check.cutoff(patience, name="patience"),
        )

    def _keep(self, solution: Solution) -> None:
        history = solution.history
        self.coef_, self.intercept_ = solution.parameters, 0.0
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.best_iteration_, self.n_iter_ = history.kept, len(history.objectives)
        self.stop_reason_ = solution.stop_reason
        self.history_ = {"objective": np.array(history.objectives)}
        if history.validation:
            self.history_["validation"] = np.array(history.validation)


def cutting_plane(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Minimise a loss >= 0 with l2 > 0; the iterate is the least point of the planes so far.

    Each iteration adds the most violated constraint, the plane that touches the loss at the
    iterate, and solves the quadratic programme again. It has converged once the loss exceeds
    the slack, its value by the planes, by no more than `tol`. Unlike the solver "bundle", it
    returns that iterate, not the lowest one: where zero is the minimum, a short vector that
    still ranks.

    Cost an iteration: two products with the features, and a dense quadratic programme.

    References
    ----------
    joachims2009, algorithm 3.
    """
    history = History("last" if validate is None else "best")
    planes = Planes(objective.n_features, objective.n_parameters, objective.l2, _CAPACITY)
    planes.add(np.zeros(objective.n_parameters), 0.0)  # the slack is never negative
    model, bound = Model(np.zeros(objective.n_parameters), 0.0), 0.0
    excess, reason = np.inf, None
    while reason is None:
        point = objective.evaluate(model.parameters)
        history.add(point, validate)
        done = len(history.objectives)
        progress(done, settings.max_iter, history.note())
        excess = point.objective - model.lower_bound
        reason = _stop_reason(history, settings, excess)
        if reason is None:
            slope = point.grad - objective.penalty(point.parameters)[1]
            planes.add(slope, point.loss - dot(slope, point.parameters))
            found = planes.minimise()
            if found is None:
                reason = "stalled"
            else:
                model, bound = found, max(bound, found.lower_bound)
    progress(settings.max_iter, settings.max_iter, history.note())
    kept = history.choose(objective)
    remaining = f"the last ordering exceeds the slack by {excess:.2g} > tol={settings.tol:g}"
    return Solution(kept.parameters, kept.objective, reason, history, remaining, bound)


def _stop_reason(history: History, settings: Settings, excess: float) -> StopReason | None:
    if excess <= settings.tol:
        return "converged"
    return history.stop_reason(settings)
