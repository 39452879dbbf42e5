"""A fully connected network with one output, as a flat array of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from podium import _check
from podium._kernels import read_only
from podium.rankers.objective import Parameters
from podium.types import PerRow

Matrix: TypeAlias = NDArray[np.float64]  # (n_in, n_out) for a layer, or (n_rows, n_units)
Activation: TypeAlias = Literal["relu", "tanh", "sigmoid"]

_ACTIVATE: dict[Activation, Callable[[Matrix], Matrix]] = {
    "relu": lambda values: np.maximum(values, 0.0, out=values),
    "tanh": lambda values: np.tanh(values, out=values),
    "sigmoid": lambda values: expit(values, out=values),
}
ACTIVATIONS: tuple[Activation, ...] = tuple(_ACTIVATE)


@dataclass(frozen=True)
class Network:
    """Layers ``activation(x @ weights + biases)``; the last layer has no activation.

    Attributes
    ----------
    sizes : tuple of int
        The number of features, the units of each hidden layer, and 1.
    activation : {"relu", "tanh", "sigmoid"}
    """

    sizes: tuple[int, ...]
    activation: Activation = "relu"

    @property
    def n_parameters(self) -> int:
        return sum((n_in + 1) * n_out for n_in, n_out in self._shapes)

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes[:-1], self.sizes[1:], strict=True))

    def layers(self, parameters: Any) -> list[tuple[Any, Any]]:
        """Return the weights, (n_in, n_out), and biases of each layer, as views.

        The parameters are a flat array of NumPy or torch: layer after layer, weights before biases.
        """
        views: list[tuple[Any, Any]] = []
        start = 0
        for n_in, n_out in self._shapes:
            middle, end = start + n_in * n_out, start + (n_in + 1) * n_out
            views.append((parameters[start:middle].reshape(n_in, n_out), parameters[middle:end]))
            start = end
        return views

    def start(self, rng: np.random.Generator) -> Parameters:
        """Draw the first weights, uniform with variance 2 / (n_in + n_out); biases are 0.

        References
        ----------
        glorot2010, equation 16.
        """
        parameters = np.zeros(self.n_parameters)
        for weights, _ in self.layers(parameters):
            bound = np.sqrt(6.0 / sum(weights.shape))
            weights[:] = rng.uniform(-bound, bound, weights.shape)
        return parameters

    def penalised(self) -> NDArray[np.float64]:
        """Return the mask of penalised parameters: 1 for weights, 0 for biases."""
        mask = np.zeros(self.n_parameters)
        for weights, _ in self.layers(mask):
            weights[:] = 1.0
        return mask

    def scores(self, parameters: Parameters, inputs: Matrix) -> PerRow:
        """Return the output for each row of the inputs; equal rows get the same bits."""
        from podium.rankers.neural._kernels import layer

        values, activate = inputs, _ACTIVATE[self.activation]
        for number, (weights, biases) in enumerate(self.layers(parameters)):
            if number:
                values = activate(values)
            out = np.empty((inputs.shape[0], biases.size))
            layer(read_only(values), read_only(weights), read_only(biases), out)
            values = out
        return values[:, 0]


def hidden_sizes(hidden: Any, name: str = "hidden") -> tuple[int, ...]:
    """Return the units of each hidden layer; an empty tuple for 0 and ()."""
    if isinstance(hidden, tuple | list):
        return tuple(_check.cutoff(n, name) for n in cast("tuple[Any, ...]", hidden))
    units = _check.count(hidden, name)
    return (units,) if units else ()
