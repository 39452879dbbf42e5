"""Repeated logistic regression on the rows at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.losses import PApRamp
from podium.losses.pap import PApTarget
from podium.rankers import logistic
from podium.rankers.objective import Parameters, times
from podium.types import PerRow, Progress, RowIndex
from podium_studies import checks
from podium_studies.baseline import Task
from podium_studies.hiranandani2020.baselines.linear import LinearBaseline


@dataclass(eq=False, repr=False, kw_only=True)
class SelectPAp(LinearBaseline):
    """Select-pAp@k: repeated logistic regression on a pool of the current top rows.

    Each round pools the min(k, n_pos) best positives and the k best negatives of each group by the
    current scores, and fits a logistic regression to the pool. The fit stops if a pool repeats an
    earlier one, or after max_rounds. The model is that of the round with the best mean measure.

    Parameters
    ----------
    k : int
        The cutoff of the pool and of the measure.
    C : float
        The inverse of the penalty, > 0, as in `LogisticRanker`.
    start : {"logistic", "normal"}
        The model that scores the first pool: a logistic regression on all rows, or standard normal
        coefficients.
    max_rounds : int
        The maximum number of rounds.
    eval_metric : str or Measure, optional
        The measure that selects the round and that `score` returns. The default is pap@k.
    clip : bool
        Whether to pool groups with fewer than k negatives too.
    min_relevance : float
        The least relevance of a positive.
    random_state : int
        The seed of ``start="normal"``.
    one_group : bool
        Whether to treat all rows as one group if `qid` is missing, instead of raising an error.

    Attributes
    ----------
    coef_ : float64, (n_features,)
        The coefficients.
    intercept_ : float
        Always 0, because an intercept does not change the order.
    best_iteration_ : int
        The selected round, from 0.
    n_iter_ : int
        The number of rounds run.
    stop_reason_ : {"repeated", "max_rounds"}
        The reason for stopping.
    history_ : dict of float64, (``n_iter_``,)
        "measure" is the mean measure after each round, on the eval_set if there is one.
    n_features_in_, feature_names_in_
        The attributes of scikit-learn.

    Notes
    -----
    The start itself is never selected; "logistic" would be the same as `LogisticRanker`. If
    classes overlap, rounds alternate and do not converge. The pool contains the highest-scored
    positives and the highest-scored negatives, and the difference between them points the wrong
    way, so that the next scores are nearly reversed. Cost: a logistic regression on at most 2k
    rows per group in each round.

    References
    ----------
    budhiraja2020, algorithm 1.
    hiranandani2020, section 7.3.2.

    Examples
    --------
    >>> from podium_studies.hiranandani2020.baselines import SelectPAp
        >>> ranker = SelectPAp(k=1, one_group=True).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> ranker.score([[0.0], [1.0]], [0, 1])
    1.0
    """

    length_parameter: ClassVar[str] = "max_rounds"

    C: float = 1.0
    start: str = "logistic"
    max_rounds: int = 20
    random_state: int = 0

    def _coefficients(self, task: Task, progress: Progress) -> Parameters:
        n_rounds = checks.cutoff(self.max_rounds, name="max_rounds")
        seed = checks.integer(self.random_state, "random_state")
        target = task.target(PApRamp(self.k, clip=self.clip, min_relevance=self.min_relevance))
        logistic.require_both_classes(task.positive, task.weights, self.min_relevance)
        rows, C = (task.rows.features, task.positive, task.weights), self.C
        if checks.choice(self.start, "start", ("logistic", "normal")) == "logistic":
            coef, *_ = logistic.fitted(*rows, C=C)
        else:
            coef = np.random.default_rng(seed).standard_normal(int(rows[0].shape[1]))
        coefs, values = list[Parameters](), list[float]()
        pools, self.stop_reason_ = set[bytes](), "max_rounds"
        while len(values) < n_rounds:
            pool = top_rows(times(rows[0], coef), target)
            if pool.tobytes() in pools:
                self.stop_reason_ = "repeated"
                break
            pools.add(pool.tobytes())
            features, positive, weights = rows
            weights = None if weights is None else weights[pool]
            coef, *_ = logistic.fitted(features[pool], positive[pool], weights, C=C)
            coefs.append(coef)
            values.append(task.evaluate_coef(coef))
            progress(len(values), n_rounds, f"measure {values[-1]:.4f}")
        progress(n_rounds, n_rounds, self.stop_reason_)
        self.best_iteration_, self.n_iter_ = int(np.argmax(values)), len(values)
        self.history_ = {"measure": np.array(values)}
        return coefs[self.best_iteration_]


def top_rows(scores: PerRow, target: PApTarget) -> RowIndex:
    """Return the rows of each group's best positives and negatives, in ascending order.

    The numbers per group are `n_top` and `n_neg` of the target. Of rows with equal scores, the
    earlier one comes first.
    """
    rows, sizes = target.rows, np.diff(target.bounds)
    block = np.repeat(np.arange(sizes.size), sizes)  # one block per group and class
    limits = np.column_stack([target.n_top, target.n_neg]).ravel()
    order = np.lexsort((-scores[rows], block))
    rank_in_block = np.arange(rows.size) - np.repeat(target.bounds[:-1], sizes)
    return np.sort(rows[order[rank_in_block < limits[block]]])
