"""SVM-pAUC: the structural support vector machine for the partial area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium import losses
from podium.errors import ConvergenceWarning, warn
from podium.rankers import fitting
from podium.rankers.objective import LinearObjective, Parameters
from podium.rankers.solvers import Keep, Settings
from podium.types import Progress
from podium_studies import checks
from podium_studies.baseline import Task
from podium_studies.hiranandani2020.baselines.linear import LinearBaseline
from podium_studies.hiranandani2020.baselines.planes import CuttingPlanes


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
    surrogate : str
        The name of the loss. Another convex surrogate has its minimum found in the same way.
    keep : {"last", "best"}
        The iterate to keep without an eval_set: the last, or that with the lowest objective.
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
    `PAUCHinge`. The baseline of this name in the paper is subgradient descent on the same sum. If
    the classes overlap strongly, the minimum is at zero coefficients. The last iterate is then a
    short vector that still ranks. Pass an eval_set to keep the best of the earlier iterates.

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
    surrogate: str = "pauc-hinge"
    keep: Keep = "last"

    def _coefficients(self, task: Task, progress: Progress) -> Parameters:
        validate = None if task.valid is None else task.evaluate_coef
        settings = Settings(
            learning_rate=1.0,  # unused: the planes determine the steps
            max_iter=checks.cutoff(self.max_iter, name="max_iter"),
            tol=checks.number(self.tol, "tol", low=0.0),
            patience=checks.optional(self.patience, "patience"),
            keep=self.keep if validate is None else "best",
        )
        names = {"k": self.k, "clip": self.clip, "min_relevance": self.min_relevance}
        loss: Any = losses.get(self.surrogate, **names)
        l2 = 1.0 / checks.positive(self.C, "C")
        objective = LinearObjective(task.rows.features, loss, task.target(loss), l2)
        solution = CuttingPlanes.solve(objective, settings, validate, progress)
        history = solution.history
        self.objective_, self.stop_reason_ = solution.objective, solution.stop_reason
        self.best_iteration_, self.n_iter_ = history.kept_at, len(history.objectives)
        self.history_ = history.arrays()
        if problem := fitting.warning_text(solution, settings, "planes"):
            warn(f"SVMpAUC {problem}", ConvergenceWarning)
        return solution.parameters
