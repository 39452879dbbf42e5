"""Top-k ListMLE as it would be written in C: one pass over each list, without checks.

This is a lower bound of the cost of value and gradient: one exponential per row and one logarithm
per position of the head. It is exact only if the scores of a list differ by less than about 700;
podium's loss has no such limit.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def top_k(
    scores: Any, order: Any, offsets: Any, k: Any, below: Any, values: Any, grad: Any
) -> None:
    """Compute each list's value and the gradient of their mean; `order` starts with the head."""
    n_groups = offsets.size - 1
    scale = 1.0 / n_groups
    for g in range(n_groups):
        first, end = offsets[g], offsets[g + 1]
        head = min(first + k, end)
        largest = scores[first]
        for i in range(first + 1, end):
            largest = max(largest, scores[i])
        total = 0.0
        for i in range(end - 1, head - 1, -1):
            row = order[i]
            grad[row] = np.exp(scores[row] - largest)
            total += grad[row]
        value = 0.0
        for i in range(head - 1, first - 1, -1):
            row = order[i]
            grad[row] = np.exp(scores[row] - largest)
            total += grad[row]
            below[i - first] = total
            value += np.log(total) + largest - scores[row]
        values[g] = value
        inverse = 0.0
        for i in range(first, head):
            row = order[i]
            inverse += scale / below[i - first]
            grad[row] = grad[row] * inverse - scale
        for i in range(head, end):
            grad[order[i]] *= inverse
