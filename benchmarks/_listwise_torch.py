"""Listwise losses in plain torch: over padded lists, as rankers in torch have them, and flat.

The padded forms follow the usual recipe: sort by label, exponentials less the list's maximum,
a reversed cumulative sum, and a small number inside the logarithm, so that padding and rounding
cannot make it infinite. They are float32, as models in torch are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

INSIDE_LOG = 1e-10


def list_mle(scores: Any, labels: Any, mask: Any) -> Any:
    """Mean negative log-likelihood of the order by falling label, over padded lists."""
    order = torch.where(mask, labels, -torch.inf).argsort(dim=1, descending=True)
    there = mask.gather(1, order)
    by_label = scores.gather(1, order).masked_fill(~there, -torch.inf)
    shifted = by_label - by_label.max(dim=1, keepdim=True).values
    remaining = shifted.exp().flip(1).cumsum(1).flip(1)
    places = torch.log(remaining + INSIDE_LOG) - shifted
    return places.masked_fill(~there, 0.0).sum(1).mean()


def list_net(scores: Any, labels: Any, mask: Any) -> Any:
    """Mean cross entropy of softmax(scores) under softmax(labels), over padded lists."""
    wanted = labels.masked_fill(~mask, -torch.inf).softmax(1)
    shares = scores.masked_fill(~mask, -torch.inf).softmax(1)
    return -(wanted * torch.log(shares + INSIDE_LOG)).sum(1).mean()


def padded(form: Callable[..., Any], lists: Any) -> Callable[[], tuple[float, Any]]:
    """Return a call that gives the value and the gradient of the scores, in rows."""
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
    """Return top-k ListMLE on flat rows by segments: no padding, the order drawn before."""
    torch.set_num_threads(1)
    sizes, n = lists.sizes, lists.sizes.size
    group = torch.from_numpy(np.repeat(np.arange(n), sizes))
    places = lists.offsets[:-1, None] + np.arange(k)
    there = torch.from_numpy(np.arange(k) < sizes[:, None])
    head = torch.from_numpy(order[np.minimum(places, order.size - 1)])
    in_tail = np.ones(order.size, bool)
    in_tail[head.numpy()[there.numpy()]] = False
    tail = torch.from_numpy(np.flatnonzero(in_tail))
    tail_group = group[tail]
    scores = torch.from_numpy(lists.scores.astype(np.float32)).requires_grad_(True)

    def call() -> tuple[float, Any]:
        scores.grad = None
        largest = torch.full((n,), -torch.inf)
        largest = largest.scatter_reduce(0, group, scores.detach(), "amax")
        weight = (scores[tail] - largest[tail_group]).exp()
        below = torch.zeros(n).index_add(0, tail_group, weight)
        top = (scores[head] - largest[:, None]).masked_fill(~there, -torch.inf)
        remaining = below[:, None] + top.exp().flip(1).cumsum(1).flip(1)
        loss = (torch.log(remaining) - top).masked_fill(~there, 0.0).sum(1).mean()
        loss.backward()
        return loss.item(), scores.grad

    return call
