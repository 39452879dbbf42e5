"""Figure 1 and table 2: descent, the top of a list, the sample, and what is counted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from podium_studies.cells import generator
from podium_studies.hiranandani2020 import figure1 as figure1_study
from podium_studies.hiranandani2020 import table2 as table2_study
from podium_studies.recipe import load


def test_descent_steps_against_the_subgradient():
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    parameters = {"k": 1, "l2": 0.0, "n_iter": 3}
    descent = {"loss": "ramp", "learning_rate": 0.25}
    curves = figure1_study.descended(X, y, np.zeros(1), descent, parameters)
    # the hinge falls by the coefficient, which takes steps of 1/4 and 1/4 / sqrt(2)
    assert curves["ramp"] == pytest.approx([1, 1 - 1 / 4, 1 - 1 / 4 - 1 / 4 / math.sqrt(2)])


@pytest.mark.parametrize(
    ("relevance", "k", "prec", "auc"),
    [
        ([1, 0, 1, 0, 0, 1], 4, 2 / 4, 3 / 4),
        ([0, 0, 1, 1], 4, 2 / 4, 0 / 4),
        ([1, 1, 0], 2, 2 / 2, None),
        ([0, 0, 1], 2, 0 / 2, None),
    ],
)
def test_top_counts_positives_and_their_order(relevance, k, prec, auc):
    actual = table2_study.top(
        -np.arange(len(relevance), dtype=float), np.array(relevance, float), k
    )
    assert actual["prec"] == prec
    assert actual["auc"] == auc if auc is not None else math.isnan(actual["auc"])


@pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
def test_minimum_at_zero_coefficients_ranks_nothing():
    """A ranker refuses such a fit, but the study counts it."""
    values = table2_study.run(load("pap-table2"), None, case="case 1", run=9)
    minimum = {name: values[f"minimum/GD-avg/{name}"] for name in ("prec", "fresh", "length")}
    assert minimum == {"prec": 0.0, "fresh": 0.0, "length": 0.0}


@pytest.mark.parametrize(("name", "far"), [("pap-table2", 0), ("pap-slide14", 3)])
def test_sample_lies_where_the_recipe_says(name, far):
    recipe = load(name)
    case = {**recipe.parameters["cases"][1], "n_pos": 40_000, "n_neg": 40_000}
    X, y = table2_study.draw(recipe, case, generator(recipe, "test"))
    assert X.shape == (80_000, 5)
    assert X[y == 0].mean(0) == pytest.approx(np.zeros(5), abs=0.03)
    assert X[far:40_000].mean(0) == pytest.approx(-np.ones(5), abs=0.03)
    rerun = table2_study.draw(recipe, case, generator(recipe, "test"))[0]
    np.testing.assert_array_equal(X, rerun)


def test_table_2_leaves_undefined_auc_out_of_its_means():
    values = {f"{m}/{part}": np.ones(3) for m in ("a", "GD-avg") for part in ("fresh", "length")}
    values |= {"a/prec": np.array([0.5, 0.5, 0.1]), "GD-avg/prec": np.array([0.5, 0.5, 0.3])}
    values |= {"a/auc": np.array([0.2, np.nan, 1.0]), "GD-avg/auc": np.array([0.6, 0.9, 0.0])}
    case = {"name": "c", "rival": "a", "k": 10}
    columns = table2_study.duel(case, values, "")
    assert columns["c, a: AUC@10 at equal prec"].value == 0.2
    assert columns["c, GD-avg: AUC@10 at equal prec"].value == pytest.approx((0.6 + 0.9) / 2)
    assert columns["c, GD-avg: AUC@10 higher, of 300"].value == pytest.approx(300 * 1 / 3)
    assert columns["c, GD-avg: prec@10 higher, of 300"].value == pytest.approx(300 * 1 / 3)
    assert columns["c, both: prec@10 equal, of 300"].value == pytest.approx(300 * 2 / 3)
