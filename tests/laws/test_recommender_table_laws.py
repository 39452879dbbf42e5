"""Laws of tables of events, for every recommender: repeated rows, row order, ids, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from podium import recommenders
from podium.errors import MissingExtraError
from podium.recommenders import REGISTRY, Recommender

QUICK: dict[str, dict[str, Any]] = {
    "factorization": {"n_factors": 4, "n_epochs": 5},
    "item-knn": {"k": 4},
    "als": {"n_factors": 4, "n_epochs": 3},
    "bpr": {"n_factors": 4, "n_epochs": 3},
    "warp": {"n_factors": 4, "n_epochs": 3},
    "multi-vae": {"n_factors": 4, "hidden": 8, "n_epochs": 2},
    "neumf": {"layers": (8, 4), "n_epochs": 1},
}
NEURAL = ("multi-vae", "neumf")
EACH = [pytest.param(name, marks=pytest.mark.long if name in NEURAL else ()) for name in REGISTRY]

RNG = np.random.default_rng(3)
PAIRS: NDArray[np.int64] = np.argwhere(RNG.random((40, 16)) < 0.3)
COUNTS: NDArray[np.int64] = RNG.integers(1, 4, len(PAIRS))


def table(user: Any, item: Any, value: Any = None) -> dict[str, Any]:
    return {"user": user, "item": item, **({} if value is None else {"value": value})}


def rows(pairs: NDArray[np.int64], value: Any = None) -> dict[str, Any]:
    return table(pairs[:, 0], pairs[:, 1], value)


WEIGHTED = rows(PAIRS, COUNTS)


def fit(name: str, events: Any, **params: Any) -> Recommender:
    try:
        return recommenders.get(name, **QUICK.get(name, {}), **params).fit(events)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


def same(one: Recommender, other: Recommender) -> bool:
    return np.array_equal(one.scores(), other.scores()) and np.array_equal(
        one.seen_weights_, other.seen_weights_
    )


@pytest.mark.parametrize("name", EACH)
class TestTables:
    """One model for tables that say the same."""

    def test_weights_are_repeated_rows(self, name: str) -> None:
        weighted = fit(name, WEIGHTED)
        repeated = rows(np.repeat(PAIRS, COUNTS, axis=0))
        assert same(fit(name, repeated), weighted)
        half = rows(np.repeat(PAIRS, 2, axis=0), np.repeat(COUNTS / 2, 2))
        assert same(fit(name, half), weighted)

    def test_gain_one_is_each_pair_once(self, name: str) -> None:
        if not REGISTRY[name].reads_gain:
            pytest.skip("this model counts each pair once anyway")
        repeated = rows(np.repeat(PAIRS, COUNTS, axis=0))
        assert same(fit(name, repeated, gain="one"), fit(name, rows(PAIRS)))
        assert not same(fit(name, repeated), fit(name, rows(PAIRS)))
        logarithms = rows(PAIRS, np.log2(1.0 + COUNTS))
        assert same(fit(name, repeated, gain="log"), fit(name, logarithms))

    def test_order_of_rows_does_not_matter(self, name: str) -> None:
        repeated = np.repeat(PAIRS, COUNTS, axis=0)
        shuffled = np.random.default_rng(1).permutation(repeated)
        assert same(fit(name, rows(shuffled)), fit(name, rows(repeated)))

    def test_fractions_in_another_order_give_the_same(self, name: str) -> None:
        """Sums of values of a pair are rounded; the order of its rows does not decide how."""
        parts = np.tile([0.1, 0.2, 0.3, 0.7], len(PAIRS))
        one = rows(np.repeat(PAIRS, 4, axis=0), parts)
        other = rows(np.repeat(PAIRS, 4, axis=0), parts[::-1])
        assert same(fit(name, one), fit(name, other))

    def test_ids_in_the_same_order_give_the_same(self, name: str) -> None:
        plain = fit(name, WEIGHTED)
        user, item = PAIRS.T
        texts = [[f"{x:03}" for x in column.tolist()] for column in (user, item)]
        for users, items in ((user * 7 - 50, item + 10**9), texts, (user, texts[1])):
            renamed = fit(name, table(users, items, COUNTS))
            assert same(renamed, plain)
            assert renamed.user_labels_ is not None
            assert plain.user_labels_ is not None
            lists = renamed.recommend(renamed.user_labels_[:5], k=3)
            expected = plain.recommend(plain.user_labels_[:5], k=3)
            assert np.array_equal(lists[1], expected[1])

    def test_file_and_memory_give_the_same(self, name: str, tmp_path: Path) -> None:
        plain = fit(name, WEIGHTED)
        frame = pl.DataFrame(WEIGHTED)
        frame.write_csv(tmp_path / "events.csv")
        frame.write_parquet(tmp_path / "events.parquet")
        for form in (tmp_path / "events.csv", tmp_path / "events.parquet", frame):
            assert same(fit(name, form), plain)
        if name not in NEURAL:
            plain.save(tmp_path / "model")
            assert same(recommenders.load(tmp_path / "model"), plain)
