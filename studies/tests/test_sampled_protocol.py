"""Data sets of sampled evaluations: what is held out, from each form of file; exact ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from podium_studies.jin2021.evaluations import Evaluations, ranks, read
from podium_studies.study import DataSet, Recipe

PAIRS = [(1, 10), (1, 20), (1, 30), (2, 20), (2, 30), (5, 10), (5, 40), (5, 20)]
LAST = {1: 30, 2: 20, 5: 40}


def recipe(format: str, methods: dict[str, Any] | None = None, **protocol: Any) -> Recipe:
    settings = {"format": format, "users": 0, "least": 2, "shape": [], **protocol}
    return Recipe(
        name="made",
        title="Made",
        paper="jin2021",
        where="nowhere",
        study="none",
        parameters={"protocol": settings, "methods": methods or {}},
        data=(DataSet("set", "A made set", "https://example.org", "free"),),
    )


def pairs(part: Any) -> list[tuple[int, int]]:
    user, item = part.nonzero()
    return sorted(zip(user.tolist(), item.tolist(), strict=True))


def movielens(place: Path, form: str) -> Path:
    """Write the same pairs as each publisher has them."""
    test = [(user, LAST[user]) for user in LAST]
    rest = [pair for pair in PAIRS if pair not in test]
    if form == "ncf":
        for name, rows in (("train", rest), ("test", test)):
            lines = "".join(f"{u}\t{i}\t5\t{n}\n" for n, (u, i) in enumerate(rows))
            (place / f"ml-1m.{name}.rating").write_text(lines)
    else:
        lines = "".join(f"{u}::{i}::5::{100 + (LAST[u] == i)}\n" for u, i in PAIRS)
        (place / "ratings.dat").write_text(lines)
    return place


@pytest.mark.parametrize("form", ["ncf", "ratings"])
def test_movielens_holds_out_the_same_items_in_every_form(tmp_path: Path, form: str) -> None:
    train, targets = read(recipe("movielens-1m"), {"set": movielens(tmp_path, form)})
    assert pairs(targets) == [(0, 2), (1, 1), (2, 3)]
    assert pairs(train) == [(0, 0), (0, 1), (1, 2), (2, 0), (2, 1)]


def test_of_ratings_at_one_time_the_last_is_that_of_the_greater_item(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("".join(f"1::{i}::5::7\n" for i in (4, 9, 6)))
    assert pairs(read(recipe("movielens-1m"), {"set": tmp_path})[1]) == [(0, 2)]


def citeulike(place: Path) -> Path:
    parts = {"train": PAIRS[:4] + PAIRS[:1], "valid": PAIRS[4:6], "test": PAIRS[6:] + PAIRS[6:7]}
    for name, rows in parts.items():
        (place / f"{name}.txt").write_text("".join(f"{u} {i} 1\n" for u, i in rows))
    return place


def counted(place: Path) -> Path:
    (place / "users.dat").write_text("3 10 20 30\n2 20 30\n3 10 40 20\n")
    return place


def lists(place: Path) -> Path:
    (place / "train.txt").write_text("1 10 20 10\n2 20\n5 40\n7\n")
    (place / "test.txt").write_text("1 30 20\n2 30\n5 10 20\n")
    return place


def table(place: Path) -> Path:
    lines = "".join(f"{user},{item},5\n" for user, item in [*PAIRS, PAIRS[0]])
    (place / "yelp.csv").write_text(f"user_id,item_id,rating\n{lines}")
    return place


FORMS = {"citeulike": citeulike, "citeulike-a": counted, "lists": lists, "table": table}
each_form = pytest.mark.parametrize("form", FORMS)


@each_form
def test_held_out_items_are_the_same_whatever_the_form(tmp_path: Path, form: str) -> None:
    (tmp_path / "other").mkdir()
    one = read(recipe(form), {"set": FORMS[form](tmp_path)})
    other = read(recipe("citeulike"), {"set": citeulike(tmp_path / "other")})
    assert [*map(pairs, one)] == [*map(pairs, other)]


def test_a_share_of_users_keeps_the_items_that_they_have(tmp_path: Path) -> None:
    lines = "".join(f"{user} {user} {user + 1}\n" for user in range(0, 80, 2))
    (tmp_path / "train.txt").write_text(lines)
    (tmp_path / "test.txt").write_text(lines)
    train, _ = read(recipe("lists", users=10), {"set": tmp_path})
    assert train.shape == (10, 20)


def test_ranks_count_learned_items_and_break_ties_at_random() -> None:
    rng, users = np.random.default_rng(0), np.arange(100)
    same = (users[:, None] + np.arange(40)) % 2 == 0
    likes = rng.random(same.shape) < np.where(same, 0.25, 0.02)
    target = 2 * rng.integers(20, size=100) + users % 2  # of the user's taste
    likes[users, target] = False
    targets = sparse.csr_array((np.ones(100, np.float32), (users, target)), shape=likes.shape)
    train = sparse.csr_array(likes.astype(np.float32))
    made = recipe("lists", {"itemKNN": {"k": 40}})
    actual = ranks(Evaluations(made, train, targets), "itemKNN")
    dense = likes.astype(np.float64)
    norm = dense / np.sqrt((dense**2).sum(axis=0))
    cosine = norm.T @ norm
    np.fill_diagonal(cosine, 0.0)
    scores = (dense @ cosine).astype(np.float32)
    own = scores[users, target][:, None]
    assert (actual > (scores > own + 1e-4).sum(axis=1)).all()
    assert (actual <= (scores > own - 1e-4).sum(axis=1)).all()
