"""An audit of tables that need more memory than there is: one in some users, and all items."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import podium
from podium import data
from podium.data.columns import ITEM, RELEVANCE, USER
from podium.data.some_users import of_some_users
from podium.errors import DataError

SMALL = "64KiB"


N_USERS = 400


def tables() -> dict[str, pl.DataFrame]:
    """Return parts with leaks in time and in pairs, and a run with seen items and unknown ones."""
    rng = np.random.default_rng(0)

    def lists(n_items: int, size: int, third: str) -> pl.DataFrame:
        items = np.argsort(rng.random((N_USERS, n_items)), axis=1)[:, :size].ravel()
        users, values = np.repeat(np.arange(N_USERS), size), rng.integers(0, 9999, items.size)
        return pl.DataFrame({"user": users, "item": items, third: values})

    events = lists(40, 12, "timestamp")
    is_test = rng.random(events.height) < 0.2
    train = events.filter(~is_test | (rng.random(events.height) < 0.1))
    return {"train": train, "test": events.filter(is_test), "run": lists(45, 20, "score")}


def written(folder: Path, frames: dict[str, pl.DataFrame]) -> dict[str, Path]:
    for name, frame in frames.items():
        frame.write_parquet(folder / f"{name}.parquet", row_group_size=500)
    return {name: folder / f"{name}.parquet" for name in frames}


def findings(audit: Any) -> list[dict[str, Any]]:
    return [f.as_json() for f in audit.findings if f.check != "some-users"]


def audited(given: dict[str, Any], **options: Any) -> Any:
    return podium.audit(given["train"], given["test"], {"run": given["run"]}, **options)


def test_audit_of_some_users_is_that_of_their_rows(tmp_path: Path) -> None:
    frames = tables()
    result = audited(written(tmp_path, frames), memory=SMALL)
    note = next(finding for finding in result.findings if finding.check == "some-users")
    one_in = int(note.text.split("one in ")[1].split(" ")[0])
    assert one_in > 3
    some, _ = of_some_users(frames["train"], "train", (USER, ITEM), {}, one_in)
    users = some.fetch({"user": "id"})["user"].unique().to_list()
    assert 0 < len(users) < 2 * N_USERS / one_in
    alone = {name: f.filter(pl.col("user").is_in(users)) for name, f in frames.items()}
    here, there = (
        [f for f in findings(a) if "unknown" not in f["check"]] for a in (result, audited(alone))
    )
    assert here == there
    assert len(here) > 3


def test_items_of_other_users_are_known(tmp_path: Path) -> None:
    frames = tables()
    only_once = pl.DataFrame({"user": [1], "item": [999], "timestamp": [1]})
    frames["train"] = pl.concat([frames["train"], only_once])
    frames["run"] = frames["run"].with_columns(pl.col("item").replace({3: 999}))
    for memory in (None, SMALL):
        result = audited(written(tmp_path, frames), memory=memory)
        found = next(f for f in result.findings if f.check == "unknown-run-items")
        assert not any("999" in example for example in found.examples)


@pytest.mark.parametrize("spelling", ["u{:03}", "{}.0", "USER {}"])
def test_two_spellings_are_of_the_same_users(tmp_path: Path, spelling: str) -> None:
    frames = tables()
    text = pl.col("user").map_elements(spelling.format, pl.String)
    for name in ("test", "run"):
        frames[name] = frames[name].with_columns(text)
    found = [f.check for f in audited(written(tmp_path, frames), memory=SMALL).findings]
    assert "user-spelling" in found
    assert "unknown-users" not in found


@pytest.mark.parametrize("form", ["csv", "frame", "truth"])
def test_other_kinds_of_tables_have_the_same_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    reading = sys.modules["podium.decide.audit.reading"]
    monkeypatch.setattr(reading, "n_rows_on_disk", lambda tables: 2000)
    frames = tables()
    frames["test"] = frames["test"].drop("timestamp")
    given: dict[str, Any] = written(tmp_path, frames)
    expected = audited(given, memory=SMALL)
    if form == "csv":
        given["test"] = tmp_path / "test.csv"
        frames["test"].write_csv(given["test"])
    else:
        given["test"] = frames["test"] if form == "frame" else data.read_truth(frames["test"])
    assert findings(audited(given, memory=SMALL)) == findings(expected)


def test_errors_name_lines_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("user,item,relevance\n" + "1,1,1\n" * 30 + "2,1,x\n3,1,1\n")
    with pytest.raises(DataError, match="line 32"):
        of_some_users(path, "truth", (USER, ITEM, RELEVANCE), {}, 1)
