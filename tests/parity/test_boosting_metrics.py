"""LightGBM's and XGBoost's own ranking metrics, and podium under the conventions of their tables.

The metrics are those of a model without trees whose initial scores are the given ones. Every metric
of both tables is compared on the same lists: users without a list, users without a positive,
positives that are not listed, and lists shorter than the cutoff.

What the packages leave open, and what podium does not reproduce, is asserted below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.parity.like_lists import Table, lists
from tests.parity.test_like import columns

import podium
from podium.errors import ArgumentError
from podium.metrics import parse
from podium.presets import Preset, read

CUTOFFS = (1, 3, 10)
TABLES = {name: read(name) for name in ("lightgbm", "xgboost")}

Group = list[tuple[float, float]]
"""The labels and the scores of a group's rows."""


def of_lightgbm(groups: list[Group], names: list[str], weights: Any = None) -> dict[str, float]:
    peer = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    labels, scores, sizes = rows(groups)
    params = {
        "objective": "lambdarank",
        "metric": sorted({name.split("@")[0] for name in names}),
        "eval_at": sorted({int(name.split("@")[1]) for name in names if "@" in name}) or [1],
        "num_threads": 1,
        "verbose": -1,
    }
    one_feature = np.zeros((len(labels), 1))
    by_row = None if weights is None else np.repeat(weights, sizes)
    table = peer.Dataset(
        one_feature, labels, group=sizes, weight=by_row, init_score=scores, params=params
    )
    found = {name: value for _, name, value, *_ in peer.Booster(params, table).eval_train()}
    return {name: float(found[name]) for name in names}


def of_xgboost(groups: list[Group], names: list[str], weights: Any = None) -> dict[str, float]:
    peer = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    labels, scores, sizes = rows(groups)
    table = peer.DMatrix(np.zeros((len(labels), 1)), labels, nthread=1)
    table.set_group(sizes)
    table.set_base_margin(scores)
    if weights is not None:
        table.set_weight(weights)
    params = {"objective": "rank:ndcg", "eval_metric": names, "nthread": 1}
    shown = peer.Booster(params, [table]).eval(table, "run").split("\t")[1:]
    return {name: float(value) for name, value in (pair[4:].split(":") for pair in shown)}


PEERS = {"lightgbm": of_lightgbm, "xgboost": of_xgboost}


def rows(groups: list[Group]) -> tuple[list[float], list[float], list[int]]:
    """Return the labels and the scores of all rows, and the sizes of groups."""
    labels, scores = ([row[i] for group in groups for row in group] for i in (0, 1))
    return labels, scores, [len(group) for group in groups]


def group_of(truth: Table, run: Table, user: Any) -> Group:
    return [(truth[user].get(item, 0), score) for item, score in run[user].items()]


def tables(groups: list[Group]) -> tuple[Table, Table]:
    """Return the truth and the run of groups, with rows as items."""
    truth = {u: {i: label for i, (label, _) in enumerate(g)} for u, g in enumerate(groups)}
    return truth, {u: {i: score for i, (_, score) in enumerate(g)} for u, g in enumerate(groups)}


def measured(preset: Preset, text: str, truth: Table, run: Table, **other: Any) -> Any:
    """Measure with the conventions of the table; return the evaluation and the canonical text."""
    measure = preset.measure(parse(text))
    rules = preset.rules(measure) | other
    both = columns(truth, "relevance"), columns(run, "score")
    return podium.measure(*both, measure.canonical, **rules), measure.canonical


def cases() -> list[Any]:
    return [
        pytest.param(preset, key.replace("@k", f"@{k}"), id=f"{name}-{key.replace('k', str(k))}")
        for name, preset in TABLES.items()
        for key in preset.metrics
        for k in CUTOFFS
    ]


@pytest.mark.parametrize(("preset", "text"), cases())
def test_values_and_means_are_those_of_the_package(preset: Preset, text: str) -> None:
    measure = parse(text)
    form = preset.form(measure)
    name = form.name.replace("10", str(measure.k))
    is_graded = preset.name == "lightgbm" or measure.name == "ndcg"
    truth, run = lists(graded=is_graded, empty=True, missing=True)
    evaluated = PEERS[preset.name]
    result, key = measured(preset, text, truth, run)

    undefined = {"one": 1.0, "zero": 0.0}[preset.rules(measure)["undefined"]]
    ours = dict(zip(result.labels.tolist(), result.values[key].tolist(), strict=True))
    assert set(ours) == set(run) < set(truth)
    assert any(np.isnan(value) for value in ours.values())
    for user, value in ours.items():
        theirs = evaluated([group_of(truth, run, user)], [name])[name]
        assert (undefined if np.isnan(value) else value) == pytest.approx(theirs, abs=1e-6)
    mean = evaluated([group_of(truth, run, user) for user in run], [name])[name]
    assert result.means[key] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("text", ["ndcg@3", "ap@3"])
def test_a_minus_of_xgboost_is_the_value_zero(text: str) -> None:
    truth, run = lists(empty=True)
    name = f"{'map' if text == 'ap@3' else 'ndcg'}@3-"
    result, key = measured(TABLES["xgboost"], text, truth, run, undefined="zero")
    theirs = of_xgboost([group_of(truth, run, user) for user in run], [name])[name]
    assert result.means[key] == pytest.approx(theirs, abs=1e-6)


# --- What the packages leave open -----------------------------------------------------------------


@pytest.mark.parametrize(("preset", "text"), cases())
def test_equal_scores_keep_the_order_of_rows(preset: Preset, text: str) -> None:
    k = parse(text).k or 1
    name = preset.form(parse(text)).name.replace("10", str(k))
    first, last = [(1, 0.5)] + [(0, 0.5)] * 20, [(0, 0.5)] * 20 + [(1, 0.5)]
    high, low = (PEERS[preset.name]([group], [name])[name] for group in (first, last))
    assert low == 0 < high
    for group in (first, last):
        for ties, expected in (("worst", low), ("best", high)):
            result, key = measured(preset, text, *tables([group]), ties=ties)
            assert result.means[key] == pytest.approx(expected, abs=1e-6)


@pytest.mark.filterwarnings("ignore:.*order of equal scores")
def test_only_xgboost_compares_scores_in_single_precision() -> None:
    close = [[(0, 1.0), (1, 1.0 + 1e-9)]]
    for name, expected in (("lightgbm", 1), ("xgboost", 0)):
        assert PEERS[name](close, ["ndcg@1"])["ndcg@1"] == expected
        result, key = measured(TABLES[name], "ndcg@1", *tables(close))
        assert result.means[key] == expected


# --- What podium does not reproduce ---------------------------------------------------------------


@pytest.mark.parametrize("name", PEERS)
def test_means_are_weighted_by_groups(name: str) -> None:
    groups = [[(1, 2.0), (0, 1.0)], [(0, 2.0), (1, 1.0)]]
    assert PEERS[name](groups, ["map@1"], weights=[3, 1])["map@1"] == 3 / 4
    result, key = measured(TABLES[name], "ap@1", *tables(groups))
    assert result.means[key] == 1 / 2


def test_lightgbm_measures_auc_and_average_precision_of_all_rows_as_one_list() -> None:
    truth, run = lists()
    groups = [group_of(truth, run, user) for user in run]
    scores = iter(np.random.default_rng(0).permutation(sum(map(len, groups))) / 8)
    different = [[(label, float(next(scores))) for label, _ in group] for group in groups]
    theirs = of_lightgbm(different, ["auc", "average_precision"])
    as_one = [[row for group in different for row in group]]
    for text, name in (("auc", "auc"), ("ap", "average_precision")):
        one, each = (
            podium.measure(columns(t, "relevance"), columns(r, "score"), text).means[text]
            for t, r in (tables(as_one), tables(different))
        )
        assert theirs[name] == pytest.approx(one, abs=1e-6)
        assert abs(theirs[name] - each) > 0.01


def test_auc_of_xgboost_counts_pairs_of_the_same_label_in_the_order_of_rows() -> None:
    positive, high, low = (1, 2.0), (0, 3.0), (0, 1.0)  # one of the two pairs is in order
    assert of_xgboost([[positive, high, low]], ["auc"])["auc"] == pytest.approx(2 / 3)
    assert of_xgboost([[positive, low, high]], ["auc"])["auc"] == pytest.approx(1 / 3)
    two_items = [(0, 2.0), (1, 1.0)]
    found = of_xgboost([[positive, high, low], two_items], ["auc"])["auc"]
    assert found == pytest.approx(2 / 3)  # the second group is left out


@pytest.mark.parametrize("name", ["ndcg", "map", "pre"])
def test_metrics_of_xgboost_without_a_cutoff_have_the_cutoff_32(name: str) -> None:
    group = [(float(rank == 33), -float(rank)) for rank in range(1, 101)]
    found = of_xgboost([group[1:], group], [name, f"{name}@32", f"{name}@100"])
    assert found[name] == found[f"{name}@32"] > 0
    assert found[name] != found[f"{name}@100"]
    assert of_xgboost([group], [name])[name] == 0


@pytest.mark.parametrize("name", TABLES)
def test_like_does_not_accept_the_packages(name: str) -> None:
    truth, run = lists()
    with pytest.raises(ArgumentError, match="like"):
        podium.measure(columns(truth, "relevance"), columns(run, "score"), "ndcg@10", like=name)
