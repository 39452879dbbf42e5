"""Listwise losses as rankers in torch have them: plain forms over padded lists, and autograd.

podium's convention mapped to theirs: a group is a row of the rectangle, and its value the loss of
that row. ListMLE without ties, as sorting leaves their order open; ListNet with ties averaged, so
that the ground-truth model is the softmax of the grades; RankCosine without ties.

Known differences, each of a way in which packages write these forms
-------------------------------------------------------------------
==============================  ================================  ===============================
written as                      gives                             podium
==============================  ================================  ===============================
log(sum of exp + 1e-10)         for an ordered pair with a gap    log1p(exp(-40)), and the
                                of 40: 16.97, and a gradient      gradient of the order
                                that pulls the pair together
log(sum of exp), not shifted    nan in the gradient from scores   exact at any finite score
                                of 89 on, in float32
0 in the padding, no mask       padding in the normaliser         lists are ragged
-inf in the padding             nan for a list of padding only,   a group of no rows is left out
                                and so for the batch
==============================  ================================  ===============================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

SIZES = (2, 9, 5, 1, 7, 12)


def list_mle(scores: Any, labels: Any, mask: Any, k: int | None = None) -> Any:
    """Negative log-likelihood of the first k places by falling label, list by list."""
    order = labels.masked_fill(~mask, -torch.inf).argsort(dim=1, descending=True)
    s, there = scores.gather(1, order), mask.gather(1, order)
    after = s.masked_fill(~there, -torch.inf).flip(1).logcumsumexp(1).flip(1)
    places = torch.where(there, after - s, 0.0)
    return places[:, :k].sum(1)


def list_net(scores: Any, labels: Any, mask: Any) -> Any:
    """Cross entropy of softmax(scores) under softmax(labels), list by list."""
    wanted = labels.masked_fill(~mask, -torch.inf).softmax(1)
    shares = scores.masked_fill(~mask, -torch.inf).log_softmax(1)
    return -(wanted * shares.masked_fill(~mask, 0.0)).sum(1)


def rank_cosine(scores: Any, labels: Any, mask: Any) -> Any:
    """Half of one minus the cosine between labels and scores, list by list."""
    angle = torch.nn.functional.cosine_similarity(scores * mask, labels * mask, dim=1)
    return (1.0 - angle) / 2.0


def by_peer(form: Callable[..., Any], scores: Any, labels: Any, **kw: Any) -> tuple[Any, Any]:
    """Values of lists with more than one row, and the gradient of their mean, by row."""
    mask = np.arange(max(SIZES)) < np.array(SIZES)[:, None]
    s, y = np.zeros(mask.shape), np.zeros(mask.shape)
    s[mask], y[mask] = scores, labels
    there = torch.from_numpy(mask)
    leaf = torch.from_numpy(s).requires_grad_(True)
    values = form(leaf, torch.from_numpy(y), there, **kw)[np.array(SIZES) > 1]
    values.mean().backward()
    return values.detach().numpy(), leaf.grad.numpy()[mask]


def by_podium(loss: Any, scores: Any, labels: Any) -> tuple[Any, Any]:
    target = loss.prepare(labels, Groups.from_sizes(SIZES))
    values, grad = loss.value_and_grad(scores, target)
    assert np.isnan(values).tolist() == [size == 1 for size in SIZES]
    return values[~np.isnan(values)], grad


def drawn(kind: str, scale: float, seed: int) -> tuple[Any, Any]:
    """Scores and labels of all lists, row after row; graded ones have ties."""
    rng = np.random.default_rng(seed)
    scores = scale * rng.standard_normal(sum(SIZES))
    if kind == "distinct":
        return scores, np.concatenate([rng.permutation(n) for n in SIZES]).astype(float)
    graded = [np.append(rng.integers(0, 3, n - 1), 3)[:n] for n in SIZES]
    return scores, np.concatenate(graded).astype(float)


CASES: dict[str, tuple[Any, Callable[..., Any], str, dict[str, Any]]] = {
    "listmle": (losses.ListMLE(), list_mle, "distinct", {}),
    "listmle@1": (losses.ListMLE(k=1), list_mle, "distinct", {"k": 1}),
    "listmle@3": (losses.ListMLE(k=3), list_mle, "distinct", {"k": 3}),
    "listmle@40": (losses.ListMLE(k=40), list_mle, "distinct", {}),
    "listnet": (losses.ListNet(), list_net, "graded", {}),
    "rankcosine": (losses.RankCosine(), rank_cosine, "distinct", {}),
}


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_autograd(case: str, scale: float) -> None:
    loss, form, kind, kw = CASES[case]
    scores, labels = drawn(kind, scale, seed=int(10 * scale))
    values, grad = by_podium(loss, scores, labels)
    theirs, slopes = by_peer(form, scores, labels, **kw)
    np.testing.assert_allclose(values, theirs, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(grad, slopes, rtol=1e-9, atol=1e-13)


def test_graded_labels_have_ties() -> None:
    _, labels = drawn("graded", 1.0, seed=0)
    assert len(np.unique(labels[2 : 2 + SIZES[1]])) < SIZES[1]


def with_small_number(scores: Any) -> Any:
    """ListMLE of rows in order, a small number inside the logarithm."""
    shifted = scores - scores.max()
    after = shifted.exp().flip(0).cumsum(0).flip(0)
    return (torch.log(after + 1e-10) - shifted).sum()


def test_a_number_inside_the_logarithm_reverses_the_gradient_of_a_wide_gap() -> None:
    """Known difference: the last row's own term is log(exp(-40) + 1e-10) + 40."""
    scores = torch.tensor([40.0, 0.0], dtype=torch.float64, requires_grad=True)
    value = with_small_number(scores)
    value.backward()
    assert value.item() == pytest.approx(40 + np.log(1e-10), rel=1e-6)
    assert scores.grad[0] > 0.9
    loss = losses.ListMLE()
    target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    values, grad = loss.value_and_grad(np.array([40.0, 0.0]), target)
    np.testing.assert_allclose(values, [np.exp(-40.0)], rtol=1e-15)
    np.testing.assert_allclose(grad, [-np.exp(-40.0), np.exp(-40.0)], rtol=1e-15)


def test_exponentials_that_are_not_shifted_have_no_gradient_at_scores_of_100() -> None:
    """Known difference: exp(100) is beyond float32."""
    scores = torch.tensor([100.0, 99.0], requires_grad=True)
    after = scores.exp().flip(0).cumsum(0).flip(0)
    (torch.log(after) - scores).sum().backward()
    assert not torch.isfinite(scores.grad).any()
    loss = losses.ListMLE()
    target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    values, grad = loss.value_and_grad(np.array([100.0, 99.0]), target)
    behind = 1 / (1 + np.exp(1.0))
    np.testing.assert_allclose(values, [np.log1p(np.exp(-1.0))], rtol=1e-15)
    np.testing.assert_allclose(grad, [-behind, behind], rtol=1e-14)


def test_padding_of_zeros_without_a_mask_enters_the_normaliser() -> None:
    """Known difference: softmax of [0, 0] and three cells of padding is 1/5, not 1/2."""
    scores = torch.zeros(1, 5, dtype=torch.float64)
    labels = torch.tensor([[2.0, 0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    everything = torch.ones(1, 5, dtype=torch.bool)
    assert list_net(scores, labels, everything).item() == pytest.approx(np.log(5.0))
    loss = losses.ListNet()
    target = loss.prepare(np.array([2.0, 0.0]), Groups.single(2))
    values, _ = loss.value_and_grad(np.zeros(2), target)
    np.testing.assert_allclose(values, [np.log(2.0)], rtol=1e-15)


def test_a_list_of_padding_only_spoils_the_batch_but_not_podiums() -> None:
    """Known difference: the softmax of nothing is nan."""
    mask = torch.tensor([[False, False], [True, True]])
    labels = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    scores = torch.zeros(2, 2, dtype=torch.float64)
    assert list_net(scores, labels, mask).mean().isnan()
    loss = losses.ListNet()
    target = loss.prepare(np.array([1.0, 0.0]), Groups.from_sizes([0, 2]))
    values, grad = loss.value_and_grad(np.zeros(2), target)
    np.testing.assert_allclose(values, [np.nan, np.log(2.0)])
    half = 0.5 - 1 / (1 + np.exp(1.0))
    np.testing.assert_allclose(grad, [-half, half], rtol=1e-13)
