"""What every ranker is: an estimator that scores rows and is measured by groups."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from podium import _check
from podium._arrays import check_arrays
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, as_loss
from podium.metrics import Measure, parse
from podium.rankers import inputs
from podium.rankers.objective import Parameters, times
from podium.rankers.validation import mean_measure
from podium.types import PerRow


@dataclass(frozen=True)
class FitReport:
    """How a fit went, as far as its ranker counts it; from the learned attributes of these names.

    Attributes
    ----------
    n_iter : int, optional
        How many iterations, trees or rounds there were.
    best_iteration : int, optional
        The one, from 0, that the ranker was kept from.
    stop_reason : str
    objective, gap : float
        The objective of what was kept, and how far above the minimum it can be; nan if unknown.
    validation : float
        The measure of what was kept on the `eval_set`; nan without one.
    """

    n_iter: int | None = None
    best_iteration: int | None = None
    stop_reason: str = ""
    objective: float = math.nan
    gap: float = math.nan
    validation: float = math.nan


class Ranker(BaseEstimator, abc.ABC):
    """What rankers of all kinds share; use one of them."""

    default_loss: ClassVar[str | None] = None
    """The loss that loss=None stands for; None for a ranker that is its own loss."""
    needs_digest: ClassVar[bool] = False
    """Whether a model file without a digest is refused."""
    grows_trees: ClassVar[bool] = False
    """Whether an iteration of `fit` is a tree."""
    has_own_objectives: ClassVar[bool] = False
    """Whether `loss` may name an objective of the library that fits the ranker."""
    pools_items: bool = False
    """Whether `fit` reads the items, to pool labels over them."""

    eval_metric: Any
    one_group: bool
    n_features_in_: int

    @abc.abstractmethod
    def predict(self, X: Any) -> PerRow:
        """Return the score of each row, float64, (n_rows,); higher ranks first."""

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean of `eval_metric` over groups; nan where it is defined on none.

        Tied scores count as errors, as everywhere in podium. `sample_weight`, by row or by
        group, weighs the groups by the mean of their rows.

        Raises
        ------
        ArgumentError
            If qid is missing, unless one_group=True says that all rows are one list. In
            scikit-learn's tools it arrives after ``set_score_request(qid=True)``.
        """
        _check.grouped(qid, self._reader("score"), request="set_score_request")
        scores = self.predict(X)
        groups = Groups.single(scores.size) if qid is None else Groups.from_qid(qid)
        return mean_measure(
            self._measure(),
            scores,
            np.asarray(y, dtype=np.float64),
            qid,
            min_relevance=self._min_relevance(),
            weights=inputs.row_weights(sample_weight, groups),
        )

    def loss_in_use(self) -> Loss | str | None:
        """Return the loss that `fit` minimises: the one that was given, or the default.

        That is a name for an objective of a boosting library, and None for a ranker that is its
        own loss.
        """
        if self.default_loss is None:
            return None
        given = self.get_params(deep=False)["loss"]
        return as_loss(self.default_loss if given is None else given)

    @classmethod
    def reads_grades(cls, loss: Loss | str | None) -> bool:
        """Return whether this ranker learns from grades with a loss, or from positives alone."""
        return isinstance(loss, Loss) and loss.reads_grades

    def suited_measure(self, k: int = 10) -> str:
        """Return the measure at k that suits the loss for validation.

        ndcg for a loss that reads grades; else the metric of `eval_metric`, or pap.

        Examples
        --------
        >>> from podium.rankers import LinearRanker
        >>> LinearRanker("listmle").suited_measure(), LinearRanker("pap-ramp@3").suited_measure(5)
        ('ndcg@10', 'pap@5')
        """
        loss = self.loss_in_use()
        suited = loss.validated_by if isinstance(loss, Loss) else None
        if isinstance(loss, str) and self.reads_grades(loss):
            suited = "ndcg"
        return f"{suited or str(self.eval_metric or 'pap').partition('@')[0]}@{k}"

    def fit_report(self) -> FitReport:
        """Return how the fit went.

        Examples
        --------
        >>> from podium.rankers import LinearRanker
        >>> LinearRanker("logistic").fit([[0.0], [1.0]], [0, 1], [0, 0]).fit_report().stop_reason
        'converged'
        """
        check_is_fitted(self)
        learned = vars(self)
        told = {each.name: f"{each.name}_" for each in fields(FitReport)}
        found: dict[str, Any] = {n: learned[at] for n, at in told.items() if at in learned}
        judged = learned.get("history_", {}).get("validation")
        if judged is not None and len(judged):
            sign = 1 if parse(self._measure()).metric.higher_is_better else -1
            found["validation"] = sign * float(judged[found.get("best_iteration", -1)])
        return FitReport(**found)

    def has_free_steps(self) -> bool:
        """Return whether `learning_rate` is a length that the loss does not determine."""
        return True

    def _measure(self) -> str | Measure:
        """Return what `score` returns and what an eval_set is measured by."""
        return self.eval_metric

    def _reader(self, name: str) -> str:
        """Return the name of what reads groups; nothing where all rows may be one."""
        return "" if _check.flag(self.one_group, "one_group") else name

    def _loss_reader(self, loss: Loss) -> str:
        """Return the loss's name if it reads groups."""
        return self._reader(loss.name) if loss.reads_groups else ""

    def _judged_rows(self, features: Any, y: Any, qid: Any) -> inputs.Rows:
        """Check the rows of an eval_set, whose measure reads groups."""
        reader = self._reader(str(self._measure()))
        return inputs.rows_of(features, y, qid, None, reader=reader, where="eval_set ")

    def _min_relevance(self) -> float:
        """Return the relevance from which a row is a positive."""
        loss = self.loss_in_use()
        return loss.min_relevance if isinstance(loss, Loss) else 1.0

    @abc.abstractmethod
    def check_restored(self) -> None:
        """Raise an ArgumentError unless what a file brought fits together."""

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


class LinearScores(Ranker):
    """A ranker that scores ``X @ coef_ + intercept_``."""

    _types: ClassVar[tuple[Any, ...]]  # of the features that it reads; others become the first
    coef_: Parameters
    intercept_: float

    def predict(self, X: Any) -> PerRow:
        """Return the score of each row, float64, (n_rows,); higher ranks first."""
        check_is_fitted(self)
        features = self._features(X, reset=False)
        inputs.finite_features(features, None, "X")
        return times(features, self.coef_) + self.intercept_

    def check_restored(self) -> None:
        """Raise an ArgumentError unless there is a coefficient for each feature."""
        check_arrays(self.__dict__, {"coef_": ((self.n_features_in_,), np.float64)})
        if type(self.intercept_) not in (int, float) or not np.isfinite(self.intercept_):
            raise ArgumentError(f"intercept_ is {self.intercept_!r:.80}")

    def _features(self, X: Any, *, reset: bool) -> Any:
        # Non-finite values are left to `inputs`, which names the row, the group and the column.
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=list(self._types),
            order="C",
            ensure_all_finite=False,
        )
