"""A linear ranker, trained with any loss of podium."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ConvergenceWarning, hint, warn
from podium.losses import Loss
from podium.metrics import Measure
from podium.rankers import fitting
from podium.rankers.estimator import FitData, LinearScores
from podium.rankers.inputs import Rows
from podium.rankers.objective import LinearObjective, times
from podium.rankers.solvers import SOLVERS
from podium.rankers.solvers._common import KEEP, Validate
from podium.types import Progress


@dataclass(eq=False, repr=False)
class LinearRanker(LinearScores):
    """A ranker that scores ``X @ coef_ + intercept_``, learned from relevance in groups.

    Minimises the mean group loss plus ``l2 / 2 * ||coef||^2``.

    Parameters
    ----------
    loss : Loss or str, optional
        A loss, or its name, such as ``"pap-avg@10"``; by default `podium.losses.PApLogistic`.
    l2 : float
        The penalty on the coefficients, >= 0; the intercept is not penalised.
    fit_intercept : bool
        Whether to learn an intercept. It stays 0 for a loss that declares `shift_invariant`,
        which depends only on differences of scores.
    solver : {"auto", "subgradient", "stochastic", "lbfgs"}
        The solver. "stochastic" uses mini-batches of groups. "auto" is "lbfgs" if the loss declares
        `smooth`, and otherwise "subgradient".
    learning_rate : float, optional
        The step length of "subgradient" and "stochastic"; "lbfgs" sets its own steps.
        Update t, from 0, has length ``learning_rate / sqrt(t + 1)`` times the subgradient. The
        default is 0.5. For a loss that declares `smooth`, the default is lowered to one over the
        largest curvature at the start if that is less than 0.5, because losses that are sums over
        a list have large gradients.
    max_iter : int
        The maximum number of iterations, including the start; for "stochastic", the
        maximum number of passes over the groups.
    tol : float
        The tolerance of convergence. "subgradient" and "stochastic" have converged once the last
        ten objectives span at most `tol`, and "lbfgs" once no component of the gradient is larger.
    start : {"auto", "zero", "normal", "logistic"}
        The first iterate: zero (as in the paper), standard normal numbers drawn with
        `random_state` (as in the reference implementation), or logistic regression on the same
        rows with the same l2. "auto" is zero, except with an `eval_set` and a loss with kinks that
        rises in the direction of descent from zero, as many hinge losses do. It is then logistic
        regression.
    keep : {"best", "best_loss", "last"}
        The iterate to keep. "best" is the one with the best measure on the `eval_set`, or without
        an `eval_set` with the lowest objective (the last one if the loss `reweights`). "best_loss"
        is the one with the lowest loss without the penalty (as in the reference implementation).
        "last" is the last one (as in the paper).
    batch_size : int
        The number of groups in a mini-batch, for "stochastic".
    random_state : int
        The seed of "stochastic", of start="normal" and of losses that put tied rows in a random
        order. This order is the same for all solvers and batches.
    eval_metric : str or Measure, optional
        The measure that `score` returns, and the measure on an `eval_set`. None is ndcg@10 for
        grades (a loss that reads them, or labels of more than two values), else pap@10.
    patience : int, optional
        The number of iterations without a better value on the `eval_set` after which the fit stops.
        With None, the fit does not stop early.
    one_group : bool
        Whether to treat all rows as one group if there is no qid. With False, a missing qid is an
        error if the loss or the measure uses groups.

    Attributes
    ----------
    coef_ : float64, (n_features,)
    intercept_ : float
    objective_ : float
        The training objective of the kept parameters.
    best_iteration_ : int
        The iteration, from 0, of the kept parameters.
    n_iter_ : int
        The number of iterations run.
    stop_reason_ : {"converged", "patience", "max_iter", "stalled", "diverged"}
        The reason why the fit stopped. "stalled": because of rounding, no step lowers the
        objective, although `tol` is not reached. "diverged": scores overflowed; the parameters are
        those of an earlier iterate.
    history_ : dict of float64, (``n_iter_``,)
        The values per iteration. "objective" is the training objective. With an eval_set,
        "validation" is its mean eval_metric, signed so that higher is better.
    n_features_in_, feature_names_in_
        The number and names of features, as in scikit-learn.

    Notes
    -----
    If no linear model separates positives from negatives, the minimum of the surrogates of pAp@k
    with hinges can be at zero coefficients, and `fit` refuses to return them. In this case, pass an
    `eval_set`, or use the loss `PApLogistic`. With an `eval_set`, the fit starts from logistic
    regression and keeps the best iterate, which can be the start itself: descent lowers the loss by
    shrinking the coefficients to zero.

    A loss that ignores the scale of the scores, such as `RankCosine`, has no minimum with l2 > 0,
    because smaller coefficients are always better: pass l2=0.

    Steps and penalties depend on the scale of the features, so standardise the features first, for
    example with ``make_pipeline(StandardScaler(), LinearRanker(...))``. A pipeline does not
    transform an `eval_set`: transform it with the same scaler. Features of type float32 keep their
    type and are not copied if they are C-ordered or CSR; sums are in float64.

    If the rows of each group are contiguous, the order of the groups does not change any bit of the
    result. Otherwise the order of rows changes the result only by rounding. A random order of tied
    rows is drawn by their features, so that it does not depend on the order of rows in a file. A
    second fit on the same data gives the same bits with any number of threads.

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

    default_loss: ClassVar[str | None] = "pap-logistic"
    graded_loss: ClassVar[str | None] = "robirank"
    _types: ClassVar[tuple[Any, ...]] = (np.float64, np.float32)

    constraints: ClassVar[_check.Constraints] = {
        "keep": partial(_check.choice, options=KEEP),
        "start": partial(_check.choice, options=fitting.STARTS),
    }

    loss: Loss | str | None = None
    _: KW_ONLY
    l2: float = 1e-4
    fit_intercept: bool = True
    solver: str = "auto"
    learning_rate: float | None = None
    max_iter: int = 500
    tol: float = 1e-4
    start: str = "auto"
    keep: str = "best"
    batch_size: int = 16
    random_state: int = 0
    eval_metric: str | Measure | None = None
    patience: int | None = 50
    one_group: bool = False

    def _learn(self, data: FitData, progress: Progress) -> None:
        checked, loss, solver = data.parameters, self._loss(), self.solver_in_use()
        settings = fitting.settings_of(checked)
        labels, places = fitting.labels_of(loss, data.rows)
        target = fitting.target_of(loss, labels, settings.seed)
        intercept = checked["fit_intercept"] and not loss.shift_invariant
        features, l2 = data.rows.features, checked["l2"]
        objective = LinearObjective(features, loss, target, l2, intercept, places, labels=labels)
        validate = None if data.valid is None else self._validate(data.valid, objective)
        validated = validate is not None
        settings = fitting.with_suited_keep(settings, loss, validated=validated)
        start = fitting.start_point(self.start, objective, settings.seed, validated=validated)
        rate = checked["learning_rate"]
        if rate is None and solver in fitting.STEPPING:
            rate = fitting.first_step(objective, start)
        settings = replace(settings, start=start, learning_rate=rate or settings.learning_rate)
        solution = SOLVERS[solver](objective, settings, validate, progress)
        fitting.refuse_zero(solution, objective)
        coef, self.intercept_ = objective.split(solution.parameters)
        self.coef_: NDArray[np.float64] = coef.copy()
        fitting.keep(self, solution)
        text = fitting.warning_text(solution, settings, solver)
        if text:
            is_limit = solution.stop_reason == "max_iter"
            kind = fitting.LimitWarning if is_limit else ConvergenceWarning
            warn(f"{hint('LinearRanker ')}{text}", kind)

    def solver_in_use(self) -> str:
        """Return the solver that `fit` runs: `solver`, or the choice of "auto"."""
        name = _check.choice(self.solver, "solver", ["auto", *SOLVERS])
        if name != "auto":
            return name
        return "lbfgs" if self._loss().smooth else "subgradient"

    def has_free_steps(self) -> bool:
        """Return whether `learning_rate` is a step length that the loss does not determine."""
        smooth = self._loss().smooth  # its curvature determines the step
        return not smooth and self.solver_in_use() in fitting.STEPPING

    def _validate(self, rows: Rows, objective: LinearObjective) -> Validate:
        measure = self._validator(rows)
        return lambda parameters: measure(times(rows.features, objective.split(parameters)[0]))
