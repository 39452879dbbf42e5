"""Small tables, and their bytes in every format."""

from __future__ import annotations

import gzip
import io
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import polars as pl

Table: TypeAlias = list[tuple[str, list[Any]]]
"""The names and values of columns; names may be repeated."""

TEXTS = ("csv", "csv", "tsv", "csv.gz", "tsv.gz")
BINARIES = ("parquet", "arrow", "feather")


def _labels(rng: random.Random) -> Callable[[int], Any]:
    """Return a function from numbers to ids of users or items: numbers mostly, or texts."""
    return rng.choice((int, int, int, str, "u{}".format, "0{}".format, lambda i: i * 10**12))


def truth(rng: random.Random) -> Table:
    """Return the truth of a few users."""
    user, item, step = _labels(rng), _labels(rng), rng.choice((1, 2, 3))
    pairs = [(user(u), item(i)) for u in range(rng.randint(1, 8)) for i in range(0, 9, step)]
    grades = rng.choice(((1,), (0, 1), (0, 1, 2, 3), (0.5, 1.0)))
    return [
        ("user", [u for u, _ in pairs]),
        ("item", [i for _, i in pairs]),
        ("relevance", [rng.choice(grades) for _ in pairs]),
    ]


def run(rng: random.Random, of: Table) -> Table:
    """Return a run of the truth's users with most of their items."""
    share = rng.choice((1.0, 0.9, 0.5))
    pairs = list(dict.fromkeys(zip(of[0][1], of[1][1], strict=True)))
    rows = [pair for pair in pairs if rng.random() < share] or pairs
    counts: Counter[Any] = Counter()
    ranks: list[int] = []
    for user, _ in rows:
        counts[user] += 1
        ranks.append(counts[user])
    scores = [round(rng.random(), rng.choice((1, 6))) for _ in rows]
    last = rng.choice((("score", scores), ("score", scores), ("rank", ranks)))
    return [("user", [u for u, _ in rows]), ("item", [i for _, i in rows]), last]


def rows_to_learn(rng: random.Random) -> Table:
    """Return features and labels of items for a few users."""
    user, item, n_items = _labels(rng), _labels(rng), rng.choice((4, 12))
    pairs = [(u, i) for u in range(rng.randint(2, 6)) for i in range(n_items)]
    x = [rng.gauss(0, 1) for _ in pairs]
    return [
        ("user", [user(u) for u, _ in pairs]),
        ("item", [item(i) for _, i in pairs]),
        ("relevance", [int(value + rng.gauss(0, 1) > 0.5) for value in x]),
        ("x", x),
        ("y", [rng.randrange(3) for _ in pairs]),
    ]


def interactions(rng: random.Random) -> Table:
    """Return interactions of users, with or without weights."""
    user, item, n_items = _labels(rng), _labels(rng), rng.choice((5, 30))
    pairs = [(u, rng.randrange(n_items)) for u in range(rng.randint(1, 12)) for _ in range(5)]
    table: Table = [("user", [user(u) for u, _ in pairs]), ("item", [item(i) for _, i in pairs])]
    if rng.random() < 0.5:
        table.append(("value", [rng.choice((1, 2.5, 5)) for _ in pairs]))
    return table


def sampled_ranks(rng: random.Random) -> Table:
    """Return ranks of targets among 20 sampled items."""
    n = rng.randint(1, 40)
    table: Table = [("rank", [min(21, 1 + int(rng.expovariate(0.2))) for _ in range(n)])]
    if rng.random() < 0.7:
        table.append(("user", [rng.randrange(n) for _ in range(n)]))
    if rng.random() < 0.2:
        table.append(("n_negatives", [rng.choice((20, 20, 30)) for _ in range(n)]))
    if rng.random() < 0.2:
        table.append(("history", [rng.randrange(50) for _ in range(n)]))
    return table


def candidate_scores(rng: random.Random) -> Table:
    """Return the scores of a target and 9 candidates for each user."""
    n = rng.randint(1, 10)
    rows = [(u, item) for u in range(n) for item in rng.sample(range(40), 10)]
    return [
        ("user", [u for u, _ in rows]),
        ("item", [i for _, i in rows]),
        ("score", [rng.random() for _ in rows]),
        ("target", [int(row % 10 == 0) for row in range(len(rows))]),
    ]


def packed(data: bytes) -> bytes:
    """Return the bytes, compressed by gzip."""
    return gzip.compress(data, 1, mtime=0)


def write(table: Table, format: str) -> bytes:
    """Return a table's bytes; values that a binary format cannot store become text."""
    if format.endswith(".gz"):
        return packed(write(table, format.removesuffix(".gz")))
    if format in ("csv", "tsv"):
        return _joined(table, "," if format == "csv" else "\t")
    if format == "trec":
        return _trec(table)
    if format == "svmlight":
        return _svmlight(table)
    frame, out = _frame(table), io.BytesIO()
    if format == "parquet":
        frame.write_parquet(out)
    else:
        frame.write_ipc(out)
    return out.getvalue()


def _joined(table: Table, separator: str) -> bytes:
    lines = [separator.join(name for name, _ in table)]
    columns = [[_text(value) for value in values] for _, values in table]
    lines += [separator.join(cells) for cells in zip(*columns, strict=False)]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def _trec(table: Table) -> bytes:
    """Return a run if there are scores, else qrels."""
    columns = dict(table)
    last = next(iter(columns.keys() & {"score", "relevance"}), table[-1][0])
    form = "{} Q0 {} 1 {} tag" if last == "score" else "{} 0 {} {}"
    cells = zip(table[0][1], table[min(1, len(table) - 1)][1], columns[last], strict=False)
    return "".join(form.format(*map(_text, row)) + "\n" for row in cells).encode(errors="replace")


def _svmlight(table: Table) -> bytes:
    columns = dict(table)
    label = columns.get("relevance", table[0][1])
    features = [values for name, values in table if name not in ("user", "item", "relevance")]
    lines: list[str] = []
    for row, (qid, grade) in enumerate(zip(table[0][1], label, strict=False)):
        cells = [f"{j}:{_text(column[row])}" for j, column in enumerate(features, 1)]
        lines.append(" ".join([_text(grade), f"qid:{_text(qid)}", *cells]))
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _frame(table: Table) -> pl.DataFrame:
    """Return a Polars frame; a repeated name gets a suffix."""
    series: list[pl.Series] = []
    for i, (name, values) in enumerate(table):
        unique_name = name if all(name != other.name for other in series) else f"{name}_{i}"
        series.append(_series(unique_name, values))
    n = min(map(len, series), default=0)
    return pl.DataFrame([column[:n] for column in series])


def _series(name: str, values: list[Any]) -> pl.Series:
    try:
        return pl.Series(name, values)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [_text(value) for value in values])
