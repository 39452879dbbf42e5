"""docs/compare.md and the section compare of docs/cli.md: their commands and scripts run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pages import (
    blocks,
    check_commands,
    commands,
    copy_files,
    lost_links,
    page,
    printed,
    same_output,
    section,
    shell,
)

import podium as package

PAGE = page("compare.md")
UNJUDGED = section("compare.md", "Unjudged items")
SEVERAL_SPLITS = section("compare.md", "Several splits or seeds")
JUDGED = [line for line in UNJUDGED.splitlines() if line.startswith("precision@2,")]


@pytest.mark.parametrize("name", ["compare.md", "cli.md"])
def test_links_lead_somewhere(name: str) -> None:
    assert lost_links(name) == []


def test_unjudged_items_of_the_page(podium: Callable[..., Any]) -> None:
    (tables,) = blocks(UNJUDGED, "sh")
    assert shell(tables).returncode == 0
    check_commands(UNJUDGED, podium)
    (shown,) = re.findall(r"^\$ cat labels.csv\n(.*?)^```", UNJUDGED, re.M | re.S)
    assert Path("labels.csv").read_text(encoding="utf-8") == shown


def test_judging_the_labels_of_the_page_settles_the_order() -> None:
    (tables,) = blocks(UNJUDGED, "sh")
    assert shell(tables).returncode == 0
    header, *rows = Path("truth.csv").read_text(encoding="utf-8").splitlines()
    rows = [f"{row},1" for row in rows] + [f"{line.split(',', 3)[3]},0" for line in JUDGED]
    Path("truth.csv").write_text("\n".join([f"{header},relevance", *rows]), encoding="utf-8")
    runs = {"old": "old.csv", "new": "new.csv"}
    judged = package.compare("truth.csv", runs, "precision@2", unjudged="bounds")
    unjudged = judged.difference("precision@2", "new").unjudged
    assert unjudged is not None
    assert not unjudged.can_reverse


@pytest.mark.long
def test_splits_of_the_page(podium: Callable[..., Any]) -> None:
    (script,) = blocks(SEVERAL_SPLITS, "python")
    exec(compile(script, "compare.md", "exec"), {})
    check_commands(SEVERAL_SPLITS, podium)
    for n_splits in (2, 3, 5):
        folders = [f"split{i}" for i in range(n_splits)]
        result = package.compare(
            [f"{folder}/truth.parquet" for folder in folders],
            {name: [f"{folder}/{name}.parquet" for folder in folders] for name in ("knn", "ease")},
            "ndcg@10",
        )
        low, high = result.difference("ndcg@10", "ease").test.interval
        assert f"[{low:+.4f}, {high:+.4f}]" in " ".join(SEVERAL_SPLITS.split())


@pytest.mark.long
def test_pages_show_the_results_on_the_demo(
    podium: Callable[..., Any], capsys: pytest.CaptureFixture[str], demo_files: Path
) -> None:
    copy_files(demo_files)
    tables, in_python = (
        block for block in blocks(PAGE, "python") if block not in blocks(SEVERAL_SPLITS, "python")
    )
    exec(compile(tables, "compare.md", "exec"), {})
    text = PAGE.replace(UNJUDGED, "").replace(SEVERAL_SPLITS, "") + section("cli.md", "compare")
    assert len(commands(text)) == 5
    for argv, shown in commands(text):
        done = podium(*argv)
        assert same_output(shown, done.out), done.out + done.err
    lines, promised = printed(in_python, capsys)
    assert lines == promised
