"""LightGBM's trees on any podium loss, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from podium import _check
from podium.errors import ArgumentError
from podium.rankers.boosting._base import BoostedRanker, ModelBytes, Part, Plan, Training
from podium.types import PerRow

_RANKING = {"lambdarank": 30.0, "rank_xendcg": 30.0}
"""LightGBM's own objectives that read groups, with the highest grade that they read."""


@dataclass(eq=False, repr=False, kw_only=True)
class LightGBMRanker(BoostedRanker):
    """Boosted trees of LightGBM, learned from relevance in groups.

    Needs the extra ``boosting``.

    Parameters
    ----------
    loss : Loss or str, optional
        A loss, or its name, such as ``"pap-ramp@10"``; by default `podium.losses.GroupLogistic`.
        LightGBM's own ``"binary"``, ``"lambdarank"`` and ``"rank_xendcg"`` are also accepted, for
        comparisons. `podium.losses.LambdaRank` and ``"lambdarank@10"`` are losses of podium.
    n_trees : int
        The maximum number of trees.
    learning_rate : float
        The factor by which each tree's values are multiplied.
    n_leaves : int
        The maximum number of leaves per tree, at least 2.
    min_rows_in_leaf : int
        The minimum number of rows per leaf. A row of weight 2 is one row. LightGBM estimates the
        number from the Hessian, so that it is not exact.
    l2 : float
        The penalty on the values of leaves, >= 0, in units of rows (see Notes).
    row_share, feature_share : float
        The shares of rows and of features that are drawn for each tree. Rows are drawn by their
        position in X. If row_share < 1, trees therefore depend on the order of rows.
    min_hessian_in_leaf : float
        The minimum sum of the Hessian in a leaf, in units of rows.
    pool_share : float
        The share of each label that is replaced by a relevance estimated from the row's group and
        item, if `fit` gets items; 0 leaves the labels unchanged.
    start : {"zero", "logistic"}
        The score of each row before the first tree: 0, or a logistic regression over all rows,
        which becomes part of the model. It does not depend on the loss.
    eval_metric : str or Measure, optional
        The measure that `score` returns, and the measure on an `eval_set`. None is ndcg@10 for
        grades (a loss that reads them, or labels of more than two values), else pap@10.
    patience : int, optional
        The number of trees without a better value on the `eval_set` after which the fit stops.
        With None it does not stop early.
    random_state : int
        The seed of the draws of rows and features.
    n_threads : int, optional
        The number of threads; None for all cores. Trees do not depend on it. On a busy machine,
        training is slow if waiting threads do not sleep. podium makes them sleep, unless
        scikit-learn was imported before podium. In that case, set ``OMP_WAIT_POLICY=passive`` in
        the environment.
    options : mapping, optional
        Further parameters under LightGBM's names; they override those above.
    one_group : bool
        Whether to treat all rows as one group if there is no qid; otherwise that is an error.

    Attributes
    ----------
    trees_ : uint8
        The kept trees, as LightGBM's text.
    start_ : float64, (n_features + 1,)
        The coefficients of the start, and its constant.
    objective_ : float
        The training objective of the kept trees; nan for LightGBM's own losses.
    best_iteration_ : int
        The last kept tree, from 0: with an `eval_set`, the first tree with the best value on it.
    n_iter_ : int
        The number of trees grown.
    stop_reason_ : {"max_iter", "patience", "converged"}
        The reason why training stopped. "converged": no leaf could be split.
    history_ : dict of float64, (``n_iter_``,)
        The values after each tree: "objective" (for podium's losses), and with an eval_set
        "validation", its mean eval_metric, signed so that higher is better.
    n_features_in_, feature_names_in_
        The number and names of features, as in scikit-learn.

    Notes
    -----
    The gradient is that of the mean group loss times the number of rows (or the sum of their
    weights), so that a row has a weight of about 1 with every loss. The Hessian is the loss's
    `curvature`. The order of rows affects only the draws of rows and, with more than 200,000 rows,
    the limits of the bins into which LightGBM divides the values of features.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(-1, 1) % 10
    >>> y, qid = (X[:, 0] > 7).astype(int), np.repeat(np.arange(10), 20)
    >>> ranker = LightGBMRanker("pap-ramp@3", n_trees=5, eval_metric="pap@3").fit(X, y, qid)
    >>> ranker.score(X, y, qid)
    1.0
    """

    _package: ClassVar[str] = "lightgbm"
    _binary: ClassVar[tuple[str, ...]] = ("binary",)
    _ranking: ClassVar[Mapping[str, float]] = _RANKING
    _limits: ClassVar[str] = "min_rows_in_leaf, min_hessian_in_leaf"
    _takes_sparse: ClassVar[bool] = True

    constraints: ClassVar[_check.Constraints] = {"min_rows_in_leaf": _check.cutoff}

    min_rows_in_leaf: int = 20

    def _training(self, plan: Plan, train: Part, valid: Part | None) -> Training:
        _require_values(train.features)
        return _Training(self._library(), plan, train, valid)

    def _from_bytes(self, trees: ModelBytes) -> Any:
        return self._library().Booster(model_str=trees.tobytes().decode())

    def _n_features(self, booster: Any) -> int:
        return booster.num_feature()

    def _n_splits(self, booster: Any) -> int:
        return int(booster.feature_importance("split").sum())

    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._library().basic.LightGBMError,)

    def _predict(self, booster: Any, features: Any, start: PerRow) -> PerRow:
        trees = booster.predict(
            _readable(features), raw_score=True, num_threads=self.n_threads or 0
        )
        return start + trees


_MOST_ROWS = 2**31 - 1  # LightGBM's limit of rows in a leaf
_ZERO = 1e-35  # LightGBM treats values up to this size as 0


class _Training(Training):
    def __init__(self, library: Any, plan: Plan, train: Part, valid: Part | None) -> None:
        super().__init__(plan)
        params = _params(plan)
        sizes = train.groups.sizes if plan["objective"] in _RANKING else None
        data = _dataset(library, train, params, group=sizes)
        self._booster = library.Booster(params, data)
        if valid is not None:
            self._booster.add_valid(_dataset(library, valid, params, reference=data), "eval_set")

    def step(self) -> bool:
        return bool(self._booster.update(fobj=self.fobj))

    def scores(self, *, valid: bool) -> PerRow:
        captured: list[PerRow] = []

        def capture(scores: PerRow, _: Any) -> tuple[str, float, bool]:
            captured.append(scores.copy())
            return "seen", 0.0, True

        (self._booster.eval_valid if valid else self._booster.eval_train)(capture)
        return captured[0]

    def to_bytes(self, n_trees: int) -> ModelBytes:
        text: str = self._booster.model_to_string(num_iteration=n_trees)
        return np.frombuffer(text.encode(), np.uint8)


def _params(plan: Plan) -> dict[str, Any]:
    is_library_objective = isinstance(plan["objective"], str)
    return {
        "objective": plan["objective"] if is_library_objective else "none",
        "metric": "None",
        "boost_from_average": False,
        "learning_rate": plan["learning_rate"],
        "num_leaves": plan["n_leaves"],
        "min_data_in_leaf": min(plan["min_rows_in_leaf"], _MOST_ROWS),
        "min_sum_hessian_in_leaf": plan["min_hessian_in_leaf"],
        "lambda_l2": plan["l2"],
        "bagging_fraction": plan["row_share"],
        "bagging_freq": int(plan["row_share"] < 1.0),
        "feature_fraction": plan["feature_share"],
        "seed": plan["random_state"],
        "num_threads": plan["n_threads"],
        "deterministic": True,
        "feature_pre_filter": False,  # with few rows it may remove all features, an error
        "force_col_wise": True,  # sums have one order for any number of threads
        "verbosity": -1,
        **plan["options"],
    }


def _dataset(library: Any, part: Part, params: Mapping[str, Any], **options: Any) -> Any:
    return library.Dataset(
        _readable(part.features),
        part.relevance,
        weight=part.weights,
        init_score=part.start,
        params=dict(params),
        free_raw_data=True,
        **options,
    )


def _require_values(features: Any) -> None:
    """Raise if all features are zero, which LightGBM reports as an internal error."""
    values = features.data if _check.is_sparse(features) else features
    if values.size == 0 or (values.max() <= _ZERO and values.min() >= -_ZERO):
        raise ArgumentError(
            f"X has only values that LightGBM treats as 0 (absolute values <= {_ZERO:g}). Check "
            "the features, or scale them."
        )


def _readable(features: Any) -> Any:
    """Return sparse features as the one sparse class that LightGBM's predict accepts; no copy."""
    return cast("Any", sparse.csr_matrix)(features) if _check.is_sparse(features) else features
