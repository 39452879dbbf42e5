"""SVM-pAUC: the structural support vector machine for the partial area under the ROC curve."""

from __future__ import annotations

import numpy as np

from podium.errors import ConvergenceWarning, warn
from podium.metrics import Measure
from podium.rankers import fitting
from podium.rankers.objective import LinearObjective, dot
from podium.rankers.solvers import History, Settings, Solution, StopReason, Validate
from podium.rankers.solvers.planes import Model, Planes
from podium.types import Progress
from podium_studies import checks
from podium_studies.hiranandani2020.baselines.linear import LinearBaseline, Task
from podium_studies.hiranandani2020.surrogates import PAUCHinge

_CAPACITY = 200  # maximum number of planes; inactive ones are merged into their mean


class SVMpAUC(LinearBaseline):
    """SVM-pAUC, tight: a linear ranker that maximises pAUC over the k best negatives per group.

    The fit minimises ``||coef||^2 / 2 + C * slack`` by cutting planes. The single slack is at
    least the mean over groups of the violation by the most violated ordering. The violation is the
    number of errors between all positives and the k best negatives, less the margins that the
    ordering loses, divided by the number of these pairs.

    Parameters
    ----------
    k : int
        The number of negatives that count in a group, and the cutoff of the measure.
    C : float
        The weight of the slack, > 0.
    tol : float
        The tolerance. The fit has converged if the most violated ordering exceeds the slack by at
        most `tol`.
    max_iter : int
        The maximum number of cutting planes.
    patience : int, optional
        The number of planes without a better value on the eval_set after which the fit stops.
    eval_metric : str or Measure, optional
        The measure on the eval_set, which `score` returns too. The default is pap@k.
    clip : bool
        Whether to use groups with fewer than k negatives, with the negatives they have.
    min_relevance : float
        The least relevance of a positive.
    one_group : bool
        Whether to treat all rows as one group if `qid` is missing, instead of raising an error.

    Attributes
    ----------
    coef_ : float64, (n_features,)
        The coefficients of the last iterate, or with an eval_set of the best.
    intercept_ : float
        Always 0, because the loss depends only on differences of scores.
    objective_ : float
        The value ``||coef||^2 / (2 C) + slack`` with all orderings.
    gap_ : float
        An upper bound of the difference between `objective_` and its minimum.
    best_iteration_, n_iter_ : int
        The selected iteration, from 0, and the number of iterations run.
    stop_reason_ : {"converged", "patience", "max_iter", "stalled", "diverged"}
        The reason for stopping.
    history_ : dict of float64, (``n_iter_``,)
        The values "objective", and with an eval_set "validation".
    n_features_in_, feature_names_in_
        The attributes of scikit-learn.

    Notes
    -----
    The violation by the most violated ordering is a plain sum of hinges,
    `PAUCHinge`. The fit needs the extra ``podium[qp]``. The baseline of this name
    in the paper is subgradient descent on the same sum. If the classes overlap strongly, the
    minimum is at zero coefficients, and the last iterate is close to it. Pass an eval_set to keep
    the best of the earlier iterates.

    References
    ----------
    narasimhan2017.
    joachims2009, algorithm 3.
    hiranandani2020, section 7.3.2.

    Examples
    --------
    >>> from podium_studies.hiranandani2020.baselines import SVMpAUC
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

    def _learn(self, task: Task, progress: Progress) -> None:
        settings = self._settings()
        loss = PAUCHinge(self.k, clip=self.clip, min_relevance=self.min_relevance)
        rows = task.rows
        target = loss.prepare(rows.relevance, rows.groups, weights=task.weights)
        l2 = 1.0 / checks.positive(self.C, "C")
        objective = LinearObjective(rows.features, loss, target, l2)
        fitting.require_trainable(loss, target, rows.groups)
        validate = None if task.eval_rows is None else task.evaluate_coef
        solution = cutting_plane(objective, settings, validate, progress)
        self._set_attributes(solution)
        problem = fitting.warning_text(solution, settings, "bundle")
        if problem:
            warn(f"SVMpAUC {problem}", ConvergenceWarning)

    def _settings(self) -> Settings:
        patience = self.patience
        return Settings(
            learning_rate=1.0,  # unused: the planes determine the steps
            max_iter=checks.cutoff(self.max_iter, name="max_iter"),
            tol=checks.number(self.tol, "tol", low=0.0),
            patience=None if patience is None else checks.cutoff(patience, name="patience"),
        )

    def _set_attributes(self, solution: Solution) -> None:
        history = solution.history
        self.coef_, self.intercept_ = solution.parameters, 0.0
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.best_iteration_, self.n_iter_ = history.kept_at, len(history.objectives)
        self.stop_reason_ = solution.stop_reason
        self.history_ = history.arrays()


def cutting_plane(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Minimise a loss >= 0 with l2 > 0 by cutting planes, and return the last or best iterate.

    Each iterate minimises the planes so far. Each iteration adds the most violated constraint,
    the plane that touches the loss at the iterate, and solves the quadratic programme again. The
    solver has converged if the loss exceeds the slack, its value by the planes, by at most `tol`.
    Unlike the solver "bundle", it returns that iterate and not the one with the lowest objective.
    If the minimum is at zero, the iterate is a short vector that still ranks.

    Parameters
    ----------
    objective : LinearObjective
        The loss with its penalty.
    settings : Settings
        The maximum number of iterations, the tolerance and the patience.
    validate : callable, optional
        The measure of coefficients. With it, the best iterate by this measure is returned.
    progress : callable (done, total, note)
        The function that is called after each iteration.

    Returns
    -------
    Solution

    Notes
    -----
    Cost: two products with the features and a dense quadratic programme per iteration.

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
        n_planes = len(history.objectives)
        progress(n_planes, settings.max_iter, history.note())
        excess = point.objective - model.lower_bound
        reason = _stop_reason(history, settings, excess)
        if reason is None:
            slope = point.grad - objective.penalty(point.parameters)[1]
            planes.add(slope, point.loss - dot(slope, point.parameters))
            minimum = planes.minimise()
            if minimum is None:
                reason = "stalled"
            else:
                model, bound = minimum, max(bound, minimum.lower_bound)
    progress(settings.max_iter, settings.max_iter, history.note())
    selected = history.choose(objective)
    remaining = f"the last ordering exceeds the slack by {excess:.2g} > tol={settings.tol:g}"
    return Solution(selected.parameters, selected.objective, reason, history, remaining, bound)


def _stop_reason(history: History, settings: Settings, excess: float) -> StopReason | None:
    if excess <= settings.tol:
        return "converged"
    return history.stop_reason(settings)
