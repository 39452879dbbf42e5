"""Cases of the law: small random tables and combinations of options, determined by a seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

Rows: TypeAlias = tuple[tuple[Any, ...], ...]

MEASURES = (
    *("pap@1", "pap@2", "pap(clip=true)@3", "pauc@1", "pauc@2", "pauc(clip=true)@3", "auc"),
    *("auc@1", "auc@3", "precision@2", "precision(norm=min)@3", "precision(norm=list)@4"),
    *("recall", "recall@2", "recall(norm=min)@3", "f1@3", "hit_rate", "hit_rate@2", "r_precision"),
    *("rr", "rr@2", "ap", "ap@3", "ap(norm=min)@3", "ap(norm=retrieved)", "ap(norm=retrieved)@2"),
    *("rbp", "rbp(p=0.5)@3", "bpref", "judged@1", "judged@3", "dcg", "dcg(gain=exp2)@3"),
    *("dcg(gain=binary)@2", "ndcg", "ndcg@3", "ndcg(gain=exp2)@3", "ndcg(gain=binary)@2"),
    *("ndcg(discount=letor)@3", "ndcg(ideal=full)@3", "ndcg(gain=binary,ideal=full)@2"),
    *("ndcg(gain=exp2,discount=letor)", "ndcg(ideal=full)", "err", "err@2", "err(max_grade=1)@3"),
    *("topk_loss@1", "topk_loss@2"),
    *("coverage@2", "gini@2", "novelty@2", "popularity@2", "diversity@3"),
)
"""Every metric, with its options and with several cutoffs."""

PACKAGES = ("trec_eval", "ir_measures", "sklearn", "ranx", "rectools", "recbole", "torchmetrics")

OPTIONS: dict[str, tuple[Any, ...]] = {
    "ties": ("best", "average", "id", "random", "threshold"),
    "min_relevance": (2.0, 0.5),
    "low_grades": ("keep", "zero"),
    "missing": ("zero", "skip"),
    "unjudged": ("skip", "error", "bounds"),
    "unretrieved": ("drop",),
    "single_precision": (True,),
    "score_above": (0.0, 0.5),
    "n_items": (14, 5),
    "undefined": ("zero", "one", "error"),
    "level": (0.8,),
    "interval": ("wilson",),
    "like": PACKAGES,
    "by": (("engagement",), ("n_pos",), ("country",)),
    "pairs": ("all",),
    "margin": (0.2,),
    "cluster": ("person",),
    "weight": ("share",),
}
"""The options of the doors, with their values other than the default. An absent one is default."""

DATA: dict[str, tuple[Any, ...]] = {
    "ids": ("text", "mixed"),
    "grades": ("binary", "graded", "fractions"),
    "scores": ("tied", "near", "signed", "rank", "large"),
    "lists": ("whole", "deep", "few"),
    "absent": ("some",),
    "candidate": ("equal", "reordered"),
    "countries": ("unknown",),
}
"""Properties of the tables: of ids, relevances, scores, lists, and of users without a row."""

FACTORS = {"measure": MEASURES, **OPTIONS, **DATA}


@dataclass(frozen=True)
class Tables:
    """The tables of a case, as rows.

    Attributes
    ----------
    truth : rows of (user, item, relevance)
    runs : dict of rows of (user, item, score)
        A base "a", a candidate "b" and a third run "c".
    past : rows of (user, item)
    kinds : dict of item to text
        The categories of items, such as "x|y"; empty for an item without any.
    users : dict of user to (country, person, share)
    scores : {"score", "rank"}
        The kind of the third column of runs.
    """

    truth: Rows
    runs: Mapping[str, Rows]
    past: Rows
    kinds: Mapping[Any, str]
    users: Mapping[Any, tuple[str, str, float]]
    scores: str = "score"

    @property
    def is_order(self) -> bool:
        """Whether a run has an order of items instead of scores."""
        return self.scores == "rank" or any(
            abs(score) > 2**53 for rows in self.runs.values() for *_, score in rows
        )

    def judged(self) -> dict[str, dict[str, float]]:
        """Return the relevance of each item, by user."""
        result: dict[str, dict[str, float]] = {}
        for user, item, relevance in self.truth:
            result.setdefault(str(user), {})[str(item)] = relevance
        return result


@dataclass(frozen=True)
class Case:
    """Tables, measures and options; those that are left out have their defaults."""

    tables: Tables
    measures: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    number: int = 0
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __getitem__(self, name: str) -> Any:
        """Return the value of an option, or a property of the data; None if it is the default."""
        return self.options.get(name, self.data.get(name))

    def replace(self, **parts: Any) -> Case:
        return replace(self, **parts)


IMPLIED: dict[str, tuple[str, Any]] = {
    "ties": ("scores", ("tied", "tied", "signed", "near")),
    "single_precision": ("scores", ("near", "tied", "signed")),
    "score_above": ("scores", ("signed", "tied")),
    "min_relevance": ("grades", ("graded", "fractions")),
    "like": ("scores", ("tied", "signed", "near")),
    "unretrieved": ("grades", ("binary", "graded")),
    "low_grades": ("min_relevance", (2.0,)),
    "absent": ("missing", ("zero", "skip")),
    "candidate": ("scores", ("distinct", "tied", "near")),
}
"""The data, or the option, with which a value of a factor usually has an effect."""

NEEDS_LENGTH = ("pap", "pauc", "auc")
"""Metrics that most short lists do not determine."""

Row: TypeAlias = Mapping[str, Any]
"""A combination: the value of each factor that is not the default."""


def rows(seed: int) -> Iterator[Row]:
    """Yield combinations without end: first a covering array of all pairs, then triples."""
    rng = random.Random(seed)
    values = [(name, value) for name, of_name in FACTORS.items() for value in of_name]
    pairs = ((x, y) for x, y in itertools.combinations(values, 2) if x[0] != y[0])
    order = [*pairs]
    rng.shuffle(order)
    is_open = set(order)
    for pair in order:
        if pair in is_open:
            drawn = [_extended(dict(pair), values, rng) for _ in range(4)]
            row = max(drawn, key=lambda row: len(is_open & _pairs_of(row)))
            is_open -= _pairs_of(row)
            yield row
    while True:
        yield _extended(dict(rng.sample(values, 3)), values, rng)


def _extended(row: Row, values: Sequence[Any], rng: random.Random) -> Row:
    """Return a row with up to two more values, few enough that they do not hide each other."""
    return {**dict(rng.sample(values, rng.choice((0, 1, 2)))), **row}


def _pairs_of(row: Row) -> set[Any]:
    return {*itertools.combinations([(name, row[name]) for name in FACTORS if name in row], 2)}


def case_of(row: Row, seed: Any, number: int = 0, n_more: Sequence[int] = (0,)) -> Case:
    """Return a case of a combination; what it leaves open is drawn so that it often matters.

    `n_more` has the numbers of further measures to choose from.
    """
    rng = random.Random(f"{seed}/{number}")
    row = dict(row)
    for name, (implied, values) in IMPLIED.items():
        if name in row and implied not in row and rng.random() < 0.7:
            row[implied] = rng.choice(values)
    if "candidate" not in row and rng.random() < 0.15:
        row["candidate"] = "reordered"
    measures = [row.get("measure") or rng.choice(MEASURES)]
    measures += rng.sample(MEASURES, rng.choice(n_more))
    if any(m.startswith(NEEDS_LENGTH) for m in measures) and "lists" not in row:
        row["lists"] = rng.choice(("whole", "deep"))
    data = {name: row[name] for name in DATA if name in row}
    n_items = 6 if row.get("unjudged") == "bounds" else 12  # all judgements are tried
    options = {name: row[name] for name in OPTIONS if name in row}
    tables = tables_of(rng, **data, n_items=n_items)
    return Case(tables, (*dict.fromkeys(measures),), options, number, data)


def tables_of(
    rng: random.Random,
    *,
    ids: str = "integer",
    grades: str = "ones",
    scores: str = "distinct",
    lists: str = "short",
    absent: str = "none",
    candidate: str = "other",
    countries: str = "known",
    n_items: int = 12,
) -> Tables:
    """Draw tables with these properties."""
    users = [*range(1, rng.randint(4, 9))]
    items = [*range(13 - n_items, 13)]
    levels = {"ones": (1.0,), "binary": (0.0, 1.0), "graded": (0.0, 0.0, 1.0, 2.0, 3.0)}.get(
        grades, (0.0, 0.5, 1.0, 2.5)
    )
    truth = [
        (user, item, rng.choice(levels))
        for user in users
        for item in sorted(
            rng.sample(items, rng.randint(1, 2 if lists == "few" else min(6, n_items)))
        )
    ]
    truth[0] = (truth[0][0], truth[0][1], max(levels))
    runs = {
        name: _run(rng, truth, users, items, scores=scores, lists=lists, absent=absent)
        for name in ("a", "b", "c")
    }
    if candidate != "other":  # the same items, in the same or in another order
        same = {row[:2]: row[2] for row in runs["a"]}
        redrawn = _scores(rng, scores, len(same))
        runs["b"] = [
            (*key, score if candidate == "equal" or scores == "rank" else other)
            for (key, score), other in zip(same.items(), redrawn, strict=True)
        ]
        rng.shuffle(runs["b"])
    past = [(rng.randint(1, 5), item) for item in rng.choices(items[:-3], k=14)]
    past.append((1, truth[0][1]))
    kinds = {item: "|".join(sorted(rng.sample("vwxyz", rng.randint(0, 3)))) for item in items[:-1]}
    kinds[truth[0][1]] = "v"
    facts = ("FR", "UK"), ("p", "q", "r"), (0.0, 0.5, 1.0, 2.0)
    of_users: dict[int, Any] = {user: tuple(map(rng.choice, facts)) for user in users}
    if countries == "unknown" and len(users) > 1:
        del of_users[users[-1]]

    def of_truth(kind: str, number: int) -> Any:
        return f"{kind}{number}" if ids == "text" else number

    def of_run(kind: str, number: int) -> Any:
        return str(number) if ids == "mixed" else of_truth(kind, number)

    return Tables(
        tuple((of_truth("u", u), of_truth("i", i), r) for u, i, r in truth),
        {n: tuple((of_run("u", u), of_run("i", i), s) for u, i, s in r) for n, r in runs.items()},
        tuple((of_truth("u", u), of_truth("i", i)) for u, i in past),
        {of_truth("i", i): kind for i, kind in kinds.items()},
        {of_truth("u", u): row for u, row in of_users.items()},
        "rank" if scores == "rank" else "score",
    )


def _run(
    rng: random.Random,
    truth: Sequence[tuple[int, int, float]],
    users: Sequence[int],
    items: Sequence[int],
    *,
    scores: str,
    lists: str,
    absent: str,
) -> list[tuple[int, int, Any]]:
    """Draw the lists of a run; the first user has a list with an item of the truth."""
    rows: list[tuple[int, int, Any]] = []
    for user in (*users, 20):  # user 20 is in no truth
        judged = [item for u, item, _ in truth if u == user]
        others = [item for item in items if item not in judged]
        if user != users[0] and absent == "some" and rng.random() < 0.3:
            continue
        n_others = {"whole": 0, "deep": len(others), "few": 1}.get(lists, rng.randint(0, 2))
        n_judged = len(judged) if lists in ("whole", "deep") else rng.randint(0, len(judged))
        drawn = [*rng.sample(judged, n_judged), *rng.sample(others, min(n_others, len(others)))]
        if user == users[0] and not set(drawn) & set(judged):
            drawn.append(judged[0])
        drawn = drawn or [rng.choice(items)]
        rng.shuffle(drawn)
        rows += [(user, i, s) for i, s in zip(drawn, _scores(rng, scores, len(drawn)), strict=True)]
    rng.shuffle(rows)
    return rows


def _scores(rng: random.Random, kind: str, n: int) -> list[Any]:
    if kind == "rank":
        return rng.sample(range(1, n + 3), n)
    if kind == "large":
        return rng.sample(range(2**60, 2**60 + 2 * n + 1), n)
    if kind == "near":  # single precision makes ties of some
        return [rng.choice((0.25, 0.25 + 1e-10, 0.75, 0.75 + 1e-10, 1e-46)) for _ in range(n)]
    levels = {"tied": (0.25, 0.5, 0.75, 1.0), "signed": (-0.5, 0.0, 0.5, 1.5)}
    if kind in levels:
        return [rng.choice(levels[kind]) for _ in range(n)]
    return [rng.randint(1, 10**6) / 2**20 for _ in range(n)]
