"""Reading sampled ranks, negatives files, and scores of candidates."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.raised import raises

from podium import catalogue
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.sampled import (
    SampleReader,
    read,
    read_candidate_scores,
    read_negatives,
    read_ranks,
    read_seen,
)

SCORED = {
    "user": ["a", "a", "a", "b", "b", "b"],
    "item": [1, 2, 3, 1, 4, 5],
    "score": [0.5, 0.5, 0.9, 0.1, 0.2, 0.3],
    "target": [1, 0, 0, 0, 0, 1],
}


def test_ranks_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "ranks.csv"
    file.write_text("user_id,rank\nu1,3\nu2,1\nu1,10\n")
    found = read_ranks(file, n_items=50, n_negatives=9, replacement=False)
    assert found.ranks.tolist() == [3, 1, 10]
    assert found.weights.tolist() == [1 / 4, 1 / 2, 1 / 4]
    assert (found.n_negatives, found.n_items, found.replacement) == (9, 50, False)


def test_sizes_come_from_a_column_or_from_the_caller() -> None:
    same = read_ranks({"rank": [3, 1], "n_negatives": [9, 9]}, n_items=50)
    assert same.n_negatives == 9
    several = read_ranks({"rank": [3, 1], "n_negatives": [9, 8]}, n_items=50)
    assert np.asarray(several.n_negatives).tolist() == [9, 8]
    grown = read_ranks({"rank": [3, 1], "n_negatives": [4, 8]}, n_items=50, stages=(4, 8))
    assert grown.stages == (4, 8)
    named = read_ranks({"place": [2]}, n_items=5, n_negatives=3, columns={"rank": "place"})
    assert named.ranks.tolist() == [2]


@pytest.mark.parametrize("name", ["history", "n_history", "n_train"])
def test_numbers_of_own_items_are_read_from_a_column(name: str) -> None:
    found = read_ranks({"rank": [3, 1], name: [12, 0]}, n_items=50, n_negatives=9)
    assert found.history is not None
    assert found.history.tolist() == [12, 0]
    for counts in ([7, 7, 7, 9, 9, 9], [7, None, None, None, None, 9]):
        scored = read_candidate_scores(SCORED | {name: counts}, n_items=50)
        assert scored.history is not None
        assert scored.history.tolist() == [7, 9]
    with pytest.raises(DataError, match=f"{name} has 1 missing value, first at row 0"):
        read_candidate_scores(SCORED | {name: [None, 7, 7, 9, 9, 9]}, n_items=50)
    with raises(ArgumentError, "n_items"):
        read_ranks({"rank": [3], name: [5]}, n_items=5, n_negatives=3)


@pytest.mark.parametrize(
    ("ties", "ranks"), [("worst", [3, 1]), ("best", [2, 1]), ("average", [2, 1, 3, 1])]
)
def test_scores_of_candidates_become_ranks(ties: Any, ranks: list[int]) -> None:
    found = read_candidate_scores(SCORED, n_items=100, ties=ties)
    assert found.ranks.tolist() == ranks
    assert (found.n_negatives, found.n_users) == (2, 2)


def test_name_of_a_column_of_scores_shows_that_a_table_has_scores() -> None:
    table = {**SCORED, "points": SCORED["score"]}
    del table["score"]
    found = read(table, n_items=100, columns={"score": "points"})
    assert found.ranks.tolist() == read_candidate_scores(SCORED, n_items=100).ranks.tolist()


def test_random_ties_take_every_place_alike() -> None:
    n = 4000
    table = {
        "user": np.repeat(np.arange(n), 4),
        "item": np.tile(np.arange(4), n),
        "score": np.zeros(4 * n),
        "target": np.tile([1, 0, 0, 0], n),
    }
    found = read_candidate_scores(table, n_items=100, ties="random", seed=1)
    counts = np.bincount(found.ranks, minlength=5)[1:]
    assert ((counts - n / 4) ** 2 / (n / 4)).sum() < 20
    back = {name: np.asarray(column)[::-1] for name, column in table.items()}
    again = read_candidate_scores(back, n_items=100, ties="random", seed=1)
    assert again.ranks[np.argsort(again.user)].tolist() == found.ranks.tolist()


def test_random_ties_are_the_same_for_a_number_and_its_text() -> None:
    table = {
        "user": np.repeat(np.arange(50), 10),
        "item": np.tile(np.arange(10), 50),
        "score": np.zeros(500),
        "target": np.tile([1] + 9 * [0], 50),
    }
    text = table | {name: table[name].astype(str) for name in ("user", "item")}
    first, second = (
        read_candidate_scores(each, n_items=100, ties="random") for each in (table, text)
    )
    assert first.user is not None
    assert second.user is not None
    ranks = dict(zip(second.user.tolist(), second.ranks.tolist(), strict=True))
    assert [ranks[str(user)] for user in first.user.tolist()] == first.ranks.tolist()


def test_several_targets_are_ranked_among_the_same_candidates() -> None:
    table = {"user": [1] * 4, "item": [1, 2, 3, 4], "score": [4, 3, 2, 1], "target": [1, 0, 1, 0]}
    found = read_candidate_scores(table, n_items=9)
    assert (found.ranks.tolist(), found.n_negatives, found.n_users) == ([1, 2], 2, 1)


def twice(row: int, **change: Any) -> dict[str, list[Any]]:
    """Return the table with one of its rows again at its end, but for some columns."""
    again = {name: column[row] for name, column in SCORED.items()} | change
    return {name: [*column, again[name]] for name, column in SCORED.items()}


@pytest.mark.parametrize("table", [twice(0), twice(0, target=0), twice(1), twice(1, score=0.0)])
def test_item_twice_needs_replacement(table: dict[str, Any]) -> None:
    """Rows of one of user a's items, of whichever kind: one of them cannot be a draw."""
    said = "user 'a' has item [12] in two rows, but replacement=False means .*another: 1"
    with pytest.raises(DataError, match=said):
        read_candidate_scores(table, n_items=100, mixed=True, replacement=False)
    assert read_candidate_scores(SCORED, n_items=100, replacement=False).n_users == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (twice(0), "user 'a' has target 1 in two rows"),
        (twice(0, score=0.4), "user 'a' has target 1 in two rows"),
        (twice(0, target=0), "user 'a' has target 1 among the candidates too"),
        (twice(3, target=1), "user 'b' has target 1 among the candidates too"),
        (twice(4, score=0.4), "has several scores for user 'b' and item 4"),
    ],
)
def test_only_a_candidate_may_be_drawn_twice(table: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_candidate_scores(table, n_items=100, mixed=True)
    found = read_candidate_scores(twice(1), n_items=100, mixed=True)
    assert np.asarray(found.n_negatives).tolist() == [3, 2]
    assert found.ranks.tolist() == [4, 1]


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
    assert read_candidate_scores(source, n_items=100).ranks.tolist() == [2]


def write_negatives(folder: Path, text: str) -> Path:
    file = folder / "test.negative.gz"
    file.write_bytes(gzip.compress(text.encode()))
    return file


def test_negatives_file_gives_the_ranks_of_its_candidates(tmp_path: Path) -> None:
    file = write_negatives(tmp_path, "(1,0)\t2\t3\n(0, 3)\t0\t1\n")
    found = read_negatives(file, n_items=4)
    assert (found.n_negatives, found.replacement) == (2, False)
    ranks = found.ranks([[4.0, 1.0, 3.0, 2.0], [2.0, 9.0, 3.0, 1.0]])
    assert ranks.ranks.tolist() == [2, 2]
    assert ranks.user is not None
    assert ranks.user.tolist() == [1, 0]


def test_own_target_among_negatives_is_refused_or_dropped(tmp_path: Path) -> None:
    file = write_negatives(tmp_path, "(1,0)\t2\t3\n(0,3)\t0\t3\n")
    with raises(DataError, "own_target"):
        read_negatives(file, n_items=4)
    found = read_negatives(file, n_items=4, own_target="drop")
    assert np.asarray(found.n_negatives).tolist() == [2, 1]


@pytest.mark.parametrize(
    "text", ["(0,1)\n", "(0,1)2\t3\n", "0,1\t2\n", "(0,1)\t2\tx\n", "(0,1)\t2\n\n"]
)
def test_bad_negatives_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"line \d must be \(user,item\), a tab"):
        read_negatives(write_negatives(tmp_path, text), n_items=9)
    with pytest.raises(DataError, match="does not exist"):
        read_negatives(tmp_path / "absent", n_items=9)


@pytest.mark.parametrize("digits", [19, 20, 5000])
@pytest.mark.parametrize("line", ["({},1)\t2\n", "(0,{})\t2\n", "(0,1)\t2\t{}\n"])
def test_number_that_int64_cannot_hold_is_refused(tmp_path: Path, line: str, digits: int) -> None:
    file = write_negatives(tmp_path, line.format("9" * digits))
    with pytest.raises(DataError, match=f"line 1 has a number of {digits} digits"):
        read_negatives(file, n_items=9)


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
    found = read_candidate_scores(
        table, n_items=30, replacement=False, seen=pairs, seen_candidates="drop"
    )
    assert found.ranks.tolist() == exact.tolist()
    assert np.asarray(found.n_items).tolist() == (30 - np.diff(seen.tocsr().indptr)).tolist()


def test_candidates_that_were_seen_are_refused_with_their_number(tmp_path: Path) -> None:
    file = write_negatives(tmp_path, "(1,0)\t2\t3\n(0,3)\t0\t1\n(2,3)\t0\t1\n")
    seen = {"user": [1, 1, 0, 2, 2], "item": [2, 3, 1, 4, 5]}
    with pytest.raises(DataError, match="3 of 6 candidates are in the seen items, first item 2 of"):
        read_negatives(file, n_items=9, seen=seen)
    with pytest.warns(PodiumWarning, match="targets dropped, because all of .* seen items: 1"):
        found = read_negatives(file, n_items=9, seen=read_seen(seen), seen_candidates="drop")
    assert isinstance(found.user, np.ndarray)
    assert found.user.tolist() == [0, 2]  # nothing is left of user 1's
    assert found.items.tolist() == [0, 0, 1]
    assert np.asarray(found.n_items).tolist() == [8, 7]
    with pytest.raises(DataError, match="1 of 3 targets are in the seen items, first item 3 of us"):
        read_negatives(file, n_items=9, seen=([2, 1, 0], [3, 5, 5]), seen_candidates="drop")
    with raises(ArgumentError, "n_items", "seen"):
        read_negatives(file, n_items=[9, 9, 9], seen=seen)
    rows = {**SCORED, "item": [11, 12, 13, 11, 14, 15]}
    with raises(DataError, "seen_candidates", "seen"):
        read_candidate_scores(rows, n_items=50, seen=(["a", "b"], [12, 14]))
    with pytest.raises(DataError, match="all candidates of all users are seen items"):
        read_candidate_scores(
            rows,
            n_items=50,
            seen=(["a", "a", "b", "b"], [12, 13, 11, 14]),
            seen_candidates="drop",
        )


def test_seen_items_of_others_are_refused() -> None:
    table, _, seen = whole_sample()
    pairs = dict(zip(("user", "item"), seen.nonzero(), strict=True))
    for name in ("user", "item"):
        other = {**pairs, name: pairs[name] + 99}
        said = (
            rf"No {name} is in both tables: the table of seen items has {other[name].min()}, "
            r"the sample has 0\."
        )
        with pytest.raises(DataError, match=said):
            read_candidate_scores(table, n_items=30, seen=other)
    few = {name: column[pairs["user"] < 2] for name, column in pairs.items()}
    with pytest.warns(PodiumWarning, match=r"2 of the 20 users of .* are in the seen items"):
        read_candidate_scores(table, n_items=30, seen=few, seen_candidates="drop", mixed=True)


def test_seen_items_that_samples_hardly_hold_are_pointed_out() -> None:
    """Of 20 users' seen items, one is in the sample of one of the others, by accident."""
    user, item = (ids.ravel() for ids in np.indices((20, 40)))
    item[0] = 100
    table = {"user": user, "item": item, "score": np.zeros(800), "target": item == 1}
    kept = {name: column[(item > 0) | (user == 3)] for name, column in table.items()}
    seen = {"user": np.arange(20), "item": np.array([0, *range(101, 120)])}
    said = r"1 of the 20 items of the seen items are among the 41 of .*\. Check that both use the"
    with pytest.warns(PodiumWarning, match=said):
        read_candidate_scores(kept, n_items=100, seen=seen, mixed=True)


def test_seen_items_may_be_in_no_sample_by_chance() -> None:
    """A user's own are in none, and those of one other need not be in a small one."""
    alone = {name: column[:3] for name, column in SCORED.items()}
    found = read_candidate_scores(alone, n_items=60, seen=(["a"] * 50, range(10, 60)))
    assert np.asarray(found.n_items).tolist() == [10]
    with pytest.warns(PodiumWarning, match="0 of the 2 items of the seen items are among the 5"):
        read_candidate_scores(SCORED, n_items=60, seen=(["a", "b"], [11, 12]))


def test_ranks_take_seen_items_on_trust() -> None:
    ranks = {"user": ["a", "b"], "rank": [3, 1], "history": [2, 1]}
    with pytest.warns(
        PodiumWarning, match="history is ignored, because seen= leaves out users' own"
    ):
        found = read_ranks(ranks, n_items=50, n_negatives=9, seen=(["a", "a", "b"], [5, 6, 5]))
    assert np.asarray(found.n_items).tolist() == [48, 49]
    assert found.history is None
    with raises(ArgumentError, "seen"):
        read_ranks({"rank": [3]}, n_items=50, n_negatives=9, seen=([1], [2]))
    with pytest.raises(ArgumentError, match="history is the number of a user's own items"):
        read_ranks(
            ranks, n_items=9, n_negatives=3, seen=(["a"], [5]), columns={"history": "history"}
        )


def test_one_reader_takes_ranks_scores_and_listed_candidates(tmp_path: Path) -> None:
    ranks = {"user": [1, 2], "rank": [3, 1]}
    assert read(ranks, n_items=50, n_negatives=9).ranks.tolist() == [3, 1]
    assert read(SCORED, n_items=50).ranks.tolist() == [3, 1]
    assert read(SCORED, n_items=50, ties="best").ranks.tolist() == [2, 1]
    file = write_negatives(tmp_path, "(1,0)\t2\t3\n(0,3)\t0\t1\n")
    scores = np.array([[4.0, 1.0, 3.0, 2.0], [2.0, 9.0, 3.0, 1.0]])
    user, item = (each.ravel() for each in np.indices(scores.shape))
    table = {"user": user, "item": item, "score": scores.ravel()}
    reader = SampleReader(n_items=4, replacement=False, negatives=file)
    found, expected = reader.read(table), read_negatives(file, n_items=4).ranks(scores)
    by_user = [dict(zip(np.asarray(r.user), r.ranks, strict=True)) for r in (found, expected)]
    assert by_user[0] == by_user[1]
    pairs = reader.pairs
    assert reader.rank(pairs, scores[pairs.user, pairs.item]).ranks.tolist() == found.ranks.tolist()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "has no lines"),
        ("(1,0)\t2\t3\n(0,3)\t1\n", {}, "lines have from 1 to 2 candidates. Pass mixed=True"),
        ("(1,0)\t2\n(0,3)\t1\n", {"n_negatives": 3}, "1 candidates, but n_negatives is 3"),
        ("(1,0)\t2\n(1,0)\t1\n", {}, "lines 1 and 2 have the same user and target"),
        ("(1,0)\t2\t2\n", {}, "line 1 has item 2 twice, so items were drawn with replacement"),
        ("(1,0)\t2\t3\n(1,7)\t8\t9\n", {}, "has 6 different items, but n_items is"),
        ("(1,0)\t0\n", {"own_target": "drop"}, "line 1 has no candidate beside its target"),
    ],
)
def test_negatives_that_were_not_drawn_so_are_refused(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        read_negatives(write_negatives(tmp_path, text), n_items=5, **options)


def test_catalogue_smaller_than_the_table_of_scores_is_refused() -> None:
    table = {
        "user": [1, 1, 1, 2, 2, 2],
        "item": [5, 6, 7, 8, 9, 5],
        "score": [0.2, 0.9, 0.1] * 2,
        "target": [1, 0, 0] * 2,
    }
    assert read_candidate_scores(table, n_items=5).n_items == 5
    for seen in (None, {"user": [1, 2], "item": [8, 6]}):  # users' catalogues are smaller
        read_candidate_scores(table, n_items=5, seen=seen)
        with raises(DataError, "n_items", "seen"):
            read_candidate_scores(table, n_items=4, seen=seen)
