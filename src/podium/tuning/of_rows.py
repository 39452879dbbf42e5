"""The search for rankers: candidates are fitted to rows with features and measured on others."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, cast

import numpy as np
from sklearn import utils
from sklearn.base import clone

from podium import _check, data
from podium.errors import ArgumentError, ConvergenceWarning, arg, warn
from podium.groups import Groups
from podium.metrics import Measure
from podium.rankers.estimator import Ranker
from podium.rankers.fitting import LimitWarning
from podium.rankers.inputs import unpack_eval_set
from podium.ranking import Ranking
from podium.tuning import fitting
from podium.tuning.candidates import Params
from podium.tuning.results import Trial
from podium.tuning.trials import Task
from podium.types import PerGroup, Progress, RowIndex

SPLITS = ("users", "rows", "time", "time-per-user")
"""The ways to set rows aside: whole users, or rows of each user, at random; the last rows of all,
or the last rows of each user."""

_PURPOSE = 4  # part of the seeds of draws
_select_rows: Any = vars(utils)["_safe_indexing"]
"""The selection of rows by positions, for arrays, sparse matrices and data frames."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, relevance and groups of rows; `positions` selects some of them, only on use."""

    X: Any
    y: Any
    qid: Any
    item: Any = None
    positions: RowIndex | None = None

    def checked(self) -> Rows:
        """Return the rows as arrays in the memory of the host.

        Raises
        ------
        ArgumentError
            If y, qid or item have another number of rows than X.
        """
        features: Any = _check.on_host(self.X)
        is_plain = isinstance(features, Sequence)
        features = np.asarray(self.X) if is_plain else features
        if _check.is_sparse(features):
            features = features.tocsr()  # not every sparse format has rows
        y, qid, item = (
            None if column is None else np.asarray(_check.on_host(column))
            for column in (self.y, self.qid, self.item)
        )
        columns = {"y": y, "qid": qid, "item": item}
        _check.equal_length(**{name: c for name, c in columns.items() if c is not None})
        if y is None or features.shape[0] != y.shape[0]:
            n_values = "none" if y is None else f"{y.shape[0]}"
            raise ArgumentError(
                f"X must have one row for each value of y ({n_values}), got {features.shape[0]}."
            )
        return Rows(features, y, qid, item)

    def cut(self) -> tuple[Any, Any, Any]:
        """Return X, y and qid of the selected rows; copies unless all rows are selected."""
        X = self.X if self.positions is None else _select_rows(self.X, self.positions)
        return X, *self.labels()

    def labels(self) -> tuple[Any, Any]:
        """Return y and qid of the selected rows."""
        return self._of_column(self.y), self._of_column(self.qid)

    def items(self) -> Any:
        """Return the items of the selected rows, or None if there are none."""
        return self._of_column(self.item)

    def _of_column(self, column: Any) -> Any:
        return column if column is None or self.positions is None else column[self.positions]


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows to learn from and the rows to measure on."""

    train: Rows
    valid: Rows


def check_parts(
    *,
    eval_set: Any = None,
    n_folds: int | None = None,
    split: str | None = None,
    valid: float | None = None,
) -> None:
    """Raise if several arguments of a search choose the validation data, or one is invalid."""
    ways = {"eval_set": eval_set, "n_folds": n_folds}
    ways["valid" if split is None else "split"] = valid if split is None else split
    names = [str(arg[name]) for name, value in ways.items() if value is not None]
    if len(names) > 1:
        raise ArgumentError(
            f"{' and '.join(names)} were given, and each selects the validation data. Keep one."
        )
    if n_folds is not None and _check.cutoff(n_folds, name="n_folds") < 2:
        raise ArgumentError(f"{arg.n_folds} must be an integer >= 2, got {n_folds}.")
    if split is not None:
        _check.choice(split, "split", SPLITS)
    if valid is not None:
        _check.open_fraction(valid, "valid")


def divided_rows(
    rows: Rows,
    *,
    eval_set: Any,
    n_folds: int | None,
    split: str | None,
    share: float,
    times: Any,
    seed: int,
    reader: str,
) -> list[Fold]:
    """Return the folds of a search: an eval_set, folds of users, or one split."""
    if (eval_set is not None or n_folds is not None) and times is not None:
        raise ArgumentError(
            f"{arg.time} requires {arg.split('time', 'time-per-user')}. Leave it out."
        )
    if eval_set is not None:
        X, y, labels = unpack_eval_set(eval_set)
        labels = None if labels is None else np.asarray(_check.on_host(labels))
        _check.grouped(labels, reader, request="set_fit_request", where="eval_set ")
        return [Fold(rows, Rows(_check.on_host(X), np.asarray(_check.on_host(y)), labels))]
    if n_folds is not None:
        return of_users(rows, n_folds, seed)
    return of_split(rows, "users" if split is None else split, share, times, seed)


def of_users(rows: Rows, n_folds: int, seed: int) -> list[Fold]:
    """Return n_folds folds that measure disjoint sets of users, whose sizes differ by at most 1."""
    groups = Groups.from_qid(_required(rows.qid, "n_folds"))
    if n_folds > groups.n_groups:
        raise ArgumentError(
            f"{arg.n_folds} must be at most the number of users, {groups.n_groups}, got {n_folds}."
        )
    shuffled_groups = np.random.default_rng([seed, _PURPOSE]).permutation(groups.n_groups)
    fold_of_row = (shuffled_groups % n_folds)[groups.index]
    return [
        _fold(rows, np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold))
        for fold in range(n_folds)
    ]


def of_split(rows: Rows, split: str, share: float, times: Any, seed: int) -> list[Fold]:
    """Return one fold that measures a share of the rows, chosen by `split`."""
    if (times is None) == split.startswith("time"):
        text = (
            f"needs {arg.time()}, one value per row"
            if times is None
            else f"can't be used with {arg.time()}"
        )
        raise ArgumentError(f"{arg.split(split)} {text}.")
    if times is not None:
        _check.equal_length(y=rows.y, time=times)
    if split == "time":
        parts = data.splits.by_time(cast("Any", times), test=share)
    elif split == "time-per-user":
        qid = _required(rows.qid, split)
        parts = data.splits.by_time_per_user(qid, cast("Any", times), test=share)
    elif split == "users":
        parts = data.splits.by_group(_required(rows.qid, split), test=share, seed=seed)
    else:
        parts = data.splits.random(len(rows.y), user=rows.qid, test=share, seed=seed)
    if not parts.test.size:
        raise ArgumentError(
            f"{arg.valid(share)} sets no rows aside, because shares are rounded down. Pass a "
            "larger share."
        )
    return [_fold(rows, parts.train, parts.test)]


def _fold(rows: Rows, train: RowIndex, valid: RowIndex) -> Fold:
    return Fold(replace(rows, positions=train), replace(rows, positions=valid))


def _required(qid: Any, setting: str) -> Any:
    """Return qid, which `setting` needs; raise if it is None."""
    if qid is None:
        raise ArgumentError(
            f"qid is required to split users ({setting}). Pass qid or {arg.eval_set}."
        )
    return qid


@dataclass(eq=False)
class OfRows(Task):
    """The folds on which each candidate is fitted and measured.

    Attributes
    ----------
    base : estimator or Pipeline
        The estimator whose parameters the candidates change.
    rows : Rows
        All rows of the search, to which the best candidate is fitted at last.
    keeps_fit : bool
        Whether there is no such fit.
    """

    base: Any
    measure: Measure
    rows: Rows
    folds: list[Fold]
    min_relevance: float | None
    keeps_fit: bool

    def __post_init__(self) -> None:
        self.n_folds = len(self.folds)
        self.keeps_best = self.keeps_fit and self.n_folds == 1

    def clock(self) -> float:
        return time.perf_counter()

    def fitted(self, params: Params, fold: int, progress: Progress) -> Any:
        """Return a model that is fitted to the training rows of a fold."""
        model, train = self._model(params), self.folds[fold].train
        eval_set, item = self.folds[fold].valid.cut(), train.items()
        return fitting.fit(model, *train.cut(), item=item, eval_set=eval_set, progress=progress)

    def values(self, model: Any, fold: int) -> PerGroup:
        """Return the measure of each user of the validation part."""
        X, y, qid = self.folds[fold].valid.cut()
        return self._measured(fitting.scores(model, X), y, qid)

    def course(self, model: Any, params: Params) -> tuple[int | None, str]:
        """Return the number of iterations behind a model, and why the fit stopped."""
        del params
        last = fitting.last_step(model)
        best = getattr(last, "best_iteration_", None)
        return None if best is None else int(best) + 1, str(getattr(last, "stop_reason_", ""))

    def check_measured(self) -> None:
        """Raise before the first fit if the measure is defined on no user of a fold."""
        for number, fold in enumerate(self.folds):
            y, qid = fold.valid.labels()
            if np.isnan(self._measured(np.zeros(len(y)), y, qid)).all():
                where = f" in fold {number}" if self.n_folds > 1 else ""
                raise ArgumentError(
                    f"{self.measure} is defined on no user of the rows set aside{where}. Set aside "
                    "more rows per user or more users, or choose another measure."
                )

    def final(self, best: Trial, measured_model: Any) -> Any:
        """Return the best candidate: as it was measured, or fitted to all rows.

        The fit to all rows has the median of the best numbers of iterations of the folds.
        """
        if self.keeps_fit:
            if best.warning and measured_model is not None:
                warn(best.warning, ConvergenceWarning)
            return measured_model
        model = self._model(best.params)
        last = fitting.last_step(model)
        length = math.ceil(median(best.iterations)) if best.iterations else None
        has_length = isinstance(last, Ranker) and last.length_parameter in last.get_params(
            deep=False
        )
        with warnings.catch_warnings():
            if length and has_length and fitting.stops_early(model):
                last.set_params(**{last.length_parameter: length})
                if last.get_params(deep=False).get("keep") == "best":  # no rows to choose by
                    last.set_params(keep="last")
                warnings.simplefilter("ignore", LimitWarning)  # the refit is meant to end there
            return fitting.fit(model, *self.rows.cut(), item=self.rows.items())

    def _model(self, params: Params) -> Any:
        """Return an unfitted estimator with these parameters."""
        return fitting.set_params(clone(self.base), params)

    def _measured(self, scores: Any, y: Any, qid: Any) -> PerGroup:
        return self.measure(Ranking.from_scores(scores, y, qid, min_relevance=self.min_relevance))


def prepared(estimator: Any, measure: Measure, seed: int) -> Any:
    """Return a copy of the estimator that stops early by the measure and draws from the seed."""
    base = clone(estimator)
    params = base.get_params(deep=True)
    changes: Params = {}
    if fitting.stops_early(base):
        changes[fitting.parameter(base, "eval_metric")] = measure.canonical
    name = fitting.parameter(base, "random_state")
    if name in params and params[name] is None:
        changes[name] = seed
    return base.set_params(**changes)
