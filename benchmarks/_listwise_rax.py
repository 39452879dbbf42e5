"""Rax's losses, compiled once, over padded lists in float32."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import rax


def padded(name: str, lists: Any) -> Callable[[], tuple[float, Any]]:
    """Return a call that gives the value and the gradient of the scores, waited for."""
    form = getattr(rax, name)
    scores, labels = (jax.numpy.asarray(lists.padded(c)) for c in (lists.scores, lists.labels))
    mask = jax.numpy.asarray(lists.mask)
    # labels and mask are arguments: as constants of a closure, XLA would fold them for seconds
    both = jax.jit(jax.value_and_grad(lambda s, y, w: form(s, y, where=w)))

    def call() -> tuple[float, Any]:
        value, grad = jax.block_until_ready(both(scores, labels, mask))
        return value, grad

    return call
