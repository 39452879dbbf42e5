"""A linear scoring function, trained on any loss in score space."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from podium import _check, losses
from podium.errors import ArgumentError, ConvergenceWarning
from podium.groups import Groups
from podium.metrics import Measure, parse
from podium.progress import or_silent
from podium.rankers import _inputs
from podium.rankers.objective import LinearObjective, times
from podium.rankers.solvers import SOLVERS, Settings, Solution, Validate
from podium.rankers.validation import mean_measure, validator
from podium.types import Loss, PerRow, Progress


class LinearRanker(BaseEstimator):
    """Scores ``X @ coef_ + intercept_``, learned from relevances in groups.

    Minimises the mean group loss plus ``l2 / 2 * ||coef||^2``.

    Parameters
    ----------
    loss : Loss or str, optional
        A loss, or its name as ``"pap-avg@10"``; `podium.losses.Logistic` without one.
    l2 : float
        Penalty on the coefficients, >= 0; the intercept is free.
    fit_intercept : bool
        Learn an intercept where it means something: a loss that declares `shift_invariant`
        reads only differences of scores, so the intercept stays 0.
    solver : str
        A name of `podium.rankers.SOLVERS`.
    learning_rate : float
        Step t, from 0, has length ``learning_rate / sqrt(t + 1)`` times the subgradient.
    max_iter : int
        Iterations at most.
    tol : float
        Converged once the last ten objectives span no more than this.
    radius : float, optional
        Keep the coefficients in a ball of this Euclidean radius.
    eval_measure : str or Measure
        What `score` returns and what an `eval_set` is measured by.
    patience : int, optional
        With an `eval_set`: stop after this many iterations without a better value. None runs on.

    Attributes
    ----------
    coef_ : float64, (n_features,)
    intercept_ : float
    objective_ : float
        Training objective of the parameters that were kept.
    best_iteration_ : int
        Iteration, from 0, that they come from.
    n_iter_ : int
        Iterations run.
    stop_reason_ : {"converged", "patience", "max_iter", "diverged"}
    history_ : dict of float64, (n_iter_,)
        "objective", and with an eval_set "validation": its mean eval_measure, signed so that
        higher is better.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Descent starts at zero and keeps the best iterate: the lowest objective, or with an
    `eval_set` the best validation. On overlapping classes zero can be the very minimum of the
    convex surrogates of pAp@k. Fitting then warns; an `eval_set`, `PApRamp` or `Logistic` help.

    Steps have no unit of their own, so scale the features first, for example with
    ``make_pipeline(StandardScaler(), LinearRanker(...))``. A pipeline passes an `eval_set` on as
    it is: transform it with the same scaler.

    Row order does not matter beyond rounding, and a refit gives the same bits.

    References
    ----------
    hiranandani2020, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [0.0], [3.0], [2.0]])
    >>> ranker = LinearRanker("pap-ramp@1", tol=0.0, max_iter=50, l2=0.0, learning_rate=1.0)
    >>> ranker = ranker.fit(X, [1, 0, 1, 0], qid=["a", "a", "b", "b"])
    >>> ranker.objective_, ranker.predict(X).argmax()
    (0.0, np.int64(2))
    """

    def __init__(
        self,
        loss: Loss | str | None = None,
        *,
        l2: float = 1e-4,
        fit_intercept: bool = True,
        solver: str = "subgradient",
        learning_rate: float = 0.5,
        max_iter: int = 500,
        tol: float = 1e-4,
        radius: float | None = None,
        eval_measure: str | Measure = "pap@10",
        patience: int | None = 50,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.radius = radius
        self.eval_measure = eval_measure
        self.patience = patience

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the coefficients.

        Parameters
        ----------
        X : (n_rows, n_features)
            Dense or sparse.
        y : (n_rows,)
            Relevance of each row, >= 0.
        qid : (n_rows,), optional
            Group of each row, in any order; without it (and `group`) all rows are one group.
        sample_weight : (n_rows,) or (n_groups,), optional
            Weights >= 0, by row or by group in rising order of labels (by row where every group
            has one row).
        group : (n_groups,), optional
            Sizes of consecutive groups instead of `qid`, as LightGBM has them.
        eval_set : (X, y) or (X, y, qid), optional
            Rows to choose the iterate by.
        progress : callable, optional
            Called as ``progress(done, total, note)`` after each iteration.

        Raises
        ------
        ArgumentError
            For a parameter out of range, non-finite or missing data, lengths that differ,
            negative relevance or weights, or no group that the loss can be trained on.

        Warns
        -----
        ConvergenceWarning
            If the solver ran into max_iter, overflowed, or found nothing better than zero.
        """
        settings, solve, loss = self._settings(), self._solve(), self._loss()
        parse(self.eval_measure)
        features = self._features(X, reset=True)
        rows = _inputs.rows_of(features, y, qid, group)
        weights = _inputs.row_weights(sample_weight, rows.groups)
        target = loss.prepare(rows.relevance, rows.groups, weights=weights)
        intercept = bool(self.fit_intercept) and not getattr(loss, "shift_invariant", False)
        objective = LinearObjective(features, loss, target, float(self.l2), intercept)
        validate = None if eval_set is None else self._validate(eval_set, loss, objective)
        _require_trainable(objective, rows.groups.n_groups)
        solution = solve(objective, settings, validate, or_silent(progress))
        self._keep(solution, objective)
        self._warn(solution)
        return self

    def predict(self, X: Any) -> PerRow:
        """Return the score of each row, float64, (n_rows,); higher ranks first."""
        check_is_fitted(self)
        features = self._features(X, reset=False)
        _inputs.finite_features(features, None, "X")
        return times(features, self.coef_) + self.intercept_

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean of `eval_measure` over groups; nan where it is defined on none.

        Tied scores count as errors, as everywhere in podium. `sample_weight`, by row or by
        group, weighs the groups by the mean of their rows.
        """
        scores = self.predict(X)
        groups = Groups.single(scores.size) if qid is None else Groups.from_qid(qid)
        return mean_measure(
            self.eval_measure,
            scores,
            np.asarray(y, dtype=np.float64),
            qid,
            min_relevance=_min_relevance(self._loss()),
            weights=_inputs.row_weights(sample_weight, groups),
        )

    def _loss(self) -> Loss:
        if self.loss is None:
            return losses.Logistic()
        if isinstance(self.loss, str):
            return losses.get(self.loss)
        if not hasattr(self.loss, "value_and_grad"):
            raise ArgumentError(
                f"loss must be a loss or its name, as 'pap-avg@10', got {self.loss!r}."
            )
        return self.loss

    def _settings(self) -> Settings:
        _check.number(self.l2, "l2", low=0.0)
        radius, patience = self.radius, self.patience
        return Settings(
            learning_rate=_positive(self.learning_rate, "learning_rate"),
            max_iter=_check.cutoff(self.max_iter, name="max_iter"),
            tol=_check.number(self.tol, "tol", low=0.0),
            radius=None if radius is None else _positive(radius, "radius"),
            patience=None if patience is None else _check.cutoff(patience, name="patience"),
        )

    def _solve(self) -> Any:
        return SOLVERS[_check.choice(self.solver, "solver", list(SOLVERS))]

    def _features(self, X: Any, *, reset: bool) -> Any:
        # Non-finite values are left to _inputs, which names the row, the group and the column.
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
        )

    def _validate(self, eval_set: Any, loss: Loss, objective: LinearObjective) -> Validate:
        X, y, qid = _inputs.unpack_eval_set(eval_set)
        features = self._features(X, reset=False)
        rows = _inputs.rows_of(features, y, qid, None, where="eval_set ")
        measure = validator(
            self.eval_measure, rows.relevance, rows.qid, min_relevance=_min_relevance(loss)
        )
        return lambda parameters: measure(times(features, objective.split(parameters)[0]))

    def _keep(self, solution: Solution, objective: LinearObjective) -> None:
        coef, self.intercept_ = objective.split(solution.parameters)
        self.coef_: NDArray[np.float64] = coef.copy()
        history = solution.history
        self.history_ = {"objective": np.array(history.objectives)}
        if history.validation:
            self.history_["validation"] = np.array(history.validation)
        self.best_iteration_ = history.best
        self.objective_ = history.objectives[history.best]
        self.n_iter_ = len(history.objectives)
        self.stop_reason_ = solution.stop_reason

    def _warn(self, solution: Solution) -> None:
        text = _trouble(solution, self._settings())
        if text:
            warnings.warn(f"LinearRanker {text}", ConvergenceWarning, stacklevel=3)

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


def _positive(value: Any, name: str) -> float:
    return _check.number(value, name, low=0.0, strict=True)


def _min_relevance(loss: Loss) -> float:
    """Return what the loss calls a positive, so that validation means the same."""
    return float(getattr(loss, "min_relevance", 1.0))


def _require_trainable(objective: LinearObjective, n_groups: int) -> None:
    """Raise if the loss is defined on no group: how many there are, why, and what to do."""
    value, _ = objective.value_and_grad(np.zeros(objective.n_parameters))
    if not np.isnan(value):
        return
    explain = getattr(objective.loss, "why_undefined", None)
    reason = explain(objective.target) if explain else f"{objective.loss!r} is defined on none."
    one = "The one group cannot" if n_groups == 1 else f"None of the {n_groups} groups can"
    raise ArgumentError(f"{one} be trained on: {reason}")


def _trouble(solution: Solution, settings: Settings) -> str:
    """Return what to warn about, or nothing."""
    history = solution.history
    if solution.stop_reason == "diverged":
        return (
            f"stopped because scores overflowed at iteration {len(history.objectives) - 1}. "
            "Scale the features, or lower learning_rate or l2."
        )
    if not solution.parameters.any():
        return (
            "found nothing better than zero coefficients, which score all rows alike. Give an "
            "eval_set to choose the iterate by, use the losses 'pap-ramp' or 'logistic', or try "
            "another learning_rate."
        )
    if solution.stop_reason == "max_iter":
        last = history.objectives[-10:]
        return (
            f"stopped at max_iter={settings.max_iter}, before it converged: its last {len(last)} "
            f"objectives span {max(last) - min(last):.2g} > tol={settings.tol:g}. "
            "Raise max_iter or tol, scale the features, or change learning_rate."
        )
    return ""
