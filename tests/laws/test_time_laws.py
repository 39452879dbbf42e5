"""Laws of recommenders that read the times of events, and lines of pandas beside them."""

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
DAY = 86_400


def events(n: int = 600) -> Any:
    """Return events of 90 days: items come into fashion one after the other, users repeat."""
    rng = np.random.default_rng(0)
    day = np.sort(rng.uniform(0, 90, n))
    item = np.where(rng.random(n) < 0.5, (day // 6 + rng.integers(0, 3, n)) % 20, 0)
    item = np.where(item == 0, rng.integers(0, 20, n), item).astype(int)
    second = (DAY * (19_000 + day)).astype(np.int64)
    return pd.DataFrame({"user": rng.integers(0, n // 24, n), "item": item, "time": second})


EVENTS = events()
BARE = EVENTS[["user", "item"]]
AGE = (EVENTS["time"].max() - EVENTS["time"]) / DAY


def fit(name: str, table: Any = EVENTS, **params: Any) -> Any:
    return recommenders.get(name, **QUICK.get(name, {}), **params).fit(table)


def best(counts: Any) -> list[int]:
    return counts.sort_index().sort_values(ascending=False, kind="stable").index.tolist()


@pytest.mark.parametrize("window", [3, "7d", 30.5, None])
def test_recent_is_the_count_of_users_in_the_last_days(window: Any) -> None:
    last = EVENTS if window is None else EVENTS[float(str(window).rstrip("d")) > AGE]
    counts = last.groupby("item")["user"].nunique()
    model = Recent(window=window).fit(EVENTS)
    items, scores = model.recommend(["nobody"], k=len(counts))
    assert items[0].tolist() == best(counts)
    assert scores[0].tolist() == sorted(counts, reverse=True)
    assert window or np.array_equal(model.scores(), Popularity().fit(EVENTS).scores())


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
    own = OwnHistory().fit(BARE)
    np.testing.assert_allclose(own.scores(), counts + 0.01 * share, rtol=1e-5)
    assert own.recommend(["nobody"], k=20)[0][0].tolist() == best(share)


@pytest.mark.parametrize("name", TIMED)
class TestHalfLife:
    """The half-life of every model that reads times."""

    def test_a_long_one_is_none_and_a_short_one_is_not(self, name: str) -> None:
        plain = {"window": None} if "window" in REGISTRY[name]().get_params() else {}
        scores = [fit(name, half_life=h, **plain).scores() for h in (None, 1e12, 3)]
        np.testing.assert_allclose(scores[1], scores[0], rtol=1e-4, atol=1e-5)
        assert not np.allclose(scores[2], scores[0], rtol=1e-2)

    def test_units_and_order_of_rows_do_not_matter(self, name: str) -> None:
        scores = fit(name, half_life=20).scores()
        at = pd.to_datetime(EVENTS["time"], unit="s")
        for time in (EVENTS["time"] * 1000, at, at.dt.tz_localize("UTC"), at.astype(str)):
            table = EVENTS.assign(time=time).sample(frac=1, random_state=1)
            assert np.array_equal(fit(name, table, half_life=20).scores(), scores)

    def test_it_needs_times_and_days(self, name: str) -> None:
        with pytest.raises(ArgumentError, match="half_life needs the times of events"):
            fit(name, BARE, half_life=7)
        with pytest.raises(ArgumentError, match="half_life must be a number > 0, got 'week'"):
            fit(name, half_life="week")

    def test_choice_is_the_model_of_its_days(self, name: str, tmp_path: Path) -> None:
        free = dict.fromkeys(REGISTRY[name].auto_values, "auto")
        model = fit(name, **free)
        chosen: dict[str, Any] = {parameter: vars(model)[f"{parameter}_"] for parameter in free}
        assert np.array_equal(fit(name, **chosen).scores(), model.scores())
        model.save(tmp_path / "m")
        loaded = recommenders.load(tmp_path / "m")
        assert {parameter: vars(loaded)[f"{parameter}_"] for parameter in free} == chosen


def test_choice_follows_the_data() -> None:
    """Fashions choose a window; users who draw from one distribution choose all time."""
    assert (Recent().fit(events(4000)).window_ or 99) < 31
    steady = EVENTS.assign(item=np.random.default_rng(3).binomial(19, 0.4, len(EVENTS)))
    for table in (steady, BARE, EVENTS.head(3)):
        assert Recent().fit(table).window_ is None


@pytest.mark.parametrize("name", [name for name in REGISTRY if REGISTRY[name].serves_unknown])
def test_unknown_users_get_one_list(name: str) -> None:
    items, scores = fit(name).recommend([99, 3, "x"], k=20)
    assert np.array_equal(items[0], items[2])
    assert np.isfinite(scores[[0, 2]]).all()
    assert np.array_equal(items[1], fit(name).recommend([3], k=20)[0][0])
    with pytest.raises(ArgumentError, match="users 99 is unknown to the model"):
        ItemKNN().fit(EVENTS).recommend([99])


def test_search_by_time_is_one_with_the_last_events_as_eval_set() -> None:
    table, options = read_interactions(EVENTS), {"grid": {"half_life": [None, 5.0, 10.0]}}
    found = tuning.search(EASE(l2=5), table, **options, split="time")
    assert found.best_params["half_life"] in (5.0, 10.0)
    earlier, held_out = table.by_time(0.1)
    same = tuning.search(EASE(l2=5), earlier, eval_set=held_out, **options)
    assert [trial.mean for trial in same.trials] == [trial.mean for trial in found.trials]
    for pairs, split in ((BARE, "time"), (table, "users")):
        with pytest.raises(ArgumentError, match="split"):
            tuning.search(EASE(), pairs, split=split)
