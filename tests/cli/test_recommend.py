"""podium recommend: whose lists, of which items, in which files; and that they measure."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from podium import data
from podium.data.appending import PartFolder
from podium.recommenders import Factorization, ItemKNN, Popularity

Run = Callable[..., Any]
N_USERS, N_ITEMS = 30, 12


@pytest.fixture(autouse=True)
def model() -> Factorization:
    """Write a model of users u0 … u29 and items 100 … 111; u7 has seen everything."""
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((N_USERS, N_ITEMS)) < 0.4)
    user = np.concatenate([user, np.full(N_ITEMS, 7), np.arange(N_USERS)])
    item = np.concatenate([item, np.arange(N_ITEMS), np.arange(N_USERS) % N_ITEMS])
    table = {"user": [f"u{u}" for u in user], "item": item + 100}
    fitted = Factorization(4, n_epochs=3).fit(table)
    fitted.save("model")
    return fitted


def rows_of(model: Factorization, users: Any, **options: Any) -> list[tuple[str, int, float]]:
    """Return the library's lists as rows."""
    items, scores = model.recommend(users, **options)
    return [
        (user, item, score)
        for user, its, theirs in zip(users, items.tolist(), scores.tolist(), strict=True)
        for item, score in zip(its, theirs, strict=True)
        if score > -np.inf
    ]


def lists(podium: Run, *argv: str, out: str = "run.parquet") -> list[Any]:
    done = podium("recommend", "model", *argv, "--out", out)
    assert (done.status, done.out) == (0, ""), done.err
    return pl.read_parquet(out).rows()


def test_all_users_get_the_lists_of_the_library(podium: Run, model: Factorization) -> None:
    assert model.user_labels_ is not None
    users = model.user_labels_.tolist()
    wanted = rows_of(model, users, k=3)
    assert lists(podium, "-k", "3") == wanted
    assert {user for user, *_ in wanted} == set(users) - {"u7"}
    table = pl.read_parquet("run.parquet")
    assert table.columns == ["user", "item", "score"]
    assert table.dtypes == [pl.String, pl.Int64, pl.Float32]
    Path("users.txt").write_text("u7\nu1\n")
    wanted = rows_of(model, ["u7", "u1"], k=4, exclude_seen=False)
    assert lists(podium, "--users", "users.txt", "-k", "4", "--include-seen") == wanted
    fitted = Factorization(4, n_epochs=2).fit(sparse.csr_array(np.tri(6, 8)))
    fitted.save("model")  # of a matrix, whose ids are row numbers
    Path("users.txt").write_text("user\n4\n0\n")
    assert lists(podium, "-k", "2", "--users", "users.txt") == rows_of(fitted, [4, 0], k=2)


@pytest.mark.parametrize("task", ["new", "repeat", "all", "other"])
def test_task_of_the_split_decides_unless_an_option_does(podium: Run, task: str) -> None:
    pl.DataFrame({"user": ["u1", "u2"]}).write_parquet("test.parquet")
    Path("split.json").write_text(json.dumps({"task": task, "parts": {"test": {}}}))
    argv = ("--users", "test.parquet")
    without, with_seen = (lists(podium, *argv, f"--{w}-seen") for w in ("exclude", "include"))
    assert lists(podium, *argv) == (with_seen if task in ("repeat", "all") else without) != []
    assert without != with_seen
    for text in ("", "[1]", '{"task": "all"}', '{"task": "all", "parts": ["train"]}'):
        Path("split.json").write_text(text)  # of another program, or of other files
        assert lists(podium, *argv) == without


def test_run_is_written_piece_by_piece(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lists(podium, "-k", "5")
    asked: list[int] = []
    recommend = Factorization.recommend

    def counted(self: Factorization, users: Any, *rest: Any, **options: Any) -> Any:
        asked.append(len(users))
        return recommend(self, users, *rest, **options)

    monkeypatch.setattr(Factorization, "recommend", counted)
    monkeypatch.setattr(sys.modules["podium.cli.recommend"], "_ROWS", 35)
    assert lists(podium, "-k", "5") == whole
    assert asked == [7, 7, 7, 7, 2]


def test_users_of_a_file_come_in_its_order_and_once(podium: Run, model: Factorization) -> None:
    users = ["u9", "u3", "u21"]
    wanted = rows_of(model, users, k=2)
    repeated = ["u9", "u9", "u3", "u9", "u21", "u3"]
    data.write_table({"user": repeated, "item": [1] * 6}, "truth.csv.gz")
    data.write_table({"who": repeated}, "who.parquet")
    Path("bare.txt").write_text("\n".join(["", *repeated]))
    Path("named.txt").write_text("\n".join(["User", *repeated, ""]))
    for argv in (
        ("--users", "truth.csv.gz"),
        ("--users", "who.parquet", "--column", "user=who"),
        ("--users", "bare.txt"),
        ("--users", "named.txt"),
    ):
        assert lists(podium, "-k", "2", *argv) == wanted, argv


def test_fallback_serves_unknown_users_and_says_how_many(podium: Run, model: Factorization) -> None:
    """The ids of strangers may also be texts where the model has numbers."""
    assert model.user_labels_ is not None
    pairs = model.user_items_.tocoo()
    for kind, users in (("texts", model.user_labels_[pairs.row]), ("numbers", pairs.row)):
        table = {"user": users, "item": pairs.col + 100}
        Popularity().fit(table).save(f"popular-{kind}")
        ItemKNN().fit(table).save(f"knn-{kind}")
        Path("users.txt").write_text(f"{users[0]}\nx\ny\n")
        done = podium(
            *("recommend", f"knn-{kind}", "--users", "users.txt", "-k", "4", "-o", "run.csv"),
            *("--fallback", f"popular-{kind}"),
        )
        assert f"2 of 3 users have no history in knn-{kind}; their lists are from pop" in done.err
        known = ItemKNN().fit(table).recommend(users[:1], k=4)[0]
        popular = Popularity().fit(table).recommend(["x"], k=4)[0]
        wanted = np.concatenate([known, popular, popular]).ravel()
        run = pl.read_csv("run.csv", schema_overrides={"user": pl.String})
        assert run["item"].to_list() == wanted[wanted >= 0].tolist()
        assert run["user"].unique(maintain_order=True).to_list() == [str(users[0]), "x", "y"]
        alone = ("recommend", f"popular-{kind}", "--users", "users.txt", "-o", "alone.csv")
        assert f"lists are from popular-{kind}" in podium(*alone).err


def test_unknown_ids_are_left_out_and_told(podium: Run) -> None:
    Path("users.txt").write_text("u1\nu99\nu98\n")
    Path("deny.txt").write_text("100\n999\nboots\n")
    argv = ("--users", "users.txt", "--deny", "deny.txt", "-o", "run.parquet")
    done = podium("recommend", "model", *argv)
    assert "users.txt: 2 of 3 users left out" in done.err
    assert "deny.txt: 2 of 3 items left out" in done.err
    run = pl.read_parquet("run.parquet")
    assert set(run["user"]) == {"u1"}
    assert 100 not in run["item"]


@pytest.mark.parametrize("name", ["a b", "\t"])
@pytest.mark.parametrize("before", [None, "what was there"])
def test_run_is_whole_or_not_at_all(podium: Run, name: str, before: str | None) -> None:
    """The id that a TREC run can't hold is in a list, when the file has begun."""
    Factorization(2, n_epochs=1).fit({"user": [1, 1, 2], "item": ["x", name, "x"]}).save("model")
    if before is not None:
        Path("run.trec").write_text(before)
    there = sorted(Path().iterdir())
    done = podium("recommend", "model", "-o", "run.trec")
    assert done.status == 2
    assert done.message.startswith(f"run.trec: item {name!r} is empty or contains a blank")
    assert sorted(Path().iterdir()) == there
    assert before is None or Path("run.trec").read_text() == before


REFUSED = """
--users numbers.csv | numbers.csv u0
--users items.csv | items.csv user
--users items.csv --column user=u | 'u'
--users empty.txt | empty.txt
--users blank.txt | blank.txt
--users bytes.txt | bytes.txt 'line 1'
--users none.txt | none.txt
--allow strangers.txt | strangers.txt u1 100
--allow items.csv --deny items.csv | --allow --deny
--fallback model | --fallback 'a Factorization'
--fallback other | --fallback 'other has 1 and model has 12'
-k 0 | -k
-o run.xls | --out run.xls
-o none/run.csv | none
"""


def test_refusals(podium: Run, refuses: Callable[[str, str], None]) -> None:
    rows = "".join(f"{u},{i},{i % 2},{i}.25\n" for u in range(3) for i in range(6))
    Path("rows.csv").write_text("user,item,relevance,x\n" + rows)
    assert podium("train", "rows.csv", "--loss", "logistic", "-o", "ranker").status == 0
    Popularity().fit({"user": ["u1"], "item": [100]}).save("other")
    Path("strangers.txt").write_text("u1\nu99\nu98\n")
    Path("numbers.csv").write_text("user\n3\n")
    Path("items.csv").write_text("item\n100\n101\n")
    Path("empty.txt").write_text("")
    Path("blank.txt").write_text("\n \n\n")
    Path("bytes.txt").write_bytes(b"\xff\xfe\x00")
    refuses("recommend model -o run.csv", REFUSED)
    for name in ("none", "rows.csv", "ranker"):
        refuses("recommend", f"{name} | '{name} is'")
    refuses("rank", "model rows.csv | 'model is'")


def parts(podium: Run, *argv: str) -> Any:
    return podium("recommend", "model", "-k", "3", *argv, "--out", "lists")


def test_folder_has_the_lists_of_the_file(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("podium.cli.recommend"), "_PART", 7)
    whole = lists(podium, "-k", "3")
    done = parts(podium)
    assert (done.status, done.err) == (0, "podium: 1 of 30 users have no item left to recommend.\n")
    names = sorted(path.name for path in Path("lists").iterdir())
    assert names == [f"part-{number:05}.parquet" for number in range(5)]
    assert [row for name in names for row in pl.read_parquet(f"lists/{name}").rows()] == whole
    assert not Path("lists.partial").exists()
    assert parts(podium).err == "podium: error: --out must be a new folder, but lists exists.\n"


def test_interrupted_folder_continues_with_the_same_command(
    podium: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("podium.cli.recommend"), "_PART", 7)
    whole = lists(podium, "-k", "3")
    write = PartFolder.write

    def stop(self: PartFolder, number: int, columns: Any) -> None:
        if number == 2:
            raise KeyboardInterrupt
        write(self, number, columns)

    with monkeypatch.context() as patch:
        patch.setattr(PartFolder, "write", stop)
        assert parts(podium).status == 130
    assert not Path("lists").exists()
    other = parts(podium, "--include-seen")
    assert other.status == 2
    assert "parts of a command with another --include-seen. Remove it" in other.err
    done = parts(podium)
    assert done.status == 0
    assert "2 of 5 files are there already" in done.err
    assert "1 of 16 users of this call have no item left" in done.err
    files = sorted(Path("lists").iterdir())
    assert [row for file in files for row in pl.read_parquet(file).rows()] == whole
