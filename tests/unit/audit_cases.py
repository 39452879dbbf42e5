"""Sound evaluations on generated data and those with one fault each, for tests of audits."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

import podium
from podium.decide import Audit, Finding, audit
from podium.errors import PodiumWarning

Ids: TypeAlias = "np.ndarray[Any, Any]"
Columns: TypeAlias = dict[str, Ids]
N_USERS, N_ITEMS, N_LISTED, N_GROUPS = 150, 90, 20, 3
START = 800  # the moment of the split; times are 0 to 999


@dataclass(frozen=True)
class Case:
    """The tables of an evaluation, and the options of its audit."""

    train: Any
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


def found(result: Any, check: str) -> Finding:
    """Return the only finding of a check."""
    (finding,) = [f for f in result.findings if f.check == check]
    return finding


def rows(table: Columns, index: Any) -> Columns:
    return {name: column[index] for name, column in table.items()}


def joined(*tables: Columns) -> Columns:
    return {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}


def with_run(case: Case, run: Columns) -> Case:
    return replace(case, runs={"model": run})


def random_run(case: Case, seed: int) -> Columns:
    """Return lists in random order."""
    scores = np.random.default_rng(seed).normal(size=(N_USERS, N_ITEMS))
    return lists(case.train, np.unique(case.test["user"]), scores)


def key(table: Columns) -> Ids:
    return table["user"] * 100_000 + table["item"]


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
    return Case(case.train, test, {"model": run}, {"candidates": "uniform"})


@dataclass(frozen=True)
class Planted:
    """A damaged evaluation, and what its audit has to say of the damage."""

    case: Case
    check: str
    labels: tuple[str, ...] | None  # of all that it counts
    effect: tuple[float, float] | None = None  # with the fault and without it
    severity: str = "error"
    count: int = 0  # where it is not the number of labels


def popularity(
    damaged: Case, case: Case, counts: Callable[[Columns], Counter[int]] = n_users_of
) -> tuple[float, float]:
    """Return the values of a popularity list with the fault and without it."""
    unseen = damaged if counts is n_users_of else case
    runs = [popular(unseen, counts(train)) for train in (damaged.train, case.train)]
    return case.value(run=runs[0]), case.value(run=runs[1])


def planted_future_of_user(case: Case) -> Planted:
    users = np.unique(case.test["user"])[:15]
    late = {"user": users, "item": case.train["item"][:15], "timestamp": np.full(15, 999)}
    known = set(pairs_of_all(case.train)) | set(pairs_of_all(case.test))
    is_new = np.array([pair not in known for pair in pairs_of_all(late)])
    late = rows(late, is_new & (earliest(case.test, users) < 999))
    damaged = replace(case, train=joined(case.train, late))
    return Planted(damaged, "future-of-user", ids_of(late["user"]), popularity(damaged, case))


def planted_future_of_all(case: Case) -> Planted:
    new_users = np.arange(1000, 1060)
    late = {"user": new_users, "item": new_users % 5, "timestamp": np.full(60, 950)}
    late["item"] = np.unique(case.train["item"])[late["item"]]
    damaged = replace(case, train=joined(case.train, late))
    # The other training events are all earlier than the first test event of anybody. Late events
    # are known to users whose group of users has its first test event after them: to nobody here.
    assert np.quantile(earliest(case.test, np.unique(case.test["user"])), 0.95) < 950
    effect = popularity(damaged, case)
    return Planted(damaged, "future-of-all", ids_of(new_users), effect, "warning")


def planted_overlap(case: Case) -> Planted:
    leaked = rows(case.test, slice(3, 60, 4))
    damaged = replace(case, train=joined(case.train, leaked))
    is_kept = np.ones(case.test["user"].size, bool)
    is_kept[3:60:4] = False
    effect = case.value(), case.value(rows(case.test, is_kept))
    return Planted(damaged, "train-test-overlap", pairs_of(leaked), effect)


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
    return Planted(damaged, "duplicate-test", pairs_of(again), effect)


def planted_repeated_train(case: Case) -> Planted:
    again = rows(case.train, np.flatnonzero(case.train["item"] == case.train["item"][0]))
    again = joined(again, again, again)
    damaged = replace(case, train=joined(case.train, again))
    effect = popularity(damaged, case, lambda train: Counter(train["item"].tolist()))
    n = again["user"].size
    return Planted(damaged, "duplicate-train", pairs_of(again), effect, "warning", n)


def planted_unknown_users(case: Case) -> Planted:
    users = np.unique(case.test["user"])[5:11]
    damaged = replace(case, train=rows(case.train, ~np.isin(case.train["user"], users)))
    kept = rows(case.test, ~np.isin(case.test["user"], users))
    effect = case.value(), case.value(kept)
    return Planted(damaged, "unknown-users", ids_of(users), effect, "warning")


def planted_unknown_items(case: Case) -> Planted:
    items = np.unique(case.test["item"])[[4, 9]]
    damaged = replace(case, train=rows(case.train, ~np.isin(case.train["item"], items)))
    is_lost = np.isin(case.test["item"], items)
    effect = case.value(), case.value(rows(case.test, ~is_lost))
    n = int(is_lost.sum())
    return Planted(damaged, "unknown-items", ids_of(items, "item"), effect, "warning", n)


def planted_blanks(case: Case) -> Planted:
    """Plant blanks before some ids of the test part; the others are right."""
    text = case.test["item"].astype(str)
    is_odd = np.isin(case.test["item"], np.unique(case.test["item"])[::9])
    test = {**case.test, "item": np.where(is_odd, np.char.add(" ", text), text)}
    ids = ids_of(test["item"][is_odd], "item")
    with_fault = case.value({**case.test, "item": case.test["item"] + 5000 * is_odd})
    return Planted(replace(case, test=test), "item-spelling", ids, (with_fault, case.value()))


def planted_units(case: Case) -> Planted:
    test = {**case.test, "timestamp": case.test["timestamp"] * 1000}
    n = test["user"].size
    return Planted(replace(case, test=test), "time-units", (), count=n)


def planted_ratings(case: Case) -> Planted:
    stars = 1.0 + np.arange(case.test["user"].size) % 5
    test = {**case.test, "rating": stars}
    effect = (
        case.value({**case.test, "relevance": stars}),
        case.value({**rows(case.test, stars >= 4), "relevance": stars[stars >= 4]}),
    )
    low = rows(case.test, stars < 4)
    return Planted(replace(case, test=test), "ratings", pairs_of(low), effect)


def planted_low_grades(case: Case) -> Planted:
    grade = np.where(np.arange(case.test["user"].size) % 9 == 0, 0.5, 1.0)
    test = {**case.test, "relevance": grade}
    low = rows(case.test, grade < 1)
    effect = case.value(test), case.value(rows(test, grade == 1))
    return Planted(replace(case, test=test), "low-grades", pairs_of(low), effect, "warning")


def planted_other_users(case: Case) -> Planted:
    run = {**case.runs["model"], "user": case.runs["model"]["user"] + 5000}
    users = np.unique(case.test["user"])
    return Planted(with_run(case, run), "missing-users", ids_of(users))


def planted_repeated_items(case: Case) -> Planted:
    run = case.runs["model"]
    again = rows(run, np.arange(0, 40 * N_LISTED, N_LISTED))  # the first item of 40 lists
    again["score"] = again["score"] - 1e-9
    fresh = {**again, "item": 10_000 + np.arange(40)}
    effect = case.value(run=joined(run, fresh)), case.value()
    return Planted(with_run(case, joined(run, again)), "duplicate-run", pairs_of(again), effect)


def planted_short_lists(case: Case) -> Planted:
    run = case.runs["model"]
    users = np.unique(run["user"])[:10]
    place = np.arange(run["user"].size) % N_LISTED
    cut = rows(run, ~np.isin(run["user"], users) | (place < 3))
    kept = rows(case.test, ~np.isin(case.test["user"], users))
    effect = case.value(run=cut), case.value(kept, cut)
    return Planted(with_run(case, cut), "short-lists", ids_of(users), effect, "warning")


def planted_ties(case: Case) -> Planted:
    run = {**case.runs["model"], "score": np.round(case.runs["model"]["score"] / 4)}
    truth = without(case.test, "timestamp")
    best, worst = (podium.measure(truth, run, "ndcg@10", ties=t) for t in ("best", "worst"))
    is_tied = best.values["ndcg@10"] != worst.values["ndcg@10"]
    ids = ids_of(best.labels[is_tied])
    effect = best.means["ndcg@10"], worst.means["ndcg@10"]
    return Planted(with_run(case, run), "ties", ids, effect, "warning")


def planted_seen_items(case: Case) -> Planted:
    users = np.unique(case.test["user"])[:40]
    seen = {"user": users, "item": first_items(case.train, users), "score": np.full(40, 1e6)}
    run = joined(case.runs["model"], seen)
    effect = case.value(run=run), case.value()
    return Planted(with_run(case, run), "seen-items", pairs_of(seen), effect, "warning")


def planted_unknown_run_items(case: Case) -> Planted:
    run = {**case.runs["model"]}
    is_odd = np.arange(run["user"].size) % (3 * N_LISTED) == 0
    run["item"] = np.where(is_odd, 7000 + np.arange(run["user"].size), run["item"])
    effect = case.value(run=run), case.value(run=rows(run, ~is_odd))
    ids = ids_of(run["item"][is_odd], "item")
    return Planted(with_run(case, run), "unknown-run-items", ids, effect, "warning")


def planted_reversal(case: Case) -> Planted:
    run = {**case.runs["model"], "score": -case.runs["model"]["score"]}
    n = np.unique(case.test["user"]).size
    effect = case.value(run=run), case.value()
    return Planted(with_run(case, run), "reversed-scores", (), effect, count=n)


def planted_chance(case: Case) -> Planted:
    scores = np.random.default_rng(9).normal(size=(N_USERS, N_ITEMS))
    users = np.unique(case.test["user"])
    damaged = with_run(case, lists(case.train, users, scores))
    return Planted(damaged, "below-popularity", (), severity="warning", count=users.size)


def planted_sample_lists(sample: Case) -> Planted:
    n = np.unique(sample.test["user"]).size
    return Planted(replace(sample, options={}), "sampled-lists", (), count=n)


def planted_sample_seen_negatives(sample: Case) -> Planted:
    run = copied(sample.runs["model"])
    users = np.unique(run["user"])[:30]
    changed = np.arange(1, 31 * 30, 31)  # the first negative of 30 lists
    run["item"][changed] = first_items(sample.train, users)
    run["score"][changed] = 50.0
    is_kept = np.ones(run["user"].size, bool)
    is_kept[changed] = False
    effect = sample.value(run=run), sample.value(run=rows(run, is_kept))
    return Planted(with_run(sample, run), "negatives-seen", pairs_of(rows(run, changed)), effect)


def planted_sample_popular_negatives(sample: Case) -> Planted:
    run = copied(sample.runs["model"])
    order = by_popularity(n_users_of(sample.train))
    seen = set(pairs_of_all(sample.train)) | set(pairs_of_all(sample.test))
    for start in range(0, run["user"].size, 31):
        user = int(run["user"][start])
        best = [item for item in order if (user, item) not in seen][:30]
        run["item"][start + 1 : start + 31] = best
    return Planted(with_run(sample, run), "negatives-popular", None)


def planted_sample_number_of_negatives(sample: Case) -> Planted:
    run = sample.runs["model"]
    users = np.unique(run["user"])[:12]
    cut = rows(run, ~(np.isin(run["user"], users) & (np.arange(run["user"].size) % 31 > 20)))
    kept = rows(sample.test, ~np.isin(sample.test["user"], users))
    effect = sample.value(run=cut), sample.value(kept, cut)
    return Planted(with_run(sample, cut), "number-of-negatives", ids_of(users), effect)


def planted_sample_lost_targets(sample: Case) -> Planted:
    run = sample.runs["model"]
    place = np.arange(run["user"].size)
    is_lost = (place % 31 == 0) & (place < 31 * 9)
    cut = rows(run, ~is_lost)
    kept = rows(sample.test, ~np.isin(sample.test["user"], run["user"][is_lost]))
    effect = sample.value(run=cut), sample.value(kept, cut)
    labels = pairs_of(rows(run, is_lost))
    return Planted(with_run(sample, cut), "targets-not-listed", labels, effect)


def planted_everything_retrieved(case: Case) -> Planted:
    """Lists that begin with 20 candidates, all positives among them, and a cutoff of 50."""
    users, items = np.unique(case.test["user"]), np.unique(case.test["item"])
    scores = np.random.default_rng(4).normal(size=(users.size, items.size))
    run = {"user": np.repeat(users, items.size), "item": np.tile(items, users.size)}
    damaged = with_run(case, {**run, "score": scores.ravel()})
    options = {"protocol": "recall@90"}
    return Planted(replace(damaged, options=options), "any-order", (), count=users.size)


def planted_hits_by_everybody(case: Case) -> Planted:
    run = case.runs["model"]
    best = rows(case.test, np.unique(case.test["user"], return_index=True)[1])
    first = {"user": best["user"], "item": best["item"], "score": best["user"] * 0 + 1e6}
    is_other = ~np.isin(key(run), key(first))
    damaged = with_run(case, joined(rows(run, is_other), first))
    n = best["user"].size
    return Planted(replace(damaged, options={"protocol": "hit_rate@10"}), "one-value", (), count=n)


def planted_constant_scores(case: Case) -> Planted:
    run = {**case.runs["model"], "score": case.runs["model"]["user"] * 1.0}
    effect = case.value(run=run, ties="best"), case.value(run=run)
    ids = ids_of(np.unique(case.test["user"]))
    return Planted(with_run(case, run), "constant-scores", ids, effect)


def planted_scores_without_users(case: Case) -> Planted:
    appeal = np.random.default_rng(5).normal(size=10_000)
    run = {**case.runs["model"], "score": appeal[case.runs["model"]["item"]]}
    n, ids = run["user"].size, ids_of(run["item"], "item")
    return Planted(with_run(case, run), "same-scores", ids, severity="warning", count=n)


def planted_four_queries(case: Case) -> Planted:
    users = np.unique(case.test["user"])[:4]
    damaged = replace(case, test=rows(case.test, np.isin(case.test["user"], users)))
    return Planted(damaged, "few-users", (), severity="warning", count=4)


def planted_distances_of_few(case: Case) -> Planted:
    """Distances of ten queries, best first in the file, with too few for a test."""
    damaged = planted_reversal(case).case
    users = np.unique(case.test["user"])[:10]
    damaged = replace(damaged, test=rows(case.test, np.isin(case.test["user"], users)))
    return Planted(damaged, "reversed-scores", (), count=10)


def planted_chunks(case: Case) -> Planted:
    place = np.char.mod("#%d", np.arange(case.runs["model"]["user"].size) % 3)
    test = {**case.test, "item": np.char.mod("doc%d", case.test["item"])}
    train = {**case.train, "item": np.char.mod("doc%d", case.train["item"])}
    items = np.char.mod("doc%d", case.runs["model"]["item"])
    run = {**case.runs["model"], "item": np.char.add(items, place)}
    n, ids = run["user"].size, ids_of(run["item"], "item")
    damaged = replace(case, train=train, test=test, runs={"model": run})
    return Planted(damaged, "chunks", ids, (0.0, case.value()), count=n)


def planted_chunks_of_one_document(case: Case) -> Planted:
    """Let each list have both halves of some documents, which the truth judges apart."""
    run = case.runs["model"]
    halves = [
        {**table, "item": np.char.add(np.char.mod("doc%d", table["item"]), half)}
        for table, half in ((run, "#0"), (run, "#1"))
    ]
    halves[1]["score"] = halves[1]["score"] - 0.01
    first = {
        name: np.char.add(np.char.mod("doc%d", c), "#0") if name == "item" else c
        for name, c in case.test.items()
    }
    damaged = replace(case, train=None, test=first, runs={"model": joined(*halves)})
    n = run["user"].size
    ids = ids_of(joined(*halves)["item"], "item")
    return Planted(damaged, "chunks", ids, severity="warning", count=n)


def planted_pool_of_the_old_run(case: Case) -> Planted:
    """Judge the first ten items of an old run, and audit a new one that has others."""
    old, new = (random_run(case, seed) for seed in (1, 2))
    judged = rows(old, np.arange(old["user"].size) % N_LISTED < 10)
    grade = (np.arange(judged["user"].size) % 4 == 0) * 1.0
    test = {"user": judged["user"], "item": judged["item"], "relevance": grade}
    damaged = replace(case, train=None, test=test, runs={"old": old, "model": new})
    return Planted(damaged, "unjudged-items", None, severity="warning")


def planted_truth_from_a_run(case: Case) -> Planted:
    old, new = (random_run(case, seed) for seed in (1, 2))
    clicked = rows(old, np.arange(old["user"].size) % 7 == 0)
    test = without(clicked, "score")
    damaged = replace(case, train=None, test=test, runs={"old": old, "model": new})
    n = clicked["user"].size
    return Planted(damaged, "truth-from-run", (), severity="warning", count=n)


def planted_run_from_the_truth(case: Case) -> Planted:
    run = case.runs["model"]
    known = {**without(case.test, "timestamp"), "score": case.test["user"] * 0 + 1e6}
    damaged = with_run(case, joined(rows(run, ~np.isin(key(run), key(known))), known))
    return Planted(damaged, "perfect-lists", ids_of(np.unique(case.test["user"])))


def planted_queries_twice(case: Case) -> Planted:
    users = np.unique(case.test["user"])[:30]

    def twice(table: Columns) -> Columns:
        again = rows(table, np.isin(table["user"], users))
        return joined(table, {**again, "user": again["user"] + 2000})

    run = twice(case.runs["model"])
    damaged = replace(case, train=twice(case.train), test=twice(case.test), runs={"model": run})
    effect = case.value(damaged.test, run), case.value()
    return Planted(damaged, "repeated-queries", ids_of(users + 2000), effect, "warning")


def planted_equal_runs(case: Case) -> Planted:
    run = case.runs["model"]
    runs = {"other": {**run, "score": run["score"] * 2}, "model": run}
    n = np.unique(case.test["user"]).size
    return Planted(replace(case, runs=runs), "no-difference", (), severity="warning", count=n)


def planted_recent_taste(case: Case) -> Planted:
    """Let everybody want new items, which a model of all events ranks by their long past."""
    day = 86_400
    test_users = np.unique(case.test["user"])
    new = np.arange(3000, 3010)
    late = {"user": np.repeat(np.arange(100), 10), "item": np.tile(new, 100)}
    late["timestamp"] = np.full(1000, START - 1) * day
    train = {**case.train, "timestamp": case.train["timestamp"] * day}
    test = {"user": test_users, "item": new[test_users % 10]}
    test["timestamp"] = np.full(test_users.size, 1000) * day
    damaged = replace(case, train=joined(train, late), test=test)
    is_open = test["user"] >= 100  # the others have all new items
    damaged = replace(damaged, test=rows(test, is_open))
    n = int(is_open.sum())
    return Planted(damaged, "below-popularity", (), severity="warning", count=n)


def planted_own_items(case: Case) -> Planted:
    """Let users take items again, which the lists of new items leave out."""
    again = rows(case.train, slice(0, None, 4))
    test = {**again, "timestamp": again["timestamp"] + START}
    damaged = replace(case, test=test)
    n = np.unique(test["user"]).size
    return Planted(damaged, "below-popularity", (), severity="warning", count=n)


def planted_sample_targets_first(sample: Case) -> Planted:
    run = {**sample.runs["model"], "score": np.round(sample.runs["model"]["score"] / 2)}
    n = np.unique(sample.test["user"]).size
    return Planted(with_run(sample, run), "file-order", (), severity="warning", count=n)


def planted_sample_recall(sample: Case) -> Planted:
    options = {**sample.options, "protocol": "recall@10"}
    n = np.unique(sample.test["user"]).size
    damaged = replace(sample, options=options)
    return Planted(damaged, "single-positives", (), severity="note", count=n)


PLANTED: list[Callable[[Case], Planted]] = [
    value for name, value in sorted(globals().items()) if name.startswith("planted_")
]
