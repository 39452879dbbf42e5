"""Value and gradient of each loss, on lists of equal and of very unequal length."""

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


def even(rng: np.random.Generator) -> np.ndarray:
    """Return 1,000 lists of 100 items."""
    return np.full(1000, 100)


def skewed(rng: np.random.Generator) -> np.ndarray:
    """Return 100,000 items in lists of very unequal length."""
    sizes = np.maximum(rng.lognormal(3.3, 1.4, 1000), 2)
    return np.maximum((sizes / sizes.sum() * 100_000).astype(int), 2)


def forms(name: str) -> list[str]:
    """Return the loss as it is and with a cutoff of 10, as far as there are such forms."""
    fields = {field.name: field for field in dataclasses.fields(losses.REGISTRY[name])}
    if "k" not in fields:
        return [name]
    if name == "listnet-luce":
        return [f"{name}@1"]  # the number of its terms rises as the k-th power of a list's length
    return [name, f"{name}@10"] if fields["k"].default is None else [f"{name}@10"]


def milliseconds(loss: losses.Loss, sizes: np.ndarray, rng: np.random.Generator) -> float:
    """Return the median CPU milliseconds of one call of value_and_grad."""
    groups = Groups.from_sizes(sizes)
    relevance = (rng.random(groups.n_rows) < 0.2).astype(float)
    scores = rng.standard_normal(groups.n_rows)
    target = loss.prepare(relevance, groups)
    loss.value_and_grad(scores, target)
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        loss.value_and_grad(scores, target)
        taken.append(time.process_time() - start)
    return 1000 * statistics.median(taken)


def main(argv: list[str] | None = None) -> None:
    """Print milliseconds by loss and by shape of the lists."""
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    rng = np.random.default_rng(0)
    rows = []
    for text in (text for name in losses.REGISTRY for text in forms(name)):
        loss = losses.get(text)
        rows.append((text, *(milliseconds(loss, make(rng), rng) for make in (even, skewed))))
    _harness.table(
        "Loss and gradient, 100,000 items, CPU ms", ("loss", "1,000 x 100", "unequal"), rows
    )


if __name__ == "__main__":
    main()
