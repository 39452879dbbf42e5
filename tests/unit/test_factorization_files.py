"""Saved factorizations and checkpoints: the same bits again, and invalid files are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array

import podium
from podium._arrays import read_arrays, with_digest
from podium.errors import DataError
from podium.executors import Threads
from podium.metrics import parse
from podium.recommenders import Factorization, Popularity, load

TABLE = {"user": ["é", "b", "b"], "item": [3, 5, 7], "value": [1.0, 2.0, 1.0]}


def _fitted(**changes: Any) -> Factorization:
    model = Factorization(**{"n_factors": 3, "n_epochs": 2, **changes})
    return model.fit(TABLE, executor=Threads(1))


def test_loaded_model_folds_in_as_the_saved_one(tmp_path: Path) -> None:
    model = _fitted(eval_metric=parse("ndcg@5"), loss="type2", l2=np.float32(0.5))
    model.save(tmp_path / "model.safetensors")
    loaded = Factorization.load(tmp_path / "model.safetensors")
    assert loaded.get_params() == {**model.get_params(), "eval_metric": "ndcg@5"}
    new = {"user": ["z"], "item": [3]}
    assert model.fold_in(new).tobytes() == loaded.fold_in(new).tobytes()
    for name in ("n_blocks_", "n_epochs_", "stop_reason_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert loaded.history_["cost"].tolist() == model.history_["cost"].tolist()


def test_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with pytest.raises(DataError):
        Factorization.load(path)
    save_file({"x": np.zeros(2)}, path)
    with pytest.raises(DataError, match="no recommender saved by podium"):
        Factorization.load(path)
    _fitted().save(path)
    whole = path.read_bytes()
    for content in (b"nothing of the kind", whole[:-3], whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"truncated|damaged"):
            Factorization.load(path)


def _rewritten(path: Path, **changes: Any) -> None:
    """Write a model's file with a changed header or changed arrays, and their digest."""
    _fitted().save(path)
    header, _ = read_arrays(path, "podium_recommender", 1)
    del header["digest"]
    arrays = load_file(path)
    arrays |= {k: v for k, v in changes.items() if k in arrays}
    header |= {k: v for k, v in changes.items() if k not in arrays}
    text = with_digest(json.dumps(header), arrays)
    save_file(arrays, path, metadata={"podium_recommender": text})


OTHER: dict[str, list[Any]] = {
    "format": [2],
    "params": [{"n_factors": 4}, {"factors": 4}],
    "fitted": [{}],
    "user_factors_": [
        *(np.full((2, 3), np.nan, np.float32), np.ones((2, 3)), np.array(1.0, np.float32)),
    ],
    "item_factors_": [np.ones((3, 2), np.float32)],
    "item_bias_": [np.zeros(9, np.float32), np.full(3, np.inf, np.float32)],
    "seen_items_": [
        *(np.array([0, 1, 8], np.int32), np.array([0, 1, 2]), np.array([0, -1, 2], np.int32)),
    ],
    "seen_weights_": [np.ones(2, np.float32)],
    "seen_offsets_": [np.array([], np.int64)],
    "item_labels_": [np.array([3, 5]), np.array([3, 7, 5]), np.array([3.0, 5.0, 7.0])],
}


@pytest.mark.parametrize("name", OTHER)
def test_file_that_contradicts_itself_is_refused(name: str, tmp_path: Path) -> None:
    for value in OTHER[name]:
        _rewritten(tmp_path / "model", **{name: value})
        with pytest.raises(DataError, match=r"is not a valid model|has recommender format"):
            Factorization.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seen_offsets_", np.array(bad)) for bad in ([0, 10**9, 3], [0, -5, 3], [1, 1, 3])),
        *(("weight_scale_", value) for value in ("1", 0.0, -1.0)),
        ("n_epochs_", 2.5),
        ("stop_reason_", None),
    ],
)
def test_fitted_values_that_lead_out_of_memory_are_refused(
    name: str, value: Any, tmp_path: Path
) -> None:
    model = _fitted()
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(DataError, match=name):
        Factorization.load(tmp_path / "model")


def test_file_without_its_digest_is_refused(tmp_path: Path) -> None:
    for model in (_fitted(), Popularity().fit(csr_array([[1.0, 0.0], [1.0, 1.0]]))):
        model.save(tmp_path / "model")
        with safe_open(tmp_path / "model", framework="numpy") as file:
            metadata: dict[str, str] = file.metadata()
        texts = {kind: re.sub(', "digest": "[0-9a-f]+"', "", t) for kind, t in metadata.items()}
        assert texts != metadata
        save_file(load_file(tmp_path / "model"), tmp_path / "model", metadata=texts)
        with pytest.raises(DataError, match="digest"):
            load(tmp_path / "model")


ONE = Threads(1)


def _likes(seed: int = 0) -> csr_array[Any]:
    rng = np.random.default_rng(seed)
    return csr_array((rng.random((50, 30)) < 0.3) * rng.integers(1, 4, (50, 30)).astype(float))


def _held_out() -> csr_array[Any]:
    return csr_array(((_likes().toarray() == 0) & (_likes(9).toarray() > 0)).astype(float))


def _model(**changes: Any) -> Factorization:
    return Factorization(**{"n_factors": 8, "n_epochs": 6, "n_blocks": 3, **changes})


def _bits(model: Factorization) -> list[bytes]:
    arrays = (model.user_factors_, model.item_factors_, model.item_bias_, model.history_["cost"])
    return [array.tobytes() for array in arrays]


def _stop_after(n_passes: int) -> Any:
    def progress(done: int, total: int | None, note: str = "") -> None:
        if done == n_passes:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(
    ("changes", "judged", "n_passes"),
    [
        ({}, True, 4),
        ({"loss": "robirank"}, False, 1),
        ({"loss": "bpr", "similarity": "cosine"}, True, 4),
    ],
    ids=str,
)
def test_resumed_fit_ends_with_the_same_bits(
    tmp_path: Path, n_passes: int, judged: bool, changes: dict[str, Any]
) -> None:
    options: dict[str, Any] = {"eval_set": _held_out() if judged else None, "executor": ONE}
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        _model(**changes).fit(_likes(), **options, checkpoint=path, progress=_stop_after(n_passes))
    resumed = _model(**changes).fit(_likes(), **options, checkpoint=path, resume=True)
    straight = _model(**changes).fit(_likes(), **options)
    assert _bits(resumed) == _bits(straight)
    assert resumed.n_epochs_ == straight.n_epochs_
    assert resumed.history_.keys() == straight.history_.keys()


def test_resumed_fit_that_had_ended_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "fit.checkpoint"
    options: dict[str, Any] = {"eval_set": _held_out(), "executor": ONE, "checkpoint": path}
    ended = _model(patience=1, n_epochs=40, learning_rate=0.5).fit(_likes(), **options)
    assert ended.stop_reason_ == "patience"
    resumed = _model(patience=1, n_epochs=40, learning_rate=0.5).fit(
        _likes(), **options, resume=True
    )
    assert _bits(resumed) == _bits(ended)
    assert (resumed.stop_reason_, resumed.n_epochs_) == ("patience", ended.n_epochs_)


def test_checkpoint_of_another_fit_or_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit.checkpoint"
    options: dict[str, Any] = {"executor": ONE, "checkpoint": path}
    _model().fit(_likes(), **options)
    for model, seed, changes in (
        (_model(), 1, {}),
        (_model(l2=0.1), 0, {}),
        (_model(), 0, {"eval_set": _held_out()}),
    ):
        with pytest.raises(DataError, match="belongs to a fit"):
            model.fit(_likes(seed), **options, resume=True, **changes)
    monkeypatch.setattr(podium, "__version__", "99.0")
    with pytest.raises(DataError, match=r"99\.0"):
        _model().fit(_likes(), **options, resume=True)
