"""Estimators from the options of podium train, created before any file is read."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, cast

from podium import _check
from podium._check import is_sparse
from podium.cli import _messages
from podium.cli._options import texts_by_name
from podium.cli._searching import values_of
from podium.cli._training import AUTO, DEFAULT_K, Model
from podium.errors import ArgumentError, arg
from podium.types import PerRow

_OF_FEATURES = {"standardize": True, "query_norm": False}
"""Parameters of --set about the features of a linear model, with their defaults."""


def make(model: Model, measure: str | None, seed: int) -> Any:
    """Return the unfitted estimator.

    Raises
    ------
    ArgumentError
        If the model or loss is unknown, or if an option has no effect with this model.
    """
    from podium.metrics.measures import parse_relevance
    from podium.rankers.estimator import LinearScores

    if model.k is not None:
        _check.cutoff(model.k, name="-k")
    cls = _class(model.model)
    model_parameters = dict(inspect.signature(cls).parameters)
    model_parameters.pop("one_group", None)  # data on the command line always have users
    set_parameters = assignments(model.set)
    _refuse_both(given_parameters(model), set_parameters)
    params = {**_loss_parameters(model, model_parameters), **set_parameters}
    about_features = [*_OF_FEATURES] if issubclass(cls, LinearScores) else ["query_norm"]
    for name in about_features:
        of_features(model, name)
        params.pop(name, None)
    names = [*model_parameters, *about_features]
    estimator = _model_with(cls, model.model, params, names, seed)
    if model.model == "linear":
        refuse_idle_steps(estimator, {name: f"--set {name}" for name in set_parameters})
    if "eval_metric" in model_parameters:
        measure_text = measure or measure_of(model, estimator)
        estimator.set_params(eval_metric=str(parse_relevance(measure_text)))
    _check.parameters(estimator)
    return estimator


def is_recommender(text: str) -> bool:
    """Return whether a model, by its name or text, learns from events, not from features.

    The registry that a model is entered in declares it.

    Raises
    ------
    ArgumentError
        If there is no such model.
    """
    from podium import rankers, recommenders

    name = text.partition("(")[0]
    if name not in rankers.REGISTRY and name not in recommenders.REGISTRY:
        _check.choice(name, "--model", [AUTO, *rankers.REGISTRY, *recommenders.REGISTRY])
    return name not in rankers.REGISTRY


def make_recommender(model: Model, fitting: dict[str, Any], seed: int) -> Any:
    """Return the unfitted recommender; `fitting` are parameters of a fit with validation pairs.

    Raises
    ------
    ArgumentError
        If the model can't be saved, or does not have a parameter.
    """
    from podium import recommenders

    name, text_parameters = recommenders.REGISTRY.split(model.model)
    cls: Any = recommenders.REGISTRY[name]
    if not cls.can_be_saved():
        raise ArgumentError(
            f"--model {name} can't be saved, so that podium train can't write it. Fit it in "
            "Python with podium.recommenders, or choose another model."
        )
    names = list(inspect.signature(cls).parameters)
    by_option = _known({"loss": model.loss, **fitting})
    set_parameters = text_parameters | assignments(model.set)
    _refuse_both(by_option, set_parameters)
    return _model_with(cls, name, by_option | set_parameters, names, seed)


def given_parameters(model: Model) -> dict[str, Any]:
    """Return the parameters of a ranker that were given as options of their own."""
    return _known({name: vars(model)[name] for name in ("loss", "k", "min_relevance")})


def _known(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _refuse_both(by_option: dict[str, Any], set_parameters: dict[str, Any]) -> None:
    for name in set_parameters:
        if name in by_option:
            raise ArgumentError(f"{arg[name]} and --set {name} were both given. Keep one.")


def graded_loss(model: Model, relevance: PerRow, grid: Any, measure: str | None) -> str | None:
    """Return the model's loss for grades if labels are grades and no option decides, else None.

    Options decide if they name a loss, or a loss or measure that counts positives.
    """
    from podium import losses
    from podium.metrics import parse
    from podium.rankers.validation import are_grades

    text = _class(model.model).graded_loss
    counts_positives = model.min_relevance is not None
    if measure is not None:
        counts_positives |= not parse(measure).graded
    names = {"loss": model.loss, **assignments(model.set)}
    has_loss = names["loss"] is not None or any("loss" in part for part in grid)
    if text is None or counts_positives or has_loss or not are_grades(relevance):
        return None
    name, parameters = losses.split(text)
    return f"{name}@{model.k}" if model.k is not None and "k" in parameters else text


def measure_of(model: Model, estimator: Any) -> str:
    """Return the validation measure, with -k or with the cutoff in the text of the loss."""
    from podium import losses

    is_library_loss = model.loss is None or not losses.is_registered(model.loss)
    parameters = {} if is_library_loss else losses.split(model.loss or "")[1]
    return estimator.suited_measure(model.k or parameters.get("k") or DEFAULT_K)


def loss_of(model: Model, text: str) -> Any:
    """Return the loss of this text, with the parameters that were given as options.

    An objective of the library that trains the model is returned as its name. -k is the cutoff of a
    loss that needs one, and of a loss that uses only the head of a list. A cutoff in the text takes
    precedence.
    """
    from podium import losses

    if _is_library_loss(model, text):
        if model.min_relevance is not None:
            raise ArgumentError(
                f"--min-relevance is for losses of podium, and {text!r} is a loss of "
                f"{model.model} itself. Leave it out."
            )
        return text
    base, text_parameters = losses.split(text)
    if base not in losses.REGISTRY:
        return losses.get(text)
    cls: Any = losses.REGISTRY[base]
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    params = _known({"min_relevance": model.min_relevance})
    if params and "min_relevance" not in defaults:
        raise ArgumentError(
            f"{arg.min_relevance} has no effect with the loss {base}. Leave it out."
        )
    if "k" not in text_parameters:
        if defaults.get("k") is dataclasses.MISSING:
            params["k"] = model.k or DEFAULT_K
        elif model.k is not None and cls.head_cutoff:
            params["k"] = model.k
    return losses.get(text, **params)


def of_features(model: Model, name: str) -> bool:
    """Return a parameter of --set about the features: "standardize" or "query_norm"."""
    return _check.flag(assignments(model.set).get(name, _OF_FEATURES[name]), name)


def missing_allowed(estimator: Any) -> bool:
    """Return whether an estimator accepts missing feature values."""
    from podium.tuning.fitting import last_step

    return bool(last_step(estimator).__sklearn_tags__().input_tags.allow_nan)


def accepted(features: Any, estimator: Any) -> Any:
    """Return features as the estimator accepts them: dense if it does not accept sparse ones."""
    from podium.tuning.fitting import last_step

    takes_sparse = last_step(estimator).__sklearn_tags__().input_tags.sparse
    return features.toarray() if is_sparse(features) and not takes_sparse else features


def _class(name: str) -> Any:
    from podium.rankers import REGISTRY

    return REGISTRY[name]


def _loss_parameters(model: Model, parameter_names: Any) -> dict[str, Any]:
    """Return the loss, or the loss parameters of a model that has no separate loss."""
    if "loss" not in parameter_names:
        parameters = {"k": model.k, "min_relevance": model.min_relevance, "loss": model.loss}
        if "k" not in parameter_names and "eval_metric" in parameter_names:
            del parameters["k"]  # -k is then the cutoff of the measure
        return _known(parameters)
    loss_text = model.loss or _class(model.model).default_loss
    return {} if loss_text is None else {"loss": loss_of(model, loss_text)}


def _is_library_loss(model: Model, text: str) -> bool:
    """Return whether a loss is an objective of a boosting library, not a loss of podium."""
    from podium import losses

    objectives = _class(model.model).library_objectives()
    return bool(objectives) and (text in objectives or not losses.is_registered(text))


def assignments(texts: list[str] | None) -> dict[str, Any]:
    """Parse ``--set name=value``."""
    params: dict[str, Any] = {}
    for name, value in texts_by_name(texts, "--set", "NAME=VALUE").items():
        values = values_of(name, value)
        if not isinstance(values, list):
            text = f"{name}={value}"
            raise ArgumentError(f"--set must be NAME=VALUE without a distribution, got {text!r}.")
        listed = cast("list[Any]", values)
        params[name] = listed[0] if len(listed) == 1 else tuple(listed)
    return params


def refuse_idle_steps(estimator: Any, options: dict[str, str]) -> None:
    """Refuse parameters, given with their options, that have no effect with the solver in use."""
    from podium.rankers.fitting import READ_BY

    solver = estimator.solver_in_use()
    for name, solvers in READ_BY.items():
        if name in options and solver not in solvers:
            raise ArgumentError(
                f"{options[name]} has no effect with the solver {solver}. Leave it out, or pass "
                f"--set solver={' or '.join(solvers)}."
            )


def _model_with(cls: Any, model: str, params: dict[str, Any], names: list[str], seed: int) -> Any:
    """Return a model with these parameters and the seed; refuse others than its own."""
    for name in params:
        if name not in names:
            option = _messages.SPELLING.get()(arg[name]) or f"--set {name}"
            raise ArgumentError(
                f"--model {model} does not accept {option}.{_check.nearest(name, names)} Its "
                f"parameters are {', '.join(names) or 'none'}."
            )
    return cls(**({"random_state": seed} if "random_state" in names else {}) | params)
