"""The option --report of all commands: the verdict, the origin, and nothing half-written."""

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
    "measure": ("measure truth.csv a.csv -m recall@2", "Mean recall@2 is "),
    "compare": ("compare truth.csv a.csv b.csv -m recall@2", " has the best mean recall@2"),
    "gate": ("gate truth.csv a.csv b.csv -m recall@2", "recall@2 does not show whether b may "),
    "audit": ("audit past.csv truth.csv a.csv -m recall@2", "The most serious one is "),
    "estimate": ("estimate x.csv --items 50 --negatives 9 -m recall@10", " is estimated at "),
    "estimates": (
        "estimate x.csv y.csv --items 50 --negatives 9 -m recall@10",
        " has the best estimate of recall@10",
    ),
}


@pytest.fixture(autouse=True)
def ranks(folder: Path) -> None:
    for name, first in (("x", 1), ("y", 2)):
        rows = "".join(f"{user},{first + user % 8}\n" for user in range(40))
        (folder / f"{name}.csv").write_text(f"user,rank\n{rows}")


def text_of(path: str) -> str:
    page = Path(path).read_text(encoding="utf-8").partition("<main>")[2]
    return html.unescape(re.sub(r"<[^<>]*>", " ", page))


@pytest.mark.parametrize(("argv", "verdict"), COMMANDS.values(), ids=COMMANDS)
def test_report_has_the_verdict_and_the_origin(podium: Run, argv: str, verdict: str) -> None:
    files = [Path(word) for word in argv.split() if Path(word).is_file()]
    assert podium(*argv.split(), "--report", "page.html").status in (0, 1, 3)
    text = text_of("page.html")
    assert verdict in text
    assert f"podium {argv} --report page.html" in text
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    for fact in ("Python", "UTC"):
        assert fact in text


def test_items_without_titles_are_refused(refuses: Callable[[str, str], None]) -> None:
    Path("items.csv").write_text("item,price\n0,3\n2,4\n")
    argv, _ = COMMANDS["compare"]
    refuses(argv, "--items items.csv --report page.html | title")


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
@pytest.mark.parametrize("name", COMMANDS)
def test_missing_extra_is_named_before_anything_is_read(
    refuses: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    _page._template.cache_clear()  # pyright: ignore[reportPrivateUsage]
    Path("truth.csv").unlink()
    argv, _ = COMMANDS[name]
    extra = {"jinja2": "podium[report]", "matplotlib": "podium[plots]"}[module]
    refuses(argv, f"--report page.html | {module} {extra}")


@pytest.mark.parametrize("name", COMMANDS)
def test_folder_that_is_missing_or_a_file_is_refused(
    refuses: Callable[[str, str], None], name: str
) -> None:
    argv, _ = COMMANDS[name]
    refuses(argv, "--report none/page.html | --report none/page.html")
    refuses(argv, "--report past.csv/page.html | --report past.csv/page.html")


def test_full_disk_leaves_the_older_page(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("page.html").write_text("older")
    before = sorted(Path().iterdir())

    def full(self: Path, text: str, **options: str) -> int:
        del self, text, options
        raise OSError(28, "No space left on device")

    argv, _ = COMMANDS["measure"]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        done = podium(*argv.split(), "--report", "page.html")
    assert done.status == 2
    assert "No space left on device" in done.message
    assert sorted(Path().iterdir()) == before
    assert Path("page.html").read_text() == "older"


def test_time_of_reproducible_builds_makes_equal_pages(
    podium: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    argv, _ = COMMANDS["compare"]
    pages: list[bytes] = []
    for _ in range(2):
        assert podium(*argv.split(), "--report", "page.html").status == 0
        pages.append(Path("page.html").read_bytes())
    assert pages[0] == pages[1]
    assert "2023-11-14 22:13 UTC" in text_of("page.html")
