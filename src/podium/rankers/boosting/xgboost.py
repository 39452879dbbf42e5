"""XGBoost's trees on any podium loss, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.errors import ArgumentError
from podium.rankers.boosting._base import BoostedRanker, ModelBytes, Part, Plan, Training
from podium.types import PerRow

_RANKING = {"rank:ndcg": 31.0, "rank:map": 1.0, "rank:pairwise": np.inf}
"""XGBoost's own objectives that read groups, with the highest grade that they read."""


@dataclass(eq=False, repr=False, kw_only=True)
class XGBoostRanker(BoostedRanker):
    """Boosted trees of XGBoost, learned from relevance in groups.

    Needs the extra ``boosting``. Trees grow leaf by leaf, as in LightGBM.

    Parameters
    ----------
    loss : Loss or str, optional
        A loss, or its name, such as ``"pap-ramp@10"``; by default `podium.losses.GroupLogistic`.
        XGBoost's own ``"binary:logistic"``, ``"rank:ndcg"``, ``"rank:map"`` and ``"rank:pairwise"``
        are also accepted, for comparisons.
    n_trees : int
        The maximum number of trees.
    learning_rate : float
        The factor by which each tree's values are multiplied.
    n_leaves : int
        The maximum number of leaves per tree, at least 2.
    l2 : float
        The penalty on the values of leaves, >= 0, in units of rows.
    row_share, feature_share : float
        The shares of rows and of features that are drawn for each tree. Rows are drawn by their
        position in X. If row_share < 1, trees therefore depend on the order of rows.
    min_hessian_in_leaf : float
        The minimum sum of the Hessian in a leaf, in units of rows.
    pool_share : float
        The share of each label that is replaced by a pooled one if `fit` gets items; 0 for none.
    start : {"zero", "logistic"}
        The score of each row before the first tree, as in `LightGBMRanker`.
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
        Further parameters under XGBoost's names; they override those above.
    one_group : bool
        Whether to treat all rows as one group if there is no qid; otherwise that is an error.

    Attributes
    ----------
    trees_ : uint8
        The kept trees, as XGBoost's JSON.
    start_, objective_, best_iteration_, n_iter_, stop_reason_, history_
        The learned attributes, as in `LightGBMRanker`.
    n_features_in_, feature_names_in_
        The number and names of features, as in scikit-learn.

    Notes
    -----
    Gradients are those of `LightGBMRanker`. Scores have the precision of float32. Sparse features
    are refused, because XGBoost treats values that are not stored as missing, not as 0.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(-1, 1) % 10
    >>> y, qid = (X[:, 0] > 7).astype(int), np.repeat(np.arange(10), 20)
    >>> ranker = XGBoostRanker("pap-ramp@3", n_trees=5, eval_metric="pap@3").fit(X, y, qid)
    >>> ranker.score(X, y, qid)
    1.0
    """

    _package: ClassVar[str] = "xgboost"
    _binary: ClassVar[tuple[str, ...]] = ("binary:logistic",)
    _ranking: ClassVar[Mapping[str, float]] = _RANKING
    _takes_sparse: ClassVar[bool] = False

    l2: float = 1.0
    min_hessian_in_leaf: float = 1.0

    def _training(self, plan: Plan, train: Part, valid: Part | None) -> Training:
        return _Training(self._library(), plan, train, valid)

    def _from_bytes(self, trees: ModelBytes) -> Any:
        booster = self._library().Booster({"nthread": self.n_threads or 0, **_QUIET})
        booster.load_model(bytearray(trees.tobytes()))
        return booster

    def _n_features(self, booster: Any) -> int:
        return booster.num_features()

    def _n_splits(self, booster: Any) -> int:
        return int(sum(booster.get_score(importance_type="weight").values()))

    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._library().core.XGBoostError,)

    def _predict(self, booster: Any, features: Any, start: PerRow) -> PerRow:
        data = _dmatrix(self._library(), features, base_margin=start, nthread=self.n_threads or 0)
        return _margins(booster, data)


_QUIET = {"verbosity": 0}


class _Training(Training):
    def __init__(self, library: Any, plan: Plan, train: Part, valid: Part | None) -> None:
        super().__init__(plan)
        self._done, weights, sizes = 0, train.weights, None
        if plan["objective"] in _RANKING:  # these read weights by group
            groups, sizes = train.groups, train.groups.sizes
            if weights is not None:
                weights = np.bincount(groups.index, weights, groups.n_groups) / sizes
        options = {"nthread": plan["n_threads"]}
        self._data = _matrix(library, train, weight=weights, group=sizes, **options)
        self._valid = None if valid is None else _matrix(library, valid, **options)
        sets = [self._data] if self._valid is None else [self._data, self._valid]
        self._booster = library.Booster(_params(plan), sets)  # caches the scores of the sets

    def step(self) -> bool:
        self._booster.update(self._data, self._done, fobj=self.fobj)
        self._done += 1
        return False

    def scores(self, *, valid: bool) -> PerRow:
        return _margins(self._booster, self._valid if valid else self._data)

    def to_bytes(self, n_trees: int) -> ModelBytes:
        return np.frombuffer(self._booster[:n_trees].save_raw("json"), np.uint8)


def _margins(booster: Any, data: Any) -> PerRow:
    return booster.predict(data, output_margin=True).astype(np.float64).reshape(-1)


def _params(plan: Plan) -> dict[str, Any]:
    is_library_objective = isinstance(plan["objective"], str)
    library_objective = {"objective": plan["objective"]} if is_library_objective else {}
    return {
        **library_objective,
        "disable_default_eval_metric": 1,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": plan["n_leaves"],
        "eta": plan["learning_rate"],
        "lambda": plan["l2"],
        "min_child_weight": plan["min_hessian_in_leaf"],
        "subsample": plan["row_share"],
        "colsample_bytree": plan["feature_share"],
        "seed": plan["random_state"],
        "nthread": plan["n_threads"],
        **_QUIET,
        **plan["options"],
    }


def _dmatrix(library: Any, features: Any, *labels: Any, **options: Any) -> Any:
    try:
        return library.DMatrix(features, *labels, **options)
    except library.core.XGBoostError as error:
        raise ArgumentError(
            f"X can't be converted to float32 for XGBoost ({str(error).splitlines()[0]})."
        ) from None


def _matrix(library: Any, part: Part, **options: Any) -> Any:
    return _dmatrix(library, part.features, part.relevance, base_margin=part.start, **options)
