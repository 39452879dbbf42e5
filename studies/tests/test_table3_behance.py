"""Behance's original files: which likes become rows, and how image features are reduced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from podium.errors import DataError
from podium_studies.hiranandani2020 import behance

WIDTH, DIMENSIONS, N_IMAGES = 6, 3, 900
LIKES = {"u1": 60, "u2": 61, "u3": 59, "u4": 171, "u5": 64}  # u3 and u4 are too few and too many


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(behance, "WIDTH", WIDTH)
    monkeypatch.setattr(behance, "DIMENSIONS", DIMENSIONS)
    rng = np.random.default_rng(0)
    record = np.dtype([("item", "S8"), ("features", "<f4", (WIDTH,))])
    images = np.empty(N_IMAGES, record)
    images["item"] = [f"{i:08d}" for i in rng.permutation(N_IMAGES)]
    images["features"] = rng.normal(size=(N_IMAGES, WIDTH)) * np.arange(1, WIDTH + 1)
    images.tofile(tmp_path / behance.IMAGES)
    lines = [
        f"{user} {item:08d} {1_300_000_000 + time}"
        for user, n in LIKES.items()
        for time, item in enumerate(rng.permutation(N_IMAGES)[:n])
    ]
    lines += ["u1 99999999 1400000000", lines[0].replace(" 13", " 15")]  # unknown; liked again
    shuffled: list[str] = [lines[i] for i in rng.permutation(len(lines))]
    (tmp_path / behance.LIKES).write_text("\n".join(shuffled) + "\n")
    return tmp_path


def liked(folder: Path) -> dict[str, list[str]]:
    """Return each user's first likes in order of time, by a plain loop."""
    lines = [line.split() for line in (folder / behance.LIKES).read_text().splitlines()]
    items_by_user: dict[str, list[str]] = {}
    for user, item, _ in sorted(lines, key=lambda line: int(line[2])):
        mine = items_by_user.setdefault(user, [])
        if item not in mine and item != "99999999":
            mine.append(item)
    return items_by_user


def test_users_positives_and_negatives(folder: Path) -> None:
    rows = behance.read(folder)
    assert np.unique(rows.qid).tolist() == ["u1", "u2", "u5"]
    for user, n in (("u1", 60), ("u2", 61), ("u5", 64)):
        y = rows.y[rows.qid == user]
        assert y.sum() == n - 50
        assert (y.size - y.sum()) / y.sum() in behance.NEGATIVES


def test_features_of_user_image_and_products(folder: Path) -> None:
    items, features = behance.read_images(folder)
    of = dict(zip(items.tolist(), features, strict=True))
    rows, likes = behance.read(folder), liked(folder)["u5"]
    mine = rows.take(rows.qid == "u5")
    user, image, product = np.split(mine.X, 3, axis=1)
    assert np.allclose(user, np.mean([of[item] for item in likes[:50]], axis=0), atol=1e-5)
    assert np.allclose(image[mine.y == 1], [of[item] for item in likes[50:]], atol=1e-5)
    assert np.allclose(product, user * image, atol=1e-4)
    never = np.array([of[item] for item in items if item not in likes], np.float32)
    drawn = {tuple(row) for row in image[mine.y == 0]}
    assert drawn <= {tuple(row) for row in never}
    assert len(drawn) == np.count_nonzero(mine.y == 0)


def test_components_are_those_of_the_singular_value_decomposition(folder: Path) -> None:
    record = np.dtype([("item", "S8"), ("features", "<f4", (WIDTH,))])
    images = np.sort(np.fromfile(folder / behance.IMAGES, record), order="item")
    actual = behance.read_images(folder)[1]
    features = images["features"].astype(np.float64)
    left, sizes, _ = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    expected = left[:, :DIMENSIONS] * sizes[:DIMENSIONS]
    signs = np.sign(np.sum(actual * expected, axis=0))
    assert np.allclose(actual, expected * signs, atol=1e-3)


def test_reduced_features_take_the_place_of_the_originals(folder: Path) -> None:
    item = np.array([f"{i:08d}" for i in reversed(range(N_IMAGES))])
    features = np.random.default_rng(5).normal(size=(N_IMAGES, 2))
    np.savez(folder / behance.REDUCED, item=item, features=features)
    (folder / behance.IMAGES).unlink()
    _, reduced = behance.read_images(folder)
    assert behance.reduction(folder) == "from image_features.npz"
    assert np.array_equal(reduced[0], features[-1])
    assert behance.read(folder).X.shape[1] == 6


@pytest.mark.parametrize("name", [behance.IMAGES, behance.LIKES])
def test_other_files_are_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:-1] + b" x x x x x\n")
    with pytest.raises(DataError):
        behance.read(folder)
    (folder / name).unlink()
    with pytest.raises(DataError):
        behance.read(folder)
