"""Listwise losses in plain torch: on padded lists, as in rankers in torch, and on flat rows.

The padded versions follow the usual steps: sorting by label, exponentials of differences from the
list's maximum, a reversed cumulative sum, and a small number inside the logarithm, so that padding
and rounding cannot make it infinite. They use float32, like models in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

INSIDE_LOG = 1e-10


def list_mle(scores: Any, labels: Any, mask: Any) -> Any:
    """Return the mean negative log-likelihood of the order by falling label, over padded lists."""
    order = torch.where(mask, labels, -torch.inf).argsort(dim=1, descending=True)
    is_row = mask.gather(1, order)
    by_label = scores.gather(1, order).masked_fill(~is_row, -torch.inf)
    shifted = by_label - by_label.max(dim=1, keepdim=True).values
    remaining = shifted.exp().flip(1).cumsum(1).flip(1)
    losses = torch.log(remaining + INSIDE_LOG) - shifted
    return losses.masked_fill(~is_row, 0.0).sum(1).mean()


def list_net(scores: Any, labels: Any, mask: Any) -> Any:
    """Return the mean cross entropy of softmax(scores) under softmax(labels), over padded lists."""
    target_shares = labels.masked_fill(~mask, -torch.inf).softmax(1)
    shares = scores.masked_fill(~mask, -torch.inf).softmax(1)
    return -(target_shares * torch.log(shares + INSIDE_LOG)).sum(1).mean()


def padded(form: Callable[..., Any], lists: Any) -> Callable[[], tuple[float, Any]]:
    """Return a function that computes the value and the gradient by cell."""
    torch.set_num_threads(1)
    scores = torch.from_numpy(lists.padded(lists.scores)).requires_grad_(True)
    labels, mask = torch.from_numpy(lists.padded(lists.labels)), torch.from_numpy(lists.mask)

    def call() -> tuple[float, Any]:
        scores.grad = None
        value = form(scores, labels, mask)
        value.backward()
        return value.item(), scores.grad

    return call


def flat_top_k(lists: Any, k: int, order: Any) -> Callable[[], tuple[float, Any]]:
    """Return the call of top-k ListMLE on flat rows without padding, with an order drawn before."""
    torch.set_num_threads(1)
    sizes, n = lists.sizes, lists.sizes.size
    group = torch.from_numpy(np.repeat(np.arange(n), sizes))
    positions = lists.offsets[:-1, None] + np.arange(k)
    in_head = torch.from_numpy(np.arange(k) < sizes[:, None])
    head = torch.from_numpy(order[np.minimum(positions, order.size - 1)])
    in_tail = np.ones(order.size, bool)
    in_tail[head.numpy()[in_head.numpy()]] = False
    tail = torch.from_numpy(np.flatnonzero(in_tail))
    tail_group = group[tail]
    scores = torch.from_numpy(lists.scores.astype(np.float32)).requires_grad_(True)

    def call() -> tuple[float, Any]:
        scores.grad = None
        largest = torch.full((n,), -torch.inf)
        largest = largest.scatter_reduce(0, group, scores.detach(), "amax")
        weight = (scores[tail] - largest[tail_group]).exp()
        below = torch.zeros(n).index_add(0, tail_group, weight)
        top = (scores[head] - largest[:, None]).masked_fill(~in_head, -torch.inf)
        remaining = below[:, None] + top.exp().flip(1).cumsum(1).flip(1)
        loss = (torch.log(remaining) - top).masked_fill(~in_head, 0.0).sum(1).mean()
        loss.backward()
        return loss.item(), scores.grad

    return call
