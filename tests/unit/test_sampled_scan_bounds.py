"""Bounds of scans: they contain the exact mean for all unscored items, and shrink with draws."""

from __future__ import annotations

from math import comb, exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from podium.sampled import ScannedRanks, compare, evaluate
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


@pytest.mark.parametrize("n_above", [(1, 0, 0), (1, 1, 1), (4, 0, 0), (2, 300, 0)])
@pytest.mark.parametrize("weights", [np.ones(K), NDCG], ids=["recall", "ndcg"])
def test_bounds_contain_the_exact_mean(
    n_above: tuple[int, ...], weights: NDArray[np.float64]
) -> None:
    rng, n_missed = np.random.default_rng(1), 0
    listed = rng.integers(0, K, 300)
    unlisted = np.resize(n_above, 300)
    exact = np.append(weights, 0.0)[np.minimum(listed + unlisted, K)].mean()
    for _ in range(30):
        ranks = _drawn(listed, unlisted, 60, rng)
        low, high = _bounds(ranks, weights, 0.9)
        assert exact <= high + 1e-12
        n_missed += low > exact
    assert n_missed <= 9  # a chance of .1 gives more once in two thousand runs


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


def _audited(n_audited: int, rng: np.random.Generator) -> tuple[ScannedRanks, float]:
    listed = np.arange(1000) % K
    unlisted = (np.arange(1000) % 9 == 0).astype(np.int64)
    above_all = np.full(1000, -1)
    chosen = rng.permutation(1000)[:n_audited]
    above_all[chosen] = (listed + unlisted)[chosen]
    zeros = np.zeros(1000, np.int64)
    ranks = ScannedRanks(listed, zeros + 20, zeros, zeros, 321, k=K, above_all=above_all)
    return ranks, float((listed + unlisted < K).mean())


def test_audit_gives_bounds_without_draws() -> None:
    rng, n_missed = np.random.default_rng(4), 0
    for _ in range(60):
        ranks, exact = _audited(300, rng)
        low, high = _bounds(ranks, np.ones(K), 0.9)
        assert 0.5 < low < exact <= high or low > exact
        n_missed += low > exact
    assert n_missed <= 9
    ranks, exact = _audited(1000, rng)
    assert _bounds(ranks, np.ones(K), 0.9) == pytest.approx((exact, exact))


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
