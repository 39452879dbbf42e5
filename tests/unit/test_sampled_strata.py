"""Tables of scores with strata: the counts of scans, and tables that are refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.sampled.reading.strata import has_strata, read_scan, read_shared

Table = dict[str, list[Any]]


def _table(**changes: list[Any]) -> Table:
    """Return users a and b; a has two targets. Scores tie with the target of b."""
    table: Table = {
        "user": ["a", "a", "a", "a", "a", "b", "b", "b"],
        "item": ["t1", "t2", "i1", "i2", "i3", "t1", "i1", "i2"],
        "score": [0.9, 0.5, 1.0, 0.7, 0.6, 0.1, 0.1, 0.3],
        "target": [1, 1, 0, 0, 0, 1, 0, 0],
        "stratum": ["listed", "drawn", "listed", "listed", "drawn", "drawn", "uniform", "certain"],
    }
    return {**table, **changes}


def test_strata_are_counted_for_each_target() -> None:
    found = read_scan(_table(), n_items=40, k=2)
    assert found.user.tolist() == ["a", "a", "b"]
    assert found.above_listed.tolist() == [1, 3, 1]  # t1 is above t2 and counts as listed
    assert found.n_listed.tolist() == [3, 3, 1]
    assert found.above_drawn.tolist() == [0, 1, 1]
    assert found.n_drawn.tolist() == [1, 1, 1]
    assert read_scan(_table(), n_items=40, k=2, ties="best").above_drawn.tolist() == [0, 1, 0]


def test_seen_items_make_catalogues_smaller() -> None:
    seen = {"user": ["a", "a", "b"], "item": ["s1", "s2", "i3"]}
    assert read_scan(_table(), n_items=40, k=2, seen=seen).n_items.tolist() == [38, 38, 39]


@pytest.mark.parametrize("read", [partial(read_scan, k=2), read_shared])
@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("i1", "1 of 5 candidates are in the seen items, first item 'i1' of user 'a'.* Leave seen"),
        ("i3", "first item 'i3' of user 'a', so seen items were drawn too. Leave seen items out"),
        ("t2", "1 of 3 targets are in .*first item 't2' of user 'a'. Remove the held-out pairs"),
    ],
)
def test_seen_items_in_the_strata_are_refused(read: Any, item: str, text: str) -> None:
    seen = {"user": ["a", "b"], "item": [item, "i3"]}
    with pytest.raises(DataError, match=text):
        read(_table(), n_items=40, seen=seen)


@pytest.mark.parametrize("read", [partial(read_scan, k=2), read_shared])
def test_catalogue_smaller_than_the_table_is_refused(read: Any) -> None:
    read(_table(), n_items=5 if read is not read_shared else 6)
    with raises(DataError, "n_items", "seen"):
        read(_table(), n_items=4)
    with raises(ArgumentError, "n_items", "seen"):
        read(_table(), n_items=[40, 50])


def test_columns_are_found_by_their_names() -> None:
    table = _table()
    assert has_strata(table)
    assert not has_strata({"user": [1], "score": [1.0]})
    table["part"] = table.pop("stratum")
    assert has_strata(table, {"stratum": "part"})
    assert read_scan(table, n_items=40, k=2, columns={"stratum": "part"}).n_users == 2


def test_more_items_than_the_catalogue_are_refused() -> None:
    with pytest.raises(ArgumentError, match="more scored items than n_items - 1"):
        read_scan(_table(), n_items=5, k=2, seen={"user": ["a", "b"], "item": ["s1", "i3"]})


def test_popular_draws_are_named() -> None:
    n = 200
    table = {
        "user": [u for u in range(n) for _ in range(2)],
        "item": ["t", "hit"] * n,
        "score": [0.5, 0.4] * n,
        "target": [1, 0] * n,
        "stratum": ["drawn"] * (2 * n),
    }
    with pytest.warns(PodiumWarning, match="item 'hit' was drawn for 200 users"):
        read_scan(table, n_items=1000, k=5)


def test_strata_are_counted_for_whole_rankings() -> None:
    for ties, above in (("worst", [0, 1, 1]), ("best", [0, 1, 0])):
        found = read_shared(_table(), n_items=40, ties=ties)
        assert found.above_listed is not None
        assert found.above_listed.tolist() == [1, 2, 1]  # without the other target
        assert found.above.tolist() == above
        assert found.position.tolist() == [1, 2, 1]
        assert found.n_items.tolist() == [40, 40, 40]
        assert found.n_candidates.tolist() == [39, 39, 40]
    seen = {"user": ["a", "a", "b"], "item": ["s1", "s2", "i3"]}
    assert read_shared(_table(), n_items=40, seen=seen).n_items.tolist() == [38, 38, 39]


def _ranked(n_listed_targets: int, n_high: int) -> Table:
    """Return 100 users with a target, of which some are listed, and some score high."""
    users = np.repeat(np.arange(100), 8)
    place = np.tile(np.arange(8), 100)  # the target, four listed items, three drawn ones
    is_high = users < n_high
    score = np.where(place == 0, np.where(is_high, 4.5, -1.0), 5.0 - place)
    item = np.where(place > 4, 10 + (users * 13 + 7 * place) % 900, place)
    is_listed = np.where(place == 0, users < n_listed_targets, place < 5)
    return {
        "user": users.tolist(),
        "item": item.tolist(),
        "score": score.tolist(),
        "target": (place == 0).astype(int).tolist(),
        "stratum": np.where(is_listed, "listed", "drawn").tolist(),
    }


@pytest.mark.parametrize("read", [read_scan, read_shared])
def test_proxy_that_knows_the_targets_is_named(read: Any) -> None:
    options: dict[str, Any] = {"n_items": 1000, **({"k": 2} if read is read_scan else {})}
    text = "the proxy lists 95 of 100 targets, but by their scores only about 60 are among"
    with pytest.warns(PodiumWarning, match=text):
        read(_ranked(95, 60), **options)
    for listed, high in ((89, 60), (60, 60), (0, 60), (100, 81)):  # no warning
        read(_ranked(listed, high), **options)
