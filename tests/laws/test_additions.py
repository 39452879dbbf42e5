"""Additions of another package run on every path, and all laws include them.

The modules of `tests.additions` are loaded through an entry point, like those of a package.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import podium
from podium import losses, metrics, plugins, recommenders, sampled
from podium.decide.explain import deviation
from podium.evaluation import make_scorer
from podium.groups import Groups
from podium.testing.pairs import formulas

ROOT = Path(__file__).parents[2]
N_ITEMS = 60
RANKS = sampled.SampledRanks([1, 1, 2, 5, 9, 1, 3], 20, N_ITEMS)


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install an entry point that is not loaded yet, and restore the registries afterwards."""
    modules: tuple[Any, ...] = (losses, metrics, recommenders, sampled, deviation)
    kinds = [metrics.SHOWN, *(module.REGISTRY for module in modules)]
    before = [(kind, dict(kind._entries), dict(kind.aliases)) for kind in kinds]
    definitions = dict(formulas.METRICS)
    point = importlib.metadata.EntryPoint("additions", "tests.additions.all", plugins.GROUP)
    usual = importlib.metadata.entry_points  # for the groups of other packages
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda **by: [point] if by.get("group") == point.group else usual(**by),
    )
    monkeypatch.setattr(plugins._Plugins, "loaded", False)
    monkeypatch.syspath_prepend(ROOT)
    for name in [name for name in sys.modules if name.startswith("tests.additions")]:
        monkeypatch.delitem(sys.modules, name)
    yield
    for kind, entries, aliases in before:
        kind._entries.clear()
        kind._entries.update(entries)
        kind.aliases.clear()
        kind.aliases.update(aliases)
    formulas.METRICS.clear()
    formulas.METRICS.update(definitions)


def problem() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(200) > 0.5).astype(float)
    return X, y, np.repeat(np.arange(10), 20)


def auc(model: Any, X: Any, y: Any, qid: Any) -> float:
    ranking = podium.Ranking.from_scores(model.predict(X), y, qid)
    return float(np.nanmean(metrics.parse("auc")(ranking)))


def test_deviation_is_searched() -> None:
    truth = {"user": [1, 1, 2, 3, 3, 3], "item": [10, 11, 10, 10, 11, 12]}
    run = {"user": [1, 1, 2, 3], "item": [11, 12, 10, 12], "score": [0.9, 0.1, 0.5, 0.4]}
    values = {"recall@2": {1: 1 / 3, 2: 1 / 2, 3: 1 / 4}}
    search = podium.explain(truth, run, value=values).search
    assert search is not None
    assert {"deviation": "recall-plus-one"} in search.matches[0].changes


# --- A metric -----------------------------------------------------------------------------------


def test_metric_is_measured_and_compared() -> None:
    truth = {"user": [1, 1, 2], "item": [10, 11, 10]}
    run = {"user": [1, 1, 2], "item": [11, 12, 12], "score": [0.9, 0.1, 0.5]}
    other = {**run, "item": [11, 10, 10]}
    assert podium.measure(truth, run, "dice@2").means == {"dice@2": (2 * 1 / (2 + 2) + 0) / 2}
    result = podium.compare(truth, {"a": run, "b": other}, ["dice@2"])
    assert "dice@2" in str(result)
    assert podium.measure(truth, run, "sorensen@2").means == {"sorensen@2": 1 / 4}


def test_metric_of_the_items_shown_is_measured_compared_and_a_guard() -> None:
    truth = {"user": [1, 1, 2], "item": [10, 11, 10]}
    run = {"user": [1, 1, 2], "item": [11, 12, 12], "score": [0.9, 0.1, 0.5]}
    tables = {"catalogue": {"user": [7, 7], "item": [10, 11]}}
    assert podium.measure(truth, run, "newness@2", **tables).means == {"newness@2": (1 / 2 + 1) / 2}
    assert "cold_share@1" in str(
        podium.compare(truth, {"a": run, "b": run}, "cold_share@1", **tables)
    )
    assert podium.gate(truth, run, run, "rr", guards={"newness@2": -0.1}, **tables).passed


def test_metric_scores_estimators_and_stops_fits() -> None:
    X, y, qid = problem()
    ranker = podium.LinearRanker("logistic", eval_metric="dice@5", patience=2)
    ranker.fit(X, y, qid=qid, eval_set=(X, y, qid))
    with importlib.import_module("sklearn").config_context(enable_metadata_routing=True):
        assert 0 < make_scorer("dice@5")(ranker, X, y, qid=qid) < 1


def test_metric_is_estimated_and_planned_for() -> None:
    weights = metrics.rank_weights(metrics.parse("dice@5"), N_ITEMS)
    np.testing.assert_allclose(weights, np.full(5, 2 / (5 + 1)))
    for method in ("auto", "bv", "naive", "stretched-1"):
        recall = sampled.get(method).estimate(RANKS, "recall@5")
        assert sampled.get(method).estimate(RANKS, "dice@5") == pytest.approx(recall / 3, abs=1e-6)
    result = sampled.evaluate(RANKS, ["dice@5"], bounds=True, n_bootstrap=5).as_json()
    assert "dice@5" in result["measures"]
    plan = sampled.plan(N_ITEMS, 200, "dice@5", 0.05)
    assert "dice@5" in str(plan.as_json())


# --- A loss -------------------------------------------------------------------------------------


def test_loss_trains_each_ranker_and_is_saved_with_it(tmp_path: Path) -> None:
    from podium import rankers

    X, y, qid = problem()
    model = podium.LinearRanker("hinge-1(margin=2)", l2=0.1, max_iter=500).fit(X, y, qid=qid)
    assert auc(model, X, y, qid) > 0.8
    instance = podium.LinearRanker(losses.parse("hinge-1"), l2=0.1, max_iter=500).fit(X, y, qid=qid)
    rankers.save(instance, tmp_path / "model")
    assert rankers.load(tmp_path / "model").loss == losses.parse("hinge-1")


def test_loss_trains_trees() -> None:
    pytest.importorskip("lightgbm")
    from podium.rankers import LightGBMRanker

    X, y, qid = problem()
    model = LightGBMRanker("hinge-1", n_trees=5).fit(X, y, qid=qid)
    assert auc(model, X, y, qid) > 0.8


def test_loss_trains_networks() -> None:
    torch = pytest.importorskip("torch")
    from podium.rankers import NeuralRanker
    from podium.torch import as_torch

    X, y, qid = problem()
    model = NeuralRanker("hinge-1", hidden=4, max_iter=200, random_state=0).fit(X, y, qid=qid)
    assert auc(model, X, y, qid) > 0.8
    scores = torch.zeros(200, dtype=torch.float64, requires_grad=True)
    as_torch("hinge-1")(scores, torch.tensor(y), torch.tensor(qid)).backward()
    assert scores.grad.abs().sum() > 0


def test_loss_in_score_space() -> None:
    loss = losses.from_spec({"name": "hinge-1", "margin": 3.0})
    assert (str(loss), losses.parse(str(loss))) == ("hinge-1(margin=3)", loss)
    target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    assert loss.value_and_grad(np.zeros(2), target)[0].tolist() == [3.0]


# --- An estimator -------------------------------------------------------------------------------


def test_estimator_estimates_and_plans() -> None:
    result = sampled.evaluate(RANKS, ["ndcg@5", "rr"], estimator="stretched-1", n_bootstrap=5)
    assert result.as_json()["conventions"]["method"] == "stretched-1"
    text = "stretched-1(shift=0.5)"
    plan = sampled.plan(N_ITEMS, 200, "recall@5", 0.3, method=text)
    assert plan.as_json()["conventions"]["method"] == text


# --- A recommender ------------------------------------------------------------------------------


def test_recommender_recommends_ranks_and_is_loaded(tmp_path: Path) -> None:
    pairs = sparse.csr_array(np.array([[1.0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0]]))
    recommenders.get("selective-1").fit(pairs).save(tmp_path / "model")
    model = recommenders.load(tmp_path / "model")
    items, scores = model.recommend(k=2)
    assert items.tolist() == [[1, 3], [0, 2], [2, 3]]
    assert scores[0, 0] == 1.5
    held_out = sparse.csr_array(np.array([[0, 0, 0, 1.0], [1, 0, 0, 0], [0, 0, 0, 0]]))
    assert model.ranks(held_out).tolist() == [2, 1]


# --- The laws -----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("dice", ["laws/test_metric_laws.py", "oracles/test_metric_oracles.py"]),
        ("dice", ["laws/test_sampled_laws.py"]),
        ("hinge-1", ["laws/test_loss_laws.py"]),
        ("stretched-1", ["laws/test_sampled_laws.py"]),
        ("selective-1", ["laws/test_recommender_laws.py"]),
    ],
)  # fmt: skip
def test_laws_hold_of_what_is_added(name: str, files: list[str]) -> None:
    """The laws loop over the registry, so they include an addition whose module is imported."""
    paths = [str(ROOT / "tests" / file) for file in files]
    options = ("-q", "-p", "tests.additions.all", "-p", "no:cacheprovider", "-k", name)
    command = [sys.executable, "-m", "pytest", *options, *paths]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-1000:]
    assert " passed" in process.stdout
