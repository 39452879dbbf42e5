"""A fit that stops resumes from its checkpoint with the same bits, or raises with the reason."""

from __future__ import annotations

import errno
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


@pytest.mark.parametrize("n_passes", [1, 4])
@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": "robirank"},
        {"loss": "robirank", "xi": "exact"},
        {"loss": "sl@3", "similarity": "cosine"},
        {"loss": "pap-ramp@3"},
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
    with pytest.warns(PodiumWarning, match=r"no checkpoint .*none\. The fit starts from the first"):
        model = _model().fit(_likes(), executor=ONE, checkpoint=tmp_path / "none", resume=True)
    assert _bits(model) == _bits(_model().fit(_likes(), executor=ONE))
    with raises(ArgumentError, "resume", "checkpoint"):
        _model().fit(_likes(), resume=True)


def test_checkpoint_of_another_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit.checkpoint"
    _model().fit(_likes(), executor=ONE, checkpoint=path)

    def resume(model: Factorization, likes: Any, **options: Any) -> Factorization:
        return model.fit(likes, executor=ONE, checkpoint=path, resume=True, **options)

    with pytest.raises(DataError, match="belongs to a fit with other interactions"):
        resume(_model(), _likes(seed=1))
    with pytest.raises(DataError, match=r"other settings: l2 was 0\.\d+, is 0\.1\."):
        resume(_model(l2=0.1), _likes())
    with pytest.raises(DataError, match="another eval_set"):
        resume(_model(), _likes(), eval_set=_held_out())
    monkeypatch.setattr(podium, "__version__", "99.0")
    with pytest.raises(DataError, match=r"belongs to podium .*, and this is podium 99\.0"):
        resume(_model(), _likes())


def test_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.checkpoint"
    _model().fit(_likes(), executor=ONE, checkpoint=path)
    whole = path.read_bytes()
    for content, message in (
        (whole[:-100], "is truncated or not a checkpoint file"),
        (whole[:-1] + bytes([whole[-1] ^ 1]), "is damaged: its digest"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            _model().fit(_likes(), executor=ONE, checkpoint=path, resume=True)


def _rewrite(path: Path, change: Any) -> None:
    """Change the arrays of a checkpoint, and give it the digest that belongs to them."""
    kind, format = _checkpoint._KIND, _checkpoint._FORMAT
    header, arrays = read_arrays(path, kind, format)
    change(arrays)
    write_arrays(path, kind, format, arrays, {"of": header["of"]})


def _swap(name: str, change: Any) -> Any:
    return lambda arrays: arrays.update({name: change(arrays[name])})


@pytest.mark.parametrize(
    "change",
    [
        _swap("users", lambda a: a[:-1]),
        _swap("users", lambda a: a[:, :4]),
        _swap("items", lambda a: a[:3]),
        _swap("items", lambda a: np.full_like(a, np.nan)),
        _swap("bias", lambda a: a.astype(np.float64)),
        _swap("bias", lambda a: a[:, None]),
        _swap("states", lambda a: a[:1]),
        _swap("states", lambda a: a * np.inf),
        _swap("costs", lambda a: np.tile(a, 99)),
        _swap("costs", lambda a: a[:0]),
        _swap("costs", lambda a: a.reshape(2, 3)),
        _swap("validation", lambda a: a[:2]),
        _swap("best_items", lambda a: a[:2]),
        _swap("best_users", lambda a: a * np.nan),
        *(
            (lambda arrays, name=name: arrays.pop(name))
            for name in ("users", "items", "bias", "states", "costs", "validation", "best_bias")
        ),
    ],
)
def test_checkpoint_of_other_arrays_is_refused(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "fit.checkpoint"
    options: dict[str, Any] = {"executor": ONE, "checkpoint": path, "eval_set": _held_out()}
    _model(learning_rate=1.0).fit(_likes(), **options)
    _rewrite(path, lambda arrays: None)
    resumed = _model(learning_rate=1.0).fit(_likes(), **options, resume=True)
    assert resumed.n_epochs_ < 6  # so that the file holds the factors of the best pass too
    _rewrite(path, change)
    with pytest.raises(DataError, match="does not belong to this fit"):
        _model(learning_rate=1.0).fit(_likes(), **options, resume=True)


def test_full_disk_leaves_the_checkpoint_of_the_pass_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium import _arrays

    path = tmp_path / "fit.checkpoint"
    save, calls = _arrays.save_file, []

    def full(arrays: Any, place: Any, metadata: Any) -> None:
        calls.append(place)
        if len(calls) == 3:
            Path(place).write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(arrays, place, metadata=metadata)

    with monkeypatch.context() as patch:
        patch.setattr(_arrays, "save_file", full)
        with pytest.raises(OSError, match="No space left"):
            _model().fit(_likes(), executor=ONE, checkpoint=path)
    assert [each.name for each in tmp_path.iterdir()] == ["fit.checkpoint"]
    resumed = _model().fit(_likes(), executor=ONE, checkpoint=path, resume=True)
    assert _bits(resumed) == _bits(_model().fit(_likes(), executor=ONE))
