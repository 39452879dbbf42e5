"""LETOR files, as somebody would use them: svmlight in, a run out, and measured."""

from __future__ import annotations

import gzip
import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium import data
from podium.cli import _models
from podium.cli._training import Model
from podium.data import svmlight
from podium.rankers import load

Run = Callable[..., Any]
NDCG = "ndcg(gain=exp2,discount=letor)@10"
TRAIN = ("train", "train.txt", "--loss", "listmle", "-k", "3")


def rows_of(seed: int, *, n_queries: int = 20, n_rows: int = 8, width: int = 4) -> list[str]:
    """Graded rows, a block of lines for each query; features on a scale of each query's own."""
    rng = np.random.default_rng(seed)
    blocks: list[str] = []
    for query in range(1, n_queries + 1):
        x = rng.normal(size=(n_rows, width))
        grade = np.digitize(x[:, 0] - x[:, 1], [0.3, 1.5])
        x = np.round(x * rng.integers(1, 9) + rng.integers(-9, 9), 4)
        lines = [
            f"{g} qid:{query} " + " ".join(f"{j + 1}:{v:g}" for j, v in enumerate(values))
            for g, values in zip(grade, x, strict=True)
        ]
        blocks.append("\n".join(lines) + "\n")
    return blocks


@pytest.fixture(autouse=True)
def files() -> None:
    """Write train.txt, vali.txt and test.txt."""
    for seed, name in enumerate(("train", "vali", "test")):
        Path(f"{name}.txt").write_text("".join(rows_of(seed)))


def read(podium: Run, *argv: str) -> pl.DataFrame:
    done = podium(*argv)
    assert (done.status, done.err) == (0, "")
    return pl.read_csv(io.StringIO(done.out))


def mean(podium: Run, truth: str, run: str, measure: str = NDCG) -> float:
    done = podium("measure", truth, run, "-m", measure, "--ties", "worst", "--format", "json")
    assert (done.status, done.err) == (0, "")
    (value,) = json.loads(done.out)["measures"].values()
    return value["mean"]


@pytest.mark.parametrize("suffix", [".txt", ".svm.gz", ".dat"])
def test_fold_is_learned_ranked_and_measured(podium: Run, suffix: str) -> None:
    for name in ("train", "vali", "test"):
        text = Path(f"{name}.txt").read_bytes()
        packed = gzip.compress(text) if suffix.endswith(".gz") else text
        Path(f"{name}{suffix}").write_bytes(packed)
    argv = ("train", f"train{suffix}", "--valid", f"vali{suffix}", *TRAIN[2:])
    done = podium(*argv, "--set", "query_norm=true", "-o", "model")
    assert (done.status, done.out) == (0, "")
    assert f"ndcg@3 on vali{suffix} " in done.err
    assert podium("rank", "model", f"test{suffix}", "-o", "run.parquet").status == 0
    assert mean(podium, f"test{suffix}", "run.parquet") > 0.9
    run = pl.read_parquet("run.parquet")
    assert run.columns == ["qid", "item", "score"]
    assert run["qid"].to_list() == np.repeat(np.arange(1, 21), 8).tolist()
    assert sorted(run.filter(pl.col("qid") == 7)["item"]) == list(range(8))


@pytest.mark.parametrize(
    ("loss", "cutoff", "eval_metric", "k", "measure"),
    [
        ("listmle", 3, None, 3, "ndcg@3"),
        ("listmle", None, None, None, "ndcg@10"),
        ("listmle@2", None, None, 2, "ndcg@2"),
        ("listmle(head=relevant)@2", 5, None, 2, "ndcg@5"),
        ("pap-avg", None, None, 10, "pap@10"),
        ("pap-logistic", 3, None, None, "pap@3"),
        ("listmle", 3, "rr", 3, "rr"),
    ],
)
def test_k_cuts_the_measure_and_the_loss(
    loss: str, cutoff: int | None, eval_metric: str | None, k: int | None, measure: str
) -> None:
    made = _models.make(Model("linear", loss=loss, k=cutoff), eval_metric, 0)
    assert (made.loss.k, made.eval_metric) == (k, measure)


@pytest.mark.parametrize("norm", [(), ("--set", "query_norm=true")])
def test_rank_is_the_same_in_one_piece_in_many_and_from_scattered_rows(
    podium: Run, monkeypatch: pytest.MonkeyPatch, norm: tuple[str, ...]
) -> None:
    assert podium(*TRAIN, *norm, "-o", "model").status == 0
    whole = read(podium, "rank", "model", "test.txt")
    lines = Path("test.txt").read_text().splitlines()
    Path("scattered.txt").write_text("\n".join(lines[::2] + lines[1::2]))
    with monkeypatch.context() as patch:
        patch.setattr(svmlight, "_PIECE", 500)
        assert read(podium, "rank", "model", "test.txt").equals(whole)
        scattered = read(podium, "rank", "model", "scattered.txt")
        assert podium("rank", "model", "test.txt", "-o", "run.parquet").status == 0
        top = read(podium, "rank", "model", "test.txt", "-k", "2")
    assert pl.read_parquet("run.parquet").equals(whole)
    assert top.equals(whole.group_by("qid", maintain_order=True).head(2))
    # Positions count the rows of the query in their file: even ones come first there.
    place = [0, 4, 1, 5, 2, 6, 3, 7]
    moved = whole.with_columns(item=pl.col("item").replace_strict(dict(enumerate(place))))
    assert scattered.sort("qid", "item").equals(moved.sort("qid", "item"))


def test_normalisation_is_kept_in_the_model(podium: Run) -> None:
    """Learning from features normalised here is learning from a file that has them so."""
    for name in ("train", "vali", "test"):
        rows = data.read_features(f"{name}.txt")
        scaled = data.normalize_by_query(rows.X, rows.qid)
        lines = [
            f"{y:g} qid:{q} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(x))
            for y, q, x in zip(rows.y, rows.qid, scaled, strict=True)
        ]
        Path(f"{name}-norm.txt").write_text("\n".join(lines))
    argv = (*TRAIN, "--valid", "vali.txt", "--set", "query_norm=true", "-o", "one")
    assert podium(*argv).status == 0
    argv = ("train", "train-norm.txt", *TRAIN[2:], "--valid", "vali-norm.txt", "-o", "two")
    assert podium(*argv).status == 0
    assert np.array_equal(load("one").coef_, load("two").coef_)
    assert load("one").query_norm_ is True
    run = read(podium, "rank", "one", "test.txt")
    assert run.equals(read(podium, "rank", "two", "test-norm.txt"))
    assert not run.equals(read(podium, "rank", "two", "test.txt"))


def test_infinite_value_has_no_place_in_a_range(podium: Run) -> None:
    """Trees learn from what is missing, so that it is no error there; infinity is."""
    pytest.importorskip("lightgbm")
    lines = [f"{i % 5},{i % 2},{i}" for i in range(40)]
    argv = ("train", "rows.csv", "--model", "lightgbm", "--set", "n_trees=2")
    argv += ("--set", "query_norm=true")
    for value, status in (("", 0), ("inf", 2)):
        lines[7] = f"2,1,{value}"
        Path("rows.csv").write_text("\n".join(["user,label,x", *lines]))
        done = podium(*argv, "-o", "model")
        assert done.status == status, done.err
    assert done.message.startswith("rows.csv: X has 1 infinite value, which can't be")


def test_files_may_lack_the_last_features(podium: Run) -> None:
    assert podium(*TRAIN, "-o", "model").status == 0
    short = [line.rpartition(" ")[0] for line in Path("test.txt").read_text().splitlines()]
    Path("short.txt").write_text("\n".join(short))
    Path("zero.txt").write_text("\n".join(f"{line} 4:0" for line in short))
    run = read(podium, "rank", "model", "short.txt")
    assert run.equals(read(podium, "rank", "model", "zero.txt"))
    assert podium(*TRAIN, "--valid", "short.txt", "-o", "again").status == 0
    assert load("again").n_features_in_ == 4


def test_grid_of_losses_that_read_grades_is_measured_by_ndcg(podium: Run) -> None:
    argv = ("train", "train.txt", "--tune", "-o", "model", "--tune-table", "t.csv")
    done = podium(*argv, "--grid", "loss=listmle(head=relevant)@3,softmax")
    assert done.status == 0, done.err
    assert "ndcg@10" in done.err
    named = pl.read_csv("t.csv")["loss"].to_list()
    assert named == ["listmle(head=relevant)@3", "softmax"]
    assert any(f"best loss={name}" in done.err for name in named)


FILES = {
    "empty.txt": (b"", "empty.txt"),
    "binary.txt": (bytes(range(128, 256)) * 9, "binary.txt"),
    "binary.svm": (bytes(range(14, 256)) * 9, "'binary.svm, line 1'"),
    "label.txt": (b"1 qid:1 1:1\ngood qid:1 1:2\n", "'label.txt, line 2' good"),
    "nan.txt": (b"1 qid:1 1:1\nnan qid:1 1:2\n", "'nan.txt, line 2'"),
    "miss.txt": (b"1 qid:1 1:1\n0 qid:1 1:NULL\n", "'miss.txt, line 2' 1:NULL"),
}


def test_refusals(podium: Run, refuses: Callable[[str, str], None]) -> None:
    assert podium(*TRAIN, "-o", "model").status == 0
    train, valid = "train {} --loss listmle -k 3 -o other", shlex.join((*TRAIN, "-o", "other"))
    for name, (content, named) in FILES.items():
        Path(name).write_bytes(content)
        refuses("", f"{train.format(name)} | {named}")
        refuses("", f"measure {name} a.csv -m ndcg@3 | {named}")
    refuses("", f"{valid} --valid nan.txt | 'nan.txt, line 2'")
    refuses("", "rank model nan.txt -o run.csv | 'nan.txt, line 2'")
    for text in ("1 qid:1 1:9\n", "1 qid:1 1:3\n1 qid:1 1:5\n0 qid:2 1:5\n"):
        Path("odd.txt").write_text(text)
        refuses("", f"{train.format('odd.txt')} | listmle 'two grades' --min-relevance")
    Path("below.txt").write_text("1 qid:1 1:1\n-1 qid:1 1:2\n")
    refuses("", f"{train.format('below.txt')} | 'below.txt, line 2' -1")
    refuses("", f"{valid} --query-norm | --query-norm '--set query_norm=VALUE'")
    refuses("", f"{valid} --set quer_norm=true | quer_norm 'Did you mean' 'query_norm'")
    refuses("", f"{train.format('train.txt test.txt')} | train.txt test.txt 'query 1'")
    refuses("", f"{train.format('train.txt truth.csv')} | files")
    Path("wide.txt").write_text(Path("test.txt").read_text() + "1 qid:99 1:1 50:1\n")
    refuses("", "rank model wide.txt | wide.txt 'feature 50' 4")
    refuses("", f"{valid} --valid wide.txt | wide.txt 'feature 50' 4")
    data.write_table({"user": [1, 1], "label": [0, 1], "size": [1.0, 2.0], "age": [3, 4]}, "t.csv")
    assert podium("train", "t.csv", "--loss", "logistic", "-o", "named").status == 0
    refuses("", "rank named test.txt | test.txt size age")
