"""docs/results.md: its code runs, and the names that it lists are those of the results."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from tests.cli.pages import blocks, lost_links, page, printed, section
from tests.unit.test_results_plotted import PICTURES
from tests.unit.test_results_shown import result

PAGE = page("results.md")


def test_links_lead_somewhere() -> None:
    assert lost_links("results.md") == []


def test_code_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = blocks(PAGE, "python")
    lines, promised = printed(first, capsys)
    assert lines == promised
    assert len(lines) == 4


def test_code_for_mlflow_logs_names_and_values_that_mlflow_accepts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged: dict[str, float] = {}

    def log_metrics(metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            assert re.fullmatch(r"[/\w.\- :]*", name)  # mlflow.utils.validation, mlflow 3.17
            assert isinstance(value, int | float)
        logged.update(metrics)

    fake = SimpleNamespace(start_run=nullcontext, log_metrics=log_metrics)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    *_, last = blocks(PAGE, "python")
    exec(compile(last, "results.md", "exec"), {})
    assert logged["recall_at_2"] == pytest.approx(2 / 3)
    assert "ap_norm_min__at_2.std_error" in logged


def test_code_draws_and_saves_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, first, second, _ = blocks(PAGE, "python")
    for block in (first, second):
        exec(compile(block, "results.md", "exec"), {})
    plt.close("all")
    assert (tmp_path / "differences.png").stat().st_size > 1000
    assert "<svg" in (tmp_path / "users.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_page_lists_the_pictures_of_each_result(name: str) -> None:
    kind = type(result(name)).__name__
    row = "estimates from samples" if kind.startswith("Sampled") else f"`{kind}`"
    (cells,) = re.findall(
        rf"^\| {re.escape(row)} \| (.*) \|$", section("results.md", "Plots"), re.M
    )
    for picture in PICTURES[name]:
        group, _, part = picture.rpartition(" ")  # by n_pos, steps to ranx
        assert f'`"{group} ' in cells if part and group else f'`"{picture}"`' in cells
