from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

import podium
from podium import demo
from podium.demo import page, run_file
from podium.demo.study import MEASURES, TARGET, Results
from podium.errors import DataError
from podium.report import render


def test_demo_writes_every_file_and_nothing_else(results: Results, folder: Path) -> None:
    tables = {f"{name}.parquet" for name in ("past", "truth", "items")}
    runs = {run_file(name) for name in results.comparison.evaluations}
    assert {path.name for path in folder.iterdir()} == {"report.html"} | tables | runs


def test_demo_files_measure_to_the_numbers_reported(results: Results, folder: Path) -> None:
    for name, reported in results.comparison.evaluations.items():
        evaluation = podium.measure(
            folder / "truth.parquet", folder / run_file(name), MEASURES, ties="worst"
        )
        assert evaluation.means == pytest.approx(reported.means)


def test_demo_audit_of_the_files_finds_no_error(results: Results, folder: Path) -> None:
    runs = {name: folder / run_file(name) for name in results.comparison.evaluations}
    audit = podium.audit(folder / "past.parquet", folder / "truth.parquet", runs, TARGET)
    assert audit.as_json() == results.audit.as_json()
    assert audit.of("error") == []


def test_demo_page_has_the_decision_the_audit_and_the_titles(
    results: Results, folder: Path
) -> None:
    text = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert text.rstrip().endswith("</html>")
    assert page.summary(results) in text
    assert "THING No" in text
    for title in ("What was done", "Audit", "Provenance", "Worst-served users"):
        assert f">{title}</h2>" in text
    assert "https://" not in text


def test_demo_refuses_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match="taken"):
        demo.run(tmp_path / "taken")


@pytest.mark.long
def test_no_rival_is_significantly_better_than_the_choice(
    demo_run: tuple[Results, Path],
) -> None:
    compared, choice = demo_run[0].comparison, demo_run[0].choice
    rivals = set(compared.evaluations) - {choice}
    assert {"recent", "popularity", "EASE", "RoBiRank"} < rivals
    for rival in rivals:
        assert compared.difference(TARGET, rival).test.interval.low <= 0.0, rival


def test_report_states_the_choice_on_validation(results: Results) -> None:
    content: Any = page.report(results)
    (job,) = [part for part in content["sections"] if part["title"] == "What was done"]
    (methods,) = job["tables"]
    assert {row[0]: row[2] for row in methods["rows"]} == results.validation
    bold = {methods["rows"][row][0] for row, _ in methods["highlight"]}
    assert bold == {results.base, results.choice}
    assert len(render(content)) > 10_000
