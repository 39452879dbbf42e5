"""Folds: the rows that a candidate learns from, and the rows that it is measured on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn import utils

from podium import _check, data
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.rankers.inputs import unpack_eval_set
from podium.types import RowIndex

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

    def cut(self) -> tuple[Any, Any, Any]:
        """Return X, y and qid of the selected rows; copies unless all rows are selected."""
        if self.positions is None:
            return self.X, self.y, self.qid
        return _select_rows(self.X, self.positions), *self.labels()

    def labels(self) -> tuple[Any, Any]:
        """Return y and qid of the selected rows."""
        selection = slice(None) if self.positions is None else self.positions
        return self.y[selection], None if self.qid is None else self.qid[selection]

    def items(self) -> Any:
        """Return the items of the selected rows, or None if there are none."""
        return (
            self.item if self.item is None or self.positions is None else self.item[self.positions]
        )


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows to learn from and the rows to measure on."""

    train: Rows
    valid: Rows


def of_eval_set(rows: Rows, eval_set: Any, reader: str = "") -> list[Fold]:
    """Return one fold with the eval_set as rows to measure on; `reader` names what reads groups."""
    X, y, qid = unpack_eval_set(eval_set)
    labels = None if qid is None else np.asarray(_check.on_host(qid))
    _check.grouped(labels, reader, request="set_fit_request", where="eval_set ")
    return [Fold(rows, Rows(_check.on_host(X), np.asarray(_check.on_host(y)), labels))]


def of_users(rows: Rows, n_folds: int, seed: int) -> list[Fold]:
    """Return n_folds folds that measure disjoint sets of users, whose sizes differ by at most 1."""
    n_folds = _check.cutoff(n_folds, name="n_folds")
    groups = Groups.from_qid(_required(rows.qid, "n_folds"))
    if not 2 <= n_folds <= groups.n_groups:
        raise ArgumentError(
            f"{arg.n_folds} must be from 2 to the number of users, {groups.n_groups}, got "
            f"{n_folds}."
        )
    shuffled_groups = np.random.default_rng([seed, _PURPOSE]).permutation(groups.n_groups)
    fold_of_row = (shuffled_groups % n_folds)[groups.index]
    return [
        _fold(rows, np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold))
        for fold in range(n_folds)
    ]


def of_split(rows: Rows, split: str, share: float, times: Any, seed: int) -> list[Fold]:
    """Return one fold that measures a share of the rows, chosen by `split`."""
    split = _check.choice(split, "split", SPLITS)
    share = _check.open_fraction(share, "valid")
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
