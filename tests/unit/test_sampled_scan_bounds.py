"""Scans and strata: their bounds, differences between models, and users with several targets."""

from __future__ import annotations

from math import comb, exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.raised import raises

from podium.errors import ArgumentError
from podium.sampled import SampledComparison, ScannedRanks, SharedRanks, compare, evaluate, read
from podium.sampled.bounds import Bounds
from podium.sampled.scanning.measured import Cases, OpenTargets, scan_bounds

K = 4
NDCG = 1 / np.log2(np.arange(2.0, 2 + K))
Ints = NDArray[np.int64]


def _bounds(ranks: ScannedRanks, weights: NDArray[np.float64], level: float = 0.95) -> Bounds:
    return scan_bounds(ranks, weights, OpenTargets.fit(ranks), level)


def _chance(b: int, n_above: int, n_rest: int, n: int) -> float:
    return comb(n_above, b) * comb(n_rest - n_above, n - b) / comb(n_rest, n) if b <= n else 0.0


@given(
    c=st.integers(0, K - 1),
    n=st.integers(0, 12),
    n_rest=st.integers(13, 18),
    theta=st.floats(0.01, 3.0),
    weights=st.sampled_from([np.ones(K), NDCG, np.array([1.0, 1.0, 0.2, 0.0])]),
)
def test_penalties_exceed_losses_for_every_number_above(
    c: int, n: int, n_rest: int, theta: float, weights: NDArray[np.float64]
) -> None:
    padded = np.append(weights, 0.0)
    cases = Cases(np.array([c]), np.array([n]), np.array([n_rest]), np.zeros((1, K + 1)))
    for (penalties,) in (cases.linear_penalties(padded, theta), cases.largest_losses(padded)):
        for more_draws, fewer_items in ((0, 0), (1, 0), (0, 1)):
            draws, rest = min(n + more_draws, n_rest), max(n_rest - fewer_items, n)
            for n_above in range(rest + 1):
                total = 0.0
                for b in range(min(n_above, draws) + 1):
                    above, exact = min(c + b, K), min(c + n_above, K)
                    loss = padded[above] - padded[exact] if above < K else 0.0
                    excess = theta * (loss - penalties[min(b, K - c)])
                    total += _chance(b, n_above, rest, draws) * exp(excess)
                assert total <= 1 + 1e-9


def _drawn(listed: Ints, n_above: Ints, n: int, rng: np.random.Generator) -> ScannedRanks:
    """Return a scan with 20 listed items of 321, of which n are drawn."""
    drawn = rng.hypergeometric(n_above, 300 - n_above, n)
    size = listed.size
    return ScannedRanks(listed, np.full(size, 20), drawn, np.full(size, n), 321, k=K)


def test_draws_of_a_scan_may_stop_early() -> None:
    """Settled targets have fewer draws, but count as if they had been drawn as often."""
    listed = np.array([K - 1] * 400)
    drawn, n = np.zeros(400, np.int64), np.full(400, 100)
    drawn[:10], n[:10] = 1, [8, 8, 8, 8, 20, 20, 20, 50, 50, 100]
    scans = [
        ScannedRanks(listed, np.full(400, 20), drawn, sizes, 321, k=K) for sizes in (n, n * 0 + 100)
    ]
    fit = OpenTargets.fit(scans[0])
    stopped, full = (scan_bounds(ranks, np.ones(K), fit, 0.95) for ranks in scans)
    assert stopped == full
    assert 0.0 < full.low < 390 / 400 - 10 / 400


def test_targets_of_a_user_count_with_their_mean() -> None:
    listed, rng = np.arange(800) % K, np.random.default_rng(5)
    single = _drawn(listed, 0 * listed, 100, rng)
    zeros = np.zeros(1600, np.int64)
    counts = zeros + 20, zeros, zeros + 100
    doubled = ScannedRanks(np.tile(listed, 2), *counts, 321, k=K, user=np.tile(single.user, 2))
    assert _bounds(doubled, NDCG) == pytest.approx(_bounds(single, NDCG))


def test_bounds_of_a_difference_are_those_of_both_models() -> None:
    rng = np.random.default_rng(6)
    listed, unlisted = rng.integers(0, K + 2, 500), rng.integers(0, 3, 500)
    a, b = (_drawn(listed, above, 100, rng) for above in (unlisted, 0 * unlisted))
    found = compare({"a": a, "b": b}, "recall@4")
    bounds = found.summary("recall@4", "b").bounds
    of_a, of_b = (evaluate(ranks, "recall@4").estimates["recall@4"].bounds for ranks in (a, b))
    assert bounds is not None
    assert of_a is not None
    assert of_b is not None
    assert bounds == pytest.approx((of_b.low - of_a.high, of_b.high - of_a.low))


N_LISTED, N_DRAWN, N_ITEMS, K_USERS = 20, 20, 500, 10


def _strata(
    n_targets: NDArray[np.int64], in_list: NDArray[np.float64], seed: int
) -> tuple[ScannedRanks, float]:
    """Return strata of users with numbers of targets, and the exact recall at K.

    `in_list` is the share of the items above a user's targets that the proxy lists.
    """
    rng, owner = np.random.default_rng(seed), np.repeat(np.arange(n_targets.size), n_targets)
    above = np.minimum(rng.geometric(0.06, owner.size) - 1, N_ITEMS - 1)
    listed = np.minimum(rng.binomial(above, in_list[owner]), N_LISTED)
    rest = above - listed
    drawn = rng.hypergeometric(rest, N_ITEMS - 1 - N_LISTED - rest, N_DRAWN)
    sizes = np.full((2, owner.size), [[N_LISTED], [N_DRAWN]])
    ranks = ScannedRanks(listed, sizes[0], drawn, sizes[1], N_ITEMS, k=K_USERS, user=owner)
    return ranks, float(ranks.means_of_users((above < K_USERS).astype(float)).mean())


def _repeated(ranks: ScannedRanks, times: int) -> ScannedRanks:
    """Return each target several times, with the same draws and the same user."""
    columns = (ranks.above_listed, ranks.n_listed, ranks.above_drawn, ranks.n_drawn, ranks.n_items)
    counts, user = [np.tile(column, times) for column in columns], np.tile(ranks.user, times)
    return ScannedRanks(*counts, k=ranks.k, user=user)


def test_users_with_many_targets_do_not_decide_the_estimate() -> None:
    sizes = np.repeat([2, 40], [900, 100])  # the proxy misses what the heavy users like
    distances: list[float] = []
    for seed in range(10):
        ranks, exact = _strata(sizes, np.where(sizes > 2, 0.1, 0.9), seed)
        found = evaluate(ranks, "recall@10").summary("recall@10")
        distances.append((found.mean - exact) / found.std_error)
    assert abs(np.mean(distances)) < 0.7


def test_targets_that_share_their_draws_add_no_information() -> None:
    ranks, _ = _strata(np.ones(800, np.int64), np.full(800, 0.5), 1)
    once, twice, often = (
        evaluate(_repeated(ranks, times), "recall@10").summary("recall@10") for times in (1, 2, 10)
    )
    assert often.mean == pytest.approx(twice.mean, rel=1e-2)
    assert often.std_error == pytest.approx(twice.std_error, rel=2e-2)
    assert often.std_error == pytest.approx(once.std_error, rel=0.1)


Table = dict[str, NDArray[Any]]


def _scans() -> dict[str, ScannedRanks]:
    """Return a scan with good lists, and one whose lists miss what is above the targets."""
    rng = np.random.default_rng(0)
    listed = np.minimum(rng.geometric(0.1, 400) - 1, 40)
    known = ScannedRanks(listed, [40] * 400, [0] * 400, [20] * 400, 1000, k=10)
    drawn = rng.binomial(20, 0.01, 400)
    unknown = ScannedRanks(listed // 4, [10] * 400, drawn, [20] * 400, 1000, k=10)
    return {"known": known, "unknown": unknown}


def _compared(kind: str, *, bounds: bool = True) -> SampledComparison:
    scans, measures = _scans(), ["recall@10", "ndcg@10"]
    if kind == "scans":
        return compare(scans, measures)
    shared = {name: SharedRanks(ranks) for name, ranks in scans.items()}
    return compare(shared, measures, bounds=bounds)


@pytest.mark.parametrize(("kind", "bounds"), [("scans", True), ("shared", True), ("shared", False)])
def test_what_the_ranks_do_not_show_has_no_sign(kind: str, bounds: bool) -> None:
    found, limits = _compared(kind, bounds=bounds), _compared(kind)
    for measure in ("recall@10", "ndcg@10"):
        difference = found.summary(measure, "unknown")
        a, b = (limits.evaluations[name].summary(measure) for name in ("known", "unknown"))
        assert difference.prior_decides == (a.prior_decides or b.prior_decides)
        assert difference.prior_decides
        assert a.bounds is not None
        assert b.bounds is not None
        assert difference.interval.low <= b.bounds.low - a.bounds.high
        assert difference.interval.high >= b.bounds.high - a.bounds.low
        assert (difference.bounds is None) == (not bounds)
        assert np.isnan(difference.sign_probability)
    assert "the probability of the sign is unknown" in str(found)


def _table(seed: int) -> Table:
    """Return the scores of a model for strata of 60 users with two targets each."""
    rng, n_users = np.random.default_rng(seed), 60
    items = np.concatenate([[2 * u, 2 * u + 1, *range(200, 220)] for u in range(n_users)])
    return {
        "user": np.repeat(np.arange(n_users), 22),
        "item": items,
        "score": rng.normal(size=items.size) + (items < 200),
        "target": (items < 200).astype(np.int64),
        "stratum": np.tile(["drawn"] * 2 + ["listed"] * 10 + ["drawn"] * 10, n_users),
    }


def _compared_tables(kind: dict[str, Any], *tables: Table, sizes: tuple[int, int]) -> Any:
    a, b = (read(table, n_items=n, **kind) for table, n in zip(tables, sizes, strict=True))
    return compare({"a": a, "b": b}, "recall@5").summary("recall@5")


KINDS = pytest.mark.parametrize("kind", [{"k": 5}, {"shared": True}])


@KINDS
@pytest.mark.filterwarnings("ignore:.*drawn for|Of the items that the proxy lists")
def test_order_of_rows_and_types_of_ids_change_no_difference(kind: dict[str, Any]) -> None:
    a, b, sizes = _table(1), _table(2), (400, 400)
    turned = np.random.default_rng(3).permutation(b["user"].size)
    shuffled = {name: column[turned] for name, column in b.items()}
    as_text = {**shuffled, **{name: shuffled[name].astype(str) for name in ("user", "item")}}
    expected = _compared_tables(kind, a, b, sizes=sizes)
    for table in (shuffled, as_text):
        found = _compared_tables(kind, a, table, sizes=sizes)
        for name in ("difference", "std_error", "interval", "bounds"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-6)


@KINDS
@pytest.mark.filterwarnings("ignore:.*drawn for|Of the items that the proxy lists")
def test_other_targets_and_catalogues_are_not_compared(kind: dict[str, Any]) -> None:
    a = _table(1)
    other = {**a, "item": np.where((a["user"] == 7) & (a["item"] == 14), 300, a["item"])}
    fewer = {**a, "target": np.where(a["item"] == 14, 0, a["target"])}
    for table in (other, fewer):
        with raises(ArgumentError):
            _compared_tables(kind, a, table, sizes=(400, 400))
    with raises(ArgumentError, "n_items"):
        _compared_tables(kind, a, a, sizes=(400, 500))
