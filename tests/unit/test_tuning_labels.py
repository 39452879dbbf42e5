"""What labels teach the losses of a search: the checks of podium train, in Python."""

from __future__ import annotations

import numpy as np
import pytest
from tests.raised import raises

from podium.data import read_features
from podium.data.feature_checks import check_finite, check_scalable, labels
from podium.errors import ArgumentError, DataError
from podium.rankers import LinearRanker
from podium.tuning.labels import check_ratings, grades_unread

GRADES = np.array([0.0, 1.0, 2.0])


def test_ratings_need_a_threshold_of_each_loss_of_a_grid() -> None:
    graded = LinearRanker("softmax", eval_metric="ndcg@3")
    check_ratings("r.csv", graded, {}, validated=True)
    check_ratings("r.csv", LinearRanker("logistic(min_relevance=4)"), {}, validated=False)
    with raises(ArgumentError, "min_relevance"):
        check_ratings(
            "r.csv", graded, [{"loss": ["softmax"]}, {"loss": ["pap-ramp"]}], validated=False
        )
    with pytest.raises(ArgumentError, match="pap@3 counts every rating as a positive"):
        check_ratings("r.csv", graded.set_params(eval_metric="pap@3"), {}, validated=True)


def test_unread_grades_are_named_once() -> None:
    said = grades_unread(GRADES, LinearRanker("pap-ramp@3"), {}, name="linear")
    assert said.startswith("pap-ramp@3 does not use grades: of the labels 0, 1, 2, those >= 1 are")
    assert not grades_unread(GRADES, LinearRanker("softmax"), {}, name="linear")
    assert not grades_unread(GRADES[:2], LinearRanker("pap-ramp@3"), {}, name="linear")


def test_rows_that_no_ranker_could_learn_from_name_their_source() -> None:
    rows = read_features({"qid": [1, 1], "x": [1.0, np.nan]})
    with pytest.raises(
        DataError, match=r"rows: 1 feature value missing .* 'x' at row 1 \(user 1\)"
    ):
        check_finite("rows", rows)
    with raises(DataError, "relevance"):
        labels("rows", rows)
    with pytest.raises(DataError, match="a, b: feature 'x' has values up to 1e\\+200, too large"):
        check_scalable(["a", "b"], read_features({"qid": [1], "x": [1e200]}))
