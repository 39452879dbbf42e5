"""The steps from podium's value of a measure to that of a package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium import presets
from podium.decide.explain.joint import package_choices
from podium.decide.explain.table import ValueTable, changes
from podium.protocol import Protocol
from podium.types import PerGroup

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Step:
    """One convention that differs.

    Attributes
    ----------
    convention : str
    default, value : object
        podium's value and the package's.
    change : float
        The difference of the mean that this step makes, after all steps before it.
    n_users : int
        The users whose value it changes, or that enter or leave the mean.
    """

    convention: str
    default: Any
    value: Any
    change: float
    n_users: int


@dataclass(frozen=True)
class Waterfall:
    """The steps from podium's value to that of a package, in the order of the computation.

    Attributes
    ----------
    measure, like : str
    start, end : float
        The value under podium's defaults and under the conventions of the package.
    steps : tuple of Step
        Their changes sum to end - start. Each depends on the steps before it.
    open_ties : tuple of float, or None
        The lowest and highest value over the orders of equal scores, if the package leaves this
        order open and it matters.
    toml : str
        The lines of podium.toml to change.
    """

    measure: str
    like: str
    start: float
    end: float
    steps: tuple[Step, ...]
    open_ties: tuple[float, float] | None = None
    toml: str = ""


def waterfall(table: ValueTable, like: str, given: Protocol) -> Waterfall:
    """Return the steps from podium's value of a measure to that of a package.

    Raises
    ------
    ArgumentError
        If the package is unknown, lacks the measure or fixes an option that the measure sets
        otherwise.
    """
    presets.get(like).measure(table.measure)  # raises
    choices = package_choices(table, like)
    target, current = choices[0], table.defaults
    start = value = table.mean(current)
    steps: list[Step] = []
    for name, changed in changes(target, current).items():
        following = {**current, name: changed}
        next_value = table.mean(following)
        n_users = _n_changed(table.counted(current), table.counted(following))
        steps.append(Step(name, current[name], changed, next_value - value, n_users))
        current, value = following, next_value
    ends = sorted(table.mean(choice) for choice in choices)
    is_open = ends[-1] - ends[0] > _TOLERANCE
    return Waterfall(
        str(table.measure),
        like,
        start,
        value,
        tuple(steps),
        (ends[0], ends[-1]) if is_open else None,
        given.changes_to(given.replace(like=like)),
    )


def _n_changed(before: PerGroup, after: PerGroup) -> int:
    return int((~np.isclose(before, after, rtol=0.0, atol=_TOLERANCE, equal_nan=True)).sum())
