"""The estimator of RankBoost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from podium.errors import ArgumentError, ConvergenceWarning, warn
from podium.losses import Loss
from podium.metrics import Measure, parse_relevance
from podium.progress import or_silent
from podium.rankers import inputs
from podium.rankers.estimator import Ranker
from podium.rankers.validation import validator
from podium.types import Mask, PerRow, Progress, RowIndex
from podium_studies import checks
from podium_studies.xia2009.rankboost.rounds import Course, Judge, boost, pairs_of
from podium_studies.xia2009.rankboost.thresholds import coded

_BLOCK = 4096  # number of rows that are scored at once


class RankBoost(Ranker):
    """RankBoost: a weighted sum of thresholds on single features, learned from weighted pairs.

    The score is ``score(x) = sum_t alpha_t * [x[feature_t] > threshold_t]``. A pair consists of
    two rows of one group with different relevance; the upper row is the more relevant one. Each
    round selects the threshold with the largest absolute correlation r, the weighted sum over
    pairs of ``[upper row above the threshold] - [lower row above the threshold]``. Its weight is
    ``alpha = log((1 + r) / (1 - r)) / 2``. Then each pair is weighted by the exponential of its
    score difference, so that wrongly ordered pairs gain weight.

    Parameters
    ----------
    n_rounds : int
        The maximum number of weak rankers.
    n_thresholds : int, optional
        The maximum number of thresholds per feature, with about equally many rows between them.
        By default, there is one threshold between any two neighbouring values.
    per : {"pair", "group"}
        The unit of equal initial weights. With "pair", as in the source, all pairs have the same
        weight, so that long lists count most. With "group", all groups have the same weight, as
        in `PairwiseExponential`.
    eval_metric : str or Measure
        The measure on the `eval_set`, which `score` returns too.
    patience : int, optional
        The number of rounds without a better value on the `eval_set` after which the fit stops.
        By default, it does not stop early.
    min_relevance : float
        The least relevance of a positive, for binary measures. Learning uses the grades.
    one_group : bool
        Whether to treat all rows as one group if `qid` is missing, instead of raising an error.

    Attributes
    ----------
    feature_ : int64, (n_kept,)
        The feature of each weak ranker, up to the selected round. This is the best round on the
        `eval_set`, or else the last.
    threshold_ : float64, (n_kept,)
        The thresholds, halfway between two values of the training rows.
    alpha_ : float64, (n_kept,)
        The weights, which are negative if smaller values rank higher.
    objective_ : float
        The mean exponential loss of the training pairs after the selected round.
    best_iteration_ : int
        The selected round, from 0, or -1 if no threshold improves the loss.
    n_iter_ : int
        The number of rounds run.
    stop_reason_ : {"n_rounds", "patience", "converged", "separated"}
        The reason for stopping. "converged": no threshold orders the weighted pairs better than
        chance, so that the loss is at its minimum. "separated": the last threshold orders all
        pairs correctly.
    history_ : dict of float64, (``n_iter_``,)
        The values "objective" and "correlation" (r) by round, and with an eval_set "validation",
        its mean eval_metric, with the sign for which higher is better.
    n_features_in_, feature_names_in_
        The attributes of scikit-learn.

    Notes
    -----
    The fit is coordinate descent on `PairwiseExponential`. Only the sums of pair
    weights by row are needed, which are the gradient of this loss, so that pairs are not stored.
    The loss never increases, because each round multiplies it by at most sqrt(1 - r^2). Of
    thresholds with equal r up to rounding, the highest threshold of the first feature is selected.
    The absolute value of r is at most 1 - 1e-9 in alpha, which is therefore finite.

    Groups with one row or equal relevance have no pairs and do not contribute. Missing features
    raise an error. Only the order of a feature's values matters, not its scale. Ties of scores are
    common after few rounds, and count as errors. Weights are per group.

    Nothing is random. The result of a refit is bitwise equal for any number of threads. The order
    of rows has no effect beyond rounding. Cost: a sort of each feature, and one pass per round over
    all stored features of the rows with pairs.

    References
    ----------
    freund2003, sections 3 and 4.

    Examples
    --------
    >>> from podium_studies.xia2009.rankboost import RankBoost
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2]
    >>> ranker = RankBoost(n_rounds=2, one_group=True).fit(X, y)
    >>> ranker.threshold_, ranker.predict([[9.0], [1.5], [0.4]]).round(3)
    (array([2.5, 0.5]), array([1.589, 0.896, 0.   ]))
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "n_thresholds": [10, 30, 100]  # per feature; with fewer, RankBoost fits less noise
    }
    length_parameter: ClassVar[str] = "n_rounds"

    feature_: RowIndex
    threshold_: NDArray[np.float64]
    alpha_: NDArray[np.float64]
    n_features_in_: int

    def __init__(
        self,
        n_rounds: int = 300,
        *,
        n_thresholds: int | None = None,
        per: str = "pair",
        eval_metric: str | Measure = "ndcg@10",
        patience: int | None = None,
        min_relevance: float = 1.0,
        one_group: bool = False,
    ) -> None:
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds
        self.per = per
        self.eval_metric = eval_metric
        self.patience = patience
        self.min_relevance = min_relevance
        self.one_group = one_group

    @classmethod
    def reads_grades(cls, loss: Loss | str | None) -> bool:
        """Return True: pairs have a more and a less relevant row."""
        del loss
        return True

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
        """Learn the weak rankers and their weights.

        Parameters
        ----------
        X : (n_rows, n_features)
            The features, dense or sparse, all finite.
        y : (n_rows,)
            The relevance of each row, >= 0.
        qid : (n_rows,), optional
            The group of each row, in any order. Either `qid` or `group` is required unless
            one_group=True.
        sample_weight : (n_rows,) or (n_groups,), optional
            One weight >= 0 per group, in ascending order of labels, or repeated on its rows.
        group : (n_groups,), optional
            The sizes of consecutive groups, instead of `qid`.
        eval_set : (X, y, qid), optional
            The rows on which the number of rounds is chosen; (X, y) with one_group=True.
        progress : callable, optional
            The function that is called as ``progress(done, total, note)`` after each round.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            If a parameter is out of range, data are missing or not finite, lengths differ, a
            relevance or a weight is negative, weights vary within a group, groups are missing, or
            no group has rows of different relevance.

        Warns
        -----
        ConvergenceWarning
            If no threshold of any feature orders the pairs better than chance.
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # attributes of an earlier fit
        limits, n_thresholds, per = self._checked()
        features = self._features(X, reset=True)
        rows = inputs.rows_of(features, y, qid, group, reader=self._reader("RankBoost"))
        pairs = pairs_of(rows, inputs.row_weights(sample_weight, rows.groups), per)
        judge = None if eval_set is None else self._judge(eval_set)
        pair_features = features if pairs.rows.size == rows.relevance.size else features[pairs.rows]
        self._set_attributes(
            boost(coded(pair_features, n_thresholds), pairs, judge, *limits, or_silent(progress))
        )
        return self

    def predict(self, X: Any) -> PerRow:
        """Return the score of each row, float64, (n_rows,). Rows with higher scores rank first."""
        check_is_fitted(self)
        features = self._features(X, reset=False)
        inputs.finite_features(features, None, "X")
        used_features, column = np.unique(self.feature_, return_inverse=True)
        rounds = list(zip(column.tolist(), self.threshold_, self.alpha_, strict=True))
        scores = np.zeros(int(features.shape[0]))
        for start in range(0, scores.size, _BLOCK):
            block = np.asfortranarray(_dense(features[start : start + _BLOCK][:, used_features]))
            for i, threshold, alpha in rounds:
                scores[start : start + _BLOCK] += alpha * (block[:, i] > threshold)
        return scores

    def check_restored(self) -> None:
        """Check that attributes from a file are a model of these features.

        Raises
        ------
        ArgumentError
            If a shape or type is wrong, a value is not finite, or a feature does not exist.
        """
        for name, dtype_kinds in (("feature_", "iu"), ("threshold_", "f"), ("alpha_", "f")):
            values = np.asarray(getattr(self, name))
            if values.shape != (self.feature_.size,) or values.dtype.kind not in dtype_kinds:
                raise ArgumentError(f"{name} has shape {values.shape} and type {values.dtype}")
            if not np.isfinite(values).all():
                raise ArgumentError(f"{name} is not finite")
        does_not_exist = (self.feature_ < 0) | (self.feature_ >= self.n_features_in_)
        if does_not_exist.any():
            raise ArgumentError(
                f"feature_ has a feature that is not one of the {self.n_features_in_}"
            )

    def _checked(self) -> tuple[tuple[int, int | None], int | None, str]:
        """Return the checked ((n_rounds, patience), n_thresholds, per)."""
        checks.positive(self.min_relevance, "min_relevance")
        parse_relevance(self.eval_metric)
        patience, n_thresholds = self.patience, self.n_thresholds
        if patience is not None:
            patience = checks.cutoff(patience, name="patience")
        return (
            (checks.cutoff(self.n_rounds, name="n_rounds"), patience),
            None if n_thresholds is None else checks.cutoff(n_thresholds, name="n_thresholds"),
            checks.choice(self.per, "per", ("pair", "group")),
        )

    def _judge(self, eval_set: Any) -> Judge:
        rows = self._eval_rows(eval_set)
        features, min_relevance = rows.features, self.min_relevance
        measure = validator(
            self.eval_metric, rows.relevance, rows.groups, min_relevance=min_relevance
        )
        columns: Any = features.tocsc() if hasattr(features, "tocsc") else features

        def above(feature: int, threshold: float) -> Mask:
            return _dense(columns[:, [feature]])[:, 0] > threshold

        return Judge(rows.relevance.size, above, measure)

    def _set_attributes(self, course: Course) -> None:
        n_kept = course.best + 1
        self.feature_ = np.array(course.feature[:n_kept], np.int64)
        self.threshold_ = np.array(course.threshold[:n_kept], np.float64)
        self.alpha_ = np.array(course.alpha[:n_kept], np.float64)
        self.objective_ = course.objective[course.best] if n_kept else 1.0
        self.best_iteration_ = course.best
        self.n_iter_ = course.n_rounds
        self.stop_reason_ = course.stop_reason
        self.history_ = course.histories
        if not n_kept:
            warn(
                "RankBoost found no threshold of any feature that orders the pairs better than "
                "chance, so that all scores are 0. Check the features and qid.",
                ConvergenceWarning,
            )

    def min_relevance_in_use(self) -> float:
        """Return the smallest relevance of a positive: the parameter `min_relevance`."""
        return checks.positive(self.min_relevance, "min_relevance")


def _dense(features: Any) -> NDArray[np.float64]:
    return features.toarray() if hasattr(features, "toarray") else features
