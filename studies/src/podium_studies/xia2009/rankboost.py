"""RankBoost: a sum of thresholds on single features, learned round by round.

Weights of pairs are summed by row to potentials, so that pairs are not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.errors import ArgumentError, ConvergenceWarning, warn
from podium.groups import Groups
from podium.losses import Loss
from podium.losses.inputs import group_weights
from podium.losses.pairwise import PairTarget
from podium.metrics import Measure
from podium.rankers import inputs
from podium.types import PerGroup, PerRow, Progress, RowIndex
from podium_studies import checks
from podium_studies.baseline import Baseline, Task
from podium_studies.xia2009.exponential import PairwiseExponential

_SURE = 1.0 - 1e-9  # largest correlation in alpha, which is therefore at most 10.7
_NOTHING = 1e-9  # largest correlation that counts as zero
_EQUAL = 1e-12  # difference up to which sums count as equal despite rounding


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows of groups that have pairs and a positive weight, and the weights of pairs.

    Attributes
    ----------
    rows : int64, (n_rows,)
        The positions of these rows in the caller's rows.
    target : PairTarget
        The target of these rows.
    scale : float64, (n_groups,)
        The initial weight of a pair of each group. The sum over all pairs is 1.
    """

    rows: RowIndex
    target: PairTarget
    scale: PerGroup

    def potentials(self, scores: PerRow) -> tuple[float, PerRow]:
        """Return the mean exponential loss and the potential of each row, float64 (n_rows,).

        The weight of a pair with upper row i and lower row j is proportional to
        ``exp(s_j - s_i)`` and to the pair's initial weight; all weights sum to 1. The potential of
        a row is the weight of the pairs in which it is the upper row, less the weight of those in
        which it is the lower row. The sum of potentials times the values of a function is the mean
        difference of the function between upper and lower rows. The exponents are relative to the
        worst pair, so that weights remain finite however small the loss is.
        """
        from podium_studies.xia2009.exponential_kernels import exponential_pairs, smallest_gap

        layout = (self.target.rows, self.target.bounds, self.target.levels)
        worst = smallest_gap(scores, *layout)
        values, grad = np.zeros(self.scale.size), np.zeros(scores.size)
        exponential_pairs(scores, (*layout, self.scale, 1.0), worst, (values, grad, np.empty(0)))
        total = float(values.sum())
        return total * float(np.exp(-worst)), -grad / total


def pairs_of(rows: inputs.Rows, weights: PerRow | None, per: str) -> Pairs:
    """Return the pairs of rows with different relevance.

    Raises
    ------
    ArgumentError
        If there is no pair, or all groups with pairs have a weight of zero.
    """
    groups = rows.groups
    target = PairwiseExponential().prepare(rows.relevance, groups)
    weights_by_group = group_weights(weights, groups, "RankBoost")
    is_used = target.defined & (weights_by_group > 0)
    if not is_used.any():
        reason = "all weights are zero" if target.defined.any() else "no group has them"
        raise ArgumentError(
            "RankBoost needs two rows of different relevance in a group with sample_weight > 0, "
            f"and {reason} (n_samples = {groups.n_rows}). Check y, qid and sample_weight."
        )
    kept_rows, weights_by_group = np.flatnonzero(is_used[groups.index]), weights_by_group[is_used]
    kept_groups = Groups.from_qid(groups.index[kept_rows])
    target = PairwiseExponential().prepare(rows.relevance[kept_rows], kept_groups)
    scale = weights_by_group / weights_by_group.max()  # so that no sum of weights overflows
    if per == "group":
        scale /= target.n_pairs
    return Pairs(kept_rows, target, scale / float((scale * target.n_pairs).sum()))


class Thresholds:
    """The thresholds of the training rows' features, and the sums of potentials above them.

    Attributes
    ----------
    feature : int64, (n_thresholds,)
        The feature of each threshold, rising.
    value : float64, (n_thresholds,)
        The thresholds, from the highest of each feature down.
    """

    def __init__(self, features: NDArray[np.float64], most: int | None) -> None:
        columns = [np.unique(column, return_counts=True) for column in features.T]
        cuts = [_cuts(*column, most) for column in columns]
        self.feature = np.repeat(np.arange(len(cuts)), [cut.size for cut in cuts])
        self.value = np.concatenate([np.empty(0), *(cut[::-1] for cut in cuts)])
        # The code of a row is the number of the feature's thresholds that it exceeds.
        self._codes: list[tuple[RowIndex, int]] = [
            (np.searchsorted(cut, column, side="left"), cut.size + 1)
            for cut, column in zip(cuts, features.T, strict=True)
        ]

    def best(self, potential: PerRow) -> tuple[float, int, float]:
        """Return the sum of potentials above the best threshold, its feature and its value.

        The weak ranker of freund2003 is 1 above its threshold and 0 below. The sum is r, and the
        best threshold has the largest abs(r). Of equal sums (up to rounding), it is the highest
        threshold of the first feature. The sum is 0 if there is no threshold.
        """
        by_code = (np.bincount(codes, potential, n) for codes, n in self._codes)
        sums = np.concatenate([np.empty(0), *(np.cumsum(column[:0:-1]) for column in by_code)])
        if not sums.size:
            return 0.0, 0, 0.0
        place = int(np.argmax(np.abs(sums) >= np.abs(sums).max() - _EQUAL))
        return float(sums[place]), int(self.feature[place]), float(self.value[place])


def _cuts(distinct: PerRow, counts: RowIndex, n_thresholds: int | None) -> PerRow:
    """Return all thresholds halfway between neighbours, or n_thresholds of them by quantiles."""
    chosen: RowIndex = np.arange(distinct.size - 1)
    if n_thresholds is not None and n_thresholds < chosen.size:
        below = np.cumsum(counts, dtype=np.int64)
        quantiles = np.arange(1, n_thresholds + 1) * int(below[-1]) / (n_thresholds + 1)
        chosen = np.unique(np.minimum(np.searchsorted(below, quantiles), chosen.size - 1))
    low, high = distinct[chosen], distinct[chosen + 1]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)  # low for adjacent floats


@dataclass(eq=False, repr=False)
class RankBoost(Baseline):
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
    all features of the rows with pairs. Sparse features are made dense.

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

    n_rounds: int = 300
    _: KW_ONLY
    n_thresholds: int | None = None
    per: str = "pair"
    eval_metric: str | Measure = "ndcg@10"
    patience: int | None = None
    min_relevance: float = 1.0
    one_group: bool = False

    @classmethod
    def reads_grades(cls, loss: Loss | str | None) -> bool:
        """Return True: pairs have a more and a less relevant row."""
        return True

    def _learn_task(self, task: Task, progress: Progress) -> None:
        n_rounds = checks.cutoff(self.n_rounds, "n_rounds")
        patience = checks.optional(self.patience, "patience")
        n_thresholds = checks.optional(self.n_thresholds, "n_thresholds")
        per = checks.choice(self.per, "per", ("pair", "group"))
        pairs = pairs_of(task.rows, task.weights, per)
        features = _dense(task.rows.features[pairs.rows])
        thresholds = Thresholds(features, n_thresholds)
        rounds: list[tuple[int, float, float]] = []
        history: dict[str, list[float]] = {"objective": [], "correlation": []}
        if task.valid is not None:
            history["validation"] = []
        valid, valid_scores = _dense(task.measured.features), np.zeros(task.measured.relevance.size)
        scores, best, reason = np.zeros(pairs.rows.size), -1, "n_rounds"
        _, potential = pairs.potentials(scores)
        for n_done in range(n_rounds):
            correlation, feature, threshold = thresholds.best(potential)
            if abs(correlation) <= _NOTHING:
                reason = "converged"
                break
            # alpha = ln((1 + r) / (1 - r)) / 2 minimises freund2003's bound on the round's loss.
            alpha = float(np.arctanh(np.clip(correlation, -_SURE, _SURE)))
            rounds.append((feature, threshold, alpha))
            scores += alpha * (features[:, feature] > threshold)
            objective, potential = pairs.potentials(scores)
            history["objective"].append(objective)
            history["correlation"].append(correlation)
            note = f"objective {objective:.4g}"
            if task.valid is None:
                best = n_done
            else:
                valid_scores += alpha * (valid[:, feature] > threshold)
                values = history["validation"]
                values.append(task.evaluate(valid_scores))
                best = int(np.argmax(values))
                note += f", validation {values[-1]:.4f}"
            progress(n_done + 1, n_rounds, note)
            if abs(correlation) >= _SURE or (patience is not None and n_done - best >= patience):
                reason = "separated" if abs(correlation) >= _SURE else "patience"
                break
        progress(n_rounds, n_rounds, reason)
        columns = np.array(rounds[: best + 1], np.float64).reshape(-1, 3).T
        self.feature_, self.threshold_, self.alpha_ = columns[0].astype(np.int64), *columns[1:]
        self.objective_ = history["objective"][best] if best >= 0 else 1.0
        self.best_iteration_, self.n_iter_ = best, len(history["objective"])
        self.stop_reason_ = reason
        self.history_ = {name: np.array(values, np.float64) for name, values in history.items()}
        if best < 0:
            warn(
                "RankBoost found no threshold of any feature that orders the pairs better than "
                "chance, so that all scores are 0. Check the features and qid.",
                ConvergenceWarning,
            )

    def predict(self, X: Any) -> PerRow:
        """Return the score of each row, float64, (n_rows,). Rows with higher scores rank first."""
        dense = _dense(self._features_to_score(X))
        scores = np.zeros(len(dense))
        rounds = zip(self.feature_, self.threshold_, self.alpha_, strict=True)
        for feature, threshold, alpha in rounds:
            scores += alpha * (dense[:, feature] > threshold)
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
        n_features = self.n_features_in_
        if ((self.feature_ < 0) | (self.feature_ >= n_features)).any():
            raise ArgumentError(f"feature_ has a feature that is not one of the {n_features}")


def _dense(features: Any) -> NDArray[np.float64]:
    matrix: Any = features
    return matrix.toarray() if sparse.issparse(features) else matrix
