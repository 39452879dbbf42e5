"""The LETOR study: its folds, LETOR's way to evaluate, and the errors of differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from studies.tests.record import recipe_data

from podium_studies import folds
from podium_studies.folds import values
from podium_studies.recipe import load
from podium_studies.rows import Rows
from podium_studies.views import paired

MEASURES: Mapping[str, str] = load("topk-ohsumed").parameters["measures"]
N_QUERIES = 15


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the five folds of a made-up collection."""
    folder = tmp_path_factory.mktemp("letor")
    recipe_data.folds(folder)
    return folder


def test_folds_of_the_parts_are_the_published_folds(files: Path, tmp_path: Path) -> None:
    for number in range(5):
        part = files / f"Fold{(number - 4) % 5 + 1}" / "test.txt"
        (tmp_path / f"S{number + 1}.txt").write_text(part.read_text())
    for one, other in zip(folds.read(tmp_path), folds.read(files), strict=True):
        for rows, same in zip(one, other, strict=True):
            assert np.array_equal(rows.X, same.X)
            assert np.array_equal(rows.y, same.y)
            assert np.array_equal(rows.qid, same.qid)


def test_every_query_is_tested_once_and_never_where_it_was_trained_on(files: Path) -> None:
    actual = folds.read(files, n_queries=N_QUERIES)
    tested = np.concatenate([np.unique(each.test.qid) for each in actual])
    assert sorted(tested) == list(range(N_QUERIES))
    for each in actual:
        queries = [set(rows.qid.tolist()) for rows in each]
        assert [len(q) for q in queries] == [9, 3, 3]
        assert len(set.union(*queries)) == N_QUERIES


# Evaluation


def letor_ndcg(scores: Sequence[float], grades: Sequence[float], k: int) -> float:
    """NDCG of one query as LETOR's script defines it, written out."""

    def gained(order: Sequence[float]) -> float:
        total = 0.0
        for position, grade in enumerate(order[:k], 1):
            total += (2**grade - 1) / (math.log2(position) if position > 2 else 1.0)
        return total

    ranked = [g for _, g in sorted(zip(scores, grades, strict=True), key=lambda pair: -pair[0])]
    ideal = gained(sorted(grades, reverse=True))
    return gained(ranked) / ideal if ideal else 0.0


def letor_precision(scores: Sequence[float], grades: Sequence[float], k: int) -> float:
    """Precision of one query: relevant ones among the k first, over k."""
    ranked = [g for _, g in sorted(zip(scores, grades, strict=True), key=lambda pair: -pair[0])]
    return sum(grade in (1, 2) for grade in ranked[:k]) / k


SCRIPT = {"N": letor_ndcg, "P": letor_precision}


@pytest.mark.parametrize("name", list(MEASURES))
def test_queries_have_what_letors_script_gives_them(name: str) -> None:
    rng = np.random.default_rng(3)
    sizes = [1, 2, 3, 8, 12, 40, 40]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    grades = rng.integers(0, 3, qid.size).astype(float)
    grades[qid == 5] = 0.0
    assert all(grades[qid == query].any() for query in (2, 3, 4, 6))
    scores = rng.permutation(qid.size).astype(float)
    actual = values(scores, Rows(scores[:, None], grades, qid), MEASURES[name])
    of_query, k = SCRIPT[name[0]], int(name.partition("@")[2])
    expected = [of_query(scores[qid == q], grades[qid == q], k) for q in range(len(sizes))]
    assert actual == pytest.approx(expected, abs=1e-12)
    assert actual[5] == 0.0


@pytest.mark.parametrize("name", list(MEASURES))
def test_equal_scores_count_as_the_mean_over_their_orders(name: str) -> None:
    grades, scores = np.array([0.0, 2.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 5.0])
    of_query, k = SCRIPT[name[0]], int(name.partition("@")[2])
    orders = [
        of_query(scores + 0.1 * np.array([*order, 0]), grades, k)
        for order in itertools.permutations(range(3))
    ]
    actual = values(scores, Rows(scores[:, None], grades, np.zeros(4, int)), MEASURES[name])
    assert actual[0] == pytest.approx(sum(orders) / 6, abs=1e-12)


# Figures


def test_a_difference_has_the_error_of_a_mean_over_queries() -> None:
    gap = np.array([[0.0, 1.0, 2.0, 5.0]])
    actual = paired(gap, np.full(4, 0.25))
    assert actual.value == 2.0
    assert actual.std_error == pytest.approx(np.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    assert actual.n == 4


def test_draws_add_their_own_error_to_a_difference() -> None:
    gap = np.array([[0.0, 1.0, 2.0, 5.0]])
    actual = paired(np.vstack([gap - 1, gap, gap + 1]), np.full(4, 0.25))
    assert actual.value == 2.0
    assert actual.std_error == pytest.approx(np.sqrt((4 + 1 + 0 + 9) / 3 / 4 + 1 / 3))
