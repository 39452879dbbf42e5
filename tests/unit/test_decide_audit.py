"""An audit finds planted faults, counts them, prices them, and is silent on a clean evaluation."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import podium
from podium.decide import Audit, Effect, Finding, audit
from podium.decide.audit.finding import weigh
from podium.errors import ArgumentError, PodiumWarning

Columns = dict[str, np.ndarray[Any, Any]]
SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "audit.json").read_text())
)
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
        how = {"missing": "zero", "min_relevance": 1.0, **how}
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
    likes = appeal + 3 * (taste[:, None] == kind)
    order = np.argsort(-likes, axis=1)[:, :24]
    user, item = np.repeat(np.arange(N_USERS), order.shape[1]), order.ravel()
    time = rng.integers(0, 1000, size=user.size)
    is_test = time >= START
    has_train = np.isin(user, user[~is_test]) & np.isin(item, item[~is_test])
    keep = ~is_test | has_train
    user, item, time, is_test = user[keep], item[keep], time[keep], is_test[keep]
    train = {"user": user[~is_test], "item": item[~is_test], "timestamp": time[~is_test]}
    test = {"user": user[is_test], "item": item[is_test], "timestamp": time[is_test]}
    scores = likes + 2.5 * rng.normal(size=likes.shape)
    scores[:, np.setdiff1d(np.arange(N_ITEMS), train["item"])] = -1e3  # the model can't know them
    return Case(train, test, {"model": lists(train, np.unique(test["user"]), scores)})


def lists(train: Columns, users: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> Columns:
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


def found(result: Audit, check: str) -> Finding:
    """Return the only finding of a check."""
    (finding,) = [f for f in result.findings if f.check == check]
    return finding


@pytest.mark.parametrize("seed", range(6))
def test_a_clean_evaluation_has_no_error_and_no_warning(seed: int) -> None:
    result = clean(seed).audit()
    assert not [str(f) for f in result.findings if f.severity != "note"]
    assert result.context["value of model"] == pytest.approx(clean(seed).value())
    assert (
        result.context["value of model"]
        > result.context["value of a popularity list"]
        > result.context["value of a random list"]
    )


def popular(case: Case, counts: Counter[int]) -> Columns:
    """Return the 20 most popular unseen items of each test user, one user after the other."""
    seen = set(zip(case.train["user"].tolist(), case.train["item"].tolist(), strict=True))
    order = sorted(counts, key=lambda item: (-counts[item], item))
    best = [
        (user, item, -place)
        for user in np.unique(case.test["user"]).tolist()
        for place, item in enumerate([i for i in order if (user, i) not in seen][:20])
    ]
    return dict(zip(("user", "item", "score"), np.array(best).T, strict=True))


def n_users_of(train: Columns) -> Counter[int]:
    """Count the users of each item."""
    pairs = set(zip(train["user"].tolist(), train["item"].tolist(), strict=True))
    return Counter(item for _, item in pairs)


def pairs_of(table: Columns) -> tuple[str, ...]:
    """Return the first three pairs, as an audit writes them."""
    pairs = sorted(set(zip(table["user"].tolist(), table["item"].tolist(), strict=True)))
    return tuple(f"user {user}, item {item}" for user, item in pairs[:3])


def ids_of(ids: Any) -> tuple[str, ...]:
    return tuple(map(str, sorted(set(np.asarray(ids).tolist()))[:3]))


@dataclass(frozen=True)
class Planted:
    """A damaged evaluation, and what its audit has to say of the damage."""

    case: Case
    check: str
    count: int
    examples: tuple[str, ...] | None = None
    effect: tuple[float, float] | None = None  # with the fault and without it
    severity: str = "error"


def planted_future_of_user(case: Case) -> Planted:
    users, first = np.unique(case.test["user"], return_index=True)
    users, first = users[:15], first[:15]
    late = {"user": users, "item": case.train["item"][: users.size], "timestamp": first * 0 + 999}
    known = set(pairs_of_all(case.train)) | set(pairs_of_all(case.test))
    is_new = np.array([pair not in known for pair in pairs_of_all(late)])
    late = rows(late, is_new & (earliest(case.test, users) < 999))
    damaged = replace(case, train=joined(case.train, late))
    with_fault, without = (
        case.value(run=popular(damaged, n_users_of(train))) for train in (damaged.train, case.train)
    )
    n, ids = late["user"].size, ids_of(late["user"])
    return Planted(damaged, "future-of-user", n, ids, (with_fault, without))


def pairs_of_all(table: Columns) -> list[tuple[int, int]]:
    return list(zip(table["user"].tolist(), table["item"].tolist(), strict=True))


def earliest(test: Columns, users: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array([test["timestamp"][test["user"] == user].min() for user in users])


def planted_future_of_all(case: Case) -> Planted:
    new_users = np.arange(1000, 1060)
    late = {"user": new_users, "item": new_users % 5, "timestamp": np.full(60, 950)}
    late["item"] = np.unique(case.train["item"])[late["item"]]
    damaged = replace(case, train=joined(case.train, late))
    # The other training events are all earlier than the first test event of anybody. Late events
    # are known to users whose group of users has its first test event after them: to nobody here.
    assert np.quantile(earliest(case.test, np.unique(case.test["user"])), 0.95) < 950
    runs = (popular(damaged, n_users_of(train)) for train in (damaged.train, case.train))
    with_fault, without = (case.value(run=run) for run in runs)
    ids = ids_of(new_users)
    return Planted(damaged, "future-of-all", 60, ids, (with_fault, without), "warning")


def planted_overlap(case: Case) -> Planted:
    leaked = rows(case.test, slice(3, 60, 4))
    damaged = replace(case, train=joined(case.train, leaked))
    is_kept = np.ones(case.test["user"].size, bool)
    is_kept[3:60:4] = False
    effect = case.value(), case.value(rows(case.test, is_kept))
    return Planted(damaged, "train-test-overlap", 15, pairs_of(leaked), effect)


def planted_overlap_without_times(case: Case) -> Planted:
    planted = planted_overlap(case)
    train, test = (without(t, "timestamp") for t in (planted.case.train, planted.case.test))
    return replace(planted, case=replace(planted.case, train=train, test=test))


def without(table: Columns, name: str) -> Columns:
    return {key: column for key, column in table.items() if key != name}


def planted_repeats(case: Case) -> Planted:
    planted = planted_overlap(case)
    early = rows(case.test, slice(3, 60, 4))
    early["timestamp"] = np.full(15, 5)
    damaged = replace(case, train=joined(case.train, early))
    return replace(planted, case=damaged, check="repeat-consumption", severity="warning")


def planted_repeated_test(case: Case) -> Planted:
    again = rows(case.test, slice(0, 70, 10))
    others = {**again, "item": 10_000 + np.arange(7)}  # a list finds one of two equal rows
    effect = case.value(joined(case.test, others)), case.value()
    damaged = replace(case, test=joined(case.test, again))
    return Planted(damaged, "duplicate-test", 7, pairs_of(again), effect)


def planted_repeated_train(case: Case) -> Planted:
    again = rows(case.train, np.flatnonzero(case.train["item"] == case.train["item"][0]))
    again = joined(again, again, again)
    n = again["user"].size
    damaged = replace(case, train=joined(case.train, again))
    runs = (popular(case, Counter(train["item"].tolist())) for train in (damaged.train, case.train))
    with_fault, without = (case.value(run=run) for run in runs)
    effect = with_fault, without
    return Planted(damaged, "duplicate-train", n, pairs_of(again), effect, "warning")


def planted_unknown_users(case: Case) -> Planted:
    users = np.unique(case.test["user"])[5:11]
    damaged = replace(case, train=rows(case.train, ~np.isin(case.train["user"], users)))
    kept = rows(case.test, ~np.isin(case.test["user"], users))
    effect = case.value(), case.value(kept)
    return Planted(damaged, "unknown-users", 6, ids_of(users), effect, "warning")


def planted_unknown_items(case: Case) -> Planted:
    items = np.unique(case.test["item"])[[4, 9]]
    damaged = replace(case, train=rows(case.train, ~np.isin(case.train["item"], items)))
    is_lost = np.isin(case.test["item"], items)
    effect = case.value(), case.value(rows(case.test, ~is_lost))
    n = int(is_lost.sum())
    return Planted(damaged, "unknown-items", n, ids_of(items), effect, "warning")


def planted_prefix(case: Case) -> Planted:
    test = {**case.test, "item": np.char.add("i", case.test["item"].astype(str))}
    n = np.unique(case.test["item"]).size
    ids = tuple(sorted(set(test["item"].tolist()))[:3])
    return Planted(replace(case, test=test), "item-spelling", n, ids, (0.0, case.value()))


def planted_floats(case: Case) -> Planted:
    run = {**case.runs["model"]}
    run["item"] = np.char.add(run["item"].astype(str), ".0")
    n = np.unique(run["item"]).size
    ids = tuple(sorted(set(run["item"].tolist()))[:3])
    return Planted(with_run(case, run), "item-spelling", n, ids, (0.0, case.value()))


def planted_zeros(case: Case) -> Planted:
    run = {**case.runs["model"]}
    run["user"] = np.char.zfill(run["user"].astype(str), 6)
    n = np.unique(run["user"]).size
    ids = tuple(sorted(set(run["user"].tolist()))[:3])
    return Planted(with_run(case, run), "user-spelling", n, ids, (0.0, case.value()))


def planted_blanks(case: Case) -> Planted:
    """Plant blanks before some ids of the test part; the others are right."""
    text = case.test["item"].astype(str)
    is_odd = np.isin(case.test["item"], np.unique(case.test["item"])[::9])
    test = {**case.test, "item": np.where(is_odd, np.char.add(" ", text), text)}
    n = np.unique(test["item"][is_odd]).size
    ids = tuple(sorted(set(test["item"][is_odd].tolist()))[:3])
    with_fault = case.value({**case.test, "item": case.test["item"] + 5000 * is_odd})
    return Planted(replace(case, test=test), "item-spelling", n, ids, (with_fault, case.value()))


def planted_units(case: Case) -> Planted:
    test = {**case.test, "timestamp": case.test["timestamp"] * 1000}
    return Planted(replace(case, test=test), "time-units", test["user"].size)


def planted_ratings(case: Case) -> Planted:
    stars = 1.0 + np.arange(case.test["user"].size) % 5
    test = {**case.test, "rating": stars}
    effect = (
        case.value({**case.test, "relevance": stars}),
        case.value({**rows(case.test, stars >= 4), "relevance": stars[stars >= 4]}),
    )
    is_low = stars < 4
    low = rows(case.test, is_low)
    return Planted(replace(case, test=test), "ratings", int(is_low.sum()), pairs_of(low), effect)


def planted_low_grades(case: Case) -> Planted:
    grade = np.where(np.arange(case.test["user"].size) % 9 == 0, 0.5, 1.0)
    test = {**case.test, "relevance": grade}
    low = rows(case.test, grade < 1)
    effect = case.value(test), case.value(rows(test, grade == 1))
    n = low["user"].size
    return Planted(replace(case, test=test), "low-grades", n, pairs_of(low), effect, "warning")


def planted_without_positives(case: Case) -> Planted:
    users = np.unique(case.test["user"])[:6]
    is_lost = np.isin(case.test["user"], users)
    test = {**case.test, "relevance": np.where(is_lost, 0.0, 1.0)}
    value = case.value(test)
    n = np.unique(case.test["user"]).size
    effect = value, value * (n - 6) / n
    ids = ids_of(users)
    return Planted(replace(case, test=test), "users-without-positives", 6, ids, effect, "warning")


def planted_missing_users(case: Case) -> Planted:
    users = np.unique(case.test["user"])[3:11]
    run = rows(case.runs["model"], ~np.isin(case.runs["model"]["user"], users))
    effect = case.value(run=run, missing="skip"), case.value(run=run, missing="zero")
    return Planted(with_run(case, run), "missing-users", 8, ids_of(users), effect, "warning")


def planted_other_users(case: Case) -> Planted:
    run = {**case.runs["model"], "user": case.runs["model"]["user"] + 5000}
    users = np.unique(case.test["user"])
    return Planted(with_run(case, run), "missing-users", users.size, ids_of(users))


def planted_repeated_items(case: Case) -> Planted:
    run = case.runs["model"]
    again = rows(run, np.arange(0, 40 * N_LISTED, N_LISTED))  # the first item of 40 lists
    again["score"] = again["score"] - 1e-9
    fresh = {**again, "item": 10_000 + np.arange(40)}
    effect = case.value(run=joined(run, fresh)), case.value()
    return Planted(with_run(case, joined(run, again)), "duplicate-run", 40, pairs_of(again), effect)


def planted_short_lists(case: Case) -> Planted:
    run = case.runs["model"]
    users = np.unique(run["user"])[:10]
    place = np.arange(run["user"].size) % N_LISTED
    cut = rows(run, ~np.isin(run["user"], users) | (place < 3))
    kept = rows(case.test, ~np.isin(case.test["user"], users))
    effect = case.value(run=cut), case.value(kept, cut)
    return Planted(with_run(case, cut), "short-lists", 10, ids_of(users), effect, "warning")


def planted_ties(case: Case) -> Planted:
    run = {**case.runs["model"], "score": np.round(case.runs["model"]["score"] / 4)}
    truth = without(case.test, "timestamp")
    best, worst = (podium.measure(truth, run, "ndcg@10", ties=t) for t in ("best", "worst"))
    is_tied = best.values["ndcg@10"] != worst.values["ndcg@10"]
    ids = ids_of(best.labels[is_tied])
    effect = best.means["ndcg@10"], worst.means["ndcg@10"]
    return Planted(with_run(case, run), "ties", int(is_tied.sum()), ids, effect, "warning")


def planted_saturation(case: Case) -> Planted:
    run = case.runs["model"]
    highest = np.quantile(run["score"], 0.8)
    clipped = {**run, "score": np.minimum(run["score"], highest)}
    n_highest = Counter(run["user"][run["score"] >= highest].tolist())
    users = [user for user, n in n_highest.items() if n > 1]
    effect = case.value(run=clipped, ties="best"), case.value(run=clipped)
    return Planted(
        with_run(case, clipped), "saturated-scores", len(users), ids_of(users), effect, "warning"
    )


def planted_seen_items(case: Case) -> Planted:
    users = np.unique(case.test["user"])[:40]
    first = np.array([np.flatnonzero(case.train["user"] == user)[0] for user in users])
    seen = {"user": users, "item": case.train["item"][first], "score": np.full(40, 1e6)}
    run = joined(case.runs["model"], seen)
    effect = case.value(run=run), case.value()
    return Planted(with_run(case, run), "seen-items", 40, pairs_of(seen), effect, "warning")


def planted_unknown_run_items(case: Case) -> Planted:
    run = {**case.runs["model"]}
    is_odd = np.arange(run["user"].size) % (3 * N_LISTED) == 0
    run["item"] = np.where(is_odd, 7000 + np.arange(run["user"].size), run["item"])
    effect = case.value(run=run), case.value(run=rows(run, ~is_odd))
    ids = ids_of(run["item"][is_odd])
    n = int(is_odd.sum())
    return Planted(with_run(case, run), "unknown-run-items", n, ids, effect, "warning")


def planted_reversal(case: Case) -> Planted:
    run = {**case.runs["model"], "score": -case.runs["model"]["score"]}
    n = np.unique(case.test["user"]).size
    return Planted(
        with_run(case, run), "reversed-scores", n, (), (case.value(run=run), case.value())
    )


def planted_chance(case: Case) -> Planted:
    scores = np.random.default_rng(9).normal(size=(N_USERS, N_ITEMS))
    users = np.unique(case.test["user"])
    damaged = with_run(case, lists(case.train, users, scores))
    return Planted(damaged, "below-popularity", users.size, (), severity="warning")


def planted_swap(case: Case) -> Planted:
    damaged = replace(case, train=case.test, test=case.train, runs={})
    n = case.test["user"].size
    return Planted(damaged, "swapped-parts", n, ids_of(case.test["user"]))


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
    is_target = np.arange(n_negatives + 1) == 0
    score = rng.normal(size=item.shape) + is_target
    run = {
        "user": np.repeat(users, n_negatives + 1),
        "item": item.ravel(),
        "score": score.ravel(),
    }
    options = {"candidates": "uniform", "n_negatives": n_negatives}
    return Case(case.train, test, {"model": run}, options)


def is_target(case: Case) -> np.ndarray[Any, Any]:
    return np.arange(case.runs["model"]["user"].size) % 31 == 0


def planted_sampled_lists(case: Case) -> Planted:
    del case
    sample = sampled()
    n = np.unique(sample.test["user"]).size
    return Planted(replace(sample, options={}), "sampled-lists", n, ())


def planted_seen_negatives(case: Case) -> Planted:
    del case
    sample = sampled()
    run = {name: column.copy() for name, column in sample.runs["model"].items()}
    users = np.unique(run["user"])[:30]
    changed = np.arange(1, 31 * 30, 31)  # the first negative of 30 lists
    first = np.array([np.flatnonzero(sample.train["user"] == user)[0] for user in users])
    run["item"][changed] = sample.train["item"][first]
    run["score"][changed] = 50.0
    is_kept = np.ones(run["user"].size, bool)
    is_kept[changed] = False
    effect = sample.value(run=run), sample.value(run=rows(run, is_kept))
    return Planted(
        with_run(sample, run), "negatives-seen", 30, pairs_of(rows(run, changed)), effect
    )


def planted_popular_negatives(case: Case) -> Planted:
    del case
    sample = sampled()
    run = {name: column.copy() for name, column in sample.runs["model"].items()}
    counts = n_users_of(sample.train)
    order = sorted(counts, key=lambda item: (-counts[item], item))
    seen = set(pairs_of_all(sample.train)) | set(pairs_of_all(sample.test))
    for start in range(0, run["user"].size, 31):
        user = int(run["user"][start])
        best = [item for item in order if (user, item) not in seen][:30]
        run["item"][start + 1 : start + 31] = best
    return Planted(with_run(sample, run), "negatives-popular", -1)


def planted_number_of_negatives(case: Case) -> Planted:
    del case
    sample = sampled()
    run = sample.runs["model"]
    users = np.unique(run["user"])[:12]
    cut = rows(run, ~(np.isin(run["user"], users) & (np.arange(run["user"].size) % 31 > 20)))
    kept = rows(sample.test, ~np.isin(sample.test["user"], users))
    effect = sample.value(run=cut), sample.value(kept, cut)
    return Planted(with_run(sample, cut), "number-of-negatives", 12, ids_of(users), effect)


def planted_lost_targets(case: Case) -> Planted:
    del case
    sample = sampled()
    run = sample.runs["model"]
    is_lost = is_target(sample) & (np.arange(run["user"].size) < 31 * 9)
    cut = rows(run, ~is_lost)
    kept = rows(sample.test, ~np.isin(sample.test["user"], run["user"][is_lost]))
    effect = sample.value(run=cut), sample.value(kept, cut)
    return Planted(
        with_run(sample, cut), "targets-not-listed", 9, pairs_of(rows(run, is_lost)), effect
    )


def planted_few_candidates(case: Case) -> Planted:
    del case
    sample = sampled(n_negatives=8)
    run = {name: column.copy() for name, column in sample.runs["model"].items()}
    counts = n_users_of(sample.train)
    order = sorted(counts, key=lambda item: (-counts[item], item))
    allowed = order[1::2]  # every second item, so that the mean popularity is as before
    taken = set(pairs_of_all(sample.train)) | set(pairs_of_all(sample.test))
    rng = np.random.default_rng(3)
    for start in range(0, run["user"].size, 9):
        user = int(run["user"][start])
        free = [item for item in allowed if (user, item) not in taken]
        run["item"][start + 1 : start + 9] = rng.choice(free, 8, replace=False)
    n, ids = len(order) - len(allowed), ids_of(order[::2])
    return Planted(with_run(sample, run), "negatives-few-items", n, ids)


PLANTED: list[Callable[[Case], Planted]] = [
    value for name, value in sorted(globals().items()) if name.startswith("planted_")
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_counted_and_priced(plant: Callable[[Case], Planted]) -> None:
    planted = plant(clean())
    finding = found(planted.case.audit(), planted.check)
    assert finding.severity == planted.severity
    if planted.count >= 0:
        assert finding.count == planted.count
    assert 0 < finding.count <= finding.total
    if planted.examples is not None:
        assert finding.examples == planted.examples
    if planted.effect is not None:
        (effect,) = [e for e in finding.effects if e.run in ("model", "popularity")][:1]
        assert (effect.with_fault, effect.without_fault) == pytest.approx(planted.effect)


def test_at_least_20_kinds_of_faults_are_planted() -> None:
    assert len({plant(clean()).check for plant in PLANTED}) >= 20


@pytest.mark.parametrize("seed", range(4))
def test_clean_samples_that_are_said_to_be_samples_have_no_error(seed: int) -> None:
    result = sampled(seed).audit()
    assert [f.check for f in result.findings if f.severity != "note"] == []


def summary_of(result: Audit) -> list[Any]:
    """Return what a reader sees; values to 12 digits, as the order of a sum changes the last."""
    return [
        (
            f.check,
            f.severity,
            f.count,
            f.total,
            f.examples,
            [
                (e.run, f"{e.with_fault:.12g}", f"{e.without_fault:.12g}", f"{e.std_error:.9g}")
                for e in f.effects
            ],
        )
        for f in result.findings
    ]


MIXED = (planted_future_of_user, planted_repeated_items, planted_ties, planted_repeated_test)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_the_order_of_rows_changes_nothing(plant: Callable[[Case], Planted]) -> None:
    case, rng = plant(clean(1)).case, np.random.default_rng(5)

    def shuffled(table: Columns) -> Columns:
        return rows(table, rng.permutation(table["user"].size))

    runs = {name: shuffled(run) for name, run in case.runs.items()}
    other = replace(case, train=shuffled(case.train), test=shuffled(case.test), runs=runs)
    assert summary_of(other.audit()) == summary_of(case.audit())


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_ids_as_text_change_nothing(plant: Callable[[Case], Planted]) -> None:
    case = plant(clean(1)).case

    def as_text(table: Columns) -> Columns:
        return {**table, "user": table["user"].astype(str), "item": table["item"].astype(str)}

    expected = summary_of(case.audit())
    runs = {name: as_text(run) for name, run in case.runs.items()}
    every = replace(case, train=as_text(case.train), test=as_text(case.test), runs=runs)
    assert summary_of(every.audit()) == expected
    assert summary_of(replace(case, test=as_text(case.test)).audit()) == expected


def test_a_random_split_is_priced_by_what_was_popular_at_the_time() -> None:
    """Compare with a list for each of 20 groups of users, in order of the first test event."""
    case = clean(2)
    events = joined(case.train, case.test)
    is_test = np.random.default_rng(0).random(events["user"].size) < 0.3
    split = Case(rows(events, ~is_test), rows(events, is_test), {})
    split = replace(split, test=rows(split.test, np.isin(split.test["item"], split.train["item"])))
    users = np.unique(split.test["user"])
    first = earliest(split.test, users)
    parts: list[Columns] = []
    for group in np.array_split(np.lexsort((users, first)), 20):
        past = rows(split.train, split.train["timestamp"] <= first[group].min())
        everyone = popular(split, n_users_of(past))
        parts.append(rows(everyone, np.isin(everyone["user"], users[group])))
    (effect,) = found(split.audit(), "future-of-all").effects
    expected = (
        split.value(run=popular(split, n_users_of(split.train))),
        split.value(run=joined(*parts)),
    )
    assert (effect.with_fault, effect.without_fault) == pytest.approx(expected)
    assert effect.change > 0


def test_times_may_be_dates_but_not_dates_and_numbers() -> None:
    case = planted_future_of_user(clean()).case
    day = np.datetime64("2020-01-01", "ms")
    dates = [
        {**t, "timestamp": day + t["timestamp"] * np.timedelta64(1, "h")}
        for t in (case.train, case.test)
    ]
    assert summary_of(replace(case, train=dates[0], test=dates[1]).audit()) == summary_of(
        case.audit()
    )
    with pytest.raises(ArgumentError, match="times of the training part are dates"):
        replace(case, train=dates[0]).audit()


def test_without_times_the_audit_says_what_it_cannot_see() -> None:
    case = planted_future_of_user(clean()).case
    result = replace(case, train=without(case.train, "timestamp")).audit()
    assert found(result, "no-times").severity == "note"
    assert not [f.check for f in result.findings if f.check.startswith("future")]


def test_repeated_training_pairs_without_times_are_a_note() -> None:
    case = planted_repeated_train(clean()).case
    train, test = (without(table, "timestamp") for table in (case.train, case.test))
    finding = found(replace(case, train=train, test=test).audit(), "duplicate-train")
    assert finding.severity == "note"


def test_users_that_only_a_run_has_are_a_note() -> None:
    case = clean()
    run = case.runs["model"]
    more = {**rows(run, run["user"] == 0), "user": np.full(N_LISTED, 5000)}
    finding = found(with_run(case, joined(run, more)).audit(), "extra-users")
    assert (finding.severity, finding.count, finding.examples) == ("note", 1, ("5000",))


def test_a_run_that_lists_one_item_first_for_all_is_noted() -> None:
    case = clean()
    run = popular(case, n_users_of(case.train))
    first = {"user": np.unique(run["user"]), "item": np.unique(run["user"]) * 0 + 4}
    first["score"] = first["item"] + 100.0
    run = joined(first, rows(run, run["item"] != 4))
    finding = found(with_run(case, run).audit(), "same-lists")
    assert (finding.severity, finding.examples) == ("note", ("4",))


def test_a_new_prefix_with_few_twins_and_a_sign_are_other_ids() -> None:
    train = {"user": [1, 1, 2, 2], "item": ["7", "8", "9", "-3"]}
    test = {"user": [1, 2, 1, 2], "item": ["x7", "x70", "x71", "3"]}
    checks = [finding.check for finding in audit(train, test).findings]
    assert "item-spelling" not in checks
    assert "unknown-items" in checks


@pytest.mark.parametrize("form", ["{:03d}", " {}", "{}.0", "item{}", "ITEM_{}", "i-{}"])
def test_spellings_of_one_number_are_joined(form: str) -> None:
    items = np.array([7, 8, 12, 40])
    train = {"user": np.array([1, 1, 2, 2]), "item": items}
    test = {"user": np.array([1, 2]), "item": np.array([form.format(i) for i in (12, 8)])}
    finding = found(audit(train, test), "item-spelling")
    assert (finding.count, finding.total) == (2, 2)
    same = audit(train, {**test, "item": np.array([12, 8])})
    assert [e.without_fault for e in finding.effects] == [
        same.context["value of a popularity list"]
    ]


def test_another_case_of_text_is_a_second_spelling() -> None:
    train = {"user": ["a", "a", "b"], "item": ["B00X1Y", "B00Z", "C1"]}
    test = {"user": ["A", "b"], "item": ["C1", "b00z"]}
    result = audit(train, test)
    assert found(result, "user-spelling").examples == ("A",)
    assert found(result, "item-spelling").examples == ("b00z",)


@pytest.mark.parametrize("measure", ["pap@10", "topk_loss@1", "auc", "recall@3", "rr"])
@pytest.mark.parametrize("plant", [*MIXED, planted_missing_users])
def test_every_measure_prices(plant: Callable[[Case], Planted], measure: str) -> None:
    planted = plant(clean())
    if (planted.check, measure) != ("ties", "auc"):  # undefined for a list that is not whole
        found(planted.case.audit(measure=measure), planted.check)


def test_pap_needs_lists_of_almost_twice_the_cutoff() -> None:
    """At most 19 places settle pap@10, and none of 10 users has as many."""
    case = planted_short_lists(clean()).case
    assert found(case.audit(measure="pap@10"), "short-lists").count == 10
    assert not [f for f in clean().audit(measure="pap@10").findings if f.check == "short-lists"]
    assert not [f for f in case.audit(measure="recall@3").findings if f.check == "short-lists"]


def test_of_a_loss_a_lower_value_is_better() -> None:
    case = clean()
    assert [f.check for f in case.audit(measure="topk_loss@1").of("warning")] == []
    reverse = planted_reversal(case).case.audit(measure="topk_loss@1")
    assert found(reverse, "reversed-scores").severity == "error"


def test_a_rare_fault_without_effect_is_a_note() -> None:
    def of(change: float, count: int) -> str:
        return weigh("error", count, 10_000, [Effect("model", "rr", 0.5 + change, 0.5, 0.1)])

    assert of(0.0, 9) == of(0.009, 9) == of(-0.009, 9) == "note"
    assert of(0.02, 9) == of(0.0, 11) == of(np.nan, 9) == "error"
    assert weigh("error", 9, 10_000, []) == "error"


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Draw small tables with any fault: repeats, other ids, ties, lists of any length."""
    ids = st.sampled_from(draw(st.sampled_from([["1", "2", "3", "a"], ["01", "1", "1.0", "i1"]])))
    other = st.sampled_from(["1", "2", "9", "i2", "x"])

    def table(kind: Any, values: str, numbers: Any) -> dict[str, Any]:
        n = draw(st.integers(1, 8))
        columns = {name: st.lists(kind, min_size=n, max_size=n) for name in ("user", "item")}
        result = {name: draw(column) for name, column in columns.items()}
        return {**result, values: draw(st.lists(numbers, min_size=n, max_size=n))}

    times = st.integers(0, 5)
    test = table(draw(st.sampled_from([ids, other])), "timestamp", times)
    name = draw(st.sampled_from(["relevance", "rating", "label"]))
    test[name] = draw(
        st.lists(
            st.sampled_from([0.0, 0.5, 1.0, 4.0]),
            min_size=len(test["user"]),
            max_size=len(test["user"]),
        )
    )
    return {
        "train": table(ids, draw(st.sampled_from(["timestamp", "count"])), times),
        "test": test,
        "runs": {
            f"run{i}": table(draw(st.sampled_from([ids, other])), "score", st.floats(-2, 2))
            for i in range(draw(st.integers(0, 2)))
        },
    }


@given(
    tables(),
    st.sampled_from(["ndcg@10", "recall@1", "pap@1", "pap@3", "ap", "auc", "topk_loss@2"]),
    st.sampled_from([None, "uniform"]),
    st.sampled_from([None, 1, 3]),
)
def test_no_tables_stop_an_audit(
    drawn: dict[str, Any], measure: str, candidates: str | None, n_negatives: int | None
) -> None:
    result = audit(**drawn, measure=measure, candidates=candidates, n_negatives=n_negatives)
    assert all(0 <= f.count <= f.total for f in result.findings)
    assert [f.severity for f in result.findings] == sorted(
        (f.severity for f in result.findings), key=["error", "warning", "note"].index
    )
    SCHEMA.validate(json.loads(json.dumps(result.to_dict(), allow_nan=False)))  # pyright: ignore[reportUnknownMemberType]
