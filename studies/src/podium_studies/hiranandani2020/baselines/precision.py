"""SGD@k-avg: the average surrogate of precision at k, and a ranker that minimises it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from podium.losses.base import Out
from podium.losses.pap import PApLoss, PApTarget
from podium.metrics import Measure
from podium.rankers.linear import LinearRanker
from podium.types import PerRow, Progress
from podium_studies import checks
from podium_studies.hiranandani2020.baselines.linear import LinearBaseline, Task


@dataclass(frozen=True)
class PrecisionAverage(PApLoss):
    """The average surrogate of precision at k.

    The value of a group is ``max_{k'} [K - k' - D sum_{i>k'} s(i) + sum_{j<=K-k'} t(j)] / k``.
    The maximum is over the numbers k' of positives in a list of K = min(k, n_pos) items,
    ``D = (K - k') / (n_pos - k')``, and s and t are the scores of positives and negatives in
    descending order. Each group has its own k'.

    Parameters
    ----------
    k : int
        The cutoff in items, at least 1.
    clip : bool
        Whether to train on groups with fewer than k negatives too.
    min_relevance : float
        The least relevance of a positive.

    Notes
    -----
    The loss is convex. It is K / k if all scores are equal. It is never below
    ``K / k - prec@k``, the difference between the best precision at k and the actual one, with
    ties counted as errors. The source states it for k <= n_pos, for which this difference is
    1 - prec@k.

    References
    ----------
    kar2015.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PrecisionAverage(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([0.5, 0.0, 0.0]), target)
    (array([0.75]), array([-0.5,  1. , -0.5]))
    """

    name: ClassVar[str] = "prec-avg"
    convex: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = None

    def _run(self, scores: PerRow, target: PApTarget, out: Out) -> None:
        from podium_studies.hiranandani2020.baselines.precision_kernels import precision_average

        values, grad, curvature = out
        precision_average(scores, target.tops, self.k, values, grad)
        if curvature.size:
            curvature[:] = 2.0 * np.abs(grad)  # kinks smoothed over one score unit, as in pAp@k


class SGDAtK(LinearBaseline):
    """SGD@k-avg: a `LinearRanker` with the loss `PrecisionAverage`.

    Parameters
    ----------
    k : int
        The cutoff of the loss and of the measure.
    l2 : float
        The weight of the penalty ``l2 / 2 * ||coef||^2``, >= 0.
    learning_rate : float
        The step length. Step t, from 0, is ``learning_rate / sqrt(t + 1)`` times the subgradient.
    solver : {"subgradient", "stochastic"}
        The solver, which uses all groups at each step, or mini-batches of groups.
    start, keep, batch_size, random_state
        The parameters of `LinearRanker`.
    max_iter : int
        The maximum number of iterations.
    tol : float
        The tolerance. The fit has converged if the last ten objectives differ by at most `tol`.
    patience : int, optional
        The number of iterations without a better value on the eval_set after which the fit stops.
    eval_metric : str or Measure, optional
        The measure on the eval_set, which `score` returns too. The default is pap@k.
    clip : bool
        Whether to train on groups with fewer than k negatives too.
    min_relevance : float
        The least relevance of a positive.
    one_group : bool
        Whether to treat all rows as one group if `qid` is missing, instead of raising an error.

    Attributes
    ----------
    coef_, intercept_, objective_, best_iteration_, n_iter_, stop_reason_, history_
        The attributes of `LinearRanker`.

    Notes
    -----
    Each group has its own number of true positives k', and values are shares of k. In the code
    that the paper compares with, all users have the same k'.

    References
    ----------
    kar2015.
    hiranandani2020, section 7.3.2.

    Examples
    --------
    >>> from podium_studies.hiranandani2020.baselines import SGDAtK
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> ranker = SGDAtK(k=1, l2=0.0, learning_rate=1.0, tol=0.1, one_group=True)
    >>> ranker.fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        k: int = 10,
        *,
        l2: float = 1e-4,
        learning_rate: float = 0.5,
        solver: str = "subgradient",
        max_iter: int = 500,
        tol: float = 1e-4,
        start: str | ArrayLike = "zero",
        keep: str = "best",
        batch_size: int = 16,
        random_state: int = 0,
        patience: int | None = 50,
        eval_metric: str | Measure | None = None,
        clip: bool = False,
        min_relevance: float = 1.0,
        one_group: bool = False,
    ) -> None:
        self.k = k
        self.l2 = l2
        self.learning_rate = learning_rate
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.start = start
        self.keep = keep
        self.batch_size = batch_size
        self.random_state = random_state
        self.patience = patience
        self.eval_metric = eval_metric
        self.clip = clip
        self.min_relevance = min_relevance
        self.one_group = one_group

    def _learn(self, task: Task, progress: Progress) -> None:
        ranker = LinearRanker(
            PrecisionAverage(self.k, clip=self.clip, min_relevance=self.min_relevance),
            l2=self.l2,
            learning_rate=self.learning_rate,
            solver=checks.choice(self.solver, "solver", ("subgradient", "stochastic")),
            max_iter=self.max_iter,
            tol=self.tol,
            start=self.start,
            keep=self.keep,
            batch_size=self.batch_size,
            random_state=self.random_state,
            patience=self.patience,
            eval_metric=self._measure(),
            one_group=self.one_group,
        )
        rows, valid = task.rows, task.eval_rows
        ranker.fit(
            rows.features,
            rows.relevance,
            rows.groups.labels[rows.groups.index],
            sample_weight=task.weights,
            eval_set=None if valid is None else (valid.features, valid.relevance, valid.qid),
            progress=progress,
        )
        self._copy_learned(ranker)
