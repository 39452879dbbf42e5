"""Commands, scripts and Python in the pages of docs, as the tests of pages run them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def page(name: str) -> str:
    """Return the text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """Return a section of a page, with its title."""
    (text,) = re.findall(rf"^## {title}\n.*?(?=^## |\Z)", page(name), re.M | re.S)
    return text


def commands(text: str) -> list[tuple[list[str], str]]:
    """Return the podium commands of a text as lists of arguments, each with the output shown."""
    blocks = re.findall(r"^```\n(\$ .*?)^```", text, re.M | re.S)
    calls = [call for block in blocks for call in re.split(r"^\$ podium ", block, flags=re.M)[1:]]
    return [(shlex.split(line), shown) for line, _, shown in (c.partition("\n") for c in calls)]


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of a text in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub Actions does, with podium from this environment."""
    function = f'podium() {{ {shlex.quote(sys.executable)} -m podium "$@"; }}\n'
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", function + script],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "GITHUB_STEP_SUMMARY": "summary.md"},
    )


def printed(block: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    """Run Python, and return the lines that it prints and those that its comments promise."""
    capsys.readouterr()
    exec(compile(block, "page.md", "exec"), {})
    return capsys.readouterr().out.splitlines(), re.findall(r"^print\(.*\)  # (.*)$", block, re.M)


def same_output(shown: str, out: str) -> bool:
    """Return whether the output is the one shown, which may end with … for the rest."""
    beginning, is_cut, _ = shown.partition("…")
    words = out.split()
    return beginning.split() == (words[: len(beginning.split())] if is_cut else words)


def check_commands(text: str, podium: Callable[..., Any]) -> None:
    """Run the commands of a text, and compare their outputs with those shown."""
    for argv, shown in commands(text):
        done = podium(*argv)
        assert same_output(shown, done.out), done.out + done.err


def copy_files(folder: Path) -> None:
    """Copy the files of a folder into the working folder."""
    shutil.copytree(folder, ".", dirs_exist_ok=True)


def lost_links(name: str) -> list[str]:
    """Return the links of a page to files or titles that do not exist."""
    lost: list[str] = []
    for link in re.findall(r"\]\(([^):]+)\)", page(name)):
        path, _, anchor = link.partition("#")
        target = DOCS / (path or name)
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            lost.append(link)
    return lost


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
