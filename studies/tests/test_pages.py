"""The pages of the studies: their Python runs, and their links lead somewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.pages import page as pages

STUDIES = Path(__file__).resolve().parents[1]
NAMES = [
    f"../{path.relative_to(STUDIES.parent).as_posix()}" for path in sorted(STUDIES.rglob("*.md"))
]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
@pytest.mark.parametrize("name", NAMES)
def test_python_of_the_page_runs(
    name: str,
    podium: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = pages.Runner(podium, capsys, {})
    for block in pages.blocks(pages.page(name)):
        if block.kind in ("doctest", "python"):
            runner.run(block)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    assert pages.lost_links(name) == []
