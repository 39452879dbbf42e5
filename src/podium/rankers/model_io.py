"""Fitted rankers in one file: arrays as safetensors, the rest as JSON in its header.

Reading such a file runs no code from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from podium import _check, losses
from podium._arrays import read_arrays, write_arrays
from podium._json import plain
from podium.errors import ArgumentError, DataError
from podium.metrics import Measure
from podium.rankers.registry import REGISTRY

FORMAT = 1
"""The version of the file layout; files of other versions are refused."""

_KIND = "podium"
_HISTORY = "history_."  # prefix of the arrays of history_

_SCALARS: dict[str, type | tuple[type, ...]] = {
    "n_iter_": int,
    "best_iteration_": int,
    "stop_reason_": str,
    "objective_": (int, float),
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted ranker to one file; the file is written completely or not at all.

    Parameters
    ----------
    model : LinearRanker, NeuralRanker, LightGBMRanker, XGBoostRanker or a baseline
        A fitted ranker with a registered loss.
    path : path
        The path of the file. With the ending ``.safetensors`` other tools recognise the format.

    Raises
    ------
    ArgumentError
        If the model is of another class, or its loss is not in the registry.
    NotFittedError
        If the model is not fitted (an error of scikit-learn).

    Examples
    --------
    >>> import tempfile, os
    >>> from podium.rankers import LinearRanker, load, save
    >>> model = LinearRanker().fit([[0.0], [1.0]], [0, 1], qid=[0, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.safetensors"))
    ...     again = load(os.path.join(folder, "model.safetensors"))
    >>> bool(again.coef_ == model.coef_)
    True
    """
    name = type(model).__name__
    class_names = REGISTRY.class_names()
    if name not in class_names or REGISTRY.get_class(name) is not type(model):
        raise ArgumentError(
            f"model must be a {_check.listed(class_names)}, got {name}. "
            "Take the ranker out of its pipeline or search first."
        )
    check_is_fitted(model)
    attributes = cast("dict[str, Any]", vars(model))
    learned = {key: value for key, value in attributes.items() if key.endswith("_")}
    history = learned.pop("history_", {})
    arrays = {key: value for key, value in learned.items() if _is_numeric(value)}
    fitted = {key: value for key, value in learned.items() if key not in arrays}
    if "feature_names_in_" in fitted:
        fitted["feature_names_in_"] = [str(name) for name in fitted["feature_names_in_"]]
    header = {
        "class": name,
        "params": {key: _plain(value) for key, value in model.get_params(deep=False).items()},
        "fitted": {key: None if value != value else value for key, value in fitted.items()},  # nan
    }
    arrays |= {_HISTORY + key: value for key, value in history.items()}
    write_arrays(path, _KIND, FORMAT, arrays, header)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a ranker that `save` wrote.

    Raises
    ------
    DataError
        If the file is missing, cut short, damaged, not a model, or of a later format.

    Notes
    -----
    Reading runs no code from the file. However, LightGBM and XGBoost do not check the trees that
    they read. The digest in the file detects damage, but not manipulation. Load boosted models only
    from sources that you trust.
    """
    header, arrays = read_arrays(path, _KIND, FORMAT)
    try:
        return _build(header, arrays)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} is not a valid model ({error}). Train it again with this version."
        ) from None


def _plain(value: Any) -> Any:
    """Return a constructor parameter in a form that JSON can hold."""
    if isinstance(value, Measure):
        return str(value)
    return losses.spec(value) if isinstance(value, losses.Loss) else plain(value)


def _build(header: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    ranker: Any = REGISTRY.get_class(header["class"])
    params: dict[str, Any] = dict(header["params"])
    if isinstance(params.get("loss"), dict):
        params["loss"] = losses.from_spec(params["loss"])
    model = ranker(**params)
    fitted = {k: np.nan if v is None else v for k, v in dict(header["fitted"]).items()}
    history = {k.removeprefix(_HISTORY): v for k, v in arrays.items() if k.startswith(_HISTORY)}
    plain = {k: v for k, v in arrays.items() if not k.startswith(_HISTORY)}
    learned = {**fitted, **plain, "history_": history}
    for key in learned:
        if key.startswith("_") or not key.endswith("_"):
            raise ArgumentError(f"{key!r} is not a learned attribute")
    _check_features(learned)
    _check_scalars(learned)
    if "feature_names_in_" in learned:
        learned["feature_names_in_"] = np.array(learned["feature_names_in_"], dtype=object)
    model.__dict__.update(learned)
    model.check_restored()
    return model


def _check_features(fitted: Mapping[str, Any]) -> None:
    """Raise unless n_features_in_ is valid and feature_names_in_, if present, agrees with it."""
    n_features = fitted["n_features_in_"]
    if type(n_features) is not int or n_features < 1:
        raise ArgumentError(f"n_features_in_ is {n_features!r}")
    if "feature_names_in_" not in fitted:
        return
    names = fitted["feature_names_in_"]
    listed = cast("list[Any]", names) if isinstance(names, list) else []
    if len(listed) != n_features or not all(isinstance(name, str) for name in listed):
        raise ArgumentError(f"feature_names_in_ is not a list of {n_features} names")


def _check_scalars(learned: Mapping[str, Any]) -> None:
    """Raise if a scalar has the wrong type, or a history is not a list of floats."""
    for name, kind in _SCALARS.items():
        value = learned.get(name)
        if name in learned and (isinstance(value, bool) or not isinstance(value, kind)):
            raise ArgumentError(f"{name} is {value!r:.80}")
    for name, values in learned["history_"].items():
        if values.ndim != 1 or values.dtype.kind != "f":
            raise ArgumentError(f"history_ {name!r} has shape {values.shape} of {values.dtype}")


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and cast("Any", value).dtype.kind in "fiub"
