"""Comparisons of scans and strata: what neither model shows alone is not known of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.raised import raises

from podium.errors import ArgumentError
from podium.sampled import SampledComparison, ScannedRanks, SharedRanks, compare, read

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
