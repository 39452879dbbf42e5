"""Every result draws its pictures by `plot`, which are those of its report."""

from __future__ import annotations

import math
import pkgutil
import re
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.pages.page import section
from tests.raised import raises
from tests.unit.test_results_shown import HOSTILE, RESULTS, TRUTH, USER, Reader, ranks, result, run

import podium
from podium import plots, sampled
from podium.errors import ArgumentError
from podium.report.pictures import picture
from podium.report.results import Result
from podium.tuning import Search, Trial

WITHOUT = ("number", "tables")  # explanations without values of packages
PICTURES = {
    "evaluation": ["means", "distribution", "by n_pos"],
    "comparison": ["differences", "means", "users", "gains", "trade-off"],
    "all pairs": ["differences", "means", "users", "gains", "by n_pos", "trade-off"],
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
    assert {*PICTURES, *WITHOUT, "packages"} == {*RESULTS}


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in WITHOUT])
def test_natural_picture_is_the_first_and_in_the_report(name: str) -> None:
    one = result(name)
    natural = picture(one._pictures(None), None, name)
    assert words(one.plot()) == words(one.plot(next(iter(one._pictures(None)))))
    drawn = [f for section in one.to_report()["sections"] for f in section.get("figures", ())]
    assert natural in drawn


def test_result_without_pictures_says_so() -> None:
    for name in WITHOUT:
        assert result(name)._pictures(None) == {}
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


def test_rank_distribution_shows_recall_with_its_bounds() -> None:
    observed = ranks(0)
    estimate = sampled.get("mle").fit(observed)
    ((ks, shares),) = curves(estimate.plot())
    assert (ks[0], ks[-1]) == (1, 100)
    assert shares == [estimate.cdf[int(k) - 1] for k in ks]
    (_, low), (_, high), middle = curves(estimate.plot(observed, confidence=0.9))
    at = ks.index(next(k for k in ks if k >= 10))
    expected = sampled.identification_bounds(observed, "recall", int(ks[at]), confidence=0.9)
    assert (low[at], high[at]) == tuple(expected)
    assert middle == (ks, shares)


def test_training_of_the_best_model_is_drawn() -> None:
    history = {"objective": np.array([3.0, 2.0, 1.5]), "validation": np.array([0.1])}
    trial = Trial(0, {"l2": 1, "scale": True}, (0.3,), 0.3, 0.1, 20, 1.0)
    search = Search("rr", (trial,), trial, SimpleNamespace(history_=history))
    assert [*search._pictures(None)] == ["trials", "training objective"]
    assert curves(search.plot("training objective")) == [([1, 2, 3], [3.0, 2.0, 1.5])]


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
        for kind in one._pictures(None):
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
    assert [*result(name)._pictures(None)] == PICTURES[name]
    kind = type(result(name)).__name__
    row = "estimates from samples" if kind.startswith("Sampled") else f"`{kind}`"
    text = section("results.md", "Plots")
    (cells,) = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", text, re.M)
    for listed in PICTURES[name]:
        group, _, part = listed.rpartition(" ")  # by n_pos, steps to ranx
        assert f'`"{group} ' in cells if part and group else f'`"{listed}"`' in cells


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in WITHOUT])
def test_picture_is_drawn_on_given_axes(name: str) -> None:
    """It leaves the other axes, the size of the figure and the windows as they are."""
    figure = Figure(figsize=(10, 4))
    left, right = figure.subplots(1, 2)
    box, windows = right.get_position().bounds, plt.get_fignums()
    for kind in PICTURES.get(name, ("packages", "steps to trec_eval")):
        right.clear()
        assert result(name).plot(kind, ax=right) is right
        assert right.get_position().bounds == box
        assert tuple(figure.get_size_inches()) == (10, 4)
        assert not left.has_data()
        assert figure.axes == [left, right]
        assert "No values" not in words(right)
        assert "\x1b" not in plots.to_svg(right)
    assert plt.get_fignums() == windows
