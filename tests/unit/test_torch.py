"""podium.torch: every loss as a function that torch differentiates, in rows and in padded lists."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.errors import ArgumentError, MissingExtraError
from podium.groups import Groups
from podium.torch import as_torch

torch: Any = pytest.importorskip("torch", reason="needs the extra podium[torch]")


LOSSES: list[Any] = [
    *map(losses.get, ["softmax", "logistic", "group-logistic", "squared", "lambdarank"]),
    *(losses.PApRamp(2), losses.PApLogistic(2), losses.get("pap-tight-struct-exact@2")),
    losses.ListMLE(2, n_orders=3),
    losses.ListNet(2),
    losses.RankCosine(2),
]
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
GRADES = np.array([[2, 0, 1, 0, 1], [0, 0, 1, 2, 9], [0, 0, 0, 9, 9], [9, 9, 9, 9, 9]])


def scores(*shape: int, seed: int = 0, **named: Any) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values, requires_grad=True, **named)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not loss.reweights], ids=str)
def test_gradients_are_right(loss: Any) -> None:
    """Of the mean, and of each group's value, in rows and in padded lists (no kink is near)."""
    prepared = as_torch(loss).prepare(GRADES, mask=MASK)
    values = prepared.per_group(scores(4, 5))
    assert values.shape == (4,)
    defined = ~values.isnan()
    assert defined[0]
    assert not defined[3]
    assert torch.autograd.gradcheck(prepared, (scores(4, 5),))
    assert torch.autograd.gradcheck(lambda s: prepared.per_group(s)[defined], (scores(4, 5),))
    rows = as_torch(loss).prepare(GRADES[MASK], qid=np.nonzero(MASK)[0])
    assert torch.autograd.gradcheck(rows, (scores(12),))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_value_is_the_mean_of_the_groups_that_the_loss_is_defined_on(loss: Any) -> None:
    qid, given = np.nonzero(MASK)[0], scores(12)
    target = loss.prepare(GRADES[MASK].astype(float), Groups.from_qid(qid))
    values, grad = loss.value_and_grad(given.detach().numpy(), target)
    found = as_torch(loss)(given, GRADES[MASK], qid)
    assert found.shape == ()
    assert found.item() == np.nanmean(values)
    found.backward()
    np.testing.assert_allclose(given.grad, grad, rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(
        as_torch(loss).per_group(given, GRADES[MASK], qid).detach(), values
    )


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_padding_is_never_read_and_gets_no_gradient(loss: Any) -> None:
    padded, rows = scores(4, 5), torch.tensor(np.zeros(12))
    with torch.no_grad():
        padded[~torch.tensor(MASK)] = torch.tensor(np.nan)
        rows[:] = padded[torch.tensor(MASK)]
    rows.requires_grad_(True)
    grades = np.where(MASK, GRADES, np.nan)
    in_lists = as_torch(loss)(padded, grades, mask=MASK)
    in_rows = as_torch(loss)(rows, GRADES[MASK], np.nonzero(MASK)[0])
    assert in_lists.item() == pytest.approx(in_rows.item(), rel=1e-14)
    in_lists.backward()
    in_rows.backward()
    assert torch.all(padded.grad[~torch.tensor(MASK)] == 0.0)
    np.testing.assert_allclose(padded.grad[torch.tensor(MASK)], rows.grad, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gradient_has_the_type_of_the_scores(dtype: str) -> None:
    of = getattr(torch, dtype)
    given, exact = scores(4, 5, dtype=of), scores(4, 5)
    with torch.no_grad():
        exact[:] = given.double()
    prepared = as_torch("listmle@2").prepare(GRADES, mask=MASK)
    value, same = prepared(given), prepared(exact)
    assert value.dtype == prepared.per_group(given).dtype
    assert value.dtype == (torch.float64 if dtype == "float64" else torch.float32)
    assert value.item() == pytest.approx(same.item(), rel=1e-6)
    value.backward()
    same.backward()
    assert given.grad.dtype == of
    torch.testing.assert_close(given.grad, exact.grad.to(of), rtol=0.0, atol=0.0)


def test_labels_may_be_tensors_arrays_or_lists() -> None:
    grades, qid = GRADES[MASK], np.nonzero(MASK)[0]
    loss, given = as_torch("listnet"), scores(12)
    expected = loss(given, grades, qid).item()
    texts = [f"q{q}" for q in qid]
    for labels, ids in ((torch.tensor(grades), torch.tensor(qid)), (grades.tolist(), texts)):
        assert loss(given, labels, ids).item() == expected
    lists = loss(scores(4, 5), GRADES, mask=MASK).item()
    for labels, mask in ((GRADES.tolist(), MASK.tolist()), map(torch.tensor, (GRADES, MASK))):
        assert loss(scores(4, 5), labels, mask=mask).item() == lists


def test_rows_are_one_group_where_that_is_said_and_without_mask_all_are_real() -> None:
    with pytest.raises(ArgumentError, match="qid"):
        as_torch("softmax")(scores(4), [1, 0, 0, 2])
    loss, given = as_torch("softmax", one_group=True), scores(2, 4)
    assert loss(given[0], [1, 0, 0, 2]).item() == loss(given[0], [1, 0, 0, 2], [3] * 4).item()
    both = loss.per_group(given, [[1, 0, 0, 2], [0, 1, 0, 0]])
    assert both[0].item() == loss(given[0], [1, 0, 0, 2]).item()


def test_groups_that_are_left_out_move_nothing_whatever_is_made_of_their_values() -> None:
    given, loss = scores(4, 5), as_torch("softmax")
    values = loss.per_group(given, GRADES, mask=MASK)
    torch.nansum(values**2).backward()  # the square's own gradient is nan at nan
    assert given.grad.isfinite().all()
    assert given.grad[0].abs().sum() > 0.0
    for grades, mask in ((np.zeros((2, 3)), None), (np.ones((2, 3)), np.zeros((2, 3), bool))):
        given = scores(2, 3)
        value = loss(given, grades, mask=mask)
        assert value.isnan()
        assert loss.per_group(given, grades, mask=mask).isnan().all()
        value.backward()
        assert torch.all(given.grad == 0.0)


def test_draws_come_from_the_generator_or_are_given() -> None:
    grades, given = np.array([1.0, 0, 0, 0, 0, 0, 0, 1, 0]), scores(9)
    fixed = as_torch(losses.ListMLE(), one_group=True)
    first = fixed(given, grades).item()
    assert fixed(given, grades).item() == first
    assert fixed(given, grades, rng=np.random.default_rng(0)).item() == first
    assert fixed(given, grades, rng=np.random.default_rng(1)).item() != first
    by_key = fixed.prepare(grades, keys=torch.rand(9, 1))
    assert by_key(given).item() == by_key(given).item() != first
    with pytest.raises(ArgumentError, match="keys"):
        as_torch("softmax", one_group=True)(given, grades, keys=np.zeros((9, 1)))


def test_keys_go_with_their_rows_into_lists() -> None:
    """A list keeps its order of tied rows, whatever batch it is in."""
    keys, loss = np.random.default_rng(3).random((4, 5, 1)), as_torch("listmle")
    whole = loss.per_group(scores(4, 5), GRADES, mask=MASK, keys=keys)
    for row in (0, 1):
        alone = loss(scores(4, 5)[[row]], GRADES[[row]], mask=MASK[[row]], keys=keys[[row]])
        assert alone.item() == pytest.approx(whole[row].item(), rel=1e-14)


def test_second_derivative_is_refused() -> None:
    given = scores(12)
    value = as_torch("softmax")(given, GRADES[MASK], np.nonzero(MASK)[0])
    (grad,) = torch.autograd.grad(value, given, create_graph=True)
    with pytest.raises(RuntimeError, match=r"first derivatives only.*create_graph"):
        grad.sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(scores(3), [1, 0]),
        lambda f: f(torch.arange(3), [1, 0, 0]),
        lambda f: f([0.5, 0.1], [1, 0]),
        lambda f: f(scores(2, 2), [[1, 0]] * 2, [0, 1]),
        lambda f: f(scores(2), [1, 0], mask=[True, True]),
        lambda f: f(scores(2, 2, 1), np.ones((2, 2, 1))),
        lambda f: f(scores(2), [1, 0], [1, 1, 1]),
        lambda f: f(scores(1, 2), [[1, 0]], mask=[[1, 1]]),
        lambda f: f(scores(2), [1, 0], weights=[1.0]),
        lambda f: f(scores(2), [1, -1]),
        lambda f: f(scores(2) / 0.0, [1, 0]),
        lambda f: f.prepare([["a", "b"]]),
        lambda f: f.prepare([[1, 0], [1]]),
        lambda f: f.prepare([1], keys=[[1.0]], rng=np.random.default_rng(0)),
    ],
)
def test_what_does_not_fit_is_refused(call: Any) -> None:
    with pytest.raises(ArgumentError):
        call(as_torch("softmax", one_group=True))


def test_missing_torch_is_answered_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'podium\[torch\]'"):
        as_torch("softmax")
