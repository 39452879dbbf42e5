"""Listwise and pairwise losses: value and gradient, compared with a loop by hand, Rax and torch.

Every contender runs in a separate process on one core. There its values and gradients are first
compared with podium's, then the two are called in turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks import _harness
from benchmarks._harness import Timing
from podium import losses
from podium.groups import Groups

K = 10
SECONDS = 1.5  # the duration of the calls per contender
SHAPES = ("even", "unequal")
SMALL = ("--lists=30",)
BOTH = "podium, both shapes"

Call = Callable[[], tuple[Any, Any]]  # returns the value or values, and the gradient by row or cell


@dataclass(frozen=True)
class Lists:
    """Scores and grades of lists as flat arrays; `padded` returns the padded array of peers."""

    sizes: Any
    scores: Any
    labels: Any

    @cached_property
    def groups(self) -> Groups:
        """The rows of each list."""
        return Groups.from_sizes(self.sizes)

    @property
    def offsets(self) -> Any:
        return self.groups.offsets

    @cached_property
    def mask(self) -> Any:
        """The cells of the padded array that are rows: bool, (n_lists, longest)."""
        return np.arange(self.sizes.max()) < self.sizes[:, None]

    def padded(self, column: Any) -> Any:
        """Return a column as float32, (n_lists, longest), with 0 in the padding."""
        cells = np.zeros(self.mask.shape, np.float32)
        cells[self.mask] = column
        return cells

    def rows(self, grad: Any) -> Any:
        """Return a gradient by row from a gradient by row or by cell."""
        array = np.asarray(grad)
        return array[self.mask] if array.shape == self.mask.shape else array


def make(shape: str, n_lists: int, *, distinct: bool) -> Lists:
    """Return lists of 100 rows each ("even"), or of 5 to 1,000 rows with a median of 70.

    One tenth of the rows have a grade from 1 to 4. With `distinct`, all grades in a list differ.
    """
    rng = np.random.default_rng(7)
    unequal = np.clip(rng.lognormal(np.log(70), 1.0, n_lists), 5, 1000).astype(int)
    sizes = unequal if shape == "unequal" else np.full(n_lists, 100)
    n = int(sizes.sum())
    scores = rng.standard_normal(n).astype(np.float32).astype(float)  # exact in float32
    labels = (rng.random(n) < 0.1) * rng.integers(1, 5, n).astype(float)
    labels[np.cumsum(sizes) - sizes] = 1.0
    if distinct:
        labels = np.concatenate([rng.permutation(size) for size in sizes]).astype(float)
    return Lists(sizes, scores, labels)


def podium(loss: Any, lists: Lists, *, pooled: bool = False) -> Call:
    """Return podium's call with a prepared target; `pooled` weights lists by their pairs."""
    target = loss.prepare(lists.labels, lists.groups)
    if pooled:
        weights = target.n_pairs[lists.groups.index]
        target = loss.prepare(lists.labels, lists.groups, weights=weights)

    def call() -> tuple[Any, Any]:
        values, grad = loss.value_and_grad(lists.scores, target)
        return values, grad

    return call


def floor(loss: Any, lists: Lists) -> Call:
    """Return the call of the hand-written loop, with the order that podium drew."""
    from benchmarks._listwise_floor import top_k

    order = loss.prepare(lists.labels, lists.groups).rows[0]
    k = loss.k or int(lists.sizes.max())

    def call() -> tuple[Any, Any]:
        values, grad = np.empty(lists.sizes.size), np.empty(lists.scores.size)
        top_k(lists.scores, order, lists.offsets, k, np.empty(k), values, grad)
        return values, grad

    return call


def through_torch(loss: Any, lists: Lists) -> Call:
    """Return the call of podium's loss through torch's autograd."""
    import torch

    from podium.torch import as_torch

    torch.set_num_threads(1)
    prepared = as_torch(loss).prepare(lists.labels, lists.groups.index)
    scores = torch.from_numpy(lists.scores.astype(np.float32)).requires_grad_(True)

    def call() -> tuple[Any, Any]:
        scores.grad = None
        value = prepared(scores)
        value.backward()
        return value.item(), scores.grad

    return call


def torch_padded(form: str) -> Callable[[Any, Lists], Call]:
    """Return a builder of the calls of a loss in _listwise_torch.py."""

    def build(_: Any, lists: Lists) -> Call:
        from benchmarks import _listwise_torch

        return _listwise_torch.padded(getattr(_listwise_torch, form), lists)

    return build


def torch_flat(loss: Any, lists: Lists) -> Call:
    """Return the call of top-k ListMLE on flat rows in torch, with the order that podium drew."""
    from benchmarks._listwise_torch import flat_top_k

    return flat_top_k(lists, loss.k, loss.prepare(lists.labels, lists.groups).rows[0])


def rax(name: str) -> Callable[[Any, Lists], Call]:
    """Return a builder of the calls of a loss of Rax."""

    def build(_: Any, lists: Lists) -> Call:
        from benchmarks._listwise_rax import padded

        return padded(name, lists)

    return build


@dataclass(frozen=True)
class Entry:
    """A contender and the loss of podium with which it is timed in turns.

    Attributes
    ----------
    build : (loss, lists) -> call
    loss : str
        The loss of podium with which it is timed.
    equal_loss : str
        The loss of podium with the same values.
    distinct : bool
        Whether the values agree only on lists without ties.
    pairs : bool
        Whether its mean is over the pairs of all lists. Such a contender stores a cell for every
        two rows, which is too much for unequal lists.
    """

    build: Callable[[Any, Lists], Call]
    loss: str
    equal_loss: str
    distinct: bool = False
    pairs: bool = False


LISTMLE = {
    "loop by hand, top 10": Entry(floor, "listmle@10", "listmle@10"),
    "podium through torch, top 10": Entry(through_torch, "listmle@10", "listmle@10"),
    "torch, flat segments, top 10": Entry(torch_flat, "listmle@10", "listmle@10"),
    "torch, padded as in allRank, whole lists": Entry(
        torch_padded("list_mle"), "listmle@10", "listmle", distinct=True
    ),
    "Rax listmle_loss, whole lists": Entry(
        rax("listmle_loss"), "listmle@10", "listmle", distinct=True
    ),
}
OTHERS = {
    "loop by hand, whole lists": Entry(floor, "listmle", "listmle"),
    "torch, padded as in allRank": Entry(
        torch_padded("list_mle"), "listmle", "listmle", distinct=True
    ),
    "Rax listmle_loss": Entry(rax("listmle_loss"), "listmle", "listmle", distinct=True),
    "Rax softmax_loss": Entry(rax("softmax_loss"), "softmax", "softmax"),
    "torch, padded ListNet": Entry(torch_padded("list_net"), "listnet", "listnet"),
    "Rax pairwise_hinge_loss": Entry(
        rax("pairwise_hinge_loss"), "pairwise-hinge", "pairwise-hinge", pairs=True
    ),
    "Rax pairwise_logistic_loss": Entry(
        rax("pairwise_logistic_loss"), "pairwise-logistic", "pairwise-logistic", pairs=True
    ),
}
ENTRIES = LISTMLE | OTHERS


def measure(name: str, shape: str, n_lists: int) -> Timing:
    """Compare the values of a contender with podium's, then time both in turns on graded lists."""
    entry = ENTRIES[name]
    _compare(name, entry, make(shape, n_lists, distinct=entry.distinct))
    lists = make(shape, n_lists, distinct=False)
    loss = losses.get(entry.loss)
    contender_s, podium_s, first = _in_turns(entry.build(loss, lists), podium(loss, lists))
    return Timing(name, contender_s, 0.0, first, 0.0, {"podium": podium_s})


def by_row(n_lists: int) -> Timing:
    """Time podium's top-10 ListMLE on lists of both shapes in turns: CPU seconds per row."""
    lists = [make(shape, n_lists, distinct=False) for shape in SHAPES]
    calls = [podium(losses.get("listmle@10"), lists_of_shape) for lists_of_shape in lists]
    *times, first = _in_turns(*calls)
    by_shape = zip(SHAPES, times, lists, strict=True)
    seconds_per_row = {
        shape: seconds / lists_of_shape.scores.size for shape, seconds, lists_of_shape in by_shape
    }
    return Timing(BOTH, times[0], 0.0, first, 0.0, seconds_per_row)


def _compare(name: str, entry: Entry, lists: Lists) -> None:
    """Exit if values and gradients differ by more than the precision of float32."""
    equal_loss = losses.get(entry.equal_loss)
    values, grad = podium(equal_loss, lists, pooled=entry.pairs)()
    contender_values, by_cell = entry.build(equal_loss, lists)()
    value_difference = abs(float(np.mean(contender_values)) / float(np.mean(values)) - 1.0)
    grad_difference = np.abs(lists.rows(by_cell) - grad).max() / np.abs(grad).max()
    if not (value_difference < 1e-5 and grad_difference < 1e-4):
        raise SystemExit(
            f"{name} differs from podium's {equal_loss!r} by {value_difference:.1e} and "
            f"{grad_difference:.1e}"
        )


def _in_turns(contender: Call, reference: Call) -> tuple[float, float, float]:
    """Return the median CPU seconds of both calls, and those of the contender's first call."""
    first = _cpu(contender)
    reference()
    calls = _harness.times(min(101, max(5, int(SECONDS / max(_cpu(contender), 1e-3)))))
    times = [(_cpu(contender), _cpu(reference)) for _ in range(calls)]
    contender_median, reference_median = (
        statistics.median(column) for column in zip(*times, strict=True)
    )
    return contender_median, reference_median, first


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main(argv: list[str] | None = None) -> None:
    """Print the times of top-10 ListMLE and of other losses, by shape of the lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES)
    parser.add_argument("--lists", type=int, default=1_000)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        _one_core()
        shape = args.shape or SHAPES[0]
        _harness.report(
            by_row(args.lists) if args.entry == BOTH else measure(args.entry, shape, args.lists)
        )
        return
    shapes = [args.shape] if args.shape else SHAPES
    rows_by_shape = {shape: _rows(LISTMLE, shape, args.lists) for shape in shapes}
    for shape in shapes:
        lists = make(shape, args.lists, distinct=False)
        cells = lists.mask.size / lists.scores.size
        title = f"{shape}: {lists.scores.size:,} rows, {cells:.1f} padded cells per row, CPU ms"
        columns = ("contender", "podium's loss", "ms", "podium ms", "x podium")
        _harness.table(f"Top-10 ListMLE, {title}", columns, rows_by_shape[shape])
        _harness.table(f"Other losses, {title}", columns, _rows(OTHERS, shape, args.lists))
    if len(shapes) > 1:
        _both_shapes(args.lists)


def _both_shapes(n_lists: int) -> None:
    timing = _harness.in_process("benchmarks.listwise", BOTH, [f"--lists={n_lists}"])
    if isinstance(timing, str):
        raise SystemExit(timing)
    rows = [(shape, 1e9 * timing.values[shape]) for shape in SHAPES]
    _harness.table("podium's listmle@10, both shapes in turns, CPU", ("lists", "ns per row"), rows)


def _rows(entries: dict[str, Entry], shape: str, n_lists: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for name, entry in entries.items():
        if entry.pairs and shape == "unequal":
            continue
        timing = _harness.in_process(
            "benchmarks.listwise", name, [f"--shape={shape}", f"--lists={n_lists}"]
        )
        if isinstance(timing, str):
            print(f"left out: {name}: {timing}")
            continue
        podium_s = timing.values["podium"]
        rows.append((name, entry.loss, 1e3 * timing.cpu_s, 1e3 * podium_s, timing.cpu_s / podium_s))
    return rows


def _one_core() -> None:
    """Restrict the process to one core, which also limits JAX's pool of threads."""
    if hasattr(os, "sched_setaffinity") and not _harness.is_small():
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["OMP_NUM_THREADS"] = "1"


if __name__ == "__main__":
    main()
