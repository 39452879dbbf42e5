"""The small files that commands read, drawn from seeds and written to the working folder."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

N_USERS, N_ITEMS = 40, 30


def write_all() -> None:
    """Write every file; each kind of file has another seed."""
    _truth_and_runs(np.random.default_rng(1))
    _rows(np.random.default_rng(2))
    _pairs(np.random.default_rng(3))
    _ranks(np.random.default_rng(4))


def _csv(name: str, header: str, rows: Iterable[Iterable[Any]]) -> None:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n")


def _truth_and_runs(rng: np.random.Generator) -> None:
    """Write grades, ratings, three runs with ties, a run of fewer users, TREC files, and users."""
    grade = rng.integers(1, 4, (N_USERS, N_ITEMS)) * (rng.random((N_USERS, N_ITEMS)) < 0.2)
    grade[5] = 0
    judged = [(u, i, grade[u, i]) for u in range(N_USERS) for i in range(N_ITEMS) if i % 5 or u % 2]
    _csv("truth.csv", "user,item,relevance", judged)
    _csv("ratings.csv", "user,item,rating", ((u, i, g + 1) for u, i, g in judged))
    _csv("truth.tsv", "user\titem\trelevance", ((f"{u}\t{i}\t{g}",) for u, i, g in judged))
    Path("truth.trec").write_text("".join(f"{u} 0 {i} {g}\n" for u, i, g in judged))
    for name, lift in (("a", 0.3), ("b", 0.9), ("c", 0.5)):
        score = np.round(rng.normal(size=grade.shape) + lift * grade, 1)
        best = [np.argsort(-row, kind="stable")[:20].tolist() for row in score]
        listed = [(u, i, score[u, i]) for u in range(N_USERS) for i in best[u]]
        _csv(f"{name}.csv", "user,item,score", listed)
    all_scores = ((u, i, score[u, i]) for u in range(N_USERS) for i in range(N_ITEMS))
    _csv("full.csv", "user,item,score", all_scores)
    _csv("few.csv", "user,item,score", (row for row in listed if row[0] < 30))
    _csv(
        "ranked.csv",
        "user,item,rank",
        ((u, i, r + 1) for u in range(N_USERS) for r, i in enumerate(best[u])),
    )
    trec = (
        f"{u} Q0 {i} {r + 1} {20 - r} x\n" for u in range(N_USERS) for r, i in enumerate(best[u])
    )
    Path("run.trec").write_text("".join(trec))
    _csv("named.csv", "who,what,how", listed)
    _csv("named-truth.csv", "who,what,good", judged)
    countries = ("FR", "UK", "DE")
    _csv(
        "users.csv", "user,country,age", ((u, countries[u % 3], 20 + u % 2) for u in range(N_USERS))
    )
    _csv(
        "past.csv", "user,item", ((u, i) for u in range(N_USERS) for i in range(u % 4, N_ITEMS, 4))
    )
    kinds = ("a", "b|c", "c", "a|c")
    _csv("kinds.csv", "item,kind", ((i, kinds[i % 4]) for i in range(N_ITEMS)))


def _rows(rng: np.random.Generator) -> None:
    """Write training rows with four grades: as CSV, with times, and as svmlight."""
    for name in ("rows", "later"):
        X = rng.normal(size=(12 * 15, 3)).round(4)
        utility = X[:, 2] - X[:, 0] + 0.7 * rng.normal(size=len(X))
        grade = np.digitize(utility, [0.8, 1.5, 2.2])
        places = [(r // 15, r % 15) for r in range(len(X))]
        rows = [[*place, g, *x] for place, g, x in zip(places, grade, X.tolist(), strict=True)]
        _csv(f"{name}.csv", "user,item,relevance,x,y,z", rows)
        _csv(f"{name}-times.csv", "user,item,relevance,x,y,z,time", ([*r, 7 * r[1]] for r in rows))
        text = "".join(
            f"{g} qid:{u} " + " ".join(f"{j}:{v}" for j, v in enumerate(x, 1)) + f" #docid = {i}\n"
            for u, i, g, *x in rows
        )
        Path(f"{name}.svmlight").write_text(text)
        compressed = gzip.compress(text.replace("qid:", "qid:10").encode(), mtime=0)
        Path(f"more-{name}.svmlight.gz").write_bytes(compressed)


def _pairs(rng: np.random.Generator) -> None:
    """Write weighted pairs of two tastes, later pairs, pairs with names, and lists of ids."""
    u, i = np.indices((N_USERS, N_ITEMS)).reshape(2, -1)
    likes = rng.random(u.size) < np.where((u + i) % 2, 0.5, 0.1)
    late = likes & (rng.random(u.size) < 0.2)
    weight = rng.integers(1, 4, u.size)
    for name, part in (("pairs", likes & ~late), ("late", late)):
        rows = list(zip(u[part].tolist(), i[part].tolist(), weight[part].tolist(), strict=True))
        _csv(f"{name}.csv", "user,item,value", rows)
        _csv(f"{name}-names.csv", "user,item", ((f"u{a:02d}", f"i{b:02d}") for a, b, _ in rows))
    Path("some-users.txt").write_text("3\n1\n8\n")
    Path("some-items.txt").write_text("".join(f"{i}\n" for i in range(0, N_ITEMS, 3)))


def _ranks(rng: np.random.Generator) -> None:
    """Write sampled ranks of three models and several designs, scores, negatives and seen items."""
    users = range(60)
    first = 1 + np.minimum(rng.geometric(0.25, 60) - 1, 9)
    _csv("ranks.csv", "user,rank", zip(users, first, strict=True))
    _csv(
        "ranks-b.csv",
        "user,rank",
        zip(users, np.maximum(first - rng.integers(0, 4, 60), 1), strict=True),
    )
    _csv("ranks-c.csv", "user,rank", zip(users, rng.permutation(first), strict=True))
    _csv("ranks-two.csv", "user,rank", ((u // 2, r) for u, r in zip(users, first, strict=True)))
    sized = ((u, r, 9 + u % 3) for u, r in zip(users, first, strict=True))
    _csv("ranks-sized.csv", "user,rank,n_negatives", sized)
    history = ((u, r, u % 7) for u, r in zip(users, first, strict=True))
    _csv("ranks-history.csv", "user,rank,history", history)
    lists = [rng.permutation(N_ITEMS)[:9].tolist() for _ in range(N_USERS)]
    scored = [
        (u, i, round(float(rng.normal()), 2), int(position == 0))
        for u, items in enumerate(lists)
        for position, i in enumerate(items)
    ]
    _csv("scores.csv", "user,item,score,target", scored)
    unseen = [(u, i) for u, items in enumerate(lists) for i in range(N_ITEMS) if i not in items]
    _csv("seen.csv", "user,item", unseen[::4])
    _csv("drawn.csv", "user,item", ((u, items[3]) for u, items in enumerate(lists) if u % 2))
