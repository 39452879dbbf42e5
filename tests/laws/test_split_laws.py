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

from podium.data import splits
from podium.data.splitting import BY, How, split_events

Rows = dict[str, set[tuple[Any, ...]]]
Split = Callable[..., splits.Split]

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


@each_way
@each_seed
def test_functions_and_tables_give_the_same_parts(by: str, seed: int) -> None:
    table = events(seed)
    user, time = table["user"].to_numpy(), table["timestamp"].to_numpy()
    sizes = SIZES[by]
    if by == "leave-last":
        split = splits.leave_last_out(user, time, n=sizes["test"], n_valid=sizes["valid"])
    elif by in DRAWN:
        way: Split = splits.by_group if by == "group" else splits.random
        first = [user] if by == "group" else [table.height]
        users = {"user": user} if by == "user-random" else {}
        split = way(*first, **users, **sizes, seed=seed)
    else:
        split = splits.by_time(time, **sizes) if by == "time" else None
        split = split or splits.by_time_per_user(user, time, **sizes)
    expected = {part: getattr(split, part).tolist() for part in ("train", "test", "valid")}
    assert divided(table, by, seed) == expected


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
