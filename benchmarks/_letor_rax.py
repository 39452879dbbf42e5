"""A linear model fitted to Rax's softmax loss by Adam on all queries at once, in padded lists."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import rax

RATE, STEPS = 0.05, 200


def fit(X: Any, y: Any, mask: Any, l2: float) -> Any:
    """Return the coefficients after 200 steps on the mean loss plus ``l2 / 2 * ||w||^2``.

    Parameters
    ----------
    X : float32, (n_queries, longest, n_features)
        The padded features.
    y, mask : float32 and bool, (n_queries, longest)
        The padded grades, and True at the documents.
    l2 : float

    Returns
    -------
    float32, (n_features,)
    """
    return np.asarray(_descend(jnp.full(X.shape[2], 1e-3), X, y, mask, l2))


@jax.jit
def _descend(start: Any, X: Any, y: Any, mask: Any, l2: Any) -> Any:
    def objective(w: Any) -> Any:
        return rax.softmax_loss(X @ w, y, where=mask) + l2 / 2 * jnp.sum(w * w)

    def step(state: Any, t: Any) -> Any:
        w, mean, square = state
        grad = jax.grad(objective)(w)
        mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad * grad
        scale = jnp.sqrt(square / (1 - 0.999**t)) + 1e-8
        return (w - RATE * mean / (1 - 0.9**t) / scale, mean, square), None

    zero = jnp.zeros_like(start)
    steps = jnp.arange(1.0, STEPS + 1.0)
    return jax.lax.scan(step, (start, zero, zero), steps)[0][0]
