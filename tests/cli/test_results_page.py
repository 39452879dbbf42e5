"""docs/results.md: its code runs, and the names that it lists are those of the results."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.pages import blocks, lost_links, page, printed

PAGE = page("results.md")


def test_links_lead_somewhere() -> None:
    assert lost_links("results.md") == []


def test_code_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    first, report, _ = blocks(PAGE, "python")
    lines, promised = printed(f"{first}\n{report}", capsys)
    assert lines == promised
    assert len(lines) == 4
    assert "Brazil" in Path("report.html").read_text(encoding="utf-8")


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
