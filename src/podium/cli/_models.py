"""From the options of podium train to an estimator, tried out before any file is read."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from podium.cli._training import DEFAULT_K, Model, Solver

_OPTIONS = {
    **{f.name: f"--{f.name.replace('_', '-')}" for f in dataclasses.fields(Solver)},
    **{name: f"--{name.replace('_', '-')}" for name in ("loss", "l2", "clip", "min_relevance")},
    "k": "-k",
    "fit_intercept": "--no-intercept",
    "random_state": "--seed",
    "eval_metric": "--eval-metric",
}


def make(model: Model, solver: Solver, measure: str | None, seed: int) -> Any:
    """Return the estimator, unfitted.

    Raises
    ------
    ArgumentError
        For an unknown model or loss, or an option that this model has no use for.
    """
    from podium import _check
    from podium.metrics import parse

    if model.k is not None:
        _check.cutoff(model.k, name="-k")
    cls = _class(model.model)
    known = dict(inspect.signature(cls).parameters)
    known.pop("one_group", None)  # a command always has users
    params: dict[str, Any] = {**solver.given(), **_own(model, known), **assignments(model.set)}
    if model.no_intercept:
        params["fit_intercept"] = False
    params |= _unscaled(model, known)
    if model.l2 is not None:
        params["l2"] = model.l2
    _refuse_unknown(model.model, params, list(known))
    if "random_state" in known:
        params.setdefault("random_state", seed)
    params.pop("eval_metric", None)
    estimator = cls(**params)
    if model.model == "linear":
        _refuse_idle_steps(estimator, params)
    if "eval_metric" in known:
        suited = measure or measure_of(model, estimator)
        estimator.set_params(eval_metric=str(parse(suited)))
    return estimator


def measure_of(model: Model, estimator: Any) -> str:
    """Return what rows set aside are measured by: at -k, or at the k in the loss's text."""
    from podium import losses

    foreign = model.loss is None or not losses.is_registered(model.loss)
    own = {} if foreign else losses.split(model.loss or "")[1]
    return estimator.suited_measure(model.k or own.get("k") or DEFAULT_K)


def loss_of(model: Model, text: str) -> Any:
    """Return the loss of that text with the options that were given for it.

    -k is the cutoff of a loss that needs one, and of a loss that cuts the head off a list; the
    text's own wins.
    """
    from podium import losses

    base, own = losses.split(text)
    cls: Any = losses.REGISTRY.get(base)
    fields = {} if cls is None else {f.name: f.default for f in dataclasses.fields(cls)}
    params: dict[str, Any] = {}
    if cls is not None:
        _refuse_of_loss(model, base)
    if model.clip:
        params["clip"] = True
    if model.min_relevance is not None:
        params["min_relevance"] = model.min_relevance
    if "k" not in own:
        if fields.get("k") is dataclasses.MISSING:
            params["k"] = model.k or DEFAULT_K
        elif model.k is not None and cls is not None and cls.head_cutoff:
            params["k"] = model.k
    return losses.get(text, **params)


def _refuse_of_loss(model: Model, base: str) -> None:
    """Refuse --clip and --min-relevance for a loss that has none, and say which ones do."""
    from podium import losses
    from podium.errors import ArgumentError

    given = {"clip": model.clip, "min_relevance": model.min_relevance is not None}
    for name in [name for name, is_given in given.items() if is_given]:
        takers = [n for n, c in losses.REGISTRY.items() if _has_field(c, name)]
        if base not in takers:
            raise ArgumentError(
                f"{_OPTIONS[name]} has no meaning for {base}. Leave it out; it is for "
                f"{', '.join(sorted(takers))}."
            )


def _has_field(cls: Any, name: str) -> bool:
    return name in {field.name for field in dataclasses.fields(cls)}


def _unscaled(model: Model, known: Any) -> dict[str, Any]:
    """Return the parameter that --no-scale sets; raise for a model that reads only order."""
    from podium.errors import ArgumentError
    from podium.rankers.estimator import LinearScores

    if not model.no_scale or issubclass(_class(model.model), LinearScores):
        return {}
    if "standardize" in known:
        return {"standardize": False}
    raise ArgumentError(
        f"--no-scale has no meaning for {model.model}, which is never scaled. Leave it out."
    )


def missing_allowed(estimator: Any) -> bool:
    """Tell whether an estimator learns from features that are missing."""
    from podium.tuning.fitting import last_step

    return bool(last_step(estimator).__sklearn_tags__().input_tags.allow_nan)


def estimator_of(model: Model, loss: Any) -> Any:
    """Return the model with a loss, and else with its defaults."""
    return _class(model.model)(loss)


def _class(name: str) -> Any:
    from podium import _check
    from podium.rankers import REGISTRY

    return REGISTRY[_check.choice(name, "--model", list(REGISTRY))]


def _own(model: Model, known: Any) -> dict[str, Any]:
    """Return the loss, or for a model that is its own loss the parameters of that."""
    if "loss" not in known:
        given = {"k": model.k, "min_relevance": model.min_relevance, "loss": model.loss}
        if "k" not in known and "eval_metric" in known:
            del given["k"]  # it is the cutoff of the measure then
        params = {name: value for name, value in given.items() if value is not None}
        return {**params, "clip": True} if model.clip else params
    if model.loss is not None and _is_foreign(model):
        return {"loss": _foreign(model)}
    text = model.loss or _class(model.model).default_loss
    return {} if text is None else {"loss": loss_of(model, text)}


def _is_foreign(model: Model) -> bool:
    """Tell an objective of a boosting library from a loss of podium."""
    from podium import losses

    own = _class(model.model).has_own_objectives
    return own and not losses.is_registered(str(model.loss))


def _foreign(model: Model) -> str | None:
    from podium.errors import ArgumentError

    if model.clip or model.min_relevance is not None:
        raise ArgumentError(
            f"--clip and --min-relevance are of podium's losses, and {model.loss!r} is one of "
            f"{model.model}'s own. Leave them out."
        )
    return model.loss


def assignments(given: list[str] | None) -> dict[str, Any]:
    """Read ``--set name=value``."""
    from podium.errors import ArgumentError
    from podium.tuning import parse_values

    params: dict[str, Any] = {}
    for text in given or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value or name in params:
            raise ArgumentError(f"--set must be NAME=VALUE, each name once, got {text!r}.")
        values = parse_values(value)
        if not isinstance(values, list):
            raise ArgumentError(f"--set must be NAME=VALUE, no distribution, got {text!r}.")
        params[name] = values[0] if len(values) == 1 else tuple(values)
    return params


def _refuse_idle_steps(estimator: Any, params: dict[str, Any]) -> None:
    """Refuse what the solver that will run does not read."""
    from podium.errors import ArgumentError
    from podium.rankers.fitting import READ_BY

    solver = estimator.solver_in_use()
    for name, takers in READ_BY.items():
        if name in params and solver not in takers:
            option = _OPTIONS.get(name, f"--set {name}")
            raise ArgumentError(
                f"{option} has no meaning for solver {solver}. Leave it out, or pass --solver "
                f"{' or '.join(takers)}."
            )


def _refuse_unknown(model: str, params: dict[str, Any], known: list[str]) -> None:
    from podium import _check
    from podium.errors import ArgumentError

    for name in params:
        if name not in known:
            option = _OPTIONS.get(name, f"--set {name}")
            raise ArgumentError(
                f"--model {model} has no use for {option}.{_check.nearest(name, known)} "
                f"It takes {_taken(known)}."
            )


def _taken(known: list[str]) -> str:
    """List a model's parameters as they are typed: options, and what --set is for."""
    options = [_OPTIONS[name] for name in known if name in _OPTIONS]
    others = [name for name in known if name not in _OPTIONS]
    return f"{', '.join(options)}; by --set {', '.join(others)}" if others else ", ".join(options)
