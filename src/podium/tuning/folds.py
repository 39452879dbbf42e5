"""Folds: which rows a candidate learns from, and which rows it is measured on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from podium import _check, data
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.types import RowIndex

SPLITS = ("users", "rows", "time", "time-per-user")
"""How rows are set aside: whole users, or rows of each user, at random; the last rows of all, or
the last of each user."""

_PURPOSE = 4  # in the seeds of draws


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, relevance and groups of some rows; `at` picks them when they are needed."""

    X: Any
    y: Any
    qid: Any
    item: Any = None
    at: RowIndex | None = None

    def cut(self) -> tuple[Any, Any, Any]:
        """Return X, y and qid of the rows: a copy, where not all are wanted."""
        if self.at is None:
            return self.X, self.y, self.qid
        X = self.X.iloc[self.at] if hasattr(self.X, "iloc") else self.X[self.at]
        return X, *self.labels()

    def labels(self) -> tuple[Any, Any]:
        """Return y and qid of the rows."""
        at = slice(None) if self.at is None else self.at
        return self.y[at], None if self.qid is None else self.qid[at]

    def items(self) -> Any:
        """Return the items of the rows, if they are known."""
        return self.item if self.item is None or self.at is None else self.item[self.at]


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to learn from and rows to measure on."""

    train: Rows
    valid: Rows


def of_eval_set(rows: Rows, eval_set: Any, reader: str = "") -> list[Fold]:
    """Return one fold: all rows, measured on others, whose groups `reader` reads."""
    try:
        X, y, *qid = eval_set
    except (TypeError, ValueError):
        raise ArgumentError("eval_set must be (X, y) or (X, y, qid).") from None
    labels = np.asarray(qid[0]) if qid and qid[0] is not None else None
    _check.grouped(labels, reader, request="set_fit_request", where="eval_set ")
    return [Fold(rows, Rows(X, np.asarray(y), labels))]


def of_users(rows: Rows, n_folds: int, seed: int) -> list[Fold]:
    """Return n_folds folds, in each of which other users are measured; sizes differ by one user."""
    n_folds = _check.cutoff(n_folds, name="n_folds")
    groups = Groups.from_qid(_needed(rows.qid, "n_folds"))
    if not 2 <= n_folds <= groups.n_groups:
        raise ArgumentError(
            f"n_folds must be from 2 to the number of users, {groups.n_groups}, got {n_folds}."
        )
    turn = np.random.default_rng([seed, _PURPOSE]).permutation(groups.n_groups)
    part = (turn % n_folds)[groups.index]
    return [_fold(rows, part != f, part == f) for f in range(n_folds)]


def of_split(rows: Rows, split: str, share: float, times: Any, seed: int) -> list[Fold]:
    """Return one fold: a share of the rows, chosen as `split` says, is measured."""
    split = _check.choice(split, "split", SPLITS)
    share = _check.open_fraction(share, "valid")
    if (times is None) == split.startswith("time"):
        text = "needs time=, one for each row" if times is None else "has no use for time="
        raise ArgumentError(f"split={split!r} {text}.")
    if times is not None:
        _check.equal_length(y=rows.y, time=times)
    if split == "time":
        parts = data.splits.by_time(cast("Any", times), test=share)
    elif split == "time-per-user":
        qid = _needed(rows.qid, split)
        parts = data.splits.by_time_per_user(qid, cast("Any", times), test=share)
    elif split == "users":
        parts = data.splits.by_group(_needed(rows.qid, split), test=share, seed=seed)
    else:
        parts = data.splits.random(len(rows.y), user=rows.qid, test=share, seed=seed)
    if not parts.test.size:
        raise ArgumentError(
            f"valid={share:g} sets nothing aside: shares are rounded down. Pass a larger one."
        )
    return [Fold(Rows(*_all(rows), parts.train), Rows(*_all(rows), parts.test))]


def _fold(rows: Rows, train: Any, valid: Any) -> Fold:
    return Fold(Rows(*_all(rows), np.flatnonzero(train)), Rows(*_all(rows), np.flatnonzero(valid)))


def _all(rows: Rows) -> tuple[Any, Any, Any, Any]:
    return rows.X, rows.y, rows.qid, rows.item


def _needed(qid: Any, what: str) -> Any:
    if qid is None:
        raise ArgumentError(f"qid is needed to divide users for {what}. Pass it, or an eval_set.")
    return qid
