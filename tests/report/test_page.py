"""The page: complete, escaped, offline, in two schemes, and written completely or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from podium import report
from podium.errors import ArgumentError
from podium.report.measured_pages import comparison_report, evaluation_report

NASTY = '<script>alert("1")</script><img src="http://evil.example/a.png">'
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Tags, attributes and text of a page; an unbalanced tag is an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def summary(mean: float | None, **more: Any) -> dict[str, Any]:
    bounds = [None, None] if mean is None else [mean - 0.02, mean + 0.02]
    return {
        "mean": mean,
        "std_error": None if mean is None else 0.01,
        "interval": bounds,
        "level": 0.95,
        "n_groups": 0 if mean is None else 812,
        "n_undefined": 3,
        **more,
    }


def difference(run: str, value: float, p: float) -> dict[str, Any]:
    return {
        "run": run,
        "baseline": "popularity",
        "difference": value,
        "std_error": 0.01,
        "interval": [value - 0.02, value + 0.02],
        "level": 0.95,
        "t_statistic": value / 0.01,
        "t_p_value": p,
        "randomisation_p_value": p,
        "effect_size": value / 0.3,
        "relative_difference": value / 0.1,
        "holm_p_value": p,
        "wins": 411,
        "losses": 302,
        "equal": 99,
        "detectable": 0.028,
        "n_groups": 812,
        "n_undefined": 3,
    }


EVALUATION: dict[str, Any] = {
    "measures": {
        "pap@10": summary(0.31, pooled=summary(0.27)),
        "dcg@10": summary(4.2),
        "auc": summary(None),
    },
    "segments": [
        {
            "by": by,
            "name": name,
            "n_groups": 400,
            "measures": {"pap@10": summary(mean), "auc": summary(None)},
        }
        for by, name, mean in [
            ("engagement", "n_pos <= 10", 0.2),
            ("engagement", "n_pos > 10", 0.4),
            ("country", NASTY, None),
        ]
    ],
    "conventions": {"ties": "worst", "min_relevance": 1.0, "n_items": None},
    "histograms": {"pap@10": {"edges": [0, 0.5, 1], "counts": [500, 312]}},
}
RUNS = ["popularity", NASTY, "linear"]
COMPARISON: dict[str, Any] = {
    "runs": RUNS,
    "baseline": "popularity",
    "measures": {
        "pap@10": {
            "means": {run: summary(0.3 + 0.01 * i) for i, run in enumerate(RUNS)},
            "differences": [difference(NASTY, 0.01, 0.4), difference("linear", 0.05, 0.0004)],
        },
        "ndcg@10": {
            "means": {run: summary(0.5) for run in RUNS},
            "differences": [difference(NASTY, 0.0, 1.0), difference("linear", -0.01, 0.3)],
        },
    },
    "conventions": {"ties": "worst"},
}
FULL: dict[str, Any] = {
    "title": f"Title {NASTY}",
    "subtitle": f"Subtitle {NASTY}",
    "summary": [f"Summary {NASTY}", "Second paragraph"],
    "facts": {f"Fact {NASTY}": 12345, "share": 0.25},
    "sections": [
        {
            "title": f"Section {NASTY}",
            "text": f"Text {NASTY}",
            "tables": [
                {
                    "columns": [f"Column {NASTY}", "mean"],
                    "rows": [[f"Cell {NASTY}", 0.1234], ["b", None]],
                    "caption": f"Caption {NASTY}",
                    "highlight": [(0, 1)],
                    "digits": 2,
                }
            ],
            "figures": [
                {
                    "kind": "interval_plot",
                    "title": f"Figure {NASTY}",
                    "rows": [{"label": f"Label {NASTY}", "value": 1.0}],
                    "caption": f"Figcaption {NASTY}",
                }
            ],
        },
        {"title": "Empty", "notes": f"Note {NASTY}"},
        {
            "title": "Lists",
            "lists": [
                {
                    "title": f"User {NASTY}",
                    "note": f"Values {NASTY}",
                    "lists": {
                        f"Run {NASTY}": [{"text": f"Item {NASTY}", "relevant": True}],
                        "b": [],
                    },
                    "after": f"Missed {NASTY}",
                }
            ],
        },
    ],
    "conventions": [("ties", f"Convention {NASTY}")],
    "provenance": {
        "facts": {"command": f"Command {NASTY}"},
        "files": [{"name": f"File {NASTY}", "size": None, "sha256": None}],
    },
    "footer": f"Footer {NASTY}",
}
PAGES: dict[str, Any] = {
    "full": FULL,
    "bare": {"title": "Bare"},
    "empty": {"title": "", "summary": [], "facts": {}, "sections": [], "conventions": []},
    "evaluation": evaluation_report(EVALUATION),
    "no measures": evaluation_report({"measures": {}, "segments": []}),
    "comparison": comparison_report(COMPARISON),
    "no runs": comparison_report({"runs": [], "baseline": "", "measures": {}}),
}


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    return report.render(PAGES[request.param])


def test_page_is_balanced_with_distinct_ids(page: str) -> None:
    outline = Outline(page)
    assert len(set(outline.ids)) == len(outline.ids)
    named = [value for name, value in outline.attributes if name == "aria-labelledby"]
    assert set(named) <= set(outline.ids)


def test_page_makes_no_request(page: str) -> None:
    outline = Outline(page)
    assert not {"link", "img", "iframe", "object", "base"} & set(outline.tags)
    assert outline.tags.count("script") == 1
    for name, value in outline.attributes:
        assert name not in ("src", "srcset", "xlink:href", "action", "onload")
        assert name != "style" or "url" not in (value or "")
        assert name != "href" or (value or "").startswith("#")
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "@font-face" not in style
    assert "default-src 'none'" in page


def test_policy_allows_exactly_the_script_of_the_page(page: str) -> None:
    script = page[page.index("<script>") + len("<script>") : page.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "innerHTML" not in script


def test_page_escapes_every_text() -> None:
    page = report.render(FULL)
    assert page.count("<script") == 1
    assert "<img" not in page
    text = " ".join(Outline(page).text)
    for part in ("Title", "Subtitle", "Summary", "Fact", "Section", "Text", "Column", "Cell"):
        assert f"{part} {NASTY}" in text
    for part in ("Caption", "Figure", "Label", "Figcaption", "Convention", "Footer"):
        assert f"{part} {NASTY}" in text
    for part in ("Note", "User", "Values", "Run", "Item", "Missed", "Command", "File"):
        assert f"{part} {NASTY}" in text


def test_page_has_every_colour_of_its_figures(page: str) -> None:
    used = set(re.findall(r"var\((--[a-z0-9]+)", page))
    assert used <= set(re.findall(r"(--[a-z0-9]+): #", page))


def test_evaluation_report_shows_every_measure_segment_and_convention() -> None:
    text = " ".join(Outline(report.render(PAGES["evaluation"])).text)
    for part in ("pap@10 (pooled)", "dcg@10", "n_pos > 10", NASTY, "min_relevance"):
        assert part in text
    assert "n_items" not in text  # left open
    assert (
        "Mean pap@10 is 0.3100 over 812 users, with a 95 % interval from 0.2900 to 0.3300. "
        "3 have no value."
    ) in text


def test_evaluation_plots_only_shares_on_one_axis() -> None:
    (figure,) = evaluation_report(EVALUATION)["sections"][0]["figures"]
    assert [row["label"] for row in figure["rows"]] == ["pap@10", "pap@10 (pooled)"]


def test_comparison_report_claims_only_what_a_test_shows() -> None:
    page = comparison_report(COMPARISON)
    shown, not_shown = page["summary"]
    assert shown == (
        "linear has the best mean pap@10, 0.3200. It is significantly better than popularity "
        f"(+0.0500 [+0.0300, +0.0700], p = 0.0004). It was not compared with {NASTY}."
    )
    assert not_shown.startswith(
        f"popularity, {NASTY} and linear have the same mean ndcg@10, 0.5000. Without the "
    )
    assert "correction for several tests, a true difference of 0.0280 would probably" in not_shown
    assert page["status"] == "open"


def test_comparison_report_marks_what_a_test_shows() -> None:
    section = comparison_report(COMPARISON)["sections"][1]
    assert section["tables"][0]["highlight"] == [(1, 1)]
    assert section["tables"][0]["rows"][1][3:] == ["0.0004"] * 2


def test_comparison_report_shows_ranges_over_judgements() -> None:
    unjudged = {"low": -0.02, "high": 0.06, "exact": True, "can_reverse": True, "n_labels": 12}
    measure = COMPARISON["measures"]["pap@10"]
    tests = [measure["differences"][0], {**measure["differences"][1], "unjudged": unjudged}]
    with_range = {**COMPARISON, "measures": {"pap@10": {**measure, "differences": tests}}}
    table, _ = comparison_report(with_range)["sections"][1]["tables"]
    assert table["columns"][-2:] == ["unjudged", "labels"]
    assert table["rows"][1][-2:] == ["[-0.0200, +0.0600]", "12"]


def test_comparison_report_gives_a_run_one_colour() -> None:
    sections = comparison_report(COMPARISON)["sections"]
    figures = [figure for section in sections for figure in section["figures"]]
    assert report.figures.colour_numbers(figures) == {run: i for i, run in enumerate(RUNS)}


def test_reports_are_plain_json() -> None:
    for name in ("evaluation", "comparison"):
        assert report.render(json.loads(json.dumps(PAGES[name]))) == report.render(PAGES[name])


def test_write_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("older", encoding="utf-8")
    report.write(FULL, path)
    assert path.read_text(encoding="utf-8") == report.render(FULL)
    assert list(tmp_path.iterdir()) == [path]


def test_write_leaves_nothing_where_rendering_fails(tmp_path: Path) -> None:
    broken = {"title": "a", "sections": [{"title": "b", "figures": [{"kind": "pie"}]}]}
    with pytest.raises(ArgumentError, match="kind"):
        report.write(broken, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
