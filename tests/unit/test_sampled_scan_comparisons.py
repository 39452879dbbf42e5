"""Comparisons of scans and strata: what neither model shows alone is not known of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.sampled import (
    SampledComparisons,
    ScannedRanks,
    SharedRanks,
    compare_scans,
    compare_shared,
)


def _scans() -> dict[str, ScannedRanks]:
    """Return a scan with good lists, and one whose lists miss what is above the targets."""
    rng = np.random.default_rng(0)
    listed = np.minimum(rng.geometric(0.1, 400) - 1, 40)
    known = ScannedRanks(listed, [40] * 400, [0] * 400, [20] * 400, 1000, k=10)
    drawn = rng.binomial(20, 0.01, 400)
    unknown = ScannedRanks(listed // 4, [10] * 400, drawn, [20] * 400, 1000, k=10)
    return {"known": known, "unknown": unknown}


def _compared(kind: str, *, bounds: bool = True) -> SampledComparisons:
    scans, measures = _scans(), ["recall@10", "ndcg@10"]
    if kind == "scans":
        return compare_scans(scans, measures)
    options: dict[str, Any] = {"replacement": False, "user": np.arange(400)}
    shared = {
        name: SharedRanks(
            ranks.above_drawn,
            20,
            1000,
            above_listed=ranks.above_listed,
            n_listed=int(ranks.n_listed[0]),
            **options,
        )
        for name, ranks in scans.items()
    }
    return compare_shared(shared, measures, bounds=bounds)


@pytest.mark.parametrize(("kind", "bounds"), [("scans", True), ("shared", True), ("shared", False)])
def test_what_the_ranks_do_not_show_has_no_sign(kind: str, bounds: bool) -> None:
    found, limits = _compared(kind, bounds=bounds), _compared(kind)
    for measure in ("recall@10", "ndcg@10"):
        difference = found.comparisons["unknown"].summary(measure)
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
    assert "the probability of the sign is unknown" in str(found.comparisons["unknown"])
