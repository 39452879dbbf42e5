"""Laws of recommenders that read the times of events, and three lines of pandas beside each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.laws.test_recommender_laws import QUICK

from podium import recommenders, tuning
from podium.data import read_interactions
from podium.errors import ArgumentError
from podium.recommenders import EASE, REGISTRY, ItemKNN, OwnHistory, Popularity, Recent

pd: Any = pytest.importorskip("pandas")

TIMED = [name for name in REGISTRY if REGISTRY[name].reads_times]
CHOOSING = [name for name in TIMED if REGISTRY[name].auto_values]
DAY = 86_400


def events(seed: int = 0, n: int = 600) -> Any:
    """Return events of 90 days: items come into fashion one after the other, users repeat."""
    rng = np.random.default_rng(seed)
    day = np.sort(rng.uniform(0, 90, n))
    item = np.where(rng.random(n) < 0.7, (day // 6 + rng.integers(0, 3, n)) % 20, n % 20)
    item = np.where(rng.random(n) < 0.3, rng.integers(0, 20, n), item)
    second = (DAY * (19_000 + day)).astype(np.int64)
    return pd.DataFrame({"user": rng.integers(0, 25, n), "item": item.astype(int), "time": second})


EVENTS = events()
AGE = (EVENTS["time"].max() - EVENTS["time"]) / DAY


def make(name: str, **params: Any) -> Any:
    return recommenders.get(name, **QUICK.get(name, {}), **params)


def best(counts: Any) -> list[int]:
    return counts.sort_index().sort_values(ascending=False, kind="stable").index.tolist()


@pytest.mark.parametrize("window", [3, "7d", 30.5, None])
def test_recent_is_the_count_of_users_in_the_last_days(window: Any) -> None:
    model = Recent(window=window).fit(EVENTS)
    last = EVENTS if window is None else EVENTS[float(str(window).rstrip("d")) > AGE]
    counts = last.groupby("item")["user"].nunique()
    items, scores = model.recommend(["nobody"], k=len(counts))
    assert items[0].tolist() == best(counts)
    assert scores[0].tolist() == sorted(counts, reverse=True)
    if window is None:
        assert np.array_equal(model.scores(), Popularity().fit(EVENTS).scores())


@pytest.mark.parametrize("half_life", [2, 30])
def test_half_lives_are_powers_of_the_age_of_the_last_event(half_life: float) -> None:
    pairs = EVENTS.assign(age=AGE).groupby(["user", "item"])["age"].agg(["min", "size"])
    fading = 0.5 ** (pairs["min"] / half_life)
    recent = Recent(window=None, half_life=half_life).fit(EVENTS)
    np.testing.assert_allclose(recent.item_bias_, fading.groupby("item").sum(), rtol=1e-5)
    own = OwnHistory(half_life=half_life, recent=1e-9, window=None).fit(EVENTS)
    expected = (pairs["size"] * fading).unstack(fill_value=0.0)
    np.testing.assert_allclose(own.scores(), expected, rtol=1e-5, atol=1e-8)


def test_own_history_without_times_is_the_count_and_then_popularity() -> None:
    counts = EVENTS.groupby(["user", "item"]).size().unstack(fill_value=0)
    share = (counts > 0).mean()
    own = OwnHistory().fit(EVENTS[["user", "item"]])
    np.testing.assert_allclose(own.scores(), counts + 0.01 * share, rtol=1e-5)
    assert own.recommend([3], k=1)[0][0, 0] == best(counts.loc[3] + 0.01 * share)[0]
    assert own.recommend(["nobody"], k=20)[0][0].tolist() == best(share)


@pytest.mark.parametrize("name", TIMED)
def test_long_half_life_is_none_and_a_short_one_is_not(name: str) -> None:
    plain = {"window": None} if "window" in make(name).get_params() else {}
    scores = {h: make(name, half_life=h, **plain).fit(EVENTS).scores() for h in (None, 1e12, 3)}
    np.testing.assert_allclose(scores[1e12], scores[None], rtol=1e-4, atol=1e-5)
    assert not np.allclose(scores[3], scores[None], rtol=1e-2)


@pytest.mark.parametrize("name", TIMED)
def test_units_and_zero_of_time_do_not_matter(name: str) -> None:
    scores = make(name, half_life=20).fit(EVENTS).scores()
    moments = pd.to_datetime(EVENTS["time"], unit="s")
    for times in (
        EVENTS["time"] * 1000,
        moments,
        moments.dt.tz_localize("UTC"),
        moments.astype(str),
    ):
        assert np.array_equal(
            make(name, half_life=20).fit(EVENTS.assign(time=times)).scores(), scores
        )
    order = np.random.default_rng(1).permutation(len(EVENTS))
    assert np.array_equal(make(name, half_life=20).fit(EVENTS.iloc[order]).scores(), scores)


@pytest.mark.parametrize("name", TIMED)
def test_days_need_times(name: str) -> None:
    with pytest.raises(ArgumentError, match="half_life needs the times of events, and user_items"):
        make(name, half_life=7).fit(EVENTS[["user", "item"]])
    with pytest.raises(ArgumentError, match="half_life must be a number > 0, got 'week'"):
        make(name, half_life="week").fit(EVENTS)


@pytest.mark.parametrize("name", CHOOSING)
def test_choice_is_that_of_the_last_tenth_and_is_saved(name: str, tmp_path: Path) -> None:
    free = dict.fromkeys(REGISTRY[name].auto_values, "auto")
    model = make(name, **free).fit(EVENTS)
    chosen = {name: vars(model)[f"{name}_"] for name in free}
    again = make(name, **chosen).fit(EVENTS)
    assert np.array_equal(again.scores(), model.scores())
    model.save(tmp_path / "m")
    loaded = recommenders.load(tmp_path / "m")
    assert {name: vars(loaded)[f"{name}_"] for name in free} == chosen
    assert loaded.get_params() == model.get_params()
    moved = EVENTS.assign(time=EVENTS["time"] + 5)  # a choice sees no event after its own table
    assert np.array_equal(make(name, **free).fit(moved).scores(), model.scores())


def test_choice_follows_the_data() -> None:
    """Fashions choose a window; users who draw from one distribution choose all time."""
    assert (Recent().fit(EVENTS).window_ or 99) < 31
    rng = np.random.default_rng(3)
    steady = EVENTS.assign(item=rng.binomial(19, 0.4, len(EVENTS)))
    assert Recent().fit(steady).window_ is None
    assert Recent().fit(EVENTS[["user", "item"]]).window_ is None
    assert Recent().fit(EVENTS.head(3)).window_ is None


def test_unknown_users_are_served_where_a_model_says_so() -> None:
    for name in REGISTRY:
        if not REGISTRY[name].serves_unknown:
            continue
        model = make(name).fit(EVENTS)
        items, scores = model.recommend([99, 3, "x"], k=20)
        assert np.array_equal(items[0], items[2])
        assert np.isfinite(scores[[0, 2]]).all()
        assert np.array_equal(items[1], model.recommend([3], k=20)[0][0])
    with pytest.raises(ArgumentError, match="users 99 is unknown to the model"):
        ItemKNN().fit(EVENTS).recommend([99])


def test_search_by_time_finds_the_half_life_of_fashions() -> None:
    table = read_interactions(EVENTS)
    found = tuning.search(EASE(l2=5), table, grid={"half_life": [None, 5.0, 10.0]}, split="time")
    assert found.best_params["half_life"] in (5.0, 10.0)
    earlier, later = table.by_time(0.1)
    held_out = later.known_to(earlier)[0]
    same = tuning.search(
        EASE(l2=5), earlier, eval_set=held_out, grid={"half_life": [None, 5.0, 10.0]}
    )
    assert [t.mean for t in same.trials] == [t.mean for t in found.trials]
    with pytest.raises(ArgumentError, match="split='time' needs a table of pairs with a column"):
        tuning.search(EASE(), EVENTS[["user", "item"]], split="time")
    with pytest.raises(ArgumentError, match="split must be one of 'time', got 'users'"):
        tuning.search(EASE(), table, split="users")
