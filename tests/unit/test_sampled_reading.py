"""Reading sampled ranks and scores of candidates, with and without strata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.raised import raises

from podium import catalogue
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.sampled import read, read_seen

SCORED = {
    "user": ["a", "a", "a", "b", "b", "b"],
    "item": [1, 2, 3, 1, 4, 5],
    "score": [0.5, 0.5, 0.9, 0.1, 0.2, 0.3],
    "target": [1, 0, 0, 0, 0, 1],
}
STRATA: dict[str, Any] = {  # a has two targets; scores tie with the target of b
    "user": ["a", "a", "a", "a", "a", "b", "b", "b"],
    "item": ["t1", "t2", "i1", "i2", "i3", "t1", "i1", "i2"],
    "score": [0.9, 0.5, 1.0, 0.7, 0.6, 0.1, 0.1, 0.3],
    "target": [1, 1, 0, 0, 0, 1, 0, 0],
    "stratum": ["listed", "drawn", "listed", "listed", "drawn", "drawn", "drawn", "listed"],
}
SEEN = {"user": ["a", "a", "b"], "item": ["s1", "s2", "i3"]}
KINDS = pytest.mark.parametrize("kind", [{"k": 2}, {"shared": True}])


def test_ranks_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "ranks.csv"
    file.write_text("user_id,rank\nu1,3\nu2,1\nu1,10\n")
    found = read(file, n_items=50, n_negatives=9, replacement=False)
    assert found.ranks.tolist() == [3, 1, 10]
    assert found.weights.tolist() == [1 / 4, 1 / 2, 1 / 4]
    assert (found.n_negatives, found.n_items, found.replacement) == (9, 50, False)


def test_sizes_come_from_a_column_or_from_the_caller() -> None:
    same = read({"rank": [3, 1], "n_negatives": [9, 9]}, n_items=50)
    assert same.n_negatives == 9
    several = read({"rank": [3, 1], "n_negatives": [9, 8]}, n_items=50)
    assert several.n_negatives.tolist() == [9, 8]
    named = read({"place": [2]}, n_items=5, n_negatives=3, columns={"rank": "place"})
    assert named.ranks.tolist() == [2]
    assert read(SCORED, n_items=50, n_negatives=2).n_negatives == 2


@pytest.mark.parametrize("name", ["history", "n_history", "n_train"])
def test_numbers_of_own_items_are_read_from_a_column(name: str) -> None:
    found = read({"rank": [3, 1], name: [12, 0]}, n_items=50, n_negatives=9)
    assert found.history.tolist() == [12, 0]
    for counts in ([7, 7, 7, 9, 9, 9], [7, None, None, None, None, 9]):
        assert read(SCORED | {name: counts}, n_items=50).history.tolist() == [7, 9]


@pytest.mark.parametrize(("ties", "ranks"), [("worst", [3, 1]), ("best", [2, 1])])
def test_scores_of_candidates_become_ranks(ties: Any, ranks: list[int]) -> None:
    found = read(SCORED, n_items=100, ties=ties)
    assert found.ranks.tolist() == ranks
    assert (found.n_negatives, found.n_users) == (2, 2)


def test_kind_of_a_table_follows_from_its_columns() -> None:
    points = {**SCORED, "points": SCORED["score"]}
    del points["score"]
    assert read(points, n_items=100, columns={"score": "points"}).ranks.tolist() == [3, 1]
    both = {**SCORED, "rank": [1] * 6}
    assert read(both, n_items=100, n_negatives=2).n_rows == 6
    assert read(both, n_items=100, columns={"score": "score"}).ranks.tolist() == [3, 1]
    part = {**STRATA, "part": STRATA["stratum"]}
    del part["stratum"]
    assert read(part, n_items=40, k=2, columns={"stratum": "part"}).n_users == 2


def test_random_ties_take_every_place_alike() -> None:
    n = 4000
    table = {
        "user": np.repeat(np.arange(n), 4),
        "item": np.tile(np.arange(4), n),
        "score": np.zeros(4 * n),
        "target": np.tile([1, 0, 0, 0], n),
    }
    found = read(table, n_items=100, ties="random", seed=1)
    counts = np.bincount(found.ranks, minlength=5)[1:]
    assert ((counts - n / 4) ** 2 / (n / 4)).sum() < 20
    back = {name: np.asarray(column)[::-1] for name, column in table.items()}
    again = read(back, n_items=100, ties="random", seed=1)
    assert again.ranks[np.argsort(again.user)].tolist() == found.ranks.tolist()
    text = table | {name: table[name].astype(str) for name in ("user", "item")}
    other = read(text, n_items=100, ties="random", seed=1)
    ranks = dict(zip(other.user.tolist(), other.ranks.tolist(), strict=True))
    assert [ranks[str(user)] for user in found.user.tolist()] == found.ranks.tolist()


def test_several_targets_are_ranked_among_the_same_candidates() -> None:
    table = {"user": [1] * 4, "item": [1, 2, 3, 4], "score": [4, 3, 2, 1], "target": [1, 0, 1, 0]}
    found = read(table, n_items=9)
    assert (found.ranks.tolist(), found.n_negatives, found.n_users) == ([1, 2], 2, 1)


def twice(row: int, **change: Any) -> dict[str, list[Any]]:
    """Return the table with one of its rows again at its end, but for some columns."""
    again = {name: column[row] for name, column in SCORED.items()} | change
    return {name: [*column, again[name]] for name, column in SCORED.items()}


@pytest.mark.parametrize(
    "table",
    [
        twice(0),
        twice(0, score=0.4),
        twice(0, target=0),
        twice(3, target=1),
        twice(4, score=0.4),
    ],
)
def test_only_a_candidate_may_be_drawn_twice(table: dict[str, Any]) -> None:
    with raises(DataError):
        read(table, n_items=100)
    with raises(DataError, "replacement"):
        read(table, n_items=100, replacement=False)
    with pytest.warns(PodiumWarning, match="users have 2 to 3 candidates"):
        found = read(twice(1), n_items=100)
    assert found.n_negatives.tolist() == [3, 2]
    assert found.ranks.tolist() == [4, 1]
    with raises(DataError, "replacement"):
        read(twice(1), n_items=100, replacement=False)
    assert read(SCORED, n_items=100, replacement=False).n_users == 2


@pytest.mark.parametrize("kind", ["array", "csv", "list"])
def test_integers_that_float64_would_round_stay_apart(tmp_path: Path, kind: str) -> None:
    """The target is above the first candidate by 1 in 2 ** 60, and below the second."""
    top = 2**60
    table: dict[str, Any] = {"user": [1] * 3, "item": [1, 2, 3], "score": [top + 1, top, top + 2]}
    table["target"] = [1, 0, 0]
    source: Any = table
    if kind == "array":
        source = {name: np.array(column) for name, column in table.items()}
    if kind == "csv":
        source = tmp_path / "scores.csv"
        rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
        source.write_text("\n".join([",".join(table), *rows]) + "\n")
    assert read(source, n_items=100).ranks.tolist() == [2]


def whole_sample(n_users: int = 20, n_items: int = 30) -> tuple[dict[str, Any], Any, Any]:
    """Return scores of all items, among them the targets, and which others users had seen."""
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(n_users, n_items))
    seen = csr_array(rng.random((n_users, n_items)) < 0.3)
    target = np.array([rng.choice(np.flatnonzero(~row)) for row in seen.toarray()])
    ones, users = np.ones(n_users), np.arange(n_users)
    targets = csr_array((ones, (users, target)), shape=(n_users, n_items))
    table = {
        "user": np.repeat(users, n_items),
        "item": np.tile(np.arange(n_items), n_users),
        "score": scores.ravel(),
        "target": targets.toarray().ravel(),
    }
    return table, targets, seen


def test_whole_sample_without_the_seen_has_the_exact_ranks_among_the_unseen() -> None:
    """Random numbers of items of each user are seen; a sample of the others is complete."""
    table, targets, seen = whole_sample()
    pairs = dict(zip(("user", "item"), seen.nonzero(), strict=True))
    scores = table["score"].reshape(targets.shape)
    exact = catalogue.target_ranks(scores, targets, exclude=seen)
    options: dict[str, Any] = {"n_items": 30, "seen_candidates": "drop"}
    found = read(table, replacement=False, seen=pairs, **options)
    assert found.ranks.tolist() == exact.tolist()
    assert found.n_items.tolist() == (30 - np.diff(seen.tocsr().indptr)).tolist()
    for name in ("user", "item"):  # ids of other data
        with raises(DataError):
            read(table, n_items=30, seen={**pairs, name: pairs[name] + 99})
    few = {name: column[pairs["user"] < 2] for name, column in pairs.items()}
    with pytest.warns(PodiumWarning, match=r"2 of the 20 users of .* are in the seen items"):
        read(table, seen=few, **options)


def test_seen_candidates_are_refused_or_dropped() -> None:
    table = {"user": [0] * 3 + [1] * 3 + [2] * 3, "item": [1, 0, 2, 1, 2, 3, 2, 1, 0]}
    table |= {"score": list(range(9)), "target": [1, 0, 0] * 3}
    seen = {"user": [1, 1, 0, 2, 2], "item": [2, 3, 7, 4, 5]}
    with raises(DataError, "seen_candidates", "seen"):
        read(table, n_items=9, seen=seen)
    drop: dict[str, Any] = {"n_items": 9, "seen_candidates": "drop"}
    with pytest.warns(PodiumWarning, match="targets dropped, because all of .* seen items: 1"):
        found = read(table, seen=read_seen(seen), **drop)
    assert found.user.tolist() == [0, 2]  # nothing is left of user 1's
    assert found.n_items.tolist() == [8, 7]
    with raises(DataError):  # a target is a seen item
        read(table, seen=([2, 1, 0], [2, 5, 5]), **drop)


def test_samples_that_seem_to_have_grown_are_pointed_out() -> None:
    """The size of a sample must not depend on the rank. Few ranks may lack 1 by chance."""
    for n_users, first in ((30, 2), (600, 1), (600, 2)):
        sizes, ranks = np.full(n_users, 20), np.full(n_users, 1)
        sizes[::2], ranks[::2] = 10, np.arange(n_users // 2) % 3 + first
        table = {"rank": ranks, "n_negatives": sizes}
        if (n_users, first) == (600, 2):
            with pytest.warns(PodiumWarning, match="no target ranks first in a sample of fewer"):
                read(table, n_items=100)
        else:
            assert np.ptp(read(table, n_items=100).n_negatives) == 10


@pytest.mark.filterwarnings("ignore:.*users have 10 to 20:podium.errors.PodiumWarning")
def test_scores_of_samples_that_seem_to_have_grown_are_pointed_out() -> None:
    """In all samples of 10, a candidate is above the target; in all of 20, the target is first."""
    sizes = np.tile([10, 20], 100)
    user = np.repeat(np.arange(200), sizes + 1)
    item = (np.concatenate([np.arange(size + 1) for size in sizes]) + 31 * user) % 1000
    starts = np.cumsum([0, *(sizes + 1)[:-1]])
    is_target = np.isin(np.arange(user.size), starts)
    is_best = np.isin(np.arange(user.size), starts[::2] + 1)
    table = {"user": user, "item": item, "score": 1.0 * is_target + 2 * is_best}
    with pytest.warns(PodiumWarning, match="no target ranks first in a sample of fewer"):
        found = read({**table, "target": is_target}, n_items=1000)
    assert sorted(set(found.ranks.tolist())) == [1, 2]
    found = read({**table, "score": 1.0 * is_target, "target": is_target}, n_items=1000)
    assert found.ranks.tolist() == [1] * 200


@pytest.mark.filterwarnings("ignore:.*users have .* candidates:podium.errors.PodiumWarning")
def test_seen_items_that_samples_hardly_hold_are_pointed_out() -> None:
    """Of 20 users' seen items, one is in the sample of one of the others, by accident."""
    user, item = (ids.ravel() for ids in np.indices((20, 40)))
    item[0] = 100
    table = {"user": user, "item": item, "score": np.zeros(800), "target": item == 1}
    kept = {name: column[(item > 0) | (user == 3)] for name, column in table.items()}
    seen = {"user": np.arange(20), "item": np.array([0, *range(101, 120)])}
    said = r"1 of the 20 items of the seen items are among the 41 of .*\. Check that both use the"
    with pytest.warns(PodiumWarning, match=said):
        read(kept, n_items=100, seen=seen)


def test_seen_items_may_be_in_no_sample_by_chance() -> None:
    """A user's own are in none, and those of one other need not be in a small one."""
    alone = {name: column[:3] for name, column in SCORED.items()}
    found = read(alone, n_items=60, seen=(["a"] * 50, range(10, 60)))
    assert found.n_items == 10
    with pytest.warns(PodiumWarning, match="0 of the 2 items of the seen items are among the 5"):
        read(SCORED, n_items=60, seen=(["a", "b"], [11, 12]))


def test_ranks_take_seen_items_on_trust() -> None:
    ranks = {"user": ["a", "b"], "rank": [3, 1], "history": [2, 1]}
    options: dict[str, Any] = {"n_items": 50, "n_negatives": 9}
    with pytest.warns(PodiumWarning, match="history is ignored, because seen= leaves out users'"):
        found = read(ranks, seen=(["a", "a", "b"], [5, 6, 5]), **options)
    assert found.n_items.tolist() == [48, 49]
    assert found.history is None
    with raises(ArgumentError, "seen"):
        read(ranks, seen=(["a"], [5]), columns={"history": "history"}, **options)


def test_catalogue_may_be_as_small_as_the_table_of_scores() -> None:
    table = {
        "user": [1, 1, 1, 2, 2, 2],
        "item": [5, 6, 7, 8, 9, 5],
        "score": [0.2, 0.9, 0.1] * 2,
        "target": [1, 0, 0] * 2,
    }
    assert read(table, n_items=5).n_items == 5
    for seen in (None, {"user": [1, 2], "item": [8, 6]}):  # users' catalogues are smaller
        read(table, n_items=5, seen=seen)
        with raises(DataError, "n_items", "seen"):
            read(table, n_items=4, seen=seen)


def test_strata_are_counted_for_each_target() -> None:
    found = read(STRATA, n_items=40, k=2)
    assert found.user.tolist() == ["a", "a", "b"]
    assert found.above_listed.tolist() == [1, 3, 1]  # t1 is above t2 and counts as listed
    assert found.n_listed.tolist() == [3, 3, 1]
    assert found.above_drawn.tolist() == [0, 1, 1]
    assert found.n_drawn.tolist() == [1, 1, 1]
    assert read(STRATA, n_items=40, k=2, ties="best").above_drawn.tolist() == [0, 1, 0]
    assert read(STRATA, n_items=40, k=2, seen=SEEN).n_items.tolist() == [38, 38, 39]
    with raises(ArgumentError):  # more scored items than there are
        read(STRATA, n_items=5, k=2, seen={"user": ["a", "b"], "item": ["s1", "i3"]})


def test_strata_are_counted_for_whole_rankings() -> None:
    for ties, above in (("worst", [0, 1, 1]), ("best", [0, 1, 0])):
        found = read(STRATA, n_items=40, ties=ties, shared=True)
        assert found.ranks.above_listed.tolist() == [1, 2, 1]  # without the other target
        assert found.ranks.above_drawn.tolist() == above
        assert found.position.tolist() == [1, 2, 1]
        assert found.n_items.tolist() == [40, 40, 40]
        assert found.n_candidates.tolist() == [39, 39, 40]
    assert read(STRATA, n_items=40, seen=SEEN, shared=True).n_items.tolist() == [38, 38, 39]


@KINDS
@pytest.mark.parametrize("item", ["i1", "i3", "t2"])
def test_bad_strata_are_refused(kind: dict[str, Any], item: str) -> None:
    with raises(DataError, *(() if item == "t2" else ("seen",))):
        read(STRATA, n_items=40, seen={"user": ["a", "b"], "item": [item, "i3"]}, **kind)
    read(STRATA, n_items=6, **kind)
    with raises(DataError, "n_items", "seen"):
        read(STRATA, n_items=4, **kind)


def test_popular_draws_are_named() -> None:
    rng, n = np.random.default_rng(0), 300
    said = "was drawn for .* drawn items have too many draws"

    def scores_of(items: Any) -> dict[str, Any]:
        width = items.shape[1] + 1
        item = np.column_stack([np.full(n, 10_000), items]).ravel()
        target = np.tile(np.arange(width) == 0, n)
        user = np.repeat(np.arange(n), width)
        return {"user": user, "item": item, "score": item / 1e6, "target": target}

    with pytest.warns(PodiumWarning, match=said):
        read(scores_of(rng.geometric(0.02, (n, 20)).clip(max=999)), n_items=1000)
    uniform = np.stack([rng.choice(999, 20, replace=False) for _ in range(n)])
    assert read(scores_of(uniform), n_items=1000).n_rows == n
    common = np.tile(np.arange(20), (n, 1))  # the same list for all users
    assert read(scores_of(common), n_items=1000).n_rows == n
    hit = scores_of(np.full((n, 1), 7))
    with pytest.warns(PodiumWarning, match="item 7 was drawn for 300 users"):
        read({**hit, "stratum": ["drawn"] * (2 * n)}, n_items=1000, k=5)


def _ranked(n_listed_targets: int, n_high: int) -> dict[str, Any]:
    """Return 100 users with a target, of which some are listed, and some score high."""
    users = np.repeat(np.arange(100), 8)
    place = np.tile(np.arange(8), 100)  # the target, four listed items, three drawn ones
    score = np.where(place == 0, np.where(users < n_high, 4.5, -1.0), 5.0 - place)
    item = np.where(place > 4, 10 + (users * 13 + 7 * place) % 900, place)
    is_listed = np.where(place == 0, users < n_listed_targets, place < 5)
    stratum = np.where(is_listed, "listed", "drawn")
    return {"user": users, "item": item, "score": score, "target": place == 0, "stratum": stratum}


@KINDS
def test_proxy_that_knows_the_targets_is_named(kind: dict[str, Any]) -> None:
    text = "the proxy lists 95 of 100 targets, but by their scores only about 60 are among"
    with pytest.warns(PodiumWarning, match=text):
        read(_ranked(95, 60), n_items=1000, **kind)
    for listed, high in ((89, 60), (60, 60), (0, 60), (100, 81)):  # no warning
        read(_ranked(listed, high), n_items=1000, **kind)
