"""The cost of gate, compare and audit beside measure, and the errors of the gate over replays.

``python -m benchmarks decide --errors 10000`` replays gates on users drawn from real values per
user whose true difference is known: -margin, or zero after base and candidate were exchanged at
random. A replay has a false claim if it says superior at zero, or passes at -margin.
``--pairs FILE`` adds the values of a table of users and items, such as MovieLens-1M.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import _harness
from benchmarks._harness import Values
from benchmarks.workload import PRIME, Lists, make_lists

SMALL = ("--users=300", "--errors=5")
MEASURES = ("ndcg@10", "recall@10", "precision@1")
GUARDS = {"recall@10": -0.01, "precision@1": -0.01}
N_PEEKS = 50


# --- Cost -----------------------------------------------------------------------------------------


def _candidate(lists: Lists) -> dict[str, Any]:
    """Return a second run: the same items with other scores."""
    noise = np.random.default_rng(2).random(lists.run["score"].size)
    return {**lists.run, "score": noise}


def measured_twice(lists: Lists) -> Callable[[], Values]:
    """Time two calls of podium.measure, whose values are subtracted."""
    import podium

    runs = lists.run, _candidate(lists)

    def call() -> Values:
        base, candidate = (podium.measure(lists.truth, run, MEASURES).values for run in runs)
        differences = {name: float(np.mean(candidate[name] - base[name])) for name in MEASURES}
        return {**differences, "ndcg@10 of the base": float(base["ndcg@10"].mean())}

    return call


def audit(lists: Lists) -> Callable[[], Values]:
    """Time podium.audit of the base, with a training part of ten pairs per user."""
    import podium

    rng = np.random.default_rng(3)
    n_rows = 10 * lists.n_users
    train = {
        "user": np.repeat(np.arange(lists.n_users), 10),
        "item": rng.integers(PRIME, size=n_rows),
    }

    def call() -> Values:
        result = podium.audit(train, lists.truth, {"base": lists.run}, "ndcg@10")
        return {"ndcg@10 of the base": result.context["value of base"]}

    return call


def gate(lists: Lists) -> Callable[[], Values]:
    """Time podium.gate with two guards."""
    import podium

    runs = lists.run, _candidate(lists)

    def call() -> Values:
        result = podium.gate(lists.truth, *runs, "ndcg@10", margin=0.002, guards=GUARDS)
        return {claim.measure: claim.difference for claim in result.claims}

    return call


def gate_any_time(lists: Lists) -> Callable[[], Values]:
    """Time the first look of a sequential gate with two guards."""
    import tempfile

    import podium

    runs = lists.run, _candidate(lists)

    def call() -> Values:
        with tempfile.TemporaryDirectory() as folder:
            result = podium.gate(
                lists.truth,
                *runs,
                "ndcg@10",
                margin=0.002,
                guards=GUARDS,
                state=Path(folder) / "state",
            )
        return {claim.measure: claim.difference for claim in result.claims}

    return call


def compare(lists: Lists) -> Callable[[], Values]:
    """Time podium.compare of two runs, also in four segments."""
    return _comparison(lists, by="n_pos")


def compare_seeds(lists: Lists) -> Callable[[], Values]:
    """Time podium.compare over two equal seeds."""
    runs = {"base": lists.run, "candidate": _candidate(lists)}
    return _comparison(lists, {name: [run, run] for name, run in runs.items()})


def compare_shown(lists: Lists) -> Callable[[], Values]:
    """Time podium.compare, also by four measures of the items shown."""
    names = [f"{name}@10" for name in ("coverage", "gini", "novelty", "popularity")]
    return _comparison(lists, measures=(*MEASURES, *names), catalogue=lists.truth)


def compare_bounds(lists: Lists) -> Callable[[], Values]:
    """Time podium.compare with ranges over unjudged items, which are all items not relevant."""
    return _comparison(lists, unjudged="bounds", ties="id")


def _comparison(
    lists: Lists, runs: Any = None, *, measures: tuple[str, ...] = MEASURES, **options: Any
) -> Callable[[], Values]:
    import podium

    given = runs or {"base": lists.run, "candidate": _candidate(lists)}

    def call() -> Values:
        result = podium.compare(lists.truth, given, measures, n_permutations=100, **options)
        return {name: result.difference(name, "candidate").test.difference for name in MEASURES}

    return call


REFERENCE = "podium.measure, twice"
ENTRIES: dict[str, tuple[Callable[[Lists], Callable[[], Values]], int]] = {
    REFERENCE: (measured_twice, 3),
    "podium.gate, two guards": (gate, 3),
    "podium.gate, sequential": (gate_any_time, 3),
    "podium.compare, 4 segments": (compare, 3),
    "podium.compare, two seeds": (compare_seeds, 1),
    "podium.compare, items shown": (compare_shown, 1),
    "podium.compare, bounds": (compare_bounds, 1),
    "podium.audit, one run": (audit, 1),
}


def _compare_cost(n_users: int) -> None:
    results: dict[str, Any] = {
        name: _harness.in_process("benchmarks.decide", name, [f"--users={n_users}"])
        for name in ENTRIES
    }
    reference = results[REFERENCE]
    rows = []
    for name, result in results.items():
        if differences := _harness.differing(reference.values, result.values):
            raise SystemExit(f"{name} differs from {REFERENCE}: {differences}")
        rows.append((name, result.cpu_s, result.wall_s, result.cpu_s / reference.cpu_s))
    _harness.table(
        f"{n_users:,} users x 10 items, {', '.join(MEASURES)}",
        ("entry", "CPU s", "wall s", "x measure twice"),
        rows,
    )


# --- Errors ---------------------------------------------------------------------------------------


def _populations(pairs: Path | None) -> Iterator[tuple[str, Any]]:
    """Yield names and per-user values of two recommenders on held-out events."""
    from podium import data

    shop = data.load_onlineretail()
    bought = np.flatnonzero(shop.quantity > 0)
    _, first = np.unique(np.stack([shop.user, shop.item])[:, bought], axis=1, return_index=True)
    rows = bought[first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # products of one order have one time
        split = data.splits.by_time_per_user(shop.user[rows], shop.minute[rows], test=0.2)
    yield "Online Retail", _population(shop.user[rows], shop.item[rows], split)
    if pairs is not None:
        events = data.read_interactions(pairs)
        split = data.splits.random(events.user.size, user=events.user, test=0.2, seed=0)
        yield str(pairs), _population(events.user, events.item, split)


def _population(user: Any, item: Any, split: Any) -> Any:
    """Return the values of item neighbours (base) and EASE (candidate) for every test user."""
    from podium import recommenders
    from podium.data.opened import Tables
    from podium.decide.pairs import Pairs
    from podium.evaluation import divide
    from podium.evaluation.from_runs import measure_runs
    from podium.protocol import Protocol

    train = {"user": user[split.train], "item": item[split.train]}
    truth = {"user": user[split.test], "item": item[split.test]}
    keep = np.isin(truth["user"], train["user"]) & np.isin(truth["item"], train["item"])
    truth = {name: column[keep] for name, column in truth.items()}
    models = recommenders.get("item-knn"), recommenders.get("ease")
    base, candidate = (_run(model.fit(train), np.unique(truth["user"])) for model in models)
    protocol = Protocol.of(MEASURES)
    tables = Tables.open(protocol, truth, {"base": base, "candidate": candidate})
    measured = measure_runs(tables, protocol)
    return Pairs.of(divide(measured["base"], ["engagement"]), measured["candidate"])


def _run(model: Any, users: NDArray[Any]) -> dict[str, Any]:
    items, scores = model.recommend(users, k=10)
    rows = np.repeat(users, items.shape[1])
    listed = np.isfinite(scores.ravel())
    columns = {"user": rows, "item": items.ravel(), "score": scores.ravel()}
    return {name: column[listed] for name, column in columns.items()}


def _errors(name: str, population: Any, n_replays: int) -> None:
    """Print the share of replays with a false claim, by kind of look and size."""
    rows = []
    for size in (200, 1000, 5000):
        for looks in ("once", "any time", "until horizon"):
            shares = _shares(population, looks, size, n_replays)
            rows.append((f"{looks}, {size:,} users", *shares))
    _harness.table(
        f"{name}, {population.n_users:,} users: share of {n_replays:,} replays, {N_PEEKS} looks",
        ("gate", "at limit: holds", "gate passes", "at 0: superior", "any segment", "power"),
        rows,
    )


def _shares(population: Any, looks: Any, size: int, n_replays: int) -> list[float]:
    """Return the shares of false claims and, last, the power; see `_errors`.

    At the limit, base and candidate change places in every second replay.
    """
    rng = np.random.default_rng(size)
    limits = [float(np.nanmean(_differences(population, measure))) for measure in MEASURES]
    share = _share_exchanged(population, size)
    counts = np.zeros(5)
    for replay in range(n_replays):
        sign = 1 - 2 * (replay % 2)
        sample = _exchanged(_drawn(population, size, rng), float(sign < 0), rng)
        at_limit = _claims(_undivided(sample), looks, [sign * limit for limit in limits])
        counts[0] += at_limit[0].holds
        counts[1] += all(claim.holds for claim in at_limit)
        at_zero = _claims(_exchanged(_drawn(population, size, rng), 0.5, rng), looks)
        counts[2] += at_zero[0].verdict == "superior"
        counts[3] += any(c.verdict == "superior" for c in at_zero if c.role == "segment")
        sample = _undivided(_exchanged(_drawn(population, size, rng), share, rng))
        better = _claims(sample, looks, [0.0])
        counts[4] += better[0].verdict == "superior"
    if np.isnan(share):
        counts[4] = np.nan
    return [*(counts / n_replays)]


def _claims(pairs: Any, looks: Any, limits: Any = (0.0, 0.0, 0.0)) -> list[Any]:
    """Return the claims of a gate whose users arrive in equal parts."""
    from podium.decide.gate import claims
    from podium.decide.rules import Rules
    from podium.decide.state import State
    from podium.protocol import Protocol

    n, protocol = pairs.n_users, Protocol.of(MEASURES[: len(limits)])
    sizes = (n,) if looks == "once" else tuple(n * (i + 1) // N_PEEKS for i in range(N_PEEKS))
    horizon = n if looks == "until horizon" else None
    rules = Rules(protocol, tuple(limits), looks=looks, horizon=horizon)
    return [*claims(State(rules, pairs, sizes))]


def _differences(pairs: Any, measure: str) -> NDArray[np.float64]:
    from podium.metrics import parse

    return pairs.of_measure(parse(measure)).differences


def _drawn(population: Any, size: int, rng: np.random.Generator) -> Any:
    return population.rows(rng.integers(population.n_users, size=size))


def _exchanged(pairs: Any, share: float, rng: np.random.Generator) -> Any:
    """Return pairs in which base and candidate changed places for a share of the users."""
    is_exchanged = rng.random(pairs.n_users) < share
    columns = dict(pairs.columns)
    for name in (n for n in pairs.columns if n.startswith("base ")):
        other = "candidate " + name.removeprefix("base ")
        base, candidate = pairs.columns[name], pairs.columns[other]
        columns[name] = np.where(is_exchanged, candidate, base)
        columns[other] = np.where(is_exchanged, base, candidate)
    return replace(pairs, columns=columns)


def _undivided(pairs: Any) -> Any:
    """Return pairs without segments."""
    whole = {name: c for name, c in pairs.columns.items() if not name.startswith("segment ")}
    return replace(pairs, columns=whole)


def _share_exchanged(population: Any, size: int) -> float:
    """Return the share with which a one-sided 2.5 % test of `size` users has 80 % power."""
    values = _differences(population, MEASURES[0])
    wanted = (1.96 + 0.8416) * np.nanstd(values) / np.sqrt(size)
    mean = float(np.nanmean(values))
    return np.nan if abs(mean) < wanted else (1 - np.sign(mean) * wanted / abs(mean)) / 2


def main(argv: list[str] | None = None) -> None:
    """Compare the costs, then print the errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--errors", type=int, default=0, metavar="REPLAYS")
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        prepare, repeats = ENTRIES[args.entry]
        lists = make_lists(args.users, depth=10, mean_relevant=5)
        _harness.report(_harness.time_call(args.entry, prepare(lists), repeats))
        return
    _compare_cost(args.users)
    if args.errors:
        for name, population in _populations(args.pairs):
            _errors(name, population, args.errors)


if __name__ == "__main__":
    main()
