"""Every result shows itself: as text, HTML, frame, numbers, and as the pictures of its report."""

from __future__ import annotations

import math
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.pages.page import section
from tests.raised import raises

import podium
from podium import plots, sampled
from podium._text import columns
from podium.errors import ArgumentError
from podium.report.renderer import Renderer
from podium.report.views import Text, View
from podium.results import RENDERERS, Result, renderer_of
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
    "plan": lambda: sampled.plan(500, 50, "rr", 0.1, method="bv"),
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


VOID = {"meta", "link", "br", "hr", "img", "input"}


class Reader(HTMLParser):
    """Tags, attributes and texts of a page or a part of one; a tag that stays open is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.tags = list[str](), list[str]()
        self.text, self.bold = list[str](), list[str]()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)
        if self.open[-1:] == ["b"]:
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
    assert {*read.tags} <= {
        *["p", "b", "div", "style", "table", "thead", "tbody", "tr", "th", "td"]
    }
    assert "\x1b" not in text + html
    assert not re.search(r"https?:|url\(|#[0-9a-f]{3}|: *(white|black)", html)
    numbers = re.findall(r"\d\.\d{3,}", text)
    assert set(numbers) <= set(re.findall(r"\d\.\d{3,}", "\n".join(read.text)))
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


def test_result_of_a_plugin_is_shown_by_a_renderer_of_its_own() -> None:
    class Own(Result):
        def as_json(self) -> dict[str, Any]:
            return {"a": 1}

    class OwnRenderer(Renderer[Own]):
        def parts(self) -> View:
            return View((Text((str(self.json),)),))

        table = numbers = pictures = parts

    with raises(ArgumentError):
        str(Own())
    RENDERERS.enter("Own", OwnRenderer)
    assert str(Own()) == "{'a': 1}"


def test_user_column_named_like_another_one_keeps_a_name_of_its_own() -> None:
    named = {("n_pos" if k == "user" else k): v for k, v in TRUTH.items()}
    lists = {("n_pos" if k == "user" else k): v for k, v in run(1).items()}
    frame = podium.measure(named, lists, "rr", user="n_pos").per_user()
    assert frame.columns == ["user", "n_pos", "rr"]


WITHOUT = ("number", "tables", "packages")  # explanations have no pictures
PICTURES = {
    "evaluation": ["means", "distribution", "by n_pos"],
    "comparison": ["differences", "means", "gains"],
    "all pairs": ["differences", "means", "gains", "by n_pos"],
    "estimate": ["estimates"],
    "naive": ["estimates"],
    "estimates": ["differences", "estimates"],
    "plan": ["errors"],
    "audit": ["values", "effects"],
    "gate": ["claims"],
    "search": ["trials", "by l2"],
}


def words(ax: Axes) -> str:
    return " ".join(ET.fromstring(plots.to_svg(ax)).itertext())


def curves(ax: Axes) -> list[tuple[list[float], list[float]]]:
    """Return x and y of the lines, without those of a legend."""
    lines = [line for line in ax.get_lines() if line.get_transform() == ax.transData]
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in lines]


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def test_every_class_of_results_is_drawn() -> None:
    for module in pkgutil.iter_modules(podium.__path__):
        if module.name in ("evaluation", "sampled", "decide", "tuning"):
            __import__(f"podium.{module.name}")
    of_podium = {kind for kind in subclasses(Result) if kind.__module__.startswith("podium.")}
    assert of_podium - {Result} == {type(result(name)) for name in RESULTS}
    assert {*PICTURES, *WITHOUT} == {*RESULTS}


@pytest.mark.parametrize("name", PICTURES)
def test_natural_picture_is_the_first_and_in_the_report(name: str) -> None:
    one = result(name)
    natural = renderer_of(one).picture()
    assert words(one.plot()) == words(one.plot(next(iter(renderer_of(one).pictures(None)))))
    drawn = [f for section in one.to_report()["sections"] for f in section.get("figures", ())]
    assert natural in drawn


def test_result_without_pictures_says_so() -> None:
    for name in WITHOUT:
        assert renderer_of(result(name)).pictures(None) == {}
        with raises(ArgumentError):
            result(name).plot()
        result(name).to_report()


def test_errors_name_kinds_measures_and_options() -> None:
    for name in PICTURES:
        for parameter, value in (("kind", "pie"), ("measure", "recall@3")):
            with pytest.raises(ArgumentError) as caught:
                result(name).plot(**{parameter: value})
            assert caught.value.parameters == (parameter,), caught.value
        with pytest.raises(ArgumentError, match="bins"):
            result(name).plot(bins=3)


def test_numbers_are_those_of_the_result() -> None:
    measured = result("evaluation")
    values = measured.per_user()["ndcg@5"].to_numpy()
    histogram = measured.plot("distribution", measure="ndcg@5")
    assert sum(bar.get_height() for bar in histogram.patches) == np.isfinite(values).sum()
    dots = [line.get_xdata() for line in measured.plot().get_lines() if line.get_marker() == "o"]
    assert [x[0] for x in dots] == list(measured.means.values())
    test = result("comparison").difference("ndcg@5", "best").test
    lines = result("comparison").plot().get_lines()
    assert [*test.interval] in [list(line.get_xdata()) for line in lines]


def test_several_cutoffs_are_a_curve_with_intervals() -> None:
    names = ["ndcg@5", "recall@1", "recall@3", "recall@10"]
    measured = podium.measure(TRUTH, run(1), names)
    assert "ndcg" not in words(measured.plot("cutoffs"))
    assert curves(measured.plot("cutoffs")) == [
        ([1, 3, 10], [measured.means[name] for name in names[1:]])
    ]
    with pytest.raises(ArgumentError, match="kind must be one of"):
        measured.plot("cutoffs", measure="ndcg@5")
    estimated = sampled.evaluate(ranks(0), names[1:], estimator="bv")
    low, high = (estimated.summary("recall@3").bounds[i] for i in (0, 1))
    assert {low, high} <= {ys[1] for _, ys in curves(estimated.plot("cutoffs"))}


def test_lists_that_are_kept_give_a_curve_of_one_measure() -> None:
    measured = podium.measure(TRUTH, run(1), "recall@3", keep_lists=True)
    ((ks, means),) = curves(measured.plot("cutoffs"))
    assert means[ks.index(3)] == pytest.approx(measured.means["recall@3"])
    runs = {f"run {i}": run(0.1 * i, i) for i in range(9)}
    compared = podium.compare(TRUTH, runs, "recall@3", keep_lists=True)
    assert "run 0" in words(compared.plot("cutoffs"))  # the baseline is always there


def test_trials_are_sorted_from_the_best_to_the_worst() -> None:
    trials = tuple(
        Trial(i, {"l2": i}, (mean,), mean, 0.1, 20, 1.0)
        for i, mean in enumerate((0.4, 0.2, math.nan, 0.3))
    )
    for measure, best, order in (
        ("topk_loss@5", trials[1], [0.2, 0.3, 0.4]),
        ("ndcg@5", trials[0], [0.4, 0.3, 0.2]),
    ):
        search = Search(measure, trials, best)
        dots = [line for line in search.plot().get_lines() if line.get_marker() == "o"]
        assert [dot.get_xdata()[0] for dot in dots] == order


@pytest.mark.filterwarnings("ignore:.*:podium.errors.PodiumWarning")
@pytest.mark.parametrize(("n_users", "positive"), [(1, 1), (3, 0)])
def test_one_user_and_everything_undefined(n_users: int, positive: int) -> None:
    users = np.arange(n_users)
    truth = {"user": users, "item": users, "relevance": users * 0 + positive}
    lists = {"user": users, "item": users, "score": users * 1.0}
    for one in (
        podium.measure(truth, lists, "rr"),
        podium.compare(truth, {"a": lists, HOSTILE: lists}, ["rr", "ndcg@1"], pairs="all"),
        podium.gate(truth, lists, lists, "rr"),
        podium.audit(truth, truth, {"a": lists}),
    ):
        assert positive or ("–" in str(one) and any(map(math.isnan, one.to_dict().values())))
        assert positive or Reader(one._repr_html_()).bold == []
        one.to_frame()
        for kind in renderer_of(one).pictures(None):
            said = words(one.plot(kind))
            assert positive or "ndefined" in said or "No values" in said or "without" in said


def test_unjudged_items_are_bounds() -> None:
    truth = {name: values[USER < 15] for name, values in TRUTH.items()}
    truth = {name: values[::2] for name, values in truth.items()}
    options: dict[str, Any] = {"unjudged": "bounds", "missing": "skip"}
    measured = podium.measure(truth, run(1), "precision@3", **options)
    assert "judgements of the unjudged items" in words(measured.plot())
    low, high = measured.bounds_of_mean("precision@3")
    lines = [list(line.get_xdata()) for line in measured.plot().get_lines()]
    assert [low, high] in lines
    runs = {"a": run(0), "b": run(1)}
    compared = podium.compare(truth, runs, "precision@3", **options)
    assert "all differences over judgements" in words(compared.plot())


@pytest.mark.parametrize("name", PICTURES)
def test_page_lists_the_pictures_of_each_result(name: str) -> None:
    assert [*renderer_of(result(name)).pictures(None)] == PICTURES[name]
    kind = type(result(name)).__name__
    row = "estimates from samples" if kind.startswith("Sampled") else f"`{kind}`"
    text = section("results.md", "Plots")
    (cells,) = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", text, re.M)
    for listed in PICTURES[name]:
        group, _, part = listed.rpartition(" ")  # by n_pos
        assert f'`"{group} ' in cells if part and group else f'`"{listed}"`' in cells


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_drawn_on_given_axes(name: str) -> None:
    """It leaves the other axes, the size of the figure and the windows as they are."""
    figure = Figure(figsize=(10, 4))
    left, right = figure.subplots(1, 2)
    box, windows = right.get_position().bounds, plt.get_fignums()
    for kind in PICTURES[name]:
        right.clear()
        assert result(name).plot(kind, ax=right) is right
        assert right.get_position().bounds == box
        assert tuple(figure.get_size_inches()) == (10, 4)
        assert not left.has_data()
        assert figure.axes == [left, right]
        svg = plots.to_svg(right)
        assert "No values" not in " ".join(ET.fromstring(svg).itertext())
        assert "\x1b" not in svg
    assert plt.get_fignums() == windows
