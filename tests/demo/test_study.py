from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from podium.data.retail import OnlineRetail
from podium.demo.study import (
    DAY,
    RECOMMENDERS,
    TARGET,
    Candidates,
    Results,
    Window,
    propose,
    times_of_windows,
    window,
)
from podium.errors import ArgumentError

START, STOP = 150 * DAY, 180 * DAY


def bare(rows: list[tuple[int, int, int]]) -> OnlineRetail:
    """Rows of (user, item, minute), one piece each, in a shop of 4 customers and 5 products."""
    user, item, minute = (np.array(c, np.int64) for c in zip(*sorted(rows), strict=True))
    order = np.lexsort((minute, user))
    ones = np.ones(user.size, np.int64)
    names = np.array(["?"] * 5)
    columns = user[order], item[order], minute[order]
    return OnlineRetail(*columns, ones, 0, names, names, np.arange(4), names[:4])


def pairs(shop: OnlineRetail, part: Window) -> set[tuple[int, int]]:
    return set(zip(shop.user[part.new].tolist(), shop.item[part.new].tolist(), strict=True))


def same(a: Candidates, b: Candidates) -> bool:
    arrays = ((a.row, b.row), (a.item, b.item), (a.features, b.features))
    return all(np.array_equal(one, other) for one, other in arrays)


@pytest.fixture(scope="module")
def part(shop: OnlineRetail) -> Window:
    return window(shop, START, STOP)


@pytest.fixture(scope="module")
def candidates(shop: OnlineRetail, part: Window) -> Candidates:
    return propose(shop, part)


def test_windows_follow_each_other_and_end_with_the_data(shop: OnlineRetail) -> None:
    spans = times_of_windows(shop, days=56)
    assert list(spans) == ["train", "valid", "test"]
    train, valid, test = spans.values()
    assert train[1] == valid[0]
    assert valid[1] == test[0]
    assert test[1] == shop.minute.max() + 1
    assert {stop - start for start, stop in spans.values()} == {56 * DAY}


def test_windows_without_a_past_are_refused(shop: OnlineRetail) -> None:
    with pytest.raises(ArgumentError, match="days must be small enough to leave purchases"):
        times_of_windows(shop, days=90)


def test_new_purchases_are_in_the_window_and_never_bought_before() -> None:
    rows = [(0, 0, 1), (0, 0, 12), (0, 1, 12), (0, 1, 15), (0, 2, 20), (1, 3, 9), (1, 4, 10)]
    shop = bare(rows)
    part = window(shop, 10, 20)
    assert pairs(shop, part) == {(0, 1), (1, 4)}
    assert part.new.size == 2
    assert sorted(shop.minute[part.new].tolist()) == [10, 12]
    assert part.customers.tolist() == [0, 1]


@pytest.mark.parametrize("change", ["shift", "replace", "remove"])
def test_candidates_do_not_depend_on_later_purchases(
    shop: OnlineRetail, part: Window, candidates: Candidates, change: str
) -> None:
    later = shop.minute >= START
    assert later.any()
    other = {
        "shift": replace(shop, minute=np.where(later, shop.minute + 999, shop.minute)),
        "replace": replace(shop, item=np.where(later, (shop.item * 7 + 3) % 120, shop.item)),
        "remove": replace(
            shop,
            **{
                name: getattr(shop, name)[~later] for name in ("user", "item", "minute", "quantity")
            },
        ),
    }[change]
    past = np.flatnonzero((other.minute < START) & (other.quantity > 0))
    nothing_new = Window(START, STOP, past, np.zeros(0, np.int64), part.customers)
    assert same(propose(other, nothing_new), candidates)


def test_candidates_come_once_and_are_new_to_the_customer(
    shop: OnlineRetail, part: Window, candidates: Candidates
) -> None:
    key = candidates.row * shop.n_items + candidates.item
    assert (np.diff(key) > 0).all()
    known = set(zip(shop.user[part.past].tolist(), shop.item[part.past].tolist(), strict=True))
    users = part.customers[candidates.row].tolist()
    assert not known & set(zip(users, candidates.item.tolist(), strict=True))


def test_study_chooses_on_validation(results: Results) -> None:
    values = results.validation
    assert values[results.base] == max(values[name] for name in RECOMMENDERS)
    assert results.choice in results.rankers
    assert (results.gate.base, results.gate.candidate) == (results.base, results.choice)


def test_study_finds_the_tastes_of_a_made_up_shop(results: Results) -> None:
    means = {name: e.means[TARGET] for name, e in results.comparison.evaluations.items()}
    assert min(means[name] for name in results.rankers) > max(means["popularity"], means["recent"])
