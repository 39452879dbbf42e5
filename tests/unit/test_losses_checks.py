"""What holds of all losses, beside the laws: refusals, groups that are left out, and curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.losses.pointwise import Squared

ALL: tuple[Any, ...] = tuple(
    map(
        losses.get,
        [
            *("approx-ndcg", "approx-ndcg@2", "group-logistic", "group-logistic(per=group)"),
            *("lambdarank", "lambdarank(metric=ap)@2", "listmle", "listmle@2"),
            *("listmle(ties=averaged,n_orders=3)@2", "listmle(head=relevant)@3", "listnet"),
            *("listnet(ties=fixed)@2", "pap-avg(clip=true)@2", "pap-logistic@2"),
            *("pap-logistic(temperature=0.7)@3", "pap-logistic(temperature=0.5)@1"),
            *("pap-max(clip=true)@2", "pap-ramp(clip=true)@2", "pap-tight-struct(clip=true)@2"),
            *("pap-tight-struct-exact(clip=true)@2", "pairwise-hinge", "pairwise-logistic"),
            *("rankcosine", "rankcosine(ties=fixed)@1", "robirank", "softmax", "sl@2"),
            "robirank(type=identity,sigma=hinge)",
        ],
    )
)
OF_ROWS: tuple[Any, ...] = (losses.Logistic(), Squared())

each = pytest.mark.parametrize("loss", ALL, ids=repr)
of_all = pytest.mark.parametrize("loss", [*ALL, *OF_ROWS], ids=repr)


@pytest.mark.parametrize("loss", [a for a in ALL if a.smooth or a.reweights], ids=repr)
def test_curvature_bounds_the_hessian_as_a_matrix(loss: Any) -> None:
    """The bound less the Hessian has no negative eigenvalue, also where a pair is far apart."""
    rng = np.random.default_rng(3)
    relevance = np.repeat([2.0, 1.0, 0.0], [2, 2, 5])
    target = loss.prepare(relevance, Groups.single(9))
    for size in (0.1, 1.0, 1.0, 4.0):
        scores = size * rng.standard_normal(9)
        held = loss.hold(scores, target) if loss.reweights else target
        step = 1e-5 * max(1.0, size)
        ends = [
            [loss.value_and_grad(scores + sign * step * e, held)[1] for sign in (1, -1)]
            for e in np.eye(9)
        ]
        hessian = np.array([one - other for one, other in ends]) / (2 * step)
        room = np.diag(loss.curvature(scores, target)) - (hessian + hessian.T) / 2
        assert np.linalg.eigvalsh(room).min() >= -1e-6 * max(1.0, np.abs(hessian).max())


@each
def test_groups_without_an_order_are_left_out_and_counted(loss: Any) -> None:
    relevance = np.array([1.0, 0, 0, 2, 1, 1, 1, 0, 1])
    groups = Groups.from_sizes([3, 1, 0, 3, 2])
    target = loss.prepare(relevance, groups)
    values, grad, curvature = loss.value_grad_and_curvature(np.linspace(1, -1, 9), target)
    assert np.isnan(values).tolist() == [False, True, True, True, False]
    assert target.defined.tolist() == (~np.isnan(values)).tolist()
    np.testing.assert_array_equal(grad[3:7], 0.0)
    assert (curvature > 0).all()


@of_all
def test_no_group_that_is_defined_gives_no_gradient(loss: Any) -> None:
    for relevance, sizes in (([], []), ([], [0, 0]), ([1.0, 1.0, 0.0], [2, 1])):
        if loss in OF_ROWS and relevance:
            continue
        target = loss.prepare(np.array(relevance), Groups.from_sizes(np.array(sizes, np.int64)))
        values, grad, curvature = loss.value_grad_and_curvature(np.zeros(len(relevance)), target)
        assert np.isnan(values).all()
        np.testing.assert_array_equal(grad, 0.0)
        assert (curvature > 0).all()
        assert loss.name in loss.why_undefined(target)
    if loss not in OF_ROWS:
        assert "2 of 2" in loss.why_undefined(target) or "too few negatives: 1" in (
            loss.why_undefined(target)
        )


@pytest.mark.parametrize(
    "loss",
    [a for a in ALL if a.name.startswith(("pap", "group")) or a.name == "pairwise-hinge"],
    ids=repr,
)
def test_values_keep_their_digits_far_from_zero(loss: Any) -> None:
    scores = np.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
    target = loss.prepare(np.array([1.0, 0, 1, 0, 1, 0]), Groups.single(6))
    here, there = (loss.value_and_grad(s, target) for s in (scores, scores + 2.0**40))
    assert here[0][0] == there[0][0]
    np.testing.assert_array_equal(here[1], there[1])


@of_all
def test_bad_rows_are_refused(loss: Any) -> None:
    groups, relevance = Groups.from_qid(["u", "v", "v"]), np.array([1.0, 1.0, 0.0])
    for wrong in ([1.0, -1.0, 0.0], [1.0, np.nan, 0.0], [1.0, 0.0]):
        with pytest.raises(ArgumentError):
            loss.prepare(np.array(wrong), groups)
    target = loss.prepare(relevance, groups)
    with pytest.raises(ArgumentError, match=r"first at row 1.*'v'"):
        loss.value_and_grad(np.array([0.0, np.inf, 0.0]), target)
    with pytest.raises(ArgumentError):
        loss.value_and_grad(np.zeros(2), target)
    for weights in ([1.0, -1.0, -1.0], [1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0]):
        with pytest.raises(ArgumentError):
            loss.prepare(relevance, groups, weights=np.array(weights))
    if loss not in OF_ROWS and loss.name != "group-logistic":
        with pytest.raises(ArgumentError, match=r"in qid 'v'"):
            loss.prepare(relevance, groups, weights=np.array([1.0, 2.0, 3.0]))
        if loss.name != "pap-logistic":
            with pytest.raises(ArgumentError, match="zero for all groups on which"):
                loss.prepare(relevance, groups, weights=np.array([1.0, 0.0, 0.0]))


BAD: dict[str, list[dict[str, Any]]] = {
    "pap-max": [{"k": k} for k in (0, -1, 1.5, True, None)],
    "pap-ramp@3": [{"clip": "no"}, {"min_relevance": 0}],
    "pap-tight-struct@3": [{"exact": "no"}],
    "pap-logistic": [{"k": 0}, {"weight": -1.0}, {"temperature": 0.0}, {"min_relevance": -1.0}],
    "group-logistic": [
        *({"per": "list"}, {"min_relevance": 0.0}, {"soft": 1}),
        {"soft": True, "min_relevance": 2.0},
    ],
    "logistic": [{"per": "list"}, {"min_relevance": 0}],
    "squared": [{"per": "list"}],
    "listmle": [
        *({"k": 0}, {"k": 2.5}, {"k": True}, {"ties": "average"}, {"head": "top"}),
        *({"min_relevance": 0}, {"n_orders": 4}),
    ],
    "listmle(ties=averaged)": [{"n_orders": 0}],
    "listnet": [{"ties": "first"}, {"scale": 0}],
    "rankcosine": [{"ties": None}, {"k": True}],
    "robirank": [
        *({"sigma": "logistik"}, {"gain": "exp"}, {"normalize": 1}),
        *({"type": kind} for kind in (3, True, "two", None)),
    ],
    "lambdarank": [{"metric": "map"}, {"sigma": 0}],
    "lambdarank(metric=ap)": [{"gain": "linear"}],
    "lambdarank(metric=precision)": [{"k": None}],
    "approx-ndcg": [{"temperature": -1}],
    "sl@3": [{"weight_temperature": 0}],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_are_named(name: str) -> None:
    for wrong in BAD[name]:
        with pytest.raises(ArgumentError, match="|".join(wrong)):
            losses.get(name, **wrong)


@pytest.mark.parametrize(
    ("loss", "relevance"),
    [
        (losses.GroupLogistic(soft=True), [0.5, 2.0]),  # a probability is at most 1
        (losses.RoBiRank(), [2000.0, 0.0]),  # 2^2000 is beyond all sums
        (SoftmaxCrossEntropy(), [1.7e308, 1.7e308]),
    ],
)
def test_relevance_beyond_a_loss_is_refused_with_its_group(loss: Any, relevance: Any) -> None:
    with pytest.raises(ArgumentError, match="qid 7"):
        loss.prepare(np.array([*relevance, 0.0]), Groups.from_qid([7, 7, 7]))


def test_gains_of_0_and_large_linear_gains_are_numbers() -> None:
    groups = Groups.single(2)
    for gain, relevance, is_defined in (
        ("exp2", [1e-20, 0.0], False),  # 2^1e-20 - 1 is 0 in floats
        ("linear", [1e-20, 0.0], True),
        ("linear", [2000.0, 0.0], True),
    ):
        loss = losses.get("robirank", gain=gain)
        values, grad = loss.value_and_grad(
            np.array([0.0, 1.0]), loss.prepare(np.array(relevance), groups)
        )
        assert np.isfinite(values).tolist() == [is_defined]
        assert np.isfinite(grad).all()
