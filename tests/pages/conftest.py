"""The files and the names that pages need; pages call them "your own data"."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn.model_selection
from scipy.sparse import csr_array

from podium import data

N_USERS, N_LISTED = 60, 30


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def demo(demo_files: Path) -> None:
    """Copy the files of the demo into the folder demo-report."""
    shutil.copytree(demo_files, "demo-report")


@pytest.fixture
def few(folder: Path) -> None:
    """Write a truth and a run of two users."""
    (folder / "truth.csv").write_text("user,item,relevance\n1,a,1\n1,b,2\n2,a,1\n")
    (folder / "run.csv").write_text("user,item,score\n1,b,0.9\n1,c,0.8\n2,c,0.7\n")


@pytest.fixture
def days(folder: Path) -> None:
    """Write a truth and the runs of two days."""
    user, item = np.repeat(np.arange(4), 30), np.tile(np.arange(30), 4)
    data.write_table({"user": np.arange(4), "item": np.arange(4)}, folder / "truth.parquet")
    for seed, day in enumerate(("monday", "tuesday")):
        score = np.random.default_rng(seed).random(user.size)
        data.write_table({"user": user, "item": item, "score": score}, folder / f"{day}.parquet")


@pytest.fixture
def ratings_files(ratings: pl.DataFrame) -> None:
    """Write the ratings without column names, beside ratings.csv."""
    ratings.write_csv("u.data", separator="\t", include_header=False)


@pytest.fixture
def purchases() -> dict[str, Any]:
    """Write past.csv, valid.parquet, truth.csv and purchases.parquet; return them as matrices."""
    rng = np.random.default_rng(0)
    user, item = np.divmod(np.arange(80 * 40), 40)
    is_pair = rng.random(user.size) < np.where(user % 2 == item % 2, 0.4, 0.05)
    user, item = user[is_pair], item[is_pair]
    part = rng.choice(3, user.size, p=(0.8, 0.1, 0.1))
    for number, name in enumerate(("past.csv", "valid.parquet", "truth.csv")):
        rows = part == number
        times = 3600 * rng.permutation(rows.sum())
        data.write_table({"user": user[rows], "item": item[rows], "time": times}, Path(name))
    data.write_table({"user": user, "item": item}, Path("purchases.parquet"))
    user_items = csr_array((np.ones(user.size), (user, item)), shape=(80, 40))
    return {"user_items": user_items, "new_users": user_items[:5]}


@pytest.fixture
def sampled(purchases: dict[str, Any]) -> None:
    """Write the sampled ranks of three models, and pairs."""
    del purchases
    rng = np.random.default_rng(0)
    for shape, name in ((0.3, "ease"), (0.35, "als"), (0.5, "popularity")):
        rank = 1 + (99 * rng.beta(shape, 2.0, 300)).round().astype(int)
        data.write_table({"user": np.arange(300), "rank": rank}, Path(f"{name}.csv"))
    user, item = np.nonzero(rng.random((50, 200)) < 0.1)
    data.write_table({"user": user, "item": item}, Path("train.csv"))


@pytest.fixture
def feature_files(rows: dict[str, Any]) -> None:
    """Write the rows as svmlight files and as the table ratings.parquet."""
    lines = [
        f"{int(y)} qid:{q} " + " ".join(f"{j}:{v:.4f}" for j, v in enumerate(x, 1))
        for x, y, q in zip(rows["X"], rows["y"], rows["qid"], strict=True)
    ]
    for name in ("train", "valid", "test"):
        Path(f"{name}.svmlight").write_text("\n".join(lines) + "\n")
    columns = {f"feature{j}": rows["X"][:, j] for j in range(3)}
    table = {"user": rows["qid"], "item": rows["item"], "relevance": rows["y"], **columns}
    data.write_table(table, Path("ratings.parquet"))


@pytest.fixture
def rows() -> dict[str, Any]:
    """Return rows of 12 queries, whose relevance follows from their features."""
    names: dict[str, Any] = {"sizes": [20] * 12, "item": np.arange(240) % 25}
    for seed, end in enumerate(("", "_valid", "_new")):
        rng = np.random.default_rng(seed)
        X, qid = rng.normal(size=(240, 3)), np.repeat(np.arange(12), 20)
        best = np.argsort((X[:, 2] - X[:, 0]).reshape(12, 20))[:, -6:]
        y = np.zeros((12, 20))
        np.put_along_axis(y, best, 1.0, axis=1)
        names |= {f"X{end}": X, f"y{end}": y.ravel(), f"qid{end}": qid}
    return names


@pytest.fixture
def xgboost(rows: dict[str, Any]) -> dict[str, Any]:
    """Return the validation rows as XGBoost takes them."""
    library = pytest.importorskip("xgboost", reason="pip install 'podium[boosting]'")
    pytest.importorskip("lightgbm", reason="pip install 'podium[boosting]'")
    return {"valid": library.DMatrix(rows["X_valid"], rows["y_valid"], qid=rows["qid_valid"])}


@pytest.fixture
def grid_search() -> Iterator[dict[str, Any]]:
    """Return names of scikit-learn, and restore its settings at the end."""
    with sklearn.config_context():
        yield {
            "sklearn": sklearn,
            "GridSearchCV": sklearn.model_selection.GridSearchCV,
            "GroupKFold": sklearn.model_selection.GroupKFold,
            "grid": {"l2": [1e-3, 1e-1]},
        }


@pytest.fixture
def ohsumed(podium_data: Callable[[str], Path]) -> None:
    """Put OHSUMED's parts into the working folder."""
    for number in range(1, 6):
        name = f"S{number}.txt.gz"
        Path(name).symlink_to(podium_data(f"letor-ohsumed/min/{name}").resolve())


@pytest.fixture
def movielens(podium_data: Callable[[str], Path]) -> None:
    """Put the ratings of MovieLens-100K into the working folder."""
    Path("u.data.gz").symlink_to(podium_data("ml-100k/u.data.gz").resolve())


@pytest.fixture
def shop_parts() -> None:
    """Write a random fifth of Online Retail's purchases as a test part, and the others."""
    shop = data.load_onlineretail()
    events = {"user": shop.user, "item": shop.item, "timestamp": shop.minute}
    frame = pl.DataFrame(events).filter(pl.Series(shop.quantity > 0))
    split = data.splits.random(frame.height, test=0.2)
    frame[split.train].write_parquet("train.parquet")
    frame[split.test].write_parquet("test.parquet")


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return `logged`, which receives what a stand-in for mlflow logs."""
    logged: dict[str, float] = {}

    def log_metrics(metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            assert re.fullmatch(r"[/\w.\- :]*", name)  # mlflow.utils.validation, mlflow 3.17
            assert isinstance(value, int | float)
        logged.update(metrics)

    fake = SimpleNamespace(start_run=nullcontext, log_metrics=log_metrics)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    return {"logged": logged}


@pytest.fixture
def torch() -> None:
    """Skip the page without torch."""
    pytest.importorskip("torch", reason="torch is not installed: pip install 'podium[torch]'")


@pytest.fixture
def ray() -> dict[str, Any]:
    """Skip the page without Ray; return a truth and a run, and pairs that are held out."""
    pytest.importorskip("ray", reason="Ray is absent: pip install 'podium[ray]'")
    held_out = csr_array((np.ones(80), (np.arange(80), (np.arange(80) * 7) % 40)), shape=(80, 40))
    return {
        "truth": {"user": [1, 2], "item": [1, 2]},
        "run": {"user": [1, 2], "item": [1, 3], "score": [1.0, 1.0]},
        "held_out": held_out,
    }


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write a truth and two runs; skip the page without Spark, and stop it at the end."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is absent: pip install pyspark")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    rng = np.random.default_rng(0)
    user, item = np.divmod(np.arange(60 * 20), 20)
    for name, column in (("truth", "relevance"), ("old", "score"), ("new", "score")):
        rows = {"user": user, "item": item, column: rng.integers(0, 3, user.size)}
        data.write_parts(rows, name)
    session = sql.SparkSession.builder.master("local[2]").getOrCreate()
    yield
    session.stop()
