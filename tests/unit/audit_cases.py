"""Sound evaluations on generated data, for tests of audits."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

import podium
from podium.decide import Audit, audit
from podium.errors import PodiumWarning

Ids: TypeAlias = "np.ndarray[Any, Any]"
Columns: TypeAlias = dict[str, Ids]
N_USERS, N_ITEMS, N_LISTED, N_GROUPS = 150, 90, 20, 3
START = 800  # the moment of the split; times are 0 to 999


@dataclass(frozen=True)
class Case:
    """The tables of an evaluation, and the options of its audit."""

    train: Columns
    test: Columns
    runs: Mapping[str, Columns]
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def audit(self, **options: Any) -> Audit:
        return audit(self.train, self.test, self.runs, **{**self.options, **options})

    def value(self, test: Columns | None = None, run: Columns | None = None, **how: Any) -> float:
        """Measure the run by `podium.measure`, which the audit's own codes don't enter."""
        how = {"missing": "zero", **how}
        truth = {k: v for k, v in (test or self.test).items() if k != "timestamp"}
        run = run or self.runs["model"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)  # some runs look like samples
            return podium.measure(truth, run, "ndcg@10", **how).means["ndcg@10"]


def clean(seed: int = 0) -> Case:
    """Return events split at one moment, and the lists of a model that knows users' tastes."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.integers(N_GROUPS, size=N_USERS), np.arange(N_ITEMS) % N_GROUPS
    appeal = 1.5 * rng.normal(size=N_ITEMS) + rng.gumbel(size=(N_USERS, N_ITEMS))
    likes: Ids = appeal + 3 * (taste[:, None] == kind)
    order = np.argsort(-likes, axis=1)[:, :24]
    user, item = np.repeat(np.arange(N_USERS), order.shape[1]), order.ravel()
    time = rng.integers(0, 1000, size=user.size)
    is_test = time >= START
    has_train = np.isin(user, user[~is_test]) & np.isin(item, item[~is_test])
    keep = ~is_test | has_train
    user, item, time, is_test = user[keep], item[keep], time[keep], is_test[keep]
    train = {"user": user[~is_test], "item": item[~is_test], "timestamp": time[~is_test]}
    test = {"user": user[is_test], "item": item[is_test], "timestamp": time[is_test]}
    noise: Ids = rng.normal(size=(N_USERS, N_ITEMS))
    scores: Ids = likes + 2.5 * noise
    scores[:, np.setdiff1d(np.arange(N_ITEMS), train["item"])] = -1e3  # the model can't know them
    return Case(train, test, {"model": lists(train, np.unique(test["user"]), scores)})


def lists(train: Columns, users: Ids, scores: Ids) -> Columns:
    """Return the best unseen items of each user."""
    scores = scores.copy()
    scores[train["user"], train["item"]] = -1e6
    best = np.argsort(-scores[users], axis=1)[:, :N_LISTED]
    return {
        "user": np.repeat(users, N_LISTED),
        "item": best.ravel(),
        "score": np.take_along_axis(scores[users], best, axis=1).ravel(),
    }


def rows(table: Columns, index: Any) -> Columns:
    return {name: column[index] for name, column in table.items()}


def joined(*tables: Columns) -> Columns:
    return {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}


def with_run(case: Case, run: Columns) -> Case:
    return replace(case, runs={"model": run})


def copied(table: Columns) -> Columns:
    return {name: column.copy() for name, column in table.items()}


def by_popularity(counts: Counter[int]) -> list[int]:
    return sorted(counts, key=lambda item: (-counts[item], item))


def first_items(table: Columns, users: Ids) -> Ids:
    return table["item"][[np.flatnonzero(table["user"] == user)[0] for user in users]]


def popular(case: Case, counts: Counter[int]) -> Columns:
    """Return the 20 most popular unseen items of each test user, one user after the other."""
    seen = set(pairs_of_all(case.train))
    order = by_popularity(counts)
    best = [
        (user, item, -place)
        for user in np.unique(case.test["user"]).tolist()
        for place, item in enumerate([i for i in order if (user, i) not in seen][:20])
    ]
    return dict(zip(("user", "item", "score"), np.array(best).T, strict=True))


def n_users_of(train: Columns) -> Counter[int]:
    """Count the users of each item."""
    return Counter(item for _, item in set(pairs_of_all(train)))


def pairs_of(table: Columns) -> tuple[str, ...]:
    """Return the distinct pairs, as an audit writes them."""
    return tuple(f"user {user}, item {item}" for user, item in sorted(set(pairs_of_all(table))))


def ids_of(ids: Any, noun: str = "user") -> tuple[str, ...]:
    return tuple(f"{noun} {label}" for label in sorted(set(np.asarray(ids).tolist())))


def pairs_of_all(table: Columns) -> list[tuple[int, int]]:
    return list(zip(table["user"].tolist(), table["item"].tolist(), strict=True))


def earliest(test: Columns, users: Ids) -> Ids:
    return np.array([test["timestamp"][test["user"] == user].min() for user in users])


def without(table: Columns, name: str) -> Columns:
    return {key: column for key, column in table.items() if key != name}


def sampled(seed: int = 0, n_negatives: int = 30) -> Case:
    """Return one target per user, among uniform unseen items."""
    case = clean(seed)
    users, first = np.unique(case.test["user"], return_index=True)
    test = rows(case.test, first)
    rng = np.random.default_rng(seed + 100)
    taken = set(pairs_of_all(case.train)) | set(pairs_of_all(test))
    items = np.unique(case.train["item"])
    drawn = [
        rng.choice([i for i in items.tolist() if (u, i) not in taken], n_negatives, replace=False)
        for u in users.tolist()
    ]
    item = np.column_stack([test["item"], np.array(drawn)])
    score = rng.normal(size=item.shape) + (np.arange(n_negatives + 1) == 0)
    user = np.repeat(users, n_negatives + 1)
    run = {"user": user, "item": item.ravel(), "score": score.ravel()}
    options = {"candidates": "uniform", "n_negatives": n_negatives}
    return Case(case.train, test, {"model": run}, options)
