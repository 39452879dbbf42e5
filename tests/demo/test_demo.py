from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import podium
from podium import demo
from podium.data import OnlineRetail, load_onlineretail
from podium.demo import run_file
from podium.demo.features import FEATURES, select
from podium.demo.study import (
    GRIDS,
    LOGISTIC,
    MEASURES,
    N_TRIALS,
    PAP,
    SURROGATE,
    Results,
    train_and_compare,
)

METHODS = {"popularity", "item similarity", LOGISTIC, SURROGATE, PAP}


@pytest.fixture(scope="module")
def seen() -> list[tuple[int, int, str]]:
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="module")
def small() -> OnlineRetail:
    """150 customers of the bundled shop."""
    shop = load_onlineretail()
    users = np.random.default_rng(3).choice(shop.n_users, 150, replace=False)
    return select(shop, np.isin(shop.user, users))


@pytest.fixture(scope="module")
def result(small: OnlineRetail, folder: Path, seen: list[Any]) -> dict[str, Any]:
    note = lambda done, total, text: seen.append((done, total, text))  # noqa: E731
    return demo.run(folder, shop=small, progress=note)


@pytest.fixture(scope="module")
def numbers(result, folder) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


@pytest.mark.long
def test_demo_writes_every_file_and_nothing_else(result, folder):
    runs = {run_file(name) for name in METHODS}
    assert {p.name for p in folder.iterdir()} == runs | {
        "report.html",
        "results.json",
        "per_user.parquet",
        "truth.parquet",
    }
    assert result["path"] == str(folder / "report.html")


def test_demo_page_is_complete_and_has_the_verdict(result, folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert page.count("<svg") >= 7
    assert all(s in html.unescape(page) for s in result["summary"])
    assert " ".join(result["summary"]) == result["verdict"]
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_demo_files_measure_to_the_numbers_reported(result, folder, numbers):
    for name in METHODS:
        evaluation = podium.measure(folder / "truth.parquet", folder / run_file(name), MEASURES)
        stored = numbers["evaluations"][name]["measures"]
        assert evaluation.means == {
            m: pytest.approx(stored[m]["mean"], abs=1e-12) for m in MEASURES
        }


@pytest.mark.long
def test_demo_per_user_table_averages_to_the_numbers_reported(result, folder, numbers):
    frame = pl.read_parquet(folder / "per_user.parquet")
    for (name,), part in frame.group_by("method"):
        stored = numbers["evaluations"][name]["measures"]["pap@10"]
        assert part.height == stored["n_groups"] + stored["n_undefined"]
        assert part["pap@10"].mean() == pytest.approx(stored["mean"], abs=1e-12)


def test_demo_truth_has_purchases_that_no_run_lists(result, folder, numbers):
    truth = pl.read_parquet(folder / "truth.parquet")
    run = pl.read_parquet(folder / run_file(PAP))
    share = truth.join(run, on=["user", "item"], how="semi").height / truth.height
    assert share == pytest.approx(numbers["windows"]["test"]["share_among_candidates"])
    assert 0 < share < 1


def test_demo_verdict_follows_from_the_means(result, numbers):
    means = {n: e["measures"]["pap@10"]["mean"] for n, e in numbers["evaluations"].items()}
    best = max(means, key=lambda name: means[name])
    assert numbers["winners"][0] == best
    assert f"{means[best]:.4f}" in result["verdict"]
    assert result["verdict"] == numbers["verdict"]


def test_demo_compares_with_the_best_baseline_on_validation(result, numbers):
    baseline = numbers["comparison"]["baseline"]
    assert baseline in METHODS - {SURROGATE, PAP}
    assert result["table"]["rows"][0][0] == baseline
    assert {row[0] for row in result["table"]["rows"]} == METHODS


def test_demo_chooses_by_validation(result, numbers):
    for tried in numbers["trials"].values():
        values = [trial["validation"] for trial in tried]
        assert values == sorted(values, reverse=True)
        assert len(values) >= 4
    chosen = {method: tried[0]["settings"] for method, tried in numbers["trials"].items()}
    assert chosen == {method: numbers["methods"][method] for method in (LOGISTIC, SURROGATE, PAP)}


def test_demo_has_a_weight_for_every_feature(result, numbers):
    assert list(numbers["weights"][PAP]) == list(FEATURES)
    assert all(np.isfinite(list(w.values())).all() for w in numbers["weights"].values())


def test_demo_example_lists_are_new_products_best_first(result, folder, numbers):
    assert len(numbers["examples"]) == 3
    paps = [example["pap"] for example in numbers["examples"]]
    assert paps == sorted(paps, reverse=True)
    assert all(len(example["shown"]) == 10 for example in numbers["examples"])


def test_demo_counts_its_steps(result, seen):
    total = N_TRIALS + 5
    assert [done for done, _, _ in seen] == [*range(total), total]
    assert {t for _, t, _ in seen} == {total}


@pytest.mark.long
def test_demo_is_deterministic(result, small):
    repeated = demo.run(None, shop=small)
    assert "path" not in repeated
    assert repeated["table"] == result["table"]
    assert repeated["verdict"] == result["verdict"]


def test_demo_trains_the_papers_surrogates_at_the_measured_cutoff():
    tried = {loss for loss, _ in GRIDS[SURROGATE] if loss.endswith("@10")}
    assert {loss.partition("(")[0] for loss in tried} == {
        "pap-ramp",
        "pap-avg",
        "pap-max",
        "pap-tight-struct",
    }


def test_demo_gives_its_ranker_no_more_settings_than_logistic_regression(result, numbers):
    assert len(numbers["trials"][PAP]) == len(numbers["trials"][LOGISTIC]) == len(GRIDS[PAP])
    assert all(loss.startswith("logistic") for loss, _ in GRIDS[LOGISTIC])
    assert all(loss.startswith("pap-logistic") for loss, _ in GRIDS[PAP])


def test_demo_page_shows_every_ranker_and_its_settings(result, folder, numbers):
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    for method, tried in numbers["trials"].items():
        assert f"{method} ({len(tried)} settings)".lower() in page.lower()
        assert all(trial["settings"] in page for trial in tried)


@pytest.fixture(scope="module")
def made_up(shop) -> Results:
    return train_and_compare(shop, lambda step: None)


def test_demo_learning_rates_are_settings_that_differ(made_up):
    for method in (LOGISTIC, PAP):
        coefs = {}
        for trial in made_up.trials[method]:
            coefs.setdefault(trial.ranker.loss, set()).add(trial.ranker.coef_.tobytes())
        assert [len(distinct) for distinct in coefs.values()] == [2, 2]


def test_demo_leaves_cancellations_out(shop, made_up):
    assert (shop.quantity < 0).any()
    assert (made_up.shop.quantity > 0).all()


def test_demo_finds_the_tastes_of_a_made_up_shop(made_up):
    means = {name: e.means["pap@10"] for name, e in made_up.evaluations.items()}
    assert min(means[method] for method in (LOGISTIC, SURROGATE, PAP)) > means["popularity"]
