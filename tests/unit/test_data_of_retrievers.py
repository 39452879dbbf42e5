"""What retrievers return: lists, sets, empty answers, chunks, and rows in the order shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.raised import raises

import podium
from podium import data
from podium.data.storage import Storage
from podium.errors import ArgumentError, DataError
from podium.executors import Threads
from podium.report.details import worst_served

MEASURES = ["recall@3", "ndcg@5", "rr", "precision@3"]
RNG = np.random.default_rng(0)
GRADES = {f"q{q}": dict.fromkeys(map(str, RNG.permutation(9)[:3]), 1) for q in range(40)}
SCORES = {
    name: {
        q: {str(i): float(s) for i, s in enumerate(RNG.random(9)[: 3 + n % 5])}
        for n, q in enumerate(GRADES)
    }
    for name in ("old", "new")
}
Answers = dict[str, Any]


def ranked(scores: Answers) -> Answers:
    return {q: sorted(items, key=lambda i: -items[i]) for q, items in scores.items()}


def columns(lists: Answers) -> Answers:
    pairs = [(q, item) for q, items in lists.items() for item in items]
    return dict(zip(("qid", "doc_id"), map(list, zip(*pairs, strict=True)), strict=True))


TRUTHS: dict[str, Callable[[], Any]] = {
    "grades": lambda: GRADES,
    "sets": lambda: {q: set(items) for q, items in GRADES.items()},
    "lists": lambda: {q: list(items) for q, items in GRADES.items()},
    "columns": lambda: columns(GRADES),
}
RUNS: dict[str, Callable[[Answers], Any]] = {
    "lists": ranked,
    "arrays": lambda scores: {q: np.array(items) for q, items in ranked(scores).items()},
    "series": lambda scores: {q: pl.Series(items) for q, items in ranked(scores).items()},
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("truth", TRUTHS)
def test_forms_of_the_same_lists_have_the_same_values(truth: str, run: str) -> None:
    golden, runs = TRUTHS[truth](), {name: RUNS[run](SCORES[name]) for name in SCORES}
    for name, lists in runs.items():
        expected = podium.measure(GRADES, SCORES[name], MEASURES)
        assert podium.measure(golden, lists, MEASURES).to_dict() == expected.to_dict()
    compared = podium.compare(GRADES, SCORES, MEASURES)
    assert podium.compare(golden, runs, MEASURES).differences == compared.differences
    decided = podium.gate(GRADES, *SCORES.values(), "rr")
    assert podium.gate(golden, *runs.values(), "rr").claims == decided.claims


def test_integers_are_ids_and_named_columns_are_no_lists() -> None:
    assert podium.measure({7: {1}, 8: [2]}, {7: [3, 1], 8: np.array([2])}, "rr").means["rr"] == 0.75
    named: Any = {"user": "who", "item": "what"}
    truth, run = {"who": ["a"], "what": ["x"]}, {"who": ["a"], "what": ["x"], "rank": [1]}
    assert podium.measure(truth, run, "rr", **named).labels.tolist() == ["a"]


@pytest.mark.parametrize(
    "storage", [None, Storage("64KiB", executor=Threads(2))], ids=["", "parts"]
)
@pytest.mark.parametrize("nothing", [dict, list])
def test_an_empty_answer_is_0_and_an_absent_one_is_missing(nothing: Any, storage: Any) -> None:
    lists = SCORES["old"] if nothing is dict else ranked(SCORES["old"])
    absent = {q: items for q, items in lists.items() if q not in ("q3", "q30")}
    empty = {**absent, "q3": nothing(), "q30": nothing()}
    limits: Any = {} if storage is None else {"storage": storage}
    found = podium.measure(GRADES, empty, MEASURES, **limits)
    as_zero = podium.measure(GRADES, absent, MEASURES, missing="zero")
    for measure, values in as_zero.values.items():
        np.testing.assert_array_equal(found.values[measure], values)
    with raises(ArgumentError, "missing"):
        podium.measure(GRADES, absent, MEASURES, **limits)
    kept = podium.measure(GRADES, empty, "recall@9", keep_lists=True, **limits)
    worst: Any = worst_served({"": kept}, "", None)
    assert len(worst["users"]) == 10


@pytest.mark.parametrize("nothing", [{}, {"8": 0}])
def test_a_query_without_positives_is_undefined(nothing: Answers) -> None:
    truth = {**GRADES, "q5": nothing, "q50": nothing}
    run = {**SCORES["old"], "q50": {"1": 1.0}}
    result = podium.measure(truth, run, MEASURES)
    assert result.labels[np.isnan(result.values["recall@3"])].tolist() == ["q5", "q50"]
    with raises(ArgumentError, "missing"):
        podium.measure(truth, SCORES["old"], MEASURES)


@pytest.mark.parametrize(
    "run",
    [
        {"q1": ["1", "2", "1"]},
        {"q1": {"1", "2"}},
        {"q1": ["1"], "q2": {"1": 0.5}},
        {"q1": [("1", 0.5)]},
        {"q1": "1"},
        {"q1": ["1", 2]},
        {"q1": []},
        {"uid": [1, 1], "doc": ["1", "2"], "points": [0.5, 0.25]},
    ],
)
def test_answers_without_one_order_are_refused(run: Answers) -> None:
    with pytest.raises(DataError):
        podium.measure({"q1": {"1"}, "q2": {"1"}}, run, "rr", missing="zero")


def test_rows_are_ranks_if_they_are_in_the_order_shown(
    podium: Callable[..., Any], tmp_path: Path
) -> None:
    from podium import measure

    shown = columns(ranked(SCORES["old"]))
    expected = measure(GRADES, SCORES["old"], MEASURES).to_dict()
    assert measure(GRADES, shown, MEASURES, rows_ranked=True).to_dict() == expected
    with raises(DataError, "score", "rank", "rows_ranked"):
        measure(GRADES, shown, MEASURES)
    rising = {**shown, "score": list(range(len(shown["qid"])))}
    with raises(DataError, "score", "rank"):
        measure(GRADES, rising, MEASURES, rows_ranked=True)
    for suffix in ("csv", "parquet"):
        paths = [tmp_path / f"{name}.{suffix}" for name in ("golden", "shown")]
        for table, path in zip((columns(GRADES), shown), paths, strict=True):
            data.write_table(table, path)
        words = ("measure", *map(str, paths), "-m", "rr", "--memory", "64KiB")
        assert "--rows-ranked" in podium(*words).message
        assert f" {expected['rr']:.4f} " in podium(*words, "--rows-ranked").out


def chunks(suffix: str, folder: Path) -> tuple[Any, pl.DataFrame]:
    """Return chunks with their documents, as a frame or as files in which documents are divided."""
    rng = np.random.default_rng(1)
    rows = [
        (q, f"{d}#{c}", d, rng.random()) for q in range(300) for d in range(6) for c in range(3)
    ]
    frame = pl.DataFrame(rows, ["qid", "chunk", "document", "score"], orient="row")
    frame = frame.sample(fraction=1, shuffle=True, seed=0)
    if not suffix:
        return frame, frame
    (folder / "chunks").mkdir()
    for i in range(5):
        frame[i::5].write_parquet(folder / "chunks" / f"part-{i}.{suffix}")
    return folder / "chunks", frame


@pytest.mark.parametrize("suffix", ["", "parquet"])
def test_the_best_chunk_of_a_document_counts(suffix: str, tmp_path: Path) -> None:
    run, frame = chunks(suffix, tmp_path)
    best = frame.group_by("qid", "document").agg(pl.col("score").max())
    truth = pl.DataFrame({"qid": range(300), "doc_id": [q % 6 for q in range(300)]})
    expected = podium.measure(truth, best, MEASURES, item="document")
    limits = Storage("64KiB" if suffix else None)
    found = podium.measure(truth, run, MEASURES, parent="document", storage=limits)
    assert found.to_dict() == expected.to_dict()
    of_chunks = frame.filter(pl.col("document") == pl.col("qid") % 6).drop("score")
    judged = podium.measure(of_chunks, run, MEASURES, parent="document", storage=limits)
    assert judged.to_dict() == expected.to_dict()
    with raises(DataError):
        podium.measure(truth, run, MEASURES, parent="paper")
