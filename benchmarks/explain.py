"""The cost of podium.explain beside measure, and how often planted conventions are found.

``python -m benchmarks explain --planted 1000`` changes one or two conventions at random, prints the
value to four digits, and searches for it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import _harness
from benchmarks._harness import Values
from benchmarks.workload import Lists, make_lists

SMALL = ("--users=200", "--planted=10")
MEASURES = ("ndcg@10", "ap@10", "recall@10", "precision@10", "rr@10")
VALUE = "0.3000"
N_DIGITS = 4


def measured(lists: Lists) -> Callable[[], Values]:
    """Time podium.measure once."""
    import podium

    def call() -> Values:
        return {"ndcg@10": podium.measure(lists.truth, lists.run, "ndcg@10").means["ndcg@10"]}

    return call


def searched(lists: Lists) -> Callable[[], Values]:
    """Time the search of a value."""
    return _explained(lists, value=VALUE)


def searched_with_ties(lists: Lists) -> Callable[[], Values]:
    """Time the search where nearly all users have equal scores."""
    run = {**lists.run, "score": np.round(lists.run["score"], 1)}
    return _explained(Lists(lists.n_users, lists.depth, run, lists.truth), value=VALUE)


def stepped(lists: Lists) -> Callable[[], Values]:
    """Time the steps to a package."""
    return _explained(lists, like="recbole")


def _explained(lists: Lists, **question: Any) -> Callable[[], Values]:
    import podium

    def call() -> Values:
        result = podium.explain(lists.truth, lists.run, "ndcg@10", **question)
        if result.search is not None:
            return {"ndcg@10": result.search.default}
        return {"ndcg@10": result.packages[0].start}

    return call


ENTRIES: dict[str, Callable[[Lists], Callable[[], Values]]] = {
    "podium.measure": measured,
    "explain --value": searched,
    "explain --like recbole": stepped,
    "explain --value, equal scores": searched_with_ties,
}


def _compare_cost(n_users: int) -> None:
    rows = []
    timings: dict[str, Any] = {
        name: _harness.in_process("benchmarks.explain", name, [f"--users={n_users}"])
        for name in ENTRIES
    }
    reference = timings["podium.measure"]
    for name, timing in timings.items():
        if "equal scores" not in name and _harness.differing(reference.values, timing.values):
            raise SystemExit(f"{name} has another value of ndcg@10 than podium.measure")
        rows.append((name, timing.cpu_s, timing.wall_s, timing.cpu_s / reference.cpu_s))
    title = f"{n_users:,} users x 100 items, ndcg@10"
    _harness.table(title, ("entry", "CPU s", "wall s", "x measure"), rows)


# --- Planted conventions --------------------------------------------------------------------------


def _tables(n_users: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield a name, a truth and a run: one generated, one of customers of Online Retail."""
    from podium import data

    yield ("generated", *_generated(n_users))
    shop = data.load_onlineretail()
    bought = shop.quantity > 0
    user, item = shop.user[bought], shop.item[bought]
    split = data.splits.by_time_per_user(user, shop.minute[bought], test=0.2)
    pairs, counts = np.unique(np.stack([user, item])[:, split.test], axis=1, return_counts=True)
    grades = np.minimum(counts, 3).astype(np.float64)
    truth = {"user": pairs[0], "item": pairs[1], "relevance": grades}
    yield ("Online Retail", truth, _bought_before(user[split.train], item[split.train], n_users))


def _generated(n_users: int) -> tuple[Any, Any]:
    """Return tables with equal and nearly equal scores, grades, and missing users and items."""
    rng = np.random.default_rng(1)
    user, item = np.repeat(np.arange(n_users), 30), rng.integers(0, 10, 30 * n_users)
    item += 10 * np.tile(np.arange(30), n_users)
    liking = rng.standard_normal(user.size)
    score = np.round(liking + rng.standard_normal(user.size), 1)
    score += 1e-9 * rng.integers(-1, 2, user.size)
    grades = np.clip(np.round(liking + 0.3), 0, 3)
    is_judged, is_listed = rng.random(user.size) < 0.5, rng.random(user.size) < 0.8
    is_listed &= user % 20 != 0
    truth = {"user": user[is_judged], "item": item[is_judged], "relevance": grades[is_judged]}
    return truth, {"user": user[is_listed], "item": item[is_listed], "score": score[is_listed]}


def _bought_before(user: Any, item: Any, n_users: int) -> Any:
    """Return a run: the products that a customer bought before, by the number of purchases."""
    first = np.isin(user, np.unique(user)[:n_users])
    pairs, counts = np.unique(np.stack([user, item])[:, first], axis=1, return_counts=True)
    return {"user": pairs[0], "item": pairs[1], "score": counts.astype(np.float64)}


def _planted(name: str, truth: Any, run: Any, n_cases: int) -> tuple[Any, ...]:
    """Return the shares of cases by what the search finds."""
    from podium.data import read_run, read_truth
    from podium.data.join import Join
    from podium.decide.explain.table import Readings, ValueTable
    from podium.metrics import parse
    from podium.protocol import Conventions

    rng = np.random.default_rng(0)
    counts: Counter[str] = Counter()
    join = Join.of(read_truth(truth), read_run(run))
    for text in MEASURES:
        table = ValueTable(Readings(join, Conventions()), parse(text), Conventions())
        counts.update(_outcome(table, rng) for _ in range(n_cases // len(MEASURES)))
    n_visible = counts.total() - counts["hidden"]
    shares = (counts[outcome] / max(n_visible, 1) for outcome in OUTCOMES)
    return name, counts.total(), n_visible / counts.total(), *shares


OUTCOMES = ("named", "among answers", "false")


def _outcome(table: Any, rng: np.random.Generator) -> str:
    """Plant one or two conventions and search their value."""
    from podium.decide.explain.numbers import Number
    from podium.decide.explain.search import search
    from podium.protocol import Protocol

    axes = [(name, values[1:]) for name, values in table.conventions.items() if values[1:]]
    some = rng.permutation(len(axes))[: rng.integers(1, 3)]
    cause: Any = tuple((axes[at][0], rng.choice(axes[at][1])) for at in some)
    value = table.mean(table.choice(cause))
    printed = f"{value:.{N_DIGITS}f}"
    if np.isnan(value) or printed == f"{table.mean(table.defaults):.{N_DIGITS}f}":
        return "hidden"
    number = Number.of(table.measure, printed)
    answer = search([table], [number], Protocol.of(str(table.measure)))
    is_true = [abs(match.value - value) < 1e-11 for match in answer.matches]
    if answer.is_determined:
        return "named" if is_true[0] else "false"
    return "among answers" if any(is_true) else "lost"


def main(argv: list[str] | None = None) -> None:
    """Compare the costs, then search planted conventions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--planted", type=int, default=0, metavar="CASES")
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        lists = make_lists(args.users)
        _harness.report(_harness.time_call(args.entry, ENTRIES[args.entry](lists), 3))
        return
    _compare_cost(args.users)
    if args.planted:
        columns = ("data", "cases", "visible", *OUTCOMES)
        rows = [_planted(*tables, args.planted) for tables in _tables(2000)]
        _harness.table(f"one or two conventions, {N_DIGITS} digits: shares", columns, rows)


if __name__ == "__main__":
    main()
