"""Public and bundled data sets: the publishers' own files, and their published figures."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from podium import data
from podium.errors import ArgumentError, DataError

Need = Callable[[str], Path]

U_DATA = "196\t242\t3\t881250949\n186\t302\t3\t891717742\n"
RATINGS_DAT = "1::1193::5::978300760\n1::661::3::978302109\n"
RATINGS_CSV = "userId,movieId,rating,timestamp\n1,1,4.0,964982703\n1,3,4.5,964981247\n"
FILES = {"u.data": U_DATA, "ratings.dat": RATINGS_DAT, "ratings.csv": RATINGS_CSV}
FIRST = {
    "u.data": (196, 242, 3.0, 881250949),
    "ratings.dat": (1, 1193, 5.0, 978300760),
    "ratings.csv": (1, 1, 4.0, 964982703),
}


def first(events: data.Interactions) -> tuple[int, int, float, int]:
    assert events.value is not None
    assert events.timestamp is not None
    assert len(events.user) == 2
    return (
        int(events.user[0]),
        int(events.item[0]),
        float(events.value[0]),
        int(events.timestamp[0]),
    )


@pytest.mark.parametrize("name", list(FILES))
def test_movielens_takes_folder_archive_and_file(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "ml"
    folder.mkdir()
    (folder / "README.txt").write_text("not this")
    (folder / name).write_text(FILES[name])
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(FILES[name].encode()))
    archive = tmp_path / "ml.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(f"ml/{name}", FILES[name])
        file.writestr("ml/README.txt", "not this")
    nested = tmp_path / "nested.zip"
    with zipfile.ZipFile(nested, "w") as file:
        file.writestr(f"ml/{name}.gz", packed.read_bytes())
    for path in (folder, archive, folder / name, packed, nested):
        assert first(data.movielens(path)) == FIRST[name]


def test_movielens_name_chooses_the_file(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    assert first(data.movielens(tmp_path, "1m")) == FIRST["ratings.dat"]
    assert first(data.movielens(tmp_path, "latest-small")) == FIRST["ratings.csv"]
    with pytest.raises(ArgumentError, match="Did you mean '100k'"):
        data.movielens(tmp_path, "100kk")  # type: ignore[arg-type]


def test_movielens_says_where_to_get_it(tmp_path: Path) -> None:
    for path in (tmp_path / "ml-100k.zip", tmp_path):
        with pytest.raises(DataError, match=r"https://grouplens.org/datasets/movielens/"):
            data.movielens(path)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("u.data", "1\t2\tx\t4", "line 3: rating must be a number, got 'x'"),
        ("u.data", "1\t2\t3", r"line 3: 4 columns expected \(user item rating timestamp\), got 3"),
        ("ratings.dat", "1::2::3::4::5", "line 3: 4 columns expected .* got 5"),
        ("ratings.csv", "1,2,3", "line 4: 4 columns expected .* got 3"),
    ],
)
def test_movielens_names_a_bad_line(tmp_path: Path, name: str, line: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name] + line + "\n")
    with pytest.raises(DataError, match=rf"{name}.*{message}"):
        data.movielens(path)


def test_archive_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ml.zip"
    path.write_text("no zip")
    with pytest.raises(DataError, match="can't be opened as zip"):
        data.movielens(path)
    packed = tmp_path / "MQ2007.rar"
    packed.write_text("Rar!")
    with pytest.raises(DataError, match="Unpack it and pass the folder"):
        data.letor(packed)


def row(label: int, qid: int, value: float) -> str:
    return f"{label} qid:{qid} 1:{value} 2:1 # docid = d{qid}\n"


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "vali.txt", "test.txt"),
        ("trainingset.txt", "validationset.txt", "testset.txt"),
    ],
)
def test_letor_reads_folds_from_folder_and_archive(tmp_path: Path, names: tuple[str, ...]) -> None:
    archive = tmp_path / "letor.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for fold in (1, 2):
            for place, name in enumerate(names):
                path = tmp_path / "MQ" / f"Fold{fold}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(row(1, 10 * fold + place, 0.5))
                packed.write(path, f"MQ/Fold{fold}/{name}")
    for source in (tmp_path / "MQ", archive):
        got = data.letor(source, fold=2)
        qids = [np.asarray(part.qid).tolist() for part in (got.train, got.valid, got.test)]
        assert qids == [[20], [21], [22]]


def test_letor_makes_folds_of_parts(tmp_path: Path) -> None:
    for part in range(1, 6):
        (tmp_path / f"S{part}.txt").write_text(row(part % 2, part, 0.25))
    got = data.letor(tmp_path, fold=4)
    qids = [np.asarray(part.qid).tolist() for part in (got.train, got.valid, got.test)]
    # Fold 4 counts round: S4, S5, S1 train, S2 validates, S3 tests.
    assert qids == [[4, 5, 1], [2], [3]]
    with pytest.raises(ArgumentError, match="fold must be 1 to 5, got 6"):
        data.letor(tmp_path, fold=6)


def test_letor_parts_have_one_width(tmp_path: Path) -> None:
    texts = {"train": "1 qid:1 1:1 2:1\n", "vali": "1 qid:2 1:1\n", "test": "1 qid:3 1:1 3:1\n"}
    (tmp_path / "Fold1").mkdir()
    for name, text in texts.items():
        (tmp_path / "Fold1" / f"{name}.txt").write_text(text)
    got = data.letor(tmp_path)
    assert [part.X.shape for part in (got.train, got.valid, got.test)] == [(1, 3)] * 3


def test_letor_says_where_to_get_it(tmp_path: Path) -> None:
    for path in (tmp_path / "MQ2007", tmp_path):
        with pytest.raises(DataError, match=r"https://www.microsoft.com/.*letor"):
            data.letor(path)
    file = tmp_path / "train.txt"
    file.write_text(row(1, 1, 1.0))
    with pytest.raises(DataError, match="is a file"):
        data.letor(file)


def test_movielens_100k_has_its_published_size(podium_data: Need) -> None:
    events = data.movielens(podium_data("ml-100k/u.data.gz"))
    assert events.value is not None
    assert len(events.user) == 100_000
    assert np.unique(events.user).size == 943
    assert np.unique(events.item).size == 1682
    assert sorted(set(events.value.tolist())) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", ["min", "querylevelnorm"])
def test_letor_ohsumed_has_its_published_size(podium_data: Need, kind: str) -> None:
    fold = data.letor(podium_data(f"letor-ohsumed/{kind}"), fold=3)
    parts = (fold.train, fold.valid, fold.test)
    labels = np.concatenate([part.y for part in parts if part.y is not None])
    assert np.bincount(labels.astype(int)).tolist() == [11_303, 2_585, 2_252]
    assert np.unique(np.concatenate([part.qid for part in parts])).size == 106
    assert all(part.X.shape[1] == 45 for part in parts)


def test_letor_ohsumed_equals_scikit_learns_reader(podium_data: Need) -> None:
    from sklearn.datasets import load_svmlight_file

    path = podium_data("letor-ohsumed/min/S1.txt.gz")
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    got = data.read_features(path)
    assert not sparse.issparse(got.X)
    assert np.array_equal(got.X, X.toarray())
    assert np.array_equal(got.y, y)
    assert np.array_equal(got.qid, qid)


def test_onlineretail_has_its_published_size() -> None:
    shop = data.load_onlineretail()
    assert shop.user.size == 404_909
    assert int((shop.quantity > 0).sum()) == 396_370
    assert int((shop.quantity < 0).sum()) == 8_539
    assert np.unique(shop.user * shop.n_items + shop.item).size == 266_891
    assert (shop.n_users, shop.n_items) == (4_363, 3_676)
    assert np.unique(shop.user[shop.quantity > 0]).size == 4_335
    first_event = np.datetime64(shop.epoch0 + 60 * int(shop.minute.min()), "s")
    assert first_event == np.datetime64("2010-12-01T08:26")
    assert shop.stock_code[0] == "10002"
    assert shop.country[1] == "Iceland"


def test_movielens_csv_is_read_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("rating,timestamp,userId,movieId\n4.0,964982703,1,7\n4.5,964981247,1,3\n")
    assert first(data.movielens(path)) == (1, 7, 4.0, 964982703)
    path.write_text("1,7,4.0,964982703\n1,3,4.5,964981247\n")
    with pytest.raises(DataError, match=r"line 1: the header must name userId.*got '1,7,4.0"):
        data.movielens(path)
