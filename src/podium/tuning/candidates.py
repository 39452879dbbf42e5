"""Candidates: the parameters that a search tries, from lists of values and distributions."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.losses import Loss
from podium.rankers.estimator import Ranker
from podium.recommenders import Recommender
from podium.tuning.fitting import last_step, unknown_names

Params: TypeAlias = dict[str, Any]
Grid: TypeAlias = "Mapping[str, Any] | Sequence[Mapping[str, Any]]"

_PURPOSE = 3  # part of the seeds of draws; data.splits uses 1 and 2
_MOST_REPEATS = 10_000  # draws without a new combination after which a space counts as used up


@dataclass(frozen=True)
class Distribution:
    """Numbers between two finite limits, from which a search draws."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check.number(self.high, "high", low=_check.number(self.low, "low", low=-math.inf))

    def draw(self, rng: np.random.Generator) -> float:
        """Return one number."""
        return float(rng.uniform(self.low, self.high))


class Uniform(Distribution):
    """Numbers between low and high, uniformly distributed; in text ``uniform(low,high)``."""


class LogUniform(Distribution):
    """Numbers between low > 0 and high, uniform in their logarithm; in text ``log(low,high)``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> 1e-6 <= LogUniform(1e-6, 1).draw(rng) <= 1
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.positive(self.low, "low")

    def draw(self, rng: np.random.Generator) -> float:
        """Return one number."""
        # exp can round to just outside the limits.
        number = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        return min(max(number, self.low), self.high)


class Integers(Distribution):
    """Integers from low to high, both included, all equally likely; in text ``int(low,high)``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.low) != self.low or int(self.high) != self.high:
            raise ArgumentError(f"low and high must be integers, got {self.low} and {self.high}.")

    def draw(self, rng: np.random.Generator) -> int:
        """Return one integer."""
        return int(rng.integers(int(self.low), int(self.high) + 1))


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "uniform": Uniform,
    "log": LogUniform,
    "int": Integers,
}
"""Every distribution by its name in text."""

_DRAWN = re.compile(r"\s*([a-z]+)\s*\(\s*([^,()]+?)\s*,\s*([^,()]+?)\s*\)\s*")


def parse_values(text: str) -> list[Any] | Distribution:
    """Read the values of one parameter: ``A,B,…``, or a distribution such as ``log(1e-6,1)``.

    Each value is read as none, true, false, an integer or a number, and otherwise as text.

    Raises
    ------
    ArgumentError
        If a value is missing, the distribution is unknown, or its limits are not numbers in order.

    Examples
    --------
    >>> parse_values("0.1, 5, none, pap-avg@10")
    [0.1, 5, None, 'pap-avg@10']
    >>> parse_values("log(1e-6,1)")
    LogUniform(low=1e-06, high=1)
    """
    match = _DRAWN.fullmatch(text)
    if match is not None:
        name = _check.choice(match[1], "distribution", list(DISTRIBUTIONS))
        low, high = (_check.plain_value(word) for word in match.groups()[1:])
        return DISTRIBUTIONS[name](low, high)
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ArgumentError(
            f"values must be A,B,… or a distribution such as log(1e-6,1), got {text!r}."
        )
    return [_check.plain_value(word) for word in words]


def candidates(grid: Grid, n_trials: int | None, seed: int) -> list[Params]:
    """Return the candidates: the whole grid, or n_trials of them drawn at random.

    A grid of lists is drawn without replacement; candidates stay in the order of the grid, in
    which the last name varies fastest. If there is a distribution, each trial draws every name
    anew.
    """
    parts = checked_parts(grid, "grid")
    if not any(isinstance(values, Distribution) for part in parts for values in part.values()):
        return _of_lists(parts, n_trials, seed)
    if n_trials is None:
        raise ArgumentError(
            f"{arg.n_trials} is required if the grid has a distribution. Pass it, for example "
            f"{arg.n_trials(20)}."
        )
    return [
        _random_params(parts, np.random.default_rng([seed, _PURPOSE, i])) for i in range(n_trials)
    ]


def drawn(parts: list[Params], first: Params, seed: int) -> Iterator[Params]:
    """Yield `first`, and then random draws of a space that differ from each other.

    Draws are changes of `first`. Numbers from distributions are rounded to three significant
    digits. The draws end if a space of few combinations is used up.
    """
    yield first
    rng, known, n_repeats = np.random.default_rng([seed, _PURPOSE]), {repr(first)}, 0
    while n_repeats < _MOST_REPEATS:
        params = first | _random_params(parts, rng, digits=3)
        n_repeats += 1
        if repr(params) not in known:
            known.add(repr(params))
            n_repeats = 0
            yield params


def checked_parts(grid: Grid, name: str) -> list[Params]:
    """Return a grid as a list of mappings of names to lists or distributions.

    Raises
    ------
    ArgumentError
        If it has another form. The message names the argument.
    """
    parts = [_checked(part, name) for part in ([grid] if isinstance(grid, Mapping) else grid)]
    if not parts:
        raise ArgumentError(
            f"{arg[name]} must have at least one mapping of names to values, got none."
        )
    return parts


def _of_lists(parts: list[Params], n_trials: int | None, seed: int) -> list[Params]:
    """Return all combinations of values, or n_trials of them; the last name varies fastest."""
    total = sum(math.prod(len(values) for values in part.values()) for part in parts)
    places = range(total)
    if n_trials is not None and n_trials < total:
        rng = np.random.default_rng([seed, _PURPOSE])
        places = {*rng.choice(total, n_trials, replace=False).tolist()}
    combinations = (
        dict(zip(part, values, strict=True))
        for part in parts
        for values in itertools.product(*part.values())
    )
    return [params for place, params in enumerate(combinations) if place in places]


def _random_params(
    parts: list[Params], rng: np.random.Generator, digits: int | None = None
) -> Params:
    part = parts[int(rng.integers(len(parts)))]
    return {
        name: _draw(v, rng, digits) if isinstance(v, Distribution) else v[int(rng.integers(len(v)))]
        for name, v in part.items()
    }


def _draw(distribution: Distribution, rng: np.random.Generator, digits: int | None) -> float | int:
    number = distribution.draw(rng)
    if digits is None or isinstance(number, int):
        return number
    return min(max(float(f"{number:.{digits}g}"), distribution.low), distribution.high)


def _checked(part: Any, grid: str) -> Params:
    if not isinstance(part, Mapping):
        raise ArgumentError(f"{grid} must map names of parameters to values, got {part!r}.")
    named = cast("Mapping[Any, Any]", part)
    return {str(name): _values(f"{grid}[{name!r}]", values) for name, values in named.items()}


def _values(name: str, values: Any) -> Any:
    if isinstance(values, Distribution):
        return values
    is_list = isinstance(values, Sized) and not isinstance(values, str | Mapping)
    listed = cast("Any", values) if is_list else ()
    plain: list[Any] = listed.tolist() if isinstance(listed, np.ndarray) else list(listed)
    if not plain:
        raise ArgumentError(
            f"{arg[name]} must be a list of values or a distribution such as LogUniform(1e-6, 1), "
            f"got {values!r}."
        )
    return plain


_PENALTIES: dict[str, list[Any]] = {
    "l2": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "C": [1e-3, 1e-2, 1e-1, 1.0, 10.0],
}
_STEPS = [0.1, 0.5, 2.0]  # first step lengths, for solvers with a free step length
_CHOOSE = {"loss", "similarity"}  # parameters that choose one of the mappings
_WIDER = (1, 3, 10)  # factors of the loss's own k


def default_grid(estimator: Any, fixed: Collection[str] = ()) -> list[Params]:
    """Return the values that a search tries by default: one or several mappings.

    Parameters of the names in `fixed` keep the estimator's values. They are left out, and so are
    mappings for another loss or similarity than a fixed one.

    A recommender's class declares them (`Recommender.default_space`). A draw chooses one of the
    mappings, and then a value of each of its parameters.

    For a ranker, there is one mapping. It has the values that its class declares
    (`Ranker.default_grid`), or else the penalty, and the step length of solvers that have one. It
    also has 1, 3 and 10 times the k of the loss. A loss often does best with a larger k than that
    of the measure, since more rows then have a gradient. The loss then clips k to the number of
    negatives of a group, so that a larger k excludes no group.

    Raises
    ------
    ArgumentError
        If the class of a recommender declares no values.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> from podium.recommenders import EASE
    >>> default_grid(LinearRanker("pap-ramp@10"))[0]["loss__k"]
    [10, 30, 100]
    >>> default_grid(EASE())[0]["l2"]
    LogUniform(low=10, high=10000)
    """
    is_recommender = isinstance(estimator, Recommender)
    parts = _of_recommender(estimator) if is_recommender else [_of_rows(last_step(estimator))]
    for name in _CHOOSE & {*fixed}:  # the values of other parameters depend on them
        value = str(estimator.get_params(deep=False).get(name))
        parts = [part for part in parts if value in part.get(name, ())] or parts
    return [{n: values for n, values in part.items() if n not in fixed} for part in parts]


def checked_grid(estimator: Any, grid: Grid | None) -> list[Params]:
    """Return a grid, by default that of the estimator, whose names are parameters of it.

    Raises
    ------
    ArgumentError
        If the grid has another form, or the estimator lacks a parameter.
    """
    parts = checked_parts(default_grid(estimator) if grid is None else grid, "grid")
    last = last_step(estimator)
    known_names = sorted(last.get_params(deep=False))
    for name in unknown_names(estimator, dict.fromkeys(n for part in parts for n in part)):
        raise ArgumentError(
            f"{arg['grid', name]} is not a parameter of {type(last).__name__}."
            f"{_check.nearest(name, known_names)} The parameters are {_check.listed(known_names)}."
        )
    return parts


def _of_rows(estimator: Any) -> Params:
    params = estimator.get_params(deep=False)
    grid = _of_loss(estimator.loss_in_use() if isinstance(estimator, Ranker) else None)
    if isinstance(estimator, Ranker) and estimator.default_grid is not None:
        return {**grid, **{name: [*values] for name, values in estimator.default_grid.items()}}
    grid |= {name: values for name, values in _PENALTIES.items() if name in params}
    if "learning_rate" in params and isinstance(estimator, Ranker) and estimator.has_free_steps():
        grid["learning_rate"] = _STEPS
    return grid


def _of_recommender(recommender: Recommender) -> list[Params]:
    if recommender.default_space:
        return [
            {name: parse_values(v) if isinstance(v, str) else [*v] for name, v in part.items()}
            for part in recommender.default_space
        ]
    name = type(recommender).__name__
    raise ArgumentError(
        f"{name} has no default grid. Pass grid={{parameter: values}}, for example "
        "grid={'l2': LogUniform(0.001, 1)}."
    )


def _of_loss(loss: Any) -> Params:
    if not isinstance(loss, Loss) or loss.k is None:
        return {}
    clip = {"loss__clip": [True]} if "clip" in loss.parameters() else {}
    return {"loss__k": [n * loss.k for n in _WIDER], **clip}
