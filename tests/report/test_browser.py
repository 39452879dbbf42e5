"""Pages in Chromium: no error, no request, sorting, filtering, the keyboard, phones, hostile names.

The tests need the package playwright and an installed Chromium. No browser is downloaded.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.report.test_page import PAGES

from podium import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

WIDTHS = (390, 1440)
VALUES = ["0.2", "–", "+0.10", "−0.3", "<0.0001", "1,200", "[0.5, 0.6]", "0.2"]
LONG = {
    "columns": ["segment", "run", "value"],
    "rows": [[f"s{i // 4}", f"run {i % 4}", value] for i, value in enumerate(VALUES * 2)],
    "align": ["left", "left", "right"],
}
TABLES: Any = {"title": "Tables", "sections": [{"title": "One", "tables": [LONG]}]}
Opened = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path)
        yield opened
        opened.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Return a function that opens a report; at the end, nothing may have been logged."""
    logged: list[str] = []
    contexts: list[Any] = []

    def opened(content: Any, *, width: int = 1440, **options: Any) -> Page:
        path = tmp_path / f"{len(contexts)}.html"
        report.write(content, path)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: logged.append(message.text))
        page.on("pageerror", lambda error: logged.append(str(error)))
        page.on("dialog", lambda dialog: logged.append(dialog.message))
        page.on("request", lambda request: logged.extend(_other(request.url, path)))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert logged == []


def _other(url: str, path: Path) -> list[str]:
    return [] if url == path.as_uri() else [url]


def cells(page: Page, column: int) -> list[str]:
    """Return the visible cells of a column of the first table."""
    rows = page.locator("table").first.locator("tbody tr:visible").all()
    texts = [str(row.locator("th, td").nth(column).text_content()) for row in rows]
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in texts]


def head(page: Page, column: int) -> Locator:
    return page.locator("table").first.locator("thead button").nth(column)


def click(page: Page, column: int) -> list[str]:
    head(page, column).click()
    return cells(page, column)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_page_opens_without_errors_and_fits(show: Opened, name: str, width: int) -> None:
    page = show(PAGES[name], width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(figure.is_visible() for figure in page.locator("svg").all())


def test_sorting_is_stable_by_number_and_announced(show: Opened) -> None:
    page = show(TABLES)
    ascending = ["−0.3", "<0.0001", "+0.10", "0.2", "0.2", "[0.5, 0.6]", "1,200"]
    doubled = [value for value in ascending for _ in range(2)]
    assert click(page, 2) == [*doubled[::-1], "–", "–"]
    assert click(page, 2) == [*doubled, "–", "–"]
    assert click(page, 2) == VALUES * 2  # the third click restores the order
    assert page.locator("th[aria-sort]").count() == 0
    assert click(page, 1) == [f"run {i}" for i in range(4) for _ in range(4)]
    assert cells(page, 0) == [f"s{i}" for i in range(4)] * 4
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"


def test_filter_keeps_rows_with_every_word(show: Opened) -> None:
    page = show(TABLES)
    field = page.get_by_label("Filter rows")
    field.fill("S1 run")
    assert cells(page, 0) == ["s1"] * 4
    assert page.locator(".filter output").inner_text() == "4 of 16 rows"
    click(page, 2)  # sorting keeps the filter
    assert cells(page, 0) == ["s1"] * 4
    field.fill("nothing like this")
    assert cells(page, 0) == []
    field.fill("")
    assert len(cells(page, 0)) == 16


def test_keyboard_reaches_filter_heads_and_wide_tables(show: Opened) -> None:
    page = show(TABLES, width=390)
    page.keyboard.press("Tab")
    page.keyboard.type("s2")
    assert cells(page, 0) == ["s2"] * 4
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "region"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort]").inner_text().startswith("segment")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_page_is_complete_without_script(show: Opened) -> None:
    page = show(TABLES, java_script_enabled=False)
    assert cells(page, 2) == VALUES * 2
    assert page.locator("button, input").count() == 0
