"""RankBoost as an estimator."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from podium import _check
from podium.errors import ArgumentError, ConvergenceWarning
from podium.metrics import Measure, parse
from podium.papers.xia2009.rankboost.rounds import Course, Judge, boost, pairs_of
from podium.papers.xia2009.rankboost.thresholds import coded
from podium.progress import or_silent
from podium.rankers import inputs
from podium.rankers.estimator import Ranker
from podium.rankers.validation import validator
from podium.types import Mask, PerRow, Progress, RowIndex

_BLOCK = 4096  # rows whose used features are brought together at once


class RankBoost(Ranker):
    """RankBoost: a weighted sum of thresholds on single features, learned from weighted pairs.

    ``score(x) = sum_t alpha_t * [x[feature_t] > threshold_t]``. Each round takes the threshold
    that raises upper rows of the pairs most above lower ones, as pairs are weighted now,
    r = sum of their weights times [upper row above it] - [lower row above it], gives it
    alpha = log((1 + r) / (1 - r)) / 2, and weighs each pair anew by the exponential of its score
    difference, wrong pairs up. Pairs are all rows of one group with different relevance.

    Parameters
    ----------
    n_rounds : int
        Weak rankers at most.
    n_thresholds : int, optional
        Thresholds of each feature at most, with about as many rows between them; without it one
        between any two neighbouring values.
    per : {"pair", "group"}
        "pair": every pair weighs the same at first, as in the source, so that long lists count
        most. "group": every group does, as in `podium.losses.PairwiseExponential`.
    eval_metric : str or Measure
        What `score` returns and what an `eval_set` is measured by.
    patience : int, optional
        With an `eval_set`: stop after this many rounds without a better value. None runs on.
    min_relevance : float
        Relevance from which a row is a positive to measures that know only those; learning
        reads the grades.
    one_group : bool
        Take all rows as one group where no qid arrives, instead of refusing.

    Attributes
    ----------
    feature_ : int64, (n_kept,)
        Feature of each weak ranker, up to the round that was kept: with an `eval_set` the best,
        otherwise the last.
    threshold_ : float64, (n_kept,)
        Halfway between two values of the training rows.
    alpha_ : float64, (n_kept,)
        Weights; negative where smaller values rank higher.
    objective_ : float
        Mean exponential loss of the training pairs after that round.
    best_iteration_ : int
        That round, from 0; -1 where no threshold helped.
    n_iter_ : int
        Rounds run.
    stop_reason_ : {"n_rounds", "patience", "converged", "separated"}
        "n_rounds": n_rounds were run. "converged": no threshold orders the weighted pairs better
        than chance, the loss is at its minimum. "separated": the last one orders all of them.
    history_ : dict of float64, (n_iter_,)
        "objective" and "correlation" (r) by round, and with an eval_set "validation": its mean
        eval_metric, signed so that higher is better.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Coordinate descent on `podium.losses.PairwiseExponential`, whose gradient is what the weights
    of pairs sum to by row: so no pair is stored. The loss never rises, since a round multiplies
    it by at most sqrt(1 - r^2). Of thresholds with equal r, up to rounding, the first feature's
    highest is taken. r is held at 1 - 1e-9, which keeps alpha finite.

    Groups of one row or one relevance have no pairs and teach nothing. Missing features are
    refused. Scales of features do not matter, only their order. Ties in the scores are common
    with few rounds, and count as errors. Weights are of groups.

    Nothing is random. A refit gives the same bits, whatever the number of threads; row order
    does not matter beyond rounding. Cost: a sort of each feature, then each round one pass over
    all stored features of the rows that have pairs.

    References
    ----------
    freund2003, sections 3 and 4.

    Examples
    --------
    >>> from podium.papers.xia2009.rankboost import RankBoost
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2]
    >>> ranker = RankBoost(n_rounds=2, one_group=True).fit(X, y)
    >>> ranker.threshold_, ranker.predict([[9.0], [1.5], [0.4]]).round(3)
    (array([2.5, 0.5]), array([1.589, 0.896, 0.   ]))
    """

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
            Dense or sparse; finite.
        y : (n_rows,)
            Relevance of each row, >= 0.
        qid : (n_rows,), optional
            Group of each row, in any order; needed, or `group`, unless one_group=True.
        sample_weight : (n_rows,) or (n_groups,), optional
            One weight >= 0 per group: in rising order of labels, or repeated on its rows.
        group : (n_groups,), optional
            Sizes of consecutive groups instead of `qid`.
        eval_set : (X, y, qid), optional
            Rows to choose the number of rounds by; (X, y) with one_group=True.
        progress : callable, optional
            Called as ``progress(done, total, note)`` after each round.

        Raises
        ------
        ArgumentError
            For a parameter out of range, non-finite or missing data, lengths that differ,
            negative relevance or weights, weights that vary within a group, groups that were
            not given, or no group with rows of different relevance.

        Warns
        -----
        ConvergenceWarning
            If no threshold of any feature orders the pairs better than chance.
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # what an earlier fit learned
        limits, cuts, per = self._checked()
        features = self._features(X, reset=True)
        rows = inputs.rows_of(features, y, qid, group, reader=self._reader("RankBoost"))
        pairs = pairs_of(rows, inputs.row_weights(sample_weight, rows.groups), per)
        judge = None if eval_set is None else self._judge(eval_set)
        part = features if pairs.kept.size == rows.relevance.size else features[pairs.kept]
        self._keep(boost(coded(part, cuts), pairs, judge, *limits, or_silent(progress)))
        return self

    def predict(self, X: Any) -> PerRow:
        """Return the score of each row, float64, (n_rows,); higher ranks first."""
        check_is_fitted(self)
        features = self._features(X, reset=False)
        inputs.finite_features(features, None, "X")
        used, column = np.unique(self.feature_, return_inverse=True)
        rounds = list(zip(column.tolist(), self.threshold_, self.alpha_, strict=True))
        scores = np.zeros(int(features.shape[0]))
        for start in range(0, scores.size, _BLOCK):
            block = np.asfortranarray(_dense(features[start : start + _BLOCK][:, used]))
            for f, threshold, alpha in rounds:
                scores[start : start + _BLOCK] += alpha * (block[:, f] > threshold)
        return scores

    def check_restored(self) -> None:
        """Raise an ArgumentError unless what a file brought is a model of these features."""
        for name, kinds in (("feature_", "iu"), ("threshold_", "f"), ("alpha_", "f")):
            values = np.asarray(getattr(self, name))
            if values.shape != (self.feature_.size,) or values.dtype.kind not in kinds:
                raise ArgumentError(f"{name} has shape {values.shape} and type {values.dtype}")
            if not np.isfinite(values).all():
                raise ArgumentError(f"{name} is not finite")
        beyond = (self.feature_ < 0) | (self.feature_ >= self.n_features_in_)
        if beyond.any():
            raise ArgumentError(f"feature_ names features beyond the {self.n_features_in_}")

    def _checked(self) -> tuple[tuple[int, int | None], int | None, str]:
        """Check the parameters; return rounds and patience, thresholds, and what weighs alike."""
        _check.number(self.min_relevance, "min_relevance", low=0.0, strict=True)
        parse(self.eval_metric)
        patience, cuts = self.patience, self.n_thresholds
        if patience is not None:
            patience = _check.cutoff(patience, name="patience")
        return (
            (_check.cutoff(self.n_rounds, name="n_rounds"), patience),
            None if cuts is None else _check.cutoff(cuts, name="n_thresholds"),
            _check.choice(self.per, "per", ("pair", "group")),
        )

    def _judge(self, eval_set: Any) -> Judge:
        X, y, qid = inputs.unpack_eval_set(eval_set)
        features = self._features(X, reset=False)
        rows = self._judged_rows(features, y, qid)
        measure = validator(
            self.eval_metric, rows.relevance, rows.qid, min_relevance=self.min_relevance
        )
        columns: Any = features.tocsc() if hasattr(features, "tocsc") else features

        def above(feature: int, threshold: float) -> Mask:
            return _dense(columns[:, [feature]])[:, 0] > threshold

        return Judge(rows.relevance.size, above, measure)

    def _keep(self, course: Course) -> None:
        kept = course.best + 1
        self.feature_ = np.array(course.feature[:kept], np.int64)
        self.threshold_ = np.array(course.threshold[:kept], np.float64)
        self.alpha_ = np.array(course.alpha[:kept], np.float64)
        self.objective_ = course.objective[course.best] if kept else 1.0
        self.best_iteration_ = course.best
        self.n_iter_ = course.n_rounds
        self.stop_reason_ = course.stop_reason
        self.history_ = course.histories
        if not kept:
            warnings.warn(
                "RankBoost found no threshold of any feature that orders the pairs better than "
                "chance: all rows score 0. Check the features and qid.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _min_relevance(self) -> float:
        return self.min_relevance

    def _features(self, X: Any, *, reset: bool) -> Any:
        # Non-finite values are left to `inputs`, which names the row, the group and the column.
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
        )


def _dense(features: Any) -> NDArray[np.float64]:
    return features.toarray() if hasattr(features, "toarray") else features
