"""Repeated logistic regression on the rows at the top."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from podium.errors import ArgumentError
from podium.losses import PApRamp
from podium.losses.inputs import group_weights
from podium.losses.pap import PApTarget
from podium.metrics import Measure
from podium.rankers.logistic import Classifier, require_both_classes
from podium.rankers.objective import times
from podium.types import PerRow, Progress, RowIndex
from podium_studies import checks
from podium_studies.hiranandani2020.baselines.linear import Coefficients, LinearBaseline, Task


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

    def __init__(
        self,
        k: int = 10,
        *,
        C: float = 1.0,
        start: str = "logistic",
        max_rounds: int = 20,
        eval_metric: str | Measure | None = None,
        clip: bool = False,
        min_relevance: float = 1.0,
        random_state: int = 0,
        one_group: bool = False,
    ) -> None:
        self.k = k
        self.C = C
        self.start = start
        self.max_rounds = max_rounds
        self.eval_metric = eval_metric
        self.clip = clip
        self.min_relevance = min_relevance
        self.random_state = random_state
        self.one_group = one_group

    def _learn(self, task: Task, progress: Progress) -> None:
        n_rounds = checks.cutoff(self.max_rounds, name="max_rounds")
        classifier = Classifier(C=self.C)
        target = self._target(task)
        coef, values, seen_pools = (
            self._start_coefficients(task, classifier),
            list[float](),
            set[bytes](),
        )
        best_coef, self.stop_reason_ = coef, "max_rounds"
        while len(values) < n_rounds:
            pool = top_rows(times(task.rows.features, coef), target)
            if pool.tobytes() in seen_pools:
                self.stop_reason_ = "repeated"
                break
            seen_pools.add(pool.tobytes())
            coef, *_ = classifier.fit(task.rows.features, task.positive, task.weights, pool)
            values.append(task.evaluate_coef(coef))
            best_coef = coef if values[-1] > max(values[:-1], default=-np.inf) else best_coef
            progress(len(values), n_rounds, f"measure {values[-1]:.4f}")
        progress(n_rounds, n_rounds, self.stop_reason_)
        self.coef_, self.intercept_ = best_coef, 0.0
        self.best_iteration_, self.n_iter_ = int(np.argmax(values)), len(values)
        self.history_ = {"measure": np.array(values)}

    def _target(self, task: Task) -> PApTarget:
        """Return the target with the numbers of rows per group in a pool."""
        loss = PApRamp(self.k, clip=self.clip, min_relevance=self.min_relevance)
        require_both_classes(task.positive, task.weights, self.min_relevance)
        group_weights(task.weights, task.rows.groups, f"Select-pAp@{loss.k}")  # only a check
        target = loss.prepare(task.rows.relevance, task.rows.groups)
        if not target.defined.any():
            n_groups = task.rows.groups.n_groups
            reason = loss.why_undefined(target).replace(loss.name, f"Select-pAp@{loss.k}", 1)
            raise ArgumentError(f"None of the {n_groups} groups can be trained on: {reason}")
        return target

    def _start_coefficients(self, task: Task, classifier: Classifier) -> Coefficients:
        """Return the coefficients that score the first pool."""
        start = checks.choice(self.start, "start", ("logistic", "normal"))
        seed = checks.integer(self.random_state, "random_state")
        if start == "logistic":
            return classifier.fit(task.rows.features, task.positive, task.weights)[0]
        return np.random.default_rng(seed).standard_normal(int(task.rows.features.shape[1]))


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
