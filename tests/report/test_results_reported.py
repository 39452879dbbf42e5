"""Reports of unusual results: one user, equal runs, nothing defined, 60 models, missing titles."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.unit.test_results_shown import Reader

import podium
from podium import report, sampled
from podium.report.details import worst_served
from podium.report.gate import claims_figure
from podium.report.measured_figures import means
from podium.results import Result

TRUTH = {"user": [1, 1, 2], "item": [1, 2, 1]}
RUN = {"user": [1, 1, 2], "item": [1, 3, 2], "score": [0.9, 0.1, 0.5]}
NO_POSITIVES = {**TRUTH, "relevance": [0.0, 0.0, 0.0]}
ONE_USER = {"user": [1], "item": [1]}
LISTS = {"user": [1, 1], "item": [1, 2]}
HIT = {**LISTS, "score": [1.0, 0.5]}
MISS = {**LISTS, "score": [0.5, 1.0]}
SAMPLE = sampled.SampledRanks([2, 1, 4], 9, 50)
N_MODELS = 60
FIGURE = re.compile("<svg.*?</svg>", re.DOTALL)


@cache
def many_models() -> podium.Comparison:
    rng = np.random.default_rng(0)
    user, item = np.repeat(np.arange(30), 20), np.tile(np.arange(20), 30)
    truth = {"user": np.arange(30), "item": rng.integers(20, size=30)}
    names = [f"model {i:03d}" for i in range(N_MODELS)]
    runs = {name: {"user": user, "item": item, "score": rng.normal(size=600)} for name in names}
    return podium.compare(truth, runs, ["recall@5", "ndcg@10"], keep_lists=True)


def measured(truth: Any, run: Any, *measures: str, **options: Any) -> Result:
    return podium.measure(truth, run, measures, keep_lists=True, **options)


def compared(truth: Any, *runs: Any, **options: Any) -> Result:
    named = dict(zip("abc", runs, strict=False))
    return podium.compare(truth, named, ["ndcg@2"], keep_lists=True, **options)


RESULTS: dict[str, tuple[Callable[[], Result], str]] = {
    "one user": (lambda: measured(ONE_USER, HIT, "ndcg@2"), "is 1.0000 over 1 user. There is no"),
    "one user, compared": (lambda: compared(ONE_USER, MISS, HIT), "b has the best mean ndcg@2, 1."),
    "equal runs": (lambda: compared(TRUTH, RUN, RUN), "a and b have the best mean ndcg@2, 0.3066."),
    "no positives": (
        lambda: measured(NO_POSITIVES, RUN, "ndcg@2", "recall@1"),
        "Mean ndcg@2 is undefined: none of 2 users has a value.",
    ),
    "no positives, compared": (
        lambda: compared(NO_POSITIVES, RUN, RUN, by=["n_pos"]),
        "No run has a value of ndcg@2.",
    ),
    "no positives, gate": (
        lambda: podium.gate(NO_POSITIVES, RUN, RUN, "ndcg@2"),
        "Can't tell: ndcg@2 does not show",
    ),
    "no mean over users": (
        lambda: measured(TRUTH, RUN, "coverage@2", catalogue=TRUTH),
        "Mean coverage@2 is ",
    ),
    "nothing to audit": (
        lambda: podium.audit(TRUTH, {"user": [1], "item": [3]}, {}),
        "1 error, 1 warning, 1 note.",
    ),
    "equal samples": (
        lambda: sampled.compare(dict.fromkeys("ab", SAMPLE), "rr", estimator="bv"),
        "a and b have the best estimate of rr, 0.",
    ),
    "one sample": (
        lambda: sampled.evaluate(sampled.SampledRanks([2], 9, 50), "recall@10"),
        "recall@10 of the ranking of all items",
    ),
    "60 models": (many_models, "and 55 others"),
}


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
@pytest.mark.parametrize(("make", "verdict"), RESULTS.values(), ids=RESULTS)
def test_report_of_an_unusual_result_is_a_page_with_a_verdict(
    make: Callable[[], Result], verdict: str
) -> None:
    content = make().to_report()
    assert verdict in " ".join(content.get("summary", ()))
    page = report.render(content)
    assert len(page) < 1_500_000
    text = " ".join(Reader(FIGURE.sub("", page)).text)
    for wrong in (" nan", "None", "-0.0000", " 1 users"):
        assert wrong not in text


def test_figures_have_all_rows_and_the_plots_note_those_not_drawn() -> None:
    summary = {"mean": 0.5, "interval": [0.4, 0.6], "level": 0.95, "n_groups": 9}
    many = {f"recall@{k}": summary for k in range(1, 51)}
    figure = means({"measures": many, "segments": []})
    assert len(figure["rows"]) == 50
    claim = {
        "role": "segment",
        "measure": "rr",
        "difference": 0.1,
        "interval": [0, 0.2],
        "limit": 0.0,
    }
    claims = [{**claim, "place": f"s{i}", "higher_is_better": True} for i in range(90)]
    shown = claims_figure({"claims": claims, "base": "a", "candidate": "b"}, "rr")
    assert "10 more rows are not drawn." in report.figures.draw(shown)


def test_of_many_models_the_figures_show_the_best_and_the_baseline() -> None:
    content = many_models().to_report()
    section, *_ = content["sections"]
    figure, *_ = section["figures"]
    assert "recall@5 of the best 20 of 60 runs" in figure["title"]
    labels = [row["label"] for row in figure["rows"]]
    assert len(labels) == 20
    assert "model 000" in labels
    table, *_ = section["tables"]
    assert len(table["rows"]) == 2 * N_MODELS


@pytest.mark.parametrize(
    "titles", [{1: "Heat", "3": "Alien"}, {"item": [1, 3, 2], "title": ["Heat", "Alien", None]}]
)
def test_items_without_a_title_are_shown_by_their_ids(titles: Any) -> None:
    content = measured(TRUTH, RUN, "recall@2").to_report(titles=titles)
    users = content["sections"][-1]["lists"]
    texts = [item["text"] for user in users for items in user["lists"].values() for item in items]
    assert sorted(texts) == ["2", "Alien", "Heat"]


def test_worst_served_users_come_first() -> None:
    run = {"user": [1, 1, 2, 2], "item": [1, 2, 3, 1], "score": [0.9, 0.1, 0.9, 0.5]}
    content = measured(TRUTH, run, "recall@1", "ndcg@2").to_report()
    users = content["sections"][-1]["lists"]
    assert [user["title"] for user in users] == ["User 2", "User 1"]
    assert users[0].get("note") == "recall@1: 0.0000 · 1 relevant item"
    assert users[0].get("after") == "Relevant, not shown: 1"
    assert [item["relevant"] for item in users[1]["lists"][""]] == [True]


def test_curves_have_the_value_of_the_measure_at_its_cutoff() -> None:
    comparison = many_models()
    content = comparison.to_report()
    sections = content["sections"]
    (section,) = [s for s in sections if s["title"] == "Measures at other cutoffs"]
    figures = section["figures"]
    for figure, (measure, k) in zip(figures, (("recall@5", 5), ("ndcg@10", 10)), strict=True):
        for line in figure["series"]:
            value = line["y"][line["x"].index(k)]
            expected = comparison.evaluations[line["label"]].summary(measure).mean
            assert value == pytest.approx(expected, rel=1e-12)


def test_curves_are_of_the_users_of_all_runs() -> None:
    first_user = {name: column[:2] for name, column in RUN.items()}
    comparison = compared(TRUTH, RUN, first_user, missing="skip")
    sections = comparison.to_report()["sections"]
    (section,) = [s for s in sections if s["title"] == "Measures at other cutoffs"]
    for line in section["figures"][0]["series"]:
        expected = comparison.evaluations[line["label"]].summary("ndcg@2").mean
        assert line["y"][line["x"].index(2)] == expected


def test_users_without_a_list_are_not_the_worst_served() -> None:
    truth = {"user": [1, 2, 3], "item": [7, 7, 7]}
    run = {"user": [1, 2], "item": [7, 8], "score": [1.0, 1.0]}
    result = podium.measure(truth, run, "rr", missing="zero", keep_lists=True)
    served: Any = worst_served({"": result}, "", None)
    assert [user["user"] for user in served["users"]] == ["2", "1"]


def test_notes_of_a_comparison_are_those_of_all_models() -> None:
    drawn = sampled.SampledRanks([1, 1, 2, 5, 9] * 4, 9, 50, replacement=False)
    exact = sampled.SampledRanks([1, 3, 8, 20, 49] * 4, 49, 50, replacement=False)
    for models in ({"exact": exact, "drawn": drawn}, {"drawn": drawn, "exact": exact}):
        options: dict[str, Any] = {"bounds": False, "n_bootstrap": 5}
        said = {
            estimator: " ".join(
                str(sampled.compare(models, "rr", estimator=estimator, **options)).split()
            )
            for estimator in ("mle", "smooth")
        }
        assert "mle is biased for drawn: its intervals are for its expectation" in said["mle"]
        assert "has the sign of the expected difference of mle." in said["mle"]
        assert "has the sign of the exact difference." in said["smooth"]
