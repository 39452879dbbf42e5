"""Synthetic data sets of recipes, drawn from seeds and written in the publishers' formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from studies.tests.record import names


def two_tastes(place: Path) -> None:
    """Write training and test lists of users of two tastes; items with low numbers are popular."""
    rng = np.random.default_rng(0)
    lines: list[str] = []
    for user in range(120):
        items = 2 * np.minimum(rng.geometric(0.03, 12), 59) + user % 2
        lines.append(" ".join(map(str, [user, *np.unique(items).tolist()])))
    for name, part in (("train", lines[:90]), ("test", lines[90:])):
        (place / f"{name}.txt").write_text("\n".join(part) + "\n")


def ratings(place: Path) -> None:
    """Write MovieLens-1M's file for 60 users and 80 items of two tastes, in random order."""
    rng = np.random.default_rng(0)
    same = (np.arange(60)[:, None] + np.arange(80)) % 2 == 0
    likes = rng.random(same.shape) < np.linspace(0.05, 0.9, 80) * np.where(same, 1.0, 0.2)
    pairs = rng.permutation(np.argwhere(likes)).tolist()
    lines = [f"{3 * u + 1}::{7 * i + 2}::{1 + i % 5}::{9 * i}\n" for u, i in pairs]
    (place / "ratings.dat").write_text("".join(lines))


def published_split(place: Path) -> None:
    """Write training and test lists of the same users; a repeated and a known item is in each."""
    rng = np.random.default_rng(0)
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for user in range(60):
        items = rng.permutation(40)[:12] * 2 + user % 2
        for name, chosen in (("train", [*items[:8], items[0]]), ("test", [*items[7:], items[9]])):
            parts[name].append(" ".join(map(str, [user, *chosen])))
    for name, lines in parts.items():
        (place / f"{name}.txt").write_text("\n".join(lines) + "\n")


def counted_lists(place: Path) -> None:
    """Write lines with the number of a user's items, and the items."""
    rng = np.random.default_rng(0)
    rows = [rng.permutation(40)[: 5 + user % 9] * 2 + user % 2 for user in range(60)]
    lines = [" ".join(map(str, [row.size, *row])) for row in rows]
    (place / "users.dat").write_text("\n".join(lines) + "\n")


def triplets(place: Path) -> None:
    """Write plays of songs in the format of the Million Song Dataset."""
    rng = np.random.default_rng(0)
    lines: list[str] = []
    for user in range(300):
        popular = np.minimum(rng.geometric(0.05, 40) - 1, 59)
        taste = np.where(rng.random(40) < 0.9, user % 2, 1 - user % 2)
        songs = np.unique(2 * popular + taste)[: 1 + user % 25].tolist()
        lines += [f"{user:040x}\tSO{song:016X}\t{1 + song % 3}\n" for song in songs]
    (place / names.TRIPLETS).write_text("".join(lines))


def graded_parts(place: Path) -> None:
    """Write OHSUMED's five parts: 15 queries of 25 lines with three grades."""
    for number in range(5):
        rng = np.random.default_rng(number)
        lines: list[str] = []
        for query in range(3 * number, 3 * number + 3):
            X = rng.random((25, 4))
            noisy = X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=25)
            lines += _lines(X, np.digitize(noisy, [0.9, 1.2]), query)
        (place / f"S{number + 1}.txt").write_text("".join(lines))


def folds(place: Path, *, shift: int = 0) -> None:
    """Write five folds of 15 queries in LETOR's layout; one query has no relevant row."""
    parts = [_part(number, shift) for number in range(5)]
    for fold in range(5):
        folder = place / f"Fold{fold + 1}"
        folder.mkdir()
        fold_parts = [parts[(fold + i) % 5] for i in range(5)]
        (folder / "train.txt").write_text("".join(fold_parts[:3]))
        (folder / "vali.txt").write_text(fold_parts[3])
        (folder / "test.txt").write_text(fold_parts[4])


def _part(number: int, shift: int) -> str:
    rng = np.random.default_rng([number, shift])
    lines: list[str] = []
    for query in range(3 * number, 3 * number + 3):
        X = rng.random((25, 4))
        relevant = (X[:, 0] + 0.3 * rng.normal(size=25) > 0.7) & (query != 0)
        lines += _lines(X, relevant.astype(int), query + shift)
    return "".join(lines)


def _lines(X: Any, grades: Any, query: int) -> list[str]:
    return [
        f"{y} qid:{query} " + " ".join(f"{i}:{v:.6f}" for i, v in enumerate(x, 1)) + "\n"
        for y, x in zip(grades.tolist(), X, strict=True)
    ]


def citations(place: Path) -> None:
    """Write the pickled tables of the citation data: 20 authors with 30 papers each."""
    import pandas as pd

    citation = names.citation
    for seed, name in enumerate(citation.FILES):
        rng = np.random.default_rng(seed)
        columns = [*citation.SIDE, *(str(i) for i in range(100))]
        frame = pd.DataFrame(rng.normal(size=(600, len(columns))), columns=columns)
        frame["u_id"] = np.repeat(np.arange(20), 30)
        frame["paper_id_written"] = "p"
        frame["label"] = (frame["CoAuthorCount"] + rng.normal(size=600) > 1).astype(int)
        frame.to_pickle(place / name)


def images(place: Path) -> None:
    """Write Behance's likes for 12 users, and reduced features for 900 images."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(900, 3))
    item = np.array([f"{i:08d}" for i in range(900)])
    np.savez(place / names.behance.REDUCED, item=item, features=features)
    lines: list[str] = []
    for user in range(12):
        liked = rng.permutation(np.argsort(-features[:, 0])[:450])[: 60 + user]
        lines += [f"u{user:02d} {item[i]} {time}" for time, i in enumerate(liked)]
    (place / names.behance.LIKES).write_text("\n".join(lines))


def rows(*, with_items: bool) -> names.Rows:
    """Return 30 users with 60 rows each; one feature determines the positives, up to noise."""
    rng = np.random.default_rng(0)
    item = rng.integers(0, 50, 1800)
    X = rng.normal(size=(1800, 4))
    if with_items:
        X[:, 0] = rng.normal(size=50)[item]
    y = (X[:, 0] + (0.5 if with_items else 1.0) * rng.normal(size=1800) > 1).astype(float)
    return names.Rows(X, y, np.repeat(np.arange(30) * 2, 60), item * 10 if with_items else None)


def movielens_100k(place: Path) -> None:
    """Write MovieLens-100k's file for 8 users with 60 ratings each."""
    rng = np.random.default_rng(0)
    lines = [
        f"{user + 1}\t{item + 1}\t{rng.integers(1, 6)}\t{1000 + time}\n"
        for user in range(8)
        for time, item in enumerate(rng.permutation(120)[:60])
    ]
    (place / "u.data").write_text("".join(rng.permutation(lines).tolist()))
