"""What does not change the meaning of a file changes no result; what does is noticed.

Tables of commands are written in another way that means the same: results have the same
bits, but where rows are trained on in another order, whose sums round otherwise. Tables are also
written so that they mean something else: the command refuses them, warns, or gives another result.
"""

from __future__ import annotations

import functools
import gzip
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest

Run = Callable[..., Any]
Frames: TypeAlias = dict[str, pl.DataFrame]
Way: TypeAlias = Callable[[str, pl.DataFrame], str]
IDS = ("user", "item")
N_USERS, N_ITEMS = 8, 12

MEASURES = ("-m", "ndcg@3", "-m", "recall@2", "-m", "auc")
FIT = (
    *("--set", "n_factors=3", "--set", "n_epochs=9", "--set", "learning_rate=0.6"),
    *("--out", "factors"),
)
SAMPLED = ("--items", "200", "--method", "cls", "--format", "json", "-m", "ndcg@3")
PLANNED = ("--users", "50", "--error", "0.1")

# What is run, one after the other; "@truth" is the file of that table.
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "measure by": (
        ("measure", "@truth", "@run", *MEASURES, "--by", "country", "--users", "@people",
         "-m", "novelty@3", "-m", "gini@3", "--catalogue", "@past", "--format", "csv"),
    ),
    "gate": (
        ("gate", "@truth", "@run", "@other", "-m", "ndcg@3", "--margin", "0.95", "--by", "country",
         "--users", "@people", "--guard", "novelty@3:-9", "--catalogue", "@past", "--fail-on",
         "inferior", "--format", "json"),
    ),
    "audit": (("audit", "@past", "@truth", "@run", "--fail-on", "never", "--format", "json"),),
    "train and rank": (
        ("train", "@rows", "--loss", "pap-avg@2", "--set", "max_iter=20", "--out", "model"),
        ("rank", "model", "@rows", "--out", "ranked.csv"),
    ),
    "factorize and recommend": (
        ("train", "--model", "factorization", "@past", "--valid", "@held", *FIT),
        ("recommend", "factors", "--users", "@people", "--deny", "@denied", "--out", "best.csv"),
    ),
    "estimate": (("estimate", "@ranks", "--negatives", "20", *SAMPLED),),
    "estimate from scores": (("estimate", "@scores", "--seen", "@past", *SAMPLED),),
    "plan": (("plan", "--pilot", "@ranks", "--negatives", "20", *PLANNED, *SAMPLED),),
}  # fmt: skip


@functools.cache
def frames() -> Frames:
    """Return tables whose ids have two digits, so that numbers and texts sort alike."""
    rng = np.random.default_rng(3)
    every = np.array(list(itertools.product(range(10, 10 + N_USERS), range(20, 20 + N_ITEMS))))
    user, item = every.T
    n, x = len(every), rng.normal(size=len(every))
    likes = x + rng.normal(size=n)
    first = rng.random(n) < 0.6
    drawn = np.concatenate([rng.permutation(60)[:10] + 40 for _ in range(N_USERS)])
    pairs = pl.DataFrame({"user": user, "item": item})
    return {
        "truth": pairs.with_columns(relevance=pl.Series((likes > 1).astype(int))),
        "run": pairs.with_columns(score=pl.Series(x)),
        "other": pairs.with_columns(score=pl.Series(rng.normal(size=n))),
        "rows": pairs.with_columns(
            relevance=pl.Series((likes > 1).astype(int)), x=pl.Series(x), y=pl.Series(item % 5)
        ),
        "past": pairs.filter(pl.Series(first)),
        "held": pairs.filter(pl.Series(~first & (likes > 0.5))),
        "people": pl.DataFrame({"user": range(10, 10 + N_USERS), "country": ["FR", "UK"] * 4}),
        "denied": pl.DataFrame({"item": [21, 24]}),
        "ranks": pl.DataFrame({
            "rank": np.minimum(1 + rng.geometric(0.15, 40), 21), "user": np.arange(40) + 10,
        }),
        "scores": pl.DataFrame({
            "user": np.repeat(np.arange(10, 10 + N_USERS), 10), "item": drawn,
            "score": rng.normal(size=drawn.size), "target": [1, *[0] * 9] * N_USERS,
        }),
    }  # fmt: skip


def results(
    podium: Run, folder: Path, command: str, files: Mapping[str, str], *, warned: bool = False
) -> list[str]:
    """Run a command in a folder, and return all that it gives, or what it says of an error."""
    there, found = set(folder.iterdir()), list[str]()
    for words in COMMANDS[command]:
        argv = [files[word[1:]] if word[0] == "@" else word for word in words]
        done = podium(*argv)
        if done.status:
            assert done.status == 2
            return [done.err]
        found.append(done.out)
        found += [line for line in done.err.splitlines() if warned and "warning: " in line]
    made = sorted(set(folder.iterdir()) - there)
    return found + [path.read_text() for path in made if path.suffix == ".csv"]


def written(command: str, way: Way) -> dict[str, str]:
    """Write the tables of a command in the given way, and return the names of their files."""
    read = {word[1:] for words in COMMANDS[command] for word in words if word[0] == "@"}
    return {name: way(name, table) for name, table in frames().items() if name in read}


def plainly(name: str, table: pl.DataFrame) -> str:
    table.write_csv(f"{name}.csv")
    return f"{name}.csv"


def _text(change: Callable[[str], str]) -> Way:
    def write(name: str, table: pl.DataFrame) -> str:
        Path(f"{name}.csv").write_bytes(change(table.write_csv()).encode())
        return f"{name}.csv"

    return write


def _frame(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Way:
    return lambda name, table: plainly(name, change(table))


def _format(
    suffix: str, change: Callable[[pl.DataFrame], pl.DataFrame] = lambda table: table
) -> Way:
    writers: dict[str, Callable[[pl.DataFrame, str], Any]] = {
        ".tsv": lambda table, path: table.write_csv(path, separator="\t"),
        ".parquet": lambda table, path: table.write_parquet(path),
        ".arrow": lambda table, path: table.write_ipc(path),
        ".feather": lambda table, path: table.write_ipc(path, compression="zstd"),
        ".csv.gz": lambda table, path: Path(path).write_bytes(
            gzip.compress(table.write_csv().encode())
        ),
    }

    def write(name: str, table: pl.DataFrame) -> str:
        writers[suffix](change(table), f"{name}{suffix}")
        return f"{name}{suffix}"

    return write


def _ids_as(kind: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return what makes ids text, or another kind that holds the same."""

    def change(table: pl.DataFrame) -> pl.DataFrame:
        own = [name for name in IDS if name in table.columns]
        texts = table.with_columns(pl.col(own).cast(pl.String))
        return texts.with_columns(pl.col(own).cast(kind))

    return change


def _renamed(column: str, form: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def change(table: pl.DataFrame) -> pl.DataFrame:
        if column not in table.columns:
            return table
        return table.with_columns(pl.format(form, pl.col(column)).alias(column))

    return change


def _moved(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("item") + 1)


def _swapped(table: pl.DataFrame) -> pl.DataFrame:
    return table.rename({"user": "item", "item": "user"})


def _less(table: pl.DataFrame) -> pl.DataFrame:
    return table.slice(1)


def _turned(table: pl.DataFrame) -> pl.DataFrame:
    """Turn scores, features and ranks round, so that the best is the worst."""
    name = next(name for name in ("score", "x", "rank") if name in table.columns)
    return table.with_columns(pl.max(name) + pl.min(name) - pl.col(name))


def _with_rank(table: pl.DataFrame) -> pl.DataFrame:
    """Add ranks of which the best has the lowest score."""
    return table.with_columns(rank=pl.col("score").rank("ordinal").over("user"))


def _one_comma_lost(text: str) -> str:
    head, first, rest = text.split("\n", 2)
    return "\n".join((head, first.replace(",", "", 1), rest))


ALL = ("truth", "run", "other", "rows", "past", "held", "people", "ranks", "scores")
# Sums over rows and columns round otherwise in training; lists come in the order of --users.
REORDERED = {"train and rank": ("rows", "columns"), "factorize and recommend": ("rows",)}

# Ways to write the same table.
SAME: dict[str, Way] = {
    "rows": _frame(lambda table: table.sample(fraction=1, shuffle=True, seed=5)),
    "columns": _frame(lambda table: table.select(table.columns[::-1])),
    "names": _frame(lambda table: table.rename({n: n.upper() for n in table.columns if n in IDS})),
    "quoted": lambda name, table: (
        table.write_csv(f"{name}.csv", quote_style="always"), f"{name}.csv",
    )[1],
    "ids with a point": _frame(_renamed("item", "{}.0")),
    "crlf": _text(lambda text: text.replace("\n", "\r\n")),
    "bom": _text(lambda text: "\ufeff" + text),
    "no last line end": _text(lambda text: text.rstrip("\n")),
    "blank lines": _text(lambda text: text + "\n\n"),
    "semicolons": _text(lambda text: text.replace(",", ";")),
    **{suffix: _format(suffix) for suffix in (".tsv", ".csv.gz", ".parquet", ".arrow", ".feather")},
    "short numbers": _format(".parquet", _ids_as(pl.Int8)),
    "unsigned": _format(".parquet", _ids_as(pl.UInt64)),
    "texts": _format(".parquet", _ids_as(pl.String)),
    "categories": _format(".arrow", _ids_as(pl.Categorical)),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain_results() -> dict[str, list[str]]:
    """Return a cache, by command, of the results of the unchanged tables."""
    return {}


@pytest.fixture
def expect(
    podium: Run, folder: Path, plain_results: dict[str, list[str]]
) -> Callable[[str], list[str]]:
    """Return a function that gives a command's results of the unchanged tables."""

    def run(command: str) -> list[str]:
        if command not in plain_results:
            outputs = results(podium, folder, command, written(command, plainly))
            assert outputs[0][:6] != "podium", outputs
            plain_results[command] = outputs
            for path in folder.iterdir():
                path.unlink()
        return plain_results[command]

    return run


# The commands that read each kind of table in all ways; the others read it in some.
READERS = ("measure by", "train and rank", "factorize and recommend", "estimate from scores")


@pytest.mark.parametrize(
    ("command", "way"),
    [
        (command, way)
        for command in COMMANDS
        for way in SAME
        if command in READERS or way in ("rows", "columns", ".parquet", "texts")
    ],
)
def test_the_same_table_written_otherwise_gives_the_same(
    podium: Run, folder: Path, expect: Run, command: str, way: str
) -> None:
    expected = expect(command)
    found = results(podium, folder, command, written(command, SAME[way]))
    if way in REORDERED.get(command, ()):
        one, other = (pl.read_csv(text.encode()).sort(IDS) for text in (expected[-1], found[-1]))
        assert one.select(IDS).equals(other.select(IDS))
        rtol = 1e-9 if command == "train and rank" else 0
        np.testing.assert_allclose(other["score"], one["score"], rtol=rtol)
    else:
        assert found == expected


# Ways to write another table: which tables, and how each changes. What is no table stays text.
CHANGED: dict[str, tuple[tuple[str, ...], Way]] = {
    "other item ids": (("run", "held", "denied"), _frame(_renamed("item", "i{}"))),
    "other user ids": (("run", "held", "people"), _frame(_renamed("user", "u{}"))),
    "ids with a nought": (("run", "held"), _frame(_renamed("item", "0{}"))),
    "all ids moved by one": (("run", "held", "denied"), _frame(_moved)),
    "headers swapped": (("truth", "run", "past", "scores"), _frame(_swapped)),
    "one comma lost": (ALL, _text(_one_comma_lost)),
    "a line cut short": (ALL, _text(lambda text: text[: text.rindex(",")])),
    "a row twice": (ALL, _frame(lambda table: pl.concat([table, table.head(1)]))),
    "a row less": (("truth", "run", "rows", "ranks", "scores", "past"), _frame(_less)),
    "last column turned": (("run", "rows", "ranks", "scores"), _frame(_turned)),
    "a rank that contradicts": (("run",), _frame(_with_rank)),
}


# What means the same here: rows that make a set, a user's ranks that all weigh the same, and a
# column that this command does not read.
EQUAL = {
    *(("factorize and recommend", "a row twice", table) for table in ("held", "people")),
    *((command, "a row twice", "ranks") for command in ("estimate", "plan")),
    *(("estimate from scores", "a row twice", table) for table in ("past", "scores")),
    ("factorize and recommend", "a line cut short", "people"),
}


@pytest.mark.parametrize(
    ("command", "way", "table"),
    [
        (command, way, table)
        for command, steps in COMMANDS.items()
        for way, (tables, _) in CHANGED.items()
        for table in tables
        if any(f"@{table}" in words for words in steps)
        if (command, way, table) not in EQUAL
    ],
)
def test_another_table_is_refused_or_said_or_gives_another_result(
    podium: Run, folder: Path, expect: Run, command: str, way: str, table: str
) -> None:
    expected = expect(command)
    files = written(command, plainly)
    files[table] = CHANGED[way][1](table, frames()[table])
    assert results(podium, folder, command, files, warned=True) != expected
