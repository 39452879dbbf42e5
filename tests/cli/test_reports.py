"""The option --report of all commands: the origin, and nothing half-written."""

from __future__ import annotations

import hashlib
import html
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.report import _page

Run = Callable[..., Any]
COMMANDS = {
    "measure": "measure truth.csv a.csv -m recall@2",
    "compare": "compare truth.csv a.csv b.csv -m recall@2",
    "gate": "gate truth.csv a.csv b.csv -m recall@2",
    "audit": "audit past.csv truth.csv a.csv -m recall@2",
    "estimate": "estimate x.csv --items 50 --negatives 9 -m recall@10",
    "estimates": "estimate x.csv y.csv --items 50 --negatives 9 -m recall@10",
}
each_command = pytest.mark.parametrize("argv", COMMANDS.values(), ids=COMMANDS)


@pytest.fixture(autouse=True)
def ranks(folder: Path) -> None:
    for name, first in (("x", 1), ("y", 2)):
        rows = "".join(f"{user},{first + user % 8}\n" for user in range(40))
        (folder / f"{name}.csv").write_text(f"user,rank\n{rows}")


def text_of(path: str) -> str:
    page = Path(path).read_text(encoding="utf-8").partition("<main>")[2]
    return html.unescape(re.sub(r"<[^<>]*>", " ", page))


@each_command
def test_report_has_its_origin(podium: Run, argv: str) -> None:
    files = [Path(word) for word in argv.split() if Path(word).is_file()]
    assert podium(*argv.split(), "--report", "page.html").status in (0, 1, 3)
    text = text_of("page.html")
    assert f"podium {argv} --report page.html" in text
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    for fact in ("Python", "UTC"):
        assert fact in text


def test_items_without_titles_are_refused(refuses: Callable[[str, str], None]) -> None:
    Path("items.csv").write_text("item,price\n0,3\n2,4\n")
    refuses(COMMANDS["compare"], "--items items.csv --report page.html | title")


@each_command
def test_page_that_cannot_be_made_is_refused_before_anything_is_read(
    refuses: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, argv: str
) -> None:
    for path in ("none/page.html", "past.csv/page.html"):
        refuses(argv, f"--report {path} | --report {path}")
    Path("truth.csv").unlink()
    for module, extra in (("jinja2", "podium[report]"), ("matplotlib", "podium[plots]")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            _page._template.cache_clear()  # pyright: ignore[reportPrivateUsage]
            refuses(argv, f"--report page.html | {module} {extra}")


def test_time_of_reproducible_builds_makes_equal_pages(
    podium: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    argv = COMMANDS["compare"]
    pages: list[bytes] = []
    for _ in range(2):
        assert podium(*argv.split(), "--report", "page.html").status == 0
        pages.append(Path("page.html").read_bytes())
    assert pages[0] == pages[1]
    assert "2023-11-14 22:13 UTC" in text_of("page.html")
