"""LightGBM's trees on any podium loss, as an estimator."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Generator, Mapping
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from podium import _check
from podium.errors import ArgumentError
from podium.losses import Loss
from podium.metrics import Measure
from podium.rankers.boosting._base import BoostedRanker
from podium.rankers.boosting._training import ModelBytes, Part, Plan, Training
from podium.rankers.boosting.objectives import without_data
from podium.types import PerRow

_RANKING = ("lambdarank", "rank_xendcg")  # of LightGBM's own objectives, those that read groups


class LightGBMRanker(BoostedRanker):
    """Boosted trees of LightGBM, learned from relevances in groups.

    Needs the extra ``boosting``.

    Parameters
    ----------
    loss : Loss or str, optional
        A loss, or its name as ``"pap-ramp@10"``; `podium.losses.GroupLogistic` without one. For
        comparison also LightGBM's own ``"binary"``, ``"lambdarank"`` and ``"rank_xendcg"``.
    n_trees : int
        Trees at most.
    learning_rate : float
        What each tree is multiplied by.
    n_leaves : int
        Leaves of a tree at most, at least 2.
    min_rows_in_leaf : int
        Rows of a leaf at least.
    l2 : float
        Penalty on the values of leaves, >= 0, in units of rows (see Notes).
    row_share, feature_share : float
        Share of the rows and of the features that each tree is grown on, drawn anew for it.
        Rows are drawn by their place in X: in another order, below 1, they give other trees.
    min_hessian_in_leaf : float
        Sum of the Hessian in a leaf at least, in units of rows.
    pool_share : float
        How much of each label is replaced where `fit` is told the items; 0 learns from labels.
    start : {"zero", "log-odds", "logistic"}
        Score of each row before the first tree: 0, the log-odds of a positive, or a logistic
        regression over all rows, which is part of the model. It serves every loss alike.
    eval_metric : str or Measure
        What `score` returns and what an `eval_set` is measured by.
    patience : int, optional
        With an `eval_set`: stop after this many trees without a better value. None runs on.
    random_state : int
        For the draws of rows and features.
    n_threads : int, optional
        None for all cores. Trees do not depend on it. On a busy machine, threads that wait must
        sleep. podium sets this up, unless scikit-learn was imported before podium: then set
        ``OMP_WAIT_POLICY=passive`` in the environment.
    options : mapping, optional
        Further parameters as LightGBM names them; they win over those above.
    one_group : bool
        Take all rows as one group where no qid arrives, instead of refusing.

    Attributes
    ----------
    trees_ : uint8
        The trees that were kept, as LightGBM's text.
    start_ : float64, (n_features + 1,)
        Coefficients of the start, and its constant.
    objective_ : float
        Training objective of the trees that were kept; nan for LightGBM's own losses.
    best_iteration_ : int
        Last tree that was kept, from 0: with an `eval_set` the first of the best validations.
    n_iter_ : int
        Trees grown.
    stop_reason_ : {"max_iter", "patience", "converged"}
        "converged": nothing was left to split.
    history_ : dict of float64, (n_iter_,)
        After each tree "objective" (of podium's losses), and with an eval_set "validation": its
        mean eval_metric, signed so that higher is better.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The gradient is that of the mean loss of groups times the number of rows (the sum of their
    weights), so that a row counts about 1 whatever the loss; the Hessian is the loss's
    `curvature`. The order of rows matters only to draws of rows, and beyond 200,000 rows to
    where LightGBM cuts features.

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
    _ranking: ClassVar[tuple[str, ...]] = _RANKING
    _takes_sparse: ClassVar[bool] = True

    min_rows_in_leaf: int

    def __init__(
        self,
        loss: Loss | str | None = None,
        *,
        n_trees: int = 300,
        learning_rate: float = 0.05,
        n_leaves: int = 31,
        min_rows_in_leaf: int = 20,
        l2: float = 0.0,
        row_share: float = 1.0,
        feature_share: float = 1.0,
        min_hessian_in_leaf: float = 1e-3,
        pool_share: float = 0.9,
        start: str = "zero",
        eval_metric: str | Measure = "pap@10",
        patience: int | None = 50,
        random_state: int = 0,
        n_threads: int | None = None,
        options: Mapping[str, Any] | None = None,
        one_group: bool = False,
    ) -> None:
        self._keep_arguments(locals())

    def _training(self, plan: Plan, train: Part, valid: Part | None) -> Training:
        leaf = _check.cutoff(self.min_rows_in_leaf, name="min_rows_in_leaf")
        _require_values(train.features)
        if plan.options:
            _require_known_params(self._library(), _params(plan, leaf))
        return _Training(self._library(), plan, leaf, train, valid)

    def _from_bytes(self, trees: ModelBytes) -> Any:
        return self._library().Booster(model_str=trees.tobytes().decode())

    def _n_features(self, booster: Any) -> int:
        return booster.num_feature()

    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._library().basic.LightGBMError,)

    def _predict(self, booster: Any, features: Any, start: PerRow) -> PerRow:
        trees = booster.predict(
            _readable(features), raw_score=True, num_threads=self.n_threads or 0
        )
        return start + trees


_STDERR = threading.Lock()  # two threads that redirect it would keep each other's
_QUIET = {"verbosity": -1}
_ZERO = 1e-35  # LightGBM's own: what is no larger is 0 to it


class _Training(Training):
    def __init__(
        self, library: Any, plan: Plan, min_rows: int, train: Part, valid: Part | None
    ) -> None:
        params = _params(plan, min_rows)
        grouped = plan.objective in _RANKING
        self._objective = plan.objective
        self._has_valid = valid is not None
        data = _dataset(library, train, grouped=grouped, params=params)
        self._booster = library.Booster(params, data)
        if valid is not None:
            other = _dataset(library, valid, grouped=False, params=params, reference=data)
            self._booster.add_valid(other, "eval_set")

    def step(self) -> bool:
        objective = self._objective
        if isinstance(objective, str):
            return bool(self._booster.update())
        return bool(self._booster.update(fobj=without_data(objective)))

    def scores(self, *, valid: bool) -> PerRow:
        seen: list[PerRow] = []

        def look(scores: PerRow, _: Any) -> tuple[str, float, bool]:
            seen.append(scores.copy())
            return "seen", 0.0, True

        (self._booster.eval_valid if valid else self._booster.eval_train)(look)
        return seen[0]

    def to_bytes(self, n_trees: int) -> ModelBytes:
        text: str = self._booster.model_to_string(num_iteration=n_trees)
        return np.frombuffer(text.encode(), np.uint8)


def _params(plan: Plan, min_rows: int) -> dict[str, Any]:
    own = isinstance(plan.objective, str)
    return {
        "objective": plan.objective if own else "none",
        "metric": "None",
        "boost_from_average": False,
        "learning_rate": plan.learning_rate,
        "num_leaves": plan.n_leaves,
        "min_data_in_leaf": min_rows,
        "min_sum_hessian_in_leaf": plan.min_hessian_in_leaf,
        "lambda_l2": plan.l2,
        "bagging_fraction": plan.row_share,
        "bagging_freq": int(plan.row_share < 1.0),
        "feature_fraction": plan.feature_share,
        "seed": plan.seed,
        "num_threads": plan.n_threads,
        "deterministic": True,
        "feature_pre_filter": False,  # few rows may leave no feature, which is an error
        "force_col_wise": True,  # one order of sums for any number of threads
        **_QUIET,
        **plan.options,
    }


def _dataset(
    library: Any,
    part: Part,
    *,
    grouped: bool,
    params: Mapping[str, Any],
    reference: Any = None,
) -> Any:
    """Make a Dataset; LightGBM's own ranking objectives read rows group by group."""
    if grouped:
        part = part.by_group()
    return library.Dataset(
        _readable(part.features),
        part.relevance,
        weight=part.weights,
        group=part.groups.sizes if grouped else None,
        init_score=part.start,
        reference=reference,
        params=dict(params),
        free_raw_data=True,
    )


def _require_values(features: Any) -> None:
    """Raise where all features are zeros, on which LightGBM ends with an error of its code."""
    values = features.data if _check.is_sparse(features) else features
    if values.size == 0 or (values.max() <= _ZERO and values.min() >= -_ZERO):
        raise ArgumentError(
            f"X has no value that LightGBM tells from 0, none being larger than {_ZERO:g} in "
            "size. Check the features, or scale them."
        )


def _require_known_params(library: Any, params: Mapping[str, Any]) -> None:
    """Raise what LightGBM raises for a parameter, without the lines that it writes to stderr."""
    with _errors_unwritten():
        library.Dataset(np.zeros((2, 1)), params=dict(params)).construct()


@contextlib.contextmanager
def _errors_unwritten() -> Generator[None]:
    # LightGBM writes its fatal errors to the process's stderr, which no setting of it prevents.
    with _STDERR:
        kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            os.close(null)


def _readable(features: Any) -> Any:
    """Return sparse features as the one sparse class that LightGBM's predict knows; no copy."""
    return cast("Any", sparse.csr_matrix)(features) if _check.is_sparse(features) else features
