"""Rax's losses on padded lists in float32, compiled once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import rax


def padded(name: str, lists: Any) -> Callable[[], tuple[float, Any]]:
    """Return a function that computes the value and the gradient, and waits for both."""
    form = getattr(rax, name)
    scores, labels = (jax.numpy.asarray(lists.padded(c)) for c in (lists.scores, lists.labels))
    mask = jax.numpy.asarray(lists.mask)
    # labels and mask are arguments, because XLA would spend seconds on folding constants
    value_and_grad = jax.jit(jax.value_and_grad(lambda s, y, w: form(s, y, where=w)))

    def call() -> tuple[float, Any]:
        value, grad = jax.block_until_ready(value_and_grad(scores, labels, mask))
        return value, grad

    return call
