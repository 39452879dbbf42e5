"""Readers of published files: folders, archives, and folds of LETOR."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from podium_studies import folds
from podium_studies.archive import movielens

FILES = {
    "100k": ("u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n"),
    "1m": ("ratings.dat", "1::1193::5::978300760\n1::661::3::978302109\n"),
}


@pytest.mark.parametrize("kind", FILES)
def test_movielens_takes_folder_archive_and_file(tmp_path: Path, kind: str) -> None:
    name, content = FILES[kind]
    folder = tmp_path / "ml"
    folder.mkdir()
    (folder / "README.txt").write_text("not this")
    (folder / name).write_text(content)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    zipped = tmp_path / "ml.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("ml/README.txt", "not this")
        archive.writestr(f"ml/{name}", content)
    for place in (folder, folder / name, packed, zipped):
        ratings = movielens(place, kind)
        columns = ratings.user, ratings.item, ratings.value, ratings.timestamp
        rows = np.stack([np.asarray(column) for column in columns], axis=1)
        assert rows.tolist() == [
            [int(word) for word in line.replace("::", "\t").split()]
            for line in content.splitlines()
        ]


def row(label: int, qid: int, more: str = "") -> str:
    return f"{label} qid:{qid} 1:0.5 2:1{more} # docid = d{qid}\n"


@pytest.mark.parametrize(
    "names", [("train", "vali", "test"), ("trainingset", "validationset", "testset")]
)
def test_folds_are_read_with_one_width(tmp_path: Path, names: tuple[str, ...]) -> None:
    for fold in folds.FOLDS:
        for place, name in enumerate(names):
            path = tmp_path / f"Fold{fold}" / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(row(1, 10 * fold + place, " 3:1" if place == 2 else ""))
    read = folds.read(tmp_path)
    assert [[part.qid.tolist() for part in parts] for parts in read][1] == [[20], [21], [22]]
    assert {part.X.shape for parts in read for part in parts} == {(1, 3)}


def test_folds_are_made_of_five_parts(tmp_path: Path) -> None:
    for part in range(1, 6):
        (tmp_path / f"S{part}.txt").write_text(row(part % 2, part))
    parts = folds.read(tmp_path)[3]
    # Fold 4 counts round: S4, S5, S1 train, S2 validates, S3 tests.
    assert [part.qid.tolist() for part in parts] == [[4, 5, 1], [2], [3]]
