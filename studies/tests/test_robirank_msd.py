"""The study of the taste profile on a small made file of the same form."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import DataError
from podium_studies.cells import parts
from podium_studies.recipe import Recipe, load
from podium_studies.yun2014 import msd as study
from podium_studies.yun2014.msd import hold_out, read

N_USERS, N_SONGS = 300, 120


def triplets(seed: int = 0) -> bytes:
    """Return lines of users of two tastes, with ids like the published ones."""
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    for user in range(N_USERS):
        popular = np.minimum(rng.geometric(0.05, 40) - 1, N_SONGS // 2 - 1)
        own = np.where(rng.random(40) < 0.9, user % 2, 1 - user % 2)
        songs = np.unique(2 * popular + own)[: 1 + user % 25].tolist()
        lines += [f"{user:040x}\tSO{song:016X}\t{1 + song % 3}\n" for song in songs]
    return "".join(lines).encode()


def small(**changes: Any) -> Recipe:
    recipe = load("robirank-msd")
    methods = {
        name: {"passes": [0] if name == study.POPULARITY else [2, 30], "options": made["options"]}
        for name, made in recipe.parameters["methods"].items()
    }
    fewer = {"judged": 200, "model": {"n_factors": 8, "gain": "one"}, "methods": methods}
    return dataclasses.replace(recipe, parameters={**recipe.parameters, **fewer, **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("msd")
    (place / study.FILE).write_bytes(triplets())
    return place


@pytest.fixture(scope="module")
def context(folder: Path) -> study.Context:
    return study.prepare(small(), {"msd": folder})


@pytest.fixture(scope="module")
def cells(context: study.Context) -> dict[str, Any]:
    recipe = small()
    return {
        cell: {
            k: np.asarray(v).tolist() for k, v in study.run(recipe, context, **parts(cell)).items()
        }
        for cell in study.cells(recipe)
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            b"a\tb\t1\na\tc\n",
            r"^x, line 2 must be user, song and count, separated by tabs, got 'a\\tc'",
        ),
        (b"a\tb\tmany\n", r"^x, line 1 must be user, song and count"),
        (b"a,b,1\n", r"got 'a,b,1'\.$"),
        (b"a\tb\t99999999999\n", "^x, line 1 must be user, song and count"),
        (b"a\tb\t1\na\tc\t0\n", "^x, line 2: count must be at least 1, got 0"),
        (b"a\tb\t1\na\tb\t2\n", "^x has 1 repeated pairs of user and song"),
        (b"", "^x is empty"),
    ],
)
def test_file_of_another_form_is_refused_in_one_line(text: bytes, said: str) -> None:
    with pytest.raises(DataError) as refused:
        read(io.BytesIO(text), "x")
    assert "\n" not in str(refused.value)


def test_a_share_of_each_users_songs_is_held_out() -> None:
    plays = read(io.BytesIO(triplets()), "x")
    split = hold_out(plays, 0.2, np.random.default_rng)
    sizes = np.diff(plays.indptr)
    assert {3, 4, 5, 9, 10} <= set(sizes.tolist())
    np.testing.assert_array_equal(np.diff(split.test.indptr), sizes // 5)
    both = (split.train + split.test).toarray()
    np.testing.assert_array_equal(both, plays.toarray() > 0)  # all, and none in both


def test_difference_is_paired_by_user_after_most_passes(cells: dict[str, Any]) -> None:
    folded = study.STUDY.fold(small(), cells)
    robirank_values, bpr_values = (
        np.array(cells[f"seed=0/method={name}/passes=30"]["ndcg@10"])
        for name in ("RoBiRank", "BPR")
    )
    actual = folded["RoBiRank − BPR: ndcg@10"]
    assert actual.value == pytest.approx((robirank_values - bpr_values).mean())
    assert actual.std_error == pytest.approx(
        (robirank_values - bpr_values).std(ddof=1) / np.sqrt(200)
    )
