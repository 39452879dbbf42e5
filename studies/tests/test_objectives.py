"""The comparison of objectives: splits, choices, intervals over users, and the recipe."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from podium.report import figures as report_figures
from podium.report import tables as report_tables
from podium_studies.folds import Candidate
from podium_studies.hiranandani2020 import objectives, table3
from podium_studies.hiranandani2020.objectives_methods import LINEAR, METHODS, OWN, Split
from podium_studies.recipe import Recipe, load
from podium_studies.rows import Parts, Rows
from podium_studies.study import key, parts

TREES = [name for name, method in METHODS.items() if method.kind == OWN]
OURS = "group-logistic, pooled"


def small(**parameters: Any) -> Recipe:
    """Return the recipe with two cutoffs, penalties, configurations and repeats, and few trees."""
    recipe = load("pap-objectives")
    few: dict[str, Any] = {
        **recipe.parameters,
        "cutoffs": [2, 3],
        "l2": {name: [1e-4, 1e-2] for name in recipe.parameters["l2"]},
        "trees": recipe.parameters["trees"][:2],
        "fixed": {**recipe.parameters["fixed"], "num_iterations": 9},
        "look_every": 4,
        "draws": 50,
        **parameters,
    }
    return replace(recipe, parameters=few, repeats=2)


def made_up(seed: int = 0) -> tuple[Rows, Any]:
    """Return 30 users with 60 rows each, of which one feature tells the positives, and items."""
    rng = np.random.default_rng(seed)
    item = rng.integers(0, 50, 1800)
    X = np.column_stack([rng.normal(size=50)[item], rng.normal(size=(1800, 3))])
    y = (X[:, 0] + 0.5 * rng.normal(size=1800) > 1).astype(float)
    return Rows(X, y, np.repeat(np.arange(30) * 2, 60)), item * 10


def context_of(recipe: Recipe) -> objectives.Context:
    return objectives.splits(recipe, *made_up())


@pytest.fixture(scope="module")
def done() -> tuple[Recipe, dict[str, Mapping[str, Any]]]:
    pytest.importorskip("lightgbm")
    recipe = small()
    context = context_of(recipe)
    cells = objectives.cells(recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recipe, {cell: objectives.run(recipe, context, cell) for cell in cells}


def test_every_method_learns_on_every_split(done: Any) -> None:
    recipe, cells = done
    assert {parts(cell)["method"] for cell in cells} == {*METHODS}
    assert len(cells) == 2 * len(METHODS)
    for cell, actual in cells.items():
        for at in range(2):
            assert len(actual["user"][at]) == len(actual["gain"][at]) > 20
            assert np.mean(actual["gain"][at]) == pytest.approx(actual["pap"][at], abs=1e-6)
        assert min(actual["pap"]) > 0.4, cell  # 0 for a constant score
    trees = cells[key(seed=0, method=OURS)]["chosen"][0]
    assert trees["trees"] in (4, 8, 9)
    assert {**trees, "trees": 0} in [{**each, "trees": 0} for each in recipe.parameters["trees"]]


def test_users_are_those_that_pap_is_defined_on_and_the_same_for_all(done: Any) -> None:
    recipe, cells = done
    context = context_of(recipe)
    for seed in range(2):
        test = context(seed).parts.test
        expected = [np.unique(test.with_negatives(k).qid).tolist() for k in (2, 3)]
        for name in METHODS:
            assert cells[key(seed=seed, method=name)]["user"] == expected


@pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
def test_a_cell_does_not_depend_on_those_before_it(done: Any) -> None:
    recipe, cells = done
    for cell in list(cells)[3::6]:
        assert objectives.run(recipe, context_of(recipe), cell) == cells[cell]


def test_splits_are_those_of_table_3_and_items_go_with_their_rows() -> None:
    recipe = small()
    rows, item = made_up()
    marked = Rows(np.column_stack([rows.X, item]), rows.y, rows.qid)
    split = objectives.splits(recipe, marked, item)(1)
    other = table3.Context(recipe, marked, "f").scaled(1)
    for part, its, items in zip(split.parts, other, split.items, strict=True):
        assert np.array_equal(part.X, its.X)
        assert np.array_equal(part.y, its.y)
        assert np.corrcoef(part.X[:, -1], items)[0, 1] == pytest.approx(1.0)


def _scores(split: Split, name: str, **parameters: Any) -> list[Candidate]:
    return list(METHODS[name].candidates(split, small(**parameters).parameters, 3))


@pytest.mark.parametrize("name", [OURS, "LightGBM binary", "pap-logistic"])
def test_nothing_is_learned_from_labels_of_other_parts(name: str) -> None:
    pytest.importorskip("lightgbm")
    split = context_of(small())(0)
    train, valid, test = split.parts
    flipped = Parts(train, replace(valid, y=1 - valid.y), replace(test, y=1 - test.y))
    for one, other in zip(
        _scores(split, name), _scores(Split(flipped, split.items), name), strict=True
    ):
        assert np.array_equal(one.valid, other.valid)
        assert np.array_equal(one.test, other.test)


@pytest.mark.parametrize("name", [*TREES, OURS])
def test_a_look_after_some_trees_sees_what_so_many_trees_would_have_given(name: str) -> None:
    pytest.importorskip("lightgbm")
    split, fixed = context_of(small())(0), small().parameters["fixed"]
    looks = _scores(split, name)
    few = _scores(split, name, fixed={**fixed, "num_iterations": 8}, look_every=8)
    assert [look.options["trees"] for look in looks] == [4, 8, 9] * 2
    assert looks[1].options == few[0].options
    assert looks[1].test == pytest.approx(few[0].test, abs=1e-12)
    assert not np.allclose(looks[1].test, looks[2].test)


def test_the_item_is_a_category_and_not_a_number() -> None:
    pytest.importorskip("lightgbm")
    split = context_of(small())(0)
    renamed = np.random.default_rng(0).permutation(500)
    other = Split(split.parts, tuple(renamed[items] for items in split.items))  # type: ignore[arg-type]
    name = "LightGBM binary, item as category"
    one, two = (_scores(each, name)[-1].test for each in (split, other))
    assert one == pytest.approx(two, abs=1e-9)
    assert not np.allclose(one, _scores(split, "LightGBM binary")[-1].test)


def test_the_best_on_validation_is_kept_for_each_cutoff_the_first_of_equal_ones() -> None:
    valid = Rows(np.zeros((6, 1)), np.array([1.0, 1, 0, 0, 0, 0]), np.zeros(6, int))

    def tried() -> Iterator[Candidate]:
        scores = {
            "worst": [0, 0, 9, 9, 9, 9],
            "one": [5, 1, 3, 2, 0, 0],  # pap@1 1, pap@2 1/2
            "again": [5, 1, 3, 2, 0, 0],
            "two": [4, 4, 5, 1, 1, 1],  # pap@1 0, pap@2 1/2
            "best": [9, 9, 0, 0, 0, 0],
        }
        for name, values in scores.items():
            if name != "best":
                yield Candidate({"name": name}, np.array(values, float), np.zeros(6))

    best = objectives.choose(tried(), valid, [1, 2])
    assert [actual.options["name"] for _, actual in best] == ["one", "one"]
    assert [value for value, _ in best] == [1.0, 0.5]


def test_own_best_is_chosen_by_test_means_or_by_validation() -> None:
    one, other = np.zeros((2, 4, 2)), np.zeros((2, 4, 2))
    one[..., 0], other[..., 1] = 1.0, 1.0
    one[:, 3], other[:, 3] = np.nan, np.nan
    own = {"a": one, "b": other}
    assert np.nanmin(objectives.best_on_test(own)) == 1.0
    cells = {
        key(seed=seed, method=name): {"valid": values}
        for seed, name, values in [
            (0, "a", [0.2, 0.2]),
            (0, "b", [0.1, 0.3]),
            (1, "a", [0.1, 0.3]),
            (1, "b", [0.2, 0.2]),
        ]
    }
    chosen = objectives.best_on_validation(cells, own)
    assert np.nanmin(chosen[0]) == 1.0
    assert np.nanmax(chosen[1]) == 0.0


def _measured(gap: Any, draws: int = 3000) -> dict[str, Any]:
    recipe = small(draws=draws)
    times = objectives.bootstrap_counts(recipe, gap.shape[1])
    return dict(objectives.differences("d", gap, times, range(gap.shape[2])))


def test_the_error_of_a_mean_with_all_users_is_that_of_independent_users() -> None:
    gap = np.random.default_rng(0).normal(0.3, 2.0, (1, 200, 1))
    actual = _measured(gap)["d k=0"]
    assert actual.value == pytest.approx(gap.mean())
    assert actual.std_error == pytest.approx(gap.std() / np.sqrt(200), rel=0.05)
    assert actual.n == 200


def test_more_splits_of_the_same_users_do_not_shrink_what_users_differ_by() -> None:
    rng = np.random.default_rng(1)
    of_user = rng.normal(0, 1.0, (1, 150, 1))
    single = _measured(of_user)["d k=0"].std_error
    repeated = _measured(np.repeat(of_user, 10, axis=0))["d k=0"].std_error
    independent = _measured(rng.normal(0, 1.0, (10, 150, 1)))["d k=0"].std_error
    assert repeated == pytest.approx(single, rel=1e-9)
    assert independent == pytest.approx(single / np.sqrt(10), rel=0.25)


def test_splits_weigh_the_same_whatever_their_users() -> None:
    gap = np.full((2, 6, 1), np.nan)
    gap[0, :, 0] = 1.0
    gap[1, :2, 0] = 3.0
    assert _measured(gap)["d k=0"].value == pytest.approx((1.0 + 3.0) / 2)


def test_the_weakest_cutoff_is_that_of_the_lowest_interval() -> None:
    rng = np.random.default_rng(2)
    gap = np.concatenate(
        [rng.normal(1.0, 0.01, (1, 100, 1)), rng.normal(1.5, 9.0, (1, 100, 1))], axis=2
    )
    actual = _measured(gap)
    assert actual["d, lowest interval of all k"] == actual["d k=1"]
    assert actual["d, highest interval of all k"] == actual["d k=0"]
    least = actual["d, least mean of all k"]
    assert least.value == min(actual["d k=0"].value, actual["d k=1"].value)
    assert np.isnan(least.std_error)
    assert actual["d, mean over k"].value == pytest.approx(gap.mean())


def test_a_method_against_itself_is_exactly_nothing() -> None:
    assert _measured(np.zeros((2, 5, 1)))["d k=0"].std_error == 0.0


def test_figures_of_the_claims_are_measured(done: Any) -> None:
    recipe, cells = done
    figures = objectives.STUDY.fold(recipe, cells)
    assert {claim.figure for claim in recipe.claims} <= {*figures}
    for k in (2, 3):
        best = max(figures[f"{name} k={k}"].value for name in TREES)
        gap = figures[f"{OURS} − {objectives.BEST} k={k}"].value
        assert gap == pytest.approx(figures[f"{OURS} k={k}"].value - best, abs=1e-3)
        assert gap <= figures[f"{OURS} − {objectives.CHOSEN} k={k}"].value + 1e-9


def test_plots_and_tables_can_be_drawn(done: Any) -> None:
    recipe, cells = done
    figures = objectives.STUDY.fold(recipe, cells)
    plots = objectives.STUDY.plots(recipe, cells, figures)
    assert OURS in report_figures.draw(plots[0])
    assert all(report_figures.draw(plot) for plot in plots)
    text = "\n".join(
        report_tables.to_text(table) for table in objectives.STUDY.tables(recipe, cells, figures)
    )
    assert f"{figures[f'{OURS} k=2'].value:.2f} ±" in text
    assert "rate 0.05, leaves" in text


def test_every_objective_has_the_same_search() -> None:
    parameters = load("pap-objectives").parameters
    assert sorted(parameters["methods"]) == sorted(METHODS)
    assert len(parameters["trees"]) == 6
    assert {len(values) for values in parameters["l2"].values()} == {6}
    assert {*parameters["l2"]} == {n for n, method in METHODS.items() if method.kind == LINEAR}
    assert {frozenset(each) for each in parameters["trees"]} == {
        frozenset({"learning_rate", "num_leaves", "min_data_in_leaf", "bagging_fraction"})
    }


@pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
def test_the_linear_recipe_is_the_linear_part_of_the_whole() -> None:
    complete, linear = load("pap-objectives"), load("pap-objectives-linear")
    for name in ("pap_logistic", "lbfgs", "cutoffs"):
        assert linear.parameters[name] == complete.parameters[name]
    for name in linear.parameters["methods"]:
        assert linear.parameters["l2"][name] == complete.parameters["l2"][name]
    recipe = replace(
        linear, parameters={**linear.parameters, "cutoffs": [2, 3], "draws": 50}, repeats=2
    )
    context = context_of(recipe)
    cells = {c: objectives.run(recipe, context, c) for c in objectives.cells(recipe)}
    figures = objectives.STUDY.fold(recipe, cells)
    assert {claim.figure for claim in recipe.claims} <= {*figures}
    plots = objectives.STUDY.plots(recipe, cells, figures)
    assert [plot["kind"] for plot in plots] == ["line_plot", "interval_plot"]


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match=r"methods must be one of .* Did you mean 'pap-logistic'"):
        objectives.cells(small(methods=["pap-logistics"]))


def test_rows_out_of_order_are_refused() -> None:
    pytest.importorskip("lightgbm")
    split = context_of(small())(0)
    mixed = split.parts.training_on(split.parts.train.take(np.arange(300)[::-1]))
    with pytest.raises(ValueError, match="qid must be sorted"):
        _scores(Split(mixed, split.items), "LightGBM binary")
