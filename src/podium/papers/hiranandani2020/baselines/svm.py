"""SVM-pAUC: the structural support vector machine for the partial area under the ROC curve."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ConvergenceWarning
from podium.losses import PAUCHinge
from podium.metrics import Measure
from podium.papers.hiranandani2020.baselines.cutting_plane import cutting_plane
from podium.rankers import fitting
from podium.rankers.baseline import LinearBaseline
from podium.rankers.objective import LinearObjective
from podium.rankers.solvers import Settings, Solution
from podium.types import Progress


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
    eval_measure : str or Measure, optional
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
        eval_measure: str | Measure | None = None,
        clip: bool = False,
        min_relevance: float = 1.0,
        one_group: bool = False,
    ) -> None:
        self.k = k
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.patience = patience
        self.eval_measure = eval_measure
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
