"""Value and gradient of each loss, on lists of equal and of very unequal lengths."""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time

import numpy as np

from benchmarks import _harness
from podium import losses
from podium.groups import Groups

REPEATS = 21
SMALL = ("--lists=20",)


def even(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return the sizes of lists of 100 items."""
    return np.full(n, 100)


def skewed(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return sizes of lists of very unequal lengths, with about the same total."""
    sizes = np.maximum(rng.lognormal(3.3, 1.4, n), 2)
    return np.maximum((sizes / sizes.sum() * 100 * n).astype(int), 2)


def forms(name: str) -> list[str]:
    """Return the names of the loss without a cutoff and with a cutoff of 10, if they exist."""
    cut = form_of(name, 10)
    fields = {field.name: field for field in dataclasses.fields(losses.REGISTRY[name])}
    return [name, cut] if "k" in fields and fields["k"].default is None else [cut]


def form_of(name: str, k: int) -> str:
    """Return the loss with cutoff k if it has one, or 1 for listnet-luce, which costs n^k."""
    if "k" not in losses.REGISTRY[name].__dataclass_fields__:
        return name
    return f"{name}@{1 if name == 'listnet-luce' else k}"


def milliseconds(loss: losses.Loss, sizes: np.ndarray, rng: np.random.Generator) -> float:
    """Return the median CPU milliseconds of one call of value_and_grad."""
    groups = Groups.from_sizes(sizes)
    relevance = (rng.random(groups.n_rows) < 0.2).astype(float)
    scores = rng.standard_normal(groups.n_rows)
    target = loss.prepare(relevance, groups)
    loss.value_and_grad(scores, target)
    times = []
    for _ in range(_harness.times(REPEATS)):
        start = time.process_time()
        loss.value_and_grad(scores, target)
        times.append(time.process_time() - start)
    return 1000 * statistics.median(times)


def main(argv: list[str] | None = None) -> None:
    """Print milliseconds by loss and by shape of lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=1_000)
    n = parser.parse_args(argv).lists
    rng = np.random.default_rng(0)
    rows = []
    for text in (text for name in losses.REGISTRY for text in forms(name)):
        loss = losses.get(text)
        rows.append((text, *(milliseconds(loss, make(rng, n), rng) for make in (even, skewed))))
    _harness.table(
        f"Loss and gradient, {100 * n:,} items, CPU ms", ("loss", f"{n:,} x 100", "unequal"), rows
    )


if __name__ == "__main__":
    main()
