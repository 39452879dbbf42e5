"""A fully connected network with one output, and its training with torch.

The network is a flat array of parameters. It is trained by Adam over mini-batches of groups, and
measured by epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import read_only
from podium._one_thread import SharedLimit
from podium.errors import ArgumentError, arg
from podium.losses import Loss
from podium.rankers.batches import Batch, Batches
from podium.rankers.objective import Labels, Parameters, Point, dot, loss_at, transposed_times
from podium.rankers.solvers._common import Run, Solution, StopReason
from podium.types import PerRow, RowIndex

_BLOCK = 4096  # rows per dense block

Matrix: TypeAlias = NDArray[np.float64]  # (n_in, n_out) for a layer, or (n_rows, n_units)


@dataclass(frozen=True)
class Network:
    """Layers ``max(x @ weights + biases, 0)``; the last layer has no maximum.

    Attributes
    ----------
    sizes : tuple of int
        The number of features, the units of each hidden layer, and 1.
    """

    sizes: tuple[int, ...]

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
        from podium.rankers._kernels import layer

        values = inputs
        for number, (weights, biases) in enumerate(self.layers(parameters)):
            if number:
                np.maximum(values, 0.0, out=values)
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


_START = int.from_bytes(b"weights")  # separates the first weights from other draws of a seed
_NOTHING = np.empty(0)
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8  # the values of the paper


@dataclass(frozen=True, eq=False)
class Problem:
    """The network, loss and data of a training.

    Attributes
    ----------
    network : Network
    standard : Standard
        The shift and scale of `features`.
    features : float32 or float64, (n_rows, n_features)
        The features, C-ordered or CSR.
    loss : Loss
    target : Any
        The result of ``loss.prepare`` for all rows.
    labels : Labels
        The data that the target was prepared from.
    places : int64, (n_rows,)
        The positions in the features of the rows of the labels.
    l2 : float
    """

    network: Network
    standard: Standard
    features: Any
    loss: Loss
    target: Any
    labels: Labels
    places: RowIndex
    l2: float

    def evaluate(self, parameters: Parameters) -> Point:
        """Return the objective by its parts, without a gradient; infinite if scores overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.scores(parameters, self.features)
            loss, _ = loss_at(self.loss, self.target, scores[self.places])
            penalised = self.network.penalised() * parameters
            penalty = 0.5 * self.l2 * dot(penalised, penalised)
        return Point(parameters, loss, penalty, _NOTHING)

    def scores(self, parameters: Parameters, features: Any) -> PerRow:
        """Return the scores of rows."""
        return scores_of(self.network, self.standard, parameters, features)


def scores_of(
    network: Network, standard: Standard, parameters: Parameters, features: Any
) -> PerRow:
    """Return the score of each row, computed block by block."""
    out = np.empty(int(features.shape[0]))
    for rows in blocks(out.size):
        out[rows] = network.scores(parameters, standard.dense(features, rows))
    return out


def load_torch() -> Any:
    """Return torch, or raise an error with the install command."""
    return _check.extra("torch", "torch", "NeuralRanker")


@dataclass
class Adam:
    """The Adam optimiser: the running means of gradients and squares, tensors of zeros at first.

    Loading torch's own optimiser would take as long as loading the rest of torch.

    References
    ----------
    kingma2015, algorithm 1.
    """

    first: Any
    second: Any
    n_steps: int = 0

    def direction(self, grad: Any) -> Any:
        """Update the means with a gradient; return the step to subtract at rate 1."""
        self.n_steps += 1
        self.first += (1.0 - _BETA1) * (grad - self.first)
        self.second += (1.0 - _BETA2) * (grad * grad - self.second)
        mean = self.first / (1.0 - _BETA1**self.n_steps)
        spread = (self.second / (1.0 - _BETA2**self.n_steps)).sqrt()
        return mean / (spread + _EPSILON)


class AdamRun(Run):
    """Run epochs of Adam on mini-batches of groups; the objective is a `Problem`.

    The training has converged when the last ten objectives span at most `tol`. An epoch uses each
    group once, `batch_size` groups at a time, and is measured with the weights at its end. Its
    steps have rate learning_rate / sqrt(epoch), with epochs counted from 1.

    Raises
    ------
    ArgumentError
        If scores overflow in the first epoch.

    References
    ----------
    kingma2015, algorithm 1.
    """

    @classmethod
    def solve(cls, *problem: Any) -> Solution:
        """Minimise on one thread; the arguments are those of `Solver`, with a `Problem`."""
        torch = load_torch()
        with one_torch_thread, torch.inference_mode(mode=False), torch.enable_grad():
            return super().solve(*problem)

    def reason(self) -> StopReason:
        """Run epochs and return the reason to stop."""
        self._begin(load_torch())
        reason = None
        while reason is None:
            parameters = self.epoch(len(self.history.objectives) + 1)
            reason = self.record(self.problem.evaluate(parameters), settles=True)
        if self.history.kept_point is None:
            raise ArgumentError(
                f"{arg.learning_rate(self.settings.learning_rate)} made scores overflow in the "
                "first epoch. Lower it, or scale the features."
            )
        return reason

    def _begin(self, torch: Any) -> None:
        problem, seed = cast("Problem", self.objective), self.settings.seed
        self.problem, self.torch = problem, torch
        self.batches = Batches.of(problem.loss, problem.target, problem.labels, seed)
        start = problem.network.start(np.random.default_rng([seed, _START]))
        self.parameters = torch.tensor(start, device="cpu", requires_grad=True)
        self.decay = torch.tensor(problem.l2 * problem.network.penalised(), device="cpu")
        self.adam = Adam(torch.zeros_like(self.decay), torch.zeros_like(self.decay))
        self.shifts = not problem.loss.shift_invariant

    def epoch(self, number: int) -> Parameters:
        """Use each group once; stop within the epoch if scores overflow."""
        rate = self.settings.learning_rate / np.sqrt(number)
        for batch in self.batches.epoch(number, self.settings.batch_size):
            if not self._step(batch, rate):
                break
        return self.parameters.detach().numpy().copy()

    def _step(self, batch: Batch, rate: float) -> bool:
        problem = self.problem
        dense = problem.standard.dense(problem.features, problem.places[batch.rows])
        inputs = self.torch.tensor(dense, device="cpu")  # aligned, so that a refit has equal bits
        scores = self._scores(inputs)
        _, by_row = loss_at(problem.loss, batch.target, scores.detach().numpy(), batch.scale)
        if by_row is None:
            return False
        # The gradient of a product; to pass a gradient to torch would first load SymPy.
        product = scores.dot(self.torch.from_numpy(by_row))
        (grad,) = self.torch.autograd.grad(product, self.parameters)
        with self.torch.no_grad():
            grad += self.decay * self.parameters
            if not self.shifts:
                grad[-1] = 0.0  # the loss ignores the last bias; only rounding would move it
            self.parameters -= rate * self.adam.direction(grad)
        return True

    def _scores(self, inputs: Any) -> Any:
        """Return the scores of `Network.scores` as a tensor that torch can differentiate."""
        values = inputs
        for number, (weights, biases) in enumerate(self.problem.network.layers(self.parameters)):
            values = (self.torch.relu(values) if number else values) @ weights + biases
        return values[:, 0]


class _OneTorchThread(SharedLimit):
    """A context in which torch has one thread.

    The order of additions depends on the number of threads, which is a setting of the process.
    """

    def begin(self) -> None:
        self._previous_n_threads = load_torch().get_num_threads()
        load_torch().set_num_threads(1)

    def end(self) -> None:
        load_torch().set_num_threads(self._previous_n_threads)


one_torch_thread = _OneTorchThread()
"""The only such context of the process."""
