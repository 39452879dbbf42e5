"""One fit: an estimator or a pipeline, with validation rows that go through the same steps."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from podium import losses
from podium.errors import ArgumentError
from podium.rankers.estimator import Ranker
from podium.types import PerRow, Progress

_OF_LOSS = "loss__"


def fit(
    estimator: Any,
    X: Any,
    y: Any,
    qid: Any = None,
    *,
    item: Any = None,
    eval_set: tuple[Any, ...] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Fit an estimator, giving its `fit` what it takes of qid, item, eval_set and progress.

    The steps of a pipeline are fitted on X alone, and the eval_set's X goes through them, so that
    the last step can stop early on rows that were scaled as its own.

    Parameters
    ----------
    estimator : estimator or Pipeline
        It is changed in place.
    X, y, qid : (n_rows, n_features), (n_rows,), (n_rows,)
    item : (n_rows,), optional
        For an estimator whose `fit` takes it.
    eval_set : (X, y) or (X, y, qid), optional
        Given on to an estimator of podium (one with an `eval_metric`); others have other forms.
    progress : callable, optional

    Returns
    -------
    estimator
        The one that was given.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from podium.rankers import LinearRanker
    >>> model = make_pipeline(StandardScaler(), LinearRanker())
    >>> fit(model, [[0.0], [9.0]], [0, 1], [5, 5]).predict([[0.0], [9.0]]).argmax()
    np.int64(1)
    """
    last, features = last_step(estimator), X
    for step in _steps_before(estimator):
        features = step.fit_transform(features, y)
        if eval_set is not None:
            eval_set = (step.transform(eval_set[0]), *eval_set[1:])
    given: dict[str, Any] = {"qid": qid, "progress": progress}
    if item is not None:
        given["item"] = item
    given = {name: value for name, value in given.items() if takes(last, name)}
    if eval_set is not None and stops_early(estimator):
        given["eval_set"] = eval_set
    last.fit(features, y, **given)
    return estimator


def scores(estimator: Any, X: Any) -> PerRow:
    """Return each row's decision_function, else probability of the positive class, else predict."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, -1]
    return np.asarray(estimator.predict(X), dtype=np.float64)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def takes(estimator: Any, name: str) -> bool:
    """Tell whether an estimator's `fit` has a parameter of that name."""
    return name in inspect.signature(estimator.fit).parameters


def stops_early(estimator: Any) -> bool:
    """Tell whether an estimator reads an eval_set as podium's do."""
    last = last_step(estimator)
    return takes(last, "eval_set") and "eval_metric" in last.get_params(deep=False)


def parameter(estimator: Any, name: str) -> str:
    """Return the full name of a parameter; one of a pipeline's last step needs no prefix."""
    known = estimator.get_params(deep=True)
    if name in known or not isinstance(estimator, Pipeline):
        return name
    full = f"{estimator.steps[-1][0]}__{name}"
    return full if full in known else name


def set_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Set parameters, in place; ``loss__k`` is the k of the loss, whatever loss it is."""
    plain = {name: value for name, value in params.items() if not name.startswith(_OF_LOSS)}
    estimator.set_params(**{parameter(estimator, name): v for name, v in plain.items()})
    changes = {name.removeprefix(_OF_LOSS): params[name] for name in params.keys() - plain.keys()}
    if changes:
        last = last_step(estimator)
        given = last.get_params(deep=False)["loss"]
        if given is None and isinstance(last, Ranker):
            given = last.default_loss
        last.set_params(loss=_changed(given, changes))
    return estimator


def unknown(estimator: Any, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that are no parameters of an estimator, nor of a loss that it has."""
    known = estimator.get_params(deep=True)
    has_loss = "loss" in last_step(estimator).get_params(deep=False)
    for name in names:
        of_loss = has_loss and name.startswith(_OF_LOSS)
        if not of_loss and parameter(estimator, name) not in known:
            yield name


def _changed(loss: Any, changes: Mapping[str, Any]) -> Any:
    """Return a loss, or what a name stands for, with other parameters."""
    if isinstance(loss, str) and "@" not in loss:
        return losses.get(loss, **changes)
    made = losses.get(loss) if isinstance(loss, str) else loss
    return losses.from_spec({**losses.spec(made), **changes})


def check(estimator: Any) -> None:
    """Refuse what is no estimator, and one that takes its groups in another form."""
    last = last_step(estimator)
    if not hasattr(last, "fit") or not hasattr(estimator, "get_params"):
        raise ArgumentError(
            f"estimator must be a scikit-learn estimator, as LinearRanker(), got {estimator!r}."
        )
    if takes(last, "group") and not takes(last, "qid"):
        raise ArgumentError(
            f"estimator {type(last).__name__} takes group=, the sizes of sorted groups, and no "
            "qid=. Use one of podium.rankers, which take qid in any order."
        )


def _steps_before(estimator: Any) -> list[Any]:
    steps: list[tuple[str, Any]] = estimator.steps[:-1] if isinstance(estimator, Pipeline) else []
    return [step for _, step in steps if step is not None and step != "passthrough"]
