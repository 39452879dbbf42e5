"""SVM-pAUC: the structural support vector machine for the partial area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.errors import ConvergenceWarning, warn
from podium.rankers import fitting
from podium.rankers.objective import LinearObjective, Parameters, dot
from podium.rankers.solvers import History, Settings, Solution
from podium.rankers.solvers.planes import Model, Planes
from podium.types import Progress
from podium_studies import checks
from podium_studies.baseline import Task
from podium_studies.hiranandani2020.baselines.linear import LinearBaseline
from podium_studies.hiranandani2020.surrogates import PAUCHinge

_CAPACITY = 200  # maximum number of planes; inactive ones are merged into their mean


@dataclass(eq=False, repr=False, kw_only=True)
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
    the best of the earlier iterates. Unlike the solver "bundle", the fit returns the last iterate
    and not the one with the lowest objective. If the minimum is at zero, that iterate is a short
    vector that still ranks. Cost: two products with the features and a dense quadratic programme
    per iteration.

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

    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 500
    patience: int | None = None

    def _coefficients(self, task: Task, progress: Progress) -> Parameters:
        settings = Settings(
            learning_rate=1.0,  # unused: the planes determine the steps
            max_iter=checks.cutoff(self.max_iter, name="max_iter"),
            tol=checks.number(self.tol, "tol", low=0.0),
            patience=checks.optional(self.patience, "patience"),
        )
        loss = PAUCHinge(self.k, clip=self.clip, min_relevance=self.min_relevance)
        l2 = 1.0 / checks.positive(self.C, "C")
        objective = LinearObjective(task.rows.features, loss, task.target(loss), l2)
        validate = None if task.valid is None else task.evaluate_coef
        history = History("last" if validate is None else "best")
        planes = Planes(objective.n_features, objective.n_parameters, l2, _CAPACITY)
        zero = np.zeros(objective.n_parameters)
        planes.add(zero, 0.0)  # the slack is never negative
        model, bound, excess, reason = Model(zero, 0.0), 0.0, np.inf, None
        while reason is None:
            point = objective.evaluate(model.parameters)
            history.add(point, validate)
            progress(len(history.objectives), settings.max_iter, history.note())
            # What the most violated constraint, the plane that touches the loss, exceeds the slack.
            excess = point.objective - model.lower_bound
            converged = excess <= settings.tol
            reason = "converged" if converged else history.stop_reason(settings)
            if reason is None:
                slope = point.grad - objective.penalty(point.parameters)[1]
                planes.add(slope, point.loss - dot(slope, point.parameters))
                minimum = planes.minimise()
                if minimum is None:
                    reason = "stalled"
                else:
                    model, bound = minimum, max(bound, minimum.lower_bound)
        progress(settings.max_iter, settings.max_iter, history.note())
        kept = history.choose()
        remaining = f"the last ordering exceeds the slack by {excess:.2g} > tol={settings.tol:g}"
        solution = Solution(kept.parameters, kept.objective, reason, history, remaining, bound)
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.best_iteration_, self.n_iter_ = history.kept_at, len(history.objectives)
        self.stop_reason_, self.history_ = reason, history.arrays()
        if problem := fitting.warning_text(solution, settings, "bundle"):
            warn(f"SVMpAUC {problem}", ConvergenceWarning)
        return solution.parameters
