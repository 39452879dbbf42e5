"""Call each kernel once on small data, so that a fresh install compiles all of them."""

import sys
import warnings
from contextlib import suppress

import numpy as np
import scipy.sparse as sp

import podium
from benchmarks.losses import form_of
from podium import catalogue, evaluation, losses, metrics, rankers
from podium.errors import ArgumentError


def measure_all(folder: str) -> None:
    """Compute all measures of a run, read from files."""
    names = [
        name.removesuffix("@k") + ("" if entry.cutoff == "none" else "@10")
        for name, entry in metrics.REGISTRY.items()
        if name not in ("auc", "pauc2")  # require complete lists, and have the kernel of pap
    ]
    podium.measure(f"{folder}/truth.parquet", f"{folder}/run.parquet", names)


def train_all(rng: np.random.Generator) -> None:
    """Fit a linear ranker with every loss."""
    X, y, qid = rng.random((400, 5)), rng.integers(0, 2, 400), np.repeat(np.arange(10), 40)
    for name in losses.REGISTRY:
        ranker = rankers.LinearRanker(form_of(name, 5), l2=0.1, max_iter=50)
        with suppress(ArgumentError):  # random labels can leave nothing to learn
            ranker.fit(X, y, qid=qid)


def rank_catalogue(rng: np.random.Generator) -> None:
    """Call all functions that rank a catalogue."""
    scores = rng.random((50, 200)).astype(np.float32)
    truth = sp.random_array((50, 200), density=0.05, rng=rng, format="csr")
    truth.data[:] = 1
    catalogue.top_k(scores, 10)
    catalogue.target_ranks(scores, truth)
    evaluation.evaluate(catalogue.rank_blocks(scores, truth, depth=19), ["pap@10", "ndcg@10"])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    generator = np.random.default_rng(0)
    measure_all(sys.argv[1])
    train_all(generator)
    rank_catalogue(generator)
