"""Rax 0.4.0: values and gradients of its losses, list by list, in double precision.

podium's convention mapped to the peer's: a group is a list, padding is left out, and the mean of
several lists is the mean of their values. Rax's mean of pairs pools the pairs of all lists, and
its pointwise means all rows; podium's pairwise losses take the mean within each list.

Known differences
-----------------
=====================  =========================================  ================================
convention             Rax                                        podium
=====================  =========================================  ================================
tied grades, ListMLE   in the order of rows, which changes the    `ties=`: an order that was drawn,
                       value; drawn anew at each call with a key  drawn anew, or the mean of several
ordered by a wide gap  0 and no gradient, from a gap of about 37  log1p(exp(-gap)), to the last bit
                       (17 in float32)
lists of one grade     0, in the mean; ListMLE learns the order   nan, counted, outside the mean
                       of the rows
padding only           0 alone, left out among other lists        a group of no rows: nan, left out
pointwise labels       clipped to [0, 1]: a grade may be a        a row is positive or not, from
                       probability                                min_relevance on
LambdaRank             pairs times the padded length of lists;    pairs of a list, not scaled; the
                       tied scores in a drawn order               worst order, averaged
=====================  =========================================  ================================

Its values are in rax_values.json; where Rax is installed they are computed anew as well.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.losses.pairwise import PairwiseLogistic

HERE = Path(__file__).parent
STORED = json.loads((HERE / "rax_values.json").read_text())
LISTS, SPECIAL = STORED["lists"], STORED["special"]
LONGEST = 9  # the padded length of the lists

SAME = {
    "listmle_loss": ("listmle", "distinct"),
    "softmax_loss": ("softmax", "graded"),
    "pairwise_hinge_loss": ("pairwise-hinge", "graded"),
    "pairwise_logistic_loss": ("pairwise-logistic", "graded"),
    "pointwise_sigmoid_loss": ("logistic", "graded"),
    "pointwise_mse_loss": ("squared", "graded"),
}


def ours(loss: Any, scores: Any, labels: Any, sizes: Any = None, **kw: Any) -> tuple[Any, Any]:
    """podium's values and gradient; without sizes, of one list."""
    groups = Groups.single(len(scores)) if sizes is None else Groups.from_sizes(sizes)
    target = loss.prepare(np.array(labels, float), groups, **kw)
    return loss.value_and_grad(np.array(scores, float), target)


def value_of(name: str) -> float:
    return float(SPECIAL[name]["value"])


@pytest.mark.parametrize("peer", SAME)
def test_each_list_has_the_same_value_and_gradient(peer: str) -> None:
    name, kind = SAME[peer]
    for one, theirs in zip(LISTS, STORED["values"][peer], strict=True):
        values, grad = ours(losses.get(name), one["scores"], one[kind])
        np.testing.assert_allclose(values, [theirs["value"]], rtol=1e-12)
        np.testing.assert_allclose(grad, theirs["grad"], rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(
    ("peer", "text"), [("lambdarank", "lambdarank"), ("lambdarank, top 2", "lambdarank@2")]
)
def test_weighted_pairs_are_the_peers_over_its_padded_length(peer: str, text: str) -> None:
    for one, theirs in zip(LISTS, STORED["values"][peer], strict=True):
        values, grad = ours(losses.get(text), one["scores"], one["graded"])
        np.testing.assert_allclose(values, [theirs["value"] / LONGEST], rtol=1e-12)
        wanted = np.array(theirs["grad"]) / LONGEST
        np.testing.assert_allclose(grad, wanted, rtol=1e-11, atol=1e-15)


def test_lists_differ_in_length_and_have_ties_where_the_loss_allows_them() -> None:
    assert len({len(one["scores"]) for one in LISTS}) > 3
    assert all(len(set(one["distinct"])) == len(one["scores"]) for one in LISTS)
    assert any(len(set(one["graded"])) < len(one["scores"]) for one in LISTS)


@pytest.mark.parametrize("peer", ["listmle_loss", "softmax_loss"])
def test_ragged_lists_together_have_the_values_of_padded_ones_alone(peer: str) -> None:
    name, kind = SAME[peer]
    sizes = [len(one["scores"]) for one in LISTS]
    scores = np.concatenate([one["scores"] for one in LISTS])
    labels = np.concatenate([one[kind] for one in LISTS])
    values, grad = ours(losses.get(name), scores, labels, sizes)
    theirs = STORED["values"][peer]
    np.testing.assert_allclose(values, [t["value"] for t in theirs], rtol=1e-12)
    wanted = np.concatenate([t["grad"] for t in theirs]) / len(LISTS)
    np.testing.assert_allclose(grad, wanted, rtol=1e-11, atol=1e-15)


def test_scores_far_apart_and_in_the_wrong_order_cost_the_same() -> None:
    values, grad = ours(losses.ListMLE(), [-1000.0, 1000.0, 0.0], [2, 1, 0])
    assert values.tolist() == [2000.0] == [value_of("scores of 1000")]
    assert grad.tolist() == SPECIAL["scores of 1000"]["grad"]
    values, grad = ours(losses.ListMLE(), [0.0, 40.0], [1, 0])
    assert values.tolist() == [40.0] == [value_of("reversed by a gap of 40")]
    np.testing.assert_allclose(grad, SPECIAL["reversed by a gap of 40"]["grad"], rtol=1e-15)


def test_a_wide_gap_in_order_still_has_a_value_and_a_gradient() -> None:
    """Known difference: 1 + exp(-40) is 1 in double precision."""
    assert value_of("ordered by a gap of 40") == 0.0
    assert SPECIAL["ordered by a gap of 40"]["grad"] == [0.0, 0.0]
    values, grad = ours(losses.ListMLE(), [40.0, 0.0], [1, 0])
    np.testing.assert_allclose(values, [np.exp(-40.0)], rtol=1e-15)
    np.testing.assert_allclose(grad, [-np.exp(-40.0), np.exp(-40.0)], rtol=1e-15)


def test_a_wide_gap_of_a_pair_is_exact_in_both_but_not_of_a_row() -> None:
    """Known difference: the peer's pairwise form uses log1p, its pointwise form does not."""
    values, _ = ours(PairwiseLogistic(), [40.0, 0.0], [1, 0])
    np.testing.assert_allclose(values, [value_of("pair with a gap of 40")], rtol=1e-15)
    assert value_of("logistic of a gap of 40") == 0.0
    values, _ = ours(losses.Logistic(), [40.0, -40.0], [1, 0])
    np.testing.assert_allclose(values, [np.exp(-40.0)], rtol=1e-15)


def test_tied_grades_have_the_peers_value_in_the_order_of_its_rows() -> None:
    """Known difference: the peer's value hangs on the order of tied rows; both are an order."""
    first, second = value_of("tied, best first"), value_of("tied, best second")
    assert abs(first - second) > 0.5
    scores, labels = [2.0, 1.0, 0.0], [1, 1, 0]
    for keys, theirs in (([2.0, 1.0, 0.0], first), ([1.0, 2.0, 0.0], second)):
        values, _ = ours(losses.ListMLE(), scores, labels, keys=np.array(keys)[:, None])
        np.testing.assert_allclose(values, [theirs], rtol=1e-14)


def test_averaged_ties_do_not_hang_on_the_order_of_rows() -> None:
    both = value_of("tied, best first"), value_of("tied, best second")
    loss = losses.ListMLE(n_orders=2)
    keys = np.array([[2.0, 1.0], [1.0, 2.0], [0.0, 0.0]])
    values, _ = ours(loss, [2.0, 1.0, 0.0], [1, 1, 0], keys=keys)
    np.testing.assert_allclose(values, [np.mean(both)], rtol=1e-14)


@pytest.mark.parametrize(
    ("case", "loss", "scores", "labels"),
    [
        ("no grade above 0", "softmax", [0.5, -0.5], [0, 0]),
        ("one grade, pairs", "pairwise-logistic", [0.5, -0.5], [1, 1]),
        ("one row", "softmax", [0.5], [2]),
    ],
)
def test_lists_that_order_nothing_count_zero_there_and_nothing_here(
    case: str, loss: str, scores: list[float], labels: list[float]
) -> None:
    """Known difference: a mean over lists is lower in the peer."""
    assert value_of(case) == 0.0
    values, grad = ours(losses.get(loss), [*scores, 1.0, 0.0], [*labels, 1, 0], [len(scores), 2])
    alone, _ = ours(losses.get(loss), [1.0, 0.0], [1, 0])
    assert np.isnan(values[0])
    assert np.nanmean(values) == alone[0]
    assert not grad[: len(scores)].any()


def test_one_grade_teaches_the_order_of_rows_there_and_nothing_here() -> None:
    """Known difference: the peer ranks rows of one grade as they stand."""
    theirs = SPECIAL["one grade, order"]
    assert theirs["value"] == pytest.approx(np.log1p(np.exp(-1.0)))
    assert theirs["grad"][0] < 0
    values, grad = ours(losses.ListMLE(), [0.5, -0.5], [1, 1])
    assert np.isnan(values[0])
    assert not grad.any()


def test_a_fractional_grade_is_a_probability_there_and_no_positive_here() -> None:
    """Known difference: (log(1 + e^s) - s/2 + log(1 + e^-s)) / 2 there, both rows negative here."""
    theirs = value_of("fractional grade")
    soft = np.log1p(np.exp([0.5, -0.5]))
    assert theirs == pytest.approx((soft[0] - 0.25 + soft[1]) / 2)
    values, _ = ours(losses.Logistic(), [0.5, -0.5], [0.5, 0])
    np.testing.assert_allclose(values, [soft.mean()], rtol=1e-14)


def test_padding_only_is_zero_there_and_a_group_of_no_rows_undefined_here() -> None:
    assert value_of("padding only") == 0.0
    assert SPECIAL["padding only"]["grad"] == [0.0, 0.0]
    values, _ = ours(SoftmaxCrossEntropy(), [0.5, -0.5], [1, 0], [0, 2])
    assert np.isnan(values).tolist() == [True, False]


def test_stored_values_are_those_of_the_peer() -> None:
    if importlib.util.find_spec("rax") is None:
        pytest.skip("Rax is not installed: the benchmarks' extra, podium[bench], has it")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "rax_values.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    fresh = json.loads(done.stdout)
    assert fresh["rax"] == STORED["rax"]
    assert fresh["lists"] == LISTS
    np.testing.assert_allclose(_numbers(fresh), _numbers(STORED), rtol=1e-12, atol=1e-15)


def _numbers(stored: dict[str, Any]) -> list[float]:
    results = [one for column in stored["values"].values() for one in column]
    results += stored["special"].values()
    return [float(x) for one in results for x in (one["value"], *one["grad"])]
