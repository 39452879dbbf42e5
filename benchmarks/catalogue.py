"""The top 100 of 5,000 x 20,000 scores and their metrics, from a matrix and from factors."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks import _harness
from benchmarks._harness import Values
from benchmarks.workload import METRICS

K = 100
REPEATS = 5
SMALL = ("--users=30", "--items=500")

Block = NDArray[np.float32]
Items = NDArray[np.int64]


@dataclass(frozen=True)
class Catalogue:
    """Factors of users and items, and the positive items of each user, which have high scores."""

    users: Block
    items: Block
    truth: Any

    def scores(self) -> Block:
        return self.users @ self.items.T


def make_catalogue(n_users: int, n_items: int, n_factors: int = 64, seed: int = 0) -> Catalogue:
    """Draw factors; a user's positives are the best of 200 random items by score plus noise."""
    rng = np.random.default_rng(seed)
    users = (rng.standard_normal((n_users, n_factors)) / 8).astype(np.float32)
    items = (rng.standard_normal((n_items, n_factors)) / 8).astype(np.float32)
    candidates = rng.integers(0, n_items, (n_users, 200))
    liking = np.einsum("uf,ucf->uc", users, items[candidates])
    liking += 0.15 * rng.standard_normal(liking.shape)
    n_liked = np.clip(rng.lognormal(np.log(20) - 0.32, 0.8, n_users).astype(int), 1, 150)
    user, position = np.nonzero(np.arange(200) < n_liked[:, None])
    item = candidates[user, np.argsort(-liking, axis=1)[user, position]]
    truth = csr_array((np.ones(user.size), (user, item)), shape=(n_users, n_items))
    truth.sum_duplicates()
    truth.data[:] = 1
    return Catalogue(users, items, truth)


def podium_top(scores: Block) -> Items:
    from podium.catalogue import top_k

    return top_k(scores, K)[0]


def numpy_top(scores: Block) -> Items:
    """Select with argpartition for 256 users at a time, then sort the selected items."""
    best = np.empty((len(scores), K), np.int64)
    for start in range(0, len(scores), 256):
        part = scores[start : start + 256]
        chosen = np.argpartition(part, -K, axis=1)[:, -K:]
        order = np.argsort(-np.take_along_axis(part, chosen, 1), axis=1)
        best[start : start + 256] = np.take_along_axis(chosen, order, 1)
    return best


def torch_top(scores: Block) -> Items:
    import torch

    return torch.topk(torch.from_numpy(scores), K, dim=1).indices.numpy()


def faiss_top(scores: Block) -> Items:
    import faiss

    values = np.empty((len(scores), K), np.float32)
    items = np.empty((len(scores), K), np.int64)
    heap = faiss.float_minheap_array_t()
    heap.k, heap.nh = K, len(scores)
    heap.val, heap.ids = faiss.swig_ptr(values), faiss.swig_ptr(items)
    heap.heapify()
    heap.addn(scores.shape[1], faiss.swig_ptr(scores))
    heap.reorder()
    return items


TOPS: dict[str, Callable[[Block], Items]] = {
    "podium.top_k": podium_top,
    "numpy argpartition": numpy_top,
    "torch.topk": torch_top,
    "faiss heap": faiss_top,
}


def plain_metrics(truth: Any, top: Items) -> Values:
    """Compute the six metrics of top-100 lists with binary truth in NumPy, for the peers."""
    n_users, n_items = truth.shape
    n_liked = np.diff(truth.indptr)
    liked_pairs = np.repeat(np.arange(n_users, dtype=np.int64), n_liked) * n_items + truth.indices
    top_pairs = np.arange(n_users, dtype=np.int64)[:, None] * n_items + top
    position = np.minimum(np.searchsorted(liked_pairs, top_pairs), liked_pairs.size - 1)
    hit = (liked_pairs[position] == top_pairs).astype(float)
    weight = 1 / np.log2(np.arange(2, K + 2))
    ideal = (np.arange(K) < n_liked[:, None]) * weight
    rank = np.arange(1, K + 1)
    return {
        "ndcg@10": ((hit[:, :10] @ weight[:10]) / ideal[:, :10].sum(1)).mean(),
        "ndcg@100": ((hit @ weight) / ideal.sum(1)).mean(),
        "precision@10": hit[:, :10].mean(),
        "recall@100": (hit.sum(1) / n_liked).mean(),
        "ap@100": ((hit * np.cumsum(hit, axis=1) / rank).sum(1) / n_liked).mean(),
        "rr": (hit / rank).max(axis=1).mean(),
    }


def podium_metrics(scores: Any, truth: Any) -> Values:
    from podium.catalogue import rank_blocks
    from podium.evaluation import evaluate

    # No peer orders equal float32 scores by "id", but like peers it ignores the truth. The
    # default "worst" costs the same, and its values differ in the sixth decimal.
    return evaluate(rank_blocks(scores, truth, depth=K, ties="id"), METRICS).means


def product_top(data: Catalogue) -> Items:
    """Multiply and select for 256 users at a time, like recommenders without an index."""
    return np.concatenate(
        [
            numpy_top(data.users[start : start + 256] @ data.items.T)
            for start in range(0, len(data.users), 256)
        ]
    )


def entries(data: Catalogue, names: list[str]) -> dict[str, Callable[[], Values]]:
    """Return the calls by name; the score matrix is computed only if one of the names needs it."""
    needs_scores = any(not name.startswith("factors") for name in names)
    scores = data.scores() if needs_scores else np.empty((0, 0), np.float32)
    calls: dict[str, Callable[[], Values]] = {
        "read: numpy max": lambda: {"max": float(scores.max())},
        "metrics: podium.rank_blocks": lambda: podium_metrics(scores, data.truth),
        "factors: podium.rank_blocks": lambda: podium_metrics((data.users, data.items), data.truth),
        "factors: numpy": lambda: plain_metrics(data.truth, product_top(data)),
        "factors: products alone": lambda: _products(data),
    }
    for name, top in TOPS.items():
        calls[f"top: {name}"] = lambda top=top: {"items": float(top(scores).sum())}
        if top is not podium_top:
            calls[f"metrics: {name}"] = lambda top=top: plain_metrics(data.truth, top(scores))
    return calls


def _products(data: Catalogue) -> Values:
    last = 0.0
    for start in range(0, len(data.users), 256):
        last = float((data.users[start : start + 256] @ data.items.T)[0, 0])
    return {"last": last}


def check_equal(data: Catalogue) -> None:
    """Exit if podium's best scores differ from those of argpartition in any bit."""
    scores = data.scores()
    podium_scores = np.take_along_axis(scores, podium_top(scores), 1)
    if not np.array_equal(podium_scores, np.take_along_axis(scores, numpy_top(scores), 1)):
        raise SystemExit("podium.top_k and numpy argpartition select different scores")


def main(argv: list[str] | None = None) -> None:
    """Compare the values for some of the users, then print the figures and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=5_000)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        data = make_catalogue(args.users, args.items)
        call = entries(data, [args.entry])[args.entry]
        _harness.report(_harness.time_call(args.entry, call, REPEATS))
        return
    check_equal(make_catalogue(min(args.users, 500), args.items))
    # A second BLAS thread would spin while scores are ranked, which counts as CPU time.
    os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1")
    for kind, reference in (
        ("read", "read: numpy max"),
        ("top", "top: podium.top_k"),
        ("metrics", "metrics: podium.rank_blocks"),
        ("factors", "factors: podium.rank_blocks"),
    ):
        _compare(kind, reference, args)


def _compare(kind: str, reference: str, args: argparse.Namespace) -> None:
    """Time the entries of a kind, exit if their values differ, and print a table."""
    empty = Catalogue(np.empty((0, 1), np.float32), np.empty((0, 1), np.float32), None)
    names = [n for n in entries(empty, []) if n.startswith(kind)]
    names.sort(key=lambda name: name != reference)
    options = ["--users", str(args.users), "--items", str(args.items)]
    reference_timing, rows = None, []
    for name in names:
        timing = _harness.in_process("benchmarks.catalogue", name, options)
        if isinstance(timing, str):
            print(f"left out: {name}: {timing}")
            continue
        reference_timing = reference_timing or timing
        # Sums of items differ if equal float32 scores end a list; check_equal compares the scores.
        differences = (
            _harness.differing(reference_timing.values, timing.values, 1e-5)
            if kind != "top"
            else []
        )
        if differences:
            raise SystemExit(f"{name} has other values: {differences}")
        rows.append(
            (
                name,
                timing.cpu_s,
                timing.cpu_s / reference_timing.cpu_s,
                timing.wall_s,
                timing.extra_mib,
            )
        )
    _harness.table(
        f"{kind}, {args.users:,} users x {args.items:,} items, top {K}",
        ("entry", "CPU s", "x podium", "wall s", "+MiB"),
        rows,
    )


if __name__ == "__main__":
    main()
