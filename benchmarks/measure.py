"""Six metrics over 50,000 users x 100 ranked items: podium, a hand-written loop, and peers."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import _harness
from benchmarks._harness import Values
from benchmarks.workload import METRICS, PRIME, Lists, make_lists

SMALL = ("--users=50",)
REFERENCE = "fused numba loop, grouped arrays"


def podium_grouped(lists: Lists) -> Callable[[], Values]:
    """Time podium.measure on arrays with grouped rows and falling scores."""
    import podium

    return lambda: podium.measure(lists.truth, lists.run, METRICS).means


def podium_shuffled(lists: Lists) -> Callable[[], Values]:
    """Time podium.measure on arrays in random row order."""
    return podium_grouped(lists.shuffled())


def podium_strings(lists: Lists) -> Callable[[], Values]:
    """Time podium.measure on a Polars frame with string ids in random row order."""
    import polars as pl

    import podium

    shuffled = lists.shuffled()
    truth, run = (
        pl.DataFrame(table).with_columns(
            pl.format("u{}", "user").alias("user"), pl.format("i{}", "item").alias("item")
        )
        for table in (shuffled.truth, shuffled.run)
    )
    return lambda: podium.measure(truth, run, METRICS).means


def podium_parquet(lists: Lists) -> Callable[[], Values]:
    """Time podium.measure on two parquet files in random row order."""
    import polars as pl

    import podium

    shuffled = lists.shuffled()
    folder = Path(tempfile.mkdtemp())
    paths = folder / "truth.parquet", folder / "run.parquet"
    for columns, path in zip((shuffled.truth, shuffled.run), paths, strict=True):
        pl.DataFrame(columns).write_parquet(path)
    return lambda: podium.measure(*paths, METRICS).means


def fused(lists: Lists) -> Callable[[], Values]:
    """Time one compiled loop that joins and computes all six metrics of a list in one pass."""
    from benchmarks._fused import fused_metrics

    items = lists.run["item"].reshape(lists.n_users, lists.depth)
    weights = 1 / np.log2(np.arange(2, lists.depth + 2))
    user = lists.truth["user"]

    def call() -> Values:
        counts = np.bincount(user, minlength=lists.n_users)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        out = np.empty((lists.n_users, len(METRICS)))
        fused_metrics(items, offsets, lists.truth["item"], lists.truth["relevance"], weights, out)
        return dict(zip(METRICS, out.mean(0), strict=True))

    return call


def pytrec(lists: Lists) -> Callable[[], Values]:
    """Time pytrec_eval, including the conversion to its dictionaries."""
    import pytrec_eval

    names = {
        "ndcg_cut_10": "ndcg@10",
        "ndcg_cut_100": "ndcg@100",
        "P_10": "precision@10",
        "recall_100": "recall@100",
        "map_cut_100": "ap@100",
        "recip_rank": "rr",
    }
    measures = {"ndcg_cut.10,100", "P.10", "recall.100", "map_cut.100", "recip_rank"}

    def call() -> Values:
        truth = _nested(lists.truth, "relevance")
        evaluator = pytrec_eval.RelevanceEvaluator(truth, measures)
        per_user = evaluator.evaluate(_nested(lists.run, "score")).values()
        return {m: sum(v[n] for v in per_user) / len(per_user) for n, m in names.items()}

    return call


def ranx(lists: Lists) -> Callable[[], Values]:
    """Time ranx on pandas frames with string ids, including the conversion to its types."""
    import pandas as pd
    from ranx import Qrels, Run, evaluate

    run, truth = (
        pd.DataFrame(
            {
                "q_id": np.array([f"u{u}" for u in t["user"]], dtype=object),
                "doc_id": np.array([f"i{i}" for i in t["item"]], dtype=object),
                "score": t[value],
            }
        )
        for t, value in ((lists.run, "score"), (lists.truth, "relevance"))
    )
    names = ["ndcg@10", "ndcg@100", "precision@10", "recall@100", "map@100", "mrr"]

    def call() -> Values:
        result = evaluate(Qrels.from_df(truth), Run.from_df(run), names, save_results_in_run=False)
        return dict(zip(METRICS, result.values(), strict=True))

    return call


def _nested(columns: dict[str, np.ndarray], value: str) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {f"u{u}": {} for u in np.unique(columns["user"])}
    rows = zip(
        columns["user"].tolist(), columns["item"].tolist(), columns[value].tolist(), strict=True
    )
    for user, item, number in rows:
        nested[f"u{user}"][f"i{item}"] = number
    return nested


ENTRIES: dict[str, tuple[Callable[[Lists], Callable[[], Values]], int]] = {
    REFERENCE: (fused, 7),
    "podium, grouped arrays": (podium_grouped, 7),
    "podium, shuffled arrays": (podium_shuffled, 5),
    "podium, shuffled parquet": (podium_parquet, 5),
    "podium, shuffled string ids": (podium_strings, 3),
    "pytrec_eval, from arrays": (pytrec, 1),
    "ranx, from pandas": (ranx, 1),
}


def main(argv: list[str] | None = None) -> None:
    """Compare all entries' values with the fused loop's, then print their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        prepare, repeats = ENTRIES[args.entry]
        call = prepare(make_lists(args.users))
        _harness.report(_harness.time_call(args.entry, call, repeats))
        return
    results = {
        name: _harness.in_process("benchmarks.measure", name, ["--users", str(args.users)])
        for name in ENTRIES
    }
    reference = results[REFERENCE]
    rows = []
    for name, result in results.items():
        if isinstance(result, str) or isinstance(reference, str):
            print(f"left out: {name}: {result}")
            continue
        differences = _harness.differing(reference.values, result.values)
        if differences:
            raise SystemExit(f"{name} differs from the fused loop: {differences}")
        ratio = result.cpu_s / reference.cpu_s
        rows.append(
            (name, result.cpu_s, result.wall_s, result.first_s, ratio, round(result.extra_mib))
        )
    _harness.table(
        f"{args.users:,} users x 100 ranked items of {PRIME:,}, {', '.join(METRICS)}",
        ("entry", "CPU s", "wall s", "first call s", "x fused", "peak +MiB"),
        rows,
    )


if __name__ == "__main__":
    main()
