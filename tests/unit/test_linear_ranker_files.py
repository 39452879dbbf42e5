from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from podium import losses, rankers
from podium._arrays import with_digest
from podium.errors import ArgumentError, DataError
from podium.metrics import parse
from podium.rankers import LinearRanker

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")

X = np.random.default_rng(0).standard_normal((40, 3))
Y = (X[:, 0] > 0.3).astype(float)
QID = np.arange(40) // 10


def fitted(**params: Any) -> LinearRanker:
    return LinearRanker(
        **{"loss": "pap-ramp@2", "max_iter": 15, "eval_metric": "pap@2", **params}
    ).fit(X, Y, QID)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": losses.PApMax(3, clip=True)},
        {"loss": None, "learning_rate": 2.5},
        {"eval_metric": parse("ndcg(gain=exp2)@5"), "patience": None},
        {"l2": np.float64(0.25)},
    ],
)
def test_model_survives_its_file(params: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(**params)
    rankers.save(model, tmp_path / "model")
    again = rankers.load(tmp_path / "model")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert again.intercept_ == model.intercept_
    assert again.score(X, Y, QID) == model.score(X, Y, QID) > 0
    for name, value in model.get_params().items():
        assert again.get_params()[name] == (str(value) if name == "eval_metric" else value)
    for name in ("n_iter_", "objective_", "stop_reason_", "best_iteration_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name)
    np.testing.assert_array_equal(again.history_["objective"], model.history_["objective"])
    assert again.fit(X, Y, QID).coef_.tobytes() == model.coef_.tobytes()


def test_feature_names_survive(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="feature names come from a data frame")
    frame = pandas.DataFrame(X, columns=["price", "recency", "views"])
    model = LinearRanker("logistic", max_iter=15).fit(frame, Y, QID)
    rankers.save(model, tmp_path / "model")
    again = rankers.load(tmp_path / "model")
    assert again.feature_names_in_.tolist() == ["price", "recency", "views"]
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["views", "recency", "price"]])


def test_save_refuses_what_it_cannot_load(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="got Pipeline"):
        rankers.save(make_pipeline(fitted()), tmp_path / "model")
    with pytest.raises(NotFittedError):
        rankers.save(LinearRanker("logistic"), tmp_path / "model")
    with pytest.raises(ArgumentError):
        rankers.save(fitted(), tmp_path / "no" / "model")

    class Own(losses.PApRamp):
        pass

    with pytest.raises(ArgumentError):
        rankers.save(fitted(loss=Own(2)), tmp_path / "model")


def rewrite(path: Path, change: Any) -> None:
    """Save a model and put a changed header into its file, with its digest."""
    rankers.save(fitted(), path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["podium"])
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    del header["digest"]
    text = change(header, arrays)
    text = text if isinstance(text, str) else with_digest(json.dumps(header), arrays)
    save_file(arrays, path, metadata={"podium": text})


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h.update({"class": "os.system"}),
        lambda h, a: h.update(format=2),
        lambda h, a: h.pop("params"),
        lambda h, a: h["params"].update(shell="rm"),
        lambda h, a: h["params"].update(loss={"name": "evil"}),
        lambda h, a: a.pop("coef_"),
        lambda h, a: h["fitted"].pop("n_features_in_"),
        lambda h, a: h["fitted"].pop("intercept_"),
        *(
            (lambda h, a, name=name, value=value: h["fitted"].update({name: value}))
            for name, values in {
                "n_features_in_": (7, None, 2.0, 2**63 - 1),
                "intercept_": ("0", None, [1.0], True),
                "feature_names_in_": (["a"], ["a", "b", 3], [["a"], [], ["b", "c"]], "ab", None),
                "n_iter_": ("many",),
                "stop_reason_": (3,),
                "objective_": ({},),
                "predict": ("x",),
                "__sklearn_tags__": (1,),
                "_features_": (1,),
            }.items()
            for value in values
        ),
        *(
            (lambda h, a, name=name, value=value: a.update({name: value}))
            for name, values in {
                "n_features_in_": (np.ones(3),),
                "feature_names_in_": (np.ones(3),),
                "coef_": (np.ones(3, np.float16), np.ones(3, np.bool_), np.full(3, np.nan)),
                "intercept_": (np.zeros(3),),
                "history_.objective": (np.ones((2, 2)),),
            }.items()
            for value in values
        ),
        lambda h, a: h.update({"class": "LightGBMRanker"}),
        lambda h, a: "[" * 200_000,
        lambda h, a: "[1, 2]",
        lambda h, a: "{",
    ],
)
def test_wrong_headers_are_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    rewrite(path, change)
    with pytest.raises(DataError):
        rankers.load(path)


@pytest.mark.parametrize(("kind", "n_bytes"), [("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1)])
def test_numbers_that_numpy_has_no_type_for_are_refused(
    kind: str, n_bytes: int, tmp_path: Path
) -> None:
    entry = {"dtype": kind, "shape": [2], "data_offsets": [0, 2 * n_bytes]}
    text = json.dumps({"coef_": entry, "__metadata__": {"podium": "{}"}}).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(2 * n_bytes)
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(DataError):
        rankers.load(tmp_path / "model")


def test_a_width_of_millions_takes_no_memory(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="measures memory; of POSIX")
    path = tmp_path / "model"
    rewrite(path, lambda h, a: h["fitted"].update(n_features_in_=4 * 10**8))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="coef_ has shape"):
        rankers.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
