"""Every result shows itself: as text, as HTML, as a frame and as named numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import podium
from podium import sampled
from podium._text import columns
from podium.errors import ArgumentError
from podium.report.results import Result
from podium.tuning import Search, Trial

HOSTILE = "<script>alert('x')</script>\n\x1b[31m&"
SAFE_NAME = re.compile(r"^[/\w.\- ]*$")  # the names that MLflow accepts, also on Windows
RNG = np.random.default_rng(0)
USER, ITEM = np.repeat(np.arange(20), 10), np.tile(np.arange(10), 20)
TRUTH = {"user": USER, "item": ITEM, "relevance": RNG.integers(0, 2, USER.size)}


def run(lift: float, seed: int = 1) -> dict[str, Any]:
    scores = np.random.default_rng(seed).normal(size=USER.size) + lift * TRUTH["relevance"]
    return {"user": USER, "item": ITEM, "score": scores}


def ranks(seed: int) -> sampled.SampledRanks:
    drawn = np.random.default_rng(seed).integers(1, 10, 60)
    return sampled.SampledRanks(drawn, 9, 100, user=np.arange(60))


def search() -> Search:
    trials = tuple(
        Trial(i, {"l2": 10.0**-i, "loss": HOSTILE}, (mean,), mean, 0.1, 20, 1.5)
        for i, mean in enumerate((0.3, 0.5, math.nan))
    )
    return Search("ndcg@10", trials, trials[1])


def compared(**options: Any) -> podium.Comparison:
    runs = {"a": run(0), HOSTILE: run(0.1, 2), "best": run(9, 3)}
    return podium.compare(TRUTH, runs, ["ndcg@5", "rr"], **options)


def audited() -> podium.Audit:
    past = {"user": USER[:50], "item": ITEM[:50]}
    return podium.audit(past, TRUTH, {HOSTILE: run(0)})


RESULTS: dict[str, Callable[[], Result]] = {
    "evaluation": lambda: podium.measure(TRUTH, run(1), ["ndcg@5", "ap(norm=min)@5"], by="n_pos"),
    "comparison": compared,
    "all pairs": lambda: compared(pairs="all", by="n_pos"),
    "estimate": lambda: sampled.evaluate(ranks(0), ["ndcg@10", "rr"]),
    "naive": lambda: sampled.evaluate(ranks(0), "rr", estimator="naive", bounds=False),
    "estimates": lambda: sampled.compare(
        {"a": ranks(0), HOSTILE: ranks(1)}, ["rr"], estimator="bv"
    ),
    "plan": lambda: sampled.plan(500, 50, "rr", 0.1, method="bv", sizes=[20, 40]),
    "audit": audited,
    "gate": lambda: podium.gate(TRUTH, run(0), run(1), "ndcg@5", names=("old", HOSTILE)),
    "packages": lambda: podium.explain(TRUTH, run(0), "ndcg@5"),
    "number": lambda: podium.explain(TRUTH, run(0), "ndcg@5", value="0.123"),
    "tables": lambda: podium.explain(TRUTH, run(0), "rr", other_run=run(1)),
    "search": search,
}


@cache
def result(name: str) -> Result:
    return RESULTS[name]()


class Reader(HTMLParser):
    """The text, the tags and the bold texts of a fragment whose tags must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text, self.bold = "", list[str]()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] != "style":
            self.text += f"{data}\n"
        if self.open[-1] == "b":
            self.bold.append(data)


@pytest.mark.parametrize("name", RESULTS)
def test_result_shows_itself(name: str) -> None:
    """As short and harmless text, as escaped HTML, as numbers for trackers, and as a frame."""
    one = result(name)
    text, html = str(one), one._repr_html_()
    assert text == repr(one)
    assert 2 < len(text.splitlines()) < 200
    is_hostile = "script" in text  # a long name may be wider than a terminal
    assert is_hostile or name in ("packages", "number") or max(map(columns, text.split("\n"))) <= 80
    read = Reader(html)
    assert read.tags <= {*["p", "b", "div", "style", "table", "thead", "tbody", "tr", "th", "td"]}
    assert "\x1b" not in text + html
    assert not re.search(r"https?:|url\(|#[0-9a-f]{3}|: *(white|black)", html)
    numbers = re.findall(r"\d\.\d{3,}", text)
    assert set(numbers) <= set(re.findall(r"\d\.\d{3,}", read.text))
    values, safe = one.to_dict(), one.to_dict(safe_names=True)
    assert values
    assert {type(value) for value in values.values()} <= {int, float}
    assert list(map(repr, safe.values())) == list(map(repr, values.values()))
    assert all(SAFE_NAME.match(key) and len(key) <= 250 for key in safe)
    frame = one.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.height or name == "number"


def test_safe_names_stay_distinct_and_are_paths() -> None:
    names = ("a@5", "a_at_5", "a<5", "a>5", "/x//../y", "b" * 300)
    runs = {name: run(i) for i, name in enumerate(names)}
    comparison = podium.compare(TRUTH, runs, "rr")
    safe = comparison.to_dict(safe_names=True)
    assert len(safe) == len(comparison.to_dict())
    assert all(part not in ("", ".", "..") for key in safe for part in key.split("/"))


def test_numbers_are_those_of_the_methods() -> None:
    evaluation = podium.measure(TRUTH, run(1), "ndcg@5")
    summary = evaluation.summary("ndcg@5")
    values = evaluation.to_dict()
    assert (values["ndcg@5"], values["ndcg@5.std_error"]) == (summary.mean, summary.std_error)
    comparison = compared()
    test = comparison.difference("rr", "best")
    assert comparison.to_dict()["best - a/rr"] == test.test.difference
    assert comparison.to_dict()["best - a/rr.holm_p_value"] == test.holm_p_value


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame])
def test_frames_are_of_the_kind_and_names_that_came_in(make: Callable[..., Any]) -> None:
    truth = make({"customer": USER, "sku": ITEM, "relevance": TRUTH["relevance"]})
    score = run(1)["score"]
    lists = make({"customer": USER, "sku": ITEM, "score": score})
    names = {"user": "customer", "item": "sku"}
    kind = type(truth)
    evaluation = podium.measure(truth, lists, "rr", **names)
    comparison = podium.compare(truth, {"a": lists, "b": lists}, "rr", **names)
    for one in (evaluation, comparison, podium.gate(truth, lists, lists, "rr", **names)):
        assert isinstance(one.to_frame(), kind)
    assert isinstance(podium.explain(truth, lists, "rr", **names).to_frame(), kind)
    assert isinstance(podium.audit(truth, truth, {"a": lists}, "rr", **names).to_frame(), kind)
    for one in (evaluation, comparison):
        assert isinstance(one.per_user(), kind)
        assert "customer" in list(getattr(one.per_user(), "column_names", one.per_user().columns))


def test_best_run_is_bold_only_if_the_tests_support_it() -> None:
    assert "best" not in Reader(compared()._repr_html_()).bold  # best is not tested against all
    every = compared(pairs="all")
    tests = [every.difference("ndcg@5", "best", other) for other in ("a", HOSTILE)]
    assert all(test.holm_p_value <= 0.05 for test in tests)
    assert "best" in Reader(every._repr_html_()).bold
    strict = compared(pairs="all", level=0.9999)
    assert Reader(strict._repr_html_()).bold == []
    low = podium.compare(TRUTH, {"a": run(0), "b": run(9)}, "topk_loss@5")
    assert Reader(low._repr_html_()).bold[0] == "b"
    worse = podium.compare(TRUTH, {"a": run(9), "b": run(0), "c": run(0, 5)}, "ndcg@5")
    assert Reader(worse._repr_html_()).bold[:1] == ["a"]


def test_results_that_are_no_verdicts_have_no_truth_value() -> None:
    runs = {"a": run(0.0), "b": run(2.0)}
    gate = podium.gate(TRUTH, runs["a"], runs["b"], "ndcg@5", ties="worst")
    assert (gate.decision, gate.passed) == ("pass", True)
    results = {
        "gate.passed": gate,
        "audit.fails": podium.audit(TRUTH, TRUTH),
        "comparison.difference": podium.compare(TRUTH, runs, "ndcg@5"),
        "explanation.search": podium.explain(TRUTH, runs["a"]),
    }
    for name, result in results.items():
        with pytest.raises(ArgumentError, match=name):
            bool(result)
    assert podium.measure(TRUTH, runs["a"], "ndcg@5")


def test_user_column_named_like_another_one_keeps_a_name_of_its_own() -> None:
    named = {("n_pos" if k == "user" else k): v for k, v in TRUTH.items()}
    lists = {("n_pos" if k == "user" else k): v for k, v in run(1).items()}
    frame = podium.measure(named, lists, "rr", user="n_pos").per_user()
    assert frame.columns == ["user", "n_pos", "rr"]
