"""One fit of an estimator or a pipeline, with validation rows that pass through the same steps."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from podium import losses
from podium.errors import ArgumentError, arg
from podium.rankers.estimator import Ranker
from podium.recommenders import Recommender
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
    """Fit an estimator with those of qid, item, eval_set and progress that its `fit` accepts.

    The steps of a pipeline are fitted on X alone. The eval_set's X is transformed by them, so
    that the last step can stop early on rows that are scaled like its training rows.

    Parameters
    ----------
    estimator : estimator or Pipeline
        The estimator to fit, in place.
    X, y, qid : (n_rows, n_features), (n_rows,), (n_rows,)
        The features, relevance and groups of the training rows.
    item : (n_rows,), optional
        The item of each row, for an estimator whose `fit` accepts it. A ranker of podium gets it
        if it pools labels over items with its loss (`Ranker.pools_items`).
    eval_set : (X, y) or (X, y, qid), optional
        The validation rows. They are passed on only to estimators of podium (those with an
        `eval_metric`); other estimators expect other forms.
    progress : callable, optional
        A callback for the `fit` of the last step.

    Returns
    -------
    estimator
        The same estimator, fitted.

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
    steps = estimator.steps[:-1] if isinstance(estimator, Pipeline) else []
    for step in (step for _, step in steps if step not in (None, "passthrough")):
        features = step.fit_transform(features, y)
        if eval_set is not None:
            eval_set = (step.transform(eval_set[0]), *eval_set[1:])
    options: dict[str, Any] = {"qid": qid, "progress": progress}
    if item is not None and (not isinstance(last, Ranker) or last.pools_items):
        options["item"] = item
    options = {name: value for name, value in options.items() if takes(last, name)}
    if eval_set is not None and stops_early(estimator):
        options["eval_set"] = eval_set
    last.fit(features, y, **options)
    return estimator


def scores(estimator: Any, X: Any) -> PerRow:
    """Return decision_function, else the probability of the positive class, else predict."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, -1]
    return np.asarray(estimator.predict(X), dtype=np.float64)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def takes(estimator: Any, name: str) -> bool:
    """Return whether an estimator's `fit` has a parameter with this name."""
    return name in inspect.signature(estimator.fit).parameters


def stops_early(estimator: Any) -> bool:
    """Return whether an estimator reads an eval_set in podium's form."""
    last = last_step(estimator)
    return takes(last, "eval_set") and "eval_metric" in last.get_params(deep=False)


def parameter(estimator: Any, name: str) -> str:
    """Return the full name of a parameter; those of a pipeline's last step need no prefix."""
    params = estimator.get_params(deep=True)
    if name in params or not isinstance(estimator, Pipeline):
        return name
    full_name = f"{estimator.steps[-1][0]}__{name}"
    return full_name if full_name in params else name


def set_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Set parameters in place; ``loss__k`` is the k of any loss."""
    others = {name: value for name, value in params.items() if not name.startswith(_OF_LOSS)}
    estimator.set_params(**{parameter(estimator, name): v for name, v in others.items()})
    changes = {name.removeprefix(_OF_LOSS): params[name] for name in params.keys() - others.keys()}
    if changes:
        last = last_step(estimator)
        loss = last.get_params(deep=False)["loss"]
        if loss is None and isinstance(last, Ranker):
            loss = last.default_loss
        last.set_params(loss=_changed_loss(loss, changes))
    return estimator


def unknown_names(estimator: Any, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that are parameters neither of an estimator nor of its loss."""
    params = estimator.get_params(deep=True)
    last = last_step(estimator)
    has_loss = "loss" in last.get_params(deep=False) and not isinstance(last, Recommender)
    for name in names:
        of_loss = has_loss and name.startswith(_OF_LOSS)
        if not of_loss and parameter(estimator, name) not in params:
            yield name


def _changed_loss(loss: Any, changes: Mapping[str, Any]) -> Any:
    """Return a loss, or the loss of a name, with changed parameters."""
    if isinstance(loss, str) and "@" not in loss:
        return losses.get(loss, **changes)
    base_loss = losses.get(loss) if isinstance(loss, str) else loss
    return losses.from_spec({**losses.spec(base_loss), **changes})


def check(estimator: Any) -> None:
    """Raise unless this is an estimator whose `fit` takes no groups, or takes them as qid."""
    last = last_step(estimator)
    if not hasattr(last, "fit") or not hasattr(estimator, "get_params"):
        raise ArgumentError(
            f"{arg.estimator} must be a scikit-learn estimator, such as LinearRanker(), got "
            f"{estimator!r}."
        )
    if takes(last, "group") and not takes(last, "qid"):
        raise ArgumentError(
            f"estimator {type(last).__name__} accepts {arg.group()}, the sizes of sorted groups, "
            "but not qid=. Use an estimator of podium.rankers; these accept qid in any order."
        )
