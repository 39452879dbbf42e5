"""podium reproduce: the list, a run, an interrupt, and what it says when something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium_studies import recipe as recipes
from podium_studies.hiranandani2020 import table1


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_list_names_every_recipe_and_its_status(podium: Callable[..., Any]) -> None:
    done = podium("reproduce", "list")
    assert (done.status, done.err) == (0, "")
    assert all(name in done.out for name in recipes.names())
    assert done.out.count("never run") == len(recipes.names())
    assert max(map(len, done.out.splitlines())) <= 100
    assert podium("reproduce").out == done.out
    assert not Path("reproduce").exists()
    for options in (("--data", "x"), ("--repeats", "3"), ("--jobs", "2"), ("--fresh",)):
        done = podium("reproduce", "list", *options)
        assert (done.status, f"{options[0]} has no effect with list" in done.err) == (2, True)


def test_run_prints_paper_ours_difference_and_verdict(podium: Callable[..., Any]) -> None:
    done = podium("reproduce", "pap-table1", "--out", "made")
    assert done.status == 0
    words = done.out.split("\n", 3)
    assert words[0].split() == ["figure", "paper", "podium", "diff.", "verdict"]
    assert words[2].split() == ["auc", "of", "f1", "0.7333", "0.7333", "0", "exact"]
    assert "pap-table1: reproduced. 13 of 13 printed figures agree." in done.out
    assert done.err == f"podium: wrote {Path('made/pap-table1/report.html')}\n"
    assert "done: reproduced" in podium("reproduce", "--out", "made").out


def test_interrupted_run_keeps_cells_and_says_how_to_go_on(
    podium: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(recipe: Any, context: Any, ranking: str) -> Any:
        if ranking == "f3":
            raise KeyboardInterrupt
        return table1.run(recipe, context, ranking)

    with monkeypatch.context() as patch:
        patch.setattr(table1, "STUDY", table1.Study(table1.cells, stop, table1.fold))
        done = podium("reproduce", "pap-table1")
    assert (done.status, done.out) == (130, "")
    kept, interrupted = done.err.splitlines()
    assert str(Path("reproduce/pap-table1/cells.jsonl")) in kept
    assert interrupted == "podium: interrupted."
    assert "begun" in podium("reproduce", "list").out
    assert "2 of 5 cells were already done." in podium("reproduce", "pap-table1").err
