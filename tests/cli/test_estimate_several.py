"""podium estimate of several files: estimates of each model, and differences from the first."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import sampled

DESIGN = ("--items", "200", "--negatives", "9")
BV = (*DESIGN, "--method", "bv", "--no-bounds")


def write_ranks(file: Path, ranks: list[int], users: list[str] | None = None) -> None:
    """Write a table of users and ranks; without users, of ranks alone."""
    if users is None:
        file.write_text("rank\n" + "".join(f"{r}\n" for r in ranks))
        return
    rows = "".join(f"{u},{r}\n" for u, r in zip(users, ranks, strict=True))
    file.write_text("user,rank\n" + rows)


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Write ranks of 60 users by three models, the second better; users in any order."""
    rng = np.random.default_rng(0)
    users = [str(u) for u in range(60)]
    first = 1 + rng.integers(0, 10, 60)
    better = np.maximum(first - 3, 1)
    write_ranks(folder / "a.csv", first.tolist(), users)
    order = rng.permutation(60)
    write_ranks(folder / "b.csv", better[order].tolist(), [users[i] for i in order])
    write_ranks(folder / "c.csv", rng.permutation(first).tolist(), users)
    return folder


@pytest.fixture
def compared(json_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return the JSON of a command that went well, by its schema."""
    return partial(json_of, "estimate-comparison.json", "estimate")


def test_json_has_the_librarys_estimates_and_differences(
    compared: Callable[..., dict[str, Any]],
) -> None:
    options: dict[str, Any] = {"n_items": 200, "n_negatives": 9}
    ranks = {name: sampled.read(f"{name}.csv", **options) for name in "abc"}
    found = compared("a.csv", "b.csv", "c.csv", *DESIGN, "-m", "ndcg@10", "-m", "rr")
    assert (found["runs"], found["baseline"]) == (["a", "b", "c"], "a")
    assert list(found["measures"]) == ["ndcg@10", "rr"]
    expected = sampled.compare(ranks, ["ndcg@10", "rr"]).as_json()
    assert found == expected
    alone = sampled.evaluate(ranks["b"], ["ndcg@10", "rr"]).as_json()
    assert found["conventions"]["b"] == alone["conventions"]
    for measure, of in found["measures"].items():
        assert of["means"]["b"] == alone["measures"][measure]


def test_users_are_paired_by_their_labels(compared: Callable[..., dict[str, Any]]) -> None:
    """The better model is so for every user alike; shuffled ranks are another pairing."""
    found = compared("a.csv", "b.csv", *BV, "-m", "auc")["measures"]["auc"]["differences"][0]
    means = compared("b.csv", "a.csv", *BV, "-m", "auc")["measures"]["auc"]
    assert found["difference"] > 0
    assert found["std_error"] < means["means"]["a"]["std_error"]
    assert means["differences"][0]["difference"] == -found["difference"]


def test_users_are_one_whether_text_or_numbers(
    compared: Callable[..., dict[str, Any]], files: Path
) -> None:
    """Text sorts otherwise than numbers: 10 before 2."""
    from podium.data import to_frame

    table = sampled.read("b.csv", n_items=200, n_negatives=9)
    assert table.user is not None
    columns = {"user": table.user.astype(str), "rank": table.ranks}
    to_frame(columns).write_parquet(files / "b.parquet")
    argv = (*BV, "-m", "auc")
    expected = compared("a.csv", "b.csv", *argv)["measures"]["auc"]["differences"][0]
    found = compared("a.csv", "b.parquet", *argv)["measures"]["auc"]["differences"][0]
    assert found["std_error"] == pytest.approx(expected["std_error"], rel=1e-12)


def test_files_without_users_are_paired_by_rows(
    podium: Callable[..., Any], compared: Callable[..., dict[str, Any]], files: Path
) -> None:
    write_ranks(files / "x.csv", [1, 2, 3, 4])
    write_ranks(files / "y.csv", [1, 1, 2, 3])
    found = compared("x.csv", "y.csv", *BV, "-m", "rr")
    assert found["measures"]["rr"]["differences"][0]["n_groups"] == 4
    argv = ("estimate", "x.csv", "y.csv", *BV, "-m", "rr")
    assert "row by row: there are no users" in " ".join(podium(*argv).out.split())
    labelled = " ".join(podium("estimate", "a.csv", "b.csv", *BV).out.split())
    assert "Differences are from a, on the same users." in labelled


def test_designs_may_differ(podium: Callable[..., Any], files: Path) -> None:
    (files / "more.csv").write_text(
        "user,rank,n_negatives\n" + "".join(f"{u},{1 + u % 5},19\n" for u in range(60))
    )
    text = (files / "a.csv").read_text().replace("\n", ",9\n")
    (files / "less.csv").write_text(text.replace("rank,9", "rank,n_negatives"))
    done = podium("estimate", "less.csv", "more.csv", "--items", "200", "--no-bounds", "-m", "rr")
    assert done.status == 0
    assert done.out.endswith(
        "Samples have 9\nto 19 items beside the target.\n--method smooth --items 200\n"
    )


def test_histories_are_of_all_files_or_of_none_that_reads_them(
    podium: Callable[..., Any], compared: Callable[..., dict[str, Any]], files: Path
) -> None:
    text = (files / "c.csv").read_text().replace("\n", ",4\n")
    (files / "past.csv").write_text(text.replace("rank,4", "rank,history"))
    done = podium("estimate", "a.csv", "past.csv", "b.csv", *DESIGN)
    assert (done.status, done.out) == (2, "")
    assert "a, b: no column of users' history, but other models have one" in done.message
    found, plain = (compared("a.csv", file, *BV)["measures"] for file in ("past.csv", "c.csv"))
    assert [m["means"]["past"] for m in found.values()] == [m["means"]["c"] for m in plain.values()]


def test_csv_has_a_row_for_each_measure_and_model(
    podium: Callable[..., Any], compared: Callable[..., dict[str, Any]]
) -> None:
    done = podium("estimate", "a.csv", "b.csv", *DESIGN, "--format", "csv")
    expected = compared("a.csv", "b.csv", *DESIGN)["measures"]
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["measure"], row["run"]) for row in rows] == [
        (measure, run) for measure in expected for run in "ab"
    ]
    for row in rows:
        found = expected[row["measure"]]
        mean, test = found["means"][row["run"]], found["differences"][0]
        assert float(row["mean"]) == mean["mean"]
        assert [float(row["low"]), float(row["high"])] == mean["interval"]
        assert [float(row["lowest"]), float(row["highest"])] == mean["bounds"]
        if row["run"] == "a":
            assert {row["difference"], row["sign_probability"], row["difference_low"]} == {""}
            continue
        assert float(row["difference"]) == test["difference"]
        assert float(row["difference_std_error"]) == test["std_error"]
        ends = [float(row[f"difference_{end}"]) for end in ("low", "high", "lowest", "highest")]
        assert ends == [*test["interval"], *test["bounds"]]
        assert row["either_sign"] == str(test["either_sign"])


def test_scores_and_ranks_can_be_compared(
    compared: Callable[..., dict[str, Any]], files: Path
) -> None:
    write_ranks(files / "r.csv", [2, 1], ["u", "v"])
    rows = ["user,item,score,target", "u,1,1,1", "u,2,2,0", "u,3,0,0", "v,1,3,1", "v,2,2,0"]
    (files / "s.csv").write_text("\n".join([*rows, "v,3,0,0"]) + "\n")
    argv = ("--items", "50", "--negatives", "2", "--no-bounds", "--method", "naive", "-m", "rr")
    test = compared("r.csv", "s.csv", *argv)["measures"]["rr"]["differences"][0]
    assert (test["difference"], test["std_error"]) == (0, 0)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("a.csv", "less.csv"), "less lacks 1 of the 60 users of a, first 0. Models"),
        (("less.csv", "a.csv"), "less lacks 1 of the 60 users of a, first 0. Models"),
        (("a.csv", "b.csv", "less.csv"), "less lacks 1 of the 60 users of a"),
        (("a.csv", "bare.csv"), "bare has no column of users, but another model has one"),
        (("bare.csv", "a.csv"), "bare has no column of users, but another model has one"),
        (("bare.csv", "short.csv"), "short has 2 ranks and bare has 3, without a column"),
        (("a.csv", "wrong.csv"), "wrong.csv: ranks must lie from 1 to --negatives + 1 = 10"),
        (("a.csv", "none.csv"), "none.csv does not exist"),
        (("a.csv", "b.csv", "--method", "mel"), "Did you mean 'mle'?"),
        (("a.csv", "b.csv", "-m", "rr", "-m", "mrr"), "--measure names mrr twice"),
    ],
)
def test_refused_in_one_line(
    podium: Callable[..., Any], files: Path, argv: tuple[str, ...], message: str
) -> None:
    lines = (files / "a.csv").read_text().splitlines()
    (files / "less.csv").write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    write_ranks(files / "bare.csv", [1, 2, 3])
    write_ranks(files / "short.csv", [1, 2])
    (files / "wrong.csv").write_text((files / "a.csv").read_text() + "60,11\n")
    done = podium("estimate", *argv, *DESIGN)
    assert (done.status, done.out) == (2, "")
    assert message in done.message
