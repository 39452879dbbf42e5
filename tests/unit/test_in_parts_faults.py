"""Faults of large tables: one sentence each, and nothing is left on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.raised import raises

import podium
from podium.data import buckets, sides
from podium.data.storage import Storage
from podium.errors import ArgumentError, DataError
from podium.evaluation import Evaluation

SMALL = "64KiB"


@pytest.fixture(autouse=True)
def spill_files_beside_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def made(n_users: int = 200, depth: int = 10) -> dict[str, pl.DataFrame]:
    """Return a truth and a run."""
    users = np.repeat(np.arange(n_users), depth)
    items = np.tile(np.arange(depth), n_users)
    scores = np.random.default_rng(0).random(users.size)
    run = pl.DataFrame({"user": users, "item": items, "score": scores})
    return {"truth": run.filter(pl.col("item") < 4).select("user", "item"), "run": run}


def write(folder: Path, frames: dict[str, pl.DataFrame], files: int = 4) -> None:
    """Write tables as folders of files, each with all users' rows in a random order."""
    for name, frame in frames.items():
        (folder / name).mkdir()
        rows = frame.sample(fraction=1.0, shuffle=True, seed=1)
        for i, part in enumerate(rows.iter_slices(-(-rows.height // files))):
            part.write_parquet(folder / name / f"part-{i}.parquet")


def measure(folder: Path, *, single_precision: bool = False, **options: Any) -> Evaluation:
    storage = Storage(SMALL, **options)
    given = folder / "truth", folder / "run", "ndcg@5"
    return podium.measure(*given, storage=storage, single_precision=single_precision)


def refused(folder: Path, pattern: str, **options: Any) -> None:
    """Assert that measuring fails and leaves nothing in the folder."""
    before = sorted(folder.iterdir())
    with pytest.raises(DataError, match=pattern):
        measure(folder, **options)
    assert sorted(folder.iterdir()) == before


def without_value(column: str) -> Any:
    """Return a column in which the sixth value is missing."""
    is_sixth = pl.int_range(pl.len()) == 5
    return pl.when(~is_sixth).then(pl.col(column)).alias(column)


CHANGES: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "type": ("'score'.*part-0.*part-1", lambda t: t.with_columns(pl.col("score").cast(pl.String))),
    "column": ("'item'.*missing in .*part-1", lambda t: t.drop("item")),
    **{
        name: (
            f"{name} has 1 missing value, first at row 505",
            lambda t, n=name: t.with_columns(without_value(n)),
        )
        for name in ("user", "item", "score")
    },
    "repeated pair": ("item 7 twice for user 7", lambda t: t.vstack(made()["run"].slice(77, 1))),
}


@pytest.mark.parametrize(("pattern", "change"), CHANGES.values(), ids=CHANGES)
def test_fault_of_one_part_is_named(
    tmp_path: Path, pattern: str, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    write(tmp_path, made())
    path = tmp_path / "run" / "part-1.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    refused(tmp_path, pattern)


def test_file_that_is_missing_damaged_or_of_another_kind_is_named(tmp_path: Path) -> None:
    frames = made(2000)
    write(tmp_path, frames)
    for name in ("_SUCCESS", ".part-0.parquet.crc"):  # hidden files are no parts
        (tmp_path / "run" / name).write_text("x")
    expected = podium.measure(frames["truth"], frames["run"], "ndcg@5")
    assert measure(tmp_path).means == expected.means
    (tmp_path / "run" / "notes.txt").write_text("hello")
    refused(tmp_path, r"notes\.txt")
    (tmp_path / "run" / "notes.txt").unlink()
    path = tmp_path / "run" / "part-3.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    refused(tmp_path, r"part-3\.parquet")
    (tmp_path / "run" / "part-2.parquet").unlink()
    refused(tmp_path, r"part-2\.parquet: .* from 0 to 3")


def test_full_disk_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, made())
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(sides.shutil, "disk_usage", lambda path: usage)
    refused(tmp_path, r"0\.1 MiB, but .* 0\.0 MiB")


def test_disk_that_fills_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, made())
    write_spill = sides.write_spill

    def failing(path: Path, *rest: Any) -> Any:
        if path.name == "1-0":  # the first file of the run
            raise OSError(28, "No space left on device")
        return write_spill(path, *rest)

    monkeypatch.setattr(sides, "write_spill", failing)
    refused(tmp_path, "No space left on device")


def test_rows_of_a_part_have_no_numbers(tmp_path: Path) -> None:
    frames = made()
    scores = frames["run"]["score"].set(frames["run"]["user"] == 150, 1e39)
    write(tmp_path, {**frames, "run": frames["run"].with_columns(score=scores)})
    refused(tmp_path, r"1e\+39", single_precision=True)


def test_limits_are_checked() -> None:
    wrong = {
        "memory": ["many", "1KB", -5, True],
        "executor": ["local"],
    }
    for name, values in wrong.items():
        for value in values:
            with raises(ArgumentError, name):
                Storage(**{name: value})


def test_sorted_files_need_no_spill_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = made(2000)
    for name, frame in frames.items():
        frame.write_parquet(tmp_path / f"{name}.parquet", row_group_size=500)
    monkeypatch.setattr(buckets, "spill_folder", None)
    monkeypatch.setattr(buckets, "n_buckets_for", lambda need, memory: 6)
    expected = podium.measure(frames["truth"], frames["run"], "ndcg@5")
    paths = tmp_path / "truth.parquet", tmp_path / "run.parquet"
    actual = podium.measure(*paths, "ndcg@5", storage=Storage(SMALL))
    assert actual.values["ndcg@5"].tobytes() == expected.values["ndcg@5"].tobytes()


def test_progress_counts_rows_up_to_all(tmp_path: Path) -> None:
    write(tmp_path, made())
    calls: list[tuple[int, int, str]] = []
    measure(tmp_path, progress=lambda *call: calls.append(call))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1] == 2 * (2000 + 800)
    assert {note for _, _, note in calls} == {"dividing", "measuring"}


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path, made())
    before = sorted(tmp_path.iterdir())

    def interrupt(done: int, total: int, note: str) -> None:
        assert sorted(tmp_path.iterdir()) != before
        if done or note != "dividing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(tmp_path, progress=interrupt)
    assert sorted(tmp_path.iterdir()) == before


def test_command_measures_large_tables(tmp_path: Path, podium: Callable[..., Any]) -> None:
    write(tmp_path, made())
    tables = str(tmp_path / "truth"), str(tmp_path / "run")
    in_memory = podium("measure", *tables, "--format", "json")
    values = tmp_path / "values"
    limits = ("--memory", SMALL, "--per-user", str(values))
    in_parts = podium("measure", *tables, "--format", "json", *limits)
    assert in_parts.out == in_memory.out
    assert pl.read_parquet(values / "*.parquet").height == 200
    for refused in (limits, ("--memory", "lots")):  # the folder of values exists
        assert podium("measure", *tables, *refused).status == 2
