"""docs/letor.md: its commands print what it says, and its Python runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import data, losses

PAGE = (Path(__file__).parents[2] / "docs" / "letor.md").read_text()
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def like(said: str, shown: str) -> bool:
    """Tell whether two texts are the same but for the last digits of their numbers."""
    words = NUMBER.sub("#", said).split() == NUMBER.sub("#", shown).split()
    pairs = zip(NUMBER.findall(said), NUMBER.findall(shown), strict=False)
    return words and all(abs(float(a) - float(b)) <= 2e-3 * (1 + abs(float(b))) for a, b in pairs)


@pytest.fixture
def parts(podium_data: Callable[[str], Path]) -> None:
    """Put OHSUMED's parts into the working folder."""
    for number in range(1, 6):
        name = f"S{number}.txt.gz"
        Path(name).symlink_to(podium_data(f"letor-ohsumed/min/{name}").resolve())


@pytest.mark.usefixtures("parts")
def test_commands_print_what_the_page_shows(podium: Callable[..., Any]) -> None:
    blocks = re.findall(r"^```\n(\$ podium .*?)^```", PAGE, re.M | re.S)
    calls = [call for block in blocks for call in re.split(r"^\$ podium ", block, flags=re.M)[1:]]
    assert len(calls) == 3
    for call in calls:
        command, _, shown = call.partition("\n")
        done = podium(*shlex.split(command))
        assert done.status == 0, done.err
        assert like(done.err + done.out, shown), done.err + done.out


@pytest.mark.usefixtures("parts")
def test_python_of_the_page_runs() -> None:
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S):
        exec(compile(block, "letor.md", "exec"), names)
    rows = data.read_features("S5.txt.gz")
    scores = names["model"].predict(data.normalize_by_query(rows.X, rows.qid))
    assert np.concatenate(names["scores"]).tolist() == scores.tolist()


def test_page_names_every_loss_that_has_a_head() -> None:
    heads = {name for name, cls in losses.REGISTRY.items() if getattr(cls, "head_cutoff", False)}
    heads -= {"lambdarank", "approx-ndcg", "sl"}  # not losses of the paper
    (line,) = (x for x in PAGE.splitlines() if x.startswith("| `listmle`"))
    assert set(re.findall(r"`([a-z]+)`", line)) == heads


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert links
    docs = Path(__file__).parents[2] / "docs"
    assert [link for link in links if not (docs / link).exists()] == []
