"""Training of a network with torch: Adam over mini-batches of groups, measured by epoch."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.losses import Loss
from podium.rankers.batches import Batch, Batches
from podium.rankers.neural._network import Network, Standard, blocks
from podium.rankers.objective import Labels, Parameters, Point, dot, loss_at
from podium.rankers.solvers import History, Settings, Solution
from podium.rankers.solvers._common import StopReason, Validate
from podium.types import PerRow, Progress, RowIndex

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
            scores = scores_of(self.network, self.standard, parameters, self.features)
            loss, _ = loss_at(self.loss, self.target, scores[self.places])
            penalised = self.network.penalised() * parameters
            penalty = 0.5 * self.l2 * dot(penalised, penalised)
        return Point(parameters, loss, penalty, _NOTHING)


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


def train(
    problem: Problem, settings: Settings, validate: Validate | None, progress: Progress
) -> Solution:
    """Run epochs until convergence, patience or max_iter; return the best epoch.

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
    torch, history = load_torch(), History(settings.keep)
    reason: StopReason | None = None
    with one_torch_thread, torch.inference_mode(mode=False), torch.enable_grad():
        run = _Run(problem, settings, torch)
        while reason is None:
            history.add(problem.evaluate(run.epoch(len(history.objectives) + 1)), validate)
            reason = history.stop_reason(settings, settles=True)
            done = settings.max_iter if reason else len(history.objectives)
            progress(done, settings.max_iter, history.note())
    best_point = history.kept_point
    if best_point is None:
        raise ArgumentError(
            f"{arg.learning_rate(settings.learning_rate)} made scores overflow in the first epoch. "
            "Lower it, or scale the features."
        )
    remaining = history.range_text(settings.tol)
    return Solution(best_point.parameters, best_point.objective, reason, history, remaining)


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


class _Run:
    """The weights and their optimiser."""

    def __init__(self, problem: Problem, settings: Settings, torch: Any) -> None:
        self.problem, self.settings, self.torch = problem, settings, torch
        self.batches = Batches.of(problem.loss, problem.target, problem.labels, settings.seed)
        start = problem.network.start(np.random.default_rng([settings.seed, _START]))
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
        activate = getattr(self.torch, self.problem.network.activation)
        values = inputs
        for number, (weights, biases) in enumerate(self.problem.network.layers(self.parameters)):
            values = (activate(values) if number else values) @ weights + biases
        return values[:, 0]


class _OneTorchThread:
    """A context in which torch has one thread; the last of several that overlap restores it.

    The order of additions depends on the number of threads, which is a setting of the process.
    """

    def __init__(self) -> None:
        self._lock, self._n_entered, self._previous_n_threads = threading.Lock(), 0, 1

    def __enter__(self) -> None:
        torch = load_torch()
        with self._lock:
            if not self._n_entered:
                self._previous_n_threads = torch.get_num_threads()
            torch.set_num_threads(1)
            self._n_entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_entered -= 1
            if not self._n_entered:
                load_torch().set_num_threads(self._previous_n_threads)


one_torch_thread = _OneTorchThread()
"""The only such context of the process."""
