"""docs/coming-from: the pages are those of podium.presets."""

from __future__ import annotations

from tools import coming_from


def test_pages_are_generated() -> None:
    assert {path.name for path in coming_from.FOLDER.iterdir()} == {
        path.name for path in coming_from.pages()
    }
    for path, text in coming_from.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python -m tools.coming_from"
