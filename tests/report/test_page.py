"""The page: complete, escaped, offline, in two schemes, and written completely or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from tests.raised import raises
from tests.unit.test_results_shown import Reader, result

from podium import report
from podium.errors import ArgumentError

NASTY = '<script>alert("1")</script><img src="http://evil.example/a.png">'


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
    "evaluation": result("evaluation").to_report(),
    "comparison": result("all pairs").to_report(),
}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_balanced_and_makes_no_request(name: str) -> None:
    page = report.render(PAGES[name])
    outline = Reader(page)
    ids = [value for name, value in outline.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    named = [value for name, value in outline.attributes if name == "aria-labelledby"]
    assert set(named) <= set(ids)
    assert not {"link", "img", "iframe", "object", "base"} & set(outline.tags)
    assert outline.tags.count("script") == 1
    for name, value in outline.attributes:
        assert name not in ("src", "srcset", "xlink:href", "action", "onload")
        assert name != "style" or "url" not in (value or "")
        assert name != "href" or (value or "").startswith("#")
    style = page[page.index("<style>") : page.index("</style>")]
    assert not any(word in style for word in ("url(", "@import", "@font-face"))
    script = page[page.index("<script>") + len("<script>") : page.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in page
    assert f"script-src 'sha256-{digest}'" in page
    assert "innerHTML" not in script
    used = set(re.findall(r"var\((--[a-z0-9]+)", page))
    assert used <= set(re.findall(r"(--[a-z0-9]+): #", page))


def test_page_escapes_every_text() -> None:
    page = report.render(FULL)
    assert page.count("<script") == 1
    assert "<img" not in page
    text = " ".join(Reader(page).text)
    parts = (
        "Title Subtitle Summary Fact Section Text Column Cell Caption Figure Label Figcaption "
        "Convention Footer Note User Values Run Item Missed Command File"
    )
    for part in parts.split():
        assert f"{part} {NASTY}" in text


def test_comparison_claims_only_what_a_test_shows() -> None:
    compared = result("comparison")
    shown, not_shown, *_ = compared.to_report()["summary"]
    test = compared.difference("ndcg@5", "best").test
    assert test.interval[0] > 0
    assert "It is significantly better than a" in shown
    assert f"(+{test.difference:.4f} [+{test.interval[0]:.4f}, +{test.interval[1]:.4f}]" in shown
    assert "It was not compared with <script>" in shown
    assert "It is not significantly better than a" in not_shown
    assert compared.to_report()["status"] == "open"


def test_write_leaves_nothing_where_rendering_fails(tmp_path: Path) -> None:
    broken = {"title": "a", "sections": [{"title": "b", "figures": [{"kind": "pie"}]}]}
    with raises(ArgumentError, "kind"):
        report.write(broken, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
