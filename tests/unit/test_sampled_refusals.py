"""Bad arguments of sampled metrics: the error's class, and the parameters that it names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.raised import raises

from podium.catalogue import ScoreFunction
from podium.errors import ArgumentError, DataError, PodiumError
from podium.sampled import (
    Design,
    RankDistribution,
    SampledRanks,
    ScannedRanks,
    SharedRanks,
    compare,
    draw_candidates,
    evaluate,
    get,
    identification_bounds,
    plan,
    read,
    sample_ranks,
    scan,
)

N_USERS, N_ITEMS, M = 60, 37, "recall@2"
RNG = np.random.default_rng(7)
SCORES: Any = RNG.normal(size=(N_USERS, N_ITEMS))
TARGETS: Any = csr_array(np.eye(N_USERS, N_ITEMS) + np.eye(N_USERS, N_ITEMS, -37))
NAN = np.full(SCORES.shape, np.nan)
RANKS = SampledRanks([1, 2, 3], 4, 60)
WEIGHTED = SampledRanks([1, 2], 9, 100, user=["a", "b"], row_weights=[1, 2])
BY_USER = SampledRanks([1, 2, 3], 4, [60, 60, 50], user=["x", "x", "y"])
KNOWN = SampledRanks([1, 2, 3], 4, 60, user=[1, 2, 3], history=[1, 2, 3])
SCANNED = ScannedRanks([1, 2], [3, 3], [0, 0], [4, 4], 100, k=2)
SHARED = SharedRanks(SampledRanks([1, 4, 2], 4, 100, user=["a", "a", "b"]))
STRATA = SharedRanks(ScannedRanks([0], [3], [0], [4], 100, k=1, user=["a"]))
HALF: Any = {"user": [1, 1], "k": 1}
TWO = SampledRanks([1, 2, 3], 4, 60, user=[1, 2, 3])
FLAT = RankDistribution([0.5, 0.5])
PILOT = SampledRanks([1], 9, 50)
ANY: Any = [SCANNED, SCANNED]
ROWS: dict[str, Any] = {
    "user": ["a", "a", "a", "b", "b", "b"],
    "item": [1, 2, 3, 1, 4, 5],
    "score": [0.5, 0.5, 0.9, 0.1, 0.2, 0.3],
    "target": [1, 0, 0, 0, 0, 1],
}
LISTED: dict[str, Any] = {**ROWS, "stratum": ["listed"] * 3 + ["drawn"] * 3}


def bad(**change: Any) -> Any:
    return sample_ranks(**{"scores": SCORES, "targets": TARGETS, "n_negatives": 9, **change})


def strata(**change: Any) -> Any:
    return draw_candidates(TARGETS, **{"proxy": SCORES, "certain": 8, "uniform": 6, **change})


def scanned(**change: Any) -> Any:
    usual = {
        "scorer": lambda rows, items: SCORES[rows, items],
        "targets": TARGETS,
        "proxy": SCORES,
        "k": 3,
        "budget": 20,
    }
    return scan(**{**usual, **change})


def planned(**change: Any) -> Any:
    usual = {"n_items": 50, "n_users": 10, "measure": "ndcg@10", "error": 0.1}
    return plan(**{**usual, **change})


def both(b: Any, a: Any = RANKS) -> Any:
    return compare({"a": a, "b": b}, "rr")


def scored(**change: Any) -> Any:
    options = {"n_items": 100, **change.pop("options", {})}
    return read({**ROWS, **change}, **options)


def listed(options: Any = None, **change: Any) -> Any:
    return read({**LISTED, **change}, **{"n_items": 40, "shared": True, **(options or {})})


REFUSED: list[tuple[Any, ...]] = [
    (lambda: SampledRanks([1, 0], 5, 9), "n_negatives"),
    (lambda: SampledRanks([1, 7], 5, 9, user=["a", "u7"]), "n_negatives"),
    (lambda: SampledRanks([1, 4], [5, 2], 9), "n_negatives"),
    (lambda: SampledRanks([1, 2], 5, 9, history=[1, -2]),),
    (lambda: SampledRanks([1, 2], 5, [9, 7], history=[8, 7]), "n_items"),
    (lambda: SampledRanks([], 5, 9),),
    (lambda: SampledRanks([1, 2**63 + 5], 5, 9),),
    (lambda: SampledRanks([1], 5, 2**62), "n_items"),
    (lambda: SampledRanks([1], 9, 9), "n_negatives", "n_items"),
    (lambda: SampledRanks([1, 1], 5, [9, 4]), "n_negatives", "n_items"),
    (lambda: SampledRanks([1], 2, 9, user=[1, 2]), "user"),
    (lambda: SampledRanks([1], 2, 9, user=[np.nan]),),
    (lambda: SampledRanks([1], 2, 9, user=([None])),),
    (lambda: SampledRanks([1], 2, 9, row_weights=[0]),),
    (lambda: Design(9, 9), "n_negatives", "n_items"),
    (lambda: RankDistribution([0.5, 0.4]),),
    (lambda: RankDistribution([np.nan, 1.0]),),
    (lambda: FLAT.expect("rank_auc@0"),),
    (lambda: bad(n_negatives=37), "n_negatives"),
    (lambda: bad(n_negatives=(5, 6)), "n_negatives"),
    (lambda: bad(n_negatives=36, exclude=csr_array(1 - TARGETS.toarray())), "n_negatives"),
    (lambda: bad(exclude=TARGETS), "overlap"),
    (lambda: bad(targets=TARGETS[:3]),),
    (lambda: bad(targets=csr_array((N_USERS, N_ITEMS))),),
    (lambda: bad(targets=[1, 2]),),
    (lambda: bad(users=[1, 2]), "users"),
    (lambda: bad(ties="mean"), "ties"),
    (lambda: bad(ties="average"), "ties"),
    (lambda: bad(other_targets="drop"), "other_targets"),
    (lambda: bad(scores=NAN),),
    (lambda: bad(history=np.ones((2, 6))),),
    (lambda: strata().ranks(np.zeros(strata().row.size)), "k"),
    (lambda: strata(certain=0), "certain"),
    (lambda: strata(proxy=NAN[0]),),
    (lambda: strata(proxy=SCORES[:, :30]),),
    (lambda: strata(proxy=None, lists=[[37]] * N_USERS),),
    (lambda: strata().ranks(np.zeros(3), k=5),),
    (lambda: strata().table(np.full(strata().row.size, np.nan)),),
    (lambda: scanned(proxy=None),),
    (lambda: scanned(lists=[[0]] * N_USERS),),
    (lambda: scanned(proxy=np.zeros(3)),),
    (lambda: scanned(proxy=None, lists=[[0.5]] * N_USERS),),
    (lambda: scanned(budget=0), "budget"),
    (lambda: scanned(list_share=0), "list_share"),
    (lambda: scanned(ties="average"), "ties"),
    (lambda: scanned(scorer=lambda rows, items: np.zeros(3)),),
    (lambda: scanned(scorer=lambda rows, items: np.full(rows.size, np.nan)),),
    (lambda: scanned(scorer=SCORES),),
    (lambda: scanned(scorer=ScoreFunction(np.asarray, 60, 37)),),
    (lambda: ScannedRanks([0], [3], [5], [4], 100, k=5),),
    (lambda: ScannedRanks([0], [60], [0], [40], 100, k=5),),
    (lambda: ScannedRanks([0], [60], [-1], [40], 100, k=5),),
    (lambda: ScannedRanks([0], [60], [1], [40], [100, 100], k=5),),
    (lambda: ScannedRanks([0], [60], [1], [40], 100, k=5, row_weights=[0]),),
    (lambda: ScannedRanks([], [], [], [], 50, k=2),),
    (lambda: SharedRanks(SampledRanks([1, 2], [3, 4], 100, user=["a", "a"])),),
    (lambda: SharedRanks(SampledRanks([1, 2], 3, [90, 91], user=["a", "a"])),),
    (lambda: SharedRanks(SampledRanks([1, 2], 9, 10, user=[1, 1])), "n_items", "n_negatives"),
    (lambda: SharedRanks(ScannedRanks([0, 1], [2, 3], [0, 1], [3, 3], 100, **HALF)),),
    (lambda: SharedRanks(ScannedRanks([0, 1], [2, 2], [0, 1], [3, 4], 100, **HALF)),),
    (
        lambda: SharedRanks(ScannedRanks([0, 3], [5, 5], [0, 1], [4, 4], 10, **HALF)),
        "n_items",
        "n_negatives",
    ),
    (lambda: SharedRanks(SampledRanks([1, 2], 9, 100)), "user"),
    (lambda: SharedRanks(WEIGHTED),),
    (lambda: bad(ties="average", shared=True), "ties"),
    (lambda: bad(shared="yes"), "shared"),
    (lambda: evaluate(RANKS, []), "measures"),
    (lambda: evaluate(RANKS, ["rr", "mrr"]), "measures"),
    (lambda: evaluate(RANKS, ({"ndcg": 10})), "measures"),
    (lambda: evaluate(RANKS, "pap@60"),),
    (lambda: evaluate(RANKS, "rr", estimator="mel"), "estimator"),
    (lambda: evaluate(RANKS, "rr", level=1.0), "level"),
    (lambda: evaluate(RANKS, "rr", n_bootstrap=1), "n_bootstrap"),
    (lambda: evaluate(RANKS, "rr", estimator="naive", bounds=False).summary("ap"),),
    (lambda: evaluate(RANKS, "pap@10", estimator="naive", bounds=False),),
    (lambda: evaluate((9), M),),
    (lambda: evaluate(SCANNED, M, estimator="bv"),),
    (lambda: evaluate(SCANNED, "recall@3"),),
    (lambda: evaluate(SCANNED, "rank_auc@2"),),
    (lambda: evaluate(SCANNED, "auc"),),
    (lambda: evaluate(SHARED, "err@10"),),
    (lambda: evaluate(SHARED, "ap(norm=retrieved)@10"),),
    (lambda: evaluate(SHARED, "rank_auc@10"),),
    (lambda: evaluate(SharedRanks(SampledRanks([1, 2], 9, [40, 60], user=[1, 2])), "auc"),),
    (lambda: evaluate(STRATA, M, estimator="mle"),),
    (lambda: evaluate(STRATA, "ap"),),
    (lambda: both(SampledRanks([1, 2], 4, 60)),),
    (lambda: both(TWO),),
    (lambda: both(SampledRanks([1, 2, 3], 4, 61)), "n_items"),
    (lambda: both(SampledRanks([1, 2, 3], 4, [60, 50, 60])), "n_items"),
    (lambda: both(SampledRanks([1, 2, 3], 4, 60, row_weights=[1, 1, 2])),),
    (lambda: both(SampledRanks([3, 1, 2], 4, 60, user=["y", "x", "x"]), BY_USER), "n_items"),
    (lambda: both(SampledRanks([3, 1, 2], 4, 60, user=["y", "x", "z"]), BY_USER),),
    (lambda: compare(({"a": RANKS, "b": SCANNED}), M), "columns['stratum']"),
    (lambda: compare(({"a": RANKS, "b": SHARED}), M),),
    (lambda: compare({"a": STRATA, "b": SHARED}, M), "columns['stratum']"),
    (lambda: both(TWO, KNOWN),),
    (lambda: compare({"als": RANKS}, "rr"),),
    (lambda: compare(ANY, M),),
    (lambda: get("bvv"), "estimator"),
    (lambda: get("bv(gamma=0.1)", gamma=0.2),),
    (lambda: get("bv(gamma=0)"), "gamma"),
    (lambda: get("mes(eta=0)"), "eta"),
    (lambda: get("bv").posterior(RANKS),),
    (lambda: identification_bounds(RANKS, "recall@5", confidence=0), "confidence"),
    (lambda: identification_bounds(SampledRanks([1, 2], 9, [50, 100]), "pauc@60"),),
    (lambda: planned(measure="pap@60"),),
    (lambda: planned(measure=[M, "rr"]), "measure"),
    (lambda: planned(pilot=SampledRanks([1], 9, 60)), "pilot", "n_items"),
    (lambda: planned(pilot=SampledRanks([1], 9, 40)), "pilot", "n_items"),
    (lambda: planned(pilot=PILOT, measure="recall@50"),),
    (lambda: planned(pilot=SCANNED), "pilot"),
    (lambda: planned(measure="recall@50"),),
    (lambda: read({"rank": [1]}, n_items=50), "n_negatives"),
    (lambda: read({"rank": [1], "n_negatives": [3]}, n_items=50, n_negatives=3), "n_negatives"),
    (lambda: read({"rank": [5]}, n_items=50, n_negatives=3), "n_negatives"),
    (lambda: read({"rank": [3], "n_train": [5]}, n_items=5, n_negatives=3), "n_items"),
    (lambda: read({"rank": [3]}, n_items=50, n_negatives=9, seen=([1], [2])), "seen"),
    (lambda: read(ROWS, n_items=50, seen_candidates="drop"), "seen_candidates", "seen"),
    (lambda: read({"rank": [1, 2]}, n_items=50, n_negatives=3, ties="best"), "ties"),
    (
        lambda: read({"rank": [1, 2]}, n_items=50, n_negatives=3, columns={"item": "x"}),
        "columns['item']",
    ),
    (lambda: read({"rank": [1, 9]}, n_items=50, n_negatives=3), "n_negatives"),
    (lambda: read(LISTED, n_items=([40, 50]), k=2), "n_items", "seen"),
    (lambda: read(LISTED, n_items=40), "k"),
    (lambda: read(LISTED, n_items=40, k=2, n_negatives=2), "n_negatives"),
    (lambda: read(LISTED, n_items=40, k=2, replacement=False), "replacement"),
    (lambda: read(LISTED, n_items=40, k=2, ties="random"), "ties"),
]
UNREADABLE: list[tuple[Any, ...]] = [
    (lambda: read({"user": [1]}, n_items=50, n_negatives=3), "rank"),
    (lambda: read({"rank": []}, n_items=50, n_negatives=3),),
    (lambda: read({"rank": [1, None]}, n_items=50, n_negatives=3),),
    (lambda: scored(history=[None, 7, 7, 9, 9, 9]),),
    (lambda: scored(target=[0, 0, 0, 0, 0, 1]),),
    (lambda: scored(target=[1, 1, 1, 0, 0, 1]),),
    (lambda: scored(target=[1, 1, 0, 0, 0, 1], options={"n_negatives": 2}), "n_negatives"),
    (lambda: scored(score=[np.inf, 0, 0, 0, 0, 0]),),
    (lambda: scored(options={"n_items": 4}), "n_items", "seen"),
    (lambda: scored(options={"seen": (["a", "b"], [2, 4])}), "seen_candidates", "seen"),
    (
        lambda: scored(
            options={"seen": (["a", "a", "b", "b"], [2, 3, 1, 4]), "seen_candidates": "drop"}
        ),
    ),
    (lambda: read(ROWS, n_items=50, n_negatives=9), "n_negatives"),
    (lambda: listed(stratum=["listed"] * 5 + ["top"]),),
    (lambda: listed(item=[1, 2, 2, 1, 4, 5]),),
    (lambda: listed(target=[1, 0, 0, 0, 0, 0]),),
    (lambda: listed(score=[np.nan] * 6),),
    (lambda: read(LISTED, n_items=4, k=2), "n_items", "seen"),
    (lambda: listed({"n_items": 4}), "n_items", "seen"),
    (lambda: listed({"seen": {"user": ["a", "b"], "item": [2, 9]}}), "seen"),
    (lambda: read(LISTED, n_items=40, k=2, seen={"user": ["a", "b"], "item": [9, 5]}),),
]
ROWS_OF = [(ArgumentError, row) for row in REFUSED] + [(DataError, row) for row in UNREADABLE]


@pytest.mark.parametrize(("kind", "row"), ROWS_OF)
def test_bad_argument_is_refused(kind: type[PodiumError], row: tuple[Any, ...]) -> None:
    call, *parameters = row
    with raises(kind, *parameters):
        call()
