"""Laws of the ways to split events: what may not change the parts does not change them.

Tables are small and random; all their rows differ.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import Done

from podium.data.splitting import BY, PAIRS, UNIQUE, How, split_events

Rows = dict[str, set[tuple[Any, ...]]]

N_USERS = 12
SEEDS = range(4)
DRAWN = ("random", "user-random", "group")
SIZES: dict[str, dict[str, Any]] = {
    **{by: {"test": 0.3, "valid": 0.2} for by in BY},
    "leave-last": {"test": 2, "valid": 1},
}

pytestmark = pytest.mark.filterwarnings("ignore:.*equal time:podium.errors.PodiumWarning")
each_way = pytest.mark.parametrize("by", BY)
each_seed = pytest.mark.parametrize("seed", SEEDS)


def events(seed: int, *, equal_times: bool = False) -> pl.DataFrame:
    """Return 30 to 80 events. Some users have one event, and ids have one to three digits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 81))
    labels = rng.choice(np.arange(1, 200), N_USERS, replace=False)
    return pl.DataFrame(
        {
            "user": labels[np.minimum(rng.geometric(0.25, n) - 1, N_USERS - 1)],
            "item": rng.integers(1, 120, n),
            "timestamp": rng.integers(1, 9, n) if equal_times else rng.permutation(n),
            "row": np.arange(n),
        }
    )


def how(by: str, seed: int) -> How:
    return How(by, **SIZES[by], seed=seed if by in DRAWN else None)


def numbers_of_rows(parts: dict[str, pl.DataFrame]) -> dict[str, list[int]]:
    return {part: frame["row"].to_list() for part, frame in parts.items()}


def divided(table: Any, by: str, seed: int) -> dict[str, list[int]]:
    return numbers_of_rows(split_events(table, how(by, seed)).frames)


def counts_of_users(table: pl.DataFrame, rows: list[int]) -> dict[int, int]:
    return dict(table[rows].group_by("user").len().iter_rows())


@each_way
@each_seed
@pytest.mark.parametrize("equal_times", [False, True])
def test_each_row_is_in_one_part(by: str, seed: int, equal_times: bool) -> None:
    table = events(seed, equal_times=equal_times)
    parts = divided(table, by, seed)
    assert sorted(row for rows in parts.values() for row in rows) == list(range(table.height))
    assert all(rows == sorted(rows) for rows in parts.values())  # in the order of the table


@each_way
@each_seed
def test_sizes_of_parts_are_the_shares(by: str, seed: int) -> None:
    """Shares of all rows, of each user's rows or of the users, rounded down."""
    table = events(seed)
    parts = divided(table, by, seed)
    of_user = counts_of_users(table, list(range(table.height)))
    for part, size in SIZES[by].items():
        found = counts_of_users(table, parts[part])
        if by == "leave-last":
            expected = {user: size for user, n in of_user.items() if n > 3}
        elif by in ("user-time", "user-random"):
            expected = {u: int(size * n + 1e-9) for u, n in of_user.items() if int(size * n + 1e-9)}
        elif by == "group":
            assert len(found) == int(size * len(of_user))
            expected = {user: of_user[user] for user in found}  # users stay whole
        else:
            assert len(parts[part]) == int(size * table.height + 1e-9)
            continue
        assert found == expected


@pytest.mark.parametrize("by", ["time", "user-time", "leave-last"])
@each_seed
def test_later_parts_are_later(by: str, seed: int) -> None:
    """For all users together, or for each of them, rows of equal time included."""
    table = events(seed, equal_times=True)
    parts = {part: table[rows] for part, rows in divided(table, by, seed).items()}
    for early, late in (("train", "valid"), ("valid", "test"), ("train", "test")):
        for user in [None] if by == "time" else table["user"].unique().to_list():
            before, after = (
                parts[part] if user is None else parts[part].filter(pl.col("user") == user)
                for part in (early, late)
            )
            if before.height and after.height:
                gap = after["timestamp"].to_numpy().min() - before["timestamp"].to_numpy().max()
                assert gap > 0 if by == "time" else gap >= 0


@each_way
@each_seed
def test_ids_may_be_texts(by: str, seed: int) -> None:
    table = events(seed)
    expected = divided(table, by, seed)
    texts = table.with_columns(pl.col("user", "item").cast(pl.String))
    assert divided(texts, by, seed) == expected
    categories = texts.with_columns(pl.col("user").cast(pl.Categorical))
    assert divided(categories, by, seed) == expected
    in_order = pl.format("user {}", pl.col("user").cast(pl.String).str.zfill(3)).alias("user")
    assert divided(table.with_columns(in_order), by, seed) == expected


@pytest.mark.parametrize("by", [way for way in BY if way != "group"])
@each_seed
def test_users_may_be_renamed(by: str, seed: int) -> None:
    """Except in a draw of whole users, which depends on the order of their ids."""
    table = events(seed)
    rng = np.random.default_rng(seed)
    known = table["user"].unique(maintain_order=True)
    for labels in (rng.permutation(known.len()), [f"u{i}" for i in rng.permutation(known.len())]):
        renamed = table.with_columns(pl.col("user").replace_strict(known, pl.Series(labels)))
        assert divided(renamed, by, seed) == divided(table, by, seed)


@pytest.mark.parametrize("by", ["time", "user-time", "leave-last", "group"])
@each_seed
def test_order_of_rows_may_change(by: str, seed: int) -> None:
    """Where times are distinct, and for a draw of users. Draws of rows are draws of positions."""
    table = events(seed)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=seed)
    found, expected = divided(shuffled, by, seed), divided(table, by, seed)
    assert {part: sorted(rows) for part, rows in found.items()} == expected


def raw_log(seed: int) -> pl.DataFrame:
    """Return 400 events of few pairs; some lack a user or an item, some are returns."""
    rng, n = np.random.default_rng(seed), 400
    ids = pl.DataFrame({"user": rng.integers(N_USERS, size=n), "item": rng.integers(14, size=n)})
    missing = [pl.col(name).replace(value, None) for name, value in (("user", 3), ("item", 5))]
    sold, times = rng.integers(-1, 4, n), rng.permutation(n)
    return ids.with_columns(*missing, timestamp=times, sold=sold, row=np.arange(n))


@pytest.mark.parametrize("by", ["time", "user-time", "random"])
@pytest.mark.parametrize("unique", [None, *UNIQUE])
@each_seed
def test_each_row_is_in_one_part_or_is_dropped(by: str, unique: str | None, seed: int) -> None:
    table, tasks = raw_log(seed), dict[str, dict[str, set[Any]]]()
    options = {"drop_missing": True, "where": "sold > 0", "least": 2, **SIZES[by]}
    for task in PAIRS:
        made = split_events(table, How(by, **options, unique=unique, pairs=task))
        rows = pl.concat(made.frames.values())
        assert rows["row"].is_unique().all()
        assert rows.height + sum(made.record["dropped"].values()) == table.height
        assert rows.drop("weight", strict=False).equals(table[rows["row"]], null_equal=False)
        assert (rows["sold"] > 0).all()
        found = {part: pairs_of(frame) for part, frame in made.frames.items()}
        if unique is not None:
            assert [*map(len, found.values())] == [frame.height for frame in made.frames.values()]
        tasks[task] = found
    for part, earlier in (("valid", {"train"}), ("test", {"train", "valid"})):
        new, repeated, every = (tasks[task][part] for task in ("new", "repeat", "all"))
        had = set[Any]().union(*(tasks["all"][other] for other in earlier))
        assert (new, repeated) == (every - had, every & had)
        assert made.record["had_before"][part] == len(repeated) / len(every)


def pairs_of(frame: pl.DataFrame) -> set[tuple[int, int]]:
    return set(frame.select("user", "item").iter_rows())


@each_seed
def test_one_row_of_each_pair(seed: int) -> None:
    """The first, the last, or the last with the number of rows, which then add up to all rows."""
    table, at = raw_log(seed).drop_nulls(), 250
    whole = split_events(table, How("time", at=at)).frames
    for unique in UNIQUE:
        frames = split_events(table, How("time", at=at, unique=unique)).frames
        for part, frame in frames.items():
            time, counts = pl.col("timestamp"), {"weight": pl.len()} if unique == "count" else {}
            time = time.min() if unique == "first" else time.max()
            expected = whole[part].group_by("user", "item").agg(time, **counts)
            found = frame.select(expected.columns)
            assert set(found.iter_rows()) == set(expected.iter_rows())
        again = split_events(pl.concat(frames.values()), How("time", at=at, unique=unique)).frames
        kept = ["user", "item", "timestamp"]
        assert all(again[part].select(kept).equals(frames[part].select(kept)) for part in frames)


@each_way
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_command_line_writes_the_parts_of_the_library(
    podium: Callable[..., Done], tmp_path: Path, by: str, ending: str
) -> None:
    seed = 3
    table, path, folder = events(seed), tmp_path / f"events.{ending}", tmp_path / "parts"
    table.write_csv(path) if ending == "csv" else table.write_parquet(path)
    options = [text for name, size in SIZES[by].items() for text in (f"--{name}", str(size))]
    options += ["--seed", str(seed)] if by in DRAWN else []
    done = podium("split", str(path), "--by", by, *options, "--out", str(folder))
    assert done.status == 0, done.err
    expected = divided(table, by, seed)
    read = {part: pl.read_parquet(folder / f"{part}.parquet") for part in expected}
    assert numbers_of_rows(read) == expected
    for part, frame in read.items():
        assert frame.rows() == table[expected[part]].rows()
