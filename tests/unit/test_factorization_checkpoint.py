"""A fit that stops resumes from its checkpoint with the same bits, or raises with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.raised import raises

import podium
from podium._arrays import read_arrays, write_arrays
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.executors import Threads
from podium.recommenders import Factorization
from podium.recommenders.factorization import _checkpoint

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
        ({"loss": "robirank", "xi": "exact"}, True, 1),
        ({"loss": "sl@3", "similarity": "cosine"}, True, 4),
        ({"loss": "pap-ramp@3"}, False, 4),
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


def test_resume_without_a_file_warns_and_starts_from_the_first_pass(tmp_path: Path) -> None:
    with pytest.warns(PodiumWarning):
        model = _model().fit(_likes(), executor=ONE, checkpoint=tmp_path / "none", resume=True)
    assert _bits(model) == _bits(_model().fit(_likes(), executor=ONE))
    with raises(ArgumentError, "resume", "checkpoint"):
        _model().fit(_likes(), resume=True)


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


def _rewrite(path: Path, change: Any) -> None:
    """Change the arrays of a checkpoint, and give it the digest that belongs to them."""
    kind, format = _checkpoint._KIND, _checkpoint._FORMAT
    header, arrays = read_arrays(path, kind, format)
    change(arrays)
    write_arrays(path, kind, format, arrays, {"of": header["of"]})


OTHER: dict[str, list[Any]] = {
    "users": [lambda a: a[:-1], lambda a: a[:, :4]],
    "items": [lambda a: a[:3], lambda a: np.full_like(a, np.nan)],
    "bias": [lambda a: a.astype(np.float64), lambda a: a[:, None]],
    "states": [lambda a: a[:1], lambda a: a * np.inf],
    "costs": [lambda a: np.tile(a, 99), lambda a: a[:0], lambda a: a.reshape(2, 3)],
    "validation": [lambda a: a[:2]],
    "best_items": [lambda a: a[:2]],
    "best_users": [lambda a: a * np.nan],
    "best_bias": [],
}


@pytest.mark.parametrize("name", OTHER)
def test_checkpoint_of_other_arrays_is_refused(whole: bytes, tmp_path: Path, name: str) -> None:
    changes = [lambda arrays, c=c: arrays.update({name: c(arrays[name])}) for c in OTHER[name]]
    for change in (*changes, lambda arrays: arrays.pop(name)):
        (tmp_path / "fit.checkpoint").write_bytes(whole)
        _rewrite(tmp_path / "fit.checkpoint", change)
        with pytest.raises(DataError, match="does not belong to this fit"):
            _validated(tmp_path, resume=True)


def _validated(folder: Path, **options: Any) -> Factorization:
    options |= {"executor": ONE, "checkpoint": folder / "fit.checkpoint", "eval_set": _held_out()}
    return _model(learning_rate=1.0).fit(_likes(), **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a checkpoint that holds the factors of the best pass too."""
    folder = tmp_path_factory.mktemp("checkpoint")
    _validated(folder)
    _rewrite(folder / "fit.checkpoint", lambda arrays: None)
    assert _validated(folder, resume=True).n_epochs_ < 6
    return (folder / "fit.checkpoint").read_bytes()
