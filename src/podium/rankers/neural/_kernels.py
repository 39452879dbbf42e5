"""A compiled network layer; equal rows get the same bits at any position."""

from __future__ import annotations

from podium._kernels import kernel


@kernel
def layer(inputs, weights, biases, out):
    """Write inputs @ weights + biases; each row is summed in the order of its columns.

    BLAS would sum the last rows of a block in another order, so that the scores of equal rows
    could differ in the last digit. The innermost loop runs over the outputs, so it vectorises
    without changing the order of any sum.
    """
    n_out = biases.size
    for i in range(inputs.shape[0]):
        for h in range(n_out):
            out[i, h] = biases[h]
        for j in range(inputs.shape[1]):
            x = inputs[i, j]
            for h in range(n_out):
                out[i, h] += x * weights[j, h]
