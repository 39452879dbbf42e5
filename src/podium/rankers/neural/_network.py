"""A fully connected network with one output, as a flat array of parameters, and its input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from podium import _check
from podium._kernels import read_only
from podium.errors import ArgumentError
from podium.rankers.objective import Parameters, transposed_times
from podium.types import PerRow, RowIndex

_BLOCK = 4096  # rows per dense block

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


@dataclass(frozen=True, eq=False)
class Standard:
    """The shift and scale of features: the network reads ``(x - mean) / scale``."""

    mean: NDArray[np.float64]  # (n_features,)
    scale: NDArray[np.float64]

    @classmethod
    def none(cls, n_features: int) -> Standard:
        """Return the identity."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of(cls, features: Any, weights: PerRow | None, places: RowIndex) -> Standard:
        """Return the shift and scale that give features mean 0 and variance 1 under the weights.

        `places` are the positions of the rows, in the order of the weights. A constant feature
        keeps its scale and becomes 0.

        Raises
        ------
        ArgumentError
            If the square of a feature overflows.
        """
        row_shares = np.ones(places.size) if weights is None else weights
        row_shares = row_shares / row_shares.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = transposed_times(features, row_shares, places)
            weighted_rows = np.flatnonzero(row_shares)
            spread, low, high = _spread(
                features, row_shares[weighted_rows], places[weighted_rows], mean
            )
        if not np.isfinite(spread).all():
            column = int(np.argmin(np.isfinite(spread)))
            raise ArgumentError(
                f"X has values in column {column} whose squares overflow. Scale that column down."
            )
        return cls(mean, np.where((low == high) | (spread == 0.0), 1.0, spread))

    def dense(self, features: Any, rows: RowIndex | slice) -> NDArray[np.float64]:
        """Return the standardised values of some rows of dense or CSR features."""
        chosen = features[rows]
        if _check.is_sparse(chosen):
            chosen = chosen.toarray()
        return (chosen.astype(np.float64) - self.mean) / self.scale


def _spread(
    features: Any, share: PerRow, places: RowIndex, mean: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return the standard deviation, minimum and maximum of each feature."""
    centred = Standard(mean, np.ones(mean.size))
    squares = np.zeros(mean.size)
    low, high = np.full(mean.size, np.inf), np.full(mean.size, -np.inf)
    for rows in blocks(share.size):
        values = centred.dense(features, places[rows])
        squares += np.sum(share[rows, None] * values**2, axis=0)
        np.minimum(low, values.min(axis=0), out=low)
        np.maximum(high, values.max(axis=0), out=high)
    return np.sqrt(squares), low, high


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that cover all rows, each small enough for a dense block."""
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, min(start + _BLOCK, n_rows))
